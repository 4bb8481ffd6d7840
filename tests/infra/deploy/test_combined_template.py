"""The combined template has the correct names, log groups and dependencies, and no resources of other stages."""

import copy
from typing import Any

import pytest

from infra.deploy import package, template
from infra.deploy.api_stage import LOG_FORMAT
from infra.deploy.limits import REQUEST_BURST, REQUESTS_PER_SECOND
from infra.deploy.package import NotMergeable
from infra.deploy.runtime import STAGES
from tests.infra.deployment import APPLICATION, CONFIG, packaged_stage


@pytest.fixture
def application() -> dict[str, Any]:
    return copy.deepcopy(APPLICATION)


def merged(application: dict[str, Any], stage: str = "dev") -> dict[str, Any]:
    return package.merge_templates(application, template.load(), stage)


def test_functions_and_log_groups_have_the_names_that_the_policies_contain(application: dict[str, Any]) -> None:
    parts = merged(application)["Resources"]

    assert parts["APIHandler"]["Properties"]["FunctionName"] == "causeway-dev"
    assert parts["ApiHandlerLogGroup"]["Properties"]["LogGroupName"] == "/aws/lambda/causeway-dev"
    assert parts["Deliver"]["Properties"]["FunctionName"] == "causeway-dev-deliver"
    assert parts["DeliverLogGroup"]["Properties"]["LogGroupName"] == "/aws/lambda/causeway-dev-deliver"


def test_a_function_depends_on_its_log_group_and_on_tables_keys_and_queues(application: dict[str, Any]) -> None:
    parts = merged(application)["Resources"]

    for name, log in (("APIHandler", "ApiHandlerLogGroup"), ("Deliver", "DeliverLogGroup")):
        assert {log, "ClientsTable", "Keys", "KeyAlias", "DeadDeliveriesQueue"} <= set(parts[name]["DependsOn"])
    assert "DeliveriesQueue" not in parts["Deliver"]["DependsOn"]  # it refers to it already


def test_the_worker_receives_up_to_ten_messages_and_reports_batch_item_failures(application: dict[str, Any]) -> None:
    parts = merged(application)["Resources"]

    assert parts["Deliver"]["Properties"]["Events"]["Source"]["Properties"] == {
        "Queue": {"Fn::GetAtt": ["DeliveriesQueue", "Arn"]},
        "BatchSize": 10,
        "FunctionResponseTypes": ["ReportBatchItemFailures"],
        "ScalingConfig": {"MaximumConcurrency": 100},
    }


def test_the_rest_api_is_traced_and_has_no_additional_stage(application: dict[str, Any]) -> None:
    properties = merged(application)["Resources"]["RestAPI"]["Properties"]

    assert properties.items() >= {"TracingEnabled": True, "OpenApiVersion": "2.0"}.items()


def test_the_rest_api_treats_all_media_types_as_binary(application: dict[str, Any]) -> None:
    """API Gateway reads only the first media type in ``Accept``. Browsers send different image types in the first
    position.
    """
    definition = merged(application)["Resources"]["RestAPI"]["Properties"]["DefinitionBody"]

    assert definition["x-amazon-apigateway-binary-media-types"] == ["*/*"]


def test_the_rest_api_is_throttled_and_logged_after_the_log_account_exists(application: dict[str, Any]) -> None:
    whole = merged(application)
    interface = whole["Resources"]["RestAPI"]
    log = whole["Outputs"]["ApiAccessLogArn"]["Value"]

    assert interface["DependsOn"] == ["ApiLogAccount"]
    assert whole["Resources"]["ApiLogAccount"]["Type"] == "AWS::ApiGateway::Account"
    assert interface["Properties"]["AccessLogSetting"] == {"DestinationArn": log, "Format": LOG_FORMAT}
    assert interface["Properties"]["MethodSettings"] == [
        {
            "ResourcePath": "/*",
            "HttpMethod": "*",
            "ThrottlingRateLimit": REQUESTS_PER_SECOND,
            "ThrottlingBurstLimit": REQUEST_BURST,
        }
    ]


def test_the_layer_has_the_retention_policy_delete(application: dict[str, Any]) -> None:
    assert merged(application)["Resources"]["ManagedLayer"]["Properties"] == {"RetentionPolicy": "Delete"}


def test_the_merged_template_has_the_outputs_and_the_transform_of_both_templates(application: dict[str, Any]) -> None:
    whole = merged(application)

    assert {"EndpointURL", "DeliveriesQueueUrl"} <= whole["Outputs"].keys()
    assert whole["Transform"] == "AWS::Serverless-2016-10-31"
    assert whole["Parameters"].keys() == {"Stage", "AlarmTopicArn", "OwnStorageKey"}


def test_a_resource_in_both_templates_is_an_error(application: dict[str, Any]) -> None:
    application["Resources"]["ClientsTable"] = {"Type": "AWS::DynamoDB::Table", "Properties": {}}

    with pytest.raises(NotMergeable, match="both templates have ClientsTable"):
        merged(application)


def test_a_function_without_a_log_group_is_an_error(application: dict[str, Any]) -> None:
    del application["Resources"]["DeliverLogGroup"]

    with pytest.raises(NotMergeable, match="the function Deliver has 0 logs"):
        merged(application)


def test_a_queue_without_a_consumer_is_an_error(application: dict[str, Any]) -> None:
    application["Resources"]["Deliver"]["Properties"]["Events"] = {}

    with pytest.raises(NotMergeable, match="has 0 consumers"):
        merged(application)


def test_merging_changes_neither_template(application: dict[str, Any]) -> None:
    merged(application)

    assert application == APPLICATION


@pytest.mark.parametrize("stage", STAGES)
def test_api_gateway_and_the_local_server_have_the_same_minimum_compression_size(stage: str) -> None:
    interface = packaged_stage(stage)["Resources"]["RestAPI"]["Properties"]

    assert interface["MinimumCompressionSize"] == CONFIG["minimum_compression_size"] == 1024
