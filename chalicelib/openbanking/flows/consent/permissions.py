"""Permission checks: the webhook of the consent's version, its scopes, and its bank."""

from __future__ import annotations

from chalicelib.openbanking.protocol import refusals
from chalicelib.openbanking.protocol.version import Version
from chalicelib.openbanking.protocol.webhooks import PaymentCall, RelayedCall, Webhook
from chalicelib.openbanking.records.bank_record import Bank
from chalicelib.openbanking.records.banks import Banks
from chalicelib.openbanking.records.consents import Consent


def require_scope(call: RelayedCall | PaymentCall, consent: Consent) -> Webhook:
    """The webhook for a call in the consent's version, if the consent's scopes allow it. Raises: Refusal."""
    webhook = require_webhook(call, consent.version)
    if not webhook.is_within(consent.scopes):
        raise refusals.SCOPE_NOT_GRANTED(scope=str(webhook.scope))
    return webhook


def require_webhook(call: RelayedCall | PaymentCall, version: Version) -> Webhook:
    """The webhook for a call in ``version``. Raises: Refusal."""
    webhook = version.webhook(call)
    if webhook is None:
        raise refusals.CALL_NOT_IN_VERSION(version=version.number)
    return webhook


def require_bank(banks: Banks, consent: Consent) -> Bank:
    """The consent's bank. Raises: Refusal."""
    bank = banks.find(consent.bic)
    if bank is None:
        raise refusals.CONSENT_BANK_GONE()
    return bank
