"""Execution of payments (confirm, settle, reject and cancel), and account statements that include due settlements.

The transaction that confirms a payment also debits the account. The debit is a booked entry for an instant scheme, and
a pending entry for any other scheme. Due payments are settled before a payment or an account is read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

from chalicelib.demo_bank import durations, ledger, orders, refusals
from chalicelib.demo_bank.customers import Customer, CustomerAccount
from chalicelib.demo_bank.directory import read_book
from chalicelib.demo_bank.format import PaymentStep
from chalicelib.demo_bank.instructions import AccountIdentifiers
from chalicelib.demo_bank.ledger import PaymentEntry
from chalicelib.demo_bank.orders import DemoPaymentOrder
from chalicelib.demo_bank.runtime import TABLE, DemoBank
from chalicelib.demo_bank.transactions import Statement
from chalicelib.foundation import log
from chalicelib.foundation.dynamodb.store import ConditionFailed, Conflict, Delete, Operation

SETTLE_SECONDS = 20
UNKNOWN_SECONDS = 600
_TEST_STEPS: Mapping[str, tuple[PaymentStep, int]] = {
    "TEST-LATE-REJECT": ("undecided", SETTLE_SECONDS),
    "TEST-UNKNOWN": ("uncertain", UNKNOWN_SECONDS),
    "TEST-PENDING": ("pending", orders.NEVER),
}
"""For each test reference, the step that follows the payment's confirmation and the number of seconds until settlement.
"""
_TRIES = 8
NO_FUNDS = "There is not enough money in the account"
_LATE = "The payment was rejected after it had been confirmed; the money is back in the account"
_EXPIRED = "The payment was not confirmed in time"
_ACCOUNT_DELETED = "The account to pay from no longer exists"
_DELETED_CUSTOMER = "A former customer"


class OrderChanged(Exception):
    """The order was changed concurrently. Read it again."""


def current_statement(bank: DemoBank, account: CustomerAccount) -> Statement:
    """Return an account's current statement after settling due payments."""
    now = bank.clock.time()
    entries = ledger.read_entries(bank, account)
    due = [entry for entry in entries if not entry.booked_at and entry.settles_at <= now]
    for entry in due:
        order = orders.find(bank, entry.payment_id)
        if order is not None:
            refresh(bank, order)
    if due:
        entries = ledger.read_entries(bank, account)
    return ledger.build_statement(account, entries, bank.clock.now().date(), read_book(bank, account))


def refresh(bank: DemoBank, order: DemoPaymentOrder) -> DemoPaymentOrder:
    """Update an order and return the current order.

    An open order is cancelled if it has expired or its customer was deleted. A confirmed order is settled if it is due.
    """
    for _ in range(_TRIES):
        now = bank.clock.time()
        try:
            if order.state == "open" and now >= order.confirm_by:
                return cancel(bank, order, _EXPIRED)
            if order.state == "open" and order.is_payer_gone(bank):
                return cancel(bank, order, _ACCOUNT_DELETED)
            if order.state == "confirmed" and now >= order.settles_at:
                return _settle(bank, order)
        except OrderChanged:
            order = orders.find(bank, order.payment_id) or order
            continue
        return order
    raise Conflict("the payment kept changing")


def assign_customer(bank: DemoBank, order: DemoPaymentOrder, customer: Customer) -> DemoPaymentOrder:
    """Record the customer of a direct payment. Raises: OrderChanged."""
    account_id = order.account_id if order.is_fixed else ""
    return save_transition(bank, order, replace(order, customer_id=customer.customer_id, account_id=account_id))


def assign_account(bank: DemoBank, order: DemoPaymentOrder, account: CustomerAccount) -> DemoPaymentOrder:
    """Record the debtor account. Raises: OrderChanged."""
    return save_transition(bank, order, orders.apply_steps(bank, order, ["checked"], account_id=account.account_id))


def cancel(bank: DemoBank, order: DemoPaymentOrder, reason: str) -> DemoPaymentOrder:
    """Cancel the order. No money is transferred. Raises: OrderChanged."""
    return save_transition(bank, order, _closed_order(bank, order, "cancelled", reason))


