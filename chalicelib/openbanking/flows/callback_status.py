"""What the shared callback page may show of a payment: an address can be forged, so the bank is asked, with limits."""

from __future__ import annotations

from dataclasses import dataclass

from chalicelib.foundation.clock import Clock
from chalicelib.foundation.dynamodb.store import ConditionFailed, Conflict, Store
from chalicelib.foundation.identifiers import new_uuid
from chalicelib.openbanking.bank_client.bank_client import BankLink
from chalicelib.openbanking.bank_client.bank_failures import BankFailed
from chalicelib.openbanking.flows.payment_status import ask_bank
from chalicelib.openbanking.protocol.payment_statuses import Status
from chalicelib.openbanking.protocol.webhooks import PAYMENT_SERVICE
from chalicelib.openbanking.records.banks import Banks
from chalicelib.openbanking.records.callback_limits import CallbackLimits
from chalicelib.openbanking.records.client_record import Client, client_key
from chalicelib.openbanking.records.consents import Consent, Consents, consent_key
from chalicelib.openbanking.records.payments import Payment, is_early, payment_key
from chalicelib.statistics import current_call


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a payment stands, and whether the bank said so just now or had reported it before."""

    status: Status
    asked: bool


@dataclass(frozen=True, slots=True)
class CallbackStatus:
    """Looks payments up for a page that anybody may open."""

    store: Store
    clock: Clock
    banks: Banks
    consents: Consents
    limits: CallbackLimits
    link: BankLink

    def look(self, bic: str, payment_id: str, callback_url: str, address: str) -> Standing | None:
        """Where a payment stands whose client has ``callback_url`` among its own, ``None`` when there is none.

        A bank that answers such questions is asked while the consent lasts, and within the limits of the payment and
        of the visitor's IP ``address``; else it is what the bank reported last.
        """
        bank = self.banks.find(bic.upper())
        item = self.store.get(*payment_key(bank.bic, payment_id)) if bank else None
        if bank is None or item is None or is_early(item):
            return None
        payment = Payment.from_item(item)
        client, consent = self._parties(payment)
        if client is None or callback_url not in client.callback_urls:
            return None
        current_call.concerns(payment.bic, PAYMENT_SERVICE)
        askable = payment.version.answers_status_queries and (consent is not None or payment.consent_id is None)
        if askable and self._may_ask(payment, address):
            token = self.consents.bank_token(consent) if consent else None
            try:
                answer = ask_bank(self.link, bank, payment, token, request_id=new_uuid(), psu_address=None)
            except BankFailed:
                pass
            else:
                return Standing(answer.body[payment.version.status_member], asked=True)
        return Standing(payment.status, asked=False)

    def _may_ask(self, payment: Payment, address: str) -> bool:
        """Whether the bank may be asked once more; then it is counted."""
        try:
            self.store.transact(self.limits.updates(payment, address))
        except (ConditionFailed, Conflict):
            return False
        return True

    def _parties(self, payment: Payment) -> tuple[Client | None, Consent | None]:
        """The payment's client, and its consent if that is in force or was spent on a payment."""
        keys = [client_key(payment.client_id)]
        if payment.consent_id is not None:
            keys.append(consent_key(payment.consent_id))
        client, item = [*self.store.batch_get(keys), None][:2]
        consent, now = Consent.from_item(item) if item else None, self.clock.time()
        in_force = consent is not None and (consent.is_valid(now) or consent.is_spent(now))
        return Client.from_item(client) if client else None, consent if in_force else None
