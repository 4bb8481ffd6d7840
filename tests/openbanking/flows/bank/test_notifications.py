"""Tests of notifications to banks: content, successful responses and retries."""

from typing import Any

import pytest

from chalicelib.delivery.delivery_record import Delivery
from chalicelib.foundation.crypto import signatures
from chalicelib.foundation.http.outbound import NotReached, Reply
from tests.causeway import Causeway
from tests.kit.logs import Lines
from tests.openbanking.kit import VERSIONS, Consented, always


def ended(causeway: Causeway, version: int) -> tuple[Consented, str]:
    """Revoke a new consent as the TPP. Return the consent, and the id of the delivery to the bank."""
    causeway.queued()
    consented = causeway.psu.approve(version)
    tokens = causeway.tpp.call("POST", "/tpp/token", {"code": consented.query["code"]}).body
    assert causeway.tpp.call("POST", "/tpp/token/revoke", {"token": tokens["access_token"]}).status == 200
    (delivery_id,) = causeway.queued()
    return consented, delivery_id


def told(causeway: Causeway, version: int, answer: Any) -> Delivery:
    _, delivery_id = ended(causeway, version)
    causeway.banks[version].answers["/revoke_token"] = lambda sent: answer
    causeway.hub.delivery.worker.attempt(delivery_id)
    return causeway.delivery(delivery_id)


@VERSIONS
def test_a_revocation_notice_to_a_bank_contains_the_token_a_signature_and_all_headers(
    causeway: Causeway, version: int
) -> None:
    consented, delivery_id = ended(causeway, version)
    causeway.banks[version].answers["/revoke_token"] = lambda sent: {"status": "success"}

    causeway.hub.delivery.worker.attempt(delivery_id)

    (sent,) = causeway.banks[version].received
    assert (sent.path, sent.body) == ("/revoke_token", b'{"access_token":"%s"}' % consented.bank_token.encode())
    assert dict(sent.headers) | {"X-Signature": ""} == {
        "Content-Type": "application/json",
        "X-Api-Key": causeway.banks[version].api_key,
        "X-Auth-Token": consented.bank_token,
        "X-Request-Id": causeway.delivery(delivery_id).request_id,
        "X-Signature": "",
    }
    assert signatures.verify(causeway.hub.keyring.public_keys(), sent.body, sent.headers["X-Signature"])
    assert causeway.delivery(delivery_id).state == "delivered"


GOOD = {"the status": b'{"status":"success"}', "more than that": b'{"status":"success","revoked_at":1.50}'}


@VERSIONS
@pytest.mark.parametrize("body", GOOD.values(), ids=GOOD)
def test_a_revocation_notice_is_marked_as_delivered_after_a_success_response(
    causeway: Causeway, version: int, body: bytes
) -> None:
    assert told(causeway, version, Reply(200, body, {}, 0)).state == "delivered"


ERROR = "the bank responded with an error and status"
NO_JSON = "the bank responded with status 200 and invalid JSON"
NOT_SUCCESS: dict[str, tuple[Any, str]] = {
    "an error in version 1": (
        Reply(200, b'{"status":"error","error_code":4202,"message":"No such token"}', {}, 0),
        f"{ERROR} 200",
    ),
    "no status": (Reply(200, b"{}", {}, 0), "the status in the bank's response is not success"),
    "another status": (Reply(200, b'{"status":"ok"}', {}, 0), "the status in the bank's response is not success"),
    "nothing": (Reply(204, b"", {}, 0), "the bank responded with status 204 and invalid JSON: it is empty"),
    "a page": (Reply(200, b"<html>", {}, 0), f"{NO_JSON}: Expecting value at line 1 column 1"),
    "success with an error's status": (Reply(500, b'{"status":"success"}', {}, 0), f"{ERROR} 500"),
    "a redirect": (
        Reply(307, b"", {"Location": "/x"}, 0),
        "the bank responded with status 307 and invalid JSON: it is empty",
    ),
    "too many requests": (Reply(429, b"{}", {}, 0), f"{ERROR} 429"),
    "not reached": (NotReached("no connection could be made"), "no connection could be made"),
}


