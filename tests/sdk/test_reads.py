"""SDK reads are retried after temporary failures, and return the classes of the bank's version."""

import asyncio
import datetime
from decimal import Decimal
from email.utils import format_datetime
from typing import Any

import httpx
import pytest

from causeway._retries import utc
from causeway.errors import (
    ApiError,
    AuthorizationEnded,
    BankUnavailable,
    CausewayError,
    ConnectionLost,
    RateLimited,
    UnexpectedAnswer,
)
from causeway.tpp import AccountReferenceV2, AccountV1, BalancesAnswerV1, BalancesAnswerV2, Psu, Retries
from tests.sdk.scripted_hub import START, Clock, ScriptedHub, answer, failure, tokens

pytestmark = pytest.mark.usefixtures("clock")
ACCOUNT_V1 = {"id": 1031926801, "name": "Everyday", "iban": "GB10DEMO04000431926801", "currency": "GBP"}
ACCOUNT_V2 = {"resource_id": "65e1d84d", "currency": "EUR", "a_new_member": [1, 2]}
TEMPORARY: list[Any] = [
    httpx.ConnectError("refused"),
    httpx.ReadError("reset"),
    httpx.ReadTimeout("silence"),
    httpx.Response(200, text="{"),
    failure(500, "INTERNAL_SERVER_ERROR", "the storage did not respond: repeat the same request", retry_after=1),
    failure(502, "ASPSP_UNKNOWN_ERROR", "the request to the bank failed"),
    httpx.Response(503, text="no backend"),
    httpx.Response(504),
    httpx.Response(429, headers={"Retry-After": "2"}),
]


@pytest.mark.parametrize("step", TEMPORARY, ids=repr)
def test_a_read_is_retried_after_a_temporary_failure(step: Any) -> None:
    hub = ScriptedHub(step, step, answer(body={"accounts": [ACCOUNT_V2]}))

    assert len(list(hub.tpp().consent(tokens()).accounts(psu=Psu(ip_address="203.0.113.7")))) == 1


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (httpx.ConnectError("refused"), ConnectionLost),
        (httpx.ReadTimeout("silence"), ConnectionLost),
        (httpx.Response(200, text="<html>"), ConnectionLost),
        (httpx.Response(503), BankUnavailable),
        (failure(502, "ASPSP_UNKNOWN_ERROR", "the request to the bank failed"), BankUnavailable),
        (httpx.Response(429), RateLimited),
        (failure(500, "INTERNAL_SERVER_ERROR", "the service failed"), ApiError),
    ],
)
def test_a_permanent_failure_raises_its_own_error_class(step: Any, expected: type[CausewayError]) -> None:
    hub = ScriptedHub(*[step] * 4)

    with pytest.raises(expected) as caught:
        list(hub.tpp().consent(tokens()).accounts(psu=Psu(ip_address="203.0.113.7")))
    assert type(caught.value) is expected
    assert caught.value.advice


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (failure(400, "FORMAT_ERROR", "iban is wrong"), ApiError),
        (failure(403, "SERVICE_BLOCKED", "the consent does not include the scope accounts.balances"), ApiError),
        (failure(404, "RESOURCE_UNKNOWN", "no"), ApiError),
        (failure(401, "API_ACTION_DOES_NOT_EXIST", "banks of version 1 do not support this call"), ApiError),
        (failure(401, "WRONG_CREDENTIALS", "no active client has this Client ID"), ApiError),
        (failure(502, "ASPSP_UNKNOWN_ERROR", "…: the PSU must authorize again"), AuthorizationEnded),
        (failure(429, "ACCESS_EXCEEDED", "the bank's limit", retry_after=40000), RateLimited),
        (httpx.Response(302, headers={"Location": "https://elsewhere.example/"}), UnexpectedAnswer),
        (answer(body={"accounts": "none"}), UnexpectedAnswer),
        (answer(body={}), UnexpectedAnswer),
    ],
)
def test_a_refused_read_is_not_retried(step: Any, expected: type[CausewayError]) -> None:
    hub = ScriptedHub(step)

    with pytest.raises(expected) as caught:
        list(hub.tpp().consent(tokens()).accounts())
    assert type(caught.value) is expected
    assert caught.value.advice


