"""Repeated, changed and interrupted deployments of a stage, and its deletion, do not affect the other stage."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import boto3
import pytest

from tests.rehearsal import account
from tests.rehearsal.project import Project

pytestmark = pytest.mark.rehearsal
LAID_ANEW = {
    "lambda DeleteLayerVersion",
    "lambda PublishLayerVersion",
    "lambda UpdateFunctionCode",
    "lambda UpdateFunctionConfiguration",
    "lambda DeleteFunctionConcurrency",
    "lambda UpdateEventSourceMapping",
    "lambda TagResource",
    "iam PutRolePolicy",
    "logs PutRetentionPolicy",
    "events PutRule",
    "events PutTargets",
    "apigateway PutRestApi",
    "apigateway UpdateRestApi",
    "apigateway CreateDeployment",
}
"""The operations that Chalice repeats in every deployment, including deployments that change nothing."""
ADDED = '''

@delivery_jobs.schedule("cron(0 12 * * ? *)", name="spare")
def spare(event: Any) -> None:
    """A function that a later version has."""
'''


def written(calls: list[str]) -> set[str]:
    return {call for call in calls if not call.partition(" ")[2].startswith(("Get", "List", "Describe"))}


def of_stage(there: dict[str, Any], stage: str) -> dict[str, Any]:
    return {
        kind: [repr(each) for each in (parts.items() if isinstance(parts, dict) else parts) if stage in repr(each)]
        for kind, parts in there.items()
    }


def test_a_repeated_deployment_changes_nothing(deployed: Project) -> None:
    before = account.everything()
    calls = deployed.deploy("dev")

    assert written(calls) <= LAID_ANEW
    assert account.everything() == before
    for stage in ("dev", "prod"):
        (version,) = account.layers()[f"causeway-{stage}-managed-layer"]
        used = {layer["Arn"] for each in account.functions(stage).values() for layer in each["Layers"]}
        assert used == {version["LayerVersionArn"]}


def test_a_closed_endpoint_remains_closed_after_a_deployment(deployed: Project) -> None:
    gateway, interface = boto3.client("apigateway"), account.interfaces()["dev"]["id"]
    close = {"op": "replace", "path": "/disableExecuteApiEndpoint", "value": "true"}
    gateway.update_rest_api(restApiId=interface, patchOperations=[close])
    before = len(gateway.get_deployments(restApiId=interface)["items"])
    deployed.deploy("dev", "--only", "application")

    assert gateway.get_rest_api(restApiId=interface)["disableExecuteApiEndpoint"] is True
    assert len(gateway.get_deployments(restApiId=interface)["items"]) == before + 2  # Chalice's, and that it is closed


@contextmanager
def with_another(project: Project) -> Iterator[None]:
    jobs, policy = project.root / "chalicelib/delivery/jobs.py", project.root / ".chalice/policy-dev-spare.json"
    code, config = jobs.read_text(encoding="utf-8"), project.config
    sweeping = project.root / ".chalice/policy-dev-sweep.json"
    policy.write_text(sweeping.read_text(encoding="utf-8").replace("dev-sweep", "dev-spare"), encoding="utf-8")
    changed = project.config
    changed["stages"]["dev"]["lambda_functions"]["spare"] = {"iam_policy_file": policy.name}
    changed["lambda_functions"]["spare"] = {"lambda_timeout": 7}
    project.write(changed)
    jobs.write_text(code + ADDED, encoding="utf-8")
    yield
    jobs.write_text(code, encoding="utf-8")
    project.write(config)
    policy.unlink()


def test_a_deployment_creates_an_added_function_and_deletes_a_removed_function(deployed: Project) -> None:
    before = account.everything()
    with with_another(deployed):
        deployed.deploy("dev", "--only", "application")
    between = account.everything()
    deployed.deploy("dev", "--only", "application")
    after = account.everything()

    assert between["functions"].keys() - before["functions"].keys() == {("dev", "spare")}
    assert between["functions"]["dev", "spare"]["Timeout"] == 7
    assert between["schedules"]["causeway-dev-spare-event"][1] == "cron(0 12 * * ? *)"
    assert between["roles"].keys() - before["roles"].keys() == {"causeway-dev-spare"}
    assert between["interfaces"] == before["interfaces"]
    assert not [kind for kind, parts in after.items() if kind != "logs" and "spare" in repr(parts)]
    assert after["logs"]["/aws/lambda/causeway-dev-spare"] is None  # Chalice leaves the log, without its end


@pytest.fixture
def before_tearing_down(deployed: Project) -> Iterator[dict[str, Any]]:
    """Delete the application of ``dev`` and yield the account's state before the deletion. Deploy the application
    afterwards.
    """
    before = account.everything()
    deployed.tear_down("dev")
    (deployed.root / ".chalice/deployed/dev.json").unlink(missing_ok=True)
    yield before
    deployed.deploy("dev", "--only", "application")


def test_deleting_an_application_leaves_only_its_logs_and_resources(before_tearing_down: dict[str, Any]) -> None:
    after = account.everything()

    left = of_stage(after, "causeway-dev") | {"interfaces": of_stage(after, "dev")["interfaces"]}
    (of_the_account,) = left.pop("roles")
    assert "ApiLogRole" in of_the_account  # of the resources: API Gateway's role for the logs of the whole account
    assert {kind: parts for kind, parts in left.items() if parts and kind != "logs"} == {}
    kept = {name for name, days in after["logs"].items() if days and "causeway-dev" in name}
    assert kept == {"/aws/lambda/causeway-dev", "/aws/apigateway/causeway-dev"}  # Chalice leaves its own for ever
    assert of_stage(after, "causeway-prod") == of_stage(before_tearing_down, "causeway-prod")
    assert "causeway-dev-clients" in boto3.client("dynamodb").list_tables()["TableNames"]


def clear_away(stage: str) -> None:
    """Clean up as docs/deployment.md describes, after a first deployment that failed before creating the REST API."""
    client, layer = boto3.client("lambda"), f"causeway-{stage}-managed-layer"
    for source in account.event_sources():
        if source["FunctionArn"] == account.arn(f"causeway-{stage}-deliver"):
            client.delete_event_source_mapping(UUID=source["UUID"])
    for version in account.layers()[layer]:
        client.delete_layer_version(LayerName=layer, VersionNumber=version["Version"])


@pytest.mark.usefixtures("before_tearing_down")
def test_an_interrupted_first_deployment_requires_a_cleanup_before_a_retry(
    deployed: Project, capfd: pytest.CaptureFixture[str]
) -> None:
    deployed.deploy("dev", "--only", "application", failing="ImportRestApi")
    left = account.everything()
    capfd.readouterr()

    deployed.refused("dev")
    assert account.everything() == left
    assert "docs/deployment.md" in capfd.readouterr().err
    clear_away("dev")
    deployed.deploy("dev", "--only", "application")
    assert "dev" in account.interfaces()
