"""Tests that neither API Gateway nor the service logs bodies, which contain credentials and card data."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from infra.deploy import template
from tests.causeway import Causeway
from tests.infra.deployment import CONFIG, packaged_stage
from tests.kit.logs import Lines

STAGES = ("dev", "prod")
BODY = {"action": "activateCard", "card_id": 987001, "card_pan": "4111117260385914", "acs_password": "quiet-otter-71"}

_LOGS: dict[str, Callable[[str], bool]] = {
    "datatraceenabled": lambda said: said != "false",
    "format": lambda said: "body" in said or "$input" in said,
}
"""Settings of API Gateway, each with a function that returns whether a value enables the logging of bodies."""


def logging_of_bodies(value: Any, path: str = "") -> Iterator[str]:
    """Yield the paths of settings in a template or call that enable body logging in API Gateway."""
    if isinstance(value, list):
        for number, inner in enumerate(value):
            yield from logging_of_bodies(inner, f"{path}[{number}]")
    elif isinstance(value, dict):
        for name, inner in value.items():
            if name.lower() in _LOGS and _LOGS[name.lower()](str(inner).lower()):
                yield f"{path}.{name}"
            yield from logging_of_bodies(inner, f"{path}.{name}")


@pytest.fixture(scope="module")
def packaged() -> dict[str, dict[str, Any]]:
    return {issuer: packaged_stage(issuer) for issuer in STAGES}


@pytest.mark.parametrize("issuer", STAGES)
def test_no_stage_enables_body_logging_in_api_gateway(issuer: str, packaged: dict[str, Any]) -> None:
    (interface,) = [each for each in packaged[issuer]["Resources"].values() if each["Type"] == "AWS::Serverless::Api"]

    assert {"/api", "/simulator"} <= set(interface["Properties"]["DefinitionBody"]["paths"])
    assert list(logging_of_bodies(packaged[issuer])) == []
    assert list(logging_of_bodies(CONFIG)) == []


def test_no_template_resource_enables_body_logging() -> None:
    assert list(logging_of_bodies(template.load())) == []


@pytest.mark.parametrize(
    "settings",
    [
        {
            "MethodSettings": [
                {"HttpMethod": "*", "ResourcePath": "/*", "LoggingLevel": "INFO", "DataTraceEnabled": True}
            ]
        },
        {"MethodSettings": [{"ResourcePath": "/api", "DataTraceEnabled": "true"}]},
        {"DefaultRouteSettings": {"DataTraceEnabled": True}},
        {"AccessLogSetting": {"Format": '{"id": "$context.requestId", "body": "$input.body"}'}},
        {"AccessLogSetting": {"DestinationArn": "arn", "Format": "$context.requestOverride.body"}},
    ],
)
def test_the_template_check_finds_settings_that_log_request_bodies(settings: dict[str, Any]) -> None:
    found = list(logging_of_bodies({"Resources": {"RestAPI": {"Properties": settings}}}))

    assert len(found) == 1
    assert found[0].startswith(".Resources.RestAPI.Properties.")


def test_the_template_check_permits_access_logs_without_request_bodies() -> None:
    harmless = {"AccessLogSetting": {"Format": "$context.requestId $context.status"}, "DataTraceEnabled": False}

    assert list(logging_of_bodies(harmless)) == []


@pytest.mark.parametrize("path", ["/api", "/simulator"])
@pytest.mark.parametrize("text", [json.dumps(BODY), json.dumps(BODY)[:-1], "quiet-otter-71"])
def test_the_log_line_of_a_request_contains_no_body(causeway: Causeway, lines: Lines, path: str, text: str) -> None:
    causeway.call("POST", path, text.encode(), {"content-type": "application/json"})

    (line,) = [each for each in lines.all() if each["message"] == "request"]
    told = {"message", "method", "route", "status", "milliseconds", "action", "credential"}
    assert set(line) - {"timestamp", "level", "service", "request_id", "xray_trace_id"} <= told
    assert not [word for word in ("quiet-otter-71", "4111117260385914", "987001") if word in lines.text]
