"""The parser of the CloudFormation template, and the required properties of the template."""

from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from chalicelib.cards import jobs
from chalicelib.cards.authorization import authorization_record
from chalicelib.cards.payments import pending_index
from chalicelib.delivery import delivery_record
from chalicelib.delivery.delivery_record import CLAIMED_SECONDS
from chalicelib.foundation.dynamodb.sharded_index import ShardedIndex
from chalicelib.foundation.http.outbound import TOTAL_SECONDS
from chalicelib.openbanking.flows.consent import expiry
from chalicelib.openbanking.records.consents import NOTIFY
from infra.deploy import template
from infra.deploy.functions import API, BY_NAME
from infra.deploy.template import Template, TemplateError
from tests.infra.deployment import for_stage

SMALL = """
Parameters:
  Stage: {Type: String}
  Topic: {Type: String, Default: ""}
Conditions:
  IsProduction: !Equals [!Ref Stage, prod]
  HasTopic: !Not [!Equals [!Ref Topic, ""]]
  Both: !And [!Condition IsProduction, !Condition HasTopic]
  Either: !Or [!Condition IsProduction, !Condition HasTopic]
Resources:
  Table:
    Type: AWS::DynamoDB::Table
    Properties:
      TableName: !Sub "causeway-${Stage}-things"
      Protected: !If [IsProduction, true, false]
      Notes: !If [HasTopic, [!Ref Topic], !Ref AWS::NoValue]
      Arn: !Sub ["${Kind}:${AWS::Region}", {Kind: !Ref Stage}]
      Key: !GetAtt Key.Arn
  Extra:
    Type: AWS::DynamoDB::Table
    Condition: Either
    Properties: {TableName: extra}
  Key: {Type: AWS::KMS::Key}
Outputs:
  Table: {Value: !Ref Table}
  TableArn: {Value: !GetAtt Table.Arn}
  KeyArn: {Value: !GetAtt Key.Arn}
"""


@pytest.fixture
def small(tmp_path: Path) -> dict[str, Any]:
    file = tmp_path / "template.yaml"
    file.write_text(SMALL)
    return template.load(file)


def test_intrinsic_functions_are_resolved_for_a_stage(small: dict[str, Any]) -> None:
    table = Template(small, Stage="prod", Topic="arn:topic").resources(template.TABLE)["Table"]

    assert table["TableName"] == "causeway-prod-things"
    assert table["Protected"] is True
    assert table["Notes"] == ["arn:topic"]
    assert table["Arn"] == "prod:eu-west-1"


def test_the_no_value_reference_removes_the_member(small: dict[str, Any]) -> None:
    assert "Notes" not in Template(small, Stage="dev").resources(template.TABLE)["Table"]


def test_resource_attributes_that_exist_only_after_deployment_are_not_resolved(small: dict[str, Any]) -> None:
    assert Template(small, Stage="dev").resources(template.TABLE)["Table"]["Key"] == {"Fn::GetAtt": ["Key", "Arn"]}


@pytest.mark.parametrize(
    ("stage", "topic", "both", "either"),
    [("dev", "", False, False), ("dev", "x", False, True), ("prod", "x", True, True)],
)
def test_conditions_determine_which_resources_exist(
    small: dict[str, Any], stage: str, topic: str, both: bool, either: bool
) -> None:
    filled = Template(small, Stage=stage, Topic=topic)

    assert filled.condition("Both") is both
    assert ("Extra" in filled.resources(template.TABLE)) is either


def test_missing_and_unknown_parameters_and_conditions_of_a_template_are_refused(small: dict[str, Any]) -> None:
    with pytest.raises(TemplateError, match="parameter without a value: Stage"):
        Template(small)
    with pytest.raises(TemplateError, match="no such parameter: Colour"):
        Template(small, Stage="dev", Colour="red")
    with pytest.raises(TemplateError, match="no such condition: Never"):
        Template(small, Stage="dev").condition("Never")
    with pytest.raises(TemplateError, match="Table exists only after deployment"):
        Template(small, Stage="dev").resolve({"Fn::Sub": "${Table}"})


