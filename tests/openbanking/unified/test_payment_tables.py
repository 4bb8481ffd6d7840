"""Tests of the tables of payments and funds: each member of a unified body at banks of each version."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import BaseModel

from chalicelib.openbanking.protocol.errors import Refusal
from chalicelib.openbanking.protocol.payment_enumerations import Kind
from chalicelib.openbanking.protocol.versions import VERSIONS
from chalicelib.openbanking.unified.bank_requests import ORDER, RequestTable
from chalicelib.openbanking.unified.payment_messages import BODIES, FundsRequest
from chalicelib.openbanking.unified.versions import UNIFIED_VERSIONS
from tests.openbanking.unified.bodies import (
    BRITISH_IBAN,
    GERMAN_IBAN,
    KINDS,
    RECEIVER,
    Json,
    funds_request,
    member,
    payment_request,
    payment_table,
    refused_members,
    unified_place,
)

BANKS = pytest.mark.parametrize("version", sorted(UNIFIED_VERSIONS))
EVERY_KIND = pytest.mark.parametrize("kind", KINDS)
DEBTOR, CREDITOR = "debtor_account", "creditor_account"
ADDRESS_1, ADDRESS_2 = "receiver_address", "creditor_address"
STRUCTURED = "remittance_information_structured"
BRITISH = {"creditor.iban": None, "creditor.sort_code": "040004", "creditor.account_number": "31926801"}
LOCATED = {"creditor.address.country": "DE"}
BANK = {"creditor.bank.name": "Nordea Bank Abp", "creditor.bank.country": "FI"}
CARRIED: list[tuple[int, str, Any, str, Any, Json]] = [
    (1, "creditor.name", "Ada 2nd", "receiver_name", "Ada 2nd", {}),
    (2, "creditor.name", "Ada 2nd!", "creditor_name", "Ada 2nd!", {}),
    (1, "creditor.iban", "de89 3704 0044 0532 0130 00", "receiver_iban", RECEIVER, {}),
    (2, "creditor.iban", "de89 3704 0044 0532 0130 00", f"{CREDITOR}.iban", RECEIVER, {}),
    (1, "creditor.sort_code", "040004", "receiver_sort_code", "040004", BRITISH),
    (2, "creditor.sort_code", "040004", f"{CREDITOR}.sort_code", "040004", BRITISH),
    (1, "creditor.account_number", "31926801", "receiver_account_number", "31926801", BRITISH),
    (2, "creditor.account_number", "31926801", f"{CREDITOR}.account_number", "31926801", BRITISH),
    (1, "creditor.bban", "370400440532013000", "receiver_bban", None, {}),
    (1, "creditor.bban", "04000431926801", "receiver_bban", None, BRITISH),
    (2, "creditor.bban", "370400440532013000", f"{CREDITOR}.bban", "370400440532013000", {}),
    (2, "creditor.bban", "370400440532013000", f"{CREDITOR}.bban", "370400440532013000", {"creditor.iban": None}),
    (1, "creditor.address.street_name", "Ufer 1", f"{ADDRESS_1}.street_name", "Ufer 1", LOCATED),
    (2, "creditor.address.street_name", "Ufer 1", f"{ADDRESS_2}.street_name", "Ufer 1", LOCATED),
    (1, "creditor.address.building_number", "12 a", f"{ADDRESS_1}.building_number", "12 a", LOCATED),
    (2, "creditor.address.building_number", "12 a", f"{ADDRESS_2}.building_number", "12 a", LOCATED),
    (1, "creditor.address.town_name", "Köln", f"{ADDRESS_1}.town_name", "Köln", LOCATED),
    (2, "creditor.address.town_name", "Köln 1", f"{ADDRESS_2}.town_name", "Köln 1", LOCATED),
    (1, "creditor.address.postal_code", "10115", f"{ADDRESS_1}.post_code", "10115", LOCATED),
    (2, "creditor.address.postal_code", "10115", f"{ADDRESS_2}.postal_code", "10115", LOCATED),
    (2, "creditor.address.country", "GB", f"{ADDRESS_2}.country", "GB", {}),
    (1, "amount.value", "0012.3000", "amount", "0012.3000", {}),
    (2, "amount.value", "0012.3000", "instructed_amount.amount", "0012.3000", {}),
    (1, "amount.currency", "GBP", "currency", "GBP", {}),
    (2, "amount.currency", "GBP", "instructed_amount.currency", "GBP", {}),
    (1, "remittance.unstructured", "Invoice 17", "message_for_receiver", "Invoice 17", {}),
    (2, "remittance.unstructured", "Invoice 17", "remittance_information_unstructured", "Invoice 17", {}),
    (1, "remittance.reference", "RF18 5390", "reference", "RF18 5390", {}),
    (2, "remittance.reference", "RF18 5390", f"{STRUCTURED}.reference", "RF18 5390", {}),
    (2, "remittance.reference", "RF18 5390", f"{STRUCTURED}.reference_type", "SCOR", {}),
    (1, "remittance.reference_type", "QRR", "reference", "5390", {"remittance.reference": "5390"}),
    (2, "remittance.reference_type", "QRR", f"{STRUCTURED}.reference_type", "QRR", {"remittance.reference": "5390"}),
]
"""The members of each payment: version, unified member and value, native member and value, and further changes."""
OF_ORDERS: list[tuple[int, Kind, str, Any, str, Any, Json]] = [
    (1, "single", "creditor.address.country", "GB", f"{ADDRESS_1}.country", "GBR", {}),
    (1, "direct", "creditor.address.country", "GB", f"{ADDRESS_1}.country", "GBR", {}),
    (1, "bulk", "creditor.address.country", "GB", f"payments.0.{ADDRESS_1}.country", "GB", {}),
    (1, "single", "debtor.iban", BRITISH_IBAN, "sender_iban", BRITISH_IBAN, {}),
    (1, "bulk", "debtor.iban", BRITISH_IBAN, "sender_iban", BRITISH_IBAN, {}),
    *((2, kind, "debtor.iban", BRITISH_IBAN, f"{DEBTOR}.iban", BRITISH_IBAN, {}) for kind in KINDS),
    (1, "single", "debtor.bban", "1", "sender_iban", GERMAN_IBAN, {}),
    (1, "bulk", "debtor.sort_code", "202015", "sender_iban", GERMAN_IBAN, {}),
    *((2, kind, "debtor.bban", "1", f"{DEBTOR}.bban", "1", {"debtor.iban": None}) for kind in KINDS),
    *((2, kind, "debtor.sort_code", "202015", f"{DEBTOR}.sort_code", "202015", {"debtor.bban": "1"}) for kind in KINDS),
    *((2, kind, "debtor.account_number", "1", f"{DEBTOR}.account_number", "1", {"debtor.bban": "1"}) for kind in KINDS),
    *((1, kind, "debtor.name", "Lena", "debtor_name", None, {}) for kind in KINDS),
    *((2, kind, "debtor.name", "Lena", "debtor_name", "Lena", {"debtor.iban": None}) for kind in KINDS),
    (1, "single", "scheme", "SCTI", "payment_scheme", "SCTI", {}),
    (1, "direct", "scheme", "SCTI", "payment_scheme", "SCTI", {}),
    (1, "bulk", "scheme", "SCTI", "payments.0.payment_scheme", "SCTI", {}),
    *((2, kind, "scheme", "SCTI", "payment_scheme", "SCTI", {}) for kind in KINDS),
    *(
        (version, kind, "callback_url", "https://a.example/b", "callback_url", "https://a.example/b", {})
        for version in (1, 2)
        for kind in KINDS
    ),
    (2, "single", "creditor.bank.name", "Nordea", "creditor_bank.name", "Nordea", BANK),
    (2, "single", "creditor.bank.bic", "NDEAFIHH", "creditor_bank.bic", "NDEAFIHH", BANK),
    (2, "single", "creditor.bank.country", "SE", "creditor_bank.country", "SE", BANK),
    (1, "bulk", "total", {"value": "12.3", "currency": "EUR"}, "totals", [{"currency": "EUR", "amount": "12.30"}], {}),
    (2, "bulk", "total", {"value": "12.3", "currency": "EUR"}, "instructed_totals.amount", "12.30", {}),
    (2, "bulk", "total", {"value": "12.3", "currency": "EUR"}, "instructed_totals.currency", "EUR", {}),
]
"""The members that differ by kind of payment: version, kind, and the columns of ``CARRIED``."""
ACCOUNT_TAKEN = "cannot be sent: banks of version 1 take an iban, or account_number with sort_code"
DEBTOR_TAKEN = "cannot be sent: banks of version 1 take the debtor's account as an iban"
NO_DEBTOR_TAKEN = "cannot be sent: banks of version 1 take no debtor account in direct payments"
REFUSED: list[tuple[int, str, Any, str, Json]] = [
    (1, "creditor.name", "x" * 41, "must have at most 40 characters at banks of version 1", {}),
    (
        1,
        "creditor.name",
        "Ada!",
        "must contain only letters, digits, spaces and the punctuation used in names at banks of version 1",
        {},
    ),
    (1, "creditor.bban", "370400440532013000", ACCOUNT_TAKEN, {"creditor.iban": None}),
    (2, "creditor.account_number", "123456789", "must have at most 8 digits at banks of version 2", BRITISH),
    (2, "creditor.sort_code", "04-000", "must be digits only at banks of version 2", BRITISH),
    (1, "creditor.address.street_name", "x" * 51, "must have at most 50 characters at banks of version 1", LOCATED),
    (1, "creditor.address.building_number", "12 abc", "must have at most 5 characters at banks of version 1", LOCATED),
    (1, "creditor.address.town_name", "x" * 51, "must have at most 50 characters at banks of version 1", LOCATED),
    (
        1,
        "creditor.address.town_name",
        "Köln 1",
        "must contain only letters, spaces and the punctuation used in names at banks of version 1",
        LOCATED,
    ),
    (1, "creditor.address.postal_code", "x" * 11, "must have at most 10 characters at banks of version 1", LOCATED),
    (1, "remittance.unstructured", "x" * 36, "must have at most 35 characters at banks of version 1", {}),
    (1, "remittance.reference", "x" * 19, "must have at most 18 characters at banks of version 1", {}),
    (2, "remittance.reference", "a\u00a0b", "must be printable text at banks of version 2", {}),
]
"""The members of each payment that a version refuses: version, unified member and value, reason, further changes."""
OF_ORDERS_REFUSED: list[tuple[int, Kind, str, Any, str, Json]] = [
    *(
        (1, kind, "creditor.bank.name", "x", "cannot be sent: banks of version 1 do not take the creditor's bank", BANK)
        for kind in KINDS
    ),
    *(
        (
            2,
            kind,
            "creditor.bank.name",
            "x",
            "cannot be sent: banks of version 2 take the creditor's bank in single payments only",
            BANK,
        )
        for kind in KINDS
        if kind != "single"
    ),
    (1, "direct", "debtor.iban", GERMAN_IBAN, NO_DEBTOR_TAKEN, {}),
    (1, "direct", "debtor.bban", "1", NO_DEBTOR_TAKEN, {}),
    (1, "single", "debtor.bban", "1", DEBTOR_TAKEN, {"debtor.iban": None}),
    (1, "single", "amount.value", "12345678901", "must have at most 10 digits at banks of version 1", {}),
    (1, "direct", "amount.value", "123456789.10", "must have at most 10 digits at banks of version 1", {}),
    (1, "bulk", "debtor", None, "is required at banks of version 1", {}),
]
"""The refused members that differ by kind of payment: version, kind, and the columns of ``REFUSED``."""


@EVERY_KIND
@pytest.mark.parametrize(("version", "unified", "value", "native", "expected", "changes"), CARRIED)
def test_a_member_of_each_payment_is_sent_as_the_member_of_the_version(
    version: int, unified: str, value: Any, native: str, expected: Any, changes: Json, kind: Kind
) -> None:
    request = payment_request(version, kind, {**changes, unified: value})

    assert member(request["payments"][0] if kind == "bulk" else request, native) == expected


@pytest.mark.parametrize(("version", "kind", "unified", "value", "native", "expected", "changes"), OF_ORDERS)
def test_a_member_that_differs_by_kind_is_sent_as_the_member_of_the_version(
    version: int, kind: Kind, unified: str, value: Any, native: str, expected: Any, changes: Json
) -> None:
    assert member(payment_request(version, kind, {**changes, unified: value}), native) == expected


@EVERY_KIND
@pytest.mark.parametrize(("version", "unified", "value", "reason", "changes"), REFUSED)
def test_a_member_that_the_version_cannot_carry_is_refused(
    version: int, unified: str, value: Any, reason: str, changes: Json, kind: Kind
) -> None:
    with pytest.raises(Refusal) as caught:
        payment_request(version, kind, {**changes, unified: value})

    assert refused_members(caught.value) == {unified_place(kind, unified): reason}


@pytest.mark.parametrize(("version", "kind", "unified", "value", "reason", "changes"), OF_ORDERS_REFUSED)
def test_a_member_that_a_kind_of_payment_cannot_carry_is_refused(
    version: int, kind: Kind, unified: str, value: Any, reason: str, changes: Json
) -> None:
    with pytest.raises(Refusal) as caught:
        payment_request(version, kind, {**changes, unified: value})

    named = {"debtor": "debtor.iban", "creditor.bank.name": "creditor.bank"}.get(unified, unified)
    assert refused_members(caught.value) == {unified_place(kind, named): reason}


@pytest.mark.parametrize("kind", ["single", "bulk"])
def test_each_identifier_of_a_british_debtor_is_refused_in_version_1(kind: Kind) -> None:
    british = {"debtor.iban": None, "debtor.sort_code": "202015", "debtor.account_number": "55555555"}

    with pytest.raises(Refusal) as caught:
        payment_request(1, kind, british)

    missing = {"debtor.iban": "is required at banks of version 1"} if kind == "bulk" else {}
    refused = {"debtor.sort_code": DEBTOR_TAKEN, "debtor.account_number": DEBTOR_TAKEN}
    assert refused_members(caught.value) == missing | refused


@pytest.mark.parametrize(
    ("version", "kind"), [(version, kind) for version in (1, 2) for kind in KINDS if (version, kind) != (1, "bulk")]
)
def test_a_debtor_with_a_name_alone_is_possible(version: int, kind: Kind) -> None:
    request = payment_request(version, kind, {"debtor": None, "debtor.name": "Lena"})

    assert "sender_iban" not in request
    assert "debtor_account" not in request


@EVERY_KIND
@BANKS
def test_a_body_without_optional_members_has_no_empty_objects(version: int, kind: Kind) -> None:
    request = payment_request(version, kind)

    assert {} not in [*request.values(), *(request["payments"][0].values() if kind == "bulk" else ())]


def payments_of(*values: str) -> list[Json]:
    creditor = {"name": "Ada", "iban": RECEIVER}
    return [{"creditor": creditor, "amount": {"value": value, "currency": "EUR"}} for value in values]


SUMS = {1: "totals.0.amount", 2: "instructed_totals.amount"}


@BANKS
@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["12.3", "0.70", "1"], "14.00"),
        (["0.1"] * 10, "1.0"),
        (["99999999.98", "0.01"], "99999999.99"),
        (["100", "200"], "300"),
    ],
)
def test_the_sum_is_exact_with_the_most_decimals_of_a_payment(version: int, values: list[str], expected: str) -> None:
    request = payment_request(version, "bulk", {"payments": payments_of(*values)})

    assert member(request, SUMS[version]) == expected


@BANKS
@pytest.mark.parametrize("values", [["99999999.99", "0.01"], ["9999999999", "1"], ["9999999999", "0.1"]])
def test_a_sum_of_more_than_10_digits_is_refused(version: int, values: list[str]) -> None:
    with pytest.raises(Refusal) as caught:
        payment_request(version, "bulk", {"payments": payments_of(*values)})

    reason = f"cannot be sent: banks of version {version} take a sum of at most 10 digits"
    assert refused_members(caught.value) == {"payments": reason}


@pytest.mark.parametrize(("version", "refused"), [(1, ["payments.1.amount.value", "payments"]), (2, ["payments"])])
def test_an_amount_of_a_bulk_payment_with_too_many_digits_is_refused_with_its_sum(
    version: int, refused: list[str]
) -> None:
    with pytest.raises(Refusal) as caught:
        payment_request(version, "bulk", {"payments": payments_of("1", "12345678901")})

    assert sorted(refused_members(caught.value)) == sorted(refused)


def test_every_refused_member_is_named_at_its_payment() -> None:
    payments = payments_of("1", "2", "3")
    payments[1]["creditor"] = {"name": "Ada", "bban": "370400440532013000"}
    payments[2]["creditor"] = {"name": "x" * 41, "iban": RECEIVER}
    payments[2]["remittance"] = {"reference": "x" * 19, "unstructured": "x" * 36}

    with pytest.raises(Refusal) as caught:
        payment_request(1, "bulk", {"payments": payments})

    assert sorted(refused_members(caught.value)) == [
        "payments.1.creditor.bban",
        "payments.2.creditor.name",
        "payments.2.remittance.reference",
        "payments.2.remittance.unstructured",
    ]


def test_at_most_50_refused_members_are_named() -> None:
    payments = [{**each, "creditor": {"name": "Ada!", "iban": RECEIVER}} for each in payments_of(*["1"] * 60)]

    with pytest.raises(Refusal) as caught:
        payment_request(1, "bulk", {"payments": payments})

    assert len(caught.value.details) == 50


# -- funds

ALL_IDENTIFIERS = {
    "account.account_id": "4711001",
    "account.iban": BRITISH_IBAN,
    "account.bban": "202015",
    "account.sort_code": "202015",
    "account.account_number": "55555555",
}
ONLY_ID = {"account.iban": None, "account.account_id": "4711001"}
SENT = {1: ("account_id", "iban"), 2: ("iban", "bban", "sort_code", "account_number")}
TAKEN = {
    1: "cannot be sent: banks of version 1 take an iban or account_id",
    2: "cannot be sent: banks of version 2 take an iban, a bban, or account_number with sort_code",
}


@BANKS
def test_a_bank_gets_the_account_identifiers_that_its_version_takes(version: int) -> None:
    request = funds_request(version, ALL_IDENTIFIERS)

    assert request == {
        "account": {name: ALL_IDENTIFIERS[f"account.{name}"] for name in SENT[version]},
        "instructed_amount": {"amount": "12.30", "currency": "EUR"},
    }


@pytest.mark.parametrize(
    ("version", "changes", "refused"),
    [
        (1, {"account.iban": None, "account.bban": "1"}, ["account.bban"]),
        (
            1,
            {"account.iban": None, "account.sort_code": "202015", "account.account_number": "55555555"},
            ["account.account_number", "account.sort_code"],
        ),
        (2, ONLY_ID, ["account.account_id"]),
        (2, {**ONLY_ID, "account.sort_code": "202015"}, ["account.account_id"]),
    ],
)
def test_funds_of_an_account_without_an_identifier_for_the_version_are_refused(
    version: int, changes: Json, refused: list[str]
) -> None:
    with pytest.raises(Refusal) as caught:
        funds_request(version, changes)

    assert refused_members(caught.value) == dict.fromkeys(refused, TAKEN[version])


ODD_IDENTIFIERS: list[tuple[Json, Json]] = [
    ({"account.sort_code": "20-20-15"}, {"sort_code": "202015"}),
    (
        {"account.sort_code": "20-20-15", "account.account_number": "5555 5555"},
        {"sort_code": "202015", "account_number": "55555555"},
    ),
    ({"account.sort_code": "BLZ 20201"}, {}),
    ({"account.account_number": "123456789"}, {}),
    ({"account.account_number": "5" * 40}, {}),
    ({"account.account_number": "K-1"}, {}),
    ({"account.bban": "1" * 31}, {}),
    ({"account.bban": "1" * 255, "account.sort_code": "1234567", "account.account_number": "0004711001"}, {}),
]
"""Identifiers in other forms than a bank takes, and those of them that version 2 gets beside an IBAN."""
IBANS = pytest.mark.parametrize("iban", [GERMAN_IBAN, BRITISH_IBAN])


@IBANS
@pytest.mark.parametrize("odd", [odd for odd, _ in ODD_IDENTIFIERS])
def test_identifiers_in_any_form_are_left_out_in_version_1(odd: Json, iban: str) -> None:
    assert funds_request(1, {"account.iban": iban, **odd})["account"] == {"iban": iban}
    assert funds_request(1, {**ONLY_ID, **odd})["account"] == {"account_id": "4711001"}


@IBANS
@pytest.mark.parametrize(("odd", "sent"), ODD_IDENTIFIERS)
def test_identifiers_in_a_form_that_version_2_does_not_take_are_left_out(odd: Json, sent: Json, iban: str) -> None:
    assert funds_request(2, {"account.iban": iban, **odd})["account"] == {"iban": iban, **sent}


@pytest.mark.parametrize(
    ("account", "sent"),
    [
        (
            {"sort_code": "20-20-15", "account_number": "5555-5555"},
            {"sort_code": "202015", "account_number": "55555555"},
        ),
        ({"bban": "1", "account_number": "0004711001"}, {"bban": "1"}),
        (
            {"bban": "1" * 31, "sort_code": "202015", "account_number": "1"},
            {"sort_code": "202015", "account_number": "1"},
        ),
    ],
)
def test_version_2_gets_the_identifiers_that_it_takes_without_an_iban(account: Json, sent: Json) -> None:
    assert funds_request(2, {"account": account})["account"] == sent


def test_funds_of_an_account_id_of_more_than_20_characters_are_refused_in_version_1() -> None:
    assert funds_request(1, {**ONLY_ID, "account.account_id": "x" * 20})["account"] == {"account_id": "x" * 20}
    assert "account_id" not in funds_request(2, {"account.account_id": "x" * 255})["account"]

    with pytest.raises(Refusal) as caught:
        funds_request(1, {**ONLY_ID, "account.account_id": "x" * 21})

    reason = "must have at most 20 characters at banks of version 1"
    assert refused_members(caught.value) == {"account.account_id": reason}


def test_funds_amount_of_more_than_10_digits_is_refused_in_version_1() -> None:
    changes = {"amount.value": "12345678901"}
    assert funds_request(2, changes)["instructed_amount"]["amount"] == "12345678901"

    with pytest.raises(Refusal) as caught:
        funds_request(1, changes)

    assert [*refused_members(caught.value)] == ["amount.value"]


# -- all members


def paths(model: type[BaseModel], place: str = "") -> Iterator[str]:
    """Yield the paths of a model's members that are not objects, without the positions in lists."""
    for name, field in model.model_fields.items():
        inner = _inner_model(field.annotation)
        yield from paths(inner, f"{place}{name}.") if inner else [f"{place}{name}"]


