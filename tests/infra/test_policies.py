"""The policies cover every table and grant access only to resources of the policy's stage."""

from pathlib import Path

import pytest

from chalicelib.foundation.settings import Settings
from infra.deploy.functions import API, FUNCTIONS
from infra.local import event_runner
from tests.infra.deployment import (
    CONFIG,
    FOLDER,
    RIGHTS_OF_CONSUMERS,
    STAGES,
    for_stage,
    granted_rights,
    resources,
    stage_of,
    statements,
)

POLICIES = sorted(FOLDER.glob("policy-*.json"))
OF_OPERATOR = {"clients": ("owner",), "deliveries": ("failed", "bank", "manager"), "idempotency": ("unresolved",)}
"""The indexes that only the operator's command line queries, by table."""

each_policy = pytest.mark.parametrize("file", POLICIES, ids=lambda file: file.stem)
each_stage = pytest.mark.parametrize("stage", STAGES)


@each_stage
def test_the_functions_use_every_table_and_every_index_except_the_operator_indexes(stage: str) -> None:
    files = [file for file in POLICIES if stage_of(file) == stage]
    allowed = {resource for file in files for _, resource in granted_rights(file, "dynamodb:")}

    wanted = set()
    for table in for_stage(stage).tables():
        arn = f"arn:aws:dynamodb:*:*:table/{table['TableName']}"
        wanted.add(arn)
        wanted |= {f"{arn}/index/{index['IndexName']}" for index in table.get("GlobalSecondaryIndexes", [])}
    assert wanted - allowed == {
        f"arn:aws:dynamodb:*:*:table/causeway-{stage}-{table}/index/{name}"
        for table, names in OF_OPERATOR.items()
        for name in names
    }
    assert allowed <= wanted


@each_policy
def test_policies_have_no_wildcard_actions(file: Path) -> None:
    for statement in statements(file):
        assert statement["Effect"] == "Allow"
        assert not [action for action in statement["Action"] if "*" in action]


@each_policy
def test_policies_name_only_resources_of_the_same_stage(file: Path) -> None:
    own = f"causeway-{stage_of(file)}-"
    for statement in statements(file):
        for resource in resources(statement):
            _, _, service, _, _, name = [*resource.split(":", 5), *[""] * 5][:6]
            if statement["Sid"] == "WriteTraces":
                assert resource == "*"  # X-Ray knows no resources
            elif service == "ses":
                sender = statement["Condition"]["StringLike"]["ses:FromAddress"]
                assert (name, sender) == ("identity/*", "causeway@*")  # the account says for which domains
            elif service == "s3":  # names of buckets are unique in the world, so that operators choose the rest
                own_account = {"StringEquals": {"aws:ResourceAccount": "${aws:PrincipalAccount}"}}
                assert (name, statement["Condition"]) == (f"{own}truststore-*/*", own_account)
            elif service == "kms":
                key = statement["Condition"]["ForAnyValue:StringEquals"]["kms:ResourceAliases"]
                assert key == f"alias/causeway-{stage_of(file)}"
            else:
                logs = name.removesuffix(":log-stream:*")
                assert own in name or logs == f"log-group:/aws/lambda/{own[:-1]}"
                assert "*" not in name.removesuffix(":log-stream:*")


@each_policy
def test_only_reseal_scans_tables_and_no_function_changes_keys_or_secrets(file: Path) -> None:
    actions = {action for statement in statements(file) for action in statement["Action"]}

    assert ("dynamodb:Scan" in actions) == file.stem.endswith("-reseal")
    assert {action for action in actions if action.startswith("kms:")} <= {"kms:Decrypt"}
    assert {action for action in actions if action.startswith("secretsmanager:")} <= {"secretsmanager:GetSecretValue"}


