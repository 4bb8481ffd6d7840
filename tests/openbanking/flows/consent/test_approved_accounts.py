"""Tests of account approval: the bank receives requests only about accounts that the PSU approved."""

from collections.abc import Iterator

import pytest

from tests.openbanking.examples import BY_WEBHOOK, OTHER_IBAN, ROWS, Json, Row
from tests.openbanking.kit import IBAN
from tests.openbanking.relay import Relay, error_of

APPROVED: dict[str, dict[str, list[str]]] = {
    "ibans": {"ibans": [IBAN, "FR1420041010050500013M02606"]},
    "account_ids": {"account_ids": ["A-1", "A-2"]},
    "account_numbers": {"account_numbers": ["202015 12345678", "87654321"]},
}


@pytest.fixture(scope="module")
def bearers(relay: Relay) -> dict[tuple[int, str], str]:
    """Return the access tokens by version and kind of account identifiers in the consent."""
    return {
        (version, kind): relay.bearer_for(version, **accounts)
        for version in (1, 2)
        for kind, accounts in APPROVED.items()
    }


def by_iban(row: Row, iban: str) -> Json:
    if row.in_query:
        return {"iban": iban}
    if "debtor_account" in row.request:
        return row.request | {"debtor_account": {"iban": iban}}
    return row.request | ({"sender_iban": iban} if row.is_payment else {"account": {"iban": iban}})


def by_id(row: Row, account_id: str) -> Json:
    if row.in_query:
        return row.request | {"account_id": account_id}
    return row.request | {"account": {"account_id": account_id}}


def by_number(row: Row, number: str, sort_code: str | None) -> Json:
    account = {"account_number": number, **({"sort_code": sort_code} if sort_code else {})}
    return row.request | {"debtor_account" if row.is_payment else "account": account}


def named(member: str) -> list[Row]:
    """Return the test cases in which the request identifies the PSU's account by ``member``.

    Direct payments are excluded, because they have no consent.
    """
    places = (member, f"account.{member}", f"debtor_account.{member}", f"sender_{member}")
    return [row for row in ROWS if row.token and any(each.path in places for each in row.table.request)]


def cases() -> Iterator[object]:
    """Yield the row, the kind of identifiers in the consent, the request, and whether the PSU approved the account."""
    for row in named("iban"):
        yield pytest.param(row, "ibans", by_iban(row, IBAN), True, id=f"{row}-approved IBAN")
        yield pytest.param(row, "ibans", by_iban(row, IBAN.lower()), True, id=f"{row}-approved IBAN in small letters")
        yield pytest.param(row, "ibans", by_iban(row, OTHER_IBAN), False, id=f"{row}-other IBAN")
        yield pytest.param(row, "account_ids", by_iban(row, OTHER_IBAN), True, id=f"{row}-no IBAN was named")
    for row in named("account_id"):
        yield pytest.param(row, "account_ids", by_id(row, "A-2"), True, id=f"{row}-approved id")
        yield pytest.param(row, "account_ids", by_id(row, "A-3"), False, id=f"{row}-other id")
        yield pytest.param(row, "account_ids", by_id(row, "a-2"), False, id=f"{row}-id in small letters")
        yield pytest.param(row, "ibans", by_id(row, "A-3"), True, id=f"{row}-no id was named")
    for row in named("account_number"):
        kind = "account_numbers"
        yield pytest.param(row, kind, by_number(row, "12345678", "202015"), True, id=f"{row}-number and sort code")
        yield pytest.param(row, kind, by_number(row, "87654321", "404040"), True, id=f"{row}-number of any sort code")
        yield pytest.param(row, kind, by_number(row, "12345678", "404040"), False, id=f"{row}-other sort code")
        yield pytest.param(row, kind, by_number(row, "11111111", "202015"), False, id=f"{row}-other number")
        yield pytest.param(row, "ibans", by_number(row, "11111111", "202015"), True, id=f"{row}-no number was named")


@pytest.mark.parametrize(("row", "kind", "request_", "approved"), list(cases()))
def test_a_payment_from_an_account_that_the_psu_did_not_approve_is_not_sent_to_the_bank(
    relay: Relay, bearers: dict[tuple[int, str], str], row: Row, kind: str, request_: Json, approved: bool
) -> None:
    answer = relay.call(row, request_, bearer=bearers[row.version, kind])

    if approved:
        assert answer.status == 200, answer
        assert len(relay.received(row)) == 1
    else:
        assert error_of(answer)[:2] == (403, "SERVICE_BLOCKED"), answer
        assert relay.received(row) == []


@pytest.mark.parametrize("row", [row for row in ROWS if row.is_payment], ids=str)
def test_the_receiver_account_of_a_payment_needs_no_approval_by_the_psu(
    relay: Relay, bearers: dict[tuple[int, str], str], row: Row
) -> None:
    order = by_iban(row, IBAN) if row.token else row.request

    for kind in APPROVED:
        bearer = bearers[row.version, kind] if row.token else None
        assert relay.call(row, order, bearer=bearer).status == 200


@pytest.mark.parametrize("webhook", ["/payment_initiation", "/v2_payment_single", "/v2_payment_bulk"])
def test_a_payment_without_a_debtor_account_is_sent_to_the_bank(
    relay: Relay, bearers: dict[tuple[int, str], str], webhook: str
) -> None:
    row = BY_WEBHOOK[webhook]
    order = {name: value for name, value in row.request.items() if name not in ("sender_iban", "debtor_account")}

    for kind in APPROVED:
        assert relay.call(row, order, bearer=bearers[row.version, kind]).status == 200


def test_every_identifier_of_an_account_requires_approval(relay: Relay) -> None:
    bearer = relay.bearer_for(1, ibans=[IBAN], account_ids=["A-1"])
    row = BY_WEBHOOK["/funds_confirmations"]

    assert relay.call(row, bearer=bearer).status == 200
    for account in ({"iban": IBAN, "account_id": "A-2"}, {"iban": OTHER_IBAN, "account_id": "A-1"}):
        answer = relay.call(row, row.request | {"account": account}, bearer=bearer)
        assert error_of(answer)[:2] == (403, "SERVICE_BLOCKED")


def test_invalid_fields_are_rejected_before_the_account_approval_is_checked(
    relay: Relay, bearers: dict[tuple[int, str], str]
) -> None:
    row = BY_WEBHOOK["/payment_initiation"]

    answer = relay.call(row, by_iban(row, OTHER_IBAN) | {"colour": "red"}, bearer=bearers[1, "ibans"])

    assert error_of(answer)[:2] == (400, "FORMAT_ERROR")
