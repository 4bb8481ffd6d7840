"""Readers of deployment files: the template, policies, Chalice's configuration, and package pins."""

import json
import re
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from infra.deploy import template
from infra.deploy.template import Template

FOLDER = Path(__file__).parents[2] / ".chalice"

CONFIG: dict[str, Any] = json.loads((FOLDER / "config.json").read_text("utf-8"))

STAGES = ("dev", "prod")

RIGHTS_OF_CONSUMERS = {"DeleteMessage", "GetQueueAttributes", "ReceiveMessage"}
"""The actions that Lambda performs with the rights of a queue consumer, as in the AWS policy
AWSLambdaSQSQueueExecutionRole.
"""


def statements(file: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(file.read_text())["Statement"]
    return found


def resources(statement: dict[str, Any]) -> list[str]:
    found = statement["Resource"]
    return [found] if isinstance(found, str) else list(found)


def stage_of(file: Path) -> str:
    return file.stem.split("-")[1]


def granted_rights(file: Path, prefix: str) -> set[tuple[str, str]]:
    return {
        (action, resource)
        for statement in statements(file)
        for action in statement["Action"]
        for resource in resources(statement)
        if action.startswith(prefix)
    }


_WRITES = {"Put": "PutItem", "Update": "UpdateItem", "Delete": "DeleteItem", "ConditionCheck": "ConditionCheckItem"}

Used = set[tuple[str, str]]


def used_rights(operation: str, parameters: dict[str, Any]) -> Used:
    """Return the rights that a DynamoDB or SQS call requires, with resource names of the local stage."""
    table = "arn:aws:dynamodb:*:*:table/"
    match operation:
        case "BatchGetItem":
            return {(f"dynamodb:{operation}", table + name) for name in parameters["RequestItems"]}
        case "Query":
            index = f"/index/{parameters['IndexName']}" if "IndexName" in parameters else ""
            return {(f"dynamodb:{operation}", f"{table}{parameters['TableName']}{index}")}
        case "TransactWriteItems":
            writes = [next(iter(each.items())) for each in parameters["TransactItems"]]
            return {(f"dynamodb:{_WRITES[kind]}", table + write["TableName"]) for kind, write in writes}
        case "PutItem" | "UpdateItem" | "DeleteItem" | "Scan":
            return {(f"dynamodb:{operation}", table + parameters["TableName"])}
    queue = parameters.get("QueueName") or parameters["QueueUrl"].rpartition("/")[2]
    return {(f"sqs:{operation.removesuffix('Batch')}", f"arn:aws:sqs:*:*:{queue}")}


def policy_rights(stage: str, function: str) -> Used:
    """Return the rights that a function's policy grants, with resource names of the local stage."""
    file = FOLDER / f"policy-{stage}{function}.json"
    rights = granted_rights(file, "dynamodb:") | granted_rights(file, "sqs:")
    return {(action, resource.replace(f"causeway-{stage}-", "causeway-local-")) for action, resource in rights}


CARD_TABLES = ("card-activity", "cards", "external-payments", "ledger", "programmes")


PACKAGES = "--require-hashes --requirement requirements-{set}.txt --constraint requirements-dev.txt"
"""The options with which ``infra/environment.sh`` installs a set of packages."""


def pinned_versions(file: Path) -> dict[str, str]:
    """Map each normalised package name to its pinned version in a file. Pins of included files are omitted."""
    lines = [line for line in file.read_text("utf-8").splitlines() if re.match(r"\w", line)]
    return {canonicalize_name(each.name): str(each.specifier)[2:] for each in map(Requirement, lines)}


PASSWORD = "TOPSECRET"
CONFIGURATIONS = {
    "no-section": f"index-url = https://user:{PASSWORD}@127.0.0.1:9/simple\n",
    "no-value": f"[global]\ntimeout = 1\nhttps://user-{PASSWORD}@127.0.0.1:9/simple\n",
    "twice": f"[global]\nindex-url = https://user:{PASSWORD}@127.0.0.1:9\nindex-url = https://user:{PASSWORD}@h\n",
    "not-utf-8": f"[global]\nindex-url = https://user:{PASSWORD}\xff@127.0.0.1:9/simple\n",
    "timeout": f"[global]\ntimeout = https://user:{PASSWORD}@127.0.0.1:9/simple\n",
    "retries": f"[global]\nretries = https://user:{PASSWORD}@127.0.0.1:9/simple\n",
    "malformed": f"[global]\nindex-url = https://user:{PASSWORD}@[bad/simple\n",
    "slash": f"[global]\nindex-url = https://user:/{PASSWORD}@127.0.0.1:9/simple\n",
    "no-scheme": f"[global]\nindex-url = user:{PASSWORD}@127.0.0.1:9/simple\n",
    "token": f"[global]\nindex-url = https://{PASSWORD}@[bad/simple\n",
}
"""Invalid pip configurations that contain a password. The password must never be printed."""


def for_stage(stage: str) -> Template:
    return Template(template.load(), Stage=stage)


APPLICATION: dict[str, Any] = {
    "Transform": "AWS::Serverless-2016-10-31",
    "Resources": {
        "APIHandler": {"Type": "AWS::Serverless::Function", "Properties": {"Handler": "app.app"}},
        "ApiHandlerLogGroup": {
            "Type": "AWS::Logs::LogGroup",
            "Properties": {"LogGroupName": {"Fn::Sub": "/aws/lambda/${ApiHandler}"}, "RetentionInDays": 30},
        },
        "Deliver": {
            "Type": "AWS::Serverless::Function",
            "Properties": {
                "Handler": "chalicelib.delivery.jobs.deliver",
                "Events": {
                    "Source": {
                        "Type": "SQS",
                        "Properties": {
                            "Queue": {"Fn::Sub": "…:causeway-dev-deliveries"},
                            "BatchSize": 1,
                            "ScalingConfig": {"MaximumConcurrency": 100},
                        },
                    }
                },
            },
        },
        "DeliverLogGroup": {
            "Type": "AWS::Logs::LogGroup",
            "Properties": {"LogGroupName": {"Fn::Sub": "/aws/lambda/${Deliver}"}, "RetentionInDays": 30},
        },
        "RestAPI": {"Type": "AWS::Serverless::Api", "Properties": {"DefinitionBody": {"paths": {}}}},
        "ManagedLayer": {"Type": "AWS::Serverless::LayerVersion", "Properties": {}},
    },
    "Outputs": {"EndpointURL": {"Value": "https://…"}},
}


def packaged_stage(stage: str) -> dict[str, Any]:
    """Return the template that ``chalice package`` writes for a stage, without the code."""
    from chalice.config import Config
    from chalice.deploy.appgraph import ApplicationGraphBuilder, DependencyBuilder
    from chalice.deploy.deployer import BuildStage, SwaggerBuilder
    from chalice.deploy.swagger import CFNSwaggerGenerator
    from chalice.package import PackageOptions, SAMTemplateGenerator

    import app

    class Options(PackageOptions):
        def __init__(self) -> None:
            """Skip the creation of a boto3 session."""

        def service_principal(self, service: str) -> str:
            return f"{service}.amazonaws.com"

    given = {"chalice_app": app.app, "project_dir": str(template.PATH.parents[1]), "automatic_layer": False}
    config = Config(chalice_stage=stage, user_provided_params=given, config_from_disk=CONFIG)
    graph = ApplicationGraphBuilder().build(config, stage)
    BuildStage(steps=[SwaggerBuilder(CFNSwaggerGenerator())]).execute(
        config, DependencyBuilder().build_dependencies(graph)
    )
    packaged: dict[str, Any] = SAMTemplateGenerator(config, Options()).generate(
        DependencyBuilder().build_dependencies(graph)
    )
    return packaged
