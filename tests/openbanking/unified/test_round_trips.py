"""Random messages of banks and of TPPs: the unified message says what the native one says, and nothing else.

The strategies follow the models of the messages, and the expected members are those of the contract, read here without
the rows of the mapping.
"""

from collections.abc import Iterator, Sequence
from datetime import date
from decimal import Decimal
from functools import cache
from typing import Any, NamedTuple, get_args
from unittest.mock import patch

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from pydantic.fields import FieldInfo

from chalicelib.foundation.fields.decimal_rules import NumberRule
from chalicelib.foundation.fields.field_types import Message, ValueRule
from chalicelib.foundation.fields.number_rules import IdRule
from chalicelib.foundation.fields.problems import InvalidMessage
from chalicelib.foundation.fields.registries import alpha_3_countries
from chalicelib.foundation.jsontext import Number
from chalicelib.openbanking.flows.consent import permissions
from chalicelib.openbanking.protocol import v1_account_messages, v2_account_messages
from chalicelib.openbanking.protocol.errors import Refusal
from chalicelib.openbanking.protocol.payment_enumerations import Kind
from chalicelib.openbanking.protocol.versions import VERSIONS
from chalicelib.openbanking.unified.bank_requests import read_request
from chalicelib.openbanking.unified.payment_messages import BODIES
from tests.openbanking.kit import IBAN
from tests.openbanking.relay import Relay
from tests.openbanking.unified.bodies import KINDS, RECEIVER, Json, member, payment_table, refused_members
from tests.openbanking.unified_reads import bank_list, read

BANKS = pytest.mark.parametrize("version", [1, 2])
EVERY_KIND = pytest.mark.parametrize("kind", KINDS)
ABSENT: Any = ...
BLANK = st.sampled_from(["", " ", "\u00a0 "])
TEXT = st.text("aZé7 '\u00a0", min_size=1, max_size=12)
PRINTABLE = st.text("aZé7-/", min_size=1, max_size=12)
DIGITS = st.text("0123456789", min_size=1, max_size=8)
NUMBERS = st.one_of(
    st.from_regex(r"-?(0|[0-9]{1,8})(\.[0-9]{1,3})?", fullmatch=True),
    st.from_regex(r"-?(0|[1-9][0-9]{0,7})\.[0-9]{1,3}", fullmatch=True).map(Number),
    st.sampled_from(["1E+2", "-5e-3", "-0", "-2.50E1"]).map(Number),
    st.integers(-(10**9), 10**9),
)
IBANS = st.sampled_from([IBAN, RECEIVER, "gb33 buKB 2020 1555 5555 55", "GB33BUKB2020155555555X", "x 1"])
DAYS = st.sampled_from(["2026-01-30", "2026-01-30T08:00:00Z", "2026-02-30", "30.01.2026", "2026-01-3"])


ODD_VALUE = st.sampled_from([ABSENT, None, "", " ", True, {"x": "y"}, ["x"]])
ODD_OBJECT = st.sampled_from([ABSENT, None, "", True, 7, "x"])
"""What a bank may send for an optional member: nothing, blank text or another type."""


# -- strategies


def parts_of(annotation: Any) -> Iterator[Any]:
    """Yield the parts of an annotation: members of unions, entries of lists, and rules."""
    yield annotation
    for part in (*get_args(annotation), *getattr(annotation, "__metadata__", ())):
        yield from parts_of(part)


class Member(NamedTuple):
    """A member of a message: the model of its object or of the entries of its list, or the rule of its value."""

    name: str
    model: type[Message] | None
    rule: Any
    is_list: bool
    is_required: bool


@cache
def members_of(model: type[Message]) -> Sequence[Member]:
    """Return the members of a model."""
    return [_member(name, field) for name, field in model.model_fields.items()]


