"""Lists of payments and transactions: in pages, newest first, with both sides of every payment."""

from __future__ import annotations

from typing import Any

import pytest

from chalicelib.demo_bank.transactions import generate_statement
from tests.demo_bank.paying import (
    AWAY,
    PAID,
    SINGLE,
    SLOW,
    account,
    ask,
    at_confirmation,
    code,
    initiate,
    pay,
    single,
    token,
)
from tests.demo_bank.stage import Stage

LIST = "/v2_account_transactions"


def transactions(stage: Stage, given: str, **asked: Any) -> Any:
    asked = {"account_id": account(stage).account_id, "booking_status": "both"} | asked
    return ask(stage, LIST, asked, given)


def ids(answer: Any) -> list[str]:
    rows = answer["transactions"]
    return [row["transaction_id"] for row in (*rows["pending"], *rows["booked"])]


# -- version 1


def test_version_1_returns_numbered_pages_newest_first(one: Stage) -> None:
    given, asked = token(one), {"iban": account(one).iban}
    first = ask(one, "/account_payments", asked, given)
    assert first["paginator"] == [{"limit": 100, "current_page": 1}]
    assert len(first["payments"]) == 100
    days = [row["date_created"] for row in first["payments"]]
    assert days == sorted(days, reverse=True)
    small = ask(one, "/account_payments", asked | {"record_count": 30, "current_page": 4}, given)
    assert [row["id"] for row in small["payments"][:10]] == [row["id"] for row in first["payments"][90:]]
    assert ask(one, "/account_payments", asked | {"current_page": 999}, given)["payments"] == []


def test_every_listed_payment_can_be_read_by_its_id(one: Stage) -> None:
    given = token(one)
    pay(one, given, scheme="BACS")
    rows = ask(one, "/account_payments", {"iban": account(one).iban, "record_count": 12}, given)["payments"]
    for row in rows:
        assert ask(one, "/account_payment", {"payment_id": row["id"]}, given)["payment"] == row


def test_a_payment_record_contains_both_parties(one: Stage) -> None:
    given = token(one)
    back = pay(one, given, reference="Invoice 17", message_for_receiver="For the mended roof")
    payment = ask(one, "/account_payment", {"payment_id": back["payment_id"]}, given)["payment"]
    assert payment["amount"] == -PAID
    assert payment["type"] == "Bank transfer"
    assert payment["date_created"] == "2026-03-02"
    assert payment["reference"] == "Invoice 17"
    assert payment["description"] == "Zoë O'Brien: Invoice 17 · For the mended roof"
    (sides,) = payment["additional_data"]
    assert sides["sender_data"]["iban"] == account(one).iban
    assert sides["receiver_data"] == {"account_name": "Zoë O'Brien", "iban": AWAY["one"], "currency": "GBP"}


def test_an_unconfirmed_payment_can_be_read_and_is_not_listed(one: Stage) -> None:
    given = token(one)
    payment_id = initiate(one, given)["payment_id"]
    assert ask(one, "/account_payment", {"payment_id": payment_id}, given)["payment"]["status"] == 1
    rows = ask(one, "/account_payments", {"iban": account(one).iban}, given)["payments"]
    assert payment_id not in [row["id"] for row in rows]
    for other in (token(one, "bilal"), given):
        asked = payment_id if other != given else "nothing"
        assert code(one.webhook("/account_payment", {"payment_id": asked}, token=other)) == (400, 4001)


def test_a_payment_keeps_its_creation_day(one: Stage) -> None:
    given = token(one)

    def days() -> set[str]:
        listed = ask(one, "/account_payments", {"iban": account(one).iban}, given)["payments"]
        single = [
            ask(one, "/account_payment", {"payment_id": payment_id}, given)["payment"] for payment_id in (slow, never)
        ]
        return {row["date_created"] for row in [*listed, *single] if row["id"] in (slow, never)}

    one.clock.advance(15 * 3600 - 60)
    slow = pay(one, given, reference="TEST-UNKNOWN")["payment_id"]
    never = initiate(one, given)["payment_id"]
    for seconds in (0, 120, 600, 86400):
        one.clock.advance(seconds)
        assert days() == {"2026-03-02"}


# -- both


