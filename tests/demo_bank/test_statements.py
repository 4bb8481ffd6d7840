"""Lists of payments and transactions: pages, order from newest to oldest, and debtor and creditor of every payment."""

from typing import Any

import pytest

from chalicelib.demo_bank.transactions import generate_statement
from tests.demo_bank.single_bank import AWAY, PAID, SLOW, SingleBank, code

LIST = "/v2_account_transactions"


def transactions(bank: SingleBank, given: str, **asked: Any) -> Any:
    asked = {"account_id": bank.account().account_id, "booking_status": "both"} | asked
    return bank.ask(LIST, asked, given)


def ids(answer: Any) -> list[str]:
    rows = answer["transactions"]
    return [row["transaction_id"] for row in (*rows["pending"], *rows["booked"])]


# -- version 1


def test_version_1_returns_numbered_pages_newest_first(one: SingleBank) -> None:
    given, asked = one.token(), {"iban": one.account().iban}
    first = one.ask("/account_payments", asked, given)
    assert first["paginator"] == [{"limit": 100, "current_page": 1}]
    assert len(first["payments"]) == 100
    days = [row["date_created"] for row in first["payments"]]
    assert days == sorted(days, reverse=True)
    small = one.ask("/account_payments", asked | {"record_count": 30, "current_page": 4}, given)
    assert [row["id"] for row in small["payments"][:10]] == [row["id"] for row in first["payments"][90:]]
    assert one.ask("/account_payments", asked | {"current_page": 999}, given)["payments"] == []


def test_every_listed_payment_can_be_read_by_its_id(one: SingleBank) -> None:
    given = one.token()
    one.pay(given, scheme="BACS")
    rows = one.ask("/account_payments", {"iban": one.account().iban, "record_count": 12}, given)["payments"]
    for row in rows:
        assert one.ask("/account_payment", {"payment_id": row["id"]}, given)["payment"] == row


def test_a_payment_record_contains_the_sender_and_the_receiver(one: SingleBank) -> None:
    given = one.token()
    back = one.pay(given, reference="Invoice 17", message_for_receiver="For the mended roof")
    payment = one.ask("/account_payment", {"payment_id": back["payment_id"]}, given)["payment"]
    assert payment["amount"] == -PAID
    assert payment["type"] == "Bank transfer"
    assert payment["date_created"] == "2026-03-02"
    assert payment["reference"] == "Invoice 17"
    assert payment["description"] == "Zoë O'Brien: Invoice 17 · For the mended roof"
    (sides,) = payment["additional_data"]
    assert sides["sender_data"]["iban"] == one.account().iban
    assert sides["receiver_data"] == {"account_name": "Zoë O'Brien", "iban": AWAY["one"], "currency": "GBP"}


def test_an_unconfirmed_payment_can_be_read_but_is_not_listed(one: SingleBank) -> None:
    given = one.token()
    payment_id = one.initiate(given)["payment_id"]
    assert one.ask("/account_payment", {"payment_id": payment_id}, given)["payment"]["status"] == 1
    rows = one.ask("/account_payments", {"iban": one.account().iban}, given)["payments"]
    assert payment_id not in [row["id"] for row in rows]
    for other in (one.token("bilal"), given):
        asked = payment_id if other != given else "nothing"
        assert code(one.webhook("/account_payment", {"payment_id": asked}, token=other)) == (400, 4001)


def test_the_creation_day_of_a_payment_is_constant(one: SingleBank) -> None:
    given = one.token()

    def days() -> set[str]:
        listed = one.ask("/account_payments", {"iban": one.account().iban}, given)["payments"]
        single = [
            one.ask("/account_payment", {"payment_id": payment_id}, given)["payment"] for payment_id in (slow, never)
        ]
        return {row["date_created"] for row in [*listed, *single] if row["id"] in (slow, never)}

    one.clock.advance(15 * 3600 - 60)
    slow = one.pay(given, reference="TEST-UNKNOWN")["payment_id"]
    never = one.initiate(given)["payment_id"]
    for seconds in (0, 120, 600, 86400):
        one.clock.advance(seconds)
        assert days() == {"2026-03-02"}


# -- both


