"""One X-Request-Id stands for one order at a bank: another order with it is refused before anything is spent."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import pytest

from chalicelib.foundation import jsontext
from chalicelib.foundation.http.outbound import NotReached, TimedOut
from chalicelib.foundation.identifiers import OpaqueToken
from chalicelib.openbanking.bank_client.bank_circuits import Breaker
from chalicelib.openbanking.bank_client.bank_failures import CircuitOpen
from chalicelib.openbanking.protocol import refusals
from chalicelib.openbanking.records.consents import Consent, consent_key
from chalicelib.openbanking.records.orders import CLAIMED_SECONDS as KEPT
from chalicelib.openbanking.records.payments import Payment, payment_key
from tests.causeway import Answer, Causeway
from tests.kit.logs import Lines
from tests.log_traces import TRACE
from tests.openbanking.deferred_calls import accepted
from tests.openbanking.deferred_payments import LaterPayer, payments
from tests.openbanking.faults import items
from tests.openbanking.payer import KINDS, PATHS, REFUSAL, VERSIONS, Payer, order, taken
from tests.openbanking.stage import error_of

USED = (400, "HEADERS_ERROR")
ONE_TIME = "one_time"
DOWN = NotReached("no connection")
WAYS = pytest.mark.parametrize("later", [False, True], ids=["at once", "later"])
HOW = pytest.mark.parametrize(
    ("key", "consent_type"), [(None, "reusable"), ("key", "reusable"), (None, ONE_TIME), ("key", ONE_TIME)]
)


def payer_of(
    causeway: Causeway, version: int, kind: str = "single", consent_type: str = "reusable", *, later: bool
) -> Payer:
    """A TPP that waits for the bank, or does not."""
    return (LaterPayer if later else Payer)(causeway, version, kind, consent_type)


def becomes_another_tpp(causeway: Causeway) -> None:
    causeway.tpp.client = causeway.hub.openbanking.clients.create(owner="other@example.com", title="Other").client


def is_refused_and_nothing_is_spent(payer: Payer, key: str | None = "key", **members: Any) -> None:
    """The X-Request-Id is another order's; with a new one the same key and the same consent pay."""
    causeway, calls, recorded = payer.causeway, payer.calls, len(payer.causeway.recorded())
    refused = payer.pay(key, **members)
    assert error_of(refused)[:2] == USED
    assert "X-Request-Id" in refused.body["title"]
    assert (payer.calls, len(causeway.recorded())) == (calls, recorded)
    payer.request_id = None
    assert payer.pay(key, **members).status == (202 if payer.headers else 200)


def claims(causeway: Causeway) -> list[dict[str, Any]]:
    return [item for item in items(causeway, "idempotency") if item["claim"].startswith("order#")]


def held(causeway: Causeway) -> list[int]:
    """Of each claimed id, how many attempts may have sent its order."""
    return [item["sendings"] for item in claims(causeway)]


# -- one id, two orders


@VERSIONS
@KINDS
@WAYS
@pytest.mark.parametrize("consent_type", ["reusable", ONE_TIME])
def test_an_order_with_the_request_id_of_another_tpp_is_refused_before_the_bank_call(
    causeway: Causeway, version: int, kind: str, later: bool, consent_type: str
) -> None:
    first = payer_of(causeway, version, kind, later=not later)
    first.request_id = str(uuid.uuid4())
    assert first.pay().status in (200, 202)

    becomes_another_tpp(causeway)
    second = payer_of(causeway, version, kind, consent_type, later=later)
    second.request_id = first.request_id

    is_refused_and_nothing_is_spent(second)


@VERSIONS
@KINDS
@WAYS
def test_another_body_with_the_same_request_id_is_refused(
    causeway: Causeway, version: int, kind: str, later: bool
) -> None:
    payer = payer_of(causeway, version, kind, later=later)
    payer.request_id = str(uuid.uuid4())
    assert payer.pay().status in (200, 202)

    is_refused_and_nothing_is_spent(payer, callback_url="http://127.0.0.1:8000/payments/callback?shop=2")


