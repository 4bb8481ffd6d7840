"""The rights that calls of AWS take, and those that the functions' policies grant."""

from __future__ import annotations

from typing import Any

from tests.infra.policies import FOLDER, granted

_WRITES = {"Put": "PutItem", "Update": "UpdateItem", "Delete": "DeleteItem", "ConditionCheck": "ConditionCheckItem"}

Used = set[tuple[str, str]]


def used(operation: str, parameters: dict[str, Any]) -> Used:
    """The rights that a call of DynamoDB or SQS takes; the stage in the names is the local one."""
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


def policy(stage: str, function: str) -> Used:
    """What a function's policy grants, with the names of the local stage."""
    file = FOLDER / f"policy-{stage}{function}.json"
    rights = granted(file, "dynamodb:") | granted(file, "sqs:")
    return {(action, resource.replace(f"causeway-{stage}-", "causeway-local-")) for action, resource in rights}


CARD_TABLES = ("card-activity", "cards", "external-payments", "ledger", "programmes")
