"""Tests of the request ids of orders: a bank gets only one order with the same X-Request-Id."""

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
from tests.openbanking.faults import items
from tests.openbanking.kit import VERSIONS, accepted_id
from tests.openbanking.payments import KINDS, PATHS, REFUSAL, Pisp, order, payment_answer, stored_payments
from tests.openbanking.relay import error_of

USED = (400, "HEADERS_ERROR")
ONE_TIME = "one_time"
DOWN = NotReached("no connection")
WAYS = pytest.mark.parametrize("later", [False, True], ids=["at once", "later"])
HOW = pytest.mark.parametrize(
    ("key", "consent_type"), [(None, "reusable"), ("key", "reusable"), (None, ONE_TIME), ("key", ONE_TIME)]
)


def pisp_of(
    causeway: Causeway, version: int, kind: str = "single", consent_type: str = "reusable", *, later: bool
) -> Pisp:
    return Pisp(causeway, version, kind, consent_type, deferred=later)


def becomes_another_tpp(causeway: Causeway) -> None:
    causeway.tpp.client = causeway.hub.openbanking.clients.create(owner="other@example.com", title="Other").client


def is_refused_and_nothing_is_spent(pisp: Pisp, key: str | None = "key", **members: Any) -> None:
    """Check that the used X-Request-Id is refused, and that a new id with the same key and consent is accepted."""
    causeway, calls, recorded = pisp.causeway, pisp.calls, len(pisp.causeway.recorded())
    refused = pisp.pay(key, **members)
    assert error_of(refused)[:2] == USED
    assert "X-Request-Id" in refused.body["title"]
    assert (pisp.calls, len(causeway.recorded())) == (calls, recorded)
    pisp.request_id = None
    assert pisp.pay(key, **members).status == (202 if pisp.headers else 200)


def claims(causeway: Causeway) -> list[dict[str, Any]]:
    return [item for item in items(causeway, "idempotency") if item["claim"].startswith("order#")]


def held(causeway: Causeway) -> list[int]:
    """Return the number of attempts that may have sent the order, for each claimed X-Request-Id."""
    return [item["sendings"] for item in claims(causeway)]


# -- one id, two orders


@VERSIONS
@KINDS
@WAYS
@pytest.mark.parametrize("consent_type", ["reusable", ONE_TIME])
def test_an_order_with_the_request_id_of_another_tpp_is_refused_before_the_bank_call(
    causeway: Causeway, version: int, kind: str, later: bool, consent_type: str
) -> None:
    first = pisp_of(causeway, version, kind, later=not later)
    first.request_id = str(uuid.uuid4())
    assert first.pay().status in (200, 202)

    becomes_another_tpp(causeway)
    second = pisp_of(causeway, version, kind, consent_type, later=later)
    second.request_id = first.request_id

    is_refused_and_nothing_is_spent(second)


@VERSIONS
@KINDS
@WAYS
def test_another_body_with_the_same_request_id_is_refused(
    causeway: Causeway, version: int, kind: str, later: bool
) -> None:
    pisp = pisp_of(causeway, version, kind, later=later)
    pisp.request_id = str(uuid.uuid4())
    assert pisp.pay().status in (200, 202)

    is_refused_and_nothing_is_spent(pisp, callback_url="http://127.0.0.1:8000/payments/callback?shop=2")


@VERSIONS
@WAYS
def test_another_consent_with_the_same_request_id_is_refused(causeway: Causeway, version: int, later: bool) -> None:
    first, second = (pisp_of(causeway, version, consent_type=ONE_TIME, later=later) for _ in range(2))
    first.request_id = second.request_id = str(uuid.uuid4())
    assert first.pay().status in (200, 202)

    is_refused_and_nothing_is_spent(second)


@VERSIONS
def test_another_payment_call_with_the_same_request_id_is_refused(causeway: Causeway, version: int) -> None:
    first, second = Pisp(causeway, version, "direct"), Pisp(causeway, version, "single", ONE_TIME)
    first.request_id = second.request_id = str(uuid.uuid4())
    assert first.pay().status == 200

    is_refused_and_nothing_is_spent(second)