def test_an_error_contains_all_details_and_no_secret() -> None:
    details = [{"code": "ASPSP_ERROR_DESC", "title": "The bank's own description", "details": "4305: iban"}]
    hub = ScriptedHub(failure(400, "FORMAT_ERROR", "iban is wrong", retry_after=7, additionalErrors=details))

    with pytest.raises(ApiError) as caught:
        list(hub.tpp().consent(tokens()).accounts())

    error = caught.value
    assert (error.status, error.code, error.title) == (400, "FORMAT_ERROR", "iban is wrong")
    assert error.request_id == "the-hubs-id"
    assert error.retry_after == 7
    assert error.additional == tuple(details)
    assert "the-hubs-id" in str(error)
    for secret in ("access-1", "refresh-1", "secret-1"):
        assert secret not in f"{error!r} {error} {vars(error)}"


@pytest.mark.parametrize(("psu", "times"), [(None, 2), (Psu(ip_address="203.0.113.7"), 4)])
def test_a_read_without_a_present_psu_is_retried_once_after_a_failure_of_the_bank(psu: Psu | None, times: int) -> None:
    hub = ScriptedHub(*(failure(502, "ASPSP_UNKNOWN_ERROR", "the request to the bank failed") for _ in range(times)))

    with pytest.raises(BankUnavailable):
        list(hub.tpp().consent(tokens()).accounts(psu=psu))
    assert len(hub.requests) == times


@pytest.mark.parametrize(("options", "expected"), [({}, 30.0), ({"timeout": 60.0}, 60.0)])
def test_the_read_timeout_is_configurable_and_the_connect_timeout_is_5_seconds(options: Any, expected: float) -> None:
    hub = ScriptedHub(answer(body={"accounts": []}))

    list(hub.tpp(**options).consent(tokens()).accounts())

    assert hub.requests[0].extensions["timeout"] == {
        "connect": 5.0,
        "read": expected,
        "write": expected,
        "pool": expected,
    }


def test_the_retry_after_header_determines_the_wait_before_a_retry(clock: Clock) -> None:
    hub = ScriptedHub(httpx.Response(503, headers={"Retry-After": "12"}), answer(body={"accounts": []}))

    list(hub.tpp().consent(tokens()).accounts())

    assert clock.slept == [12.0]


def test_the_retry_after_header_may_be_a_date(clock: Clock) -> None:
    moment = format_datetime(utc(START + 7), usegmt=True)
    hub = ScriptedHub(httpx.Response(429, headers={"Retry-After": moment}), answer(body={"accounts": []}))

    list(hub.tpp().consent(tokens()).accounts())

    assert clock.slept == [7.0]


@pytest.mark.parametrize("header", ["soon", b"\xb2", "1.5", "-5", "Wed, 21 Oct 99999 07:28:00 GMT"])
def test_an_invalid_retry_after_is_ignored(header: str | bytes, clock: Clock) -> None:
    value = header if isinstance(header, bytes) else header.encode()
    hub = ScriptedHub(httpx.Response(503, headers=[(b"Retry-After", value)]), answer(body={"accounts": []}))

    list(hub.tpp().consent(tokens()).accounts())

    assert clock.slept == [pytest.approx(0.5, rel=0.2)]


def test_the_wait_that_a_retry_after_header_requests_is_limited_to_366_days() -> None:
    hub = ScriptedHub(httpx.Response(503, headers={"Retry-After": "9" * 400}))

    with pytest.raises(BankUnavailable) as raised:
        list(hub.tpp().consent(tokens()).accounts())
    assert raised.value.retry_after == 366 * 86400


def test_an_empty_retry_plan_causes_no_retries() -> None:
    hub = ScriptedHub(httpx.ReadError("reset"))

    with pytest.raises(ConnectionLost):
        list(hub.tpp(retries=Retries(waits=())).consent(tokens()).accounts())


