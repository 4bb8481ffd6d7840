"""Entries of a bank's lists: an entry for which the native call refuses the whole list is left out and reported."""

from typing import Any

import pytest

from chalicelib.foundation import jsontext
from chalicelib.foundation.fields.field_types import OpenMessage
from chalicelib.foundation.fields.problems import InvalidMessage
from chalicelib.openbanking.protocol import v1_account_messages as v1
from chalicelib.openbanking.protocol import v2_account_messages as v2
from chalicelib.openbanking.protocol.versions import VERSIONS
from chalicelib.openbanking.unified.entries import MOST_PROBLEMS, Problems, read_entries
from chalicelib.openbanking.unified.versions import UNIFIED_VERSIONS
from tests.openbanking.examples import ANSWERS, copied, value_of, with_value, without
from tests.openbanking.specification import TABLES, Member

LISTS = {
    "/accounts": (1, "accounts", "accounts"),
    "/account_balance": (1, "balances", "accounts"),
    "/account_payments": (1, "transactions", "payments"),
    "/v2_accounts": (2, "accounts", "accounts"),
    "/v2_account_balances": (2, "balances", "balances"),
    "/v2_account_transactions": (2, "transactions", "transactions.booked"),
}
"""The webhooks of lists: the version, the unified read, and the path of the list."""
ENTRY_MEMBERS = [
    pytest.param(webhook, member, id=f"{webhook} {member.path}")
    for webhook, (version, _, path) in LISTS.items()
    for member in TABLES[version][webhook].answer
    if member.path.startswith(f"{path}[].")
]
ODD: dict[str, Any] = {
    "null": None,
    "a number": 7,
    "a fraction": jsontext.Number("1.5"),
    "a long number": jsontext.Number("1E+120"),
    "true": True,
    "an empty text": "",
    "a blank text": " ",
    "a long text": "x" * 300,
    "unprintable text": "a\nb",
    "a signed number": "+12.50",
    "a fraction without a digit before": ".50",
    "a comma": "12,50",
    "a list": [],
    "a list of a list": [[7]],
    "an object": {},
}
"""Values of a member that are odd in some members at least."""


def entry_model(webhook: str) -> type[OpenMessage]:
    version, read, _ = LISTS[webhook]
    model: type[OpenMessage] = getattr(UNIFIED_VERSIONS[version], read).entry
    return model


def faults(model: type[OpenMessage], *entries: Any) -> list[dict[str, Any]]:
    """Return the problems of a list of entries."""
    problems = Problems()
    read_entries(model, "booked", enumerate(entries), None, problems)
    return [dict(each) for each in problems.as_list()]


def native_faults(webhook: str, answer: Any) -> list[str]:
    """Return the faults for which the native call refuses the response, as paths of members."""
    version, _, _ = LISTS[webhook]
    (row,) = [each for each in VERSIONS[version].relayed.values() if each.path == webhook]
    model = row.expected({"booking_status": "both"}) if row.expected else row.answer
    try:
        model.read(answer, most=None)
    except InvalidMessage as error:
        return [problem.field for problem in error.problems if problem.is_fatal]
    return []


def check_agreement(webhook: str, answer: Any) -> None:
    """Check that an entry is left out exactly if the native call refuses the response because of it."""
    _, _, path = LISTS[webhook]
    place = tuple(path.split("."))
    entries = value_of(answer, Member(path, "M", "LIST", None, True))
    native = [each for each in native_faults(webhook, answer) if each.startswith(".".join((*place, "0")))]

    reported = faults(entry_model(webhook), *entries)

    assert [each["member"] for each in reported] == [each.removeprefix(f"{path}.0.") for each in native[:1]]


@pytest.mark.parametrize(("webhook", "member"), ENTRY_MEMBERS)
def test_entry_without_a_member_is_left_out_if_the_native_call_refuses_it(webhook: str, member: Member) -> None:
    version, _, _ = LISTS[webhook]

    check_agreement(webhook, without(copied(ANSWERS[version][webhook]), member))


