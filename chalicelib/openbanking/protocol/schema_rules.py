"""What JSON Schema can say of the rules between members, which the models check in code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chalicelib.openbanking.protocol.scopes import SCOPES

_EVERY_SCOPE = [name for scopes in SCOPES.values() for name in scopes]


def _any_of(*groups: tuple[str, ...]) -> dict[str, Any]:
    return {"anyOf": [{"required": list(group)} for group in groups]}


def _scopes(names: list[str]) -> dict[str, Any]:
    return {"minItems": 1, "uniqueItems": True, "items": {"type": "string", "enum": names}}


OF_OBJECTS: Mapping[str, Mapping[str, Any]] = {
    "v1.AccountRequest": _any_of(("iban",), ("account_id",)),
    "v1.FundsAccount": _any_of(("iban",), ("account_id",)),
    "v1.Receiver": _any_of(("receiver_iban",), ("receiver_account_number", "receiver_sort_code")),
    "v2.PaymentAccount": _any_of(("iban",), ("bban",), ("account_number", "sort_code")),
    "v2.SinglePayment": {
        "if": {"properties": {"payment_scheme": {"const": "SWIFT"}}, "required": ["payment_scheme"]},
        "then": {"required": ["creditor_bank"]},
    },
    "tpp_calls.TokenRequest": _any_of(("authorization_code",), ("code",), ("refresh_token",)),
}
"""Members of which at least one has to be there, by model."""

OF_MEMBERS: Mapping[str, Mapping[str, Any]] = {
    "tpp_calls.AuthorizeRequest.scopes": _scopes(_EVERY_SCOPE),
    "tpp_calls.AuthorizeRequest.code_challenge": {
        "minLength": 43,
        "maxLength": 43,
        "pattern": "^[A-Za-z0-9_-]{43}$",
    },
    "bank_calls.SaveConsentV2.scopes": _scopes(list(SCOPES[2])),
    "bank_calls.SaveConsent.scopes": _scopes(list(SCOPES[1])),
}
"""Rules of single members, by model and member."""
