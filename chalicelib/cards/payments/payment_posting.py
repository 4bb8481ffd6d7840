"""Payments as ledger writes: bookings, returns and rejections.

An incoming payment is bounced if the address, the account, a limit or a missing exchange rate prevents the booking. The
writes fail if the payment, the account or the counters have changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from chalicelib.cards.ledger.account_record import LedgerAccount
from chalicelib.cards.ledger.charges import Charge, PostingContext
from chalicelib.cards.ledger.entries import EXTERNAL, Movement
from chalicelib.cards.ledger.transaction_record import Transaction
from chalicelib.cards.ledger.usage_counters import CounterChanges
from chalicelib.cards.payments.address_record import ExternalAddress
from chalicelib.cards.payments.payment_record import ExternalPayment
from chalicelib.cards.payments.pending_index import NOT_DUE
from chalicelib.cards.protocol.payment_states import REJECTED, RESULT_RULES, RESULTS, RETURNED, SETTLED, PaymentKind
from chalicelib.cards.protocol.states import CREDITED_ACCOUNT
from chalicelib.cards.protocol.status_codes import Refused, Status, require_permitted
from chalicelib.cards.protocol.values import RETURN_TYPES
from chalicelib.cards.storage.record import WriteStamp
from chalicelib.cards.storage.sequences import Sequences
from chalicelib.foundation.dynamodb.store import Operation
from chalicelib.foundation.lazy_dataclasses import dataclass

CALLED: Mapping[PaymentKind, str] = {
    "out": "payment out",
    "in": "payment in",
    "debit": "direct debit",
    "return": "return",
}
"""The name of each kind of payment in the ledger."""


@dataclass(frozen=True, slots=True)
class PaymentUpdate:
    """The writes for a change of a payment, the resulting payment, and the account if its balances changed."""

    operations: Sequence[Operation]
    payment: ExternalPayment
    account: LedgerAccount


def enter(
    movement: Movement,
    account: LedgerAccount,
    payment: ExternalPayment,
    *,
    original: ExternalPayment | None = None,
    sequences: Sequences,
) -> int:
    """Add a payment to a movement and to the account's list. Returns the id of the payment's transaction.

    If the payment returns another payment, ``original`` is that payment. Otherwise ``original`` is the payment itself.
    """
    charge = payment.charge_details.reversal if original is payment else payment.charge_details
    number, *fees = sequences.take("transaction", 1 + len(charge.separate_fees))
    main = Transaction(
        id=number,
        transaction_type=RETURN_TYPES[charge.direction] if original else payment.transaction_type,
        trans_link=payment.trans_link,
        card_id=payment.card_id,
        country=payment.country,
        description=payment.remittance,
        reference=payment.reference,
        parent_id=original.transaction_id if original else None,
        counterparty=payment.counterparty or None,
        epm_transaction_id=payment.id,
        epm_mandate_id=payment.mandate_id,
        **charge.transaction_members,
    )
    charge.book(movement, account, EXTERNAL)
    charge.list_transactions(movement, account, main, fees)
    return number


def receive(
    payment: ExternalPayment,
    address: ExternalAddress,
    party: PostingContext,
    stamp: WriteStamp,
    *,
    sequences: Sequences,
) -> PaymentUpdate:
    """Credit a new incoming payment, or bounce the payment if it cannot be credited."""
    tally = CounterChanges()
    as_read: list[Operation] = [address.check_unchanged()]
    try:
        payment = credit(payment, address, party, stamp.at // 1000, tally)
    except Refused as refusal:
        payment = replace(payment, state=REJECTED, reason=refusal.message)
        as_read.append(party.account.check_unchanged())
        return PaymentUpdate([payment.put(stamp.write_id), *as_read], payment, party.account)
    movement = Movement("payment in", stamp.at, stamp.write_id, tally, epm_transaction_id=payment.id)
    movement.list_by_card(*party.card_counters)
    payment = replace(payment, transaction_id=enter(movement, party.account, payment, sequences=sequences))
    operations = [payment.put(stamp.write_id), *as_read, *movement.operations()]
    return PaymentUpdate(operations, payment, movement.account_after(party.account))


def settle(
    payment: ExternalPayment,
    party: PostingContext,
    stamp: WriteStamp,
    tally: CounterChanges | None = None,
    *,
    original: ExternalPayment | None = None,
    sequences: Sequences,
    **members: Any,
) -> PaymentUpdate:
    """Settle a pending payment: release its hold and book its charge.

    If the payment returns another payment, ``original`` is that payment.
    """
    movement = _start_movement("settled", payment, party, stamp, tally)
    movement.hold(party.account, -payment.held)
    number = enter(movement, party.account, payment, original=original, sequences=sequences)
    members = {"state": SETTLED, "held": 0, "transaction_id": number, **({} if payment.asks else NOT_DUE), **members}
    return _make_change(payment, party.account, movement, stamp, members)


def reject(payment: ExternalPayment, party: PostingContext, stamp: WriteStamp, **members: Any) -> PaymentUpdate:
    """Reject a pending payment: release its hold and subtract its counts."""
    members = {"state": REJECTED, "held": 0, "counted": None, **({} if payment.asks else NOT_DUE), **members}
    tally = CounterChanges()
    party.release(payment.counted, tally)
    if not payment.held:
        change = payment.update(stamp.write_id, **members)
        return PaymentUpdate(
            [change, *tally.operations(stamp.write_id)], payment.with_changes(**members), party.account
        )
    movement = _start_movement("rejected", payment, party, stamp, tally)
    movement.hold(party.account, -payment.held)
    return _make_change(payment, party.account, movement, stamp, members)


def report(
    payment: ExternalPayment,
    party: PostingContext,
    result: str,
    reason: str | None,
    stamp: WriteStamp,
    *,
    sequences: Sequences,
) -> PaymentUpdate:
    """Apply the provider's report on an outgoing payment. A duplicate report does not change data. Raises: Refused."""
    if payment.payment != "out":
        raise Refused(Status.WRONG_STATE, "the payment is not an outbound payment")
    require_permitted(RESULT_RULES[result][payment.state])
    state = RESULTS[result]
    if payment.state == state:
        return PaymentUpdate((), payment, party.account)
    if state == SETTLED:
        return settle(payment, party, stamp, sequences=sequences)
    if state == REJECTED:
        return reject(payment, party, stamp, reason=reason)
    if payment.counterpart is not None:
        raise Refused(Status.WRONG_STATE, "the payment was made within this service: only its recipient can return it")
    return send_back(payment, party, stamp, reason=reason, sequences=sequences)