def _inner_model(annotation: Any) -> type[BaseModel] | None:
    parts = [annotation, *getattr(annotation, "__args__", ())]
    return next((part for part in parts if isinstance(part, type) and issubclass(part, BaseModel)), None)


def mapped(table: RequestTable) -> tuple[set[str], set[str]]:
    """Return the unified members that a table maps, refuses or leaves out, and the native members that it sends."""
    unified = {row.unified for row in table.rows} | {row.unified for row in table.refused} | {*table.left_out}
    native = {row.native for row in table.rows}
    if table.payments is not None:
        of_payment, sent = mapped(table.payments)
        of_order = {each for each in of_payment if each.startswith(ORDER)}
        unified |= {f"payments.{each}" for each in of_payment - of_order}
        unified |= {each.removeprefix(f"{ORDER}.") for each in of_order}
        native |= {f"payments.{each}" for each in sent}
    return unified, native


def covers(known: set[str], path: str) -> bool:
    """Return whether a member or an object that contains it is known."""
    return any(path == each or path.startswith(f"{each}.") for each in known)


TABLES = [
    *((version, BODIES[kind], payment_table(version, kind), kind) for version in (1, 2) for kind in KINDS),
    *((version, FundsRequest, UNIFIED_VERSIONS[version].funds_confirmations.request, None) for version in (1, 2)),
]


@pytest.mark.parametrize(("version", "body", "table", "kind"), TABLES)
def test_every_member_of_a_body_is_mapped_refused_or_left_out(
    version: int, body: type[BaseModel], table: RequestTable, kind: Kind | None
) -> None:
    unified, native = mapped(table)
    webhooks = VERSIONS[version]
    model = webhooks.payments[kind].request if kind else webhooks.relayed["funds_confirmations"].request

    assert [path for path in paths(body) if not covers(unified, path)] == []
    assert [path for path in paths(model) if not covers(native, path)] == []
