"""Tests of identifiers: bank responses, consents and requests follow the same rule."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from chalicelib.foundation import jsontext
from chalicelib.foundation.fields.problems import InvalidMessage
from chalicelib.openbanking.protocol import (
    v1_account_messages,
    v1_payment_messages,
    v2_account_messages,
    v2_payment_messages,
)
from chalicelib.openbanking.protocol.bank_calls import (
    CONSENT_BYTES,
    MOST_IDENTIFIER_BYTES,
    MOST_IDENTIFIERS,
    PaymentsStatus,
    PaymentsStatusV2,
    SaveConsent,
    SaveConsentV2,
)
from chalicelib.openbanking.protocol.bank_identifiers import LONGEST_ID, LONGEST_PAGE_KEY, LONGEST_PAYMENT_ID
from chalicelib.openbanking.protocol.tpp_calls import PaymentStatusQuery
from tests.openbanking.examples import BY_WEBHOOK, ROWS, Row, with_value
from tests.openbanking.relay import Relay
from tests.openbanking.specification import Member

DOCS = Path(__file__).parents[3] / "docs"

TEXTS = ("A-1", "4711", "0", "-1", "1.5", "a b", "Zoë", "\U0001f600", "<&\"'>", "日本", " ")
GOOD = (*TEXTS, "x" * LONGEST_ID, "\U0001f600" * LONGEST_ID)
UNPRINTABLE = ("a\u00a0b", "a\u200cb", "a\u200db", "a\u00adb", "a\nb", "\x7f", "\u2028", "\ue000", "\ufeff")
BAD = (*UNPRINTABLE, "x" * (LONGEST_ID + 1))

IN_REQUESTS: dict[str, Callable[[str], object]] = {
    "version 1 account": lambda text: v1_account_messages.AccountRequest.read({"account_id": text}),
    "version 1 payments": lambda text: v1_account_messages.PaymentsRequest.read({"account_id": text}),
    "version 1 payment": lambda text: v1_account_messages.PaymentRequest.read({"payment_id": text}),
    "version 1 funds": lambda text: v1_payment_messages.FundsAccount.read({"account_id": text}),
    "version 2 account": lambda text: v2_account_messages.AccountRequest.read({"account_id": text}),
    "version 2 transactions": lambda text: v2_account_messages.TransactionsRequest.read(
        {"account_id": text, "booking_status": "both"}
    ),
    "version 1 consent": lambda text: SaveConsent.read({"request_url": "u", "scopes": ["s"], "account_ids": [text]}),
    "version 2 consent": lambda text: SaveConsentV2.read({"requestUrl": "u", "scopes": ["s"], "accountIds": [text]}),
}


def takes(read: Callable[[str], object], text: str) -> bool:
    try:
        read(text)
    except InvalidMessage:
        return False
    return True


@pytest.mark.parametrize("named", IN_REQUESTS)
def test_requests_and_consents_accept_the_same_identifiers(named: str, subtests: pytest.Subtests) -> None:
    for text in (*GOOD, *BAD, ""):
        with subtests.test(f"{text[:20]!r} {len(text)}"):
            assert takes(IN_REQUESTS[named], text) is (text in GOOD)


ID_PLACES = [
    ("/accounts", "accounts[].id"),
    ("/account", "account.id"),
    ("/account_balance", "accounts[].id"),
    ("/account_payment", "payment.id"),
    ("/account_payments", "payments[].id"),
    ("/account_payment", "payment.additional_data[].sender_data.internal_account_id"),
    ("/v2_accounts", "accounts[].resource_id"),
    ("/v2_account", "account.resource_id"),
    ("/v2_account_transactions", "transactions.booked[].transaction_id"),
    ("/v2_account_transactions", "transactions.pending[].transaction_id"),
]


def member_of(row: Row, path: str) -> Member:
    return next(each for each in row.table.answer if each.path == path)


@pytest.mark.parametrize(("webhook", "path"), ID_PLACES)
def test_bank_responses_accept_the_same_identifiers_as_requests(
    relay: Relay, webhook: str, path: str, subtests: pytest.Subtests
) -> None:
    row = BY_WEBHOOK[webhook]
    member = member_of(row, path)
    is_number = member.type == "N"
    good = ("0", "4711", "007", "9" * LONGEST_ID) if is_number else GOOD
    bad = ("9" * (LONGEST_ID + 1),) if is_number else BAD
    for text in (*good, *bad):
        with subtests.test(f"{text[:20]!r} {len(text)}"):
            answer = relay.call(row, answer=with_value(row.answer, member, text))
            assert (answer.status == 200) is (text in good), answer
            if text in bad:
                assert f"{member.shown} must " in answer.body["additionalErrors"][0]["details"]


@pytest.mark.parametrize("booking_status", ["booked", "pending", "both"])
def test_a_page_key_from_a_bank_response_is_accepted_in_the_next_request(
    relay: Relay, booking_status: str, subtests: pytest.Subtests
) -> None:
    row = BY_WEBHOOK["/v2_account_transactions"]
    good = (*TEXTS, "x" * LONGEST_PAGE_KEY, "\U0001f600" * LONGEST_PAGE_KEY)
    for text in (*good, *UNPRINTABLE, "x" * (LONGEST_PAGE_KEY + 1)):
        with subtests.test(f"{text[:20]!r} {len(text)}"):
            request = {**row.request, "booking_status": booking_status}
            answer = relay.call(row, request, answer=row.answer | {"page_key": text})
            assert (answer.status == 200) is (text in good), answer
            if answer.status == 200:
                assert relay.call(row, request | {"page_key": answer.body["page_key"]}).status == 200
                assert jsontext.loads(relay.received(row)[-1].body)["page_key"] == text
            else:
                assert "page_key must be printable text of at most 1024 characters" in str(answer.body)


@pytest.mark.parametrize("text", [*TEXTS, "p" * LONGEST_PAYMENT_ID, *UNPRINTABLE, "p" * (LONGEST_PAYMENT_ID + 1)])
def test_a_payment_id_of_a_bank_can_be_queried_and_reported(text: str) -> None:
    good = text not in UNPRINTABLE and len(text) <= LONGEST_PAYMENT_ID
    initiated = {"confirmation_url": "https://bank.example", "payment_id": text}

    assert takes(lambda given: PaymentStatusQuery.read({"payment_id": given}), text) is good
    assert takes(lambda given: PaymentsStatus.read({"payment_id": given, "payment_status": 1}), text) is good
    assert takes(lambda given: PaymentsStatusV2.read({"paymentId": given, "paymentStatus": "ACSC"}), text) is good
    assert ("identifier" not in problems(v1_payment_messages.InitiationAnswer, initiated)) is good
    assert ("identifier" not in problems(v2_payment_messages.InitiationAnswer, initiated | {"status": "RCVD"})) is good


def problems(model: Any, members: dict[str, Any]) -> list[str]:
    try:
        model.read(members)
    except InvalidMessage as error:
        return [problem.kind for problem in error.problems]
    return []


def test_an_invalid_page_key_returns_502_in_a_response_with_many_other_deviations(relay: Relay) -> None:
    row = BY_WEBHOOK["/v2_account_transactions"]
    entry = {**row.answer["transactions"]["booked"][0], "remittance_information_unstructured": "x" * 141}
    answer = {**row.answer, "transactions": {"booked": [entry] * 200, "pending": []}, "page_key": "a\u200cb"}

    found = relay.call(row, answer=answer)

    assert found.status == 502
    assert "page_key must be printable text" in found.body["additionalErrors"][0]["details"]


@pytest.mark.parametrize("empty", ["resource_id", "transaction_id", "page_key"])
def test_an_empty_mandatory_identifier_returns_502(relay: Relay, empty: str) -> None:
    row = BY_WEBHOOK["/v2_accounts" if empty == "resource_id" else "/v2_account_transactions"]
    member = next(each for each in row.table.answer if each.name == empty)

    answer = relay.call(row, answer=with_value(row.answer, member, ""))

    assert answer.status == (502 if empty == "resource_id" else 200)


# -- from the list of accounts to the consent, and back

NAMED = [(1, "9" * LONGEST_ID), (1, "0012"), (2, "A" * LONGEST_ID), (2, "Zoë \U0001f600"), (2, "x" * 129)]


@pytest.mark.parametrize(("version", "account_id"), NAMED)
def test_an_account_id_listed_by_a_bank_can_be_approved_and_requested(
    relay: Relay, version: int, account_id: str
) -> None:
    listed = BY_WEBHOOK["/accounts" if version == 1 else "/v2_accounts"]
    bearer = relay.bearer_for(version, account_ids=[account_id])
    member = member_of(listed, "accounts[].id" if version == 1 else "accounts[].resource_id")

    found = relay.call(listed, answer=with_value(listed.answer, member, account_id), bearer=bearer)
    assert [account[member.name] for account in found.body["accounts"]] == [account_id]

    for row in ROWS:
        if row.version == version and "account_id" in row.request:
            request = {name: value for name, value in row.request.items() if name != "iban"}
            answer = relay.call(row, request | {"account_id": account_id}, bearer=bearer)
            assert answer.status == 200, answer
            assert jsontext.loads(relay.received(row)[-1].body)["account_id"] == account_id


def test_funds_confirmation_accepts_an_account_id_of_maximum_length(relay: Relay) -> None:
    row = BY_WEBHOOK["/funds_confirmations"]
    bearer = relay.bearer_for(1, account_ids=["A" * LONGEST_ID])

    answer = relay.call(row, row.request | {"account": {"account_id": "A" * LONGEST_ID}}, bearer=bearer)

    assert answer.status == 200, answer


def test_docs_state_the_rule_and_the_limits_of_identifiers() -> None:
    page = (DOCS / "concepts/bank-integration.md").read_text(encoding="utf-8")
    rule = page.partition("### Identifiers")[2].partition("###")[0]

    assert LONGEST_PAYMENT_ID == LONGEST_PAGE_KEY
    assert f"`payment_id` of an order and `page_key` have 1 to {LONGEST_PAGE_KEY} printable characters" in rule
    assert f"all other identifiers 1 to {LONGEST_ID}." in rule
    assert f"(`consent`: {CONSENT_BYTES} bytes)" in page
    assert f"at most {MOST_IDENTIFIER_BYTES} bytes" in page
    assert f"at most {MOST_IDENTIFIERS} entries" in page
