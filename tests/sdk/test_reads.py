"""SDK reads have one shape at every bank, and are retried after temporary failures."""

import asyncio
import datetime
import json
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
from causeway.tpp import Account, Amount, Balances, FundsAccount, Psu, Retries
from tests.sdk.scripted_hub import (
    ACCOUNT,
    RETRIEVED,
    START,
    Clock,
    ScriptedHub,
    accounts,
    answer,
    failure,
    token_answer,
    tokens,
)

pytestmark = pytest.mark.usefixtures("clock")
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
    hub = ScriptedHub(step, step, accounts(ACCOUNT))

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
    hub = ScriptedHub(accounts())

    list(hub.tpp(**options).consent(tokens()).accounts())

    assert hub.requests[0].extensions["timeout"] == {
        "connect": 5.0,
        "read": expected,
        "write": expected,
        "pool": expected,
    }


def test_retry_after_sets_the_wait_before_a_retry(clock: Clock) -> None:
    hub = ScriptedHub(httpx.Response(503, headers={"Retry-After": "12"}), accounts())

    list(hub.tpp().consent(tokens()).accounts())

    assert clock.slept == [12.0]


def test_the_retry_after_header_may_be_a_date(clock: Clock) -> None:
    moment = format_datetime(utc(START + 7), usegmt=True)
    hub = ScriptedHub(httpx.Response(429, headers={"Retry-After": moment}), accounts())

    list(hub.tpp().consent(tokens()).accounts())

    assert clock.slept == [7.0]


@pytest.mark.parametrize("header", ["soon", b"\xb2", "1.5", "-5", "Wed, 21 Oct 99999 07:28:00 GMT"])
def test_an_invalid_retry_after_is_ignored(header: str | bytes, clock: Clock) -> None:
    value = header if isinstance(header, bytes) else header.encode()
    hub = ScriptedHub(httpx.Response(503, headers=[(b"Retry-After", value)]), accounts())

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


def test_an_account_has_the_same_members_at_every_bank_and_preserves_unknown_members() -> None:
    hub = ScriptedHub(accounts({**ACCOUNT, "a_new_member": [1, 2]}))

    (account,) = hub.tpp().consent(tokens()).accounts()

    assert account.to_json() == {**ACCOUNT, "a_new_member": [1, 2]}
    assert account.extra == {"a_new_member": [1, 2]}
    assert hub.requests[0].url.params.get("native") is None


@pytest.mark.parametrize("by_id", [True, False])
def test_an_account_is_named_by_its_object_or_its_id(by_id: bool) -> None:
    account_id = "a/b?c=%20#1 €"
    hub = ScriptedHub(
        accounts({**ACCOUNT, "account_id": account_id}),
        answer(body={**RETRIEVED, "account": ACCOUNT}),
        answer(body={**RETRIEVED, "account_id": account_id, "problems": [], "balances": []}),
        transactions(),
    )
    consent = hub.tpp().consent(tokens())
    (listed,) = consent.accounts()
    account = account_id if by_id else listed

    assert consent.account(account).account.currency == "EUR"
    assert consent.balances(account).balances == ()
    assert list(consent.transactions(account)) == []
    assert hub.paths[1:] == [f"/tpp/unified/{name}" for name in ("account", "balances", "transactions")]
    assert {request.url.params["account_id"] for request in hub.requests[1:]} == {account_id}


def test_amounts_preserve_every_digit() -> None:
    balance = {
        "type": "booked",
        "native_type": None,
        "amount": {"value": "-1250.7500000000000000001", "currency": "EUR"},
        "as_of": None,
        "credit_limit_included": None,
    }
    hub = ScriptedHub(answer(body={**RETRIEVED, "account_id": "1", "problems": [], "balances": [balance]}))

    (found,) = hub.tpp().consent(tokens()).balances("1").balances

    assert found.amount.value == Decimal("-1250.7500000000000000001")
    assert found.to_json()["amount"]["value"] == "-1250.7500000000000000001"


