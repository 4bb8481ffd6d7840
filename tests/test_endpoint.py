"""``make test-emulator`` runs the test stacks at the given endpoint with unique resource names."""

from __future__ import annotations

import subprocess
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError, WaiterError

from infra.deploy.template import Template, load
from infra.local import background
from infra.local.resources import rename_resources
from tests.kit import endpoint

GIVEN = {"AWS_ENDPOINT_URL": "http://127.0.0.1:4566", "AWS_ENDPOINT_URL_DYNAMODB": "http://127.0.0.1:8001"}


def prepared(**environ: str) -> tuple[list[str], dict[str, str]]:
    addresses = endpoint.prepare(environ)
    return addresses, environ


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
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


def test_make_test_emulator_without_an_endpoint_prints_the_required_settings(
    ran: list[list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    assert endpoint.main([]) == 2
    assert ran == []
    said = capsys.readouterr().err
    assert "AWS_ENDPOINT_URL=http://127.0.0.1:4566 make test-emulator" in said
    assert "LOCALSTACK=1 make test-emulator" in said


def test_make_test_emulator_with_an_unreachable_endpoint_prints_one_sentence(
    ran: list[list[str]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")

    assert endpoint.main([]) == 1
    assert ran == []
    assert capsys.readouterr().err == (
        "causeway: nothing responds at http://127.0.0.1:1: is the emulator running there?\n"
    )


def test_make_test_emulator_runs_all_end_to_end_tests_and_removes_its_resources(
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


def test_a_server_other_than_localstack_is_refused_if_localstack_is_set(
    ran: list[list[str]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    door = HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    Thread(target=door.handle_request).start()
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{door.server_port}")
    monkeypatch.setenv("LOCALSTACK", "1")

    with door:
        assert endpoint.main([]) == 1
    assert ran == []
    assert f"the server at http://127.0.0.1:{door.server_port} (LOCALSTACK=1) is not" in capsys.readouterr().err


class Formation:
    """A CloudFormation client with one stack of the run. ``events`` records the calls in order."""

    def __init__(self, events: list[str], stays: bool = False) -> None:
        self.events, self.stays = events, stays

    def get_paginator(self, operation: str) -> Formation:
        return self

    def paginate(self) -> list[dict[str, Any]]:
        return [{"Stacks": [{"StackName": "run-1"}, {"StackName": "other"}]}]

    def delete_stack(self, StackName: str) -> None:  # noqa: N803 - CloudFormation's name
        self.events.append(f"delete {StackName}")

    def get_waiter(self, name: str) -> Formation:
        return self

    def wait(self, StackName: str, WaiterConfig: dict[str, int]) -> None:  # noqa: N803 - CloudFormation's names
        self.events.append(f"wait for {StackName}")
        if self.stays:
            raise WaiterError("StackDeleteComplete", "Max attempts exceeded", {})


class Gone:
    """A fake AWS client that lists resources which CloudFormation has already deleted, and whose delete calls fail."""

    def __init__(self, events: list[str], code: str) -> None:
        self.events, self.code = events, code

    def get_paginator(self, operation: str) -> Gone:
        return self

    def paginate(self) -> list[dict[str, Any]]:
        return [{"TableNames": ["run-1-clients"], "SecretList": [{"Name": "run-1-keys"}]}]

    def list_queues(self, QueueNamePrefix: str) -> dict[str, list[str]]:  # noqa: N803 - SQS's name
        return {"QueueUrls": ["http://queue/run-1-deliveries"]}

    def _delete(self, **names: Any) -> None:
        self.events.append(f"delete {next(iter(names.values()))}")
        raise ClientError({"Error": {"Code": self.code}}, "Delete")

    delete_table = delete_secret = delete_queue = _delete


def clients(monkeypatch: pytest.MonkeyPatch, code: str, stays: bool = False) -> list[str]:
    events: list[str] = []
    made = {"cloudformation": Formation(events, stays)}
    monkeypatch.setattr(boto3, "client", lambda service: made.get(service) or Gone(events, code))
    return events


CODES = ["ResourceNotFoundException", "ResourceInUseException", "AWS.SimpleQueueService.NonExistentQueue"]


@pytest.mark.parametrize("code", CODES)
def test_the_removal_waits_for_the_stack_deletion_and_ignores_missing_resources(
    code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    events = clients(monkeypatch, code)
    endpoint.remove("run-1")

    assert events[:2] == ["delete run-1", "wait for run-1"]
    assert events[2:] == ["delete run-1-clients", "delete run-1-keys", "delete http://queue/run-1-deliveries"]


def test_a_rejected_resource_removal_raises_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    clients(monkeypatch, "AccessDeniedException")
    with pytest.raises(ClientError):
        endpoint.remove("run-1")


def test_a_failed_stack_deletion_is_reported_and_the_remaining_resources_are_removed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    events = clients(monkeypatch, CODES[0], stays=True)
    endpoint.remove("run-1")

    assert "delete run-1-clients" in events
    assert capsys.readouterr().err.startswith("causeway: the stack run-1 is not deleted: ")


def test_localstack_has_a_default_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    addresses, environ = prepared(LOCALSTACK="1")

    assert addresses == [environ["AWS_ENDPOINT_URL"]]
    assert addresses[0].endswith(":4566")
    assert prepared(LOCALSTACK="1", AWS_ENDPOINT_URL="http://elsewhere")[0] == ["http://elsewhere"]


def test_dynamodb_can_have_a_separate_endpoint() -> None:
    assert prepared(**GIVEN)[0] == [*GIVEN.values()]


def test_missing_aws_credentials_have_the_default_value_test() -> None:
    own = prepared(**GIVEN, AWS_ACCESS_KEY_ID="own", AWS_SECRET_ACCESS_KEY="own")[1]

    assert endpoint.credentials(endpoint.given(own)) == dict.fromkeys(endpoint.CREDENTIALS, "own")
    assert endpoint.credentials(prepared(**GIVEN)[1]) == dict.fromkeys(endpoint.CREDENTIALS, "test")


def test_an_endpoint_variable_of_the_shell_without_make_is_ignored() -> None:
    assert endpoint.given(GIVEN) == {}
    assert endpoint.of_a_stack({}) == {}


def test_each_stack_has_unique_resource_names() -> None:
    given = endpoint.given(prepared(**GIVEN)[1])
    stacks = [endpoint.of_a_stack(given) for _ in range(2)]

    assert all(GIVEN.items() <= stack.items() for stack in stacks)
    prefixes = {stack["RESOURCE_PREFIX"] for stack in stacks}
    assert len(prefixes) == 2
    for prefix in prefixes:
        assert prefix.startswith(given[endpoint.VARIABLE])
        tables = Template(rename_resources(load(), prefix), Stage="local").tables()
        assert all(table["TableName"].startswith(f"{prefix}-") for table in tables)


def test_a_stack_starts_with_only_the_endpoint_and_prefix_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    environs: list[dict[str, str]] = []

    class Child:
        pid = 0

        def __init__(self, command: list[str], environ: dict[str, str], **_: Any) -> None:
            environs.append(environ)

        def has_ended(self) -> bool:
            return True

        def stop(self, grace: float) -> None:
            """Do nothing."""

    monkeypatch.setattr(background, "ChildProcess", Child)
    for elsewhere in ({}, {**GIVEN, "RESOURCE_PREFIX": "causeway-local-1"}):
        misleading = {"AWS_ENDPOINT_URL": "http://another", "RESOURCE_PREFIX": "another"}
        with pytest.raises(background.NotReady), background.run_stack(misleading, elsewhere=elsewhere):
            pass

    assert environs == [{}, {**GIVEN, "RESOURCE_PREFIX": "causeway-local-1"}]
