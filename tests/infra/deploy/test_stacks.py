"""Deployment of a CloudFormation stack: creation, update, no changes, and failures."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import boto3
import pytest
from botocore.exceptions import ClientError, ReadTimeoutError, WaiterError

from infra.deploy import __main__ as deploy
from infra.deploy import chalice_command, limits, runtime, stacks, template
from infra.deploy.functions import FUNCTIONS
from infra.deploy.stacks import StackFailed
from tests.kit.time import PATIENCE_SECONDS


def refusal(message: str) -> ClientError:
    return ClientError({"Error": {"Code": "ValidationError", "Message": message}}, "operation")


class CloudFormation:
    """A fake CloudFormation client. ``exists`` states whether the stack exists. All other arguments cause failures."""

    def __init__(self, exists: bool, refused: str = "", events: list[dict[str, str]] | None = None) -> None:
        self.exists, self.refused, self.events = exists, refused, events
        self.status, self.outputs = "UPDATE_COMPLETE", {"ApiAccessLogArn": "arn:log"}
        self.parameters = {"AlarmTopicArn": "arn:before"}
        self.calls: list[tuple[str, dict[str, Any]]] = []

    def describe_stacks(self, **_: Any) -> dict[str, Any]:
        if not self.exists:
            raise refusal("Stack with id x does not exist")
        parameters = [{"ParameterKey": key, "ParameterValue": value} for key, value in self.parameters.items()]
        outputs = [{"OutputKey": key, "OutputValue": value} for key, value in self.outputs.items()]
        return {"Stacks": [{"StackStatus": self.status, "Outputs": outputs, "Parameters": parameters}]}

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

    def get_paginator(self, operation: str) -> CloudFormation:
        assert operation == "describe_stack_events"
        return self

    def paginate(self, **_: Any) -> Iterator[dict[str, Any]]:
        """Yield pages of two events each, newest first."""
        events = self.events or []
        return ({"StackEvents": events[first : first + 2]} for first in range(0, len(events), 2))


def event(resource: str, status: str, reason: str = "") -> dict[str, str]:
    """Return a CloudFormation event of a resource. For the name ``x``, return an event of the stack itself."""
    kind = stacks.STACK if resource == "x" else "AWS::KMS::Key"
    said = {"LogicalResourceId": resource, "ResourceType": kind, "ResourceStatus": status}
    return said | ({"ResourceStatusReason": reason} if reason else {})


def lay(client: CloudFormation) -> bool:
    return stacks.deploy_stack(client, "x", {"Resources": {}}, {"Stage": "dev"}, pause=0)


@pytest.mark.parametrize(("exists", "call"), [(False, "create"), (True, "update")])
def test_deploy_stack_creates_or_updates_the_stack(exists: bool, call: str) -> None:
    client = CloudFormation(exists)

    assert lay(client) is True
    name, request = client.calls[0]
    assert name == call
    assert request["Parameters"] == [{"ParameterKey": "Stage", "ParameterValue": "dev"}]


def test_deploy_stack_returns_false_if_nothing_has_to_be_updated() -> None:
    assert lay(CloudFormation(True, refused="No updates are to be performed.")) is False


def test_a_refused_template_is_reported_with_the_reason() -> None:
    with pytest.raises(StackFailed, match="the stack x was refused: bad template"):
        lay(CloudFormation(False, refused="bad template"))


def test_a_failed_stack_names_the_first_failed_resource() -> None:
    events = [
        event("x", "ROLLBACK_COMPLETE"),
        event("Alias", "DELETE_FAILED", "not allowed either"),
        event("x", "ROLLBACK_IN_PROGRESS"),
        event("Other", "CREATE_FAILED", "Resource creation cancelled"),
        event("Key", "CREATE_FAILED", "not allowed"),
        event("Early", "CREATE_FAILED", "Resource creation cancelled"),
        event("x", "CREATE_IN_PROGRESS"),
    ]
    with pytest.raises(StackFailed, match="the stack x failed: Key: not allowed"):
        lay(CloudFormation(False, events=events))


def test_a_failed_stack_ignores_failures_of_earlier_updates() -> None:
    events = [
        event("Table", "UPDATE_FAILED", "too many indexes"),
        event("x", "UPDATE_IN_PROGRESS"),
        event("Key", "UPDATE_FAILED", "not allowed"),
        event("x", "UPDATE_IN_PROGRESS"),
    ]
    with pytest.raises(StackFailed, match="the stack x failed: Table: too many indexes"):
        lay(CloudFormation(True, events=events))


@pytest.mark.parametrize(
    ("events", "said"), [([], "no reason was given"), ([("x", "UPDATE_ROLLBACK_COMPLETE")], "UPDATE_ROLLBACK_COMPLETE")]
)
def test_a_failed_stack_without_a_failed_resource_reports_the_stack_status(
    events: list[tuple[str, str]], said: str
) -> None:
    with pytest.raises(StackFailed, match=f"the stack x failed: {said}$"):
        lay(CloudFormation(True, events=[event(*each) for each in events]))


@pytest.mark.parametrize("status", ["ROLLBACK_COMPLETE", "ROLLBACK_FAILED"])
def test_a_stack_that_failed_to_create_must_be_deleted_first(status: str) -> None:
    client = CloudFormation(True)
    client.status = status

    with pytest.raises(StackFailed, match=rf"could not be created last time \({status}\): delete it first, see"):
        lay(client)
    assert client.calls == []


class Slow(CloudFormation):
    def __init__(self, heard: threading.Event, answers: bool = True) -> None:
        super().__init__(False)
        self.heard, self.answers = heard, answers

    def wait(self, **_: Any) -> None:
        assert self.heard.wait(PATIENCE_SECONDS)

    def describe_stack_resources(self, **_: Any) -> dict[str, Any]:
        if not self.answers:
            raise ReadTimeoutError(endpoint_url="http://cloudformation")
        return {"StackResources": [event("UsersTable", "CREATE_IN_PROGRESS"), event("Key", "CREATE_COMPLETE")]}


@pytest.mark.parametrize(
    ("answers", "busy"), [(True, "UsersTable"), (False, "unknown, CloudFormation did not respond (ReadTimeoutError)")]
)
def test_a_slow_deployment_prints_the_resources_in_progress(
    answers: bool, busy: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    heard, said = threading.Event(), []

    def say(line: str) -> None:
        said.append(line)
        if len(said) == 4:
            heard.set()

    assert stacks.REPORT_SECONDS == 30
    monkeypatch.setattr(stacks, "REPORT_SECONDS", 0.01)
    monkeypatch.setattr(stacks, "print_progress", say)

    assert lay(Slow(heard, answers)) is True
    late = "causeway: CloudFormation has not finished the stack x after 0 seconds"
    assert said[:4] == [late, f"  in progress: {busy}"] * 2


def test_a_deployment_that_times_out_names_the_resources_in_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    def wait(**_: Any) -> None:
        raise WaiterError("StackCreateComplete", "Max attempts exceeded", {})

    client = Slow(threading.Event())
    monkeypatch.setattr(client, "wait", wait)
    with pytest.raises(StackFailed, match=r"^the stack x is not finished after 360 seconds; in progress: UsersTable$"):
        stacks.deploy_stack(client, "x", {"Resources": {}}, {"Stage": "dev"}, pause=1)


def test_the_template_is_sent_in_compact_form_with_capability_iam() -> None:
    client = CloudFormation(False)
    lay(client)

    assert client.calls[0][1]["TemplateBody"] == '{"Resources":{}}'
    assert client.calls[0][1]["Capabilities"] == ["CAPABILITY_IAM"]


class Chalice:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.deployed: list[str] = []
        self.failure = ""
        monkeypatch.setattr(chalice_command, "deploy", self.deploy)

    def deploy(self, project: Path, stage: str) -> None:
        assert (project / "app.py").is_file()
        if self.failure:
            raise chalice_command.ChaliceFailed(self.failure)
        self.deployed.append(stage)


class Logs:
    def __init__(self, refusal: str = "") -> None:
        self.refusal = refusal
        self.kept: dict[str, int] = {}
        self.keys: dict[str, str] = {}

    def create_log_group(self, logGroupName: str) -> None:  # noqa: N803 - CloudWatch's name
        if self.refusal:
            raise ClientError({"Error": {"Code": self.refusal}}, "CreateLogGroup")

    def associate_kms_key(self, logGroupName: str, kmsKeyId: str) -> None:  # noqa: N803 - CloudWatch's names
        self.keys[logGroupName] = kmsKeyId

    def put_retention_policy(self, logGroupName: str, retentionInDays: int) -> None:  # noqa: N803 - CloudWatch's names
        self.kept[logGroupName] = retentionInDays


class Functions:
    consumers: ClassVar[list[str]] = []
    quota: ClassVar[int] = 1000

    def get_account_settings(self) -> dict[str, Any]:
        return {"AccountLimit": {"ConcurrentExecutions": self.quota, "UnreservedConcurrentExecutions": self.quota}}

    def get_function_concurrency(self, **_: Any) -> dict[str, Any]:
        return {}

    def get_paginator(self, operation: str) -> Functions:
        return self

    def paginate(self) -> Functions:
        return self

    def search(self, expression: str) -> list[str]:
        return self.consumers


class Interfaces:
    def __init__(self) -> None:
        self.changed: list[tuple[str, str]] = []

    def get_rest_api(self, **_: Any) -> dict[str, Any]:
        return {}

    def update_stage(self, restApiId: str, stageName: str, **_: Any) -> None:  # noqa: N803 - API Gateway's names
        self.changed.append((restApiId, stageName))


@pytest.fixture
def finished(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chalice_command, "find_placeholder", lambda stage: None)
    monkeypatch.setattr(runtime, "check_python", lambda: None)


@pytest.fixture
def cloud_formation(monkeypatch: pytest.MonkeyPatch) -> CloudFormation:
    cloud_formation = CloudFormation(False)
    monkeypatch.setattr(chalice_command, "api_id", lambda stage: f"api-{stage}")
    clients = {"cloudformation": cloud_formation, "logs": Logs(), "lambda": Functions(), "apigateway": Interfaces()}
    monkeypatch.setattr(boto3, "client", lambda service: clients[service])
    return cloud_formation


@pytest.fixture
def chalice(monkeypatch: pytest.MonkeyPatch) -> Chalice:
    return Chalice(monkeypatch)


@pytest.mark.usefixtures("finished")
def test_deploy_updates_resources_prints_outputs_and_deploys_the_application(
    cloud_formation: CloudFormation, chalice: Chalice, capsys: pytest.CaptureFixture[str]
) -> None:
    assert deploy.main(["prod", "--alarm-topic", "arn:topic"]) == 0
    assert {"ParameterKey": "AlarmTopicArn", "ParameterValue": "arn:topic"} in cloud_formation.calls[0][1]["Parameters"]
    assert capsys.readouterr().out == "ApiAccessLogArn  arn:log\n"
    assert chalice.deployed == ["prod"]
    assert boto3.client("apigateway").changed == [("api-prod", "prod")]


@pytest.mark.usefixtures("finished", "chalice")
@pytest.mark.parametrize(
    ("exists", "options", "topic"),
    [(True, [], "arn:before"), (False, [], ""), (True, ["--alarm-topic", ""], ""), (True, ["--alarm-topic", "t"], "t")],
)
def test_deploy_without_a_topic_option_does_not_change_the_alarm_topic(
    cloud_formation: CloudFormation, exists: bool, options: list[str], topic: str
) -> None:
    cloud_formation.exists = exists

    assert deploy.main(["dev", *options]) == 0
    request = cloud_formation.calls[0][1]
    assert {"ParameterKey": "AlarmTopicArn", "ParameterValue": topic} in request["Parameters"]
    assert ("AlarmActions" in request["TemplateBody"]) == bool(topic)
    assert request["Tags"] == [{"Key": "Application", "Value": "causeway"}, {"Key": "Stage", "Value": "dev"}]


@pytest.mark.usefixtures("finished", "chalice")
@pytest.mark.parametrize(
    ("before", "options", "own"),
    [("false", [], False), ("true", [], True), ("false", ["true"], True), ("true", ["false"], False)],
)
def test_deploy_without_a_storage_key_option_does_not_change_the_storage_key_setting(
    cloud_formation: CloudFormation, before: str, options: list[str], own: bool
) -> None:
    cloud_formation.exists = True
    cloud_formation.parameters["OwnStorageKey"] = before

    assert deploy.main(["dev", *(["--own-storage-key", *options] if options else [])]) == 0
    request = cloud_formation.calls[0][1]
    assert {"ParameterKey": "OwnStorageKey", "ParameterValue": str(own).lower()} in request["Parameters"]
    assert ("StorageKey" in json.loads(request["TemplateBody"])["Resources"]) == own


@pytest.mark.usefixtures("finished", "chalice")
def test_deploy_encrypts_the_logs_of_all_functions_with_the_storage_key(
    cloud_formation: CloudFormation, monkeypatch: pytest.MonkeyPatch
) -> None:
    logs = boto3.client("logs")
    cloud_formation.outputs["StorageKeyArn"] = "arn:key"

    assert deploy.main(["prod"]) == 0
    names = {f"/aws/lambda/causeway-prod{each.name and f'-{each.name}'}" for each in FUNCTIONS if "prod" in each.stages}
    assert logs.keys == dict.fromkeys(names, "arn:key")


@pytest.mark.usefixtures("finished")
def test_deploy_replaces_a_stage_that_has_a_single_stack_only_with_the_option_take_over(
    cloud_formation: CloudFormation, chalice: Chalice, capsys: pytest.CaptureFixture[str]
) -> None:
    cloud_formation.exists = True
    cloud_formation.outputs["EndpointURL"] = "https://…"

    assert deploy.main(["prod"]) == 1
    assert (cloud_formation.calls, chalice.deployed) == ([], [])
    assert capsys.readouterr().err.startswith(
        "causeway: causeway-prod is deployed as one stack, with functions, API and logs: "
    )
    assert deploy.main(["prod", "--take-over"]) == 0
    assert ([name for name, _ in cloud_formation.calls], chalice.deployed) == (["update"], ["prod"])


@pytest.mark.usefixtures("finished")
def test_a_template_that_is_too_large_is_not_sent(
    cloud_formation: CloudFormation, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(template, "LARGEST", 1000)

    assert deploy.main(["dev"]) == 1
    assert cloud_formation.calls == []
    assert capsys.readouterr().err.startswith("causeway: infra/resources.yaml is too large: ")


@pytest.mark.usefixtures("finished")
def test_an_existing_application_without_a_local_record_is_not_deployed_again(
    cloud_formation: CloudFormation,
    chalice: Chalice,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(chalice_command, "is_recorded", lambda stage: False)
    monkeypatch.setattr(Functions, "consumers", ["arn:aws:lambda:eu-west-1:1:function:causeway-dev-deliver"])

    cloud_formation.exists = True
    assert deploy.main(["dev", "--only", "application"]) == 1
    assert chalice.deployed == []
    assert '.chalice/deployed/dev.json does not exist here: copy that file here, or see "A' in capsys.readouterr().err
    assert deploy.main(["prod", "--only", "application"]) == 0
    assert chalice.deployed == ["prod"]


@pytest.mark.usefixtures("finished")
def test_deploy_changes_nothing_if_the_account_does_not_allow_the_limits(
    cloud_formation: CloudFormation,
    chalice: Chalice,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(limits, "reservations", lambda config, stage: {"": 901})

    assert deploy.main(["dev"]) == 1
    assert (cloud_formation.calls, chalice.deployed) == ([], [])
    assert capsys.readouterr().err.startswith("causeway: reserved_concurrency in .chalice/config.json is too high: ")
    assert deploy.main(["dev", "--only", "resources"]) == 0


@pytest.mark.usefixtures("finished")
@pytest.mark.parametrize(("step", "calls", "deployed"), [("resources", 1, []), ("application", 0, ["dev"])])
def test_deploy_with_the_only_option_runs_a_single_step(
    cloud_formation: CloudFormation, chalice: Chalice, step: str, calls: int, deployed: list[str]
) -> None:
    cloud_formation.exists = True

    assert deploy.main(["dev", "--only", step]) == 0
    assert (len(cloud_formation.calls), chalice.deployed) == (calls, deployed)


@pytest.mark.usefixtures("finished")
def test_deploy_with_another_python_version_changes_nothing(
    cloud_formation: CloudFormation,
    chalice: Chalice,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def refuse() -> None:
        raise runtime.WrongPython("stages run on another Python")

    monkeypatch.setattr(runtime, "check_python", refuse)

    assert deploy.main(["dev"]) == 1
    assert capsys.readouterr().err == "causeway: stages run on another Python\n"
    assert (cloud_formation.calls, chalice.deployed) == ([], [])


@pytest.mark.usefixtures("finished")
def test_an_application_is_not_deployed_without_the_required_resources(
    cloud_formation: CloudFormation, chalice: Chalice, capsys: pytest.CaptureFixture[str]
) -> None:
    assert deploy.main(["dev", "--only", "application"]) == 1
    assert capsys.readouterr().err == (
        "causeway: the stack causeway-dev lacks resources: deploy them first, without --only\n"
    )
    cloud_formation.exists, cloud_formation.outputs = True, {"KeyArn": "of an older version"}
    assert deploy.main(["dev", "--only", "application"]) == 1
    assert chalice.deployed == []


@pytest.mark.usefixtures("finished")
def test_a_failed_application_deployment_is_reported_as_a_one_line_error_message(
    cloud_formation: CloudFormation, chalice: Chalice, capsys: pytest.CaptureFixture[str]
) -> None:
    cloud_formation.exists = True
    chalice.failure = "`chalice deploy --stage dev` ended with exit code 2"

    assert deploy.main(["dev", "--only", "application"]) == 1
    assert capsys.readouterr().err == "causeway: `chalice deploy --stage dev` ended with exit code 2\n"


@pytest.mark.parametrize("refusal", ["", "ResourceAlreadyExistsException"])
def test_the_keep_log_function_sets_the_retention_of_the_log_group_of_the_api_function(refusal: str) -> None:
    client = Logs(refusal)
    deploy.keep_log(client, "prod")

    assert client.kept == {"/aws/lambda/causeway-prod": 365}


def test_a_log_group_that_cannot_be_created_raises_client_error() -> None:
    with pytest.raises(ClientError):
        deploy.keep_log(Logs("AccessDeniedException"), "prod")


def test_deploy_with_a_placeholder_url_changes_nothing(
    cloud_formation: CloudFormation,
    chalice: Chalice,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    address = {"environment_variables": {"PUBLIC_URL": "https://dev.causeway.example"}}
    monkeypatch.setattr(chalice_command, "stage_settings", lambda stage: address)

    assert deploy.main(["dev"]) == 1
    assert (cloud_formation.calls, chalice.deployed) == ([], [])
    assert capsys.readouterr().err == (
        "causeway: PUBLIC_URL of the stage dev in .chalice/config.json is still the placeholder "
        "https://dev.causeway.example: set the stage's address first.\n"
    )


@pytest.mark.usefixtures("finished")
def test_a_failed_deployment_is_reported_as_a_one_line_error_message(
    cloud_formation: CloudFormation, capsys: pytest.CaptureFixture[str]
) -> None:
    cloud_formation.refused = "no"

    assert deploy.main(["dev"]) == 1
    assert capsys.readouterr().err == "causeway: the stack causeway-dev was refused: no\n"