def test_a_creditor_account_is_listed_with_its_sort_code_and_account_number(bank: SingleBank) -> None:
    given, body = bank.token(), bank.single()
    if bank.profile.version == 1:
        del body["receiver_iban"]
        body |= {"receiver_account_number": "05555555", "receiver_sort_code": "202015"}
    else:
        body["creditor_account"] = {"account_number": "05555555", "sort_code": "202015"}
    answer = bank.ask(bank.single_path, body, given)
    browser = bank.at_confirmation(answer)
    assert "202015 05555555" in browser.page.text
    if bank.profile.version == 1:
        asked = {"payment_id": answer["payment_id"]}
        before = bank.ask("/account_payment", asked, given)["payment"]["additional_data"]
        browser.pay()
        assert bank.ask("/account_payment", asked, given)["payment"]["additional_data"] == before
        assert before[0]["receiver_data"] == {
            "account_name": "Zoë O'Brien",
            "account_number": "05555555",
            "sort_code": "202015",
            "currency": "GBP",
        }
    else:
        browser.pay()
        paid = transactions(bank, given, booking_status="booked", page_size=1)["transactions"]["booked"][0]
        assert paid["creditor_account"] == {"account_number": "05555555", "sort_code": "202015"}


# -- version 2


def test_version_2_pages_contain_every_transaction_once(two: SingleBank) -> None:
    given = two.token()
    two.pay(given, scheme=SLOW["two"])
    found, asked = [], {"page_size": 70}
    while True:
        answer = transactions(two, given, **asked)
        found += ids(answer)
        if "page_key" not in answer:
            break
        asked["page_key"] = answer["page_key"]
    whole = generate_statement(two.account(), two.clock.now().date())
    assert len(found) == len(set(found)) == len(whole.booked) + len(whole.pending) + 1
    assert found == ids(transactions(two, given, page_size=999))


def test_a_page_key_is_rejected_in_another_query(two: SingleBank) -> None:
    given = two.token()
    key = transactions(two, given, page_size=5)["page_key"]
    assert ids(transactions(two, given, page_size=7, page_key=key))
    wrong: list[dict[str, Any]] = [
        {"page_key": key, "booking_status": "booked"},
        {"page_key": key, "date_from": "2026-01-01"},
        {"page_key": key, "account_id": two.account(position=1).account_id},
        {"page_key": key[:-1]},
        {"page_key": "é.x"},
        {"page_key": "17"},
    ]
    for asked in wrong:
        body = {"account_id": two.account().account_id, "booking_status": "both"} | asked
        reply = two.webhook(LIST, body, token=given)
        assert code(reply) == (400, "FORMAT_ERROR"), asked
        assert "page_key" in reply.text


def test_a_page_key_of_a_removed_payment_is_rejected(two: SingleBank) -> None:
    given = two.token()
    two.pay(given, reference="TEST-LATE-REJECT")
    key = transactions(two, given, page_size=1)["page_key"]
    two.clock.advance(20)
    body = {"account_id": two.account().account_id, "booking_status": "both", "page_key": key}
    assert "start with the first page" in two.webhook(LIST, body, token=given).text


@pytest.mark.parametrize("status", ["booked", "pending"])
def test_transactions_are_filtered_by_the_requested_booking_status(two: SingleBank, status: str) -> None:
    given = two.token()
    back = two.pay(given, scheme="SCT")
    rows = transactions(two, given, booking_status=status)["transactions"]
    assert not rows["pending" if status == "booked" else "booked"]
    assert (back["payment_id"] in [row["transaction_id"] for row in rows["pending"]]) == (status == "pending")
    assert all("booking_date" in row["transaction_amount"] for row in rows["booked"])
    assert not any("booking_date" in row["transaction_amount"] for row in rows["pending"])


def test_transactions_are_filtered_by_date_and_pending_transactions_count_as_today(two: SingleBank) -> None:
    given = two.token()
    two.pay(given, scheme="SCT")
    january = transactions(two, given, date_from="2026-01-01", date_to="2026-01-31")["transactions"]
    days = {row["transaction_amount"]["booking_date"] for row in january["booked"]}
    assert min(days) >= "2026-01-01"
    assert max(days) <= "2026-01-31"
    assert not january["pending"]
    assert transactions(two, given, date_from="2026-03-02")["transactions"]["pending"]
    assert transactions(two, given, date_to="2026-03-02")["transactions"]["pending"]


def test_a_transaction_contains_the_debtor_and_the_creditor(two: SingleBank) -> None:
    given = two.token()
    back = two.pay(given)
    rows = transactions(two, given)["transactions"]["booked"]
    (paid,) = [row for row in rows if row["transaction_id"] == back["payment_id"]]
    assert paid == {
        "transaction_id": back["payment_id"],
        "creditor_name": "Zoë O'Brien",
        "creditor_account": {"iban": AWAY["two"]},
        "debtor_name": "Lena Brandt",
        "debtor_account": {"iban": two.account().iban},
        "remittance_information_unstructured": "Invoice 17",
        "transaction_amount": {
            "amount": -PAID,
            "currency": "EUR",
            "value_date": "2026-03-02",
            "booking_date": "2026-03-02",
        },
    }
