"""The template ``resources.yaml``: parsing, resolution for a stage, and compaction for CloudFormation.

Only the intrinsic functions used in names, tables and secrets are supported. CloudFormation accepts at most ``LARGEST``
bytes in a call.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import yaml

try:
    from yaml import CSafeLoader as SafeLoader  # the parser in C needs a tenth of the time
except ImportError:  # PyYAML was built without it
    from yaml import SafeLoader  # type: ignore[assignment]

PATH = Path(__file__).parents[1] / "resources.yaml"

TABLE = "AWS::DynamoDB::Table"
SECRET = "AWS::SecretsManager::Secret"  # noqa: S105 - a resource type
QUEUE = "AWS::SQS::Queue"

_TABLE_CALL = (
    *("TableName", "AttributeDefinitions", "KeySchema"),
    *("GlobalSecondaryIndexes", "LocalSecondaryIndexes", "BillingMode"),
)
_OMITTED = object()


class TemplateError(ValueError):
    """The template has an unknown construct or an undefined name."""


class _Loader(SafeLoader):
    """Parses YAML with CloudFormation's short forms, which are expanded to long forms."""


def _short_form(loader: _Loader, suffix: str, node: yaml.Node) -> dict[str, Any]:
    name = suffix if suffix in ("Ref", "Condition") else f"Fn::{suffix}"
    if isinstance(node, yaml.ScalarNode):
        value: Any = loader.construct_scalar(node)
        return {name: value.split(".", 1) if suffix == "GetAtt" else value}
    if isinstance(node, yaml.SequenceNode):
        return {name: loader.construct_sequence(node, deep=True)}
    assert isinstance(node, yaml.MappingNode)
    return {name: loader.construct_mapping(node, deep=True)}


_Loader.add_multi_constructor("!", _short_form)


def load(path: Path = PATH) -> dict[str, Any]:
    """Load the template as plain data, with short forms expanded. Its JSON is also a valid template."""
    template: dict[str, Any] = json.loads(_expand(path.read_text("utf-8")))
    return template


@cache
def _expand(text: str) -> str:
    return json.dumps(yaml.load(text, _Loader))  # noqa: S506 - a SafeLoader


class Template:
    """A template with values for its parameters.

    ``GetAtt`` and references to resources remain unresolved, because their values exist only after deployment.
    """

    def __init__(self, template: Mapping[str, Any], **parameters: str) -> None:
        self._template = template
        declared = template.get("Parameters", {})
        if unknown := parameters.keys() - declared.keys():
            raise TemplateError(f"no such parameter: {', '.join(sorted(unknown))}")
        defaults = {name: entry["Default"] for name, entry in declared.items() if "Default" in entry}
        self._values: dict[str, str] = {**_PSEUDO, **defaults, **parameters}
        if missing := declared.keys() - self._values.keys():
            raise TemplateError(f"parameter without a value: {', '.join(sorted(missing))}")
        self._functions: dict[str, Callable[[Any], Any]] = {
            "Ref": self._ref,
            "Condition": self.condition,
            "Fn::Sub": self._sub,
            "Fn::If": self._if,
            "Fn::Equals": self._equals,
            "Fn::Not": lambda argument: not self.resolve(argument)[0],
            "Fn::And": lambda argument: all(self.resolve(argument)),
            "Fn::Or": lambda argument: any(self.resolve(argument)),
        }

    def resources(self, kind: str) -> dict[str, dict[str, Any]]:
        """Return the resolved properties of all active resources of a type, by logical name."""
        return {
            name: self.resolve(entry.get("Properties", {}))
            for name, entry in self._template["Resources"].items()
            if entry["Type"] == kind and ("Condition" not in entry or self.condition(entry["Condition"]))
        }

    def tables(self) -> list[dict[str, Any]]:
        """Return the arguments of a ``create_table`` call for each table."""
        return [
            {name: table[name] for name in _TABLE_CALL if name in table} for table in self.resources(TABLE).values()
        ]

    def expiry_attributes(self) -> dict[str, str]:
        """Return the expiry attributes of tables, by table name."""
        return {
            table["TableName"]: table["TimeToLiveSpecification"]["AttributeName"]
            for table in self.resources(TABLE).values()
            if "TimeToLiveSpecification" in table
        }

    def resolve(self, value: Any) -> Any:
        """Resolve all functions in ``value`` that do not need a deployment."""
        if isinstance(value, list):
            return [item for item in map(self.resolve, value) if item is not _OMITTED]
        if not isinstance(value, dict):
            return value
        if len(value) == 1:
            (name, argument), *_ = value.items()
            if name in self._functions:
                return self._functions[name](argument)
        members = {name: self.resolve(member) for name, member in value.items()}
        return {name: member for name, member in members.items() if member is not _OMITTED}

    def condition(self, name: str) -> bool:
        """Return whether a named condition is true. Raises: TemplateError."""
        if name not in self._template.get("Conditions", {}):
            raise TemplateError(f"no such condition: {name}")
        return bool(self.resolve(self._template["Conditions"][name]))

    def _ref(self, name: str) -> Any:
        if name == "AWS::NoValue":
            return _OMITTED
        return self._values.get(name, {"Ref": name})

    def _sub(self, argument: str | list[Any]) -> str:
        text, own = (argument, {}) if isinstance(argument, str) else (argument[0], self.resolve(argument[1]))
        values = {**self._values, **own}

        def value(match: re.Match[str]) -> str:
            if match[1] not in values:
                raise TemplateError(f"Fn::Sub of {text!r}: {match[1]} exists only after deployment")
            return str(values[match[1]])

        return re.sub(r"\$\{([A-Za-z0-9:.]+)\}", value, text)

    def _if(self, argument: list[Any]) -> Any:
        name, then, otherwise = argument
        return self.resolve(then if self.condition(name) else otherwise)

    def _equals(self, argument: list[Any]) -> bool:
        left, right = self.resolve(argument)
        return bool(left == right)


