"""Payment statuses: banks' reports and TPPs' queries (``docs/concepts/payments.md``)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from chalicelib.delivery.outbox import Outbox
from chalicelib.foundation import log
from chalicelib.foundation.clock import Clock, timestamp
from chalicelib.foundation.dynamodb.store import Item, Store
from chalicelib.foundation.identifiers import is_uuid
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.foundation.requests.claims import Claim
from chalicelib.foundation.requests.engine import Engine
from chalicelib.foundation.requests.facts import Facts
from chalicelib.foundation.requests.outcome import Outcome
from chalicelib.foundation.wiring import Call
from chalicelib.openbanking.bank_client.bank_client import BankAnswer, BankClient
from chalicelib.openbanking.bank_client.bank_failures import BankFailed
from chalicelib.openbanking.flows.deferred_calls import record_deferred
from chalicelib.openbanking.flows.payments.outcomes import resolve_by_answer, write_status
from chalicelib.openbanking.flows.payments.status_forms import STATUS_FORMS
from chalicelib.openbanking.flows.payments.status_queries import query_bank
from chalicelib.openbanking.flows.tpp_authentication import TppAuthentication
from chalicelib.openbanking.flows.tpp_events import TppEvents, record_status_changed
from chalicelib.openbanking.oauth.tpp_request import TppCredentials, TppRequest, prefers_deferral, read_parameters
from chalicelib.openbanking.protocol import refusals
from chalicelib.openbanking.protocol.bank_calls import PaymentsStatus
from chalicelib.openbanking.protocol.bics import is_same_bank, spellings
from chalicelib.openbanking.protocol.own_answers import OrderWithoutPayment, ReportedStatus, StatusEntry, Success
from chalicelib.openbanking.protocol.payment_enumerations import OrderState
from chalicelib.openbanking.protocol.psu_context import PsuContext, read_psu
from chalicelib.openbanking.protocol.tpp_calls import PaymentStatusQuery
from chalicelib.openbanking.protocol.version import Version
from chalicelib.openbanking.protocol.webhooks import PAYMENT_SERVICE
from chalicelib.openbanking.records.bank_answers import BankAnswers
from chalicelib.openbanking.records.bank_record import Bank
from chalicelib.openbanking.records.banks import Banks
from chalicelib.openbanking.records.client_record import Client, client_key
from chalicelib.openbanking.records.consents import Consent, Consents
from chalicelib.openbanking.records.order_answers import DeferredRequest
from chalicelib.openbanking.records.orders import Orders, RecordedOrder, is_order, order_key
from chalicelib.openbanking.records.payments import Payment, Payments, PaymentStatusReport, is_early, payment_key
from chalicelib.statistics import current_call

if TYPE_CHECKING:
    from chalicelib.openbanking.unified.answers import UnifiedPaymentStatus


@dataclass(frozen=True, slots=True)
class PaymentLookup:
    """A payment status query: its client, its consent, and the payment's item, if found.

    ``order`` is the requested order, if the query names an X-Request-Id and the bank named no payment for the order.
    """

    client: Client
    consent: Consent | None
    item: Item | None
    order: RecordedOrder | None = None


def record_report(
    bank: Bank,
    request: PaymentsStatus,
    claim: Claim,
    *,
    clock: Clock,
    payments: Payments,
    bank_answers: BankAnswers,
    tpp_events: TppEvents,
    orders: Orders,
    engine: Engine,
) -> Success:
    """Record a bank's report of a payment status. Reports after a final status are ignored.

    A report for an unknown payment is refused, but stored for a while, because it may have arrived before the bank's
    response to the order.

    Raises:
        Refusal: ``PAYMENT_ID``.
    """
    key = payment_key(bank.bic, request.payment_id)

    def decide(facts: Facts) -> Outcome[Success]:
        item = facts.item(key)
        if item is None or is_early(item):
            report = _read_report(bank, request, bank.version, clock.time())
            early = payments.put_early_report(bank.bic, request.payment_id, report, item)
            return Outcome(refusals.PAYMENT_ID_UNKNOWN(), [early])
        answer: Success = {"status": "success"}
        before = Payment.from_item(item)
        after = before.with_report(_read_report(bank, request, before.version, clock.time()))
        members = {"bic": after.bic, "payment_id": after.payment_id, "status": after.status}
        if after is before:
            return bank_answers.answer(claim, answer, report=lambda: log.info("status report ignored", **members))
        client = facts.find(Client, client_key(before.client_id))
        return bank_answers.answer(
            claim,
            answer,
            write_status(facts, before, after, payments, orders),
            record_status_changed(tpp_events, client, after),
            report=lambda: log.info("payment status reported", **members),
        )

    return engine.carry_out(bank_answers.once(claim, decide), engine.read([key, claim.key]))


def _read_report(bank: Bank, request: PaymentsStatus, version: Version, now: int) -> PaymentStatusReport:
    """Return the status report in a bank's request. The status is converted to the notation of ``version``."""
    neutral = bank.version.statuses.read(request.payment_status)
    assert neutral is not None, "the model accepts only known values"
    return PaymentStatusReport(version.statuses.write(neutral), now)


