"""The tour prints requests and responses without secrets. After an error, the tour ends with one line."""

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

import pytest

from causeway.errors import ConnectionLost
from causeway.tpp import Tpp
from infra.local import background, stackfile
from infra.tour import play
from infra.tour.cards import CardTour
from infra.tour.guide import Guide, format_json
from tests.kit.http import serving

TOKEN, CODE = "a" * 40, "c" * 40
ANSWER = {
    "access_token": TOKEN,
    "token_type": "Bearer",
    "expires_in": 3600,
    "refresh_token": TOKEN,
    "scope": "accounts",
    "consent_id": "consent-1",
    "valid_until": "2026-09-01T00:00:00+00:00",
}


class Hub(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        body = json.dumps(ANSWER).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Server-Timing", "hub;dur=1.0")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def base() -> Iterator[str]:
    with serving(HTTPServer(("127.0.0.1", 0), Hub)) as server:
        yield f"http://127.0.0.1:{server.server_port}"


@contextmanager
def new_tpp(base: str, *, detail: bool) -> Iterator[Tpp]:
    with Guide(detail=detail).http_client("TPP") as http:
        yield Tpp(base, client_id="client-1", http_client=http)


def test_the_tour_prints_requests_and_responses_with_shortened_secrets(
    base: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with new_tpp(base, detail=True) as tpp:
        tpp.exchange(code=CODE, code_verifier=CODE)

    shown = capsys.readouterr().out
    for line in (
        f"  TPP POST {base}/tpp/token",
        f'      "code": "{CODE[:8]}…",',
        f'      "code_verifier": "{CODE[:8]}…",',
        "  200",
        "    Server-Timing: hub;dur=1.0",
        f'      "access_token": "{TOKEN[:8]}…",',
    ):
        assert line in shown.splitlines()
    assert TOKEN[:9] not in shown
    assert CODE[:9] not in shown


def test_the_tour_prints_a_body_that_occurs_several_times_only_once(
    base: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with new_tpp(base, detail=True) as tpp:
        for _ in range(2):
            tpp.exchange(refresh_token=TOKEN)

    shown = capsys.readouterr().out
    assert shown.count('"grant_type": "refresh_token"') == shown.count("(the same body)") == 1


def test_the_tour_prints_error_codes_and_shortens_card_api_keys() -> None:
    shown = format_json({"code": "AUTHENTICATION_REQUIRED", "access_key": "k" * 20, "access_level": 1000})

    assert shown == '{"code": "AUTHENTICATION_REQUIRED", "access_key": "kkkkkkkk…", "access_level": 1000}'


def test_the_brief_tour_prints_no_requests(base: str, capsys: pytest.CaptureFixture[str]) -> None:
    with new_tpp(base, detail=False) as tpp:
        tpp.exchange(refresh_token=TOKEN)

    assert capsys.readouterr().out == ""


def test_an_error_of_the_python_package_ends_the_tour_with_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ConnectionLost("no connection to the hub")

    monkeypatch.setattr(stackfile, "find_running", lambda: {"environment": {}})
    monkeypatch.setattr(stackfile, "point_at_stack", lambda *_: None)
    monkeypatch.setattr(play, "Hub", lambda _: None)
    monkeypatch.setattr(play, "run", fail)
    monkeypatch.setattr(logging, "disable", lambda: None)

    assert play.main([]) == 1
    assert capsys.readouterr().err == "The tour ended early: no connection to the hub\n"


def test_the_tour_prints_the_reason_for_starting_a_separate_stack(tmp_path: Path) -> None:
    file = tmp_path / "stack.json"
    environ = {stackfile.VARIABLE: str(file), "AWS_ENDPOINT_URL": "http://127.0.0.1:4566", "LOCALSTACK": "1"}
    without = play.explain_own_stack(environ)
    stackfile.write(file, {"base_url": "http://127.0.0.1:8000"})
    silent = play.explain_own_stack(environ | {"LOCALSTACK": ""})

    assert without == (
        f"No stack of yours is used: there is no {file}. The tour starts one of its own, on the built-in emulator, and "
        "removes it at the end. It ignores LOCALSTACK and AWS_ENDPOINT_URL. To tour yours, start it with `make run` "
        "first, or name its file in CAUSEWAY_STACK_FILE."
    )
    assert f"used: the stack of {file} does not respond at http://127.0.0.1:8000." in silent
    assert "It ignores AWS_ENDPOINT_URL. " in silent


def test_a_stack_that_does_not_start_ends_the_tour_with_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> NoReturn:
        raise background.NotReady("the stack ended before it was ready: causeway: port 8000 is taken.")

    monkeypatch.setattr(stackfile, "find_running", lambda: None)
    monkeypatch.setattr(background, "run_stack", fail)
    monkeypatch.setattr(logging, "disable", lambda: None)

    assert play.main([]) == 1
    assert capsys.readouterr().err == (
        "The tour ended early: the stack ended before it was ready: causeway: port 8000 is taken.\n"
    )


def test_the_tour_enters_three_different_pins_after_an_accepted_wrong_pin(monkeypatch: pytest.MonkeyPatch) -> None:
    none: Any = SimpleNamespace(wait_for_event=None)
    codes = iter(["55", "55", "00", "55", "55", "75"])
    monkeypatch.setattr(CardTour, "respond", lambda *_, **__: {"response_code": next(codes)})

    CardTour("", none, none, none, none).enter_wrong_pins()

    assert next(codes, None) is None
