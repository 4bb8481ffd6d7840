"""Where payments stand: what banks report and what TPPs ask (decisions: payments/status, payment_status)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from chalicelib.delivery.outbox import Outbox
from chalicelib.foundation import log
from chalicelib.foundation.clock import Clock, timestamp
from chalicelib.foundation.dynamodb.store import ConditionFailed, Conflict, Item, Store
from chalicelib.foundation.fields.field_types import InvalidMessage
from chalicelib.openbanking.bank_client.bank_client import BankAnswer, BankLink
from chalicelib.openbanking.flows.payment_execution import status_changed
from chalicelib.openbanking.flows.tpp_authentication import Callers, Credentials
from chalicelib.openbanking.flows.tpp_events import Events
from chalicelib.openbanking.protocol import refusals
from chalicelib.openbanking.protocol.bank_calls import PaymentsStatus
from chalicelib.openbanking.protocol.errors import refuse_parameters
from chalicelib.openbanking.protocol.own_answers import ReportedStatus, StatusEntry, Success
from chalicelib.openbanking.protocol.tpp_calls import PaymentStatusQuery
from chalicelib.openbanking.protocol.version import Version
from chalicelib.openbanking.protocol.webhooks import PAYMENT_SERVICE
from chalicelib.openbanking.records.bank_record import Bank
from chalicelib.openbanking.records.banks import Banks, spellings
from chalicelib.openbanking.records.client_record import Client
from chalicelib.openbanking.records.consents import Consent, Consents
from chalicelib.openbanking.records.payments import Payment, Payments, Reported, is_early, payment_key
from chalicelib.openbanking.records.replays import Claim, Replays
from chalicelib.statistics import current_call

_TRIES = 8


@dataclass(frozen=True, slots=True)
class Asked:
    """A question about a payment: who asks, with which consent, and what stands under the payment's key."""

    client: Client
    consent: Consent | None
    item: Item | None


