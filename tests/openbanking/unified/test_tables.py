"""The rows of both versions: every row of the mapping, and every native member, which is mapped or native only."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, get_args, get_type_hints, is_typeddict

import pytest

from chalicelib.foundation.fields.field_types import Message, OpenMessage
from chalicelib.foundation.jsontext import Number
from chalicelib.openbanking.protocol.versions import VERSIONS
from chalicelib.openbanking.protocol.webhooks import RELAYED
from chalicelib.openbanking.unified import answers, v1_tables, v2_tables
from chalicelib.openbanking.unified.bank_requests import build_request
from chalicelib.openbanking.unified.calls import UNIFIED_READS
from chalicelib.openbanking.unified.rows import BANK, Shape, Sides
from chalicelib.openbanking.unified.tables import ReadTable, TransactionTable
from chalicelib.openbanking.unified.versions import UNIFIED_VERSIONS
from tests.openbanking.unified.transaction_lists import payment, read_one, transaction

GB = "GB10DEMO04000431926801"
DE = "DE61100999000004711001"
NOTHING: Any = ...
"""A member that the bank does not send."""


def value_at(built: Mapping[str, Any], path: str) -> Any:
    for name in path.split("."):
        built = built[name]
    return built


# -- accounts

ACCOUNTS: dict[int, dict[str, Any]] = {
    1: {"id": 31926801, "name": "Current account", "iban": GB, "currency": "GBP", "additional_data": [{"x": 1}]},
    2: {
        "resource_id": "r/1 ?",
        "iban": DE,
        "bban": "100999000004711001",
        "sort_code": "112233",
        "account_number": "12345678",
        "currency": "EUR",
        "name": "Girokonto",
        "payment_schemes": ["SCT", "SCTI"],
        "own": True,
    },
}
ACCOUNT_CASES = [
    (1, {}, "account_id", "31926801"),
    (1, {"id": "0031926801"}, "account_id", "0031926801"),
    (1, {"id": 2**100}, "account_id", str(2**100)),
    (1, {}, "name", "Current account"),
    (1, {"name": " "}, "name", None),
    (1, {}, "currency", "GBP"),
    (1, {"currency": ""}, "currency", None),
    (1, {"iban": "gb10 demo 0400 0431 9268 01"}, "iban", GB),
    (1, {"iban": ""}, "iban", None),
    (1, {"bban": "1"}, "bban", None),
    (1, {}, "sort_code", "040004"),
    (1, {"iban": "gb10 demo 0400 0431 9268 01"}, "sort_code", "040004"),
    (1, {"sort_code": "999999"}, "sort_code", "040004"),
    (1, {"iban": DE}, "sort_code", None),
    (1, {}, "account_number", "31926801"),
    (1, {"account_number": "9"}, "account_number", "31926801"),
    (1, {"iban": DE}, "account_number", None),
    (1, {"payment_schemes": ["FPS"]}, "payment_schemes", None),
    (2, {}, "account_id", "r/1 ?"),
    (2, {}, "name", "Girokonto"),
    (2, {"name": NOTHING}, "name", None),
    (2, {"name": ["x"]}, "name", None),
    (2, {}, "currency", "EUR"),
    (2, {}, "iban", DE),
    (2, {"iban": NOTHING}, "iban", None),
    (2, {}, "bban", "100999000004711001"),
    (2, {"bban": NOTHING}, "bban", None),
    (2, {}, "sort_code", "112233"),
    (2, {"iban": GB}, "sort_code", "112233"),
    (2, {"iban": GB, "sort_code": NOTHING}, "sort_code", "040004"),
    (2, {"iban": GB, "sort_code": " "}, "sort_code", "040004"),
    (2, {"sort_code": NOTHING}, "sort_code", None),
    (2, {}, "account_number", "12345678"),
    (2, {"iban": GB}, "account_number", "12345678"),
    (2, {"iban": GB, "account_number": NOTHING}, "account_number", "31926801"),
    (2, {"account_number": None}, "account_number", None),
    (2, {}, "payment_schemes", ["SCT", "SCTI"]),
    (2, {"payment_schemes": []}, "payment_schemes", []),
    (2, {"payment_schemes": NOTHING}, "payment_schemes", None),
    (2, {"payment_schemes": None}, "payment_schemes", None),
    (2, {"payment_schemes": "SCT"}, "payment_schemes", None),
]


def changed(entry: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return an entry with other members, without those that are ``NOTHING``."""
    return {name: value for name, value in {**entry, **changes}.items() if value is not NOTHING}


