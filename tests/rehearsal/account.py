"""Functions that read the resources of an AWS account from the emulator."""

import json
from collections.abc import Iterator
from typing import Any

import boto3

NUMBER, REGION = "123456789012", "eu-west-1"
_LAMBDA = f"arn:aws:lambda:{REGION}:{NUMBER}"


def functions(stage: str) -> dict[str, dict[str, Any]]:
    """Map the short name of each function of a stage to the function with its tags.

    The function of the REST API has an empty short name.
    """
    client = boto3.client("lambda")
    found = client.get_paginator("list_functions").paginate().search("Functions[]")
    own = {name: each for each in found if (name := short(each["FunctionName"], stage)) is not None}
    return {name: each | {"Tags": client.list_tags(Resource=each["FunctionArn"])["Tags"]} for name, each in own.items()}


def short(name: str, stage: str) -> str | None:
    """Return the short name of a function of the stage, or ``None`` if the function belongs to another stage."""
    whole, mark, rest = name.partition(f"causeway-{stage}")
    return None if whole or not mark else rest.removeprefix("-")


def arn(name: str) -> str:
    return f"{_LAMBDA}:function:{name}"


def layers() -> dict[str, list[dict[str, Any]]]:
    client = boto3.client("lambda")
    names = [each["LayerName"] for each in client.list_layers()["Layers"]]
    return {name: client.list_layer_versions(LayerName=name)["LayerVersions"] for name in names}


def permissions(function: str) -> list[tuple[str, str, str]]:
    """Return the permissions to invoke a function: the service, the action, and the source."""
    client = boto3.client("lambda")
    try:
        document = json.loads(client.get_policy(FunctionName=function)["Policy"])
    except client.exceptions.ResourceNotFoundException:
        return []
    return [
        (each["Principal"]["Service"], each["Action"], each["Condition"]["ArnLike"]["AWS:SourceArn"])
        for each in document["Statement"]
        if each["Effect"] == "Allow"
    ]


def event_sources() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = boto3.client("lambda").list_event_source_mappings()["EventSourceMappings"]
    return found


def schedules() -> dict[str, tuple[str, str, list[str]]]:
    client = boto3.client("events")
    rules = client.list_rules()["Rules"]
    targets = {rule["Name"]: client.list_targets_by_rule(Rule=rule["Name"])["Targets"] for rule in rules}
    return {
        rule["Name"]: (rule["State"], rule["ScheduleExpression"], [each["Arn"] for each in targets[rule["Name"]]])
        for rule in rules
    }


def interfaces() -> dict[str, dict[str, Any]]:
    client = boto3.client("apigateway")
    found = client.get_rest_apis()["items"]
    return {stage["stageName"]: each for each in found for stage in client.get_stages(restApiId=each["id"])["item"]}


def interface_stage(stage: str) -> dict[str, Any]:
    made: dict[str, Any] = boto3.client("apigateway").get_stage(restApiId=interfaces()[stage]["id"], stageName=stage)
    return made


def methods(interface: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
    client = boto3.client("apigateway")
    pages = client.get_paginator("get_resources").paginate(restApiId=interface, embed=["methods"])
    for resource in pages.search("items[]"):
        for method, there in resource.get("resourceMethods", {}).items():
            yield resource["path"], method, there["methodIntegration"]


def roles() -> dict[str, tuple[dict[str, Any], dict[str, dict[str, Any]], list[Any]]]:
    """Return the trust policy, the inline policies and the attached policies of each IAM role, by role name."""
    client = boto3.client("iam")
    found = {}
    for role in client.list_roles()["Roles"]:
        name = role["RoleName"]
        own = client.list_role_policies(RoleName=name)["PolicyNames"]
        documents = {each: client.get_role_policy(RoleName=name, PolicyName=each)["PolicyDocument"] for each in own}
        others = client.list_attached_role_policies(RoleName=name)["AttachedPolicies"]
        found[name] = (role["AssumeRolePolicyDocument"], documents, others)
    return found


def logs() -> dict[str, int | None]:
    """Map each log group to its retention in days."""
    groups = boto3.client("logs").get_paginator("describe_log_groups").paginate().search("logGroups[]")
    return {group["logGroupName"]: group.get("retentionInDays") for group in groups}


def everything() -> dict[str, Any]:
    """Return all resources that Chalice creates. Times and layer versions are omitted, because they always change."""
    changing = ("LastModified", "Layers", "RevisionId")
    return {
        "functions": {
            (stage, name): {key: value for key, value in each.items() if key not in changing}
            for stage in ("dev", "prod")
            for name, each in functions(stage).items()
        },
        "layers": {name: len(versions) for name, versions in layers().items()},
        "sources": [{key: value for key, value in each.items() if key != "LastModified"} for each in event_sources()],
        "schedules": schedules(),
        "permissions": {
            (stage, name): sorted(permissions(each["FunctionName"]))
            for stage in ("dev", "prod")
            for name, each in functions(stage).items()
        },
        "interfaces": {
            stage: (each["id"], each["name"], sorted((path, method) for path, method, _ in methods(each["id"])))
            for stage, each in interfaces().items()
        },
        "roles": roles(),
        "logs": logs(),
    }