_PSEUDO = {
    "AWS::AccountId": "123456789012",
    "AWS::Partition": "aws",
    "AWS::Region": "eu-west-1",
    "AWS::URLSuffix": "amazonaws.com",
}


def without_type(template: Mapping[str, Any], kind: str) -> dict[str, Any]:
    """Return the template without the resources of a type, and without outputs that refer to them."""
    gone = {name for name, entry in template["Resources"].items() if entry["Type"] == kind}
    outputs = template.get("Outputs", {})
    return {
        **template,
        "Resources": {name: entry for name, entry in template["Resources"].items() if name not in gone},
        "Outputs": {name: entry for name, entry in outputs.items() if not gone & set(references(entry))},
    }


def references(value: Any) -> list[str]:
    """Return the names that a value refers to."""
    if isinstance(value, list):
        return [name for item in value for name in references(item)]
    if not isinstance(value, dict):
        return []
    names = [value["Ref"]] if "Ref" in value else []
    names += [value["Fn::GetAtt"][0]] if "Fn::GetAtt" in value else []
    return names + [name for member in value.values() for name in references(member)]


LARGEST = 51_200
DASHBOARD = "AWS::CloudWatch::Dashboard"
Parts = dict[str, Any]


def to_json(source: Mapping[str, Any]) -> str:
    """Serialise the template as compact ASCII JSON, as sent to CloudFormation."""
    return json.dumps(source, separators=(",", ":"))


def compact(resources: Mapping[str, Any], stage: str, **parameters: str) -> tuple[Parts, list[dict[str, str]]]:
    """Return the minimal template of one stage, and the tags for the stack, which its resources inherit.

    ``parameters`` has values for the parameters in ``OPTIONAL``.
    """
    small: Parts = _compact_dashboard(_insert_stage(resolve_conditions(resources, stage, **parameters), stage))
    tagged = [entry["Properties"] for entry in small["Resources"].values() if "Tags" in entry.get("Properties", {})]
    tags: list[dict[str, str]] = tagged[0]["Tags"]
    for properties in tagged:
        if properties["Tags"] == tags:
            del properties["Tags"]
    for entry in small["Resources"].values():
        for policy in ("DeletionPolicy", "UpdateReplacePolicy"):
            if entry.get(policy) == "Delete":  # as without it
                del entry[policy]
    return small, tags


