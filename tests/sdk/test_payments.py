"""SDK payments: all attempts use one Idempotency-Key, and an error reports whether the outcome is known."""

import pickle
from decimal import Decimal
from typing import Any

import httpx
import pytest

from causeway.errors import (
    ApiError,
    AuthorizationEnded,
    BankUnavailable,
    CausewayError,
    ConfigurationError,
    ConnectionLost,
    OutcomeUnknown,
    WaitTimeout,
)
from causeway.tpp import (
    Amount,
    BulkPayment,
    Creditor,
    InstructedAmountV2,
    Payment,
    PaymentAccountV2,
    PaymentStatus,
    SinglePaymentV2,
    Transfer,
    is_paid,
)
from tests.kit.time import limit_under_test
from tests.sdk.scripted_hub import (
    INITIATED,
    NO_RETRIES,
    Clock,
    ScriptedHub,
    answer,
    failure,
    payment_status,
    token_answer,
    tokens,
)

pytestmark = pytest.mark.usefixtures("clock")
LOST: list[Any] = [
    httpx.ReadError("reset"),
    httpx.ReadTimeout("silence"),
    httpx.RemoteProtocolError("the server disconnected"),
    httpx.WriteError("broken pipe"),
]
GATEWAY = [502, 503, 504, 500, 520, 524, 599]
"""The status codes of proxy errors.

Status 524 means that the origin received the request and did not respond in time.
"""


CREDITOR = Creditor(name="Oak Street Books", iban="DE12100999000005820011")
NATIVE_ORDER = SinglePaymentV2(
    creditor_account=PaymentAccountV2(iban="DE12100999000005820011"),
    creditor_name="Oak Street Books",
    instructed_amount=InstructedAmountV2(amount=Decimal("12.50"), currency="EUR"),
    callback_url="https://tpp.example.com/callback",
)


def order(amount: Any = Decimal("12.50")) -> Payment:
    return Payment(
        creditor=CREDITOR, amount=Amount(value=amount, currency="EUR"), callback_url="https://tpp.example.com/callback"
    )


def bank_failed(reason_code: str, **members: Any) -> httpx.Response:
    return failure(502, "ASPSP_UNKNOWN_ERROR", reason_code, reason_code=reason_code, **members)


def keys(hub: ScriptedHub) -> set[str | None]:
    return set(hub.header("Idempotency-Key"))


@pytest.mark.parametrize("lost", [*LOST, *(httpx.Response(status, text="<html>") for status in GATEWAY)], ids=repr)
def test_a_payment_with_a_lost_response_is_retried_with_its_idempotency_key(lost: Any) -> None:
    hub = ScriptedHub(lost, lost, answer(body=INITIATED))

    paid = hub.tpp().consent(tokens()).pay(order())

    assert paid.to_json() == INITIATED
    assert len(keys(hub)) == len(set(hub.header("X-Request-Id"))) == 1
    assert len({request.content for request in hub.requests}) == 1
    assert hub.json()["amount"] == {"value": "12.50", "currency": "EUR"}


def test_each_payment_has_its_own_idempotency_key() -> None:
    hub = ScriptedHub(answer(body=INITIATED), answer(body=INITIATED))
    consent = hub.tpp().consent(tokens())

    consent.pay(order())
    consent.pay(order())

    assert len(keys(hub)) == 2


def test_a_custom_idempotency_key_is_sent() -> None:
    hub = ScriptedHub(httpx.ReadError("reset"), answer(body=INITIATED))

    hub.tpp().consent(tokens()).pay(order(), idempotency_key="order-117")

    assert keys(hub) == {"order-117"}


@pytest.mark.parametrize("lost", LOST, ids=repr)
def test_a_payment_without_any_response_raises_outcome_unknown_with_advice(lost: Any) -> None:
    hub = ScriptedHub(*[lost] * 4)

    with pytest.raises(OutcomeUnknown) as caught:
        hub.tpp().consent(tokens()).pay(order())

    assert keys(hub) == {caught.value.idempotency_key}
    assert set(hub.header("X-Request-Id")) == {caught.value.order_id}
    assert "order_id" in caught.value.advice