@VERSIONS
@KINDS
@WAYS
def test_the_bank_gets_the_request_id_in_lower_case(causeway: Causeway, version: int, kind: str, later: bool) -> None:
    """A bank that compares the ids as text would otherwise execute the payment twice."""
    pisp, small = pisp_of(causeway, version, kind, later=later), str(uuid.uuid4())

    for pisp.request_id in (small, small.upper(), small.title()):
        answer = pisp.pay()
        assert (answer.status, answer.headers["x-request-id"]) == (202 if later else 200, small)
        if later:
            causeway.hub.delivery.worker.attempt(accepted_id(answer))

    assert {sent.headers["X-Request-Id"] for sent in pisp.bank.received} == {small}
    assert [item["request_id"] for item in stored_payments(causeway)] == [small]


def test_errors_and_logs_show_the_request_id_in_lower_case(causeway: Causeway, lines: Lines) -> None:
    small = str(uuid.uuid4())

    answer = causeway.tpp.call("POST", "/tpp/authorize", {}, headers={"x-request-id": small.upper()})

    assert (answer.body["requestId"], answer.headers["x-request-id"]) == (small, small)
    assert {line["request_id"] for line in lines.all()} == {small}


def test_request_ids_are_compared_case_insensitively(causeway: Causeway) -> None:
    pisp = Pisp.with_request_id(causeway, 1)
    pisp.pay()
    pisp.request_id = str(pisp.request_id).upper()

    is_refused_and_nothing_is_spent(pisp, amount="13")


def test_payment_orders_to_two_banks_may_have_the_same_request_id(causeway: Causeway) -> None:
    first, second = Pisp(causeway, 1, "direct"), Pisp(causeway, 2, "direct")
    first.request_id = second.request_id = str(uuid.uuid4())

    assert [first.pay().status, second.pay().status] == [200, 200]


def test_a_request_id_can_be_reused_after_a_day(causeway: Causeway) -> None:
    pisp = Pisp.with_request_id(causeway, 1, "direct")
    pisp.pay()
    causeway.clock.advance(KEPT - 1)
    assert error_of(pisp.pay(amount="13"))[:2] == USED

    causeway.clock.advance(1)

    pisp.bank_answers(payment_answer(1, "P-2"))
    assert pisp.pay(amount="13").status == 200


@VERSIONS
def test_one_of_two_parallel_orders_with_one_request_id_reaches_the_bank(causeway: Causeway, version: int) -> None:
    first, second = Pisp(causeway, version), Pisp(causeway, version, "direct")
    first.request_id = second.request_id = str(uuid.uuid4())
    inner: list[Answer] = []

    with causeway.meanwhile("transact", lambda: inner.append(second.pay())):
        outer = first.pay()

    assert (inner[0].status, error_of(outer)[:2]) == (200, USED)
    assert first.calls == 1


# -- one id, one order


@VERSIONS
@KINDS
def test_a_retry_of_an_order_is_sent_again_and_recorded_as_one_payment(
    causeway: Causeway, version: int, kind: str
) -> None:
    pisp = Pisp.with_request_id(causeway, version, kind)

    answers = [pisp.pay(key) for key in (None, "key", None)]

    assert {answer.status for answer in answers} == {200}
    assert {answer.body["payment_id"] for answer in answers} == {"P-1"}
    assert (pisp.calls, len(stored_payments(causeway))) == (3, 1)


def test_a_retry_of_a_deferred_order_is_accepted_and_recorded_as_one_payment(causeway: Causeway) -> None:
    pisp = Pisp.with_request_id(causeway, 2, deferred=True)
    ids = [pisp.order(), pisp.order()]
    assert pisp.pay_at_once().status == 200

    for request_id in ids:
        pisp.attempt(request_id)

    assert {pisp.outcome(request_id)["body"]["payment_id"] for request_id in ids} == {"P-1"}
    assert (pisp.calls, len(stored_payments(causeway))) == (3, 1)


