"""The table of functions agrees with all configuration files, policies, alarms and documents."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from chalice.app import ScheduledEventConfig, SQSEventConfig

from app import app
from infra.deploy import functions, policies
from infra.deploy.functions import FUNCTIONS, Function
from infra.deploy.runtime import STAGES
from infra.local.event_runner import queue_name, schedule_expression
from tests.infra.alarms import ALARMS, watched_metrics
from tests.kit.documents import DOCUMENTS, OPERATIONS, ROOT, rows, section

STARTED_BY = {
    "API Gateway": "API Gateway",
    "deliveries": "Queue causeway-{stage}-deliveries",
    "rate(1 minute)": "Every minute",
    "rate(5 minutes)": "Every five minutes",
    "rate(1 hour)": "Every hour",
    "cron(10 1 * * ? *)": "At 01:10 UTC",
}
"""The text for each trigger in docs/operations.md."""
OF_LAMBDA = {"function-errors": "Errors", "function-throttles": "Throttles"}

each_function = pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.name or "interface")


def triggers() -> dict[str, str]:
    found = {}
    for source in app.event_sources:
        if isinstance(source, SQSEventConfig):
            found[source.name] = queue_name(source).removeprefix("causeway-local-")
        else:
            assert isinstance(source, ScheduledEventConfig)
            found[source.name] = schedule_expression(source)
    return found


def deployed_name(function: Function, stage: str) -> str:
    return f"causeway-{stage}{function.name and f'-{function.name}'}"


def test_the_function_table_has_exactly_the_registered_functions_and_triggers() -> None:
    assert triggers() == {each.name: each.trigger for each in FUNCTIONS if each.name}, (
        "infra/deploy/functions.py has other functions or triggers than the application"
    )


def test_each_job_module_finds_the_service_if_no_other_job_module_is_loaded(subtests: pytest.Subtests) -> None:
    rooms = {source.handler_string.rpartition(".")[0] for source in app.event_sources} - {"chalicelib.jobs"}
    environment = {**os.environ, "STAGE": "local", "AWS_DEFAULT_REGION": "eu-west-1"}

    assert rooms >= {"chalicelib.delivery.jobs", "chalicelib.cards.jobs"}
    for module in rooms:
        with subtests.test(module):
            found = "[jobs] = [each for each in vars(room).values() if isinstance(each, room.Jobs)]"
            command = [sys.executable, "-c", f"import {module} as room; {found}; print(jobs.parts())"]
            made = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
            assert re.search(r"Container object|\.Hub object", made.stdout)


def test_chalice_configuration_and_policies_are_up_to_date() -> None:
    files = functions.written_files(json.loads(functions.CONFIG.read_text("utf-8")))

    for name, text in files.items():
        there = (functions.CONFIG.parent / name).read_text("utf-8")
        assert there == text, f"{name}: `.venv/bin/python -m infra.deploy.functions` writes it again"


def test_the_command_writes_chalice_configuration_and_policies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = functions.CONFIG.read_text("utf-8")
    copy = tmp_path / "config.json"
    copy.write_text(json.dumps({**json.loads(before), "lambda_functions": {}}), "utf-8")
    folder = functions.CONFIG.parent
    monkeypatch.setattr(functions, "CONFIG", copy)

    assert functions.main([]) == 0
    assert copy.read_text("utf-8") == before
    assert {file.name: file.read_text("utf-8") for file in tmp_path.glob("policy-*.json")} == {
        file.name: file.read_text("utf-8") for file in folder.glob("policy-*.json")
    }


@each_function
def test_a_function_has_a_policy_in_exactly_the_stages_of_the_function(function: Function) -> None:
    folder = functions.CONFIG.parent
    there = {stage for stage in STAGES if (folder / function.policy(stage)).is_file()}

    assert there == set(function.stages), f"{function.policy('<stage>')} belongs to {', '.join(function.stages)}"


def test_every_policy_file_belongs_to_a_function() -> None:
    there = {file.name for file in functions.CONFIG.parent.glob("policy-*.json")}

    assert there == {each.policy(stage) for each in FUNCTIONS for stage in each.stages}


def test_policy_rights_are_defined_for_exactly_the_functions() -> None:
    assert policies.RIGHTS.keys() == {each.name for each in FUNCTIONS}


@each_function
def test_every_function_has_a_test_of_the_function_policy(function: Function) -> None:
    tests = ["test_permissions.py", "test_interface_permissions.py"]
    text = "".join((Path(__file__).parent / name).read_text("utf-8") for name in tests)
    suffix = function.name and f"-{function.name}"

    assert f'"{suffix}")' in text, f"no test has {function.name} work and compares its policy with that"


@each_function
def test_every_production_function_has_alarms_that_exist(function: Function) -> None:
    assert set(function.alarms) <= ALARMS.keys(), "infra/resources.yaml has no such alarm"
    assert function.alarms or "prod" not in function.stages, f"nobody notices when {function.name} fails"


@pytest.mark.parametrize(("alarm", "metric"), OF_LAMBDA.items())
def test_lambda_alarms_watch_exactly_the_functions_of_the_table(alarm: str, metric: str) -> None:
    wanted = {deployed_name(each, "local") for each in FUNCTIONS if alarm in each.alarms}
    found = {
        value
        for namespace, name, dimensions in (each.metric for each in watched_metrics(ALARMS[alarm]).values())
        for _, value in dimensions
        if (namespace, name) == ("AWS/Lambda", metric)
    }

    assert found == wanted


@pytest.mark.parametrize("name", sorted({name for each in FUNCTIONS for name in each.alarms} - OF_LAMBDA.keys()))
def test_an_alarm_description_names_the_scheduled_functions(name: str) -> None:
    own = [each.name for each in FUNCTIONS if each.is_scheduled and name in each.alarms]
    text = ALARMS[name]["AlarmDescription"]

    assert all(re.search(rf"\b{function}\b", text) for function in own)


@each_function
def test_docs_list_memory_timeout_and_trigger_of_each_function(function: Function) -> None:
    name = deployed_name(function, "{stage}")
    found = [row[1:] for row in rows(section(OPERATIONS, "## Functions")) if row[0] == name]

    assert len(found) == 1, f"the table in docs/operations.md, Functions, has {len(found)} rows of {name}"
    [(memory, timeout, started_by)] = found
    assert (memory, timeout) == (f"{function.memory} MB", f"{function.timeout} s")
    assert started_by.startswith(STARTED_BY[function.trigger])
    assert ("not in prod" in started_by) == ("prod" not in function.stages)


def test_docs_list_no_unknown_function() -> None:
    found = {row[0] for row in rows(section(OPERATIONS, "## Functions")) if row[0].startswith("causeway-{stage}")}

    assert found == {deployed_name(each, "{stage}") for each in FUNCTIONS}


def test_docs_list_all_production_functions_to_stop_for_a_restore() -> None:
    (step,) = re.findall(r"Stop all functions.*", DOCUMENTS["docs/deployment.md"])

    assert set(re.findall(r"`-([a-z]+)`", step)) == {
        each.name for each in FUNCTIONS if each.name and "prod" in each.stages
    }


def test_docs_list_the_cost_of_every_production_schedule() -> None:
    page = (ROOT / "docs/capacity.md").read_text("utf-8")
    scheduled = [each.name for each in FUNCTIONS if each.is_scheduled and "prod" in each.stages]

    assert set(re.findall(r"^\| `([a-z]+)` .*: [0-9,]+ runs \|", page, re.MULTILINE)) == set(scheduled)
