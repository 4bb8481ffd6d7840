"""Python interpreters for guides: one with preloaded commands of this repository, and one for sessions.

A guide runs dozens of commands, and importing all modules takes a second per command. ``serve`` runs each command of a
folder's ``.venv/bin/python`` in a forked process, with the caller's arguments, environment, folder and files.
``run_session`` runs the files named on standard input in one namespace.
"""

import contextlib
import json
import os
import runpy
import socket
import subprocess
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

from infra.local.process import ChildProcess

PROGRAMS = ("infra.admin", "infra.conformance", "infra.conformance.demo_psu", "docs/guides/psu.py")
"""The modules and scripts that run in the preloaded Python. All other programs run in the ordinary Python."""
_CALLER = """\
#!{python} -SE
import json, os, socket, sys
name, *arguments = (sys.argv[2:] if sys.argv[1:2] == ["-m"] else sys.argv[1:]) or [""]
if name not in {programs}:
    os.execv("{python}", ["{python}", *sys.argv[1:]])
with socket.socket(socket.AF_UNIX) as server:
    server.connect("{address}")
    socket.send_fds(server, [b"."], [0, 1, 2])
    server.sendall(json.dumps([name, arguments, os.getcwd(), dict(os.environ)]).encode())
    server.shutdown(socket.SHUT_WR)
    sys.exit(server.recv(1)[0])
"""


@contextmanager
def installed(folder: Path) -> Iterator[Path]:
    """Install a preloaded Python as ``folder/.venv/bin/python``. Yield the path of the interpreter."""
    address, command = folder / "warm", folder / ".venv" / "bin" / "python"
    command.parent.mkdir(parents=True)
    command.write_text(_CALLER.format(python=sys.executable, programs=PROGRAMS, address=address), "utf-8")
    command.chmod(0o755)
    server = ChildProcess([sys.executable, "-m", __name__, "serve", str(address)], output=subprocess.PIPE)
    try:
        server.first_line()
        yield command
    finally:
        server.stop()


def serve(address: str) -> None:
    """Run each command in a forked process. Several commands may run concurrently."""
    from infra.local.process import exit_with_parent

    _import_everything()
    exit_with_parent()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen()
        print("ready", flush=True)
        while True:
            caller, _ = listener.accept()
            with caller:
                if not os.fork():
                    _answer(caller)
            with contextlib.suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass


def _import_everything() -> None:
    """Import slow modules, and cache the AWS service descriptions that every boto3 client reads."""
    import boto3
    from botocore.loaders import JSONFileLoader

    import infra.admin.commands
    import infra.conformance.checks
    import infra.conformance.kit
    import infra.conformance.terminal
    import infra.psu_browser  # noqa: F401 - as the others

    read = cache(JSONFileLoader().load_file)
    JSONFileLoader.load_file = lambda _, path: read(path)
    for service in ("dynamodb", "secretsmanager", "sqs"):
        boto3.Session().client(service, region_name="eu-west-1")


def _answer(caller: socket.socket) -> NoReturn:
    with caller.makefile("rb") as sent:
        _, files, _, _ = socket.recv_fds(caller, 1, 3)
        command = json.load(sent)
    child = os.fork()
    if not child:
        _become(command, files)
    for file in files:
        os.close(file)
    _, status = os.waitpid(child, 0)
    caller.sendall(bytes([os.waitstatus_to_exitcode(status) & 255]))
    os._exit(0)


def _become(command: Any, files: list[int]) -> NoReturn:
    """Run the command in this process and exit."""
    name, arguments, folder, environ = command
    code: Any = 1
    try:
        for number, file in enumerate(files):
            os.dup2(file, number)
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environ)
        sys.argv = [name, *arguments]
        if name.endswith(".py"):
            runpy.run_path(name, run_name="__main__")
        else:
            runpy.run_module(name, run_name="__main__")
        code = 0
    except SystemExit as end:
        code = end.code or 0
        if not isinstance(code, int):
            print(code, file=sys.stderr)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code if isinstance(code, int) else 1)


def run_session(ended: str) -> None:
    """Run each file named on standard input. After each file, print a line with ``ended`` and an exit code."""
    names: dict[str, Any] = {"__name__": "__main__"}
    for line in sys.stdin:
        file, code = Path(line.strip()), 0
        try:
            exec(compile(file.read_text("utf-8"), file.name, "exec"), names)  # noqa: S102 - our own document
        except Exception:
            traceback.print_exc()
            code = 1
        print(f"\n{ended} {code}", flush=True)


if __name__ == "__main__":
    {"serve": serve, "session": run_session}[sys.argv[1]](sys.argv[2])
