"""All errors of a customer file are reported together with their locations. Error messages do not quote the file."""

from typing import Any

import pytest

from chalicelib.demo_bank.customers import CUSTOMERS, Customer
from chalicelib.demo_bank.faults import FAULTS
from infra.customers import loading
from infra.customers.loading import InvalidCustomers
from infra.customers.models import BANKS
from tests.demo_bank.single_bank import SingleBank
from tests.infra.operator_files import Content, account, customer, customer_file, recurring_rule, transaction

NO_BANKS = ("DEMOGB2F", "DEMODE2F", "BARCGB22", "one")


def faults(bank: SingleBank, text: str) -> list[str]:
    """Return the errors of a rejected file, and check that no data was stored."""
    before = list(bank.store.scan("demo-banks"))
    with pytest.raises(InvalidCustomers) as told:
        loading.load(bank, text)
    assert list(bank.store.scan("demo-banks")) == before
    return list(told.value.faults)


def of_account(bank: SingleBank, **members: Any) -> list[str]:
    place = "customers.0.accounts.0."
    found = faults(bank, customer_file(customer(accounts=[account(**members)])))
    assert all(each.startswith(place) for each in found)
    return [each.removeprefix(place) for each in found]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the file must have members"),
        ("customers: []", "customers must not be empty"),
        ("customers: 7", "customers must be a list"),
        ("customers: []\nothers: []", "others is unknown"),
        ("customers: [", "line 1, column 13: "),
        ("customers: []\ncustomers: []", "line 2, column 1: a member occurs twice"),
    ],
)
def test_an_invalid_customer_file_is_refused(one: SingleBank, text: str, said: str) -> None:
    assert any(each.startswith(said) for each in faults(one, text))


@pytest.mark.parametrize(
    ("members", "said"),
    [
        ({"id": "Noor"}, "id must begin with a small letter, and have at most 30 small letters, digits and hyphens"),
        ({"id": "n" * 31}, "id must begin with a small letter, and have at most 30 small letters, digits and hyphens"),
        ({"id": "no#or"}, "id must begin with a small letter, and have at most 30 small letters, digits and hyphens"),
        ({"id": 7}, "id must be text: put it in quotes"),
        ({"banks": []}, "banks must not be empty"),
        ({"banks": ["DEMOGB21", "DEMOGB21"]}, "banks must not contain duplicates"),
        *(({"banks": [bic]}, "banks.0 must be DEMOGB21 or DEMODEF1") for bic in NO_BANKS),
        ({"name": ""}, "name must have at least 1 character"),
        ({"name": "n" * 51}, "name must have at most 50 characters"),
        ({"name": "\u3164"}, "name must be printable text without leading or trailing spaces"),
        ({"name": " Noor"}, "name must be printable text without leading or trailing spaces"),
        ({"about": "a\tb"}, "about must be printable text without leading or trailing spaces"),
        ({"about": "a" * 101}, "about must have at most 100 characters"),
        ({"accounts": []}, "accounts must not be empty"),
        ({"password": "x"}, "password is unknown"),
    ],
)
def test_an_invalid_customer_is_refused(one: SingleBank, members: Content, said: str) -> None:
    assert faults(one, customer_file(customer() | members)) == [f"customers.0.{said}"]


def test_a_customer_has_at_most_20_accounts(one: SingleBank) -> None:
    accounts = [account(f"{61_000_000 + n}") for n in range(21)]
    assert faults(one, customer_file(customer(accounts=accounts))) == [
        "customers.0.accounts must have at most 20 items, not 21"
    ]


AMOUNT = "must be an amount: at most 13 digits and a decimal point if needed, with - before a negative one"
DAY = "must be a day from 2000-01-01 to 2099-12-31, written like these"


@pytest.mark.parametrize(
    ("members", "said"),
    [
        ({"number": "1234567"}, "number must have 8 digits"),
        ({"number": "123456789"}, "number must have 8 digits"),
        ({"number": 61000001}, "number must be text: put it in quotes"),
        ({"currency": "kwd"}, "currency must be the alphabetic ISO 4217 code of a currency with minor units"),
        ({"currency": "XXX"}, "currency must be the alphabetic ISO 4217 code of a currency with minor units"),
        ({"currency": "XAU"}, "currency must be the alphabetic ISO 4217 code of a currency with minor units"),
        ({"iban": "DE12100999007100000111"}, "iban must be a valid IBAN, in capitals and without spaces"),
        ({"iban": "DE48 1009 9900 7100 0001 11"}, "iban must be a valid IBAN, in capitals and without spaces"),
        ({"balance": 1250}, "balance must be text: put it in quotes"),
        ({"balance": "1,250.75"}, f"balance {AMOUNT}"),
        ({"balance": "1e3"}, f"balance {AMOUNT}"),
        ({"balance": "+5"}, f"balance {AMOUNT}"),
        ({"balance": "1" * 14}, f"balance {AMOUNT}"),
        ({"balance": "0.0001"}, "balance must have at most 3 decimal places in this currency"),
        ({"currency": "JPY", "balance": "0.5"}, "balance must have at most 0 decimal places in this currency"),
        ({"currency": "EUR", "balance": "0.005"}, "balance must have at most 2 decimal places in this currency"),
        ({"balance_on": "2026-02-30"}, f"balance_on {DAY}"),
        ({"balance_on": "1999-12-31"}, f"balance_on {DAY}"),
        ({"balance_on": "20260101"}, f"balance_on {DAY}"),
        ({"balance_on": 2026}, f"balance_on {DAY}"),
        ({"balance_on": "2026-03-03"}, "balance_on must not be after today, the day of the banks' clock"),
        ({"kind": "savings"}, "kind is unknown"),
    ],
)
def test_an_invalid_customer_account_is_refused(one: SingleBank, members: Content, said: str) -> None:
    assert of_account(one, **members) == [said]