@pytest.mark.parametrize("read", ["accounts", "account"])
@pytest.mark.parametrize(("version", "changes", "member", "expected"), ACCOUNT_CASES)
def test_member_of_an_account(read: str, version: int, changes: dict[str, Any], member: str, expected: Any) -> None:
    table: ReadTable = getattr(UNIFIED_VERSIONS[version], read)

    assert table.shape.build(changed(ACCOUNTS[version], changes))[member] == expected


# -- balances

BALANCES: dict[int, dict[str, Any]] = {
    1: {"id": "4711001", "name": "Current account", "balance": "-12.50", "currency": "EUR"},
    2: {"balance_amount": {"amount": Number("12.50"), "currency": "EUR"}, "balance_type": "interimBooked"},
}
BALANCE_CASES: list[tuple[int, dict[str, Any], str, Any]] = [
    (1, {}, "type", "booked"),
    (1, {}, "native_type", None),
    (1, {"balance_type": "interimAvailable"}, "native_type", None),
    (1, {}, "amount.value", "-12.50"),
    (1, {"balance": Number("-1E+2")}, "amount.value", "-100"),
    (1, {"balance": Number("5E-3")}, "amount.value", "0.005"),
    (1, {"balance": Number("-0")}, "amount.value", "-0"),
    (1, {"balance": "-0.00"}, "amount.value", "-0.00"),
    (1, {"balance": 7}, "amount.value", "7"),
    (1, {}, "amount.currency", "EUR"),
    *(
        (2, {"balance_type": native}, "type", word)
        for native, word in {
            "interimBooked": "booked",
            "interimAvailable": "available",
            "openingBooked": "opening_booked",
            "forwardAvailable": "forward_available",
            "nonInvoiced": "non_invoiced",
            "closingBooked": "other",
            "INTERIMBOOKED": "other",
            " ": "other",
        }.items()
    ),
    (2, {}, "native_type", "interimBooked"),
    (2, {"balance_type": "closingBooked"}, "native_type", "closingBooked"),
    (2, {"balance_type": " "}, "native_type", None),
    (2, {}, "amount.value", "12.50"),
    (2, {"balance_amount": {"amount": "-12.50", "currency": "EUR"}}, "amount.value", "-12.50"),
    (2, {}, "amount.currency", "EUR"),
]
EXTRA_CASES: list[tuple[dict[str, Any], str, Any]] = [
    ({}, "as_of", None),
    ({"last_change_date_time": "2026-01-31T08:00:00Z"}, "as_of", "2026-01-31T08:00:00Z"),
    ({"reference_date": "31.01.2026"}, "as_of", "31.01.2026"),
    ({"last_change_date_time": "today", "reference_date": "2026-01-31"}, "as_of", "today"),
    ({"last_change_date_time": 7, "reference_date": "2026-01-31"}, "as_of", "2026-01-31"),
    ({"last_change_date_time": " ", "reference_date": "2026-01-31"}, "as_of", "2026-01-31"),
    ({"last_change_date_time": None, "reference_date": None}, "as_of", None),
    ({"reference_date": ["2026-01-31"]}, "as_of", None),
    ({}, "credit_limit_included", None),
    ({"credit_limit_included": True}, "credit_limit_included", True),
    ({"credit_limit_included": False}, "credit_limit_included", False),
    *(({"credit_limit_included": odd}, "credit_limit_included", None) for odd in ("true", 0, 1, None)),
]
UNSTATED = {"balance_type": "booked", "credit_limit_included": None}


