"""What a native response says: the expected unified response, by the contract and without the rows of the mapping."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import date
from decimal import Decimal
from typing import Any

from chalicelib.foundation import jsontext
from tests.openbanking.unified.bodies import Json, member

MOST_DIGITS = 100
_BALANCE_TYPES = {
    "interimBooked": "booked",
    "interimAvailable": "available",
    "openingBooked": "opening_booked",
    "forwardAvailable": "forward_available",
    "nonInvoiced": "non_invoiced",
}


# -- values


def text(value: Any) -> str | None:
    return value if isinstance(value, str) and value.strip() else None


def digits(value: Any) -> str:
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


def inner(holder: Json, name: str) -> Json:
    found = holder.get(name)
    return found if isinstance(found, dict) else {}


def signed(amount: Any) -> tuple[str, str]:
    """Return the direction and the digits without a sign."""
    found = digits(amount)
    return ("debit" if found.startswith("-") else "credit"), found.removeprefix("-")


# -- entries


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


def extra_of_balance(native: Json) -> Json:
    """Return what the members say that no model of a balance has."""
    is_included = native.get("credit_limit_included")
    return {
        "as_of": text(native.get("last_change_date_time")) or text(native.get("reference_date")),
        "credit_limit_included": is_included if isinstance(is_included, bool) else None,
    }


def balance_1(native: Json) -> Json:
    return {
        "type": "booked",
        "amount.value": digits(native["balance"]),
        "amount.currency": text(native["currency"]),
        **extra_of_balance(native),
    }


def balance_2(native: Json) -> Json:
    amount = native["balance_amount"]
    return {
        "type": _BALANCE_TYPES.get(native["balance_type"], "other"),
        "native_type": text(native["balance_type"]),
        "amount.value": digits(amount["amount"]),
        "amount.currency": text(amount["currency"]),
        **extra_of_balance(native),
    }


def payment_status(native: Json) -> str | None:
    """Return the unified status of a version 1 payment record, ``None`` if it is not listed."""
    given = native.get("status")
    if given is None or (isinstance(given, str) and not given.strip()) or digits_or_none(given) == "4":
        return "booked"
    return None if digits_or_none(given) in ("2", "3") else "pending"


def digits_or_none(value: Any) -> str | None:
    is_number = isinstance(value, str | int | Decimal) and not isinstance(value, bool)
    return str(value) if is_number else None


def transaction_1(native: Json) -> Json:
    direction, value = signed(native["amount"])
    sides = ["sender_data", "receiver_data"] if direction == "debit" else ["receiver_data", "sender_data"]
    given = native.get("additional_data")
    objects = [each for each in (given if isinstance(given, list) else [given]) if isinstance(each, dict)]
    found: list[Json] = [
        next((each[side] for each in objects if isinstance(each.get(side), dict)), {}) for side in sides
    ]
    own, other = found
    return {
        "transaction_id": identifier(native["id"]),
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


# -- responses

ENTRIES: dict[tuple[int, str], Callable[[Json], Json]] = {
    (1, "accounts"): account_1,
    (2, "accounts"): account_2,
    (1, "account"): account_1,
    (2, "account"): account_2,
    (1, "balances"): balance_1,
    (2, "balances"): balance_2,
    (1, "transactions"): transaction_1,
    (2, "transactions"): transaction_2,
}
"""The function that reads an entry, by version and read."""
_AMOUNTS = {
    (1, "balances"): "balance",
    (2, "balances"): "balance_amount.amount",
    (1, "transactions"): "amount",
    (2, "transactions"): "transaction_amount.amount",
}
OTHER_ACCOUNTS = {"position": "accounts", "member": "id", "reason": "is the requested account in no entry"}


def expected_read(version: int, name: str, native: Json, account_id: str) -> tuple[list[Json], list[Json]]:
    """Return the entries and the problems of a unified read, from the native response to the same request.

    An entry has the paths of its members that are not null, and ``native``.
    """
    entries, problems = [], []
    for position, entry, status in _listed(version, name, native):
        amount = _AMOUNTS.get((version, name))
        if amount is not None and _is_too_long(member(entry, amount)):
            problems.append({"position": position, "member": amount, "reason": "must be a number"})
        elif status != "not listed":
            entries.append({**ENTRIES[version, name](entry), "status": status, "native": entry})
    if (version, name) == (1, "balances"):
        of_account = [str(each["id"]) == account_id for each in native["accounts"]]
        if any(of_account):
            entries = [each for each in entries if str(each["native"]["id"]) == account_id]
        elif len(of_account) > 1:
            entries, problems = [], [*problems, OTHER_ACCOUNTS]
    entries.sort(key=lambda each: each["status"] == "pending")
    return [{path: value for path, value in each.items() if value is not None} for each in entries], problems


def _listed(version: int, name: str, native: Json) -> Iterator[tuple[str, Json, str | None]]:
    """Yield the position, the entry and the status of each entry of a native response."""
    if name == "account":
        yield "account", native["account"], None
        return
    lists = {"accounts": native.get("accounts"), "balances": native.get("balances"), "payments": native.get("payments")}
    lists |= {status: native.get("transactions", {}).get(status) for status in ("booked", "pending")}
    for list_name, entries in lists.items():
        for place, entry in enumerate(entries or ()):
            status = payment_status(entry) or "not listed" if list_name == "payments" else None
            yield f"{list_name}[{place}]", entry, list_name if list_name in ("booked", "pending") else status


def _is_too_long(amount: Any) -> bool:
    """Whether a number needs more digits than a unified number can have."""
    return len(digits(amount).lstrip("-").replace(".", "")) > MOST_DIGITS


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


def check_read(version: int, name: str, native: Json, unified: Json, account_id: str, *, status: str = "all") -> None:
    """Check that a unified response, with ``native``, says what the native response to the same request says.

    ``status`` is that of the transactions that the requests ask for.
    """
    found = [_flattened(each) for each in ([unified["account"]] if name == "account" else unified[name])]

    entries, problems = expected_read(version, name, native, account_id)
    entries = [each for each in entries if status == "all" or each["status"] == status]
    assert unified.get("problems", []) == problems, "the problems differ"
    assert [jsontext.dumps(each.pop("native")) for each in found] == [
        jsontext.dumps(each.pop("native")) for each in entries
    ], "the entries differ"
    assert found == entries, "the members of an entry differ"


def _flattened(entry: Json) -> Json:
    members = {name: value for name, value in entry.items() if name not in ("native", "stable_key")}
    return {**dict(leaves(members)), "native": entry["native"]}