def test_a_payment_without_any_connection_raises_connection_lost() -> None:
    hub = ScriptedHub(*(httpx.ConnectError("refused") for _ in range(4)))

    with pytest.raises(ConnectionLost) as caught:
        hub.tpp().consent(tokens()).pay(order())
    assert not isinstance(caught.value, OutcomeUnknown)


def test_a_lost_response_followed_by_failed_connections_raises_outcome_unknown() -> None:
    hub = ScriptedHub(httpx.ReadError("reset"), *(httpx.ConnectError("refused") for _ in range(3)))

    with pytest.raises(OutcomeUnknown):
        hub.tpp().consent(tokens()).pay(order())


@pytest.mark.parametrize("status", [401, 403])
def test_a_rejected_token_after_a_lost_response_raises_outcome_unknown(status: int) -> None:
    refused = [failure(status, "SERVICE_BLOCKED", "no"), *(failure(400, "", error="invalid_grant") for _ in range(1))]
    hub = ScriptedHub(httpx.ReadError("reset"), *refused)

    with pytest.raises(OutcomeUnknown):
        hub.tpp().consent(tokens()).pay(order())


def test_a_rejected_order_after_a_lost_response_raises_api_error() -> None:
    hub = ScriptedHub(httpx.ReadError("reset"), failure(400, "FORMAT_ERROR", "wrong"))

    with pytest.raises(ApiError) as caught:
        hub.tpp().consent(tokens()).pay(order())
    assert not isinstance(caught.value, OutcomeUnknown)


def test_the_sdk_waits_for_the_outcome_of_a_payment_in_progress(clock: Clock) -> None:
    running = [failure(409, "HEADERS_ERROR", "in progress", retry_after=1) for _ in range(25)]
    hub = ScriptedHub(httpx.ReadTimeout("silence"), *running, answer(body=INITIATED))

    hub.tpp().consent(tokens()).pay(order())

    assert len(keys(hub)) == 1
    assert clock.slept[1:] == [1.0] * 25


def test_a_payment_that_remains_in_progress_raises_outcome_unknown() -> None:
    hub = ScriptedHub(*(failure(409, "HEADERS_ERROR", "in progress", retry_after=1) for _ in range(60)))

    with pytest.raises(OutcomeUnknown):
        hub.tpp().consent(tokens()).pay(order())
    assert 40 < len(hub.requests) < 60


@pytest.mark.parametrize(
    ("reason_code", "expected"),
    [
        ("not_sent", BankUnavailable),
        ("refused_by_bank", ApiError),
        ("outcome_unknown", OutcomeUnknown),
        ("bad_answer", OutcomeUnknown),
    ],
)
def test_a_reason_code_of_the_hub_is_final_and_selects_the_error_class(
    reason_code: str, expected: type[CausewayError]
) -> None:
    hub = ScriptedHub(bank_failed(reason_code))

    with pytest.raises(expected) as caught:
        hub.tpp().consent(tokens()).pay(order())

    assert type(caught.value) is expected
    assert len(hub.requests) == 1
    assert isinstance(caught.value, ApiError)
    assert caught.value.reason_code == reason_code
    assert caught.value.advice


def test_a_not_sent_error_after_a_lost_response_raises_bank_unavailable() -> None:
    hub = ScriptedHub(httpx.ReadError("reset"), bank_failed("not_sent"))

    with pytest.raises(BankUnavailable):
        hub.tpp().consent(tokens()).pay(order())


def test_a_consent_that_the_bank_no_longer_accepts_raises_authorization_ended() -> None:
    title = "the bank refused the payment: the bank no longer accepts the PSU's token: the PSU must authorize again"
    hub = ScriptedHub(failure(502, "ASPSP_UNKNOWN_ERROR", title, reason_code="refused_by_bank"))

    with pytest.raises(AuthorizationEnded):
        hub.tpp().consent(tokens()).pay(order())


def test_a_payment_with_an_expired_token_is_retried_with_its_key_after_a_refresh() -> None:
    hub = ScriptedHub(
        failure(401, "AUTHENTICATION_REQUIRED", "the bearer token is not valid"), token_answer(), answer(body=INITIATED)
    )

    hub.tpp().consent(tokens()).pay(order())

    assert hub.paths == ["/tpp/unified/payments", "/tpp/token", "/tpp/unified/payments"]
    assert len({hub.header("Idempotency-Key")[number] for number in (0, 2)}) == 1
    assert hub.header("Idempotency-Key")[1] is None