@VERSIONS
@WAYS
def test_another_consent_with_the_same_request_id_is_refused(causeway: Causeway, version: int, later: bool) -> None:
    first, second = (payer_of(causeway, version, consent_type=ONE_TIME, later=later) for _ in range(2))
    first.request_id = second.request_id = str(uuid.uuid4())
    assert first.pay().status in (200, 202)

    is_refused_and_nothing_is_spent(second)


@VERSIONS
def test_another_payment_call_with_the_same_request_id_is_refused(causeway: Causeway, version: int) -> None:
    first, second = Payer(causeway, version, "direct"), Payer(causeway, version, "single", ONE_TIME)
    first.request_id = second.request_id = str(uuid.uuid4())
    assert first.pay().status == 200

    is_refused_and_nothing_is_spent(second)


@VERSIONS
@KINDS
@WAYS
def test_the_bank_gets_the_request_id_in_lower_case(causeway: Causeway, version: int, kind: str, later: bool) -> None:
    """A bank that compares text would otherwise pay twice."""
    payer, small = payer_of(causeway, version, kind, later=later), str(uuid.uuid4())

    for payer.request_id in (small, small.upper(), small.title()):
        answer = payer.pay()
        assert (answer.status, answer.headers["x-request-id"]) == (202 if later else 200, small)
        if later:
            causeway.hub.delivery.worker.attempt(accepted(answer))

    assert {sent.headers["X-Request-Id"] for sent in payer.side.received} == {small}
    assert [item["request_id"] for item in payments(causeway)] == [small]


def test_errors_and_logs_show_the_request_id_in_lower_case(causeway: Causeway, lines: Lines) -> None:
    small = str(uuid.uuid4())

    answer = causeway.tpp.call("POST", "/tpp/authorize", {}, headers={"x-request-id": small.upper()})

    assert (answer.body["requestId"], answer.headers["x-request-id"]) == (small, small)
    assert {line["request_id"] for line in lines.all()} == {small}


def test_an_uppercase_request_id_is_the_same_request_id(causeway: Causeway) -> None:
    payer = Payer(causeway, 1)
    payer.request_id = str(uuid.uuid4())
    payer.pay()
    payer.request_id = payer.request_id.upper()

    is_refused_and_nothing_is_spent(payer, amount="13")


def test_two_banks_may_get_the_same_request_id(causeway: Causeway) -> None:
    first, second = Payer(causeway, 1, "direct"), Payer(causeway, 2, "direct")
    first.request_id = second.request_id = str(uuid.uuid4())

    assert [first.pay().status, second.pay().status] == [200, 200]


def test_a_request_id_is_free_again_after_a_day(causeway: Causeway) -> None:
    payer = Payer(causeway, 1, "direct")
    payer.request_id = str(uuid.uuid4())
    payer.pay()
    causeway.clock.advance(KEPT - 1)
    assert error_of(payer.pay(amount="13"))[:2] == USED

    causeway.clock.advance(1)

    payer.bank_does(taken(1, "P-2"))
    assert payer.pay(amount="13").status == 200


@VERSIONS
def test_one_of_two_parallel_orders_with_one_request_id_reaches_the_bank(causeway: Causeway, version: int) -> None:
    first, second = Payer(causeway, version), Payer(causeway, version, "direct")
    first.request_id = second.request_id = str(uuid.uuid4())
    inner: list[Answer] = []

    with causeway.meanwhile("transact", lambda: inner.append(second.pay())):
        outer = first.pay()

    assert (inner[0].status, error_of(outer)[:2]) == (200, USED)
    assert first.calls == 1


# -- one id, one order


@VERSIONS
@KINDS
def test_the_same_order_is_sent_again_and_recorded_as_one_payment(causeway: Causeway, version: int, kind: str) -> None:
    payer = Payer(causeway, version, kind)
    payer.request_id = str(uuid.uuid4())

    answers = [payer.pay(key) for key in (None, "key", None)]

    assert {answer.status for answer in answers} == {200}
    assert {answer.body["payment_id"] for answer in answers} == {"P-1"}
    assert (payer.calls, len(payments(causeway))) == (3, 1)