def test_an_idempotency_key_returns_the_first_response_with_any_request_id(causeway: Causeway) -> None:
    pisp, other = Pisp.with_request_id(causeway, 1, consent_type=ONE_TIME), Pisp(causeway, 1, "direct")
    other.pay()
    first = pisp.pay("key")

    for request_id in (str(uuid.uuid4()), other.request_id):
        pisp.request_id = request_id
        assert pisp.pay("key").text == first.text
    assert pisp.calls == 2


def test_the_request_id_of_a_payment_order_is_checked_after_all_other_rules(causeway: Causeway) -> None:
    pisp = Pisp.with_request_id(causeway, 1, consent_type=ONE_TIME)
    other = Pisp(causeway, 1, "direct")
    other.request_id = pisp.request_id
    other.pay()

    assert error_of(pisp.pay(amount="-1"))[:2] == (400, "FORMAT_ERROR")
    assert error_of(pisp.pay(sender_iban="DE89370400440532013000"))[:2] == (403, "SERVICE_BLOCKED")
    assert error_of(pisp.pay("k" * 256))[2] == []
    pisp.request_id = None
    pisp.pay()
    pisp.request_id = other.request_id
    assert pisp.pay().status == 401


# -- an id that was made here


@WAYS
@HOW
def test_a_generated_request_id_is_claimed_for_its_order(
    causeway: Causeway, later: bool, key: str | None, consent_type: str
) -> None:
    pisp = pisp_of(causeway, 1, consent_type=consent_type, later=later)
    made = pisp.pay(key).headers["x-request-id"]

    other = Pisp(causeway, 1, "direct")
    other.request_id = made

    is_refused_and_nothing_is_spent(other)


def test_the_same_order_with_its_generated_request_id_is_sent_again(causeway: Causeway) -> None:
    pisp = Pisp(causeway, 2)
    pisp.request_id = pisp.pay().headers["x-request-id"]

    assert pisp.pay().body["payment_id"] == "P-1"
    assert (pisp.calls, len(stored_payments(causeway))) == (2, 1)


@pytest.mark.parametrize("failure", [REFUSAL[1], TimedOut("late")], ids=["refused", "late"])
def test_a_generated_request_id_remains_claimed_when_the_bank_fails(causeway: Causeway, failure: Any) -> None:
    pisp = Pisp(causeway, 1)
    pisp.bank_answers(failure)
    pisp.request_id = pisp.pay().headers["x-request-id"]
    pisp.bank_accepts_all()

    is_refused_and_nothing_is_spent(pisp, amount="13")


# -- an order that was never sent


@VERSIONS
@HOW
def test_a_request_id_is_released_when_the_bank_was_never_reached(
    causeway: Causeway, version: int, key: str | None, consent_type: str
) -> None:
    pisp = Pisp.with_request_id(causeway, version, consent_type=consent_type)
    pisp.bank_answers(DOWN)
    assert "not sent" in pisp.pay(key).body["title"]
    assert held(causeway) == [0]
    becomes_another_tpp(causeway)
    other = Pisp(causeway, version, "direct")
    other.request_id = pisp.request_id

    assert other.pay().status == 200
    assert held(causeway) == [1]


@pytest.mark.parametrize("failure", [REFUSAL[1], TimedOut("late"), {"status": "success"}], ids=str)
@pytest.mark.parametrize("consent_type", ["reusable", ONE_TIME])
def test_a_request_id_is_not_released_when_the_bank_may_have_received_the_order(
    causeway: Causeway, failure: Any, consent_type: str
) -> None:
    pisp, other = Pisp(causeway, 1, consent_type=consent_type), Pisp(causeway, 1, "direct")
    pisp.request_id = other.request_id = str(uuid.uuid4())
    pisp.bank_answers(failure)
    assert pisp.pay().status == 502

    is_refused_and_nothing_is_spent(other)


