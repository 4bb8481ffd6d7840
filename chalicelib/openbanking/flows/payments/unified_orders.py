"""Unified payment orders: the request to the bank, by the table of the version and kind."""

from __future__ import annotations

from typing import Any

from chalicelib.foundation.fields.problems import InvalidMessage, Problem
from chalicelib.openbanking.flows.consent.permissions import check_accounts
from chalicelib.openbanking.flows.payments.orders import (
    PaymentOrder,
    allows_swift,
    check_callback_url,
    check_swift,
    fill_in_schemes,
)
from chalicelib.openbanking.oauth.tpp_request import read_fields
from chalicelib.openbanking.protocol.errors import refuse_fields
from chalicelib.openbanking.protocol.payment_enumerations import SWIFT
from chalicelib.openbanking.unified.bank_requests import read_request
from chalicelib.openbanking.unified.payment_messages import BODIES
from chalicelib.openbanking.unified.versions import UNIFIED_VERSIONS

_BANK_MISSING = Problem("creditor.bank", "missing", f"is required with the scheme {SWIFT}")


def build_unified_request(order: PaymentOrder, members: object) -> dict[str, Any]:
    """Build the validated body of the request to the bank.

    The checks are, in this order: what is wrong at every bank, what the bank's version cannot carry, the payment
    scheme, and the accounts.

    Raises:
        Refusal.
    """
    version, kind = order.version, order.call.kind
    body = read_fields(BODIES[kind], members).members()
    if body.get("scheme") == SWIFT and allows_swift(order) and "bank" not in body["creditor"]:
        raise refuse_fields(InvalidMessage([_BANK_MISSING]))
    check_callback_url(order, body["callback_url"])
    table = UNIFIED_VERSIONS[version.number].payments[kind]
    request = read_request(table, order.webhook.request, body, version.number)
    check_swift(order, body.get("scheme"))
    fill_in_schemes(order, request)
    if order.consent is not None:
        check_accounts(order.consent, request, table.unified_name)
    return request
