"""This version starts with the data of the latest release and can use the data."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

import boto3
import pytest

from chalicelib import bootstrap
from chalicelib.delivery.sweeper import sweep
from chalicelib.foundation.crypto import event_signing
from chalicelib.foundation.settings import Settings
from chalicelib.openbanking.records.bank_record import SWITCHES
from chalicelib.sealed_places import SEALED_PLACES
from infra.admin.doctor import find_all
from infra.admin.ledger_verification import find_dangling_refs, prove_ledger
from infra.restore.examination import Examination
from tests.cards.issuer import Issuer
from tests.causeway import Causeway
from tests.demo_bank.connected_banks import wire_banks
from tests.kit.time import ManualClock
from tests.upgrade import data_file
from tests.upgrade.play import EMAIL, SCOPES, reseal_all
from tests.website.web_user import WebUser

FACTS, LINES = data_file.read()
LARGEST = 300_000
"""The maximum size of the release data file in bytes. The limit keeps clones of the repository small."""


@pytest.fixture(scope="module")
def storage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    state = tmp_path_factory.mktemp("upgrade") / "state"
    data_file.restore(LINES, state)
    with data_file.emulator(state):
        yield


@pytest.fixture
def causeway(storage: None) -> Iterator[Causeway]:
    clock = ManualClock(datetime.fromisoformat(FACTS["written_at"]))
    service = Causeway(bootstrap.Hub(Settings.from_environment({"STAGE": "local"}), clock), {})
    with service.installed(), wire_banks(service):
        service.tpp.client = service.hub.openbanking.clients.get(FACTS["client"]["client_id"])
        service.tpp.client_secret = FACTS["client"]["secret"]
        service.card_secrets = {"full": FACTS["cards"]["credentials"]}
        yield service


def test_the_released_data_file_has_items_of_every_table() -> None:
    assert {line["table"] for line in LINES if "table" in line} == set(data_file.key_attributes())


def test_the_released_data_file_has_every_encrypted_attribute() -> None:
    found = {(line["table"], name) for line in LINES if "table" in line for name in line["item"]}

    assert found >= {(place.table, place.attribute) for place in SEALED_PLACES}


def test_the_released_data_file_is_within_its_size_limit() -> None:
    assert data_file.RELEASED.stat().st_size <= LARGEST


@pytest.mark.parametrize("bank", SCOPES)
def test_consents_tokens_and_payments_of_the_latest_release_are_usable(causeway: Causeway, bank: str) -> None:
    known = FACTS["banks"][bank]
    bearer, refresh_token = known["tokens"]["access_token"], known["tokens"]["refresh_token"]

    assert len(accounts(causeway, bearer)) == 2
    assert accounts(causeway, token(causeway, authorization_code=known["code"]))

    headers = {"idempotency-key": known["idempotency_key"]}
    repeated = causeway.tpp.call("POST", "/tpp/payment_initiation", known["order"], bearer=bearer, headers=headers)
    assert (repeated.status, repeated.body["payment_id"]) == (200, known["payment_id"])
    status = causeway.tpp.call("GET", f"/tpp/payment_status?payment_id={known['payment_id']}", bearer=bearer)
    assert status.status == 200, status

    causeway.clock.advance(2 * 3600)
    assert causeway.tpp.call("GET", "/tpp/accounts", bearer=bearer).status == 401
    assert len(accounts(causeway, token(causeway, refresh_token=refresh_token))) == 2


@pytest.mark.parametrize("bank", SCOPES)
def test_banks_and_consents_of_the_latest_release_are_usable_in_the_unified_api(causeway: Causeway, bank: str) -> None:
    bearer = FACTS["banks"][bank]["tokens"]["access_token"]

    read = causeway.tpp.call("GET", "/tpp/unified/accounts", bearer=bearer)

    assert len(read.body["accounts"]) == 2
    shown = causeway.tpp.call("GET", f"/tpp/banks/{read.body['bic']}").body
    assert [shown[name] for name in SWITCHES] == [False, "booked", None, False]


def test_a_client_fetches_events_of_the_latest_release(causeway: Causeway) -> None:
    types = [event["type"] for event in causeway.tpp.call("GET", "/tpp/events?limit=100").body["events"]]

    assert {"test", "payment.status_changed"} <= {*types}


def test_a_delivery_of_the_latest_release_is_delivered_with_a_valid_signature(causeway: Causeway) -> None:
    event_id = FACTS["events"]["event_id"]
    causeway.clock.advance(3600)
    causeway.hub.delivery.call(sweep)

    for delivery_id in queued(causeway):
        causeway.hub.delivery.worker.attempt(delivery_id)

    assert causeway.delivery(event_id).state == "delivered"
    (sent,) = [each for each in causeway.receiver.received if each.headers["webhook-id"] == event_id]
    signed = event_signing.headers([FACTS["events"]["secret"]], event_id, causeway.clock.time(), sent.body)
    assert signed.items() <= dict(sent.headers).items()


def test_cards_of_the_latest_release_can_be_read_and_used_and_their_ledger_is_consistent(causeway: Causeway) -> None:
    issuer = Issuer(causeway)
    for read in FACTS["cards"]["reads"]:
        assert_contains(issuer.data(read["action"], **read["members"]), read["data"])

    assert issuer.purchase(FACTS["cards"]["card_id"], 100)["response_code"] == "00"

    assert prove_ledger(causeway.hub.store).transactions > 0
    find_dangling_refs(causeway.hub.store)


def test_doctor_finds_no_inconsistency_in_data_of_the_latest_release(causeway: Causeway) -> None:
    assert list(find_all(Examination(causeway.hub, mend=False))) == []


def test_a_user_created_by_the_latest_release_can_sign_in_and_sees_the_clients(causeway: Causeway) -> None:
    user = WebUser(causeway)
    user.sign_in(EMAIL)
    user.get("/clients")

    assert "Budget Friend" in user.text
    assert "Receiver" in user.text


def test_every_encrypted_value_of_the_latest_release_is_reencrypted_with_a_new_key(causeway: Causeway) -> None:
    reseal_all(causeway)

    progress = causeway.hub.resealing.progress()
    assert progress is not None
    assert progress.finished_at is not None
    assert not any((progress.left or {}).values())


def token(causeway: Causeway, **grant: str) -> str:
    answer = causeway.tpp.call("POST", "/tpp/token", grant)
    assert answer.status == 200, answer
    return str(answer.body["access_token"])


def accounts(causeway: Causeway, bearer: str) -> list[Any]:
    answer = causeway.tpp.call("GET", "/tpp/accounts", bearer=bearer)
    assert answer.status == 200, answer
    return list(answer.body["accounts"])


def queued(causeway: Causeway) -> list[str]:
    sqs = boto3.client("sqs")
    url = sqs.get_queue_url(QueueName=f"{causeway.hub.settings.prefix}-deliveries")["QueueUrl"]
    found: list[str] = []
    while messages := sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages"):
        found += [message["Body"] for message in messages]
    return found


def assert_contains(value: Any, known: Any) -> None:
    """Check that a value has all known members. Later versions may add members."""
    if isinstance(known, Mapping):
        for name, member in known.items():
            assert_contains(value[name], member)
    elif isinstance(known, list):
        assert len(value) == len(known)
        for each, member in zip(value, known, strict=True):
            assert_contains(each, member)
    else:
        assert value == known