def _member(name: str, field: FieldInfo) -> Member:
    parts = [*field.metadata, *parts_of(field.annotation)]
    model = next((each for each in parts if isinstance(each, type) and issubclass(each, Message)), None)
    rule = next((each for each in parts if isinstance(each, ValueRule)), None)
    is_list = any(getattr(each, "__origin__", None) is list for each in parts)
    return Member(name, model, rule, is_list, field.is_required())


def native_value(name: str, rule: Any) -> st.SearchStrategy[Any]:
    """Return the values that a bank may send for a mandatory member."""
    if name == "status":
        return st.sampled_from([1, 2, 3, 4, "4", "2", 0, 7])
    if name == "balance_type":
        return st.sampled_from([*v2_account_messages.BALANCE_TYPES, "closingBooked", " "])
    if isinstance(rule, NumberRule):
        return st.integers(0, 10**12) | DIGITS if rule.named else NUMBERS
    if isinstance(rule, IdRule):
        return (DIGITS if rule.digits else PRINTABLE) | st.integers(0, 999_999)
    named = IBANS if name == "iban" else DAYS if "date" in name else TEXT
    return named | BLANK.filter(bool)


@st.composite
def natives(draw: st.DrawFn, model: type[Message]) -> Json:
    """Draw a message for which the native call would not refuse the response.

    An optional member may be absent, null, blank or of the wrong type.
    """
    message = {}
    for name, model_inside, rule, is_list, is_required in members_of(model):
        values = natives(model_inside) if model_inside else native_value(name, rule)
        values = st.lists(values, max_size=3) if is_list else values
        odd = ODD_OBJECT if model_inside else ODD_VALUE
        value = draw(odd if not is_required and draw(st.integers(0, 3)) == 0 else values)
        if value is not ABSENT:
            message[name] = value
    return message


# -- what a native message says


def text(value: Any) -> str | None:
    return value if isinstance(value, str) and value.strip() else None


def digits(value: Any) -> str | None:
    """Return the digits of a number, without an exponent."""
    return value if isinstance(value, str) else f"{Decimal(str(value)):f}"


def identifier(value: Any) -> str | None:
    return text(str(value))


def iban(value: Any) -> str | None:
    given = text(value)
    return given and "".join(given.split()).upper()


def day(value: Any) -> str | None:
    if not isinstance(value, str) or value[10:11] not in ("", "T"):
        return None
    try:
        return date.fromisoformat(value[:10]).isoformat()
    except ValueError:
        return None


def british(holder: Json) -> tuple[str | None, str | None]:
    """Return the sort code and the account number of an account's IBAN."""
    found = iban(holder.get("iban")) or ""
    is_british = found.startswith("GB") and len(found) == 22 and found[8:].isdecimal()
    return (found[8:14], found[14:]) if is_british else (None, None)


def inner(holder: Any, name: str) -> Json:
    found = holder.get(name)
    return found if isinstance(found, dict) else {}


def account_1(native: Json) -> Json:
    sort_code, number = british(native)
    return {
        "account_id": identifier(native["id"]),
        "name": text(native["name"]),
        "currency": text(native["currency"]),
        "iban": iban(native["iban"]),
        "sort_code": sort_code,
        "account_number": number,
    }


def account_2(native: Json) -> Json:
    sort_code, number = british(native)
    schemes = native.get("payment_schemes")
    texts = [each for each in schemes if text(each)] if isinstance(schemes, list) else []
    return {
        "account_id": identifier(native["resource_id"]),
        "name": text(native.get("name")),
        "currency": text(native["currency"]),
        "iban": iban(native.get("iban")),
        "bban": text(native.get("bban")),
        "sort_code": text(native.get("sort_code")) or sort_code,
        "account_number": text(native.get("account_number")) or number,
        "payment_schemes": texts if texts or schemes == [] else None,
    }


def balance_1(native: Json) -> Json:
    amount = {"amount.value": digits(native["balance"]), "amount.currency": text(native["currency"])}
    return {"type": "booked", **amount}