@dataclass(frozen=True, slots=True)
class PaymentStatus:
    """Takes reports, and answers questions."""

    store: Store
    clock: Clock
    callers: Callers
    banks: Banks
    consents: Consents
    payments: Payments
    replays: Replays
    events: Events
    outbox: Outbox
    link: BankLink

    def report(self, bank: Bank, request: PaymentsStatus, claim: Claim) -> Success:
        """A bank reports a status. Answers ``status``; what comes after a final status is ignored.

        A report on a payment that this bank did not answer with is refused, but kept for a while: it may have
        overtaken the answer.

        Raises:
            Refusal: ``PAYMENT_ID``.
        """
        for attempt in range(_TRIES):
            item, kept = self.store.batch_get([payment_key(bank.bic, request.payment_id), claim.key])
            stored: Success | None = self.replays.stored(claim, kept)
            if stored is not None:
                return stored
            try:
                return self._apply(bank, request, claim, item)
            except ConditionFailed:
                self.store.wait(attempt)
        raise Conflict("the payment kept changing")

    def admit(self, credentials: Credentials, query: Mapping[str, str]) -> Asked:
        """Check client, request id and bearer, and read the payment that the query names.

        A direct payment is asked for with ``bic`` and without a bearer.

        Raises:
            Refusal.
        """
        payment_id = query.get("payment_id", "")
        if credentials.bearer is None and "bic" in query:
            keys = [payment_key(bic, payment_id) for bic in spellings(query["bic"].upper())]
            client, found = self.callers.client_and(credentials, keys)
            return Asked(client, None, next((item for item in found if item), None))
        if credentials.bearer is None:
            self.callers.client(credentials)
            raise refusals.BEARER_OR_BIC_MISSING()
        key = payment_key(credentials.token.ids[2] if credentials.token else "", payment_id)
        caller = self.callers.bearer(credentials, [key], or_spent=True)
        current_call.concerns(caller.consent.bic, PAYMENT_SERVICE)
        return Asked(caller.client, caller.consent, caller.found[0])

    def permitted(self, asked: Asked, query: Mapping[str, str]) -> Payment:
        """The payment, if the caller may know of it; a spent bearer may know of its own only.

        Raises:
            Refusal: there is no such payment of this client's.
        """
        spent = asked.consent is not None and asked.consent.status == "spent"
        if spent and not _is_of(asked.item, asked.consent):
            raise refusals.BEARER_SPENT()
        try:
            PaymentStatusQuery.read(dict(query))
        except InvalidMessage as error:
            raise refuse_parameters(error) from None
        payment = Payment.from_item(asked.item) if asked.item and not is_early(asked.item) else None
        if payment is None or payment.client_id != asked.client.client_id or not _is_at(payment, query.get("bic")):
            raise refusals.PAYMENT_UNKNOWN()
        current_call.concerns(payment.bic, PAYMENT_SERVICE)
        if asked.consent is None and payment.consent_id is not None:
            raise refusals.PAYMENT_BEARER_MISSING()
        return payment

    def answer(
        self, payment: Payment, consent: Consent | None, *, request_id: str, psu_address: str | None
    ) -> BankAnswer:
        """Where a payment stands: as the bank says now or, where banks are not asked, has reported. Raises: Refusal."""
        if not payment.version.answers_status_queries:
            return BankAnswer(_reported(payment), 0)
        bank = self.banks.find(payment.bic)
        if bank is None:
            raise refusals.PAYMENT_BANK_GONE()
        token = self.consents.bank_token(consent) if consent and payment.consent_id else None
        answer = ask_bank(self.link, bank, payment, token, request_id=request_id, psu_address=psu_address)
        return BankAnswer({**answer.body, "payment_id": payment.payment_id}, answer.seconds)

    # -- inside

    def _apply(self, bank: Bank, request: PaymentsStatus, claim: Claim, item: Item | None) -> Success:
        """Raises: ConditionFailed, when somebody else was faster; Refusal."""
        answer: Success = {"status": "success"}
        if item is None or is_early(item):
            report = self._report(bank, request, bank.version)
            early = self.payments.early(bank.bic, request.payment_id, report, item)
            self.store.put(early.table, early.item, early.condition)
            raise refusals.PAYMENT_ID_UNKNOWN()
        before = Payment.from_item(item)
        after = before.after(self._report(bank, request, before.version))
        if after is before:
            log.info("status report ignored", bic=bank.bic, payment_id=before.payment_id, status=before.status)
            return self.replays.keep(claim, answer)
        told = status_changed(self.events, self.events.client(before.client_id), after)
        self.store.transact(
            [self.payments.change(before, after), self.replays.keeping(claim, answer), *told.operations]
        )
        log.info("payment status reported", bic=before.bic, payment_id=before.payment_id, status=after.status)
        self.outbox.dispatch(told)
        return answer

    def _report(self, bank: Bank, request: PaymentsStatus, version: Version) -> Reported:
        """What a bank reports, as a payment of ``version`` spells it."""
        neutral = bank.version.statuses.read(request.payment_status)
        assert neutral is not None, "the model lets known values pass only"
        return Reported(version.statuses.write(neutral), self.clock.time())


def ask_bank(
    link: BankLink, bank: Bank, payment: Payment, token: str | None, *, request_id: str, psu_address: str | None
) -> BankAnswer:
    """Have a bank say where a payment stands, if it may be asked. Raises: BankFailed."""
    request, webhook = {"payment_id": payment.payment_id}, payment.version.payment_status[payment.kind]
    return link.call(
        bank, payment.version, webhook, request, request_id=request_id, token=token, psu_address=psu_address
    )


def _is_of(item: Item | None, consent: Consent | None) -> bool:
    """Whether an item is a payment that was made with a consent."""
    return item is not None and consent is not None and item.get("consent_id") == consent.consent_id


def _is_at(payment: Payment, bic: str | None) -> bool:
    """Whether a payment's bank is the one that a query names; 8 characters also mean the head office, XXX."""
    return bic is None or bic.upper().ljust(11, "X") == payment.bic.ljust(11, "X")


def _reported(payment: Payment) -> ReportedStatus:
    history: list[StatusEntry] = [
        {"payment_status": entry.status, "at": timestamp(entry.at)} for entry in payment.history
    ]
    return {"payment_id": payment.payment_id, "payment_status": payment.status, "history": history}