def test_a_retry_with_an_expired_token_after_a_lost_response_has_the_same_idempotency_key() -> None:
    refused = failure(401, "AUTHENTICATION_REQUIRED", "the bearer token is not valid")
    hub = ScriptedHub(httpx.ReadError("reset"), refused, token_answer(), answer(body=INITIATED))

    hub.tpp().consent(tokens()).pay(order())

    assert len(keys(hub) - {None}) == 1


def test_a_failed_token_refresh_after_a_lost_response_raises_outcome_unknown() -> None:
    refused = failure(401, "AUTHENTICATION_REQUIRED", "the bearer token is not valid")
    hub = ScriptedHub(httpx.ReadError("reset"), refused, *(httpx.ConnectError("refused") for _ in range(6)))

    with pytest.raises(OutcomeUnknown):
        hub.tpp().consent(tokens()).pay(order())


@pytest.mark.parametrize("key", ["", "order-ü", "a\nb"])
def test_a_malformed_idempotency_key_is_rejected(key: str) -> None:
    with pytest.raises(ConfigurationError, match="Idempotency-Key"):
        ScriptedHub().tpp().consent(tokens()).pay(order(), idempotency_key=key)


def test_an_sdk_error_can_be_pickled() -> None:
    hub = ScriptedHub(bank_failed("outcome_unknown"))
    with pytest.raises(OutcomeUnknown) as caught:
        hub.tpp().consent(tokens()).pay(order(), idempotency_key="order-1")

    again = pickle.loads(pickle.dumps(caught.value))  # noqa: S301 - made one line before

    assert (type(again), str(again), vars(again)) == (OutcomeUnknown, str(caught.value), vars(caught.value))


def test_a_malformed_success_response_to_a_payment_raises_outcome_unknown() -> None:
    hub = ScriptedHub(answer(body={"payment_id": "P1"}))

    with pytest.raises(OutcomeUnknown, match="confirmation_url is missing"):
        hub.tpp().consent(tokens()).pay(order())


def test_a_binary_float_is_rejected_before_the_request() -> None:
    hub = ScriptedHub()

    with pytest.raises(ConfigurationError, match="Decimal"):
        hub.tpp().consent(tokens()).pay(order(amount=12.5))


def test_the_sdk_waits_for_the_outcome_of_an_asynchronous_payment() -> None:
    accepted = answer(202, {"request_id": "r1", "state": "queued"}, location="/tpp/requests/r1")
    waiting = answer(body={"state": "running", "status": None, "body": None})
    done = answer(body={"state": "done", "status": 200, "body": INITIATED})
    hub = ScriptedHub(accepted, waiting, httpx.ReadError("reset"), done)

    paid = hub.tpp().consent(tokens()).pay(order(), prefer_async=True)

    assert paid.payment_id == "P1"
    assert hub.requests[0].headers["Prefer"] == "respond-async"
    assert hub.paths[1:] == ["/tpp/requests/r1"] * 3


def test_a_failed_asynchronous_payment_raises_the_error_of_a_synchronous_payment() -> None:
    accepted = answer(202, {"request_id": "r1", "state": "queued"}, location="/tpp/requests/r1")
    body = bank_failed("outcome_unknown").json()
    hub = ScriptedHub(accepted, answer(body={"state": "failed", "status": 502, "body": body}))

    with pytest.raises(OutcomeUnknown) as caught:
        hub.tpp().consent(tokens()).pay(order(), prefer_async=True)
    assert caught.value.request_id == "the-hubs-id"
    assert caught.value.order_id == hub.requests[0].headers["X-Request-Id"]