def test_the_same_deferred_order_is_accepted_again_and_recorded_as_one_payment(causeway: Causeway) -> None:
    payer = LaterPayer(causeway, 2)
    payer.request_id = str(uuid.uuid4())
    ids = [payer.order(), payer.order()]
    assert payer.pay_at_once().status == 200

    for request_id in ids:
        payer.attempt(request_id)

    assert {payer.outcome(request_id)["body"]["payment_id"] for request_id in ids} == {"P-1"}
    assert (payer.calls, len(payments(causeway))) == (3, 1)


def test_an_idempotency_key_returns_the_first_answer_with_any_request_id(causeway: Causeway) -> None:
    payer, other = Payer(causeway, 1, consent_type=ONE_TIME), Payer(causeway, 1, "direct")
    other.request_id = str(uuid.uuid4())
    other.pay()
    first = payer.pay("key")

    for request_id in (str(uuid.uuid4()), other.request_id):
        payer.request_id = request_id
        assert payer.pay("key").text == first.text
    assert payer.calls == 2


def test_the_request_id_is_checked_after_all_other_rules(causeway: Causeway) -> None:
    payer = Payer(causeway, 1, consent_type=ONE_TIME)
    payer.request_id = str(uuid.uuid4())
    other = Payer(causeway, 1, "direct")
    other.request_id = payer.request_id
    other.pay()

    assert error_of(payer.pay(amount="-1"))[:2] == (400, "FORMAT_ERROR")
    assert error_of(payer.pay(sender_iban="DE89370400440532013000"))[:2] == (403, "SERVICE_BLOCKED")
    assert error_of(payer.pay("k" * 256))[2] == []
    payer.request_id = None
    payer.pay()
    payer.request_id = other.request_id
    assert payer.pay().status == 401


# -- an id that was made here


@WAYS
@HOW
def test_a_generated_request_id_is_claimed_for_its_order(
    causeway: Causeway, later: bool, key: str | None, consent_type: str
) -> None:
    payer = payer_of(causeway, 1, consent_type=consent_type, later=later)
    made = payer.pay(key).headers["x-request-id"]

    other = Payer(causeway, 1, "direct")
    other.request_id = made

    is_refused_and_nothing_is_spent(other)


def test_the_same_order_with_its_generated_request_id_is_sent_again(causeway: Causeway) -> None:
    payer = Payer(causeway, 2)
    payer.request_id = payer.pay().headers["x-request-id"]

    assert payer.pay().body["payment_id"] == "P-1"
    assert (payer.calls, len(payments(causeway))) == (2, 1)


@pytest.mark.parametrize("failure", [REFUSAL[1], TimedOut("late")], ids=["refused", "late"])
def test_a_generated_request_id_stays_claimed_when_the_bank_fails(causeway: Causeway, failure: Any) -> None:
    payer = Payer(causeway, 1)
    payer.bank_does(failure)
    payer.request_id = payer.pay().headers["x-request-id"]
    payer.bank_takes_all()

    is_refused_and_nothing_is_spent(payer, amount="13")


# -- an order that was never sent


@VERSIONS
@HOW
def test_a_request_id_is_released_when_the_bank_was_never_reached(
    causeway: Causeway, version: int, key: str | None, consent_type: str
) -> None:
    payer = Payer(causeway, version, consent_type=consent_type)
    payer.request_id = str(uuid.uuid4())
    payer.bank_does(DOWN)
    assert "not sent" in payer.pay(key).body["title"]
    assert held(causeway) == [0]
    becomes_another_tpp(causeway)
    other = Payer(causeway, version, "direct")
    other.request_id = payer.request_id

    assert other.pay().status == 200
    assert held(causeway) == [1]


@pytest.mark.parametrize("failure", [REFUSAL[1], TimedOut("late"), {"status": "success"}], ids=str)
@pytest.mark.parametrize("consent_type", ["reusable", ONE_TIME])
def test_a_request_id_is_kept_when_the_bank_may_have_seen_the_order(
    causeway: Causeway, failure: Any, consent_type: str
) -> None:
    payer, other = Payer(causeway, 1, consent_type=consent_type), Payer(causeway, 1, "direct")
    payer.request_id = other.request_id = str(uuid.uuid4())
    payer.bank_does(failure)
    assert payer.pay().status == 502

    is_refused_and_nothing_is_spent(other)