@pytest.mark.parametrize("missing", ["number", "name", "currency", "balance", "balance_on"])
def test_a_missing_account_member_is_refused(one: SingleBank, missing: str) -> None:
    made = {name: value for name, value in account().items() if name != missing}
    assert faults(one, customer_file(customer(accounts=[made]))) == [f"customers.0.accounts.0.{missing} is missing"]


@pytest.mark.parametrize(
    ("members", "said"),
    [
        ({"date": "2026-13-01"}, f"date {DAY}"),
        ({"date": "2025-12-31"}, "date must not be before balance_on"),
        ({"amount": "0"}, "amount must not be 0"),
        ({"amount": "-0.000"}, "amount must not be 0"),
        ({"amount": "12.3456"}, "amount must have at most 3 decimal places in this currency"),
        ({"amount": "12."}, f"amount {AMOUNT}"),
        ({"counterparty": ""}, "counterparty must have at least 1 character"),
        ({"counterparty": "c" * 51}, "counterparty must have at most 50 characters"),
        ({"text": "t" * 141}, "text must have at most 140 characters"),
        ({"iban": "GB00"}, "iban must be a valid IBAN, in capitals and without spaces"),
        ({"means": "cash"}, "means must be 'transfer', 'card' or 'internal'"),
        ({"pending_days": -1}, "pending_days must be a whole number"),
        ({"pending_days": 61}, "pending_days must be less than or equal to 60"),
        ({"pending_days": "1"}, "pending_days must be a whole number"),
        ({"pending": True}, "pending is unknown"),
    ],
)
def test_an_invalid_transaction_of_a_customer_is_refused(one: SingleBank, members: Content, said: str) -> None:
    assert of_account(one, transactions=[transaction(), transaction() | members]) == [f"transactions.1.{said}"]


def test_an_account_has_at_most_80_listed_transactions_per_day(one: SingleBank) -> None:
    many = [transaction()] * 81
    assert of_account(one, transactions=many) == ["transactions must not have more than 80 on one day"]


def test_an_account_has_at_most_1000_transactions_and_20_rules(one: SingleBank) -> None:
    assert of_account(one, transactions=[transaction()] * 1001, rules=[recurring_rule()] * 21) == [
        "transactions must have at most 1000 items, not 1001",
        "rules must have at most 20 items, not 21",
    ]


RANGE = "between must be two amounts, the lower one first, both above or both below 0"


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (recurring_rule("year"), "every must be 'day', 'week' or 'month'"),
        (recurring_rule("month"), "day is required in a rule of every month"),
        (recurring_rule("month", day=0), "day must be greater than or equal to 1"),
        (recurring_rule("month", day=32), "day must be less than or equal to 31"),
        (recurring_rule("day", day=1), "day is only for a rule of every month"),
        (recurring_rule("week"), "weekday is required in a rule of every week"),
        (
            recurring_rule("week", weekday="Monday"),
            "weekday must be 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday' or 'sunday'",
        ),
        (recurring_rule("day", weekday="monday"), "weekday is only for a rule of every week"),
        (recurring_rule(amount=None), "amount or between is required, and not both"),
        (recurring_rule(between=["1", "2"]), "amount or between is required, and not both"),
        (recurring_rule(amount="0"), "amount must not be 0"),
        (recurring_rule(amount="0.0001"), "amount must have at most 3 decimal places in this currency"),
        (recurring_rule(amount=None, between=["1"]), RANGE),
        (recurring_rule(amount=None, between=[]), RANGE),
        (recurring_rule(amount=None, between=["1", "2", "3"]), RANGE),
        (recurring_rule(amount=None, between=["2", "1"]), RANGE),
        (recurring_rule(amount=None, between=["-1", "1"]), RANGE),
        (
            recurring_rule(amount=None, between=["1", "2.0001"]),
            "between.1 must have at most 3 decimal places in this currency",
        ),
        (recurring_rule(**{"from": "2026-02-29"}), f"from {DAY}"),
        (recurring_rule(**{"from": "2025-12-31"}), "from must not be before balance_on"),
        (recurring_rule(until="2025-12-31"), "until must not be before the rule's first day"),
        (recurring_rule(until="2026-01-31", **{"from": "2026-02-01"}), "until must not be before the rule's first day"),
    ],
)
def test_an_invalid_recurring_rule_is_refused(one: SingleBank, made: Content, said: str) -> None:
    assert of_account(one, rules=[recurring_rule(), made]) == [f"rules.1.{said}"]