def get_status(
    path: str,
    credentials: TppCredentials,
    request: TppRequest,
    *,
    call: Call,
    clock: Clock,
    outbox: Outbox,
    engine: Engine,
) -> BankAnswer | DeferredRequest | OrderWithoutPayment | UnifiedPaymentStatus:
    """Return the status of a TPP's payment, or the outcome of an order for which the bank named no payment.

    The response has the form of the call at ``path``. The client, its request id and bearer are checked first, then the
    PSU's headers, the query, and the payment.

    Raises:
        Refusal.
    """
    form, lookup = STATUS_FORMS[path], call(_look_up, credentials, dict(request.query))
    psu = read_psu(request.headers, request.repeated_headers)
    payment = _require_payment(lookup, request.parameters())
    if isinstance(payment, RecordedOrder):
        return form.describe_order(payment, _state_of(payment, clock.time()))
    if prefers_deferral(request) and payment.version.answers_status_queries:
        body = {"payment_id": payment.payment_id, **psu.as_members()}
        recorded = record_deferred(
            outbox, path, request.request_id, payment.client_id, payment.bic, lookup.consent, body
        )
        accepted = DeferredRequest(recorded.delivery_ids[0])
        return engine.carry_out(lambda _: Outcome(accepted, deliveries=recorded))
    answer = call(query_status, payment, lookup.consent, request_id=request.request_id, psu=psu)
    return form.describe(payment, answer)


def query_status(
    payment: Payment,
    consent: Consent | None,
    *,
    request_id: str,
    psu: PsuContext,
    call: Call,
    banks: Banks,
    consents: Consents,
    bank_client: BankClient,
) -> BankAnswer:
    """Return a payment's native status, queried from the bank or, in versions without queries, as last reported.

    If the outcome is unknown and the bank does not respond, return the last recorded status.

    Raises:
        Refusal.
    """
    if not payment.version.answers_status_queries:
        return BankAnswer(_reported_status(payment), 0)
    bank = banks.find(payment.bic)
    if bank is None and payment.outcome is not None:
        return BankAnswer(_describe_with_outcome(payment), 0)
    if bank is None:
        raise refusals.PAYMENT_BANK_GONE()
    token = consents.bank_token(consent) if consent and payment.consent_id else None
    try:
        answer = query_bank(bank_client, bank, payment, token, request_id=request_id, psu=psu)
    except BankFailed as failure:
        if payment.outcome is None or failure.authorize_again:
            raise
        return BankAnswer(_describe_with_outcome(payment), failure.bank_seconds or 0)
    call(resolve_by_answer, payment, answer)
    return BankAnswer({**answer.body, "payment_id": payment.payment_id}, answer.seconds)


def _look_up(
    credentials: TppCredentials, query: Mapping[str, str], *, store: Store, tpp_authentication: TppAuthentication
) -> PaymentLookup:
    """Check client, request id and bearer token, and read the requested payment.

    A direct payment is queried with ``bic`` instead of a bearer token. A query by X-Request-Id reads the order, and
    then its payment.

    Raises:
        Refusal.
    """
    if credentials.bearer is None and "bic" in query:
        keys = [_queried_key(bic, query) for bic in spellings(query["bic"].upper())]
        client, found = tpp_authentication.authenticate_client_and_read(credentials, keys, ["PISP"])
        return _find_payment(store, PaymentLookup(client, None, next((item for item in found if item), None)))
    if credentials.bearer is None:
        tpp_authentication.authenticate_client(credentials)
        raise refusals.BEARER_OR_BIC_MISSING()
    key = _queried_key(credentials.token.ids[2] if credentials.token else "", query)
    caller = tpp_authentication.authenticate_bearer(credentials, [key], or_spent=True)
    current_call.record_concern(caller.consent.bic, PAYMENT_SERVICE)
    return _find_payment(store, PaymentLookup(caller.client, caller.consent, caller.items[0]))


