"""Each function has access only to the keys, secrets, logs and traces that it uses."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from chalicelib import bootstrap
from chalicelib.cards.authorization.hold_release import expire_holds
from chalicelib.cards.protocol.values import HOLD_SECONDS
from chalicelib.cards.reconciliation.rolling_proof import prove_accounts
from chalicelib.delivery.sweeper import sweep
from chalicelib.demo_bank.banks import FORMATS
from chalicelib.demo_bank.profiles import PROFILES
from chalicelib.demo_bank.runtime import DemoBank, NotInstalled
from chalicelib.foundation.aws.calls import Call
from chalicelib.foundation.crypto.resealing import SETTLE_SECONDS
from chalicelib.openbanking.flows.bank.expected_reports import expected_banks
from chalicelib.openbanking.flows.consent.expiry import record_due_events
from infra.deploy.functions import FUNCTIONS
from tests.cards.issuer import Issuer
from tests.causeway import Causeway
from tests.infra.deployment import FOLDER, resources, stage_of, statements
from tests.kit.storage import observe_calls

FILES = sorted(FOLDER.glob("policy-*.json"))
each_policy = pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
DATA_KEY = {"kms:EncryptionContext:purpose": "causeway-data-key"}
Keys = dict[str, Any]


def granted(stage: str, function: str) -> Keys:
    own = {statement["Sid"]: statement for statement in statements(FOLDER / f"policy-{stage}{function}.json")}
    named = resources(own["ReadSecrets"]) if "ReadSecrets" in own else []
    names = {each.rpartition(f":secret:causeway-{stage}-")[2].removesuffix("-??????") for each in named}
    return {"secrets": names, "unwraps": "UnwrapDataKeys" in own}


@pytest.fixture
def reached(causeway: Causeway) -> Callable[[Callable[[bootstrap.Hub], object]], Keys]:
    """Return a function that executes a call in a new process and records the secrets read and the keys decrypted."""
    taken: Keys = {}

    def note(call: Call) -> None:
        match call.service:
            case "secretsmanager":
                assert call.operation == "GetSecretValue"
                taken["secrets"].add(call.body["SecretId"].removeprefix("causeway-local-"))
            case "kms":
                assert call.operation == "Decrypt"
                assert call.body["EncryptionContext"] == {"purpose": "causeway-data-key"}
                taken["unwraps"] = True

    def reach(work: Callable[[bootstrap.Hub], object]) -> Keys:
        fresh = causeway.another_process()
        taken.update(secrets=set(), unwraps=False)
        bootstrap.use(fresh)
        try:
            with observe_calls(note):
                work(fresh)
        finally:
            bootstrap.use(causeway.hub)
        return dict(taken)

    return reach


def new_card(causeway: Causeway) -> Callable[[bootstrap.Hub], object]:
    """Return a request that needs all keys. The demonstration banks are not installed for the request."""

    def work(hub: bootstrap.Hub) -> None:
        Issuer(causeway, hub).card()
        with pytest.raises(NotInstalled):
            DemoBank(PROFILES[0], FORMATS[PROFILES[0].version], hub).credentials()

    return work


def event(causeway: Causeway) -> Callable[[bootstrap.Hub], object]:
    causeway.tpp.set_events_url()
    delivery_id = causeway.hub.openbanking.tpp_events.send_test(causeway.tpp.client)

    def work(hub: bootstrap.Hub) -> None:
        hub.__dict__["outbound"] = causeway.hub.outbound
        hub.delivery.worker.attempt(delivery_id)
        assert causeway.delivery(delivery_id).state == "delivered"

    return work


def expiry(causeway: Causeway) -> Callable[[bootstrap.Hub], object]:
    causeway.tpp.set_events_url()
    causeway.psu.approve(1)
    causeway.clock.advance(200 * 24 * 3600)
    return lambda hub: hub.openbanking.call(record_due_events)


def hold(causeway: Causeway) -> Callable[[bootstrap.Hub], object]:
    issuer = Issuer(causeway)
    issuer.purchase(issuer.spendable(2_500).card_id, 2_500)
    causeway.clock.advance(HOLD_SECONDS)

    def work(hub: bootstrap.Hub) -> None:
        with causeway.manager_wants_events():
            assert hub.cards.call(expire_holds)

    return work


def resealing(causeway: Causeway) -> Callable[[bootstrap.Hub], object]:
    causeway.hub.keyring.rotate_data_key()
    causeway.clock.advance(SETTLE_SECONDS)
    causeway.hub.resealing.request()
    return lambda hub: hub.resealing.run(hub.clock.monotonic() + 1)


WORK: dict[str, Callable[[Causeway], Callable[[bootstrap.Hub], object]]] = {
    "": new_card,
    "-deliver": event,
    "-expire": expiry,
    "-finish": hold,
    "-ingest": lambda causeway: lambda hub: hub.statistics.ingest.run(expected_banks(hub.openbanking.banks)),
    "-prove": lambda causeway: lambda hub: hub.cards.call(prove_accounts, hub.clock.monotonic() + 1),
    "-reseal": resealing,
    "-sweep": lambda causeway: lambda hub: hub.delivery.call(sweep),
}
"""A typical call of each function except ``settle``, which uses only the secret of the demonstration banks."""


@pytest.mark.parametrize("function", WORK)
def test_a_function_uses_exactly_the_granted_keys_and_secrets(
    causeway: Causeway, reached: Callable[[Callable[[bootstrap.Hub], object]], Keys], function: str
) -> None:
    found = reached(WORK[function](causeway))

    assert found == granted("dev", function)
    assert found["secrets"] - {"demo-banks"} == granted("prod", function)["secrets"]
    assert found["unwraps"] == granted("prod", function)["unwraps"]


def test_settle_can_read_only_the_secret_of_the_demonstration_banks() -> None:
    assert granted("dev", "-settle") == {"secrets": {"demo-banks"}, "unwraps": False}


def test_every_function_has_a_test_of_keys_and_secrets() -> None:
    assert WORK.keys() | {"-settle"} == {each.name and f"-{each.name}" for each in FUNCTIONS}


@each_policy
def test_every_policy_statement_has_a_known_form(file: Path) -> None:
    """Separate tests compare the statements on tables and queues with the calls."""
    stage = stage_of(file)
    function = file.stem.removeprefix("policy-")
    log = f"arn:aws:logs:*:*:log-group:/aws/lambda/causeway-{function}"
    alias = {"kms:ResourceAliases": f"alias/causeway-{stage}"}
    forms = {
        "WriteLogs": statement(
            ["CreateLogGroup", "CreateLogStream", "PutLogEvents"], "logs", [log, f"{log}:log-stream:*"]
        ),
        "WriteTraces": statement(["PutTraceSegments", "PutTelemetryRecords"], "xray", "*"),
        "SendMails": statement(["SendEmail"], "ses", ["arn:aws:ses:*:*:identity/*"])
        | {"Condition": {"StringLike": {"ses:FromAddress": "causeway@*"}}},
        "ReadCertificateAuthorities": statement(["GetObject"], "s3", [f"arn:aws:s3:::causeway-{stage}-truststore-*/*"])
        | {"Condition": {"StringEquals": {"aws:ResourceAccount": "${aws:PrincipalAccount}"}}},
        "UnwrapDataKeys": statement(["Decrypt"], "kms", ["arn:aws:kms:*:*:key/*"])
        | {"Condition": {"ForAnyValue:StringEquals": alias, "StringEquals": DATA_KEY}},
        "OpenSecrets": statement(["Decrypt"], "kms", ["arn:aws:kms:*:*:key/*"])
        | {
            "Condition": {
                "ForAnyValue:StringEquals": alias,
                "StringLike": {"kms:ViaService": "secretsmanager.*.amazonaws.com"},
            }
        },
    }
    found = {each["Sid"]: each for each in statements(file)}

    assert {"WriteLogs", "WriteTraces"} <= found.keys()
    assert ("OpenSecrets" in found) == ("ReadSecrets" in found)
    assert len(found) == len(statements(file))
    for sid, each in found.items():
        services = {action.partition(":")[0] for action in each["Action"]}
        assert len(services) == 1
        if services <= {"dynamodb", "sqs"}:
            continue
        if sid == "ReadSecrets":
            assert each == statement(["GetSecretValue"], "secretsmanager", each["Resource"]) | {"Sid": sid}
            continue
        assert each == forms[sid] | {"Sid": sid}


def statement(actions: list[str], service: str, place: str | list[str]) -> dict[str, Any]:
    return {"Effect": "Allow", "Action": [f"{service}:{action}" for action in actions], "Resource": place}