def test_a_request_id_is_kept_when_an_earlier_attempt_was_sent(causeway: Causeway) -> None:
    payer, other = Payer(causeway, 1), Payer(causeway, 1, "direct")
    payer.request_id = other.request_id = str(uuid.uuid4())
    assert payer.pay().status == 200
    payer.bank_does(DOWN)
    assert payer.pay().status == 502
    assert held(causeway) == [1]

    is_refused_and_nothing_is_spent(other)


def test_a_request_id_is_released_when_the_consent_is_revoked_meanwhile(causeway: Causeway) -> None:
    payer = Payer(causeway, 1, consent_type=ONE_TIME)
    payer.request_id = str(uuid.uuid4())

    def revoked_on_the_way(sent: object) -> Any:
        causeway.tpp.call("POST", "/tpp/token/revoke", {"token": payer.bearer})
        return DOWN

    payer.side.answers["/payment_initiation"] = revoked_on_the_way

    assert payer.pay("key").status == 502
    assert held(causeway) == [0]


def never_reached(payer: LaterPayer, request_id: str) -> None:
    payer.bank_does(DOWN)
    for _ in range(2):
        payer.attempt(request_id)


def too_late(payer: LaterPayer, request_id: str) -> None:
    payer.causeway.clock.advance(301)
    payer.attempt(request_id)


def left_alone(payer: LaterPayer, request_id: str) -> None:
    def stays_open(breaker: Breaker, key: str) -> None:
        raise CircuitOpen(30)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Breaker, "admit", stays_open)
        while payer.causeway.delivery(request_id).state == "due":
            payer.attempt(request_id)


def revoked(payer: LaterPayer, request_id: str) -> None:
    payer.causeway.tpp.call("POST", "/tpp/token/revoke", {"token": payer.bearer})
    payer.attempt(request_id)


def switched_off(payer: LaterPayer, request_id: str) -> None:
    payer.causeway.hub.openbanking.clients.deactivate(payer.causeway.tpp.client_id)
    payer.attempt(request_id)
    payer.causeway.hub.openbanking.clients.activate(payer.causeway.tpp.client_id)


@pytest.mark.parametrize("consent_type", ["reusable", ONE_TIME])
@pytest.mark.parametrize("end", [never_reached, too_late, left_alone, revoked, switched_off])
def test_an_accepted_order_that_was_never_sent_releases_its_request_id(
    causeway: Causeway, end: Callable[[LaterPayer, str], None], consent_type: str
) -> None:
    payer = LaterPayer(causeway, 1, consent_type=consent_type)
    payer.request_id = str(uuid.uuid4())
    request_id = payer.order()
    assert held(causeway) == [1]

    end(payer, request_id)

    assert causeway.delivery(request_id).state == "failed"
    assert held(causeway) == [0]


def test_an_accepted_order_keeps_its_request_id_between_attempts_and_after_sending(causeway: Causeway) -> None:
    payer = LaterPayer(causeway, 1)
    payer.request_id = str(uuid.uuid4())
    request_id = payer.order()
    payer.bank_does(DOWN)
    payer.attempt(request_id)
    assert held(causeway) == [1]
    payer.bank_does(TimedOut("late"))
    payer.attempt(request_id)

    assert payer.failure(request_id) == (502, refusals.PAYMENT_OUTCOME_UNKNOWN.sentence)
    assert held(causeway) == [1]


# -- storage that loses answers


@pytest.mark.parametrize("applied", [True, False])
@HOW
def test_an_order_is_sent_only_once_its_claim_is_written(
    causeway: Causeway, key: str | None, consent_type: str, applied: bool
) -> None:
    payer = Payer(causeway, 1, consent_type=consent_type)
    payer.request_id = str(uuid.uuid4())

    with causeway.answer_lost("transact", applied=applied):
        first = payer.pay(key)

    assert (first.status, payer.calls) == ((200, 1) if applied else (500, 0))
    assert held(causeway) == ([1] if applied else [])
    assert payer.pay(key).status == (200 if key or consent_type == "reusable" or not applied else 401)


