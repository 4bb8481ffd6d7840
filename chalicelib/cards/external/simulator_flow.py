"""The sandbox's simulator of external payments: it plays other banks, creditors and the provider."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from chalicelib.cards.accounts import Balances
from chalicelib.cards.call import Call, Outcome
from chalicelib.cards.external.addresses import ExternalAddress
from chalicelib.cards.external.booking import Booking, Change, amounts
from chalicelib.cards.external.debits import CUT_OFF_SECONDS, Debits
from chalicelib.cards.external.mandates import Mandate
from chalicelib.cards.external.parties import Party, Place, Tally
from chalicelib.cards.external.payments import ExternalPayment
from chalicelib.cards.external.shown import bank_account
from chalicelib.cards.external.waiting import Moment, due
from chalicelib.cards.money.ledger import Movement
from chalicelib.cards.protocol.payment_simulator_messages import (
    SimulateDirectDebit,
    SimulateInboundPayment,
    SimulateMandate,
    SimulateOutboundResult,
)
from chalicelib.cards.protocol.payment_states import PENDING, REJECTED, RESULTS, RETURNED, SETTLED
from chalicelib.cards.protocol.schemes import SCHEMES
from chalicelib.cards.protocol.status_codes import Refused, Status, refused_field
from chalicelib.cards.protocol.values import DIRECT_DEBIT, EXTERNAL_IN
from chalicelib.cards.record import present
from chalicelib.cards.sequences import Sequences
from chalicelib.foundation.store import Operation

_FIRST_REFERENCE = 8_000_000_000
"""From here on the provider numbers what comes to it from other banks."""


@dataclass(frozen=True, slots=True)
class PaymentSimulatorFlow:
    """Has happen from outside what the service is told by others."""

    sequences: Sequences
    booking: Booking
    debits: Debits

    def simulate_inbound_payment(self, call: Call) -> Outcome:
        request: SimulateInboundPayment = call.request
        address = call.find(ExternalAddress, request.epm_address_id)
        if request.scheme not in SCHEMES[address.method]:
            raise refused_field("scheme", "value", "is none of the address's method")
        if request.currency_ison != address.currency:
            raise Refused(Status.CURRENCY_NOT_SUPPORTED, "an address takes its own currency")
        place = Place.of(address)
        party = place.party(call.catalogue, call.items(place.keys))
        payment = replace(
            self._payment(call, address, request.amount),
            payment="in",
            transaction_type=EXTERNAL_IN,
            source={"account_name": request.sender_name},
            destination=bank_account(address),
            scheme=request.scheme,
            reference=request.reference,
        )
        change = self._credited(call, payment, address, party)
        told = {"epm_transaction_id": payment.id, "transaction_id": change.payment.transaction_id}
        return Outcome(present(told) | _state(change), change.operations)

    def simulate_mandate(self, call: Call) -> Outcome:
        request: SimulateMandate = call.request
        address = call.find(ExternalAddress, request.epm_address_id)
        address.require(call.action.name)
        mandate = Mandate(
            id=self.sequences.next("mandate"),
            manager_id=call.manager_id,
            access_level=address.access_level,
            address_id=address.id,
            creditor_name=request.creditor_name,
            reference=request.reference,
            created_at=call.now,
        )
        return Outcome({"epm_mandate_id": mandate.id}, [mandate.making(call.write_id), address.unchanged()])

    def simulate_direct_debit(self, call: Call) -> Outcome:
        request: SimulateDirectDebit = call.request
        if request.epm_transaction_id is not None:
            payment = call.find(ExternalPayment, request.epm_transaction_id)
            payment.require(call.action.name)
            change = self.debits.due(payment, call.catalogue, call.items, _moment(call))
        else:
            change = self._announced(call)
        told = {"epm_transaction_id": change.payment.id, "cut_off": change.payment.cut_off}
        return Outcome(told | _state(change), change.operations)

    def simulate_outbound_result(self, call: Call) -> Outcome:
        request: SimulateOutboundResult = call.request
        payment = call.find(ExternalPayment, request.epm_transaction_id)
        place = Place.of(payment)
        party = place.party(call.catalogue, call.items(place.keys))
        change = self._reported(payment, party, RESULTS[request.result], request.reason, _moment(call))
        after = change.payment
        number = after.return_transaction_id if after.state == RETURNED else after.transaction_id
        return Outcome(present({"transaction_id": number}) | _state(change), change.operations)

    # -- inside

    def _payment(self, call: Call, address: ExternalAddress, amount: int) -> ExternalPayment:
        """What all payments have that come by an address from outside."""
        number = self.sequences.next("external_payment")
        return ExternalPayment(
            id=number,
            provider_reference=_FIRST_REFERENCE + number,
            manager_id=call.manager_id,
            access_level=address.access_level,
            payment="debit",
            state=PENDING,
            method=address.method,
            transaction_type=DIRECT_DEBIT,
            address_id=address.id,
            account_id=address.account_id,
            account_type=address.account_type,
            holder_id=address.holder_id,
            card_id=address.card_id,
            instructed_amount=amount,
            instructed_currency=address.currency,
            settlement_amount=0,
            settlement_currency=address.currency,
            created_at=call.now,
            country=address.country,
        )

    def _credited(self, call: Call, payment: ExternalPayment, address: ExternalAddress, party: Party) -> Change:
        """The payment is booked, or bounced where address, account, limits or rates are in its way."""
        tally = Tally()
        try:
            party.require_credit(address)
            facts = party.facts(EXTERNAL_IN, address.currency, payment.country)
            charge = party.charge(facts, payment.instructed_amount, debit=False)
            usage = party.count(facts, payment.instructed_amount, call.now, tally)
        except Refused as refusal:
            bounced = replace(payment, state=REJECTED, reason=refusal.message)
            as_read: list[Operation] = [address.unchanged(), party.account.unchanged()]
            return Change([bounced.making(call.write_id), *as_read], bounced, party.account)
        payment = replace(payment, state=SETTLED, counted=usage or None, **amounts(charge))
        movement = Movement("external payment in", call.at, call.write_id, epm_transaction_id=payment.id)
        payment = replace(payment, transaction_id=self.booking.enter(movement, party.account, payment))
        made: list[Operation] = [payment.making(call.write_id), address.unchanged()]
        operations = [*made, *movement.operations(), *tally.operations(call.write_id)]
        return Change(operations, payment, movement.after(party.account))

    def _announced(self, call: Call) -> Change:
        """A new direct debit, which waits for its cut-off; by a cancelled mandate it is rejected at once."""
        request: SimulateDirectDebit = call.request
        assert request.epm_mandate_id is not None and request.amount is not None
        mandate = call.find(Mandate, request.epm_mandate_id)
        address_item = call.items([ExternalAddress.key(mandate.address_id)])[0]
        assert address_item is not None, "a mandate has its address"
        address = ExternalAddress.from_item(address_item)
        place = Place.of(address)
        account = place.party(call.catalogue, call.items(place.keys)).account
        payment = replace(
            self._payment(call, address, request.amount),
            source=bank_account(address),
            destination={"account_name": mandate.creditor_name},
            mandate_id=mandate.id,
            reference=mandate.reference,
            cut_off=call.now + CUT_OFF_SECONDS,
        )
        if mandate.is_live:
            payment = replace(payment, **due(payment.id, call.now + CUT_OFF_SECONDS))
        else:
            payment = replace(payment, state=REJECTED, reason="the mandate is cancelled")
        return Change([payment.making(call.write_id), mandate.unchanged()], payment, account)

    def _reported(
        self, payment: ExternalPayment, party: Party, state: str, reason: str | None, moment: Moment
    ) -> Change:
        """A provider may report the same more than once. Raises: Refused."""
        if payment.payment != "out":
            raise Refused(Status.WRONG_STATE, "it is not a payment out")
        if payment.state == state:
            return Change((), payment, party.account)
        if payment.state == PENDING and state == SETTLED:
            return self.booking.settle(payment, party, moment)
        if payment.state == PENDING and state == REJECTED:
            return self.booking.reject(payment, party, moment, reason=reason)
        if payment.state == SETTLED and state == RETURNED and payment.counterpart is None:
            return self.booking.send_back(payment, party, moment, reason=reason)
        raise Refused(Status.ALREADY_RETURNED if payment.state == RETURNED else Status.WRONG_STATE)


def _moment(call: Call) -> Moment:
    return Moment(call.at, call.write_id)


def _state(change: Change) -> dict[str, Any]:
    account: Balances = change.account
    return {
        "state": change.payment.state,
        "available_balance": account.available,
        "settled_balance": account.settled,
    }