def transaction(number: int) -> dict[str, Any]:
    return {
        "stable_key": f"{number:032}.1",
        "transaction_id": str(number),
        "status": "booked",
        "direction": "debit",
        "amount": {"value": "1.00", "currency": "EUR"},
        "date": "2026-11-20",
        "booking_date": None,
        "value_date": None,
        "counterparty": dict.fromkeys(("name", "iban", "bban", "sort_code", "account_number", "bic")),
        "remittance": dict.fromkeys(("unstructured", "reference", "reference_type")),
    }


def transactions(*numbers: int, cursor: str | None = None, problems: Any = ()) -> httpx.Response:
    """Return a response with a page of transactions."""
    listed = [transaction(number) for number in numbers]
    page = {"account_id": "1", "next_cursor": cursor, "problems": [*problems], "transactions": listed}
    return answer(body={**RETRIEVED, **page})


def test_transactions_are_read_until_the_next_cursor_is_missing() -> None:
    hub = ScriptedHub(transactions(1, cursor="k/2+"), transactions(cursor="k3"), transactions(2))

    found = list(
        hub.tpp()
        .consent(tokens())
        .transactions("1", since=datetime.date(2026, 11, 1), until="2026-11-30", status="booked", limit=1)
    )

    assert [(one.transaction_id, one.date) for one in found] == [
        ("1", datetime.date(2026, 11, 20)),
        ("2", datetime.date(2026, 11, 20)),
    ]
    assert [request.url.params.get("cursor") for request in hub.requests] == [None, "k/2+", "k3"]
    asked = {"account_id": "1", "from": "2026-11-01", "to": "2026-11-30", "status": "booked", "limit": "1"}
    assert [dict(request.url.params.remove("cursor")) for request in hub.requests] == [asked] * 3


def test_pages_continue_with_their_cursor_after_a_refresh_of_the_tokens() -> None:
    refused = failure(401, "AUTHENTICATION_REQUIRED", "the bearer token is not valid")
    hub = ScriptedHub(transactions(1, cursor="k2"), refused, token_answer(), transactions(2))

    pages = list(hub.tpp().consent(tokens()).transactions_pages("1"))

    assert [page.transactions[0].transaction_id for page in pages] == ["1", "2"]
    assert [hub.requests[number].url.params.get("cursor") for number in (0, 1, 3)] == [None, "k2", "k2"]
    assert hub.header("Authorization")[3] == "Bearer access-2"


def test_a_failed_page_request_is_retried_without_losing_or_duplicating_items() -> None:
    hub = ScriptedHub(transactions(1, cursor="k2"), httpx.ReadError("reset"), transactions(2))

    found = list(hub.tpp().consent(tokens()).transactions("1"))

    assert [one.transaction_id for one in found] == ["1", "2"]


@pytest.mark.parametrize("reason", ["page_repeated", "pages_empty", "pages_too_many", "page_key_too_long"])
def test_pages_that_do_not_end_raise_an_error_with_their_reason_code(reason: str) -> None:
    hub = ScriptedHub(transactions(1, cursor="k2"), failure(502, "ASPSP_UNKNOWN_ERROR", "pages", reason_code=reason))
    found = hub.tpp().consent(tokens()).transactions("1")

    assert next(found).transaction_id == "1"
    with pytest.raises(BankUnavailable) as raised:
        next(found)

    assert raised.value.reason_code == reason
    assert "since" in raised.value.advice


def test_entries_that_the_hub_left_out_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    problem = {"position": "booked[3]", "member": "transaction_amount.amount", "reason": "must be a number"}
    hub = ScriptedHub(transactions(1, problems=[problem]), accounts(ACCOUNT, problems=[problem]))
    consent = hub.tpp().consent(tokens())

    assert len([*consent.transactions("1"), *consent.accounts()]) == 2
    assert caplog.text.count("booked[3]: transaction_amount.amount must be a number") == 2


def balances(*types: str) -> Balances:
    """Read the balances of an account, which are numbered in order."""
    listed = [
        {
            "type": each,
            "native_type": None,
            "amount": {"value": str(number), "currency": "EUR"},
            "as_of": None,
            "credit_limit_included": None,
        }
        for number, each in enumerate(types)
    ]
    hub = ScriptedHub(answer(body={**RETRIEVED, "account_id": "1", "problems": [], "balances": listed}))
    return hub.tpp().consent(tokens()).balances("1")


