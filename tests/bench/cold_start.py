"""Measure cold starts of the deployment packages, which Lambda's own runtime client runs on this machine.

A package is unpacked once and is read-only, so no start leaves files for the next start. The floor (a minimal
program) and the boto3 script are packed like the service and use libraries from the same layer.
"""

import contextlib
import importlib.metadata
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event
from typing import Any

from infra.deploy import archive, chalice_command, layer, runtime
from infra.repository import ROOT
from tests.bench.comparison import Recorded, Triple
from tests.bench.measured_requests import Request
from tests.kit.http import serving

PROCESSORS = {"x86_64": "x86_64", "amd64": "x86_64", "aarch64": "arm64", "arm64": "arm64"}
RUNTIME = ("awslambdaric", "snapshot_restore_py.py", "simplejson", "runtime_client*.so")
"""The content of Lambda's ``/var/runtime``: its client, and the modules that it imports."""
_SECONDS = 60
SCRIPTS = ("floor", "boto3_script")
_INVOCATION = {
    "Lambda-Runtime-Aws-Request-Id": "7c9a5b10-0d0e-4e55-8c39-7c7a8a2b0c11",
    "Content-Type": "application/json",
    "Lambda-Runtime-Trace-Id": "Root=1-5bef4de7-ad49b0e87f6ef6c87fc2e700;Sampled=0",
    "Lambda-Runtime-Deadline-Ms": "9999999999999",
    "Lambda-Runtime-Invoked-Function-Arn": "arn:aws:lambda:eu-west-1:1:function:cold",
}


@dataclass(frozen=True)
class Packages:
    service: Path
    scripts: Path
    layer: Path
    runtime: Path


@contextlib.contextmanager
def unpacked() -> Iterator[Packages]:
    runtime.check_python()
    processor = PROCESSORS[platform.machine().lower()]
    with tempfile.TemporaryDirectory(prefix="causeway-cold-") as place, chalice_command.project_copy() as project:
        root = Path(place)
        chalice_command.build_function(project, root / "function.zip")
        layer.build(ROOT, processor, root / "layer.zip")
        for name in ("function", "layer"):
            with zipfile.ZipFile(root / f"{name}.zip") as packed:
                packed.extractall(root / name)
        (root / "scripts").mkdir()
        for name in SCRIPTS:
            shutil.copy2(ROOT / "tests" / "bench" / f"{name}.py", root / "scripts")
        _copy_runtime(root / "runtime")
        for name in ("scripts", "runtime"):
            archive.compile_modules(root / name, f"/var/{name}")
        for file in root.rglob("*"):
            file.chmod(0o555 if file.is_dir() else 0o444)
        libraries = root / "layer" / layer.PREFIX
        yield Packages(root / "function", root / "scripts", libraries, root / "runtime")
        for file in (root, *root.rglob("*")):
            if file.is_dir():
                file.chmod(0o755)


def _copy_runtime(folder: Path) -> None:
    folder.mkdir()
    installed = Path(importlib.metadata.distribution("awslambdaric").locate_file(""))  # type: ignore[arg-type]
    for pattern in RUNTIME:
        for found in installed.glob(pattern):
            copy = shutil.copytree if found.is_dir() else shutil.copy2
            copy(found, folder / found.name)


class RuntimeApi(ThreadingHTTPServer):
    """Serves one event through Lambda's runtime API (https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html)."""

    daemon_threads = True

    def __init__(self, event: Mapping[str, Any]) -> None:
        self.event = json.dumps(event).encode()
        self.answers: list[Any] = []
        self.ended = Event()
        super().__init__(("127.0.0.1", 0), _RuntimeApiHandler)

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore connection errors that are caused by killing the runtime process."""


class _RuntimeApiHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: RuntimeApi

    def do_GET(self) -> None:
        if self.server.answers:
            self.server.ended.wait(_SECONDS)
            return
        self.send_response(200)
        for name, value in _INVOCATION.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(self.server.event)))
        self.end_headers()
        self.wfile.write(self.server.event)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(202)
        self.send_header("Content-Length", "0")
        self.end_headers()
        if self.path.endswith("/response"):  # and not that of an error
            self.server.answers.append(json.loads(body))
        self.server.ended.set()

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


@dataclass(frozen=True)
class Started:
    """A cold start: the processor seconds from process start to the first response, the response, and the output."""

    seconds: float
    answer: Any
    printed: str


def cold_start(
    packages: Packages, code: Path, handler: str, event: Mapping[str, Any], options: Sequence[str] = ()
) -> Started:
    """Start Lambda's runtime with the interpreter ``options``, and stop the runtime after its first response."""
    with serving(RuntimeApi(event)) as api:
        environ = os.environ | {
            "AWS_LAMBDA_RUNTIME_API": f"127.0.0.1:{api.server_port}",
            "LAMBDA_TASK_ROOT": str(code),
            "PYTHONPATH": os.pathsep.join(map(str, (code, packages.layer, packages.runtime))),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        command = [sys.executable, *options, "-S", "-m", "awslambdaric", handler]
        with tempfile.TemporaryFile() as output:
            child = subprocess.Popen(command, env=environ, cwd=code, stdout=output, stderr=subprocess.STDOUT)
            while not (api.ended.wait(0.05) or os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)):
                pass
            os.kill(child.pid, signal.SIGKILL)
            _, _, used = os.wait4(child.pid, 0)
            child.returncode = 0
            output.seek(0)
            printed = output.read().decode()
        api.ended.set()
    if not api.answers:
        raise AssertionError(printed)
    return Started(used.ru_utime + used.ru_stime, api.answers[0], printed)


def imported(packages: Packages, code: Path, handler: str, event: Mapping[str, Any]) -> set[str]:
    started = cold_start(packages, code, handler, event, ["-X", "importtime"])
    return {line.rpartition("|")[2].strip() for line in started.printed.splitlines() if line.startswith("import time:")}


def service_start(packages: Packages, request: Request) -> Started:
    started = cold_start(packages, packages.service, request.handler, request.event)
    request.check(started.answer)
    return started


def measure(packages: Packages, recorded: Recorded, rounds: int = 7) -> Triple:
    event = {"calls": recorded.calls}
    seconds: list[list[float]] = []
    for _ in range(rounds):
        scripts = [cold_start(packages, packages.scripts, f"{name}.handler", event).seconds for name in SCRIPTS]
        seconds.append([*scripts, service_start(packages, recorded.request).seconds])
    return Triple.of(seconds)
