"""The payment status that the shared callback page displays.

The page's URL can be forged, so the status comes from the bank, within rate limits.
"""

from __future__ import annotations

from collections.abc import Sequence

from chalicelib.foundation.clock import Clock
from chalicelib.foundation.dynamodb.store import Operation, Store
from chalicelib.foundation.identifiers import new_uuid
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.foundation.requests.engine import Engine, if_permitted
from chalicelib.foundation.wiring import Call
from chalicelib.openbanking.bank_client.bank_client import BankClient
from chalicelib.openbanking.bank_client.bank_failures import BankFailed
from chalicelib.openbanking.flows.payments.outcomes import resolve_by_answer
from chalicelib.openbanking.flows.payments.status_queries import query_bank
from chalicelib.openbanking.protocol.payment_enumerations import PaymentOutcome
from chalicelib.openbanking.protocol.payment_statuses import Status
from chalicelib.openbanking.protocol.webhooks import PAYMENT_SERVICE
from chalicelib.openbanking.records.banks import Banks
from chalicelib.openbanking.records.callback_limits import CallbackLimits
from chalicelib.openbanking.records.client_record import Client, client_key
from chalicelib.openbanking.records.consents import Consent, Consents, consent_key
from chalicelib.openbanking.records.payments import Payment, is_early, payment_key
from chalicelib.statistics import current_call


@dataclass(frozen=True, slots=True)
class StatusResult:
    """A payment's status. ``from_bank`` is true if the bank was queried, and false if this is the last reported status.

    ``outcome`` is set if it is unknown whether the bank has the payment, or if the bank does not have it.
    """

    status: Status
    from_bank: bool
    outcome: PaymentOutcome | None = None


def find_payment_status(
    bic: str,
    payment_id: str,
    *,
    callback_url: str,
    address: str,
    call: Call,
    store: Store,
    clock: Clock,
    banks: Banks,
    consents: Consents,
    callback_limits: CallbackLimits,
    bank_client: BankClient,
    engine: Engine,
) -> StatusResult | None:
    """Return the status of a payment, or ``None`` if its client does not have this ``callback_url``.

    Version 2 banks are queried while the consent is valid, within the limits of the payment and the visitor's IP
    ``address``. Otherwise the last reported status is returned.
    """
    bank = banks.find(bic.upper())
    item = store.get(*payment_key(bank.bic, payment_id)) if bank else None
    if bank is None or item is None or is_early(item):
        return None
    payment = Payment.from_item(item)
    client, consent = _read_client_and_consent(store, payment, clock.time())
    if client is None or callback_url not in client.callback_urls:
        return None
    current_call.record_concern(payment.bic, PAYMENT_SERVICE)
    askable = payment.version.answers_status_queries and (consent is not None or payment.consent_id is None)
    if askable and _count_query(engine, callback_limits.put_counts(payment, address)):
        token = consents.bank_token(consent) if consent else None
        try:
            answer = query_bank(bank_client, bank, payment, token, request_id=new_uuid())
        except BankFailed:
            pass
        else:
            call(resolve_by_answer, payment, answer)
            return StatusResult(answer.body[payment.version.status_member], from_bank=True)
    return StatusResult(payment.status, from_bank=False, outcome=payment.outcome)


def _count_query(engine: Engine, counts: Sequence[Operation]) -> bool:
    """Count a query. Return false if a limit has been reached."""
    return engine.carry_out(if_permitted(counts, True, lambda _: False), if_busy=lambda: False)


def _read_client_and_consent(store: Store, payment: Payment, now: int) -> tuple[Client | None, Consent | None]:
    """Read the payment's client, and the payment's consent if it is valid or spent."""
    keys = [client_key(payment.client_id)]
    if payment.consent_id is not None:
        keys.append(consent_key(payment.consent_id))
    client, item = [*store.batch_get(keys), None][:2]
    consent = Consent.from_item(item) if item else None
    in_force = consent is not None and consent.can_be_queried(now)
    return Client.from_item(client) if client else None, consent if in_force else None
