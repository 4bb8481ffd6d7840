"""Notifications to banks, sent as deliveries."""

from __future__ import annotations

from chalicelib.delivery.outbox import Outbox, RecordedDeliveries
from chalicelib.delivery.outcomes import Delivered, Dispatch, Undeliverable
from chalicelib.foundation.dynamodb.store import Store
from chalicelib.openbanking.bank_client.bank_client import BankClient
from chalicelib.openbanking.bank_client.bank_failures import BankFailed
from chalicelib.openbanking.records.banks import Banks
from chalicelib.openbanking.records.consents import Consent, Consents, consent_key

_GONE = (404, 410)


def record_revoke_token(outbox: Outbox, consent: Consent) -> RecordedDeliveries:
    """Return the delivery that notifies a bank of a consent's end, for the transaction that ends the consent."""
    return outbox.record(
        "revoke_token",
        consent.version.revoke_token.path,
        receiver=f"bank#{consent.bic}",
        bic=consent.bic,
        client_id=consent.client_id,
        consent_id=consent.consent_id,
    )


def send_revoke_token(
    dispatch: Dispatch, *, store: Store, banks: Banks, consents: Consents, bank_client: BankClient
) -> Delivered:
    """Notify a bank that a consent has ended.

    Raises:
        Undeliverable: without the bank's own text. Final for HTTP 404 and 410, or if the consent or its bank is
        deleted.
    """
    delivery = dispatch.delivery
    item = store.get(*consent_key(delivery.consent_id or ""))
    bank = banks.find(delivery.concerned_bank, active=False)
    if item is None or bank is None:
        raise Undeliverable("the consent or its bank no longer exists", final=True)
    if not bank.active:
        raise Undeliverable("the bank is inactive")
    consent = Consent.from_item(item)
    token, webhook = consents.bank_token(consent), consent.version.revoke_token
    request = {"access_token": token}
    outgoing = bank_client.prepare(bank, webhook.path, request, request_id=delivery.request_id, token=token)
    try:
        answer = bank_client.call_prepared(outgoing, consent.version, webhook, request)
    except BankFailed as failure:
        raise Undeliverable(
            failure.reason,
            final=failure.status in _GONE,
            status=failure.status,
            retry_after=failure.retry_after,
            not_made=failure.not_asked,
        ) from None
    return Delivered(answer.status)
