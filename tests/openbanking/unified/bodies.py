"""Unified bodies of payments and funds confirmations, and their requests to banks of each version."""

from __future__ import annotations

from typing import Any

from chalicelib.openbanking.protocol.errors import Refusal
from chalicelib.openbanking.protocol.payment_enumerations import Kind
from chalicelib.openbanking.protocol.versions import VERSIONS
from chalicelib.openbanking.unified.bank_requests import RequestTable, read_request
from chalicelib.openbanking.unified.payment_messages import BODIES, FundsRequest
from chalicelib.openbanking.unified.versions import UNIFIED_VERSIONS
from tests.openbanking.examples import copied

Json = dict[str, Any]
KINDS: tuple[Kind, ...] = ("single", "bulk", "direct")
GERMAN_IBAN = "DE61100999000004711001"
BRITISH_IBAN = "GB33BUKB20201555555555"
"""The IBAN of the account 55555555 with the sort code 202015."""
RECEIVER = "DE89370400440532013000"
_TRANSFER: Json = {"creditor": {"name": "Ada", "iban": RECEIVER}, "amount": {"value": "12.30", "currency": "EUR"}}
_ORDER: Json = {"debtor": {"iban": GERMAN_IBAN}, "callback_url": "https://tpp.example.com/paid"}
_BODIES: dict[Kind, Json] = {
    "single": {**_ORDER, **_TRANSFER},
    "bulk": {**_ORDER, "payments": [_TRANSFER]},
    "direct": {"callback_url": _ORDER["callback_url"], **_TRANSFER},
}
FUNDS: Json = {"account": {"iban": GERMAN_IBAN}, "amount": {"value": "12.30", "currency": "EUR"}}
_OF_EACH_PAYMENT = ("creditor", "amount", "remittance")


def payment_body(kind: Kind, changes: Json | None = None) -> Json:
    """Return a body for banks of all versions. ``changes`` sets members by path; ``None`` removes a member.

    In a bulk payment, members of a payment are those of the only one.
    """
    body: Json = copied(_BODIES[kind])
    for path, value in (changes or {}).items():
        set_member(body, unified_place(kind, path), value)
    return body


def funds_body(changes: Json | None = None) -> Json:
    """Return the body of a funds confirmation with ``changes``, as in ``payment_body``."""
    body: Json = copied(FUNDS)
    for path, value in (changes or {}).items():
        set_member(body, path, value)
    return body


def unified_place(kind: Kind, path: str) -> str:
    """Return the path of a member in a payment of this kind."""
    return f"payments.0.{path}" if kind == "bulk" and path.split(".", maxsplit=1)[0] in _OF_EACH_PAYMENT else path


def set_member(body: Any, path: str, value: Any) -> None:
    """Set a member by its path, or remove it if ``value`` is ``None``."""
    *objects, name = path.split(".")
    for each in objects:
        body = body[int(each)] if each.isdigit() else body.setdefault(each, {})
    if value is None:
        body.pop(name, None)
    else:
        body[name] = value


def member(body: Any, path: str) -> Any:
    """Return a member by its path, or ``None`` if it is missing."""
    for each in path.split("."):
        body = body[int(each)] if isinstance(body, list) else body.get(each)
        if body is None:
            return None
    return body


def payment_table(version: int, kind: Kind) -> RequestTable:
    return UNIFIED_VERSIONS[version].payments[kind]


def payment_request(version: int, kind: Kind, changes: Json | None = None) -> Json:
    """Return the request to a bank. Raises: Refusal, InvalidMessage."""
    body = BODIES[kind].read(payment_body(kind, changes)).members()
    return read_request(payment_table(version, kind), VERSIONS[version].payments[kind].request, body, version)


def funds_request(version: int, changes: Json | None = None) -> Json:
    """Return the request to a bank. Raises: Refusal, InvalidMessage."""
    body, table = FundsRequest.read(funds_body(changes)).members(), UNIFIED_VERSIONS[version].funds_confirmations
    return read_request(table.request, VERSIONS[version].relayed["funds_confirmations"].request, body, version)


def refused_members(refusal: Refusal) -> dict[str, str]:
    """Return the reason for each refused member, by its path, of a refusal for banks of one version."""
    assert (refusal.fault.v2, refusal.fault.status, refusal.reason_code) == ("FORMAT_ERROR", 400, "not_at_this_bank")
    reasons = dict(detail.details.split(" ", 1) for detail in refusal.details)
    assert len(reasons) == len(refusal.details)
    return reasons