def build_balance(version: int, changes: Mapping[str, Any], **switches: Any) -> dict[str, Any]:
    """Return the unified balance of an entry at a bank with these switches."""
    entry = changed(BALANCES[version], changes)
    return UNIFIED_VERSIONS[version].balances.shape.build({**entry, BANK: UNSTATED | switches})


@pytest.mark.parametrize(
    ("version", "changes", "member", "expected"),
    BALANCE_CASES + [(version, *case) for version in (1, 2) for case in EXTRA_CASES],
)
def test_member_of_a_balance(version: int, changes: dict[str, Any], member: str, expected: Any) -> None:
    assert value_at(build_balance(version, changes), member) == expected


@pytest.mark.parametrize(("name", "member"), [("lastChangeDateTime", "as_of"), ("referenceDate", "as_of")])
def test_extra_member_of_version_2_may_be_in_camel_case(name: str, member: str) -> None:
    assert build_balance(2, {name: "2026-01-31"})[member] == "2026-01-31"
    assert build_balance(2, {"creditLimitIncluded": False})["credit_limit_included"] is False


def test_balance_of_version_1_is_available_if_the_bank_record_says_so() -> None:
    assert build_balance(1, {}, balance_type="available")["type"] == "available"
    assert build_balance(2, {}, balance_type="available")["type"] == "booked"


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("switch", [True, False])
@pytest.mark.parametrize("sent", [True, False, None, "x"])
def test_switch_of_the_bank_precedes_the_credit_limit_of_a_balance(version: int, switch: bool, sent: Any) -> None:
    built = build_balance(version, {"credit_limit_included": sent}, credit_limit_included=switch)

    assert built["credit_limit_included"] is switch


# -- transactions

