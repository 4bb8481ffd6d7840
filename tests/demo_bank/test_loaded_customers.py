"""Tests of loaded customers at both banks: balances, transactions and payments in several currencies, and deletion."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from chalicelib.demo_bank import directory
from chalicelib.demo_bank.books import AccountBook, BookEntry
from chalicelib.demo_bank.customers import CustomerAccount
from chalicelib.demo_bank.execution import current_statement
from chalicelib.demo_bank.pages import MOST_SHOWN
from chalicelib.demo_bank.transactions import Statement, book_statement
from infra.customers import loading
from tests.demo_bank.parties import query_of
from tests.demo_bank.single_bank import SINGLE, SLOW, SingleBank
from tests.infra.operator_files import Content, account, customer, customer_file, recurring_rule, transaction

LISTED = [
    transaction("2026-02-03", pending_days=2, means="card"),
    transaction("2026-02-10", "4.005", text="Refund"),
    transaction("2026-03-04", "-1.000", pending_days=3, iban="GB33BUKB20201555555555"),
    transaction("2026-03-03", "2.000", pending_days=1),
    transaction("2026-03-09", "-5.000", pending_days=6),
]
SALARY = recurring_rule("month", "900.000", day=25)


@pytest.fixture(autouse=True)
def noor(bank: SingleBank) -> CustomerAccount:
    own = account("61000003", currency=bank.currency, balance="100.00")
    kuwaiti = account(transactions=LISTED, rules=[SALARY])
    yen = account("61000002", currency="JPY", balance="250000")
    return load(bank, customer(accounts=[kuwaiti, yen, own]))[0]


def load(bank: SingleBank, *customers: Content) -> tuple[CustomerAccount, ...]:
    loading.load(bank, customer_file(*customers))
    return directory.read_loaded(bank.runtime).customers["noor"].accounts


def accounts(bank: SingleBank) -> tuple[CustomerAccount, ...]:
    return directory.read_loaded(bank.runtime).customers["noor"].accounts


def balances(bank: SingleBank, given: str, of: CustomerAccount) -> list[str]:
    """Return the balances as strings: the booked balance in version 1, the booked and the available balance in version
    2.
    """
    if bank.profile.version == 1:
        found = bank.ask("/account_balance", {"account_id": of.account_id}, given)["accounts"]
        return [str(each["balance"]) for each in found]
    found = bank.ask("/v2_account_balances", {"account_id": of.account_id}, given)["balances"]
    return [str(each["balance_amount"]["amount"]) for each in found if each["balance_type"].startswith("interim")]


def transactions(bank: SingleBank, given: str, of: CustomerAccount) -> list[tuple[str, bool]]:
    asked: Content = {"account_id": of.account_id}
    if bank.profile.version == 1:
        found = bank.ask("/account_payments", asked | {"record_count": 100, "current_page": 1}, given)["payments"]
        return [(str(each["amount"]), each["status"] == 1) for each in found]
    rows = bank.ask("/v2_account_transactions", asked | {"booking_status": "both"}, given)["transactions"]
    return [(str(each["transaction_amount"]["amount"]), kind == "pending") for kind in rows for each in rows[kind]]


def test_balances_have_the_decimals_of_their_currency(bank: SingleBank, noor: CustomerAccount) -> None:
    given = bank.token("noor")
    kuwaiti, yen, _ = accounts(bank)
    assert balances(bank, given, kuwaiti)[0] == "3042.410"  # 1250.750 - 12.345 + 4.005, and two salaries
    assert balances(bank, given, yen)[0] == "250000"
    if bank.profile.version == 2:  # what is pending leaves the account later, what comes in is not there yet
        assert balances(bank, given, kuwaiti)[1] == "3041.410"


@pytest.mark.parametrize("bank", ["one"], indirect=True)  # version 2 has no reference
def test_the_reference_of_a_transaction_is_truncated_to_30_characters(bank: SingleBank) -> None:
    text = "Coffee \N{MIDDLE DOT} Bakery, the one at the corner"
    own = load(bank, customer(accounts=[account(balance="0", transactions=[transaction(text=text)])]))[0]
    asked = {"account_id": own.account_id, "record_count": 100, "current_page": 1}
    (found,) = bank.ask("/account_payments", asked, bank.token("noor"))["payments"]
    assert found["reference"] == text[:30]


@pytest.mark.parametrize("bank", ["two"], indirect=True)  # version 1 has no opening balance
def test_the_opening_balance_of_an_account_opened_today_equals_the_file_balance(bank: SingleBank) -> None:
    today = bank.clock.now().date().isoformat()
    new = load(bank, customer(accounts=[account(balance_on=today, transactions=[transaction(today)])]))[0]
    found = bank.ask("/v2_account_balances", {"account_id": new.account_id}, bank.token("noor"))["balances"]
    assert {each["balance_type"]: str(each["balance_amount"]["amount"]) for each in found} == {
        "interimBooked": "1238.405",
        "interimAvailable": "1238.405",
        "openingBooked": "1250.750",
    }


def test_transactions_are_pending_until_the_booking_date(bank: SingleBank, noor: CustomerAccount) -> None:
    given = bank.token("noor")
    found = transactions(bank, given, noor)
    assert sorted(found) == sorted(
        [
            ("1250.750", False),
            ("900.000", False),
            ("-12.345", False),
            ("4.005", False),
            ("900.000", False),
            ("-1.000", True),
            ("2.000", True),
        ]
    )
    bank.clock.advance(2 * 86_400)
    later = dict(transactions(bank, given, noor))
    assert (later["-1.000"], later["2.000"], later["-5.000"]) == (False, False, True)


def test_the_account_list_contains_the_accounts_of_a_loaded_customer(bank: SingleBank) -> None:
    path = "/accounts" if bank.profile.version == 1 else "/v2_accounts"
    found = bank.ask(path, {}, bank.token("noor"))["accounts"]
    assert [each["currency"] for each in found] == ["KWD", "JPY", bank.currency]
    assert [each["iban"] for each in found] == [each.iban for each in accounts(bank)]


@pytest.mark.parametrize(("amount", "enough"), [("3041.410", True), ("3041.411", False)])
def test_available_funds_are_compared_with_the_precision_of_the_currency(
    bank: SingleBank, noor: CustomerAccount, amount: str, enough: bool
) -> None:
    if bank.profile.version == 1:
        body = {"account": {"account_id": noor.account_id}, "instructed_amount": {"amount": amount, "currency": "KWD"}}
        found = bank.ask("/funds_confirmations", body, bank.token("noor"))
        assert (Decimal(amount) <= found["balance"]) == enough
    else:
        body = {"account": {"iban": str(noor.iban)}, "instructed_amount": {"amount": amount, "currency": "KWD"}}
        assert bank.ask("/v2_funds_confirmations", body, bank.token("noor"))["funds_available"] == enough


def test_a_salary_is_booked_on_the_day_of_the_bank_clock(bank: SingleBank, noor: CustomerAccount) -> None:
    given = bank.token("noor")
    before = Decimal(balances(bank, given, noor)[0])
    bank.clock.advance(23 * 86_400)
    assert bank.clock.now().day == 25
    assert Decimal(balances(bank, given, noor)[0]) == before - Decimal("4.000") + 900


def statement(bank: SingleBank, of: CustomerAccount, today: date) -> tuple[AccountBook, Statement]:
    book = directory.read_book(bank.runtime, of)
    assert book is not None
    return book, book_statement(of, book, today)


def test_after_a_year_the_opening_entry_includes_earlier_transactions(bank: SingleBank, noor: CustomerAccount) -> None:
    book, now = statement(bank, noor, date(2026, 3, 2))
    _, later = statement(bank, noor, date(2027, 6, 10))
    assert later.booked[0].booked_on == date(2026, 6, 1)
    assert later.balance == book.opening + sum(entry.amount for entry in book.entries(noor.number, date(2027, 6, 10)))
    assert len({entry.transaction_id for entry in later.booked}) == len(later.booked)
    assert all(len(entry.transaction_id) <= 20 for entry in (*later.booked, *now.booked))
    assert now.booked[0].booked_on == book.opened_on
    assert set(statement(bank, noor, date(2026, 4, 1))[1].booked) > set(now.booked)


def test_the_entries_of_a_statement_are_computed_only_once_a_day(
    bank: SingleBank, noor: CustomerAccount, monkeypatch: pytest.MonkeyPatch
) -> None:
    computed: list[str] = []
    entries = AccountBook.entries

    def count(book: AccountBook, account_number: str, last: date) -> list[BookEntry]:
        computed.append(account_number)
        return entries(book, account_number, last)

    monkeypatch.setattr(AccountBook, "entries", count)
    load(bank, customer(accounts=[account(balance="77.001", rules=[SALARY])]))
    first = [current_statement(bank.runtime, noor) for _ in range(3)]
    assert computed == [noor.number]
    bank.clock.advance(86_400)
    assert current_statement(bank.runtime, noor).balance == first[0].balance
    assert computed == [noor.number] * 2


def test_an_account_with_a_zero_balance_has_a_page_without_an_opening_entry(bank: SingleBank) -> None:
    empty = load(bank, customer(accounts=[account(balance="0")]))[0]
    assert current_statement(bank.runtime, empty).booked == ()
    browser = bank.browser()
    browser.open("/demo-bank/" + bank.profile.name + "/my-accounts")
    browser.submit("/my-accounts", fields=[("username", "noor"), ("password", "sandbox-noor")])
    assert browser.open(f"{bank.domain}/my-accounts/{empty.account_id}").status == 200


def test_pages_show_amounts_in_the_decimals_of_their_currency(bank: SingleBank) -> None:
    browser = bank.browser().arrive()
    assert browser.sign_in("noor").status == 200
    assert "KWD\N{NO-BREAK SPACE}3,042.410" in browser.page.text
    assert "JPY\N{NO-BREAK SPACE}250,000<" in browser.page.text
    browser.choose(2)
    assert browser.confirm().location.startswith("https://tpp.example/callback")


# -- payments


def test_a_payment_changes_the_balance_of_a_loaded_customer(bank: SingleBank) -> None:
    own = accounts(bank)[2]
    given = bank.token("noor")
    sender = {"sender_iban": own.iban} if bank.profile.version == 1 else {"debtor_account": {"iban": own.iban}}
    answer = bank.ask(bank.single_path, bank.single(sender=False) | sender, given)
    back = query_of(bank.at_confirmation(answer, "noor").pay().location)
    assert "message" not in back
    assert balances(bank, given, own)[0] == "87.50"
    assert ("-12.50", False) in transactions(bank, given, own)


def test_payments_before_the_date_of_the_loaded_balance_are_included_in_the_balance(bank: SingleBank) -> None:
    own = accounts(bank)[2]
    bank.at_confirmation(paying(bank), "noor").pay()
    bank.clock.advance(20)
    assert current_statement(bank.runtime, own).balance == 87_50
    bank.clock.advance(86_400)
    again = {"currency": own.currency, "balance": "100.00"}
    today = bank.clock.now().date()
    for balance_on, balance in ((today - timedelta(days=1), 87_50), (today, 100_00)):
        load(bank, customer(accounts=[account("61000003", balance_on=balance_on.isoformat(), **again)]))
        assert current_statement(bank.runtime, own).balance == balance
    bank.clock.advance(31 * 86_400)
    assert [entry.amount for entry in current_statement(bank.runtime, own).booked] == [100_00]


def test_a_payment_to_a_loaded_customer_is_credited(bank: SingleBank) -> None:
    own = accounts(bank)[2]
    answer = bank.ask(bank.single_path, bank.single(to=own.iban), bank.token())
    bank.at_confirmation(answer).pay()
    assert balances(bank, bank.token("noor"), own)[0] == "112.50"


@pytest.mark.parametrize("bank", ["two"], indirect=True)  # bank one has no scheme for these currencies
@pytest.mark.parametrize(("currency", "amount", "left"), [("JPY", "1500", "248500"), ("KWD", "0.005", "3042.405")])
def test_a_customer_of_bank_two_can_pay_in_any_currency(
    bank: SingleBank, currency: str, amount: str, left: str
) -> None:
    own = next(each for each in accounts(bank) if each.currency == currency)
    given = bank.token("noor")
    body = bank.single(sender=False, payment_scheme="SWIFT", debtor_account={"iban": own.iban})
    body["creditor_bank"] = {"name": "Bank 24", "country": "FR"}
    body["instructed_amount"] = {"amount": amount, "currency": currency}
    browser = bank.at_confirmation(bank.ask(SINGLE["two"], body, given), "noor")
    assert f"{currency}\N{NO-BREAK SPACE}{Decimal(amount):,}" in browser.page.text
    back = query_of(browser.pay().location)
    bank.clock.advance(20)
    assert bank.payment_status(back["payment_id"], given) == "ACSC"
    assert balances(bank, given, own)[0] == left


# -- deleted and changed customers


def test_the_consent_of_a_deleted_customer_is_rejected_like_a_revoked_consent(bank: SingleBank) -> None:
    given, ended = bank.token("noor"), "consent.never-given"
    loading.delete(bank, ["noor"])
    path = "/accounts" if bank.profile.version == 1 else "/v2_accounts"
    refused, unknown = bank.webhook(path, {}, token=given), bank.webhook(path, {}, token=ended)
    assert refused.status == unknown.status
    assert [refused.body.get(name) for name in ("code", "message", "title")] == [
        unknown.body.get(name) for name in ("code", "message", "title")
    ]


def test_a_consent_is_valid_again_after_its_customer_is_reloaded(bank: SingleBank) -> None:
    given, kept = bank.token("noor"), account("61000002", currency="JPY", balance="250000")
    loading.delete(bank, ["noor"])
    load(bank, customer(accounts=[kept]))
    assert balances(bank, given, accounts(bank)[0])[0] == "250000"


def test_the_consent_of_a_deleted_customer_can_be_revoked(bank: SingleBank) -> None:
    given = bank.token("noor")
    loading.delete(bank, ["noor"])
    path = bank.profile.protocol.revoke_token.path
    assert bank.webhook(path, {"access_token": given}).status == 200


def test_a_consent_returns_only_the_accounts_that_still_exist(bank: SingleBank, noor: CustomerAccount) -> None:
    given = bank.token("noor", accounts=2)
    load(bank, customer(accounts=[account("61000002", currency="JPY", balance="5"), account("61000009")]))
    path = "/accounts" if bank.profile.version == 1 else "/v2_accounts"
    found = bank.ask(path, {}, given)["accounts"]
    assert [each["currency"] for each in found] == ["JPY"]
    one = "/account" if bank.profile.version == 1 else "/v2_account"
    refused = bank.webhook(one, {"account_id": noor.account_id}, token=given)
    assert refused.status == (400 if bank.profile.version == 1 else 404)
    assert "the customer approved no such account" in refused.text


def test_a_consent_without_existing_accounts_cannot_pay(bank: SingleBank) -> None:
    given = bank.token("noor", accounts=2)
    own = account("61000009", currency=bank.currency, balance="100.00")
    load(bank, customer(accounts=[own]))
    reply = bank.webhook(bank.single_path, bank.single(sender=False), token=given)
    assert reply.status == 400
    assert "the customer has no account in this currency to pay from" in reply.text


def paying(bank: SingleBank) -> Any:
    own = accounts(bank)[2]
    sender = {"sender_iban": own.iban} if bank.profile.version == 1 else {"debtor_account": {"iban": own.iban}}
    return bank.ask(bank.single_path, bank.single(sender=False) | sender, bank.token("noor"))


def test_an_unconfirmed_payment_of_a_deleted_customer_is_cancelled(bank: SingleBank) -> None:
    answer = paying(bank)
    browser = bank.at_confirmation(answer, "noor")
    loading.delete(bank, ["noor"])
    back = query_of(browser.pay().location)
    assert back["message"] == "The account to pay from no longer exists"
    page = bank.browser().open(answer["confirmation_url"])
    assert page.status == 200
    assert "The account to pay from no longer exists" in page.text


def test_a_payment_from_a_deleted_account_is_cancelled_when_opened(bank: SingleBank) -> None:
    answer = paying(bank)
    load(bank, customer(accounts=[account("61000002", currency="JPY", balance="5")]))
    page = bank.browser().open(answer["confirmation_url"])
    assert page.status == 200
    assert "The account to pay from no longer exists" in page.text


def test_a_payment_from_an_account_moved_to_another_customer_is_cancelled(bank: SingleBank) -> None:
    browser = bank.at_confirmation(paying(bank), "noor")
    moved = account("61000003", currency=bank.currency, balance="100.00")
    load(bank, customer(accounts=[account()]), customer("kenji", [moved]))
    assert query_of(browser.pay().location)["message"] == "The account to pay from no longer exists"
    kenji = directory.read_loaded(bank.runtime).customers["kenji"]
    assert current_statement(bank.runtime, kenji.accounts[0]).available == 100_00


def test_a_confirmed_payment_of_a_deleted_customer_is_settled(bank: SingleBank) -> None:
    load(
        bank,
        customer(accounts=[account("61000003", currency=bank.currency, balance="100.00")]),
        customer("kenji", [account("61000007", currency=bank.currency, balance="1.00")]),
    )
    to = directory.read_loaded(bank.runtime).customers["kenji"].accounts[0]
    own = accounts(bank)[0]
    sender = {"sender_iban": own.iban} if bank.profile.version == 1 else {"debtor_account": {"iban": own.iban}}
    scheme = SLOW[bank.profile.name]
    body = bank.single(sender=False, scheme=scheme, to=to.iban) | sender
    answer = bank.ask(bank.single_path, body, bank.token("noor"))
    bank.at_confirmation(answer, "noor").pay()
    loading.delete(bank, ["noor"])
    bank.clock.advance(20)
    page = bank.browser().open(answer["confirmation_url"])
    assert page.status == 200
    received = current_statement(bank.runtime, to)
    assert received.balance == 1350
    assert received.booked[-1].counterparty == "A former customer"


def test_deleting_a_customer_ends_the_session_of_that_customer(bank: SingleBank) -> None:
    browser = bank.browser()
    browser.open(f"{bank.domain}/my-accounts")
    browser.submit("/my-accounts", fields=[("username", "noor"), ("password", "sandbox-noor")])
    assert "Current account" in browser.page.text
    loading.delete(bank, ["noor"])
    assert "Sign in to see balances" in browser.open(f"{bank.domain}/my-accounts").text
    assert "Sign in to see which" in browser.open(f"{bank.domain}/consents").text


@pytest.mark.parametrize("change", ["deleted", "other accounts"])
def test_deleting_a_customer_or_an_account_ends_the_authorization(bank: SingleBank, change: str) -> None:
    browser = bank.browser().at_confirmation("noor", accounts=1)
    if change == "deleted":
        loading.delete(bank, ["noor"])
    else:
        load(bank, customer(accounts=[account("61000009")]))
    assert browser.confirm(follow=True).status == 404
    assert "This session is over" in browser.page.text
    assert bank.hub.received("/consent") == []


# -- many


def test_sign_in_pages_list_the_first_customers_and_the_number_of_further_customers(bank: SingleBank) -> None:
    for start in range(0, 120, 40):
        people = [customer(f"p{n:03}", [account(f"{62_000_000 + n}")]) for n in range(start, start + 40)]
        loading.load(bank, customer_file(*people))
    others = 3 + 121 - MOST_SHOWN
    front = bank.browser().open(f"{bank.domain}/")
    sign_in = bank.browser().arrive().page
    area = bank.browser().open(f"{bank.domain}/my-accounts")
    for page in (front, sign_in, area):
        assert f"{others} more customer" in page.text
        assert page.text.count("<kbd>sandbox-p0") == MOST_SHOWN - 4  # three are built in, one is Noor
    browser = bank.browser().arrive()
    assert "Current account" in browser.sign_in("p119").text


def test_a_payment_finds_its_creditor_among_many_customers(bank: SingleBank) -> None:
    own = {"currency": bank.currency, "balance": "1.00"}
    people = [customer(f"p{n:03}", [account(f"{62_000_000 + n}", **own)]) for n in range(48)]
    loading.load(bank, customer_file(*people))
    to = directory.read_loaded(bank.runtime).customers["p047"].accounts[0]
    answer = bank.ask(bank.single_path, bank.single(to=to.iban), bank.token())
    bank.at_confirmation(answer).pay()
    assert current_statement(bank.runtime, to).balance == 1350


def test_transactions_generated_by_rules_do_not_depend_on_the_load_time(bank: SingleBank) -> None:
    wide = recurring_rule("week", None, weekday="saturday", between=["-38.000", "-9.500"])
    first = load(bank, customer(accounts=[account(rules=[wide])]))[0]
    early = statement(bank, first, date(2026, 6, 1))
    bank.clock.advance(int((datetime(2026, 6, 1, tzinfo=UTC) - bank.clock.now()).total_seconds()))
    again = load(bank, customer(accounts=[account(rules=[wide])]))[0]
    assert statement(bank, again, date(2026, 6, 1)) == early