def test_accounts_have_the_class_of_the_bank_version_and_preserve_unknown_members() -> None:
    hub = ScriptedHub(answer(body={"accounts": [ACCOUNT_V1]}), answer(body={"accounts": [ACCOUNT_V2]}))
    tpp = hub.tpp()

    (first,) = tpp.consent(tokens(version=1)).accounts()
    (second,) = tpp.consent(tokens(version=2)).accounts()

    assert isinstance(first, AccountV1)
    assert first.id == "1031926801"
    assert isinstance(second, AccountReferenceV2)
    assert second.extra == {"a_new_member": [1, 2]}
    assert second.to_json() == ACCOUNT_V2


def test_amounts_preserve_every_digit() -> None:
    body_v1 = '{"accounts": [{"id": "1", "name": "n", "balance": 1250.7500000000000000001, "currency": "GBP"}]}'
    body_v2 = '{"balances": [{"balance_amount": {"amount": "0.10", "currency": "EUR"}, "balance_type": "t"}]}'
    hub = ScriptedHub(httpx.Response(200, text=body_v1), httpx.Response(200, text=body_v2))
    tpp = hub.tpp()

    first = tpp.consent(tokens(version=1)).balances("1")
    second = tpp.consent(tokens(version=2)).balances("1")

    assert isinstance(first, BalancesAnswerV1)
    assert first.accounts[0].balance == Decimal("1250.7500000000000000001")
    assert isinstance(second, BalancesAnswerV2)
    assert str(second.balances[0].balance_amount.amount) == "0.10"


def payment(number: int) -> dict[str, Any]:
    return {"id": str(number), "reference": "r", "date_created": "2026-11-20", "amount": "1", "description": "d"}


def test_version_1_payments_are_read_until_a_page_is_shorter_than_its_limit() -> None:
    pages = [
        answer(body={"payments": [payment(1), payment(2)], "paginator": {"limit": "2", "current_page": 1}}),
        answer(body={"payments": [payment(3)], "paginator": {"limit": 2, "current_page": 2}}),
    ]
    hub = ScriptedHub(*pages)

    found = list(hub.tpp().consent(tokens(version=1)).payments("1", page_size=50))

    assert [one.id for one in found] == ["1", "2", "3"]
    assert [request.url.params["current_page"] for request in hub.requests] == ["1", "2"]
    assert hub.requests[0].url.params["record_count"] == "50"


def transaction(number: int) -> dict[str, Any]:
    return {"transaction_id": str(number), "transaction_amount": {"amount": "-1.00", "currency": "EUR"}}


def test_version_2_transactions_are_read_until_the_page_key_is_missing() -> None:
    pages = [
        answer(body={"transactions": {"booked": [transaction(1)]}, "page_key": "k/2"}),
        answer(body={"transactions": {"booked": []}, "page_key": "k3"}),
        answer(body={"transactions": {"booked": [transaction(2)]}, "page_key": None}),
    ]
    hub = ScriptedHub(*pages)
    consent = hub.tpp().consent(tokens())

    found = list(consent.transactions("a", date_from=datetime.date(2026, 11, 1), date_to="2026-11-30"))

    assert [one.transaction_id for one in found] == ["1", "2"]
    assert [request.url.params.get("page_key") for request in hub.requests] == [None, "k/2", "k3"]
    assert hub.requests[2].url.params["date_from"] == "2026-11-01"
    assert hub.requests[0].url.params["booking_status"] == "booked"


@pytest.mark.parametrize("keys", ["22", "232", "2342"])
def test_a_cycle_of_page_keys_raises_the_unexpected_answer_error(keys: str) -> None:
    hub = ScriptedHub(*(answer(body={"transactions": {"booked": []}, "page_key": key}) for key in keys))

    with pytest.raises(UnexpectedAnswer, match="page 2"):
        list(hub.tpp().consent(tokens()).transactions("a"))


