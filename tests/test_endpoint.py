"""``make test-emulator`` leads the tests' stacks to the endpoint that it is given, with names of their own there."""

from __future__ import annotations

import subprocess
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any

import pytest

from infra.local import background
from infra.local.resources import named
from infra.template import Template, load
from tests import endpoint

GIVEN = {"AWS_ENDPOINT_URL": "http://127.0.0.1:4566", "AWS_ENDPOINT_URL_DYNAMODB": "http://127.0.0.1:8001"}


def prepared(**environ: str) -> tuple[list[str], dict[str, str]]:
    addresses = endpoint.prepare(environ)
    return addresses, environ


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The commands that were run; in the end nothing is removed."""
    commands: list[list[str]] = []

    def run(command: list[str], check: bool) -> subprocess.CompletedProcess[bytes]:
        commands.append(command)
        return subprocess.CompletedProcess(command, 5)

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(endpoint, "remove", lambda prefix: commands.append([prefix]))
    for name in (*GIVEN, "LOCALSTACK"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(endpoint.VARIABLE, "")
    return commands


def test_without_an_endpoint_it_says_what_to_set(ran: list[list[str]], capsys: pytest.CaptureFixture[str]) -> None:
    assert endpoint.main([]) == 2
    assert ran == []
    said = capsys.readouterr().err
    assert "AWS_ENDPOINT_URL=http://127.0.0.1:4566 make test-emulator" in said
    assert "LOCALSTACK=1 make test-emulator" in said


def test_an_endpoint_where_nobody_answers_is_one_sentence(
    ran: list[list[str]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")

    assert endpoint.main([]) == 1
    assert ran == []
    assert capsys.readouterr().err == (
        "causeway: nothing answers at http://127.0.0.1:1: is the emulator running there?\n"
    )


def test_every_end_to_end_test_is_run_and_what_it_made_is_removed(
    ran: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    door = HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    Thread(target=door.handle_request).start()
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{door.server_port}")

    with door:
        assert endpoint.main(["-x"]) == 5

    tests, (removed,) = ran
    assert tests[1:] == ["-m", "pytest", "-m", "e2e", "-x"]
    assert removed.startswith("causeway-local-")


def test_localstack_is_found_by_its_client(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    addresses, environ = prepared(LOCALSTACK="1")

    assert addresses == [environ["AWS_ENDPOINT_URL"]]
    assert addresses[0].endswith(":4566")
    assert prepared(LOCALSTACK="1", AWS_ENDPOINT_URL="http://elsewhere")[0] == ["http://elsewhere"]


def test_dynamodb_may_be_somewhere_else() -> None:
    assert prepared(**GIVEN)[0] == [*GIVEN.values()]


def test_credentials_are_the_given_ones_or_made_up() -> None:
    own = prepared(**GIVEN, AWS_ACCESS_KEY_ID="own", AWS_SECRET_ACCESS_KEY="own")[1]

    assert endpoint.credentials(endpoint.given(own)) == dict.fromkeys(endpoint._CREDENTIALS, "own")
    assert endpoint.credentials(prepared(**GIVEN)[1]) == dict.fromkeys(endpoint._CREDENTIALS, "test")


def test_a_variable_of_the_shell_alone_leads_no_test_anywhere() -> None:
    assert endpoint.given(GIVEN) == {}
    assert endpoint.of_a_stack({}) == {}


def test_each_stack_has_names_of_its_own_at_the_endpoint() -> None:
    given = endpoint.given(prepared(**GIVEN)[1])
    stacks = [endpoint.of_a_stack(given) for _ in range(2)]

    assert all(GIVEN.items() <= stack.items() for stack in stacks)
    prefixes = {stack["RESOURCE_PREFIX"] for stack in stacks}
    assert len(prefixes) == 2
    for prefix in prefixes:
        assert prefix.startswith(given[endpoint.VARIABLE])
        tables = Template(named(load(), prefix), Stage="local").tables()
        assert all(table["TableName"].startswith(f"{prefix}-") for table in tables)


def test_a_stack_is_started_on_what_it_is_led_to(monkeypatch: pytest.MonkeyPatch) -> None:
    environs: list[dict[str, str]] = []

    class Child:
        pid = 0

        def __init__(self, command: list[str], environ: dict[str, str], **_: Any) -> None:
            environs.append(environ)

        def ended(self) -> bool:
            return True

        def stop(self) -> None:
            """Nothing runs."""

    monkeypatch.setattr(background, "Child", Child)
    for elsewhere in ({}, {**GIVEN, "RESOURCE_PREFIX": "causeway-local-1"}):
        misleading = {"AWS_ENDPOINT_URL": "http://another", "RESOURCE_PREFIX": "another"}
        with pytest.raises(background.NotReady), background.started(misleading, elsewhere=elsewhere):
            pass

    assert environs == [{}, {**GIVEN, "RESOURCE_PREFIX": "causeway-local-1"}]
