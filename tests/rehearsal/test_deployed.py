"""``make deploy`` of both stages to one account creates exactly the expected resources."""

import pytest

from chalicelib.delivery.receiver_slots import WORKERS
from infra.deploy import runtime, template
from infra.deploy.api_stage import LOG_FORMAT
from infra.deploy.limits import REQUEST_BURST, REQUESTS_PER_SECOND
from infra.deploy.runtime import STAGES
from tests.infra.deployment import for_stage, resources
from tests.rehearsal import account
from tests.rehearsal.project import ADDRESSES, PROCESSORS, TOPIC, Project, registered

pytestmark = pytest.mark.rehearsal
each_stage = pytest.mark.parametrize("stage", STAGES)
LAMBDA_IS_TRUSTED = {
    "Version": "2012-10-17",
    "Statement": [
        {"Sid": "", "Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}
    ],
}


def role_of(stage: str, function: str) -> str:
    return f"causeway-{stage}-{function or 'api_handler'}"


def names(stage: str) -> dict[str, str]:
    handlers: dict[str, str] = registered(stage)["handlers"]
    return {"": "app.app"} | handlers


@each_stage
def test_every_deployed_function_has_the_configured_settings(deployed: Project, stage: str) -> None:
    found = account.functions(stage)
    layer = f"causeway-{stage}-managed-layer"
    ((version,),) = [versions for name, versions in account.layers().items() if name == layer]

    assert found.keys() == names(stage).keys()
    for name, handler in names(stage).items():
        settings, made = deployed.settings(stage, name), found[name]
        assert (made["Handler"], made["Runtime"]) == (handler, f"python{runtime.PYTHON}")
        assert made["MemorySize"] == settings["lambda_memory_size"]
        assert made["Timeout"] == settings["lambda_timeout"]
        assert made["Architectures"] == [settings["lambda_architecture"]]
        assert settings["lambda_architecture"] in PROCESSORS.values()
        assert made["Environment"]["Variables"] == {"STAGE": stage, "PUBLIC_URL": ADDRESSES[stage]}
        assert made["TracingConfig"] == {"Mode": "Active"}
        assert [each["Arn"] for each in made["Layers"]] == [version["LayerVersionArn"]]
        assert made["Role"].endswith(f":role/{role_of(stage, name)}")
        assert made["Tags"].items() >= {"Application": "causeway", "Stage": stage}.items()


@each_stage
def test_every_function_role_trusts_lambda_and_has_only_the_policy_of_its_function(
    deployed: Project, stage: str
) -> None:
    own = {name: role for name, role in account.roles().items() if name.startswith(f"causeway-{stage}-")}
    (of_interface,) = [name for name in own if "ApiLogRole" in name]
    trust, policies, _ = own.pop(of_interface)

    assert (trust["Statement"][0]["Principal"], policies) == ({"Service": "apigateway.amazonaws.com"}, {})
    assert own == {
        role_of(stage, name): (LAMBDA_IS_TRUSTED, {role_of(stage, name): deployed.policy(stage, name)}, [])
        for name in names(stage)
    }


def test_each_queue_has_one_consumer_with_limited_concurrency(deployed: Project) -> None:
    found = {
        each["EventSourceArn"]: (each["FunctionArn"], each["BatchSize"], each["ScalingConfig"], each["State"])
        for each in account.event_sources()
    }

    assert found == {
        f"arn:aws:sqs:{account.REGION}:{account.NUMBER}:{queue}": (
            account.arn(f"causeway-{stage}-{name}"),
            1,
            {"MaximumConcurrency": WORKERS},
            "Enabled",
        )
        for stage in STAGES
        for name, (queue, _) in registered(stage)["consumers"].items()
    }
    assert len(found) == len(STAGES)


def test_the_deployed_rules_match_the_schedules_and_can_invoke_their_functions(deployed: Project) -> None:
    expected = {
        f"causeway-{stage}-{name}-event": (account.arn(f"causeway-{stage}-{name}"), expression)
        for stage in STAGES
        for name, expression in registered(stage)["schedules"].items()
    }

    assert account.schedules() == {
        rule: ("ENABLED", expression, [function]) for rule, (function, expression) in expected.items()
    }
    for rule, (function, _) in expected.items():
        source = f"arn:aws:events:{account.REGION}:{account.NUMBER}:rule/{rule}"
        assert account.permissions(function) == [("events.amazonaws.com", "lambda:InvokeFunction", source)]


@each_stage
def test_the_rest_api_has_every_route_and_method_of_the_application(deployed: Project, stage: str) -> None:
    interface = account.interfaces()[stage]
    there = list(account.methods(interface["id"]))
    function = account.arn(f"causeway-{stage}")
    source = f"arn:aws:execute-api:{account.REGION}:{account.NUMBER}:{interface['id']}/*"

    assert {(path, method) for path, method, _ in there} == {
        (path, method) for path, methods in registered(stage)["routes"].items() for method in methods
    }
    called = f"arn:aws:apigateway:{account.REGION}:lambda:path/2015-03-31/functions/{function}/invocations"
    assert {(each["type"], each["httpMethod"], each["uri"]) for *_, each in there} == {("aws_proxy", "POST", called)}
    assert account.permissions(function) == [("apigateway.amazonaws.com", "lambda:InvokeFunction", source)]


def test_the_rest_apis_of_one_account_share_a_name_and_differ_by_stage(deployed: Project) -> None:
    assert {stage: each["name"] for stage, each in account.interfaces().items()} == dict.fromkeys(STAGES, "causeway")


@each_stage
def test_every_rest_api_is_throttled_and_logged(deployed: Project, stage: str) -> None:
    made = account.interface_stage(stage)
    log = f"arn:aws:logs:{account.REGION}:{account.NUMBER}:log-group:/aws/apigateway/causeway-{stage}"

    assert made["accessLogSettings"] == {"destinationArn": log, "format": LOG_FORMAT}
    assert made["methodSettings"]["*/*"]["throttlingRateLimit"] == REQUESTS_PER_SECOND
    assert made["methodSettings"]["*/*"]["throttlingBurstLimit"] == REQUEST_BURST


@each_stage
def test_function_logs_have_the_configured_retention(deployed: Project, stage: str) -> None:
    kept = account.logs()

    for name in names(stage):
        group = "/aws/lambda/causeway-" + "-".join(filter(None, (stage, name)))
        assert kept[group] == deployed.settings(stage, name)["log_retention_in_days"]


@each_stage
def test_every_resource_named_in_a_deployed_policy_exists(deployed: Project, stage: str) -> None:
    import boto3

    queues = [url.rpartition("/")[2] for url in boto3.client("sqs").list_queues()["QueueUrls"]]
    tables = boto3.client("dynamodb").get_paginator("list_tables").paginate().search("TableNames[]")
    there = {f"table/{name}" for name in tables} | set(queues) | {f"log-group:{name}" for name in account.logs()}
    there |= {f"secret:{each['Name']}" for each in for_stage(stage).resources(template.SECRET).values()}
    there.add(f"causeway-{stage}-truststore-*/*")  # the operator makes this bucket if TPPs use certificates

    for name in names(stage):
        for statement in deployed.policy(stage, name)["Statement"]:
            for resource in resources(statement):
                place = resource.split(":", 5)[-1].partition("/index/")[0].removesuffix(":log-stream:*")
                assert place in {"*", "key/*", "identity/*"} | there | {f"{secret}-??????" for secret in there}, (
                    resource
                )


def test_stacks_are_created_with_the_alarm_topic(deployed: Project) -> None:
    import boto3

    for stage in STAGES:
        (stack,) = boto3.client("cloudformation").describe_stacks(StackName=f"causeway-{stage}")["Stacks"]
        assert stack["StackStatus"] == "CREATE_COMPLETE"
        parameters = {each["ParameterKey"]: each["ParameterValue"] for each in stack["Parameters"]}
        assert parameters == {"Stage": stage, "AlarmTopicArn": TOPIC, "OwnStorageKey": "false"}