def test_a_request_id_is_not_released_when_an_earlier_attempt_was_sent(causeway: Causeway) -> None:
    pisp, other = Pisp(causeway, 1), Pisp(causeway, 1, "direct")
    pisp.request_id = other.request_id = str(uuid.uuid4())
    assert pisp.pay().status == 200
    pisp.bank_answers(DOWN)
    assert pisp.pay().status == 502
    assert held(causeway) == [1]

    is_refused_and_nothing_is_spent(other)


def test_a_request_id_is_released_when_the_consent_is_revoked_during_a_failed_connection(causeway: Causeway) -> None:
    pisp = Pisp.with_request_id(causeway, 1, consent_type=ONE_TIME)

    def revoked_on_the_way(sent: object) -> Any:
        causeway.tpp.call("POST", "/tpp/token/revoke", {"token": pisp.bearer})
        return DOWN

    pisp.bank.answers["/payment_initiation"] = revoked_on_the_way

    assert pisp.pay("key").status == 502
    assert held(causeway) == [0]


def never_reached(pisp: Pisp, request_id: str) -> None:
    pisp.bank_answers(DOWN)
    for _ in range(2):
        pisp.attempt(request_id)


def too_late(pisp: Pisp, request_id: str) -> None:
    pisp.causeway.clock.advance(301)
    pisp.attempt(request_id)


def left_alone(pisp: Pisp, request_id: str) -> None:
    def stays_open(breaker: Breaker, key: str) -> None:
        raise CircuitOpen(30)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Breaker, "admit", stays_open)
        while pisp.causeway.delivery(request_id).state == "due":
            pisp.attempt(request_id)


def revoked(pisp: Pisp, request_id: str) -> None:
    pisp.causeway.tpp.call("POST", "/tpp/token/revoke", {"token": pisp.bearer})
    pisp.attempt(request_id)


def switched_off(pisp: Pisp, request_id: str) -> None:
    pisp.causeway.hub.openbanking.clients.deactivate(pisp.causeway.tpp.client_id)
    pisp.attempt(request_id)
    pisp.causeway.hub.openbanking.clients.activate(pisp.causeway.tpp.client_id)


@pytest.mark.parametrize("consent_type", ["reusable", ONE_TIME])
@pytest.mark.parametrize("end", [never_reached, too_late, left_alone, revoked, switched_off])
def test_an_accepted_order_that_was_never_sent_releases_its_request_id(
    causeway: Causeway, end: Callable[[Pisp, str], None], consent_type: str
) -> None:
    pisp = Pisp.with_request_id(causeway, 1, consent_type=consent_type, deferred=True)
    request_id = pisp.order()
    assert held(causeway) == [1]

    end(pisp, request_id)

    assert causeway.delivery(request_id).state == "failed"
    assert held(causeway) == [0]


def test_the_request_id_of_an_accepted_order_is_reserved_between_attempts_and_after_sending(causeway: Causeway) -> None:
    pisp = Pisp.with_request_id(causeway, 1, deferred=True)
    request_id = pisp.order()
    pisp.bank_answers(DOWN)
    pisp.attempt(request_id)
    assert held(causeway) == [1]
    pisp.bank_answers(TimedOut("late"))
    pisp.attempt(request_id)

    assert pisp.failure(request_id) == (502, refusals.PAYMENT_OUTCOME_UNKNOWN.sentence)
    assert held(causeway) == [1]


# -- storage that loses answers


@pytest.mark.parametrize("applied", [True, False])
@HOW
def test_a_payment_order_is_sent_only_after_the_claim_of_its_request_id_is_written(
    causeway: Causeway, key: str | None, consent_type: str, applied: bool
) -> None:
    pisp = Pisp.with_request_id(causeway, 1, consent_type=consent_type)

    with causeway.answer_lost("transact", applied=applied):
        first = pisp.pay(key)

    assert (first.status, pisp.calls) == ((200, 1) if applied else (500, 0))
    assert held(causeway) == ([1] if applied else [])
    assert pisp.pay(key).status == (200 if key or consent_type == "reusable" or not applied else 401)