@each_stage
def test_the_api_queries_deliveries_and_events_of_one_client_only(stage: str) -> None:
    deliveries = f"arn:aws:dynamodb:*:*:table/causeway-{stage}-deliveries"
    rights = granted_rights(FOLDER / f"policy-{stage}.json", "dynamodb:Query")

    indexes = {f"{deliveries}/index/{name}" for name in ("client", "client-failed")}
    assert {place for _, place in rights if place.startswith(deliveries)} == {deliveries, *indexes}


@each_stage
def test_only_deliver_receives_queue_messages_and_all_other_functions_only_send_messages(stage: str) -> None:
    queue = f"arn:aws:sqs:*:*:causeway-{stage}-deliveries"
    sending = {("sqs:GetQueueUrl", queue), ("sqs:SendMessage", queue)}
    consumer = {each for each in granted_rights(FOLDER / f"policy-{stage}-deliver.json", "sqs:") if each[1] == queue}

    assert granted_rights(FOLDER / f"policy-{stage}.json", "sqs:") == sending
    assert granted_rights(FOLDER / f"policy-{stage}-expire.json", "sqs:") == sending
    assert granted_rights(FOLDER / f"policy-{stage}-sweep.json", "sqs:") == sending | {
        ("sqs:GetQueueAttributes", queue)
    }
    assert consumer == sending | {(f"sqs:{action}", queue) for action in RIGHTS_OF_CONSUMERS}


@each_stage
def test_only_the_api_reads_the_certificate_authorities_of_tpps(stage: str) -> None:
    reading = {file.stem for file in POLICIES if stage_of(file) == stage and granted_rights(file, "s3:")}

    assert reading == {f"policy-{stage}"}


@each_stage
def test_only_deliver_sends_mails_from_the_default_address(stage: str) -> None:
    sending = {file.stem for file in POLICIES if stage_of(file) == stage and granted_rights(file, "ses:")}
    settings = Settings.from_environment(CONFIG["stages"][stage]["environment_variables"])

    assert sending == {f"policy-{stage}-deliver"}
    assert granted_rights(FOLDER / f"policy-{stage}-deliver.json", "ses:") == {
        ("ses:SendEmail", "arn:aws:ses:*:*:identity/*")
    }
    assert settings.mail_from.startswith("causeway@")


@each_stage
def test_deliver_reports_defects_to_a_queue_without_consumers(stage: str) -> None:
    from app import app

    dead = f"arn:aws:sqs:*:*:causeway-{stage}-deliveries-dead"
    using = {
        (file.stem, action) for file in POLICIES for action, queue in granted_rights(file, "sqs:") if queue == dead
    }

    assert using == {(f"policy-{stage}-deliver", "sqs:GetQueueUrl"), (f"policy-{stage}-deliver", "sqs:SendMessage")}
    assert [
        event_runner.queue_name(source) for source in event_runner.EventRunner(app, timeouts={}, region="").consumers
    ] == ["causeway-local-deliveries"]


def test_production_policies_have_no_rights_on_demonstration_banks() -> None:
    for file in POLICIES:
        if stage_of(file) == "prod":
            assert "demo-bank" not in file.read_text()


def test_settle_uses_only_the_table_of_demonstration_banks() -> None:
    tables = {
        resource.rpartition("/")[2] for _, resource in granted_rights(FOLDER / "policy-dev-settle.json", "dynamodb:")
    }

    assert tables == {"causeway-dev-demo-banks"}


@each_stage
def test_the_configuration_sets_memory_timeout_processor_and_tracing(stage: str) -> None:
    from chalice.config import Config

    config = Config(chalice_stage=stage, config_from_disk=CONFIG)

    assert config.lambda_architecture == "arm64"
    assert config.xray_enabled is True
    assert config.automatic_layer is True
    assert config.autogen_policy is False
    assert config.lambda_timeout == API.timeout <= 29  # API Gateway waits no longer
    assert min(each.memory for each in FUNCTIONS) >= 512
    assert config.environment_variables["STAGE"] == stage
