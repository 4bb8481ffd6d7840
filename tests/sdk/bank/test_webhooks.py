"""Webhooks of the hub are processed in the format of the version and within the limits of the consent."""

import base64
import json
import uuid
from typing import Any

import httpx
import pytest

from causeway.bank import (
    AccountReferenceV2,
    Call,
    ListedPaymentV1,
    OutOfService,
    PaginatorV1,
    PaymentsAnswerV1,
    Refused,
    TooManyRequests,
    TransactionsAnswerV2,
    TransactionsV2,
    refusals,
)
from tests.sdk.bank.full_bank import API_KEY, DAYS, IBANS, listed, transaction
from tests.sdk.bank.harness import OTHER_KEY, BankHarness, code_of
from tests.sdk.scripted_hub import Clock


def without(name: str) -> Any:
    return lambda headers: headers.pop(name)


def wrong(name: str, value: str) -> Any:
    return lambda headers: headers.update({name: value})


@pytest.mark.parametrize(
    ("options", "codes"),
    [
        ({"change": without("X-Api-Key")}, (4200, "WRONG_CREDENTIALS")),
        ({"change": wrong("X-Api-Key", API_KEY[:-1])}, (4200, "WRONG_CREDENTIALS")),
        ({"change": without("X-Request-Id")}, (4204, "REQUEST_ID_NOT_UUID")),
        ({"change": wrong("X-Request-Id", "7")}, (4204, "REQUEST_ID_NOT_UUID")),
        ({"change": without("X-Signature")}, (4200, "HEADERS_ERROR")),
        ({"key": OTHER_KEY}, (4200, "HEADERS_ERROR")),
        ({"body": b"{not JSON"}, (4003, "FORMAT_ERROR")),
        ({"body": b"[" * 100_000}, (4003, "FORMAT_ERROR")),
        ({"body": []}, (4001, "FORMAT_ERROR")),
        ({}, (4202, "AUTHENTICATION_REQUIRED")),
        ({"token": "consent1.other"}, (4202, "AUTHENTICATION_REQUIRED")),
    ],
)
def test_a_rejected_webhook_gets_an_error_in_the_format_of_the_version(
    harness: BankHarness, options: dict[str, Any], codes: tuple[int, str]
) -> None:
    harness.consent()
    if options.get("body") == []:
        options = {**options, "body": b"[]"}

    answer = harness.webhook("accounts", **options)

    assert (answer.status_code // 100, code_of(answer)) == (4, codes[harness.version - 1])
    body = answer.json()
    if harness.version == 1:
        assert set(body) == {"status", "error_code", "message"}
        assert body["status"] == "error"
    else:
        assert set(body) - {"requestId"} == {"code", "title", "timestamp"}
        assert len(body["timestamp"]) <= 25


def test_a_success_response_has_the_format_of_the_version(harness: BankHarness) -> None:
    answer = harness.webhook("accounts", token=harness.consent())

    assert answer.headers["content-type"] == "application/json"
    assert answer.json().get("status") == {1: "success", 2: None}[harness.version]


def test_an_unapproved_scope_is_rejected(harness: BankHarness) -> None:
    harness.hub.scopes = harness.hub.scopes[:1]

    answer = harness.webhook("balances", {"account_id": "1001"}, token=harness.consent())

    assert (answer.status_code, code_of(answer)) == (403, {1: 4004, 2: "SERVICE_BLOCKED"}[harness.version])


def test_an_unapproved_account_returns_404(harness: BankHarness) -> None:
    token = harness.consent(accounts=("1002",))

    assert harness.webhook("account", {"account_id": "1002"}, token=token).status_code == 200
    for account_id in ("1001", "1003"):
        assert harness.webhook("account", {"account_id": account_id}, token=token).status_code == 404


def test_an_unsupported_call_returns_404_to_the_hub_and_401_to_other_callers(harness: BankHarness) -> None:
    assert harness.webhook("/other").status_code == 404
    assert harness.webhook("/other", key=OTHER_KEY).status_code == 401
    harness.bank._functions.balances = None
    assert harness.webhook("balances", {"account_id": "1001"}, token=harness.consent()).status_code == 404
    assert harness.open("/other").status_code == 404


def test_a_failing_bank_function_returns_500_without_details(
    harness: BankHarness, caplog: pytest.LogCaptureFixture
) -> None:
    token = harness.consent()

    @harness.bank.accounts
    def accounts(call: Call) -> list[AccountReferenceV2]:
        raise OSError("the password of the database is 1234")

    answer = harness.webhook("accounts", token=token)

    assert answer.status_code == 500
    assert "1234" not in answer.text
    assert "the password" in caplog.text


@pytest.mark.parametrize("refusal", [OutOfService(retry_after=30), TooManyRequests(retry_after=30)])
def test_an_overloaded_bank_returns_retry_after(harness: BankHarness, refusal: Refused) -> None:
    token = harness.consent()

    @harness.bank.accounts
    async def accounts(call: Call) -> list[AccountReferenceV2]:
        raise refusal

    answer = harness.webhook("accounts", token=token)

    assert (answer.status_code, answer.headers["retry-after"]) == (refusal.status, "30")


def test_a_custom_refusal_returns_its_code_and_details(harness_2: BankHarness) -> None:
    token = harness_2.consent()
    more = [{"code": "INVALID_MODEL_TYPE", "title": "no"}]

    @harness_2.bank.accounts
    async def accounts(call: Call) -> list[AccountReferenceV2]:
        raise Refused("closed", status=422, code_v2="CLOSED", additional=more)

    answer = harness_2.webhook("accounts", token=token)

    assert answer.status_code == 422
    body = answer.json()
    assert (body["code"], body["title"], body["additionalErrors"]) == ("CLOSED", "closed", more)


def test_every_refusal_has_a_status_and_an_error_code_in_both_versions() -> None:
    kinds = [each for each in vars(refusals).values() if isinstance(each, type) and issubclass(each, Refused)]
    assert len(kinds) > 12
    for kind in kinds:
        made = kind()
        assert 400 <= made.status < 600
        assert made.code_v1 > 4000
        assert made.code_v2.isupper()
        assert str(made) == made.text


def test_the_old_and_the_new_api_key_are_accepted_during_a_rotation(clock: Clock, version: int) -> None:
    harness = BankHarness(version, clock, api_key=[API_KEY, "the-new-key"])
    clock.seconds = 1_795_680_000.0
    try:
        token = harness.consent()
        assert harness.webhook("accounts", token=token).status_code == 200
        assert harness.webhook("accounts", token=token, change=wrong("X-Api-Key", "the-new-key")).status_code == 200
        assert harness.webhook("accounts", token=token, change=wrong("X-Api-Key", "other")).status_code == 401
    finally:
        harness.close()


def test_a_webhook_without_reachable_hub_keys_returns_503(harness: BankHarness) -> None:
    def away(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("away")

    harness.bank._webhooks.hub_keys._client = httpx.AsyncClient(transport=httpx.MockTransport(away))

    assert harness.webhook("accounts").status_code == 503


def test_an_oversized_webhook_body_is_rejected(harness: BankHarness) -> None:
    answer = harness.webhook("single", b" " * 5_000_001)

    assert (answer.status_code, code_of(answer)) == (400, {1: 4001, 2: "FORMAT_ERROR"}[harness.version])


def test_a_bank_function_receives_psu_consent_request_id_and_headers(harness: BankHarness) -> None:
    token, calls, request_id = harness.consent(), [], str(uuid.uuid4())
    before = harness.bank._functions.accounts
    assert before is not None

    @harness.bank.accounts
    def accounts(call: Call) -> Any:
        calls.append(call)
        return before(call)

    harness.webhook("accounts", token=token, request_id=request_id, change=wrong("PSU-IP-Address", "203.0.113.7"))

    (call,) = calls
    assert (call.psu, call.request_id, call.is_attended) == ("psu-1", request_id, True)
    assert call.headers == {"psu-ip-address": "203.0.113.7"}
    assert call.consent is not None
    assert call.consent.account_ids == ("1001", "1002")
    assert token not in repr(call)


def test_payments_are_returned_in_pages(clock: Clock) -> None:
    harness = BankHarness(1, clock)
    clock.seconds = 1_795_680_000.0
    token = harness.consent()

    def page(number: int, limit: int = 2) -> dict[str, Any]:
        asked = {"account_id": "1001", "record_count": limit, "current_page": number}
        found: dict[str, Any] = harness.webhook("/account_payments", asked, token=token).json()
        return found

    try:
        assert [[row["id"] for row in page(number)["payments"]] for number in (1, 2, 3, 4)] == [
            ["B0", "B1"],
            ["B2", "B3"],
            ["B4"],
            [],
        ]
        assert page(2)["paginator"] == {"limit": 2, "current_page": 2}
        assert page(1)["payments"][0]["amount"] == "-8.50"
        assert page(0)["error_code"] == page(1, 0)["error_code"] == 4001

        @harness.bank.payments
        def payments(call: Call, account: object) -> PaymentsAnswerV1:
            rows = [ListedPaymentV1.from_json(listed(0))]
            return PaymentsAnswerV1(payments=rows, paginator=PaginatorV1(limit=1, current_page=9))

        assert page(1)["paginator"] == {"limit": 1, "current_page": 9}
    finally:
        harness.close()


def ask(harness: BankHarness, token: str, **more: Any) -> Any:
    asked = {"account_id": "1001", "booking_status": "both", "page_size": 2, **more}
    return harness.webhook("/v2_account_transactions", asked, token=token).json()


def ids(answer: Any) -> dict[str, list[str]]:
    return {name: [row["transaction_id"] for row in rows] for name, rows in answer["transactions"].items()}


def test_transactions_of_the_requested_lists_are_returned_in_pages(harness_2: BankHarness) -> None:
    token = harness_2.consent()
    pages = [ask(harness_2, token)]
    while "page_key" in pages[-1]:
        pages.append(ask(harness_2, token, page_key=pages[-1]["page_key"]))

    assert [ids(page) for page in pages] == [
        {"booked": [f"T{DAYS[0]}", f"T{DAYS[1]}"], "pending": []},
        {"booked": [f"T{DAYS[2]}", f"T{DAYS[3]}"], "pending": []},
        {"booked": [f"T{DAYS[4]}"], "pending": ["Tpending"]},
    ]
    assert ids(ask(harness_2, token, booking_status="pending")) == {"pending": ["Tpending"]}
    period = {"date_from": DAYS[2], "date_to": DAYS[1]}
    assert ids(ask(harness_2, token, booking_status="booked", **period)) == {"booked": [f"T{DAYS[1]}", f"T{DAYS[2]}"]}
    assert ask(harness_2, token, page_size=0)["code"] == "FORMAT_ERROR"


def test_a_booking_between_two_page_requests_duplicates_and_omits_no_transaction(harness_2: BankHarness) -> None:
    token, rows = harness_2.consent(), [transaction(day) for day in reversed(DAYS)]

    @harness_2.bank.transactions
    def transactions(call: Call, account: object) -> TransactionsV2:
        return TransactionsV2(booked=list(rows))

    first = ask(harness_2, token, booking_status="booked")
    rows.insert(0, transaction("2026-11-06"))
    second = ask(harness_2, token, booking_status="booked", page_key=first["page_key"])

    assert ids(first)["booked"] + ids(second)["booked"] == [f"T{day}" for day in reversed(DAYS[1:])]


@pytest.mark.parametrize("key", ["x", "W10", base64.urlsafe_b64encode(b'["other",0,null]').decode(), "é"])
def test_a_page_key_of_a_different_request_is_rejected(harness_2: BankHarness, key: str) -> None:
    token = harness_2.consent()

    assert ask(harness_2, token, page_key=key)["code"] == "FORMAT_ERROR"
    own = ask(harness_2, token)["page_key"]
    assert ask(harness_2, token, page_key=own, account_id="1002")["code"] == "FORMAT_ERROR"


def test_a_bank_function_can_implement_its_own_pagination(harness_2: BankHarness) -> None:
    token = harness_2.consent()

    @harness_2.bank.transactions
    async def transactions(call: Call, account: object) -> TransactionsAnswerV2:
        return TransactionsAnswerV2(transactions=TransactionsV2(booked=[transaction(DAYS[0])]), page_key="own")

    assert ask(harness_2, token)["page_key"] == "own"


@pytest.mark.parametrize(
    "named", [{"iban": IBANS[0]}, {"account_number": "31926801", "sort_code": "040004"}, {"account_number": "31926801"}]
)
def test_funds_are_confirmed_for_each_identifier_of_an_account(harness_2: BankHarness, named: dict[str, str]) -> None:
    harness_2.hub.scopes = ("funds_confirmations",)
    token = harness_2.consent()

    def funds(account: dict[str, str], amount: object) -> Any:
        money = {"amount": amount, "currency": "GBP"}
        return harness_2.webhook("funds", {"account": account, "instructed_amount": money}, token=token).json()

    assert funds(named, "250.00") == {"funds_available": True}
    assert funds(named, "250.01") == {"funds_available": False}
    assert funds({**named, "bban": "9"}, "1")["code"] == "RESOURCE_UNKNOWN"
    assert funds({}, "1")["code"] == "FORMAT_ERROR"
    assert funds(named, "NaN")["code"] == "FORMAT_ERROR"


def test_amounts_are_serialized_without_binary_floats(harness_2: BankHarness) -> None:
    token = harness_2.consent()
    body = json.dumps({"account_id": "1001"}).encode()

    assert '"amount":"250.00"' in harness_2.webhook("balances", body, token=token).text


def test_control_characters_of_a_path_are_not_written_to_the_log(
    harness: BankHarness, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "causeway")

    harness.webhook("/accounts%0D%1B[2KERROR forged")

    assert caplog.records
    assert all(record.getMessage().isprintable() for record in caplog.records)


def test_no_repr_contains_an_api_key(harness: BankHarness) -> None:
    assert API_KEY not in repr(vars(harness.bank))
