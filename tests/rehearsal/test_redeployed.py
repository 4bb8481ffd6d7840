"""A stage that is deployed again, changed, broken off in between, and torn down; the other stage never notices."""

from __future__ import annotations

from collections.abc import Iterator
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
"""What Chalice writes without looking whether it is the same, and a second time changes nothing."""
ADDED = '''

@job_routes.schedule("cron(0 12 * * ? *)", name="spare")
def spare(event: Any) -> None:
    """A function that a later version has."""
'''


def written(calls: list[str]) -> set[str]:
    """The calls that change something."""
    return {call for call in calls if not call.partition(" ")[2].startswith(("Get", "List", "Describe"))}


def of_stage(there: dict[str, Any], stage: str) -> dict[str, Any]:
    """What of an account belongs to a stage."""
    return {
        kind: [repr(each) for each in (parts.items() if isinstance(parts, dict) else parts) if stage in repr(each)]
        for kind, parts in there.items()
    }


def test_the_same_once_more_makes_and_removes_nothing_and_leaves_all_as_it_was(deployed: Project) -> None:
    before = account.everything()
    calls = deployed.deploy("dev")

    assert written(calls) <= LAID_ANEW
    assert account.everything() == before
    for stage in ("dev", "prod"):
        (version,) = account.layers()[f"causeway-{stage}-managed-layer"]
        used = {layer["Arn"] for each in account.functions(stage).values() for layer in each["Layers"]}
        assert used == {version["LayerVersionArn"]}


@pytest.fixture
def with_another(deployed: Project) -> Iterator[Project]:
    """A version of the application that has one function more."""
    jobs, policy = deployed.root / "chalicelib/delivery/jobs.py", deployed.root / ".chalice/policy-dev-spare.json"
    code, config = jobs.read_text(encoding="utf-8"), deployed.config
    sweeping = deployed.root / ".chalice/policy-dev-sweep.json"
    policy.write_text(sweeping.read_text(encoding="utf-8").replace("dev-sweep", "dev-spare"), encoding="utf-8")
    changed = deployed.config
    changed["stages"]["dev"]["lambda_functions"]["spare"] = {"iam_policy_file": policy.name}
    changed["lambda_functions"]["spare"] = {"lambda_timeout": 7}
    deployed.write(changed)
    jobs.write_text(code + ADDED, encoding="utf-8")
    yield deployed
    jobs.write_text(code, encoding="utf-8")
    deployed.write(config)
    policy.unlink()


def test_a_function_comes_and_goes_with_the_version_that_has_it(deployed: Project, request: Any) -> None:
    before = account.everything()
    request.getfixturevalue("with_another").deploy("dev", "--only", "application")
    between = account.everything()

    assert between["functions"].keys() - before["functions"].keys() == {("dev", "spare")}
    assert account.functions("dev")["spare"]["Timeout"] == 7
    assert between["schedules"]["causeway-dev-spare-event"][1] == "cron(0 12 * * ? *)"
    assert between["roles"].keys() - before["roles"].keys() == {"causeway-dev-spare"}
    assert between["interfaces"] == before["interfaces"]


def test_what_a_version_no_longer_has_is_removed(deployed: Project) -> None:
    assert "spare" in account.functions("dev")
    deployed.deploy("dev", "--only", "application")
    after = account.everything()

    assert not [kind for kind, parts in after.items() if kind != "logs" and "spare" in repr(parts)]
    assert after["logs"]["/aws/lambda/causeway-dev-spare"] is None  # Chalice leaves the log, without its end


def test_tearing_down_leaves_nothing_of_the_application_but_its_logs_and_all_of_the_resources(
    deployed: Project,
) -> None:
    before = account.everything()
    deployed.tear_down("dev")
    (deployed.root / ".chalice/deployed/dev.json").unlink(missing_ok=True)
    after = account.everything()

    left = of_stage(after, "causeway-dev") | {"interfaces": of_stage(after, "dev")["interfaces"]}
    assert {kind: parts for kind, parts in left.items() if parts and kind != "logs"} == {}
    kept = {name for name, days in after["logs"].items() if days and "causeway-dev" in name}
    assert kept == {"/aws/lambda/causeway-dev"}  # Chalice leaves logs, and has them kept for ever
    assert of_stage(after, "causeway-prod") == of_stage(before, "causeway-prod")
    assert "causeway-dev-clients" in boto3.client("dynamodb").list_tables()["TableNames"]


def test_a_first_deployment_that_breaks_off_is_not_repeated_before_it_is_cleared_away(
    deployed: Project, capfd: pytest.CaptureFixture[str]
) -> None:
    deployed.deploy("dev", "--only", "application", failing="ImportRestApi")
    left = account.everything()
    capfd.readouterr()

    deployed.refused("dev")
    assert account.everything() == left
    assert "docs/deployment.md" in capfd.readouterr().err
