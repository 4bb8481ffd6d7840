"""LOCALSTACK=1 requires a LocalStack server. The stack checks the server's health document first."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

from infra.local import engines
from infra.local.dynamodb_engine import EngineFailed
from infra.local.engines import Engines
from infra.repository import ROOT

SCRIPT = ROOT / "infra" / "local" / "localstack" / "start.sh"
EVERYTHING = dict.fromkeys(engines.SERVICES, "available")


@contextmanager
def listening(status: int, body: str) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, format: str, *args: object) -> None:
            """Write no log."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()


def health(**services: str) -> str:
    return json.dumps({"services": {**EVERYTHING, **services}, "edition": "community", "version": "4.14.0"})


@pytest.mark.parametrize(
    ("status", "body"), [(404, "not here"), (200, "<html>moto</html>"), (200, "[]"), (200, '{"status": "ok"}')]
)
def test_a_server_without_a_localstack_health_document_is_refused(status: int, body: str, tmp_path: Path) -> None:
    with listening(status, body) as address:
        stack = Engines({"LOCALSTACK": "1", "AWS_ENDPOINT_URL": address}, "emulator", tmp_path)
        with pytest.raises(EngineFailed) as refusal:
            stack.wait()

    assert str(refusal.value) == (
        f"the server at {address} (LOCALSTACK=1) is not LocalStack: it has no health document /_localstack/health"
    )


@pytest.mark.parametrize("state", ["available", "running"])
def test_localstack_is_used_if_the_health_document_lists_the_services(state: str, tmp_path: Path) -> None:
    with listening(200, health(sqs=state)) as address:
        environ = {"LOCALSTACK": "1", "AWS_ENDPOINT_URL": address}
        Engines(environ, "emulator", tmp_path).wait()

    assert environ["AWS_ENDPOINT_URL"] == address


def test_the_error_for_a_service_disabled_in_localstack_names_the_service() -> None:
    with listening(200, health(kms="disabled", dynamodb="disabled")) as address:
        with pytest.raises(EngineFailed, match=r"runs without dynamodb, kms: its variable SERVICES must list cloudf"):
            engines.check_localstack(address)
        with pytest.raises(EngineFailed, match=r"runs without kms: "):
            engines.check_localstack(address, dynamodb_apart=True)


def test_an_unreachable_localstack_is_reported() -> None:
    with listening(200, health()) as address:
        pass
    with pytest.raises(
        EngineFailed, match=rf"^nothing responds at {address} \(LOCALSTACK=1\): is LocalStack running\?$"
    ):
        engines.check_localstack(address)


def test_the_localstack_start_script_names_a_missing_program(tmp_path: Path) -> None:
    for program in ("bash", "dirname"):
        (tmp_path / program).symlink_to(shutil.which(program) or "")
    environ = {"PATH": str(tmp_path), "HOME": str(tmp_path)}
    said = subprocess.run([SCRIPT], env=environ, capture_output=True, text=True, check=False)

    assert (said.returncode, said.stdout) == (1, "")
    assert said.stderr.startswith(
        "causeway: Python 3.13 is needed, because LocalStack's pinned packages fit no other version: install "
    )
    (tmp_path / "python").write_text("#!/bin/sh\necho /python\n")
    (tmp_path / "python").chmod(0o755)
    environ["CAUSEWAY_PYTHON"] = str(tmp_path / "python")
    said = subprocess.run([SCRIPT], env=environ, capture_output=True, text=True, check=False)
    assert (said.returncode, said.stderr) == (1, "causeway: LocalStack needs java, and there is none.\n")