def test_a_duplicate_page_raises_the_unexpected_answer_error() -> None:
    page = {"payments": [payment(1)], "paginator": {"limit": 1, "current_page": 1}}
    hub = ScriptedHub(answer(body=page), answer(body=page))

    with pytest.raises(UnexpectedAnswer, match="page 1 again"):
        list(hub.tpp().consent(tokens(version=1)).payments("1"))


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed_even_if_the_http_client_follows_redirects(status: int) -> None:
    elsewhere = httpx.Response(status, headers={"Location": "https://elsewhere.example/tpp/accounts"})
    hub = ScriptedHub(elsewhere, elsewhere)
    client = httpx.Client(transport=httpx.MockTransport(hub), follow_redirects=True)
    tpp = hub.tpp(http_client=client)

    with pytest.raises(UnexpectedAnswer) as raised:
        list(tpp.consent(tokens()).accounts())
    with pytest.raises(UnexpectedAnswer):
        tpp.consent(tokens()).refresh()
    assert raised.value.status == status
    assert {request.url.host for request in hub.requests} == {"hub.example"}


def test_a_failed_page_request_is_retried_without_losing_or_duplicating_items() -> None:
    hub = ScriptedHub(
        answer(body={"transactions": {"pending": [transaction(1)]}, "page_key": "2"}),
        httpx.ReadError("reset"),
        answer(body={"transactions": {"pending": [transaction(2)]}}),
    )

    found = list(hub.tpp().consent(tokens()).transactions("a", booking_status="pending"))

    assert [one.transaction_id for one in found] == ["1", "2"]


def test_psu_data_are_sent_as_headers() -> None:
    hub = ScriptedHub(answer(body={"accounts": []}))

    list(hub.tpp().consent(tokens()).accounts(psu=Psu(ip_address="203.0.113.7", user_agent="Firefox")))

    assert hub.header("PSU-IP-Address") == ["203.0.113.7"]
    assert hub.header("PSU-User-Agent") == ["Firefox"]
    assert hub.header("PSU-IP-Port") == [None]


def test_the_sdk_waits_for_the_outcome_of_an_asynchronous_read() -> None:
    hub = ScriptedHub(
        answer(202, {"request_id": "r1", "state": "queued"}, location="/tpp/requests/r1"),
        answer(body={"state": "queued", "status": None, "body": None}),
        answer(body={"state": "done", "status": 200, "body": {"accounts": [ACCOUNT_V2]}}),
    )

    assert len(list(hub.tpp().consent(tokens()).accounts(prefer_async=True))) == 1


def test_the_asynchronous_client_reads_and_retries() -> None:
    hub = ScriptedHub(httpx.ReadError("reset"), answer(body={"accounts": [ACCOUNT_V2]}))

    async def run() -> list[AccountV1 | AccountReferenceV2]:
        async with hub.async_tpp() as tpp:
            return [account async for account in tpp.consent(tokens()).accounts()]

    (account,) = asyncio.run(run())
    assert isinstance(account, AccountReferenceV2)


def test_all_banks_are_listed_page_by_page() -> None:
    bank = {
        "bic": "DEMODEF1",
        "name": "Demo",
        "country": "DE",
        "api_version": 2,
        "scopes": ["accounts"],
        "payment_schemes": ["SCT"],
        "history_days": None,
        "unsigned_amounts": False,
        "balance_type": "booked",
        "credit_limit_included": None,
        "no_date_to": False,
        "reachable": True,
        "average_ms": None,
        "logo_url": None,
    }
    hub = ScriptedHub(
        answer(body={"banks": [bank, bank], "page": 1, "limit": 2, "total": 3}),
        answer(body={"banks": [bank], "page": 2, "limit": 2, "total": 3}),
    )

    found = list(hub.tpp().banks(country="DE"))

    assert len(found) == 3
    assert found[0].to_json() == bank
    assert [request.url.params["country"] for request in hub.requests] == ["DE", "DE"]