def send_back(
    payment: ExternalPayment, party: PostingContext, stamp: WriteStamp, *, sequences: Sequences, **members: Any
) -> PaymentUpdate:
    """Return a settled outgoing payment, and credit its amount without the fees to the account."""
    movement = _start_movement("returned", payment, party, stamp)
    members = {
        "return_transaction_id": enter(movement, party.account, payment, original=payment, sequences=sequences),
        **members,
    }
    return _make_change(payment, party.account, movement, stamp, {"state": RETURNED, **members})


def credit(
    payment: ExternalPayment, address: ExternalAddress, party: PostingContext, now: int, tally: CounterChanges
) -> ExternalPayment:
    """Settle an incoming payment: charge the account, and count the payment in the limits. Raises: Refused."""
    if not address.is_live:
        raise Refused(Status.WRONG_STATE, "the address is not active")
    if party.account.status not in CREDITED_ACCOUNT:
        raise Refused(Status.ACCOUNT_STATUS)
    return replace(payment, state=SETTLED, **count_payment(payment, party, now, tally))


def count_payment(
    payment: ExternalPayment, party: PostingContext, now: int, tally: CounterChanges, *, debit: bool = False
) -> dict[str, Any]:
    """Charge a payment to the account and count the payment in the account's limits.

    Returns the changed members. Raises: Refused.
    """
    facts = party.attributes(payment.transaction_type, payment.instructed_currency, payment.country)
    charge = party.charge(facts, payment.instructed_amount, debit=debit)
    usage = party.count(facts, payment.instructed_amount, now, tally)
    if debit:
        party.require_funds(charge.total)
    return {**charge_members(charge), "counted": usage or None}


def _start_movement(
    what: str, payment: ExternalPayment, party: PostingContext, stamp: WriteStamp, tally: CounterChanges | None = None
) -> Movement:
    cause = f"{CALLED[payment.payment]} {what}"
    movement = Movement(cause, stamp.at, stamp.write_id, tally, epm_transaction_id=payment.id)
    movement.list_by_card(*party.card_counters)
    return movement


def _make_change(
    payment: ExternalPayment, account: LedgerAccount, movement: Movement, stamp: WriteStamp, members: dict[str, Any]
) -> PaymentUpdate:
    operations = [payment.update(stamp.write_id, **members), *movement.operations()]
    return PaymentUpdate(operations, payment.with_changes(**members), movement.account_after(account))


def charge_members(charge: Charge) -> dict[str, Any]:
    """Return the payment members that are determined by the payment's charge."""
    return {
        "charge": asdict(charge),
        "settlement_amount": charge.settlement_amount,
        "settlement_currency": charge.conversion.holder_currency,
    }