def test_removing_a_resource_type_also_removes_the_outputs_that_refer_to_its_resources(small: dict[str, Any]) -> None:
    rest = template.without_type(small, template.TABLE)

    assert set(rest["Resources"]) == {"Key"}
    assert set(rest["Outputs"]) == {"KeyArn"}


TABLES = [
    "authorizations",
    "banks",
    "card-activity",
    "cards",
    "clients",
    "consents",
    "deliveries",
    "external-payments",
    "idempotency",
    "ledger",
    "payments",
    "programmes",
    "statistics",
    "users",
    "website",
]


@pytest.mark.parametrize(
    ("stage", "names"), [("local", [*TABLES, "demo-banks"]), ("dev", [*TABLES, "demo-banks"]), ("prod", TABLES)]
)
def test_production_has_no_table_of_demonstration_banks(stage: str, names: list[str]) -> None:
    found = [table["TableName"] for table in for_stage(stage).tables()]

    assert sorted(found) == sorted(f"causeway-{stage}-{name}" for name in names)


@pytest.mark.parametrize("stage", ["local", "dev", "prod"])
def test_every_table_is_encrypted_and_recoverable_and_has_on_demand_capacity(stage: str) -> None:
    for table in for_stage(stage).resources(template.TABLE).values():
        assert table["SSESpecification"] == {"SSEEnabled": True}
        assert table["PointInTimeRecoverySpecification"] == {"PointInTimeRecoveryEnabled": True}
        assert table["BillingMode"] == "PAY_PER_REQUEST"


def test_production_tables_have_deletion_protection() -> None:
    resources = template.load()["Resources"]
    for name, table in for_stage("prod").resources(template.TABLE).items():
        assert table["DeletionProtectionEnabled"] is True
        assert resources[name]["DeletionPolicy"] == "RetainExceptOnCreate"
        assert resources[name]["UpdateReplacePolicy"] == "Retain"


def test_secrets_and_keys_are_retained_except_after_a_failed_creation() -> None:
    kept = (template.SECRET, "AWS::KMS::Key")
    resources = template.load()["Resources"]

    for name in (name for kind in kept for name in for_stage("prod").resources(kind)):
        assert resources[name]["DeletionPolicy"] == "RetainExceptOnCreate"  # or their names would be taken
        assert resources[name]["UpdateReplacePolicy"] == "Retain"


def test_expiring_records_use_the_attribute_expires_at() -> None:
    expiring = for_stage("prod").expiry_attributes()

    assert set(expiring.values()) == {"expires_at"}
    assert {name.removeprefix("causeway-prod-") for name in expiring} == {
        "authorizations",
        "card-activity",
        "cards",
        "consents",
        "deliveries",
        "idempotency",
        "payments",
        "statistics",
        "website",
    }


def test_the_visibility_timeout_is_at_least_six_times_the_function_timeout() -> None:
    queue = for_stage("prod").resources(template.QUEUE)["DeliveriesQueue"]

    assert queue["VisibilityTimeout"] >= 6 * BY_NAME["deliver"].timeout
    assert queue["RedrivePolicy"]["maxReceiveCount"] == 5


def test_function_timeouts_are_longer_than_runs_and_shorter_than_claims() -> None:
    assert TOTAL_SECONDS < BY_NAME["deliver"].timeout <= CLAIMED_SECONDS / 2
    assert expiry.RUN_SECONDS < BY_NAME["expire"].timeout < 5 * 60
    assert BY_NAME["sweep"].timeout < 60
    assert jobs.RUN_SECONDS < BY_NAME["finish"].timeout < 60


def test_a_payment_is_recovered_only_after_the_timeouts_of_all_functions() -> None:
    assert 2 * API.timeout <= pending_index.ASKING_SECONDS
    assert BY_NAME["finish"].timeout < pending_index.ASKING_SECONDS


def indexes_of(module: ModuleType) -> list[ShardedIndex]:
    return [each for each in vars(module).values() if isinstance(each, ShardedIndex)]