OPTIONAL: Mapping[str, tuple[str, str]] = {"AlarmTopicArn": ("", "any"), "OwnStorageKey": ("false", "true")}
"""The parameters that a deployment may set, each with its default and with a value that changes the template."""


def resolve_conditions(resources: Mapping[str, Any], stage: str, **parameters: str) -> Parts:
    """Return the template of one stage, in which conditions that depend only on the stage and ``parameters`` are
    resolved.
    """
    possible = [(parameters[name],) if name in parameters else values for name, values in OPTIONAL.items()]
    known = [Template(resources, Stage=stage, **dict(zip(OPTIONAL, each, strict=True))) for each in product(*possible)]
    each = {name: {one.condition(name) for one in known} for name in resources["Conditions"]}
    decided = {name: values.pop() for name, values in each.items() if len(values) == 1}
    parts: Parts = _resolve(dict(resources), decided)
    for section in ("Resources", "Outputs"):
        parts[section] = {name: entry for name, entry in parts[section].items() if _keep(entry, decided)}
    parts["Conditions"] = {name: value for name, value in parts["Conditions"].items() if name not in decided}
    parts["Parameters"]["Stage"] |= {"AllowedValues": [stage], "Default": stage}
    return parts


def _resolve(value: Any, decided: Mapping[str, bool]) -> Any:
    if isinstance(value, list):
        return [_resolve(item, decided) for item in value]
    if not isinstance(value, dict):
        return value
    if value.keys() == {"Fn::If"} and value["Fn::If"][0] in decided:
        name, then, otherwise = value["Fn::If"]
        return _resolve(then if decided[name] else otherwise, decided)
    members = {name: _resolve(member, decided) for name, member in value.items()}
    return {name: member for name, member in members.items() if member != {"Ref": "AWS::NoValue"}}


def _keep(entry: Parts, decided: Mapping[str, bool]) -> bool:
    """Return whether a resource or output exists in the stage, and remove its resolved condition."""
    if entry.get("Condition") not in decided:
        return True
    return decided[entry.pop("Condition")]


def _insert_stage(value: Any, stage: str) -> Any:
    if isinstance(value, list):
        return [_insert_stage(item, stage) for item in value]
    if not isinstance(value, dict):
        return value
    if value == {"Ref": "Stage"}:
        return stage
    if value.keys() == {"Fn::Sub"} and isinstance(value["Fn::Sub"], str):
        text = value["Fn::Sub"].replace("${Stage}", stage)
        return {"Fn::Sub": text} if "${" in text else text
    return {name: _insert_stage(member, stage) for name, member in value.items()}


def _compact_dashboard(parts: Parts) -> Parts:
    """Return ``parts`` with the dashboard's JSON in the shortest notation that CloudWatch accepts."""
    for entry in parts["Resources"].values():
        if entry["Type"] == DASHBOARD:
            body = json.loads(entry["Properties"]["DashboardBody"]["Fn::Sub"])
            for widget in body["widgets"]:
                _leave_out(widget, WIDGET_DEFAULTS)
                _leave_out(widget["properties"], PROPERTY_DEFAULTS)
                _abbreviate(widget["properties"].get("metrics", []))
            entry["Properties"]["DashboardBody"] = {"Fn::Sub": to_json(body)}
    return parts


WIDGET_DEFAULTS = {"height": 6, "width": 6}
PROPERTY_DEFAULTS = {"period": 300}
"""The default values that CloudWatch uses for missing members of a widget and of the widget's properties."""


def _leave_out(members: Parts, defaults: Mapping[str, Any]) -> None:
    for name, value in defaults.items():
        if members.get(name) == value:
            del members[name]


def _abbreviate(metrics: list[list[Any]]) -> None:
    """Replace the leading parts that a metric has in common with the previous metric by "."."""
    before: Sequence[str] = ()
    for metric in metrics:
        names = [name for name in metric if isinstance(name, str)]
        if len(names) == len(before):
            metric[: len(names)] = ["." if name == other else name for name, other in zip(names, before, strict=True)]
        before = names
