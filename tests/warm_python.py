"""A Python that begins at once: what the operator's command line imports is there before it is asked for.

A guide has dozens of such commands, each of which would import everything anew, in a second. ``serve`` answers those of
one folder's ``.venv/bin/python``: the command runs as ever, in a process of its own, with the caller's arguments,
environment, folder and files.
"""

from __future__ import annotations

import json
import os
import runpy
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

from infra.local.process import ChildProcess

MODULE = "infra.admin"
_CALLER = """\
#!{python} -SE
import json, os, socket, sys
if sys.argv[1:3] != ["-m", "{module}"]:
    os.execv("{python}", ["{python}", *sys.argv[1:]])
with socket.socket(socket.AF_UNIX) as server:
    server.connect("{place}")
    socket.send_fds(server, [b"."], [0, 1, 2])
    server.sendall(json.dumps([sys.argv[3:], os.getcwd(), dict(os.environ)]).encode())
    server.shutdown(socket.SHUT_WR)
    sys.exit(server.recv(1)[0])
"""


@contextmanager
def installed(folder: Path) -> Iterator[None]:
    """Have ``folder/.venv/bin/python`` be such a Python."""
    place, command = folder / "warm", folder / ".venv" / "bin" / "python"
    command.parent.mkdir(parents=True)
    command.write_text(_CALLER.format(python=sys.executable, module=MODULE, place=place), "utf-8")
    command.chmod(0o755)
    server = ChildProcess([sys.executable, "-m", __name__, str(place)], output=subprocess.PIPE)
    try:
        server.first_line()
        yield
    finally:
        server.stop()


def serve(place: str) -> None:
    """Carry out one command after the other, each in a process that is forked for it."""
    from infra.admin import commands  # noqa: F401 - what takes its time
    from infra.local.process import exit_with_parent

    exit_with_parent()
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(place)
        door.listen()
        print("ready", flush=True)
        while True:
            caller, _ = door.accept()
            with caller, caller.makefile("rb") as sent:
                _, files, _, _ = socket.recv_fds(caller, 1, 3)
                asked = json.load(sent)
                child = os.fork()
                if not child:
                    _become(asked, files)
                for file in files:
                    os.close(file)
                _, status = os.waitpid(child, 0)
                caller.sendall(bytes([os.waitstatus_to_exitcode(status) & 255]))


def _become(asked: Any, files: list[int]) -> NoReturn:
    """Be the process that was asked for, to its end."""
    arguments, folder, environ = asked
    code: Any = 1
    try:
        for number, file in enumerate(files):
            os.dup2(file, number)
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environ)
        sys.argv = [MODULE, *arguments]
        runpy.run_module(MODULE, run_name="__main__")
    except SystemExit as end:
        code = end.code or 0
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code if isinstance(code, int) else 1)


if __name__ == "__main__":
    serve(sys.argv[1])