def balance_2(native: Json) -> Json:
    words = {"interimBooked": "booked", "interimAvailable": "available", "openingBooked": "opening_booked"}
    words |= {"forwardAvailable": "forward_available", "nonInvoiced": "non_invoiced"}
    amount = native["balance_amount"]
    return {
        "type": words.get(native["balance_type"], "other"),
        "native_type": text(native["balance_type"]),
        "amount.value": digits(amount["amount"]),
        "amount.currency": text(amount["currency"]),
    }


def signed(amount: Any) -> tuple[str, str]:
    """Return the direction and the digits without a sign."""
    found = digits(amount) or ""
    return ("debit" if found.startswith("-") else "credit"), found.removeprefix("-")


def status_1(native: Json) -> str | None:
    """Return the status of a payment record, ``None`` if it is not listed."""
    given = native.get("status")
    if given is None or (isinstance(given, str) and not given.strip()) or str(given) == "4":
        return "booked"
    return None if str(given) in ("2", "3") else "pending"


def transaction_1(native: Json) -> Json:
    direction, value = signed(native["amount"])
    sides = ["sender_data", "receiver_data"] if direction == "debit" else ["receiver_data", "sender_data"]
    listed = native.get("additional_data")
    listed = [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
    found: list[Json] = [next((each[side] for each in listed if inner(each, side)), {}) for side in sides]
    own, other = found
    return {
        "transaction_id": identifier(native["id"]),
        "status": status_1(native),
        "direction": direction,
        "amount.value": value,
        "amount.currency": text(own.get("currency")),
        "date": day(native["date_created"]),
        "counterparty.name": text(other.get("account_name")),
        "counterparty.iban": iban(other.get("iban")),
        **{f"counterparty.{each}": text(other.get(each)) for each in ("sort_code", "account_number", "bic")},
        "remittance.unstructured": text(native["description"]),
        "remittance.reference": text(native["reference"]),
    }


def transaction_2(native: Json) -> Json:
    amount, structured = native["transaction_amount"], inner(native, "remittance_information_structured")
    direction, value = signed(amount["amount"])
    other = "creditor" if direction == "debit" else "debtor"
    account = inner(native, f"{other}_account")
    booking_date, value_date = day(amount.get("booking_date")), day(amount.get("value_date"))
    return {
        "transaction_id": text(native.get("transaction_id")),
        "direction": direction,
        "amount.value": value,
        "amount.currency": text(amount["currency"]),
        "date": booking_date or value_date,
        "booking_date": booking_date,
        "value_date": value_date,
        "counterparty.name": text(native.get(f"{other}_name")),
        "counterparty.iban": iban(account.get("iban")),
        **{f"counterparty.{each}": text(account.get(each)) for each in ("bban", "sort_code", "account_number")},
        "remittance.unstructured": text(native.get("remittance_information_unstructured")),
        "remittance.reference": text(structured.get("reference")),
        "remittance.reference_type": text(structured.get("reference_type")),
    }


# -- reads

READS: Any = {
    (1, "accounts"): (v1_account_messages.Account, account_1),
    (2, "accounts"): (v2_account_messages.AccountReference, account_2),
    (1, "balances"): (v1_account_messages.Balance, balance_1),
    (2, "balances"): (v2_account_messages.Balance, balance_2),
    (1, "transactions"): (v1_account_messages.ListedPayment, transaction_1),
    (2, "transactions"): (v2_account_messages.Transaction, transaction_2),
}
"""The model of an entry, and the function that reads it, by version and read."""


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the paths and values of the members that are neither objects nor null; entries of lists by position."""
    if isinstance(value, dict):
        for name, each in value.items():
            yield from leaves(each, f"{path}.{name}" if path else name)
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        for place, each in enumerate(value):
            yield from leaves(each, f"{path}.{place}")
    elif value is not None:
        yield path, value


def without_null(members: Json) -> Json:
    return {name: value for name, value in members.items() if value is not None}


@pytest.mark.parametrize(("version", "name"), READS)
@given(data=st.data())
@settings(max_examples=40, derandomize=True)
def test_a_unified_read_says_exactly_what_the_entries_of_the_bank_say(
    relay: Relay, version: int, name: str, data: st.DataObject
) -> None:
    model, said = READS[version, name]
    most = 1 if (version, name) == (1, "balances") else 5  # a list of several balances is searched for the account
    entries = data.draw(st.lists(natives(model), min_size=1, max_size=most))

    with patch.object(permissions, "is_approved", return_value=True):  # or accounts of other ids would be withheld
        body = read(relay, version, name, bank_list(version, name, entries), native="1")

    set_here = {"stable_key", "status"} if (version, name) == (2, "transactions") else {"stable_key"}
    assert body["problems"] == []
    listed = [each for each in entries if (version, name) != (1, "transactions") or status_1(each)]
    assert len(body[name]) == len(listed)
    for entry in body[name]:
        native = entry.pop("native")
        found = {path: value for path, value in leaves(entry) if path not in set_here}
        assert found == without_null(said(native))


# -- payments

CHOICES: dict[str, st.SearchStrategy[Any]] = {
    "iban": st.sampled_from([RECEIVER, IBAN]),
    "sort_code": st.just("202015"),
    "account_number": st.just("55555555"),
    "building_number": st.sampled_from(["12", "12 a"]),
    "town_name": st.sampled_from(["Köln", "O"]),
    "country": st.sampled_from(["DE", "GB", "FI"]),
    "currency": st.just("EUR"),
    "value": st.from_regex(r"0{0,2}[1-9][0-9]{0,3}(\.[0-9]{1,2}0{0,2})?", fullmatch=True),
    "callback_url": st.sampled_from(["https://tpp.example.com/paid", "http://127.0.0.1:8000/a?b=c"]),
    "scheme": st.sampled_from(["SCT", "SCTI", "FPS"]),
    "reference_type": st.sampled_from(["SCOR", "QRR"]),
    "bic": st.just("NDEAFIHH"),
}
"""The values of members that have their own form, by name."""
ODD: dict[str, Any] = {
    "sort_code": "20-20",
    "account_number": "123456789",
    "building_number": "12 abc",
    "town_name": "Köln 7",
    "value": "12345678901",
}
"""Values that some versions refuse, beside texts that are as long as any version allows."""
LIKELY = {"iban": 7, "bank": 1}
"""How often of eight times an optional member is sent, if it is not half of the times."""


@st.composite
def orders(draw: st.DrawFn, model: type[Message]) -> Json:
    """Draw a body that most banks take. An optional member may be absent or null."""
    body = {}
    for name, model_inside, rule, is_list, is_required in members_of(model):
        values: Any = orders(model_inside) if model_inside else order_values(name, rule)
        values = st.lists(values, min_size=1, max_size=3) if is_list else values
        is_sent = is_required or (name != "total" and draw(st.integers(0, 7)) < LIKELY.get(name, 4))
        value = draw(values if is_sent else st.sampled_from([ABSENT, None]))
        if value is not ABSENT:
            body[name] = value
    return body


@st.composite
def order_values(draw: st.DrawFn, name: str, rule: Any) -> Any:
    values = CHOICES[name] if name in CHOICES else st.text("é7 ", max_size=4).map(lambda text: f"a{text}")
    is_odd = name not in CHOICES or name in ODD
    return ODD.get(name, "a" * rule.longest) if is_odd and draw(st.integers(0, 15)) == 0 else draw(values)


def payee_of_1(native: Json) -> Json:
    """Return the payee, the amount and the remittance that a request to a version 1 bank says."""
    address = native.get("receiver_address", {})
    two = {three: code for code, three in alpha_3_countries().items()}
    return {
        "creditor": {
            "name": native["receiver_name"],
            **{each: native.get(f"receiver_{each}") for each in ("iban", "sort_code", "account_number")},
            "address": {
                **{each: address.get(each) for each in ("street_name", "building_number", "town_name")},
                "postal_code": address.get("post_code"),
                "country": two.get(address.get("country"), address.get("country")),
            },
        },
        "amount": {"value": native["amount"], "currency": native["currency"]},
        "remittance": {"unstructured": native.get("message_for_receiver"), "reference": native.get("reference")},
    }


def order_1(native: Json) -> Json:
    """Return what a request to a version 1 bank says."""
    order = {"callback_url": native["callback_url"], "debtor": {"iban": native.get("sender_iban")}}
    if "payments" not in native:
        return {**order, "scheme": native.get("payment_scheme"), **payee_of_1(native)}
    (scheme,) = {each.get("payment_scheme") for each in native["payments"]}
    (total,) = native["totals"]
    total = {"value": total["amount"], "currency": total["currency"]}
    return {**order, "scheme": scheme, "total": total, "payments": [payee_of_1(each) for each in native["payments"]]}


def payee_of_2(native: Json) -> Json:
    """Return the payee, the amount and the remittance that a request to a version 2 bank says."""
    amount, bank = native["instructed_amount"], native.get("creditor_bank")
    creditor = {"name": native["creditor_name"], **native["creditor_account"]}
    return {
        "creditor": {**creditor, "address": native.get("creditor_address"), "bank": bank},
        "amount": {"value": amount["amount"], "currency": amount["currency"]},
        "remittance": {
            "unstructured": native.get("remittance_information_unstructured"),
            **native.get("remittance_information_structured", {}),
        },
    }


def order_2(native: Json) -> Json:
    """Return what a request to a version 2 bank says."""
    debtor = {"name": native.get("debtor_name"), **native.get("debtor_account", {})}
    order = {"callback_url": native["callback_url"], "debtor": debtor, "scheme": native.get("payment_scheme")}
    if "payments" not in native:
        return {**order, **payee_of_2(native)}
    total = {"value": native["instructed_totals"]["amount"], "currency": native["instructed_totals"]["currency"]}
    return {**order, "total": total, "payments": [payee_of_2(each) for each in native["payments"]]}


LEFT_OUT = ("debtor.name", "debtor.bban", "debtor.sort_code", "debtor.account_number", "creditor.bban")
LEFT_OUT_1 = (*LEFT_OUT, "remittance.reference_type")
"""The members that version 1 does not have and that never change where money goes."""


def expected_order(version: int, body: Json) -> Json:
    """Return the members of a unified order that the request to a bank of a version must say."""
    members = dict(leaves(body))
    if version == 1:
        return {path: value for path, value in members.items() if not path.endswith(LEFT_OUT_1)}
    references = [path for path in members if path.endswith("remittance.reference")]
    return {**{f"{path}_type": "SCOR" for path in references}, **members}


def total_of(body: Json) -> Json:
    """Return the sum that is computed for a bulk payment."""
    values = [Decimal(each["amount"]["value"]) for each in body.get("payments", ())]
    return {"total.value": f"{sum(values):f}", "total.currency": "EUR"} if values else {}


@BANKS
@EVERY_KIND
@given(data=st.data())
@settings(max_examples=40, derandomize=True)
def test_an_accepted_order_is_sent_unchanged_and_a_refused_one_names_its_members(
    version: int, kind: Kind, data: st.DataObject
) -> None:
    given_body = data.draw(orders(BODIES[kind]))
    try:
        body = BODIES[kind].read(given_body).members()
    except InvalidMessage:
        assume(False)

    try:
        native = read_request(payment_table(version, kind), VERSIONS[version].payments[kind].request, body, version)
    except Refusal as refusal:
        names = refused_members(refusal)
        required = {"debtor.iban", "payments"} if kind == "bulk" else set()
        assert names
        assert [name for name in names if member(given_body, name) is None and name not in required] == []
        return

    said = order_1(native) if version == 1 else order_2(native)
    assert dict(leaves(said)) == {**expected_order(version, given_body), **total_of(given_body)}
