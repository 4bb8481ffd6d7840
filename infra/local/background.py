"""Runs a complete stack, like ``make run`` but on a free port, for a test or tool, and stops it afterwards."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from infra.local import stackfile
from infra.local.engines import ENGINES
from infra.local.process import GRACE, ChildProcess, python_command
from infra.local.stack import DRAIN_SECONDS
from infra.repository import ROOT

READY_SECONDS = 180.0
"""Maximum time to wait until a stack is ready. On a busy machine, the start takes minutes."""

_NOT_HANDED_ON = (
    "AWS_ENDPOINT_URL",
    "LOCALSTACK",
    "PORT",
    "ENGINE",
    "FRESH",
    "PUBLIC_URL",
    "BANK_API_URL",
    "MTLS_URL",
    "TPP_CA_BUNDLE",
    "BANK_CA_BUNDLE",
    "OUTBOUND_CA_FILE",
    "TLS",
    "RESOURCE_PREFIX",
)


class NotReady(Exception):
    """The stack exited or timed out before it was ready. The message ends with the stack's last line, if known."""


@contextmanager
def run_stack(
    environ: Mapping[str, str] | None = None,
    output: IO[bytes] | None = None,
    engine: str = ENGINES[0],
    folder: Path | None = None,
    elsewhere: Mapping[str, str] | None = None,
    port: int = 0,
) -> Iterator[dict[str, Any]]:
    """Start a stack, yield the content of its file (see ``stackfile``), and stop it.

    Variables in ``environ`` that refer to ports and engines of a different stack are ignored, except
    ``AWS_ENDPOINT_URL_DYNAMODB``, with which a stack can use a running engine.

    Args:
        environ: the stack's environment; by default the environment of this process.
        output: the file for output and log; by default a temporary file. It contains no credentials.
        engine: one of ``infra.local.engines.ENGINES``.
        folder: the folder of the stack's file and data; by default a temporary folder.
        elsewhere: variables that refer to running engines; they are set even if they would be ignored in ``environ``.
        port: the service's port; by default a free port.

    Raises:
        NotReady: the stack did not start. ``output`` contains the reason.
    """
    given = os.environ if environ is None else environ
    with tempfile.TemporaryDirectory(prefix="causeway-stack-") as place, tempfile.TemporaryFile() as captured:
        file = (folder or Path(place)) / "stack.json"
        options = ["--port", str(port), "--engine", engine, "--stack-file", str(file), "--quiet", "--end-with-stdin"]
        child = ChildProcess(
            python_command("infra.local", *options),
            environ={name: value for name, value in given.items() if name not in _NOT_HANDED_ON}
            | dict(elsewhere or {}),
            output=output or captured,
            errors=subprocess.STDOUT,
            folder=ROOT,
        )
        try:
            yield _wait_until_ready(child, file, captured)
        finally:
            child.stop(DRAIN_SECONDS + 2 * GRACE)


def _wait_until_ready(child: ChildProcess, file: Path, output: IO[bytes]) -> dict[str, Any]:
    deadline = time.monotonic() + READY_SECONDS
    while time.monotonic() < deadline and not child.has_ended():
        content = stackfile.find_running(file)
        if content and content.get("pid") == child.pid:
            return content
        time.sleep(0.05)
    output.seek(0)
    said = output.read().decode(errors="replace").strip().rpartition("\n")[2]
    problem = "the stack ended before it was ready" if child.has_ended() else "the stack took too long"
    raise NotReady(f"{problem}: {said}" if said else problem)
