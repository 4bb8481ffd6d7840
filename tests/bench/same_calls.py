"""The calls of DynamoDB that something makes, without what is in them: two ways of doing a thing make the same ones."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any
from unittest import mock

from chalicelib.foundation.aws.calls import Call
from tests.kit.storage import observe_calls

_TOKEN = "ClientRequestToken"
_VALUES = "ExpressionAttributeValues"


def calls_of(act: Callable[[], object]) -> list[Any]:
    """The service's calls of DynamoDB that are made meanwhile: tables, attributes, their types and conditions."""
    made: list[Any] = []

    def note(call: Call) -> None:
        if call.service == "dynamodb":
            made.append(_shaped(call.operation, call.body))

    with observe_calls(note):
        act()
    return made


def calls_of_client(client: Any, act: Callable[[], object]) -> list[Any]:
    """The calls of boto3's client for DynamoDB that are made meanwhile."""
    made: list[Any] = []
    real = client._make_api_call

    def note(operation: str, parameters: Mapping[str, Any]) -> Any:
        made.append(_shaped(operation, parameters))
        return real(operation, parameters)

    with mock.patch.object(client, "_make_api_call", note):
        act()
    return made


def _shaped(operation: str, members: Mapping[str, Any]) -> tuple[str, Any]:
    return operation, shape({name: value for name, value in members.items() if name != _TOKEN})


def shape(value: Any) -> Any:
    """What a call is about, without what is in it."""
    match value:
        case {"S": str(text)}:
            return re.sub(r"[#.\d].*", "#", text) if "#" in text else "text"
        case {"N": _} | {"B": _} | {"BOOL": _}:
            return next(iter(value))
        case dict():
            names = value.get("ExpressionAttributeNames", {})
            kept = {name: each for name, each in value.items() if name != "ExpressionAttributeNames"}
            told: dict[str, Any] = {
                name: spelt(each, names) if name.endswith("Expression") else shape(each) for name, each in kept.items()
            }
            return told | ({_VALUES: sorted(map(str, told[_VALUES].values()))} if _VALUES in told else {})
        case list():
            return [shape(each) for each in value]
    return value


def spelt(expression: str, names: Mapping[str, str]) -> list[str]:
    """An expression's words, with the attributes' own names and without those of values."""
    words = re.sub(r"#\w+", lambda found: names[found[0]], re.sub(r":\w+", "?", expression))
    return sorted(re.split(r"[\s,()]+", words))