@pytest.mark.parametrize(
    "index",
    [*indexes_of(delivery_record), NOTIFY, pending_index.DUE, authorization_record.DUE],
    ids=lambda index: f"{index.table} {index.name}",
)
def test_time_indexes_have_the_key_schema_used_by_queries(index: ShardedIndex) -> None:
    (table,) = [each for each in for_stage("prod").tables() if each["TableName"] == f"causeway-prod-{index.table}"]

    (found,) = [each for each in table["GlobalSecondaryIndexes"] if each["IndexName"] == index.name]
    assert found["KeySchema"] == [
        {"AttributeName": index.partition, "KeyType": "HASH"},
        {"AttributeName": index.time, "KeyType": "RANGE"},
    ]
    assert found["Projection"] == {"ProjectionType": "KEYS_ONLY"}
    types = {each["AttributeName"]: each["AttributeType"] for each in table["AttributeDefinitions"]}
    assert (types[index.partition], types[index.time]) == ("S", "N")


def test_one_message_in_the_dead_letter_queue_raises_an_alarm() -> None:
    alarm = for_stage("prod").resources("AWS::CloudWatch::Alarm")["DeadDeliveriesAlarm"]

    assert (alarm["Threshold"], alarm["ComparisonOperator"]) == (0, "GreaterThanThreshold")
    assert alarm["Dimensions"][0]["Value"] == {"Fn::GetAtt": ["DeadDeliveriesQueue", "QueueName"]}


def test_secrets_have_no_value_in_the_template() -> None:
    for secret in for_stage("dev").resources(template.SECRET).values():
        assert "SecretString" not in secret
        assert "KmsKeyId" in secret


def with_own_key(stage: str) -> Template:
    return Template(template.load(), Stage=stage, OwnStorageKey="true")


@pytest.mark.parametrize("stage", ["dev", "prod"])
def test_queues_refuse_messages_without_tls(stage: str) -> None:
    made = for_stage(stage)
    [policy] = made.resources("AWS::SQS::QueuePolicy").values()
    [statement] = policy["PolicyDocument"]["Statement"]

    queues = made.resources(template.QUEUE)
    assert policy["Queues"] == [{"Ref": name} for name in queues]
    assert statement["Resource"] == [{"Fn::GetAtt": [name, "Arn"]} for name in queues]
    assert (statement["Effect"], statement["Principal"], statement["Action"]) == ("Deny", "*", "sqs:*")
    assert statement["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}


def test_tables_and_logs_use_aws_keys_by_default() -> None:
    for table in for_stage("prod").resources(template.TABLE).values():
        assert table["SSESpecification"] == {"SSEEnabled": True}
    for log in for_stage("prod").resources("AWS::Logs::LogGroup").values():
        assert "KmsKeyId" not in log
    assert "StorageKey" not in for_stage("prod").resources("AWS::KMS::Key")


def test_a_customer_managed_storage_key_encrypts_all_tables_and_logs() -> None:
    made = with_own_key("dev")

    for table in made.resources(template.TABLE).values():
        own = {"SSEEnabled": True, "SSEType": "KMS", "KMSMasterKeyId": {"Ref": "StorageKey"}}
        assert table["SSESpecification"] == own
    for log in made.resources("AWS::Logs::LogGroup").values():
        assert log["KmsKeyId"] == {"Fn::GetAtt": ["StorageKey", "Arn"]}


def test_the_storage_key_is_usable_only_through_dynamodb_and_cloudwatch_logs() -> None:
    _, tables, logs = with_own_key("prod").resources("AWS::KMS::Key")["StorageKey"]["KeyPolicy"]["Statement"]

    assert tables["Condition"]["StringEquals"] == {
        "kms:CallerAccount": "123456789012",
        "kms:ViaService": "dynamodb.eu-west-1.amazonaws.com",
    }
    assert logs["Principal"] == {"Service": "logs.eu-west-1.amazonaws.com"}
    assert logs["Condition"]["ArnLike"] == {
        "kms:EncryptionContext:aws:logs:arn": "arn:aws:logs:eu-west-1:123456789012:log-group:/aws/*/causeway-prod*"
    }
