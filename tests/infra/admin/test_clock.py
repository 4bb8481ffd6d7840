"""Tests of the clock commands, which call the running stack. An error is printed as a one-line message."""

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from infra.local import stackfile
from tests.infra.admin.command_line import done, refused, run

TIME = {"now": "2026-03-09T09:00:00+00:00", "offset_seconds": 604_800}


class Stack:
    def __init__(self) -> None:
        self.sent: list[tuple[str, str, str, Any]] = []
        self.status = 200
        self.body: bytes = json.dumps(TIME).encode()


@pytest.fixture
def stack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stack]:
    made = Stack()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            sent = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            is_health = self.path == "/health"
            if not is_health:
                key = self.headers.get("Authorization", "")
                made.sent.append((self.command, self.path, key, json.loads(sent) if sent else None))
            self.send_response(200 if is_health else made.status)
            self.send_header(stackfile.HEADER, "the-stack")
            self.end_headers()
            self.wfile.write(b"{}" if is_health else made.body)

        do_POST = do_GET  # noqa: N815 - http.server's name

        def version_string(self) -> str:
            return "Causeway"

        def log_message(self, format: str, *args: object) -> None:
            """Write no log."""

    with HTTPServer(("127.0.0.1", 0), Handler) as running:
        Thread(target=running.serve_forever, args=(0.01,), daemon=True).start()
        file, port = tmp_path / "stack.json", running.server_port
        content = {"id": "the-stack", "base_url": f"http://127.0.0.1:{port}", "operator_key": "the-key"}
        stackfile.write(file, content | {"environment": {"PORT": str(port)}})
        monkeypatch.setenv(stackfile.VARIABLE, str(file))
        monkeypatch.delenv("STAGE", raising=False)
        try:
            yield made
        finally:
            running.shutdown()


@pytest.mark.parametrize(
    ("span", "duration"),
    [
        ("7d", "PT604800S"),
        ("12h", "PT43200S"),
        ("30m", "PT1800S"),
        ("90s", "PT90S"),
        ("2w", "PT1209600S"),
        ("61m", "PT3660S"),
        ("PT61M", "PT3660S"),
        ("P1DT1H", "PT90000S"),
    ],
)
def test_clock_advance_sends_the_duration_to_the_running_stack(stack: Stack, span: str, duration: str) -> None:
    assert done("clock", "advance", span) == TIME
    assert stack.sent == [("POST", "/sandbox/clock", "Bearer the-key", {"advance": duration})]


def test_clock_show_reads_the_time_of_the_running_stack(stack: Stack) -> None:
    assert done("clock", "show") == TIME
    assert [sent[0] for sent in stack.sent] == ["GET"]


def test_clock_advance_prints_the_new_time_and_the_offset(stack: Stack) -> None:
    printed = run("clock", "advance", "7d").stdout

    assert printed.splitlines() == ["Moved 7d forward.", "now       2026-03-09T09:00:00+00:00", "ahead by  7 days"]


@pytest.mark.parametrize("span", ["week", "7", "1.5d", "7y", "d", ""])
def test_clock_advance_rejects_an_invalid_time_span_before_any_request(stack: Stack, span: str) -> None:
    assert "is not a time span: use 90s, 30m, 12h, 7d or 2w" in refused("clock", "advance", span)
    assert stack.sent == []


def test_clock_advance_prints_the_error_of_the_stack(stack: Stack) -> None:
    stack.status = 400
    stack.body = b'{"error": "invalid_request", "error_description": "time moves forward only, by at most 400 days"}'

    assert refused("clock", "advance", "401d") == "time moves forward only, by at most 400 days"


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]"])
def test_clock_advance_reports_an_invalid_response_of_the_stack(stack: Stack, body: bytes) -> None:
    stack.body = body

    assert refused("clock", "advance", "7d") == "the stack did not respond; `clock show` tells how far time has moved"


@pytest.mark.parametrize("stage", ["dev", "prod"])
def test_the_clock_of_a_deployed_stage_cannot_be_moved(
    stack: Stack, monkeypatch: pytest.MonkeyPatch, stage: str
) -> None:
    monkeypatch.setenv("STAGE", stage)

    for command in (("clock", "advance", "7d"), ("clock", "show")):
        assert refused(*command) == (
            f"the clock of the stage {stage} cannot be moved: only that of a stack on this machine"
        )
    assert stack.sent == []


def test_clock_advance_without_a_running_stack_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(stackfile.VARIABLE, str(tmp_path / "stack.json"))
    monkeypatch.delenv("STAGE", raising=False)

    assert refused("clock", "advance", "7d") == "no local stack is running: start it with `make run`"
