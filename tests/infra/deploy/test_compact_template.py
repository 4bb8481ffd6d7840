"""The compact template of one stage fits into one API call and has the same content as the full template."""

import json
from typing import Any

import pytest

from infra.deploy import template

STAGES = ("dev", "prod")
TOPIC = "arn:aws:sns:eu-central-1:123456789012:causeway-alarms-of-production"
CHOSEN = {"AlarmTopicArn": TOPIC, "OwnStorageKey": "true"}
each_stage = pytest.mark.parametrize("stage", STAGES)


@each_stage
def test_the_compact_template_fits_into_one_cloudformation_call(stage: str) -> None:
    size = len(template.to_json(template.compact(template.load(), stage, **CHOSEN)[0]))

    assert size <= template.LARGEST, (
        f"infra/resources.yaml has {size} bytes as it is sent, "
        f"and CloudFormation takes {template.LARGEST} with a call: "
        "make descriptions or the dashboard shorter, or have infra/deploy/stacks.py send it by way of a bucket"
    )


@each_stage
@pytest.mark.parametrize("own_key", ["false", "true"])
@pytest.mark.parametrize("topic", ["", TOPIC])
def test_the_compact_template_creates_the_same_resources(stage: str, topic: str, own_key: str) -> None:
    whole = template.load()
    small, tags = template.compact(whole, stage, AlarmTopicArn=topic, OwnStorageKey=own_key)
    of_whole, of_small = (
        template.Template(each, Stage=stage, AlarmTopicArn=topic, OwnStorageKey=own_key) for each in (whole, small)
    )

    assert tags == [{"Key": "Application", "Value": "causeway"}, {"Key": "Stage", "Value": stage}]
    for kind in {entry["Type"] for entry in whole["Resources"].values()} - {template.DASHBOARD}:
        made = {
            name: {key: value for key, value in properties.items() if (key, value) != ("Tags", tags)}
            for name, properties in of_whole.resources(kind).items()
        }
        assert of_small.resources(kind) == made


@each_stage
def test_the_compact_dashboard_has_the_same_content_in_one_line(stage: str) -> None:
    whole = template.load()
    said, sent = (
        entry["Properties"]["DashboardBody"]["Fn::Sub"]
        for resources in (whole, template.compact(whole, stage, **CHOSEN)[0])
        for entry in resources["Resources"].values()
        if entry["Type"] == template.DASHBOARD
    )

    assert "\n" not in sent
    assert with_all_names(json.loads(sent)) == json.loads(said.replace("${Stage}", stage))


def with_all_names(dashboard: dict[str, Any]) -> dict[str, Any]:
    """Return a dashboard without abbreviations, in which the value of the previous metric replaces each ``"."``."""
    for widget in dashboard["widgets"]:
        widget |= {name: value for name, value in template.WIDGET_DEFAULTS.items() if name not in widget}
        if widget["type"] == "metric":
            properties = widget["properties"]
            properties |= {name: value for name, value in template.PROPERTY_DEFAULTS.items() if name not in properties}
        before: list[Any] = []
        for metric in widget["properties"].get("metrics", []):
            metric[:] = [before[place] if name == "." else name for place, name in enumerate(metric)]
            before = metric
    return dashboard


def test_the_resources_of_other_stages_are_removed_with_their_outputs_and_conditions() -> None:
    small = template.resolve_conditions(template.load(), "prod")

    assert "DemoBanksTable" not in small["Resources"]
    assert not [name for name in small["Outputs"] if name.startswith("DemoBanks")]
    assert small["Conditions"].keys() == {"HasAlarmTopic", "HasStorageKey"}
    assert small["Resources"]["ClientsTable"]["Properties"]["DeletionProtectionEnabled"] is True


def test_compact_template_alarms_without_a_topic_have_no_actions() -> None:
    small, _ = template.compact(template.load(), "dev", AlarmTopicArn="", OwnStorageKey="false")

    assert "AlarmActions" not in small["Resources"]["DeadDeliveriesAlarm"]["Properties"]
    assert small["Conditions"] == {}


def test_compacting_a_template_does_not_change_the_original_template() -> None:
    whole = template.load()
    template.compact(whole, "dev", **CHOSEN)

    assert whole == template.load()
