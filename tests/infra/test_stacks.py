"""Laying a CloudFormation stack: made, changed, or found to be as it should."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError, WaiterError

from infra import deploy, stacks
from infra.stacks import StackFailed


def refusal(message: str) -> ClientError:
    return ClientError({"Error": {"Code": "ValidationError", "Message": message}}, "operation")


class CloudFormation:
    """A CloudFormation client: ``exists`` says whether there is a stack, the others make calls fail."""

    def __init__(self, exists: bool, refused: str = "", events: list[dict[str, str]] | None = None) -> None:
        self.exists, self.refused, self.events = exists, refused, events
        self.calls: list[tuple[str, dict[str, Any]]] = []

    def describe_stacks(self, **_: Any) -> dict[str, Any]:
        if not self.exists:
            raise refusal("Stack with id x does not exist")
        return {"Stacks": [{"Outputs": [{"OutputKey": "KeyArn", "OutputValue": "arn"}]}]}

    def create_stack(self, **request: Any) -> None:
        self._call("create", request)

    def update_stack(self, **request: Any) -> None:
        self._call("update", request)

    def _call(self, name: str, request: dict[str, Any]) -> None:
        self.calls.append((name, request))
        self.exists = True
        if self.refused:
            raise refusal(self.refused)

    def get_waiter(self, name: str) -> CloudFormation:
        return self

    def wait(self, **_: Any) -> None:
        if self.events is not None:
            raise WaiterError("stack_create_complete", "terminal failure", {})

    def describe_stack_events(self, **_: Any) -> dict[str, Any]:
        return {"StackEvents": self.events}


def lay(client: CloudFormation) -> bool:
    return stacks.lay(client, "x", {"Resources": {}}, {"Stage": "dev"}, pause=0)


@pytest.mark.parametrize(("exists", "call"), [(False, "create"), (True, "update")])
def test_a_stack_is_made_or_changed(exists: bool, call: str) -> None:
    client = CloudFormation(exists)

    assert lay(client) is True
    name, request = client.calls[0]
    assert name == call
    assert request["Parameters"] == [{"ParameterKey": "Stage", "ParameterValue": "dev"}]


def test_nothing_to_do_is_no_failure() -> None:
    assert lay(CloudFormation(True, refused="No updates are to be performed.")) is False


def test_a_refused_template_says_why() -> None:
    with pytest.raises(StackFailed, match="the stack x was refused: bad template"):
        lay(CloudFormation(False, refused="bad template"))


def test_a_failed_stack_names_the_resource_that_failed_first() -> None:
    events = [
        {"LogicalResourceId": "x", "ResourceStatus": "ROLLBACK_IN_PROGRESS"},
        {"LogicalResourceId": "Other", "ResourceStatus": "CREATE_FAILED", "ResourceStatusReason": "cancelled"},
        {"LogicalResourceId": "Key", "ResourceStatus": "CREATE_FAILED", "ResourceStatusReason": "not allowed"},
    ]
    with pytest.raises(StackFailed, match="the stack x failed: Key: not allowed"):
        lay(CloudFormation(False, events=events))


@pytest.fixture
def finished(monkeypatch: pytest.MonkeyPatch) -> None:
    """The stage's address has been put in place."""
    monkeypatch.setattr(deploy, "unfinished", lambda stage: None)


@pytest.mark.usefixtures("finished")
def test_a_deployment_prints_the_outputs(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    client = CloudFormation(False)
    monkeypatch.setattr(deploy.boto3, "client", lambda service: client)

    assert deploy.main(["prod", "--alarm-topic", "arn:topic"]) == 0
    assert {"ParameterKey": "AlarmTopicArn", "ParameterValue": "arn:topic"} in client.calls[0][1]["Parameters"]
    assert capsys.readouterr().out == "KeyArn  arn\n"


def test_a_deployment_with_the_placeholder_for_its_address_touches_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    client = CloudFormation(False)
    config = tmp_path / "config.json"
    config.write_text('{"stages": {"dev": {"environment_variables": {"PUBLIC_URL": "https://dev.causeway.example"}}}}')
    monkeypatch.setattr(deploy, "CONFIG", config)
    monkeypatch.setattr(deploy.boto3, "client", lambda service: client)

    assert deploy.main(["dev"]) == 1
    assert client.calls == []
    assert capsys.readouterr().err == (
        "causeway: PUBLIC_URL of the stage dev in .chalice/config.json is still the placeholder "
        "https://dev.causeway.example: put the stage's address there first.\n"
    )


@pytest.mark.usefixtures("finished")
def test_a_failed_deployment_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(deploy.boto3, "client", lambda service: CloudFormation(False, refused="no"))

    assert deploy.main(["dev"]) == 1
    assert capsys.readouterr().err == "causeway: the stack causeway-dev was refused: no\n"
