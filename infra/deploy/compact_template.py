"""The template of one stage: what depends on the stage alone is decided, and what is said everywhere is said once.

CloudFormation takes no more than 51,200 bytes with a call, and everything longer only by way of a bucket.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from typing import Any

from infra.deploy import template

LARGEST = 51_200
DASHBOARD = "AWS::CloudWatch::Dashboard"
Parts = dict[str, Any]


def written(source: Mapping[str, Any]) -> str:
    """A template as it is sent, without what only people need; all of it is ASCII."""
    return json.dumps(source, separators=(",", ":"))


def compact(resources: Mapping[str, Any], stage: str, alarm_topic: str) -> tuple[Parts, list[dict[str, str]]]:
    """The template of one stage as small as it goes, and the tags that the stack gives to all that it makes."""
    small: Parts = _in_one_line(_spelled(settled(resources, stage, alarm_topic), stage))
    tagged = [entry["Properties"] for entry in small["Resources"].values() if "Tags" in entry.get("Properties", {})]
    tags: list[dict[str, str]] = tagged[0]["Tags"]
    for properties in tagged:
        if properties["Tags"] == tags:
            del properties["Tags"]
    return small, tags


def settled(resources: Mapping[str, Any], stage: str, *alarm_topics: str) -> Parts:
    """The resources of one stage, without what others have, and without the conditions that are decided by it.

    Those are decided too that depend on the alarms' topic, if one is given, be it empty.
    """
    known = [template.Template(resources, Stage=stage, AlarmTopicArn=topic) for topic in alarm_topics or ("", "any")]
    each = {name: {one.condition(name) for one in known} for name in resources["Conditions"]}
    decided = {name: values.pop() for name, values in each.items() if len(values) == 1}
    parts: Parts = _decided(copy.deepcopy(dict(resources)), decided)
    for section in ("Resources", "Outputs"):
        parts[section] = {name: entry for name, entry in parts[section].items() if _stays(entry, decided)}
    parts["Conditions"] = {name: value for name, value in parts["Conditions"].items() if name not in decided}
    parts["Parameters"]["Stage"] |= {"AllowedValues": [stage], "Default": stage}
    return parts


def _decided(value: Any, decided: Mapping[str, bool]) -> Any:
    if isinstance(value, list):
        return [_decided(item, decided) for item in value]
    if not isinstance(value, dict):
        return value
    if value.keys() == {"Fn::If"} and value["Fn::If"][0] in decided:
        name, then, otherwise = value["Fn::If"]
        return _decided(then if decided[name] else otherwise, decided)
    members = {name: _decided(member, decided) for name, member in value.items()}
    return {name: member for name, member in members.items() if member != {"Ref": "AWS::NoValue"}}


def _stays(entry: Parts, decided: Mapping[str, bool]) -> bool:
    """Whether a resource or output exists; its condition goes when it is decided."""
    if entry.get("Condition") not in decided:
        return True
    return decided[entry.pop("Condition")]


def _spelled(value: Any, stage: str) -> Any:
    """``value`` with the stage's name in place of what refers to it."""
    if isinstance(value, list):
        return [_spelled(item, stage) for item in value]
    if not isinstance(value, dict):
        return value
    if value == {"Ref": "Stage"}:
        return stage
    if value.keys() == {"Fn::Sub"} and isinstance(value["Fn::Sub"], str):
        text = value["Fn::Sub"].replace("${Stage}", stage)
        return {"Fn::Sub": text} if "${" in text else text
    return {name: _spelled(member, stage) for name, member in value.items()}


def _in_one_line(parts: Parts) -> Parts:
    """``parts`` with the dashboard's JSON, which has its lines only for people, as one."""
    for entry in parts["Resources"].values():
        if entry["Type"] == DASHBOARD:
            lines = entry["Properties"]["DashboardBody"]["Fn::Sub"].splitlines()
            entry["Properties"]["DashboardBody"] = {"Fn::Sub": "".join(line.strip() for line in lines)}
    return parts