def test_a_receiver_by_sort_code_and_number_is_shown_with_both(stage: Stage) -> None:
    given, body = token(stage), single(stage)
    if stage.profile.version == 1:
        del body["receiver_iban"]
        body |= {"receiver_account_number": "05555555", "receiver_sort_code": "202015"}
    else:
        body["creditor_account"] = {"account_number": "05555555", "sort_code": "202015"}
    answer = ask(stage, SINGLE[stage.profile.name], body, given)
    browser = at_confirmation(stage, answer)
    assert "202015 05555555" in browser.page.text
    if stage.profile.version == 1:
        asked = {"payment_id": answer["payment_id"]}
        before = ask(stage, "/account_payment", asked, given)["payment"]["additional_data"]
        browser.pay()
        assert ask(stage, "/account_payment", asked, given)["payment"]["additional_data"] == before
        assert before[0]["receiver_data"] == {
            "account_name": "Zoë O'Brien",
            "account_number": "05555555",
            "sort_code": "202015",
            "currency": "GBP",
        }
    else:
        browser.pay()
        paid = transactions(stage, given, booking_status="booked", page_size=1)["transactions"]["booked"][0]
        assert paid["creditor_account"] == {"account_number": "05555555", "sort_code": "202015"}


# -- version 2


def test_version_2_pages_contain_every_transaction_once(two: Stage) -> None:
    given = token(two)
    pay(two, given, scheme=SLOW["two"])
    found, asked = [], {"page_size": 70}
    while True:
        answer = transactions(two, given, **asked)
        found += ids(answer)
        if "page_key" not in answer:
            break
        asked["page_key"] = answer["page_key"]
    whole = generate_statement(account(two), two.clock.now().date())
    assert len(found) == len(set(found)) == len(whole.booked) + len(whole.pending) + 1
    assert found == ids(transactions(two, given, page_size=999))


def test_a_page_key_is_valid_for_its_own_query_only(two: Stage) -> None:
    given = token(two)
    key = transactions(two, given, page_size=5)["page_key"]
    assert ids(transactions(two, given, page_size=7, page_key=key))
    wrong: list[dict[str, Any]] = [
        {"page_key": key, "booking_status": "booked"},
        {"page_key": key, "date_from": "2026-01-01"},
        {"page_key": key, "account_id": account(two, position=1).account_id},
        {"page_key": key[:-1]},
        {"page_key": "é.x"},
        {"page_key": "17"},
    ]
    for asked in wrong:
        body = {"account_id": account(two).account_id, "booking_status": "both"} | asked
        reply = two.webhook(LIST, body, token=given)
        assert code(reply) == (400, "FORMAT_ERROR"), asked
        assert "page_key" in reply.text


def test_a_page_key_after_a_removed_payment_is_rejected(two: Stage) -> None:
    given = token(two)
    pay(two, given, reference="TEST-LATE-REJECT")
    key = transactions(two, given, page_size=1)["page_key"]
    two.clock.advance(20)
    body = {"account_id": account(two).account_id, "booking_status": "both", "page_key": key}
    assert "start with the first page" in two.webhook(LIST, body, token=given).text


@pytest.mark.parametrize("status", ["booked", "pending"])
def test_a_booking_status_filters_the_transactions(two: Stage, status: str) -> None:
    given = token(two)
    back = pay(two, given, scheme="SCT")
    rows = transactions(two, given, booking_status=status)["transactions"]
    assert not rows["pending" if status == "booked" else "booked"]
    assert (back["payment_id"] in [row["transaction_id"] for row in rows["pending"]]) == (status == "pending")
    assert all("booking_date" in row["transaction_amount"] for row in rows["booked"])
    assert not any("booking_date" in row["transaction_amount"] for row in rows["pending"])


def test_dates_filter_the_transactions_and_pending_ones_count_as_today(two: Stage) -> None:
    given = token(two)
    pay(two, given, scheme="SCT")
    january = transactions(two, given, date_from="2026-01-01", date_to="2026-01-31")["transactions"]
    days = {row["transaction_amount"]["booking_date"] for row in january["booked"]}
    assert min(days) >= "2026-01-01"
    assert max(days) <= "2026-01-31"
    assert not january["pending"]
    assert transactions(two, given, date_from="2026-03-02")["transactions"]["pending"]
    assert transactions(two, given, date_to="2026-03-02")["transactions"]["pending"]


def test_a_transaction_contains_both_parties(two: Stage) -> None:
    given = token(two)
    back = pay(two, given)
    rows = transactions(two, given)["transactions"]["booked"]
    (paid,) = [row for row in rows if row["transaction_id"] == back["payment_id"]]
    assert paid == {
        "transaction_id": back["payment_id"],
        "creditor_name": "Zoë O'Brien",
        "creditor_account": {"iban": AWAY["two"]},
        "debtor_name": "Lena Brandt",
        "debtor_account": {"iban": account(two).iban},
        "remittance_information_unstructured": "Invoice 17",
        "transaction_amount": {
            "amount": -PAID,
            "currency": "EUR",
            "value_date": "2026-03-02",
            "booking_date": "2026-03-02",
        },
    }