def test_a_stored_claim_contains_no_data_of_the_order_body(causeway: Causeway) -> None:
    pisp = Pisp.with_request_id(causeway, 1)
    pisp.pay()

    (claim,) = claims(causeway)

    order = {"bic", "request_id", "client_id", "path", "consent_id", "api_version", "order_digest"}
    of_claim = {"claim", "attempt", "sendings", "claimed_until", "expires_at"}
    assert claim.keys() == order | of_claim | {"payment_id", "outcome"}


# -- a payment_id that a bank gives out twice

WHO = pytest.mark.parametrize("who", ["the same consent", "another consent", "no consent", "another client"])


def second_of(causeway: Causeway, who: str, first: Pisp, *, later: bool) -> Pisp:
    if who == "another client":
        becomes_another_tpp(causeway)
    kind, consent_type = ("direct", "reusable") if who == "no consent" else ("single", ONE_TIME)
    second = pisp_of(causeway, first.version, kind, consent_type, later=later)
    if who == "the same consent":
        second.bearer, second.bank = first.bearer, first.bank
    return second


def ended(pisp: Pisp, key: str) -> tuple[int, str]:
    answer = pisp.pay(key)
    if pisp.deferred:
        request_id = answer.body["request_id"]
        pisp.attempt(request_id)
        return pisp.failure(request_id)
    assert pisp.pay(key).text == answer.text
    return answer.status, answer.body["title"]


@VERSIONS
@WHO
@WAYS
def test_a_payment_id_reused_by_the_bank_still_belongs_to_the_first_order(
    causeway: Causeway, version: int, who: str, later: bool
) -> None:
    first = Pisp(causeway, version)
    first.pay()
    first.report(4)
    client, before = causeway.tpp.client, stored_payments(causeway)
    second = second_of(causeway, who, first, later=later)
    second.bank_answers(payment_answer(version, "P-1"))

    assert ended(second, "key") == (502, refusals.PAYMENT_ANSWER_BAD.sentence)

    assert stored_payments(causeway) == before
    assert second.calls == 2
    second.bank.answers["/v2_payment_single_status"] = lambda sent: {"transaction_status": "ACSC"}
    assert second.status().status == (200 if who == "the same consent" else 401)
    if who in ("another consent", "another client"):
        second.headers = {}
        assert second.pay("another key").status == 401, "the one-time consent is spent"
    causeway.tpp.client = client
    assert first.report(2).status == 200, "it is ignored after a final status"
    assert stored_payments(causeway) == before


@VERSIONS
@WAYS
def test_an_unusable_bank_response_does_not_change_the_payment_of_another_order(
    causeway: Causeway, version: int, later: bool
) -> None:
    first, second = Pisp(causeway, version), pisp_of(causeway, version, consent_type=ONE_TIME, later=later)
    first.pay()
    before = stored_payments(causeway)
    second.bank_answers(payment_answer(version) | {"confirmation_url": "javascript:alert(1)"})

    assert ended(second, "key") == (502, refusals.PAYMENT_ANSWER_BAD.sentence)
    assert stored_payments(causeway) == before


def test_a_reused_payment_id_returns_502_as_a_failure_of_the_bank(
    causeway: Causeway, caplog: pytest.LogCaptureFixture
) -> None:
    first, second = Pisp(causeway, 1), Pisp(causeway, 1, "direct")
    first.pay()
    second.bank_answers(payment_answer(1))

    refused = second.pay()

    assert error_of(refused)[:2] == (502, "ASPSP_UNKNOWN_ERROR")
    assert (
        refused.body["additionalErrors"][0]["details"]
        == "the payment_id in the bank's response belongs to another order"
    )
    assert refused.headers["server-timing"].startswith("bank;dur=10.0")
    assert "payment_id reused" in caplog.messages