def test_a_claim_stores_nothing_of_the_orders_body(causeway: Causeway) -> None:
    payer = Payer(causeway, 1)
    payer.request_id = str(uuid.uuid4())
    payer.pay()

    (claim,) = claims(causeway)

    order = {"bic", "request_id", "client_id", "path", "consent_id", "api_version", "order_digest"}
    of_claim = {"claim", "attempt", "sendings", "claimed_until", "expires_at"}
    assert claim.keys() == order | of_claim | {"payment_id", "outcome"}


# -- a payment_id that a bank gives out twice

WHO = pytest.mark.parametrize("who", ["the same consent", "another consent", "no consent", "another client"])


def second_of(causeway: Causeway, who: str, first: Payer, *, later: bool) -> Payer:
    """Who makes the later order."""
    if who == "another client":
        becomes_another_tpp(causeway)
    kind, consent_type = ("direct", "reusable") if who == "no consent" else ("single", ONE_TIME)
    second = payer_of(causeway, first.version, kind, consent_type, later=later)
    if who == "the same consent":
        second.bearer, second.side = first.bearer, first.side
    return second


def ended(payer: Payer, key: str) -> tuple[int, str]:
    """How an order of this key ended: status and title."""
    answer = payer.pay(key)
    if isinstance(payer, LaterPayer):
        request_id = answer.body["request_id"]
        payer.attempt(request_id)
        return payer.failure(request_id)
    assert payer.pay(key).text == answer.text
    return answer.status, answer.body["title"]


@VERSIONS
@WHO
@WAYS
def test_a_payment_id_reused_by_the_bank_stays_with_the_first_order(
    causeway: Causeway, version: int, who: str, later: bool
) -> None:
    first = Payer(causeway, version)
    first.pay()
    first.report(4)
    client, before = causeway.tpp.client, payments(causeway)
    second = second_of(causeway, who, first, later=later)
    second.bank_does(taken(version, "P-1"))

    assert ended(second, "key") == (502, refusals.PAYMENT_ANSWER_BAD.sentence)

    assert payments(causeway) == before
    assert second.calls == 2
    second.side.answers["/v2_payment_single_status"] = lambda sent: {"transaction_status": "ACSC"}
    assert second.status().status == (200 if who == "the same consent" else 401)
    if who in ("another consent", "another client"):
        second.headers = {}
        assert second.pay("another key").status == 401, "the one-time consent is spent"
    causeway.tpp.client = client
    assert first.report(2).status == 200, "it is ignored after a final status"
    assert payments(causeway) == before


@VERSIONS
@WAYS
def test_an_unusable_answer_keeps_the_payment_of_another_order(causeway: Causeway, version: int, later: bool) -> None:
    first, second = Payer(causeway, version), payer_of(causeway, version, consent_type=ONE_TIME, later=later)
    first.pay()
    before = payments(causeway)
    second.bank_does(taken(version) | {"confirmation_url": "javascript:alert(1)"})

    assert ended(second, "key") == (502, refusals.PAYMENT_ANSWER_BAD.sentence)
    assert payments(causeway) == before


def test_a_reused_payment_id_returns_502_as_a_failure_of_the_bank(
    causeway: Causeway, caplog: pytest.LogCaptureFixture
) -> None:
    first, second = Payer(causeway, 1), Payer(causeway, 1, "direct")
    first.pay()
    second.bank_does(taken(1))

    refused = second.pay()

    assert error_of(refused)[:2] == (502, "ASPSP_UNKNOWN_ERROR")
    assert (
        refused.body["additionalErrors"][0]["details"]
        == "the payment_id in the bank's response belongs to another order"
    )
    assert refused.headers["server-timing"].startswith("bank;dur=10.0")
    assert "payment_id reused" in caplog.messages


