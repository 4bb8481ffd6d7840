"""The IAM policies of the Lambda functions. The policies for all stages are generated from the rights of each function.

A function has only the rights that its calls need, on resources of its own stage. In prod, rights that only the
demonstration banks need are omitted. ``tests/infra/test_permissions.py`` compares these rights with the calls.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from infra.deploy.runtime import DEMONSTRATION_STAGES

_STAGE = "{stage}"
_APPLICATION = f"causeway-{_STAGE}"
_DEMONSTRATION_BANKS = f"{_APPLICATION}-demo-banks"


@dataclass(frozen=True, slots=True)
class Statement:
    """A policy statement that allows ``actions`` of ``service`` on ``resources``. ``{stage}`` stands for the stage's
    name.
    """

    name: str
    service: str
    actions: tuple[str, ...]
    resources: tuple[str, ...]
    condition: Mapping[str, Mapping[str, Any]] | None = None


def _tables(
    name: str, actions: str, resources: str, condition: Mapping[str, Mapping[str, Any]] | None = None
) -> Statement:
    arns = tuple(f"arn:aws:dynamodb:*:*:table/{_APPLICATION}-{each}" for each in resources.split())
    return Statement(name, "dynamodb", tuple(actions.split()), arns, condition)


def _queue(name: str, actions: str, queue: str = "deliveries") -> Statement:
    return Statement(name, "sqs", tuple(actions.split()), (f"arn:aws:sqs:*:*:{_APPLICATION}-{queue}",))


def _decrypt(name: str, condition: Mapping[str, Any]) -> Statement:
    alias = {"ForAnyValue:StringEquals": {"kms:ResourceAliases": f"alias/{_APPLICATION}"}}
    return Statement(name, "kms", ("Decrypt",), ("arn:aws:kms:*:*:key/*",), {**alias, **condition})


def _secrets(*names: str) -> tuple[Statement, ...]:
    """Return the right to read secrets. The ARN of a secret ends with a hyphen and six random characters."""
    arns = tuple(f"arn:aws:secretsmanager:*:*:secret:{_APPLICATION}-{name}-??????" for name in names)
    by_secrets_manager = {"StringLike": {"kms:ViaService": "secretsmanager.*.amazonaws.com"}}
    return (
        Statement("ReadSecrets", "secretsmanager", ("GetSecretValue",), arns),
        _decrypt("OpenSecrets", by_secrets_manager),
    )


def _own_log(function: str) -> tuple[Statement, ...]:
    group = f"arn:aws:logs:*:*:log-group:/aws/lambda/{_APPLICATION}{function and f'-{function}'}"
    actions = ("CreateLogGroup", "CreateLogStream", "PutLogEvents")
    return (
        Statement("WriteLogs", "logs", actions, (group, f"{group}:log-stream:*")),
        Statement("WriteTraces", "xray", ("PutTraceSegments", "PutTelemetryRecords"), ("*",)),
    )


_SEND = "GetQueueUrl SendMessage"
_QUEUE_DELIVERIES = _queue("QueueDeliveries", _SEND)
_RECORD_DELIVERIES = _tables("RecordDeliveries", "PutItem", "deliveries")
_READ_PROGRAMMES = _tables("ReadProgrammes", "Query", "programmes")
_MOVE_ACCOUNTS = _tables("MoveAccounts", "BatchGetItem UpdateItem", "cards")
_UNWRAP_DATA_KEYS = _decrypt("UnwrapDataKeys", {"StringEquals": {"kms:EncryptionContext:purpose": "causeway-data-key"}})
_SEALED_RECORDS = (_UNWRAP_DATA_KEYS, *_secrets("keys"))


def _leading_key(key: str) -> Mapping[str, Mapping[str, Any]]:
    return {"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": [key]}}


RIGHTS: Mapping[str, tuple[Statement, ...]] = {
    "": (
        _tables("ReadBanks", "BatchGetItem", "banks"),
        _tables("KeepRecords", "BatchGetItem PutItem UpdateItem", "authorizations consents payments"),
        _tables("WriteOnlyIfConsented", "ConditionCheckItem", "consents"),
        _tables("KeepOutcomesClientsAndUsers", "BatchGetItem PutItem", "clients idempotency users"),
        _tables("ChangeClaimsAndUsers", "UpdateItem", "idempotency users"),
        _tables("KeepStatistics", "BatchGetItem PutItem Query", "statistics"),
        _tables("KeepWebsite", "BatchGetItem DeleteItem PutItem Query UpdateItem", "website"),
        _tables("KeepDemonstrationBanks", "BatchGetItem DeleteItem PutItem Query UpdateItem", "demo-banks"),
        _tables("KeepProgrammes", "BatchGetItem Query UpdateItem", "programmes"),
        _tables("KeepCards", "BatchGetItem ConditionCheckItem PutItem Query UpdateItem", "cards"),
        _tables("KeepExternalPayments", "BatchGetItem ConditionCheckItem PutItem UpdateItem", "external-payments"),
        _tables("KeepLedger", "BatchGetItem PutItem Query UpdateItem", "ledger"),
        _tables("KeepCardActivity", "BatchGetItem ConditionCheckItem PutItem Query UpdateItem", "card-activity"),
        _tables("RecordDeliveries", "BatchGetItem PutItem Query UpdateItem", "deliveries"),
        _tables(
            "QueryIndexes",
            "Query",
            "clients/index/newest banks/index/directory consents/index/client deliveries/index/client"
            " deliveries/index/client-failed",
        ),
        _QUEUE_DELIVERIES,
        _UNWRAP_DATA_KEYS,
        Statement(
            "ReadCertificateAuthorities",
            "s3",
            ("GetObject",),
            (f"arn:aws:s3:::{_APPLICATION}-truststore-*/*",),
            {"StringEquals": {"aws:ResourceAccount": "${aws:PrincipalAccount}"}},
        ),
        *_secrets("keys", "card-keys", "demo-banks"),
    ),
    "deliver": (
        _tables("ReadWhatIsSent", "BatchGetItem", "banks clients consents payments programmes"),
        _tables("KeepDeliveries", "BatchGetItem PutItem UpdateItem", "deliveries"),
        _tables("RecordPayments", "PutItem", "payments"),
        _tables("GiveConsentsAndRequestIdsBack", "UpdateItem", "consents idempotency"),
        _READ_PROGRAMMES,
        _tables("RecordDeclines", "BatchGetItem PutItem UpdateItem", "card-activity"),
        _tables("ReleaseHolds", "BatchGetItem PutItem", "ledger"),
        _MOVE_ACCOUNTS,
        _tables("AnswerRequests", "BatchGetItem PutItem", "idempotency"),
        _tables("WriteMeasurements", "PutItem Query", "statistics"),
        _queue("ConsumeDeliveries", "DeleteMessage GetQueueAttributes ReceiveMessage"),
        _queue("QueueRetries", _SEND),
        _queue("ReportDefects", _SEND, "deliveries-dead"),
        Statement(
            "SendMails",
            "ses",
            ("SendEmail",),
            ("arn:aws:ses:*:*:identity/*",),
            {"StringLike": {"ses:FromAddress": "causeway@*"}},
        ),
        *_SEALED_RECORDS,
    ),
    "expire": (
        _tables("FindConsentsToTellOf", "Query", "consents/index/notify"),
        _tables("ReadConsentsAndClients", "BatchGetItem", "clients consents"),
        _tables("MoveConsentsOn", "UpdateItem", "consents"),
        _RECORD_DELIVERIES,
        _QUEUE_DELIVERIES,
        *_SEALED_RECORDS,
    ),
    "finish": (
        _tables("FindWhatIsDue", "Query", "external-payments/index/due card-activity/index/due"),
        _READ_PROGRAMMES,
        _tables("FinishPayments", "BatchGetItem ConditionCheckItem PutItem UpdateItem", "external-payments"),
        _tables("ReleaseHolds", "BatchGetItem PutItem UpdateItem", "card-activity"),
        _tables("KeepLedger", "BatchGetItem PutItem", "ledger"),
        _MOVE_ACCOUNTS,
        _tables("AnswerRequests", "PutItem", "idempotency"),
        _RECORD_DELIVERIES,
        _QUEUE_DELIVERIES,
        *_SEALED_RECORDS,
    ),
    "ingest": (
        _tables("FindBanks", "Query", "banks/index/directory"),
        _tables("ReadBanks", "BatchGetItem", "banks"),
        _tables("KeepDayRecords", "BatchGetItem PutItem Query", "statistics"),
    ),
    "prove": (
        _tables("ReadBooks", "BatchGetItem", "cards ledger card-activity external-payments"),
        _tables("ReadLedger", "Query", "ledger"),
        _tables("NoteHowFarItHasCome", "PutItem", "ledger", _leading_key("proof")),
    ),
    "reseal": (
        _tables(
            "SealRecordsAnew",
            "Scan UpdateItem",
            "banks clients authorizations consents idempotency deliveries programmes cards website",
        ),
        _tables("ReadHowFarItHasCome", "BatchGetItem", "statistics", _leading_key("data-keys")),
        _tables("NoteHowFarItHasCome", "PutItem", "statistics", _leading_key("data-keys")),
        *_SEALED_RECORDS,
    ),
    "settle": (
        _tables("SettlePaymentsOfDemonstrationBanks", "BatchGetItem DeleteItem PutItem Query", "demo-banks"),
        *_secrets("demo-banks"),
    ),
    "sweep": (
        _tables("FindDueDeliveries", "Query", "deliveries/index/due"),
        _tables("MarkQueuedDeliveries", "BatchGetItem UpdateItem", "deliveries"),
        _queue("QueueDeliveries", f"GetQueueAttributes {_SEND}"),
    ),
}
"""The rights of each function, in addition to its logs and traces. The function behind API Gateway has the empty name.
"""


def render(function: str, stage: str) -> dict[str, Any]:
    """Render the policy document of a function in a stage."""
    statements = (_render_statement(each, stage) for each in (*_own_log(function), *RIGHTS[function]))
    return {"Version": "2012-10-17", "Statement": [each for each in statements if each["Resource"]]}


def _render_statement(statement: Statement, stage: str) -> dict[str, Any]:
    has_banks = stage in DEMONSTRATION_STAGES
    there = [each for each in statement.resources if has_banks or _DEMONSTRATION_BANKS not in each]
    rendered: dict[str, Any] = {
        "Sid": statement.name,
        "Effect": "Allow",
        "Action": [f"{statement.service}:{action}" for action in statement.actions],
        "Resource": "*" if there == ["*"] else [each.replace(_STAGE, stage) for each in there],
    }
    if statement.condition:
        rendered["Condition"] = {
            operator: {
                key: value.replace(_STAGE, stage) if isinstance(value, str) else value for key, value in wanted.items()
            }
            for operator, wanted in statement.condition.items()
        }
    return rendered