@pytest.mark.parametrize("failed", [httpx.ReadError("reset"), failure(404, "RESOURCE_UNKNOWN", "no such request")])
def test_an_asynchronous_payment_without_a_readable_outcome_raises_outcome_unknown(failed: Any) -> None:
    accepted = answer(202, {"request_id": "r1", "state": "queued"}, location="/tpp/requests/r1")
    hub = ScriptedHub(accepted, *[failed] * 4)

    with pytest.raises(OutcomeUnknown) as caught:
        hub.tpp().consent(tokens()).pay(order(), prefer_async=True)
    assert caught.value.order_id == hub.requests[0].headers["X-Request-Id"]


def test_an_unfinished_asynchronous_payment_raises_outcome_unknown(clock: Clock) -> None:
    accepted = answer(202, {"request_id": "r1", "state": "queued"}, location="/tpp/requests/r1")
    hub = ScriptedHub(accepted, *(answer(body={"state": "queued", "status": None, "body": None}) for _ in range(300)))
    started = clock.seconds

    with pytest.raises(OutcomeUnknown):
        hub.tpp().consent(tokens()).pay(order(), prefer_async=True)
    assert 300 <= clock.seconds - started < 400


def test_a_direct_payment_names_its_bank_and_authenticates_by_the_client_secret() -> None:
    hub = ScriptedHub(answer(body=INITIATED), payment_status("executed", is_final=True))
    tpp = hub.tpp()

    paid = tpp.pay_direct(order(), bic="DEMODEF1")

    assert is_paid(tpp.wait_for_payment(paid.payment_id, bic="DEMODEF1"))
    assert hub.paths == ["/tpp/unified/direct_payments", "/tpp/unified/payments"]
    assert str(hub.header("Authorization")[0]).startswith("Basic ")
    assert hub.json(0) == {**order().to_json(), "bic": hub.requests[1].url.params["bic"]}


def test_a_bulk_payment_has_one_idempotency_key() -> None:
    transfer = Transfer(creditor=CREDITOR, amount=Amount(value=Decimal("0.10"), currency="EUR"))
    bulk = BulkPayment(payments=[transfer, transfer], callback_url="https://tpp.example.com/callback")
    hub = ScriptedHub(LOST[0], answer(body=INITIATED))

    assert hub.tpp().consent(tokens()).pay_bulk(bulk).payment_id == "P1"
    assert len(keys(hub)) == 1
    assert hub.paths == ["/tpp/unified/bulk_payments"] * 2
    assert [one["amount"]["value"] for one in hub.json()["payments"]] == ["0.10", "0.10"]


def test_a_member_that_the_bank_cannot_carry_is_named_in_the_error() -> None:
    told = [{"code": "FORMAT_ERROR", "title": "creditor.bank", "details": "banks of version 1 take no bank"}]
    hub = ScriptedHub(failure(400, "FORMAT_ERROR", "no", reason_code="not_at_this_bank", additionalErrors=told))

    with pytest.raises(ApiError) as caught:
        hub.tpp().consent(tokens()).pay(order())

    assert type(caught.value) is ApiError
    assert caught.value.reason_code == "not_at_this_bank"
    assert caught.value.additional == tuple(told)
    assert "additional" in caught.value.advice


@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize(
    "refused",
    [
        failure(400, "FORMAT_ERROR", "no", reason_code="not_at_this_bank"),
        failure(401, "API_ACTION_DOES_NOT_EXIST", "no"),
        failure(404, "RESOURCE_UNKNOWN", "no"),
        failure(502, "ASPSP_UNKNOWN_ERROR", "no", reason_code="not_sent"),
        httpx.ReadError("reset"),
    ],
    ids=repr,
)
def test_a_failed_payment_is_never_sent_to_another_path(refused: Any, native: bool) -> None:
    """An Idempotency-Key belongs to its path: the same key on another path is another payment."""
    hub = ScriptedHub(*[refused] * 4)
    consent = hub.tpp().consent(tokens())

    with pytest.raises(ApiError):
        consent.native.pay(NATIVE_ORDER) if native else consent.pay(order())

    assert set(hub.paths) == {"/tpp/payment_initiation" if native else "/tpp/unified/payments"}