def confirm(bank: DemoBank, order: DemoPaymentOrder) -> DemoPaymentOrder:
    """Confirm the order: debit the account if its funds suffice. Raises: OrderChanged."""
    account = order.account(bank)
    if account is None:
        return cancel(bank, order, _ACCOUNT_DELETED)
    if order.test_reference == "TEST-REFUSED":  # the fault of a direct payment's customer, unknown until now
        return save_transition(bank, order, _closed_order(bank, order, "rejected", refusals.PAYMENT_REFUSED().message))
    for _ in range(_TRIES):
        taken = ledger.read_debit_count(bank, account.account_id)
        if current_statement(bank, account).available < order.amount:
            return save_transition(bank, order, _closed_order(bank, order, "rejected", NO_FUNDS))
        after = _confirmed_order(bank, order)
        paying = [ledger.update_debit_count(bank, account.account_id, taken), *_put_entries(bank, after)]
        paying += durations.put_duration(bank, "payment", order.payment_id, order.created_at)
        try:
            return save_transition(bank, order, after, paying)
        except ConditionFailed:
            continue  # money was taken from the account meanwhile
    raise Conflict("the account kept changing")


def save_transition(
    bank: DemoBank, before: DemoPaymentOrder, after: DemoPaymentOrder, others: Sequence[Operation] = ()
) -> DemoPaymentOrder:
    """Write an order's next state, together with ``others``.

    Raises:
        OrderChanged: the order was changed concurrently.
        ConditionFailed: a condition of ``others`` failed.
    """
    try:
        bank.store.transact([*orders.update_order(bank, before, after), *others])
    except ConditionFailed as failure:
        if 0 in failure.failed:
            raise OrderChanged from failure
        raise
    if after.state != before.state:
        log.info("demo bank: payment", bank=bank.profile.name, state=after.state, kind=after.kind)
    return replace(after, revision=before.revision + 1)


def _confirmed_order(bank: DemoBank, order: DemoPaymentOrder) -> DemoPaymentOrder:
    now = bank.clock.time()
    step, seconds = _TEST_STEPS.get(order.test_reference, ("confirmed", SETTLE_SECONDS))
    if step == "confirmed" and order.is_instant:
        after = orders.apply_steps(bank, order, ["confirmed", *_settlement_steps(order)], state="settled")
    else:
        settles_at = min(now + seconds, orders.NEVER)
        after = orders.apply_steps(bank, order, [step], state="confirmed", settles_at=settles_at)
    return replace(after, confirmed_at=now, result=after.status)


def _settle(bank: DemoBank, order: DemoPaymentOrder) -> DemoPaymentOrder:
    if order.test_reference == "TEST-LATE-REJECT":
        gone = ledger.entry_key(bank, order.account_id, _debit_entry(bank, order))
        return save_transition(bank, order, _closed_order(bank, order, "rejected", _LATE), [Delete(TABLE, gone)])
    after = orders.apply_steps(bank, order, _settlement_steps(order), state="settled")
    return save_transition(bank, order, after, _put_entries(bank, after))


def _settlement_steps(order: DemoPaymentOrder) -> list[PaymentStep]:
    return ["settled", "credited"] if order.is_within else ["settled"]


def _closed_order(
    bank: DemoBank, order: DemoPaymentOrder, state: Literal["rejected", "cancelled"], message: str
) -> DemoPaymentOrder:
    after = orders.apply_steps(bank, order, [state], state=state, message=message)
    return replace(after, result=after.status)


def _put_entries(bank: DemoBank, order: DemoPaymentOrder) -> list[Operation]:
    """Return the write operations that store a confirmed or settled order's entries on each affected account at this
    bank.
    """
    debit = _debit_entry(bank, order)
    operations: list[Operation] = [ledger.put_entry(bank, order.account_id, debit)]
    if order.state != "settled":
        return operations
    payer, account = order.customer(bank), order.account(bank)
    for number, credit in enumerate(order.credits, start=1):
        received = replace(
            debit,
            entry_id=f"{order.payment_id}{number:02d}",
            amount=credit.amount,
            counterparty=payer.full_name if payer else _DELETED_CUSTOMER,
            counterparty_account=AccountIdentifiers(iban=account.iban or "" if account else ""),
            text=order.text if order.count == 1 else f"{credit.count} of {order.count} payments together",
            settles_at=0,
        )
        operations.append(ledger.put_entry(bank, credit.account_id, received))
    return operations


def _debit_entry(bank: DemoBank, order: DemoPaymentOrder) -> PaymentEntry:
    return PaymentEntry(
        entry_id=order.payment_id,
        payment_id=order.payment_id,
        amount=-order.amount,
        counterparty=order.receiver,
        counterparty_account=order.receiver_account,
        text=order.text,
        status=order.status,
        created_at=order.created_at,
        begun_at=order.confirmed_at,
        booked_at=bank.clock.time() if order.state == "settled" else 0,
        settles_at=order.settles_at,
    )