@pytest.mark.parametrize(("webhook", "member"), ENTRY_MEMBERS)
def test_entry_with_an_odd_member_is_left_out_if_the_native_call_refuses_it(webhook: str, member: Member) -> None:
    version, _, _ = LISTS[webhook]
    for value in ODD.values():
        check_agreement(webhook, with_value(copied(ANSWERS[version][webhook]), member, value))


TRANSACTION: dict[str, Any] = ANSWERS[2]["/v2_account_transactions"]["transactions"]["booked"][0]
FAULTS: dict[str, tuple[Any, str | None, str]] = {
    "a signed amount": ({"transaction_amount": {"amount": "+12.50", "currency": "EUR"}}, "amount", "must be a number"),
    "no digit before": ({"transaction_amount": {"amount": ".50", "currency": "EUR"}}, "amount", "must be a number"),
    "a comma": ({"transaction_amount": {"amount": "12,50", "currency": "EUR"}}, "amount", "must be a number"),
    "an amount of null": ({"transaction_amount": {"amount": None, "currency": "EUR"}}, "amount", "must be a number"),
    "no amount": ({"transaction_amount": {"currency": "EUR"}}, "amount", "is required"),
    "no currency": ({"transaction_amount": {"amount": "1"}}, "currency", "is required"),
    "neither": ({"transaction_amount": {}}, "amount", "is required"),
}


@pytest.mark.parametrize(("changed", "member", "reason"), FAULTS.values(), ids=FAULTS)
def test_fault_of_an_amount_is_reported_with_position_member_and_reason(changed: Any, member: str, reason: str) -> None:
    reported = faults(v2.Transaction, TRANSACTION, TRANSACTION, TRANSACTION, TRANSACTION | changed, TRANSACTION)

    assert reported == [{"position": "booked[3]", "member": f"transaction_amount.{member}", "reason": reason}]


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({}, "is required"),
        ({"transaction_amount": None}, "must be an object"),
        ({"transaction_amount": [1]}, "must be"),
    ],
)
def test_transaction_without_an_amount_object_is_reported(changed: dict[str, Any], reason: str) -> None:
    rest = {name: value for name, value in TRANSACTION.items() if name != "transaction_amount"}

    (reported,) = faults(v2.Transaction, rest | changed)

    assert (reported["position"], reported["member"]) == ("booked[0]", "transaction_amount")
    assert reported["reason"].startswith(reason)


@pytest.mark.parametrize("odd", [None, 7, "x", True, [], [TRANSACTION]])
def test_entry_that_is_no_object_is_reported_without_a_member(odd: Any) -> None:
    assert faults(v2.Transaction, TRANSACTION, odd) == [
        {"position": "booked[1]", "member": None, "reason": "must be an object"}
    ]


def test_only_the_first_fault_of_an_entry_is_reported() -> None:
    assert faults(v1.ListedPayment, {}) == [{"position": "booked[0]", "member": "id", "reason": "is required"}]


def test_entries_keep_their_position_and_members() -> None:
    problems = Problems()

    entries = read_entries(v2.Transaction, "booked", [(4, TRANSACTION), (7, None)], None, problems)

    assert entries == [(4, TRANSACTION, True), (7, None, False)]


@pytest.mark.parametrize("written", ["1E+100", "9" * 101])
def test_number_of_more_than_100_digits_is_reported_as_no_number(written: str) -> None:
    amount = {"amount": jsontext.loads(written), "currency": "EUR"}
    problems = Problems()
    entry = {"transaction_amount": amount}

    assert read_entries(v2.Transaction, "booked", [(0, entry)], "transaction_amount.amount", problems) == [
        (0, entry, False)
    ]
    assert problems.as_list() == [
        {"position": "booked[0]", "member": "transaction_amount.amount", "reason": "must be a number"}
    ]


@pytest.mark.parametrize(("count", "reported"), [(0, 0), (1, 1), (MOST_PROBLEMS, 100), (101, 101), (112, 101)])
def test_at_most_100_problems_are_reported_and_the_others_counted(count: int, reported: int) -> None:
    found = faults(v2.Transaction, *[None] * count)

    assert len(found) == reported
    if count > MOST_PROBLEMS:
        assert found[-2]["position"] == "booked[99]"
        assert found[-1] == {"position": None, "member": None, "reason": f"and {count - 100} more"}