SENDER = {
    "iban": "gb10 demo 0400 0431 9268 01",
    "account_name": "Ada Okafor",
    "account_number": "31926801",
    "sort_code": "040004",
    "bic": "DEMOGB21",
    "internal_account_id": "4711001",
    "card_number": "4111111111111111",
    "currency": "GBP",
}
RECEIVER = {
    "iban": "DE89 3704 0044 0532 0130 00",
    "account_name": "Corner Shop",
    "account_number": "532013000",
    "sort_code": "370400",
    "bic": "COBADEFF",
    "internal_account_id": "9",
    "currency": "EUR",
}
DEBTOR = {"iban": GB.lower(), "bban": "B-1", "sort_code": "040004", "account_number": "31926801"}
CREDITOR = {"iban": "DE89 3704 0044 0532 0130 00", "bban": "B-2", "sort_code": "370400", "account_number": "00130000"}
TRANSACTIONS: dict[int, dict[str, Any]] = {
    1: payment("2026-000123", additional_data=[{"sender_data": SENDER, "receiver_data": RECEIVER}]),
    2: transaction(
        "2026-000123",
        creditor_account=CREDITOR,
        debtor_name="Ada Okafor",
        debtor_account=DEBTOR,
        remittance_information_structured={"reference": "RF18", "reference_type": "SCOR"},
    ),
}
TRANSACTION_CASES: list[tuple[int, dict[str, Any], dict[str, Any]]] = [
    (1, {}, {"transaction_id": "2026-000123", "status": "booked", "direction": "debit"}),
    (1, {"id": " "}, {"transaction_id": None}),
    (1, {"amount": "-42.90"}, {"amount": {"value": "42.90", "currency": "GBP"}, "direction": "debit"}),
    (1, {"amount": "42.90"}, {"amount": {"value": "42.90", "currency": "EUR"}, "direction": "credit"}),
    (1, {"additional_data": None}, {"amount": {"value": "12.50", "currency": None}}),
    (1, {}, {"date": "2026-01-30", "booking_date": None, "value_date": None}),
    (1, {"date_created": "2026-01-30T09:30:00Z"}, {"date": "2026-01-30"}),
    (1, {"date_created": "30.01.2026"}, {"date": None}),
    (1, {}, {"remittance": {"unstructured": "Invoice 17", "reference": "RF18", "reference_type": None}}),
    (
        1,
        {"description": " ", "reference": ""},
        {"remittance": dict.fromkeys(("unstructured", "reference", "reference_type"))},
    ),
    (
        1,
        {},
        {
            "counterparty": {
                "name": "Corner Shop",
                "iban": "DE89370400440532013000",
                "bban": None,
                "sort_code": "370400",
                "account_number": "532013000",
                "bic": "COBADEFF",
            }
        },
    ),
    (
        1,
        {"amount": "12.50"},
        {
            "counterparty": {
                "name": "Ada Okafor",
                "iban": GB,
                "bban": None,
                "sort_code": "040004",
                "account_number": "31926801",
                "bic": "DEMOGB21",
            }
        },
    ),
    (2, {}, {"transaction_id": "2026-000123", "status": "booked", "direction": "debit"}),
    (2, {"transaction_id": NOTHING}, {"transaction_id": None}),
    (2, {"transaction_id": " "}, {"transaction_id": None}),
    (2, {}, {"amount": {"value": "12.50", "currency": "EUR"}}),
    (2, {}, {"date": "2026-01-30", "booking_date": "2026-01-30", "value_date": "2026-01-31"}),
    (
        2,
        {
            "transaction_amount": {
                "amount": "1",
                "currency": "EUR",
                "booking_date": "x",
                "value_date": "2026-01-31T00:00:00",
            }
        },
        {"date": "2026-01-31", "booking_date": None, "value_date": "2026-01-31", "direction": "credit"},
    ),
    (
        2,
        {"transaction_amount": {"amount": "1", "currency": ""}},
        {"date": None, "amount": {"value": "1", "currency": None}},
    ),
    (2, {}, {"remittance": {"unstructured": "Invoice 17", "reference": "RF18", "reference_type": "SCOR"}}),
    (
        2,
        {"remittance_information_structured": {"reference": "RF18"}, "remittance_information_unstructured": None},
        {"remittance": {"unstructured": None, "reference": "RF18", "reference_type": None}},
    ),
    (
        2,
        {"remittance_information_structured": "RF18"},
        {"remittance": {"unstructured": "Invoice 17", "reference": None, "reference_type": None}},
    ),
    (
        2,
        {},
        {
            "counterparty": {
                "name": "Corner Shop",
                "iban": "DE89370400440532013000",
                "bban": "B-2",
                "sort_code": "370400",
                "account_number": "00130000",
                "bic": None,
            }
        },
    ),
    (
        2,
        {"transaction_amount": {"amount": "1", "currency": "EUR"}},
        {
            "counterparty": {
                "name": "Ada Okafor",
                "iban": GB,
                "bban": "B-1",
                "sort_code": "040004",
                "account_number": "31926801",
                "bic": None,
            }
        },
    ),
]


@pytest.mark.parametrize(("version", "changes", "expected"), TRANSACTION_CASES)
def test_members_of_a_transaction(version: int, changes: dict[str, Any], expected: dict[str, Any]) -> None:
    assert read_one(version, changed(TRANSACTIONS[version], changes)).items() >= expected.items()


@pytest.mark.parametrize("version", [1, 2])
def test_nothing_of_a_counterparty_is_derived_from_its_iban(version: int) -> None:
    native = (
        payment(additional_data=[{"receiver_data": {"iban": GB, "currency": "GBP"}}])
        if version == 1
        else transaction(creditor_name=NOTHING, creditor_account={"iban": GB})
    )

    nothing = dict.fromkeys(("name", "bban", "sort_code", "account_number", "bic"))
    assert read_one(version, native)["counterparty"] == {**nothing, "iban": GB}


@pytest.mark.parametrize(
    ("additional_data", "name"),
    [
        ({"receiver_data": RECEIVER}, "Corner Shop"),
        ([{"receiver_data": RECEIVER}], "Corner Shop"),
        ([{"sender_data": SENDER}, {"receiver_data": RECEIVER}, {"receiver_data": SENDER}], "Corner Shop"),
        ([None, "x", {}, {"receiver_data": None}, {"receiver_data": RECEIVER}], "Corner Shop"),
        ([{"receiver_data": {"account_name": 7}}, {"receiver_data": RECEIVER}], None),
        ([{"receiver_data": [RECEIVER]}], None),
        ([], None),
        (None, None),
        ("x", None),
        (NOTHING, None),
    ],
)
def test_first_additional_data_of_version_1_that_has_the_side_counts(additional_data: Any, name: str | None) -> None:
    native = changed(TRANSACTIONS[1], {"additional_data": additional_data})

    assert read_one(1, native)["counterparty"]["name"] == name