def test_a_request_id_reused_after_a_day_does_not_return_the_first_payment(causeway: Causeway) -> None:
    pisp = Pisp.with_request_id(causeway, 1, "direct")
    pisp.pay()
    causeway.clock.advance(KEPT)
    pisp.bank_answers(payment_answer(1, "P-1"))

    assert pisp.pay().status == 200, "the same order"
    causeway.clock.advance(KEPT)
    assert pisp.pay(amount="13").status == 502


# -- what was recorded before ids were claimed


def recorded_before(causeway: Causeway, pisp: Pisp) -> None:
    """Change the stored payment to the format of an earlier release."""
    table, key = payment_key(pisp.bank.bic, "P-1")
    assert causeway.hub.store.update(table, key, remove=["order_digest"]).keys() == key.keys() | {
        *("bic", "payment_id", "api_version", "kind", "client_id", "consent_id", "request_id"),
        *("status", "history", "created_at", "revision"),
    }
    (claim,) = claims(causeway)
    causeway.hub.store.delete("idempotency", {"claim": claim["claim"]})


@VERSIONS
def test_a_payment_stored_without_an_order_digest_can_be_retried_and_reported(causeway: Causeway, version: int) -> None:
    pisp = Pisp.with_request_id(causeway, version)
    pisp.pay()
    recorded_before(causeway, pisp)
    item = causeway.hub.store.get(*payment_key(pisp.bank.bic, "P-1"))
    assert item is not None
    assert Payment.from_item(item).order_digest is None

    assert pisp.pay().body["payment_id"] == "P-1"
    assert pisp.report(4).status == 200
    pisp.request_id = None
    pisp.bank_answers(payment_answer(version))
    assert pisp.pay().status == 502
    assert len(stored_payments(causeway)) == 1


def accepted_before(causeway: Causeway, pisp: Pisp) -> str:
    """Store an accepted one-time order in the format of an earlier release, without a claim. Return its request id."""
    token = OpaqueToken.parse(pisp.bearer or "", parts=3)
    assert token is not None
    part = f"access#{token.ids[1]}"
    item, access = causeway.hub.store.batch_get(
        [consent_key(token.ids[0]), ("consents", {"consent_id": token.ids[0], "part": part})]
    )
    assert item is not None
    assert access is not None
    consent = Consent.from_item(item)
    request = order(causeway, pisp.version, "single", payment_scheme="SCT")
    body = {"request": request, "version": pisp.version, "attempt": "A-1", "psu_address": None, "bearer": part}
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
def test_a_deferred_order_stored_without_a_claim_is_sent(causeway: Causeway, version: int) -> None:
    pisp = Pisp(causeway, version, consent_type=ONE_TIME, deferred=True)
    request_id = accepted_before(causeway, pisp)
    pisp.bank_answers(DOWN)
    pisp.attempt(request_id)
    pisp.bank_accepts_all()

    pisp.attempt(request_id)

    assert pisp.outcome(request_id)["state"] == "done"
    assert [item.get("order_digest") for item in stored_payments(causeway)] == [None]
    pisp.bank.answers["/v2_payment_single_status"] = lambda sent: {"transaction_status": "ACSC"}
    assert pisp.status().status == 200


@pytest.mark.parametrize("end", [never_reached, too_late, left_alone])
def test_an_unsent_deferred_order_stored_without_a_claim_fails_as_not_sent(
    causeway: Causeway, end: Callable[[Pisp, str], None]
) -> None:
    pisp = Pisp(causeway, 2, consent_type=ONE_TIME, deferred=True)
    request_id = accepted_before(causeway, pisp)

    end(pisp, request_id)

    assert pisp.failure(request_id) == (502, refusals.PAYMENT_NOT_SENT.sentence)
    assert (pisp.consent_status(), claims(causeway)) == ("authorised", [])