def test_waiting_for_a_payment_retries_temporary_failures_and_raises_refusals() -> None:
    final = payment_status("settled", is_final=True)
    failures: list[Any] = [
        failure(500, "INTERNAL_SERVER_ERROR"),
        failure(502, "ASPSP_UNKNOWN_ERROR"),
        httpx.ReadError("reset"),
    ]
    hub = ScriptedHub(*failures, final, failure(404, "RESOURCE_UNKNOWN"))
    consent = hub.tpp(retries=NO_RETRIES).consent(tokens())

    assert is_paid(consent.wait_for_payment("P1"))
    with pytest.raises(ApiError):
        consent.wait_for_payment("P2")


def test_waiting_for_a_payment_ends_with_the_final_status() -> None:
    statuses: list[Any] = [
        payment_status("authorising"),
        *(failure(502, "ASPSP_UNKNOWN_ERROR", "failed", retry_after=20) for _ in range(4)),
        payment_status("executed", is_final=True),
    ]
    hub = ScriptedHub(*statuses)

    status = hub.tpp().consent(tokens()).wait_for_payment("P1")

    assert isinstance(status, PaymentStatus)
    assert is_paid(status)


def test_waiting_for_a_payment_times_out_with_the_last_status(clock: Clock) -> None:
    started = clock.seconds
    hub = ScriptedHub(*(payment_status("pending") for _ in range(50)))

    with pytest.raises(WaitTimeout) as caught:
        hub.tpp().consent(tokens()).wait_for_payment("P1", timeout=limit_under_test(60))

    assert caught.value.last.status == "pending"
    assert clock.seconds - started <= 60


def test_waiting_for_a_payment_unknown_to_the_bank_times_out_with_the_last_error() -> None:
    told = [
        {
            "code": "ASPSP_ERROR_DESC",
            "title": "The bank's own description",
            "details": "RESOURCE_UNKNOWN: no such payment",
        }
    ]
    refused = {"code": "ASPSP_UNKNOWN_ERROR", "title": "the request to the bank failed", "additionalErrors": told}
    hub = ScriptedHub(*(answer(502, body=refused) for _ in range(50)))

    with pytest.raises(WaitTimeout, match="the last answer was: 502 ASPSP_UNKNOWN_ERROR") as caught:
        hub.tpp().consent(tokens()).wait_for_payment("P1", timeout=limit_under_test(20))

    assert caught.value.advice == caught.value.last.advice


@pytest.mark.parametrize("status", GATEWAY)
def test_a_payment_answered_by_a_gateway_error_page_raises_outcome_unknown(status: int) -> None:
    hub = ScriptedHub(*(httpx.Response(status, text="<html>") for _ in range(4)))

    with pytest.raises(OutcomeUnknown):
        hub.tpp().consent(tokens()).pay(order())


def test_an_unknown_reason_code_raises_outcome_unknown() -> None:
    hub = ScriptedHub(bank_failed("queued_at_the_bank"))

    with pytest.raises(OutcomeUnknown) as raised:
        hub.tpp().consent(tokens()).pay(order())
    assert raised.value.reason_code == "queued_at_the_bank"


@pytest.mark.parametrize("status", [302, 404, 405, 413, 407])
def test_a_refusal_by_a_proxy_after_a_lost_response_raises_outcome_unknown(status: int) -> None:
    hub = ScriptedHub(LOST[0], httpx.Response(status, text="<html>", headers={"Location": "https://elsewhere.example"}))

    with pytest.raises(OutcomeUnknown) as raised:
        hub.tpp().consent(tokens()).pay(order())
    assert raised.value.idempotency_key == hub.requests[0].headers["Idempotency-Key"]


def test_a_refusal_by_the_hub_after_a_lost_response_is_final() -> None:
    """The hub looks up the outcome for the Idempotency-Key before the hub reads the body."""
    hub = ScriptedHub(LOST[0], failure(400, "FORMAT_ERROR", "amount"))

    with pytest.raises(ApiError) as raised:
        hub.tpp().consent(tokens()).pay(order())
    assert type(raised.value) is ApiError


def test_the_sdk_stops_waiting_for_a_payment_when_its_idempotency_key_expires(clock: Clock) -> None:
    hub = ScriptedHub(failure(409, "HEADERS_ERROR", "still running", retry_after=3600))

    with pytest.raises(OutcomeUnknown):
        hub.tpp().consent(tokens()).pay(order())
    assert clock.slept == []