def _require_payment(lookup: PaymentLookup, query: Mapping[str, str]) -> Payment | RecordedOrder:
    """Return the payment, if it belongs to the caller, or the order for which the bank named no payment.

    A spent bearer token can only query its own payment.

    Raises:
        Refusal: the client has no such payment.
    """
    spent = lookup.consent is not None and lookup.consent.status == "spent"
    if spent and lookup.order is None and not _was_made_with(lookup.item, lookup.consent):
        raise refusals.BEARER_SPENT()
    read_parameters(PaymentStatusQuery, dict(query))
    if lookup.order is not None:
        return lookup.order
    payment = Payment.from_item(lookup.item) if lookup.item and not is_early(lookup.item) else None
    if payment is None or payment.client_id != lookup.client.client_id or not _is_at(payment, query.get("bic")):
        raise refusals.PAYMENT_UNKNOWN()
    current_call.record_concern(payment.bic, PAYMENT_SERVICE)
    if lookup.consent is None and payment.consent_id is not None:
        raise refusals.PAYMENT_BEARER_MISSING()
    return payment


def _find_payment(store: Store, lookup: PaymentLookup) -> PaymentLookup:
    """Return the lookup with the payment of its order, if the payment belongs to the caller."""
    if lookup.item is None or not is_order(lookup.item):
        return lookup
    order = RecordedOrder.from_item(lookup.item)
    if order is None or not _is_callers_order(lookup, order):
        return replace(lookup, item=None)
    if order.payment_id is None:
        return replace(lookup, item=None, order=order)
    return replace(lookup, item=store.get(*payment_key(order.order.bic, order.payment_id)))


def _state_of(order: RecordedOrder, now: int) -> OrderState:
    """Return the state of an order. It is used if the bank named no payment for the order."""
    if not order.has_outcome_by(now):
        return "pending"
    return "unknown" if order.outcome == "unknown" else "not_accepted"


def _was_made_with(item: Item | None, consent: Consent | None) -> bool:
    """Whether an item is a payment that was initiated with this consent."""
    return item is not None and consent is not None and item.get("consent_id") == consent.consent_id


def _queried_key(bic: str, query: Mapping[str, str]) -> tuple[str, Item]:
    """Return the key of the requested record, which is an order (by X-Request-Id) or a payment."""
    if "payment_id" not in query and is_uuid(query.get("request_id", "")):
        return order_key(bic, query["request_id"])
    return payment_key(bic, query.get("payment_id", ""))


def _is_callers_order(lookup: PaymentLookup, found: RecordedOrder) -> bool:
    """Whether the order belongs to the calling client.

    Direct orders need no bearer token. A spent bearer token gives access only to the order that spent the consent.
    """
    order, consent = found.order, lookup.consent
    if order.client_id != lookup.client.client_id:
        return False
    if consent is None:
        return order.consent_id is None
    return consent.status != "spent" or order.consent_id == consent.consent_id


def _is_at(payment: Payment, bic: str | None) -> bool:
    """Whether the payment was made at the bank ``bic``. Without ``bic``, the result is true."""
    return bic is None or is_same_bank(bic.upper(), payment.bic)


def _reported_status(payment: Payment) -> ReportedStatus:
    history: list[StatusEntry] = [
        {"payment_status": entry.status, "at": timestamp(entry.at)} for entry in payment.history
    ]
    status: ReportedStatus = {"payment_id": payment.payment_id, "payment_status": payment.status, "history": history}
    return {**status, "outcome": payment.outcome} if payment.outcome else status


def _describe_with_outcome(payment: Payment) -> Mapping[str, Any]:
    """Return a payment with an unknown outcome, including the status that was recorded last."""
    member = payment.version.status_member
    return {"payment_id": payment.payment_id, member: payment.status, "outcome": payment.outcome}