@pytest.mark.parametrize(("answer", "reason"), NOT_SUCCESS.values(), ids=NOT_SUCCESS)
def test_a_revocation_notice_without_a_success_response_is_retried(
    causeway: Causeway, answer: Any, reason: str
) -> None:
    item = told(causeway, 2, answer)  # this webhook is answered alike in both versions

    assert item.state == "due"
    assert item.attempts == 1
    assert item.last["error"] == reason


@VERSIONS
@pytest.mark.parametrize("status", [404, 410])
@pytest.mark.parametrize("body", [b"", b'{"status":"success"}'])
def test_a_revocation_notice_is_not_retried_after_a_404_or_410_response(
    causeway: Causeway, version: int, status: int, body: bytes
) -> None:
    item = told(causeway, version, Reply(status, body, {}, 0))

    assert (item.state, item.last["status"]) == ("failed", status)
    assert str(status) in item.last["error"]


@VERSIONS
def test_a_notice_to_an_inactive_bank_is_delivered_after_its_activation(causeway: Causeway, version: int) -> None:
    _, delivery_id = ended(causeway, version)
    bic = causeway.banks[version].bic
    causeway.banks[version].answers["/revoke_token"] = lambda sent: {"status": "success"}
    causeway.hub.openbanking.banks.change(bic, active=False)
    try:
        causeway.hub.delivery.worker.attempt(delivery_id)
    finally:
        causeway.hub.openbanking.banks.change(bic, active=True)

    item = causeway.delivery(delivery_id)
    assert (item.state, item.last["error"]) == ("due", "the bank is inactive")
    assert causeway.banks[version].received == []
    causeway.clock.advance(60)
    causeway.hub.delivery.worker.attempt(delivery_id)
    assert causeway.delivery(delivery_id).state == "delivered"


def test_a_notice_to_a_removed_bank_fails(causeway: Causeway) -> None:
    recorded = causeway.hub.delivery.outbox.record(
        "revoke_token",
        "/revoke_token",
        receiver="bank#GONEGB21",
        bic="GONEGB21",
        client_id=causeway.tpp.client_id,
        consent_id=causeway.delivery(ended(causeway, 1)[1]).consent_id,
    )
    causeway.hub.store.transact(recorded.operations)

    causeway.hub.delivery.worker.attempt(recorded.delivery_ids[0])

    item = causeway.delivery(recorded.delivery_ids[0])
    assert (item.state, item.last["error"]) == ("failed", "the consent or its bank no longer exists")


@VERSIONS
def test_credentials_in_a_bank_response_reach_neither_records_nor_logs(
    causeway: Causeway, version: int, lines: Lines
) -> None:
    consented, delivery_id = ended(causeway, version)
    keys = [consented.bank_token, causeway.banks[version].api_key]
    secrets = [key.rpartition(".")[2] for key in keys]
    for padding, echoed in zip((0, 220, 440, 455, 455, 470, 470, 495), (*keys, *secrets) * 2, strict=True):
        wrong = {"status": "error", "error_code": echoed, "message": f"{'x' * padding}{echoed} is unknown"}
        causeway.banks[version].answers["/revoke_token"] = always(wrong)
        causeway.hub.delivery.worker.attempt(delivery_id)

        kept = causeway.delivery(delivery_id).last["error"]
        assert kept == f"{ERROR} 200"
        assert "x" * 20 not in lines.text
        for secret in secrets:
            for place in (kept, lines.text):
                assert secret[:20] not in place
                assert secret[-20:] not in place
        causeway.clock.advance((causeway.delivery(delivery_id).due_at or 0) - causeway.clock.time())
    assert causeway.delivery(delivery_id).attempts == 8
