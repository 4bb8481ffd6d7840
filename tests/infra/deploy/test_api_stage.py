"""The API stage has throttling and an access log after every kind of deployment. The access log contains no secrets."""

import json
import re
from typing import Any

import boto3
import pytest
from moto import mock_aws

from infra.deploy import api_stage, limits, template
from infra.deploy.chalice_command import stage_settings
from infra.deploy.runtime import STAGES
from tests.infra.deployment import for_stage

LOG = "arn:aws:logs:eu-west-1:123456789012:log-group:/aws/apigateway/causeway-dev"


@pytest.fixture
def deployed() -> Any:
    with mock_aws():
        client = boto3.client("apigateway", "eu-west-1")
        interface = client.create_rest_api(name="causeway")["id"]
        (root,) = client.get_resources(restApiId=interface)["items"]
        method = {"restApiId": interface, "resourceId": root["id"], "httpMethod": "GET"}
        client.put_method(**method, authorizationType="NONE")
        client.put_integration(**method, type="MOCK")
        client.create_deployment(restApiId=interface, stageName="dev")
        yield client, interface


def test_a_stage_deployed_by_chalice_has_throttling_and_an_access_log(deployed: Any) -> None:
    client, interface = deployed
    api_stage.update(client, interface, "dev", LOG)
    api_stage.update(client, interface, "dev", LOG)
    stage = client.get_stage(restApiId=interface, stageName="dev")

    assert stage["accessLogSettings"] == {"destinationArn": LOG, "format": api_stage.LOG_FORMAT}
    settings = stage["methodSettings"]["*/*"]
    assert settings["throttlingRateLimit"] == limits.REQUESTS_PER_SECOND
    assert settings["throttlingBurstLimit"] == limits.REQUEST_BURST


def test_access_log_lines_have_the_route_but_no_path_or_query() -> None:
    """The path of a cancel URL contains a secret, and the query of a callback contains a code."""
    variables = set(re.findall(r"\$context\.([A-Za-z.]+)", api_stage.LOG_FORMAT))

    assert "\n" not in api_stage.LOG_FORMAT
    assert json.loads(api_stage.LOG_FORMAT)["resourcePath"] == "$context.resourcePath"
    assert not variables & {"path", "customDomain.basePathMatched", "authorizer.claims"}
    assert not [name for name in variables if "query" in name.lower() or "header" in name.lower()]


def test_the_throttling_metric_reads_members_of_the_access_log() -> None:
    (found,) = for_stage("dev").resources("AWS::Logs::MetricFilter").values()
    (metric,) = found["MetricTransformations"]
    line = json.loads(api_stage.LOG_FORMAT)
    used = re.findall(r"\$\.(\w+)", json.dumps([found["FilterPattern"], metric["Dimensions"]]))

    assert sorted(used) == ["responseType", "stage"]
    assert (line["responseType"], line["stage"]) == ("$context.error.responseType", "$context.stage")


@pytest.mark.parametrize("stage", STAGES)
def test_the_access_log_has_the_retention_of_the_function_logs(stage: str) -> None:
    (log,) = for_stage(stage).resources("AWS::Logs::LogGroup").values()

    assert log["LogGroupName"] == f"/aws/apigateway/causeway-{stage}"
    assert log["RetentionInDays"] == stage_settings(stage)["log_retention_in_days"]


def test_the_template_outputs_the_arn_of_the_access_log() -> None:
    output = template.load()["Outputs"][api_stage.LOG_OUTPUT]

    assert output["Value"]["Fn::Sub"].endswith(":log-group:${ApiAccessLog}")