def test_a_request_id_reused_after_a_day_does_not_get_the_first_payment(causeway: Causeway) -> None:
    payer = Payer(causeway, 1, "direct")
    payer.request_id = str(uuid.uuid4())
    payer.pay()
    causeway.clock.advance(KEPT)
    payer.bank_does(taken(1, "P-1"))

    assert payer.pay().status == 200, "the same order"
    causeway.clock.advance(KEPT)
    assert payer.pay(amount="13").status == 502


# -- what was recorded before ids were claimed


def recorded_before(causeway: Causeway, payer: Payer) -> None:
    """A payment as it was recorded then."""
    table, key = payment_key(payer.side.bic, "P-1")
    assert causeway.hub.store.update(table, key, remove=["order_digest"]).keys() == key.keys() | {
        *("bic", "payment_id", "api_version", "kind", "client_id", "consent_id", "request_id"),
        *("status", "history", "created_at", "revision"),
    }
    (claim,) = claims(causeway)
    causeway.hub.store.delete("idempotency", {"claim": claim["claim"]})


@VERSIONS
def test_a_payment_recorded_without_an_order_digest_is_read_and_kept(causeway: Causeway, version: int) -> None:
    payer = Payer(causeway, version)
    payer.request_id = str(uuid.uuid4())
    payer.pay()
    recorded_before(causeway, payer)
    item = causeway.hub.store.get(*payment_key(payer.side.bic, "P-1"))
    assert item is not None
    assert Payment.from_item(item).order_digest is None

    assert payer.pay().body["payment_id"] == "P-1"
    assert payer.report(4).status == 200
    payer.request_id = None
    payer.bank_does(taken(version))
    assert payer.pay().status == 502
    assert len(payments(causeway)) == 1


def accepted_before(causeway: Causeway, payer: LaterPayer) -> str:
    """The id of an order of a one-time consent as it was accepted then: its delivery has no claim of its id."""
    token = OpaqueToken.parse(payer.bearer or "", parts=3)
    assert token is not None
    part = f"access#{token.ids[1]}"
    item, access = causeway.hub.store.batch_get(
        [consent_key(token.ids[0]), ("consents", {"consent_id": token.ids[0], "part": part})]
    )
    assert item is not None
    assert access is not None
    consent = Consent.from_item(item)
    request = order(causeway, payer.version, "single", payment_scheme="SCT")
    body = {"request": request, "version": payer.version, "attempt": "A-1", "psu_address": None, "bearer": part}
    request_id = str(uuid.uuid4())
    recorded = causeway.hub.delivery.outbox.record(
        "payment",
        PATHS["single"],
        receiver=f"bank#{consent.bic}",
        bic=consent.bic,
        client_id=consent.client_id,
        consent_id=consent.consent_id,
        body=jsontext.dumps(body),
        request_id=request_id,
    )
    TRACE.add_order(consent.bic, request_id)
    causeway.hub.store.transact(
        [*causeway.hub.openbanking.consents.update_spent(consent, access, "A-1", "R-1"), *recorded.operations]
    )
    return recorded.delivery_ids[0]


@VERSIONS
def test_an_order_accepted_without_a_claim_is_carried_out(causeway: Causeway, version: int) -> None:
    payer = LaterPayer(causeway, version, consent_type=ONE_TIME)
    request_id = accepted_before(causeway, payer)
    payer.bank_does(DOWN)
    payer.attempt(request_id)
    payer.bank_takes_all()

    payer.attempt(request_id)

    assert payer.outcome(request_id)["state"] == "done"
    assert [item.get("order_digest") for item in payments(causeway)] == [None]
    payer.side.answers["/v2_payment_single_status"] = lambda sent: {"transaction_status": "ACSC"}
    assert payer.status().status == 200


@pytest.mark.parametrize("end", [never_reached, too_late, left_alone])
def test_an_order_accepted_without_a_claim_and_never_sent_fails_as_not_sent(
    causeway: Causeway, end: Callable[[LaterPayer, str], None]
) -> None:
    payer = LaterPayer(causeway, 2, consent_type=ONE_TIME)
    request_id = accepted_before(causeway, payer)

    end(payer, request_id)

    assert payer.failure(request_id) == (502, refusals.PAYMENT_NOT_SENT.sentence)
    assert (payer.consent_status(), claims(causeway)) == ("authorised", [])
