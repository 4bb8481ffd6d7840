"""Deferred reads and payment status queries. A worker sends them to banks and stores the responses for the TPPs.

Failed calls are retried. The TPP's permissions are checked again before sending, because the consent may have ended
since the call was accepted.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from chalicelib.delivery.delivery_record import Delivery
from chalicelib.delivery.outcomes import Delivered, Dispatch, Keep, StoredAnswer, Undeliverable
from chalicelib.foundation import jsontext
from chalicelib.foundation.clock import Clock
from chalicelib.foundation.dynamodb.store import Store
from chalicelib.foundation.wiring import Call
from chalicelib.openbanking.bank_client.bank_client import BankAnswer, BankClient
from chalicelib.openbanking.bank_client.bank_failures import BankFailed
from chalicelib.openbanking.flows.consent.permissions import require_bank
from chalicelib.openbanking.flows.deferred_calls import fail_finally, read_client_and_consent, store_refusal
from chalicelib.openbanking.flows.payments.status import query_status
from chalicelib.openbanking.flows.payments.status_forms import STATUS_FORMS
from chalicelib.openbanking.flows.reads.forms import native_call, require_read_scope, restore_read
from chalicelib.openbanking.flows.reads.relay import call_bank, release_read_with
from chalicelib.openbanking.protocol import refusals
from chalicelib.openbanking.protocol.errors import Refusal
from chalicelib.openbanking.protocol.psu_context import PsuContext
from chalicelib.openbanking.protocol.webhooks import RelayedCall
from chalicelib.openbanking.records.banks import Banks
from chalicelib.openbanking.records.consents import Consent, Consents
from chalicelib.openbanking.records.payments import Payment, payment_key
from chalicelib.openbanking.records.unattended_reads import ReadReservation
from chalicelib.openbanking.unified.calls import READS

_RELAYED: Mapping[str, RelayedCall] = {call.path: call for call in READS}
_BUSY = "the bank was busy with other requests or did not respond"


def send_deferred_read(dispatch: Dispatch, *, call: Call, store: Store, clock: Clock) -> Delivered:
    """Send the request to the bank. Raises: Undeliverable, final if the bank or this service refused it."""
    delivery, members = dispatch.delivery, jsontext.loads(dispatch.body)
    psu, now = PsuContext.from_members(members), clock.time()
    form = STATUS_FORMS.get(delivery.topic)
    keys = [payment_key(delivery.concerned_bank, members["payment_id"])] if form else []
    release = _release_read(delivery, members, call)
    try:
        client, consent, found = read_client_and_consent(store, delivery, keys, now, or_spent=form is not None)
        if not client.active:
            raise refusals.CLIENT_UNKNOWN()
        if form is not None:
            if found[0] is None:
                raise refusals.PAYMENT_GONE()
            payment = Payment.from_item(found[0])
            status = call(query_status, payment, consent, request_id=delivery.request_id, psu=psu)
            answer = form.describe(payment, status)
        else:
            answer = call(_read, delivery, members, consent, psu=psu)
    except BankFailed as failure:
        raise Undeliverable(
            failure.reason,
            final=failure.authorize_again or (failure.reach == "refused" and not failure.is_rate_limited),
            status=failure.status,
            retry_after=failure.retry_after,
            not_made=failure.not_asked,
            answer=store_refusal(delivery, failure, clock.time()),
            keep=release if failure.reach == "never" else None,
        ) from None
    except Refusal as refusal:
        raise fail_finally(delivery, refusal, clock.time(), release) from None
    return Delivered(answer.status, StoredAnswer(200, jsontext.dumps(answer.body)))


def expire_deferred_read(dispatch: Dispatch, *, call: Call, clock: Clock) -> Undeliverable:
    """Return the failure of a read that could not be sent in time."""
    delivery = dispatch.delivery
    unsent = None if delivery.sending else _release_read(delivery, jsontext.loads(dispatch.body), call)
    return fail_finally(delivery, refusals.BANK_FAILED(reason=_BUSY), clock.time(), unsent)


def _read(
    delivery: Delivery,
    members: Mapping[str, Any],
    consent: Consent | None,
    *,
    psu: PsuContext,
    call: Call,
    banks: Banks,
    consents: Consents,
    bank_client: BankClient,
) -> BankAnswer:
    """Check the permissions again, and send a request that was already counted as a read. Raises: Refusal."""
    assert consent is not None, "a call for a PSU's data has a consent"
    tpp_call = _RELAYED[delivery.topic]
    webhook = require_read_scope(tpp_call, native_call(tpp_call, consent), consent)
    bank, token, request = require_bank(banks, consent), consents.bank_token(consent), members["request"]
    read = call(restore_read, tpp_call, webhook, members, consent=consent)
    outgoing = bank_client.prepare(bank, webhook.path, request, request_id=delivery.request_id, token=token, psu=psu)
    return call_bank(read, consent, bank, request, outgoing, bank_client)


def _release_read(delivery: Delivery, members: dict[str, Any], call: Call) -> Keep | None:
    """Return a function that releases the counted read of a call.

    The result is ``None`` if the read was not counted, or if an earlier attempt may have reached the bank.
    """
    reservation = ReadReservation.from_members(delivery.consent_id or "", members)
    if reservation is None or delivery.abandoned or any("sent" in entry for entry in delivery.history):
        return None
    return partial(call, release_read_with, reservation)