# -- requests


@pytest.mark.parametrize(
    ("version", "query", "request_to_bank"),
    [
        (1, {"account_id": "a", "limit": 7, "status": "all", "position": "3"}, {"record_count": 7, "current_page": 3}),
        (1, {"account_id": "a", "limit": 7, "status": "booked", "from": "f", "to": "t"}, {"record_count": 7}),
        (2, {"account_id": "a", "limit": 7, "status": "all"}, {"page_size": 7, "booking_status": "both"}),
        (2, {"account_id": "a", "limit": 7, "status": "booked"}, {"page_size": 7, "booking_status": "booked"}),
        (
            2,
            {"account_id": "a", "limit": 7, "status": "pending", "from": "f", "to": "t", "position": "k"},
            {"page_size": 7, "booking_status": "pending", "date_from": "f", "date_to": "t", "page_key": "k"},
        ),
    ],
)
def test_request_for_transactions_has_the_members_of_the_version(
    version: int, query: dict[str, Any], request_to_bank: dict[str, Any]
) -> None:
    table = UNIFIED_VERSIONS[version].transactions

    assert build_request(table.request, query) == {"account_id": "a", **request_to_bank}


@pytest.mark.parametrize("version", [1, 2])
def test_request_for_an_account_names_the_account(version: int) -> None:
    for table in read_tables(version):
        built = build_request(table.request, {"account_id": "a/1 ?", "native": "1"})

        assert built == ({} if table.native.name == "accounts" else {"account_id": "a/1 ?"})


@pytest.mark.parametrize("version", [1, 2])
def test_longest_account_id_is_that_of_the_version(version: int) -> None:
    lengths = {table.longest_account_id for table in read_tables(version)}

    assert lengths == {{1: 34, 2: 255}[version]}


# -- completeness

NATIVE_ONLY: Mapping[int, Sequence[str]] = {
    1: (
        *("accounts.additional_data", "account.additional_data"),
        *("balances.name",),
        *("transactions.type",),
        *("transactions.additional_data.{side}.card_number",),
        *("paginator.current_page",),
        *("request.iban",),
        "account_payment",
    ),
    2: (),
}
"""Members, and calls of AISPs, that only native calls have; ``{side}`` stands for both sides."""
USED_OTHERWISE: Mapping[int, Sequence[str]] = {
    1: (
        "balances.id",
        "transactions.status",
        "transactions.additional_data.{side}.internal_account_id",
        "paginator.limit",
    ),
    2: ("page_key",),
}
"""Members that a function of the version's table reads, instead of a row."""
SIDES: Mapping[int, Sides] = {1: v1_tables.SIDES, 2: v2_tables.SIDES}


def models_in(annotation: Any) -> Iterator[type[OpenMessage]]:
    """Yield the models in an annotation."""
    if isinstance(annotation, type) and issubclass(annotation, Message):
        yield annotation  # type: ignore[misc]
    for argument in get_args(annotation):
        yield from models_in(argument)


def members_of(model: type[Message], path: str = "") -> Iterator[str]:
    """Yield the paths of a model's members that have no members of their own."""
    for name, field in model.model_fields.items():
        inner = [*models_in(field.annotation)]
        for each in inner:
            yield from members_of(each, f"{path}{name}.")
        if not inner:
            yield f"{path}{name}"


def mapped(shape: Shape, sides: Sides) -> set[str]:
    """Return the native members of a shape's rows, for both directions."""
    natives = [row.native for row in shape.rows if row.native is not None and not row.native.startswith(BANK)]
    return {sides.at(native, direction) for native in natives for direction in ("debit", "credit")}