def test_balances_are_picked_by_their_type() -> None:
    found = balances("available", "booked", "opening_booked", "booked")

    assert found.booked is found.balances[1]
    assert found.available is found.balances[0]
    assert found.by_type("opening_booked") is found.balances[2]
    assert Balances.from_json(found.to_json()) == found


def test_a_balance_of_a_type_that_the_bank_does_not_send_is_none() -> None:
    found = balances("other")

    assert (found.booked, found.available, found.by_type("non_invoiced")) == (None, None, None)
    assert found.by_type("other") is found.balances[0]


def test_native_entries_are_returned_if_requested() -> None:
    native = {"resource_id": "4711001", "x": Decimal("1.50")}
    body = json.dumps({**RETRIEVED, "problems": [], "accounts": [{**ACCOUNT, "native": {**native, "x": 0}}]})
    hub = ScriptedHub(httpx.Response(200, text=body.replace('"x": 0', '"x": 1.50')))

    (account,) = hub.tpp().consent(tokens()).accounts(native=True)

    assert account.native == native
    assert hub.requests[0].url.params["native"] == "1"


@pytest.mark.parametrize(
    ("account", "sent"),
    [
        ("4711001", {"account_id": "4711001"}),
        (FundsAccount(iban="DE61100999000004711001"), {"iban": "DE61100999000004711001"}),
        (Account.from_json(ACCOUNT), {"account_id": "4711001", "iban": "DE61100999000004711001"}),
    ],
)
def test_funds_are_confirmed_for_an_account_or_its_identifiers(account: Any, sent: dict[str, str]) -> None:
    hub = ScriptedHub(answer(body={**RETRIEVED, "funds_available": True}))

    found = hub.tpp().consent(tokens()).confirm_funds(account, Amount(value=Decimal("25.00"), currency="EUR"))

    assert found.funds_available
    assert hub.json() == {"account": sent, "amount": {"value": "25.00", "currency": "EUR"}}


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed_even_if_the_http_client_follows_redirects(status: int) -> None:
    elsewhere = httpx.Response(status, headers={"Location": "https://elsewhere.example/tpp/unified/accounts"})
    hub = ScriptedHub(elsewhere, elsewhere)
    client = httpx.Client(transport=httpx.MockTransport(hub), follow_redirects=True)
    tpp = hub.tpp(http_client=client)

    with pytest.raises(UnexpectedAnswer) as raised:
        list(tpp.consent(tokens()).accounts())
    with pytest.raises(UnexpectedAnswer):
        tpp.consent(tokens()).refresh()
    assert raised.value.status == status
    assert {request.url.host for request in hub.requests} == {"hub.example"}


def test_psu_data_are_sent_as_headers() -> None:
    hub = ScriptedHub(accounts())

    list(hub.tpp().consent(tokens()).accounts(psu=Psu(ip_address="203.0.113.7", user_agent="Firefox")))

    assert hub.header("PSU-IP-Address") == ["203.0.113.7"]
    assert hub.header("PSU-User-Agent") == ["Firefox"]
    assert hub.header("PSU-IP-Port") == [None]


def test_the_sdk_waits_for_the_outcome_of_an_asynchronous_read() -> None:
    hub = ScriptedHub(
        answer(202, {"request_id": "r1", "state": "queued"}, location="/tpp/requests/r1"),
        answer(body={"state": "queued", "status": None, "body": None}),
        answer(body={"state": "done", "status": 200, "body": {**RETRIEVED, "problems": [], "accounts": [ACCOUNT]}}),
    )

    assert len(list(hub.tpp().consent(tokens()).accounts(prefer_async=True))) == 1


def test_the_asynchronous_client_reads_and_retries() -> None:
    hub = ScriptedHub(httpx.ReadError("reset"), accounts(ACCOUNT))

    async def run() -> list[Account]:
        async with hub.async_tpp() as tpp:
            return [account async for account in tpp.consent(tokens()).accounts()]

    (account,) = asyncio.run(run())
    assert account.name == "Girokonto"


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
