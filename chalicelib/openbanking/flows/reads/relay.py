"""The relay passes TPPs' requests for PSU data to the bank (specification, Get data flow).

Unattended reads have a limit: each read is reserved before the call to its bank (RTS on SCA, Article 36(5)).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from chalicelib.delivery.outbox import Outbox
from chalicelib.foundation.clock import Clock
from chalicelib.foundation.dynamodb.store import Operation, StoreError
from chalicelib.foundation.requests.engine import Engine, try_to
from chalicelib.foundation.requests.facts import Facts
from chalicelib.foundation.requests.outcome import NO_DELIVERIES, Deliveries, Outcome
from chalicelib.foundation.wiring import Call
from chalicelib.openbanking.bank_client.bank_client import BankAnswer, BankClient, PreparedRequest
from chalicelib.openbanking.bank_client.bank_failures import BankFailed
from chalicelib.openbanking.flows.consent.permissions import check_accounts, require_bank
from chalicelib.openbanking.flows.deferred_calls import record_deferred
from chalicelib.openbanking.flows.reads.forms import Read, native_call, require_read_scope, validate_read
from chalicelib.openbanking.flows.tpp_authentication import TppAuthentication
from chalicelib.openbanking.oauth.tpp_request import TppCredentials, TppRequest, prefers_deferral, refuse_any_parameters
from chalicelib.openbanking.protocol import refusals
from chalicelib.openbanking.protocol.errors import Refusal
from chalicelib.openbanking.protocol.psu_context import read_psu
from chalicelib.openbanking.protocol.webhooks import RelayedCall
from chalicelib.openbanking.records.bank_record import Bank
from chalicelib.openbanking.records.banks import Banks
from chalicelib.openbanking.records.consents import Consent, Consents
from chalicelib.openbanking.records.order_answers import DeferredRequest
from chalicelib.openbanking.records.unattended_reads import ReadReservation, UnattendedReads
from chalicelib.statistics import current_call
from chalicelib.statistics.days import midnight_after

_ROUNDS = 4
"""The maximum number of attempts at a reservation that conflicts with other reservations. The store also retries each
attempt.
"""


def relay(
    tpp_call: RelayedCall,
    credentials: TppCredentials,
    request: TppRequest,
    *,
    call: Call,
    tpp_authentication: TppAuthentication,
    banks: Banks,
    consents: Consents,
    unattended_reads: UnattendedReads,
    bank_client: BankClient,
    outbox: Outbox,
    engine: Engine,
) -> BankAnswer | DeferredRequest:
    """Pass a call to the consent's bank, or accept the call for deferred execution.

    A read is counted if it requests an account's first page without the PSU. Checks that can refuse the call are, in
    this order: client, request id, bearer token, version, scope, parameters, PSU headers, members, accounts, bank.

    Raises:
        Refusal.
    """
    consent = tpp_authentication.authenticate_bearer(credentials).consent
    current_call.record_concern(consent.bic, tpp_call.service)
    native = native_call(tpp_call, consent)
    webhook = require_read_scope(tpp_call, native, consent)
    if tpp_call.method != "GET":
        refuse_any_parameters(request)
    psu = read_psu(request.headers, request.repeated_headers)
    read = call(validate_read, tpp_call, webhook, request, consent=consent)
    check_accounts(consent, read.members)
    bank = require_bank(banks, consent)
    members = read.request_to(bank)
    is_counted = tpp_call.reads_accounts and not psu.is_attended and not webhook.is_later_page(members)
    limit = bank.unattended_reads if is_counted else None
    reservation = unattended_reads.new(consent.consent_id, native.name, members) if limit is not None else None
    if prefers_deferral(request):
        body = {"request": members, **read.as_members(), **psu.as_members()}
        body |= reservation.as_members() if reservation else {}
        path, request_id = tpp_call.path, request.request_id
        recorded = record_deferred(outbox, path, request_id, consent.client_id, consent.bic, consent, body)
        if reservation is not None and limit is not None:
            call(reserve_read, reservation, limit, deliveries=recorded)
        else:
            engine.carry_out(lambda _: Outcome(None, deliveries=recorded))
        return DeferredRequest(recorded.delivery_ids[0])
    token, path, request_id = consents.bank_token(consent), webhook.path, request.request_id
    outgoing = bank_client.prepare(bank, path, members, request_id=request_id, token=token, psu=psu)
    send = partial(call_bank, read, consent, bank, members, outgoing, bank_client)
    if reservation is None or limit is None:
        return send()
    bank_client.require_closed(bank, webhook)
    call(reserve_read, reservation, limit)
    try:
        return send()
    except BankFailed as failure:
        if failure.reach == "never":
            call(release_read, reservation)
        raise


def call_bank(
    read: Read,
    consent: Consent,
    bank: Bank,
    members: Mapping[str, Any],
    outgoing: PreparedRequest,
    bank_client: BankClient,
) -> BankAnswer:
    """Call the bank, and read its response in the form of the TPP's call. Raises: BankFailed."""
    reader = read.reader(consent, bank)
    return bank_client.call_prepared(outgoing, consent.version, read.webhook, members, reader=reader)


def reserve_read(
    reservation: ReadReservation,
    limit: int,
    *,
    call: Call,
    clock: Clock,
    unattended_reads: UnattendedReads,
    engine: Engine,
    deliveries: Deliveries = NO_DELIVERIES,
) -> None:
    """Count a read, and record the deliveries of the read.

    Raises:
        Refusal: the bank's ``limit`` is reached, and no data was written.
        StoreError: the read is not counted, unless ``deliveries`` may have been written with it.
    """
    writes = unattended_reads.update_reserved(reservation, limit)

    def decide(facts: Facts) -> Outcome[None]:
        if not facts.permits(*writes):
            raise refuse_access(limit, midnight_after(reservation.reserved_at) - clock.time())
        return Outcome(None, writes, deliveries, is_repeatable=True)

    def release(_: StoreError) -> None:
        if not deliveries.operations:
            call(release_read, reservation)

    engine.carry_out(decide, busy_attempts=_ROUNDS, if_failed=release)


def release_read(reservation: ReadReservation, *, call: Call) -> None:
    """Release a counted read that never reached its bank. If the release fails, the read remains counted."""
    release = partial(call, release_read_with, reservation, ())
    try_to(release, "read not released", consent_id=reservation.consent_id)


def release_read_with(
    reservation: ReadReservation, alongside: Sequence[Operation], *, unattended_reads: UnattendedReads, engine: Engine
) -> None:
    """Release a counted read in one transaction with the writes ``alongside``. Raises: StoreError."""
    released: Outcome[None] = Outcome(None, unattended_reads.update_released(reservation))
    engine.carry_out(lambda _: released, alongside=alongside)


def refuse_access(limit: int, seconds: int) -> Refusal:
    """Return the refusal of a read above the bank's ``limit``. The limit is reset in ``seconds``, at the end of the UTC
    day.
    """
    return refusals.ACCESS_EXCEEDED(limit=limit, retry_after=max(1, seconds))