def expanded(members: Sequence[str], sides: Sides) -> set[str]:
    return {each.replace("{side}", side) for each in members for side in (sides.payer, sides.payee)}


def list_path(table: ReadTable) -> list[str]:
    """Return the paths of the objects of a table in the bank's response."""
    return [each.path for each in table.lists] if isinstance(table, TransactionTable) else [table.name]


def native_members(version: int, table: ReadTable) -> Iterator[str]:
    """Yield the members of a read's request and response, each below the name of its unified object."""
    webhook = VERSIONS[version].relayed[table.native.name]
    yield from (f"request.{each}" for each in members_of(webhook.request))
    for member in members_of(webhook.answer):
        path = next((each for each in list_path(table) if member.startswith(f"{each}.")), None)
        yield member if path is None else f"{object_name(table)}.{member.removeprefix(f'{path}.')}"


def object_name(table: ReadTable) -> str:
    return next(
        call.name for call in UNIFIED_READS for version in UNIFIED_VERSIONS.values() if version.read(call) is table
    )


def read_tables(version: int) -> list[ReadTable]:
    """Return the tables of account data, without that of funds confirmations."""
    tables = [UNIFIED_VERSIONS[version].read(call) for call in UNIFIED_READS]
    return [table for table in tables if isinstance(table, ReadTable)]


@pytest.mark.parametrize("version", UNIFIED_VERSIONS)
def test_every_native_member_is_mapped_by_a_row_or_native_only(version: int) -> None:
    tables = read_tables(version)
    known = {member for table in tables for member in native_members(version, table)}

    rows = {f"{object_name(table)}.{member}" for table in tables for member in mapped(table.shape, SIDES[version])}
    rows |= {f"request.{row.native}" for table in tables for row in table.request}
    others = expanded([*NATIVE_ONLY[version], *USED_OTHERWISE[version]], SIDES[version])

    assert known - rows - others == set()
    assert rows & others == set()
    assert others - known - {call.name for call in RELAYED} == set()


@pytest.mark.parametrize("version", UNIFIED_VERSIONS)
def test_rows_of_members_that_no_model_has_are_extra_members_of_balances(version: int) -> None:
    tables = read_tables(version)
    known = {member for table in tables for member in native_members(version, table)}
    rows = {f"{object_name(table)}.{member}" for table in tables for member in mapped(table.shape, SIDES[version])}

    extra = {"last_change_date_time", "reference_date", "credit_limit_included"}
    extra |= {"lastChangeDateTime", "referenceDate", "creditLimitIncluded"} if version == 2 else set()
    assert rows - known == {f"balances.{each}" for each in extra}


@pytest.mark.parametrize("version", UNIFIED_VERSIONS)
def test_every_native_call_of_account_data_is_mapped_or_native_only(version: int) -> None:
    native = {call.name for call in RELAYED if call.reads_accounts and call in VERSIONS[version].webhook_by_call}

    assert native - {table.native.name for table in read_tables(version)} == {
        each for each in NATIVE_ONLY[version] if "." not in each
    }


@pytest.mark.parametrize("version", UNIFIED_VERSIONS)
@pytest.mark.parametrize(
    ("read", "answer", "others"),
    [
        ("accounts", answers.UnifiedAccount, {"native"}),
        ("account", answers.UnifiedAccount, {"native"}),
        ("balances", answers.UnifiedBalance, {"native"}),
        ("transactions", answers.UnifiedTransaction, {"native", "stable_key", "status", "direction"}),
    ],
)
def test_every_member_of_an_answer_has_a_row_in_each_version(
    version: int, read: str, answer: Any, others: set[str]
) -> None:
    table: ReadTable = getattr(UNIFIED_VERSIONS[version], read)

    assert {row.unified for row in table.shape.rows} == {*unified_members(answer)} - others


def unified_members(answer: Any, path: str = "") -> Iterator[str]:
    """Yield the paths of the members of a response that have no members of their own."""
    for name, annotation in get_type_hints(answer).items():
        if is_typeddict(annotation):
            yield from unified_members(annotation, f"{path}{name}.")
        else:
            yield f"{path}{name}"