def test_all_errors_of_a_customer_file_are_reported_together(one: SingleBank) -> None:
    wrong = account(
        currency="JPY", transactions=[transaction(), transaction("2025-01-01", "7")], rules=[recurring_rule("week")]
    )
    found = faults(one, customer_file(customer(), customer("ada", [wrong]), customer(accounts=[account("61000003")])))
    assert found == [
        "customers.1.id is the name of a built-in customer",
        "customers.1.accounts.0.balance must have at most 0 decimal places in this currency",
        "customers.1.accounts.0.transactions.0.amount must have at most 0 decimal places in this currency",
        "customers.1.accounts.0.transactions.1.date must not be before balance_on",
        "customers.1.accounts.0.rules.0.weekday is required in a rule of every week",
        "customers.1.accounts.0.rules.0.amount must have at most 0 decimal places in this currency",
        "customers.2.id occurs twice",
        "customers.1.accounts.0.number belongs to another account at DEMOGB21",
        "customers.1.accounts.0.number belongs to another account at DEMODEF1",
    ]


# -- what others have


def built_in() -> list[Customer]:
    return [each for bic in BANKS for each in CUSTOMERS[BANKS[bic].name].values()]


@pytest.mark.parametrize("id_", [*(each.customer_id for each in built_in()), *(fault.name for fault in FAULTS)])
def test_ids_of_built_in_customers_are_reserved(one: SingleBank, id_: str) -> None:
    assert faults(one, customer_file(customer(id_))) == ["customers.0.id is the name of a built-in customer"]


def test_numbers_and_ibans_of_built_in_accounts_are_reserved(one: SingleBank) -> None:
    for bic, profile in BANKS.items():
        known = next(iter(CUSTOMERS[profile.name].values())).accounts[0]
        taken = account(known.number[-8:])
        assert faults(one, customer_file(customer(banks=[bic], accounts=[taken]))) == [
            f"customers.0.accounts.0.number belongs to another account at {bic}"
        ]
        shared = account(iban=known.iban)
        assert faults(one, customer_file(customer(banks=[bic], accounts=[shared]))) == [
            f"customers.0.accounts.0.iban belongs to another account at {bic}, or to one in the same currency"
        ]


def test_numbers_and_ibans_of_other_loaded_customers_are_reserved(one: SingleBank) -> None:
    own = account(iban="DE48100999007100000111")
    loading.load(one, customer_file(customer(banks=["DEMODEF1"], accounts=[own])))
    loading.load(one, customer_file(customer(banks=["DEMODEF1"], accounts=[own])))
    place = "customers.0.accounts.0"
    assert faults(one, customer_file(customer("kenji", [account()]))) == [
        f"{place}.number belongs to another account at DEMODEF1"
    ]
    shared = account("61000002", iban="DE48100999007100000111")
    assert faults(one, customer_file(customer("kenji", [shared], banks=["DEMODEF1"]))) == [
        f"{place}.iban belongs to another account at DEMODEF1, or to one in the same currency"
    ]


def test_accounts_of_one_customer_in_different_currencies_can_share_an_iban(one: SingleBank) -> None:
    iban = "DE48100999007100000111"
    accounts = [account(iban=iban), account("61000002", iban=iban, currency="EUR", balance="1.00")]
    loading.load(one, customer_file(customer(banks=["DEMODEF1"], accounts=accounts)))
    again = [*accounts, account("61000003", iban=iban)]
    assert faults(one, customer_file(customer(banks=["DEMODEF1"], accounts=again))) == [
        "customers.0.accounts.2.iban belongs to another account at DEMODEF1, or to one in the same currency"
    ]


def test_an_iban_is_refused_for_a_customer_of_two_banks(one: SingleBank) -> None:
    assert of_account(one, iban="DE48100999007100000111") == [
        "iban must be left out for a customer of two banks: each makes its own from the number"
    ]


def test_transactions_of_more_than_350_kb_are_refused(one: SingleBank) -> None:
    days = [f"2026-01-{day:02}" for day in range(1, 29)]
    long = [transaction(days[n % 28], text="\N{SNOWMAN}" * 140, counterparty="\N{SNOWMAN}" * 50) for n in range(1000)]
    fits, does_not = account(transactions=long[:500]), account("61000002", transactions=long)
    assert faults(one, customer_file(customer(accounts=[fits, does_not]))) == [
        "customers.0.accounts.1 has transactions of more than 350 KB"
    ]
