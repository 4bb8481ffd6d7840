"""Payments carried out: confirmed, settled, rejected, cancelled; and the accounts as they stand with all that is due.

Money leaves an account in the transaction that confirms the payment, as a pending entry or, with an instant scheme, as
a booked one. Whoever looks at a payment or an account settles first what is due on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from chalicelib.demo_bank import books, durations, orders
from chalicelib.demo_bank.books import Entry
from chalicelib.demo_bank.customers import Account, Customer
from chalicelib.demo_bank.format import Step
from chalicelib.demo_bank.instructions import Party
from chalicelib.demo_bank.orders import Order
from chalicelib.demo_bank.runtime import TABLE, Bank
from chalicelib.demo_bank.transactions import Statement
from chalicelib.foundation import log
from chalicelib.foundation.dynamodb.store import ConditionFailed, Conflict, Delete, Operation

SETTLE_SECONDS = 20
UNKNOWN_SECONDS = 600
_TRIES = 8
NO_FUNDS = "There is not enough money on the account"
_LATE = "The payment was rejected after it had been confirmed; the money is back on the account"
_EXPIRED = "The payment was not confirmed in time"


class Moved(Exception):
    """Somebody else took the order on first; whoever gets this looks at it again."""


def book(bank: Bank, account: Account) -> Statement:
    """The statement of an account as of now; what is due on it has been settled."""
    now = bank.clock.time()
    entries = books.entries(bank, account)
    due = [entry for entry in entries if not entry.booked_at and entry.settles_at <= now]
    for entry in due:
        order = orders.find(bank, entry.payment_id)
        if order is not None:
            refresh(bank, order)
    if due:
        entries = books.entries(bank, account)
    return books.compose(account, entries, bank.clock.now().date())


def refresh(bank: Bank, order: Order) -> Order:
    """The order as it stands now: an open one may have expired, a confirmed one may be due."""
    for _ in range(_TRIES):
        now = bank.clock.time()
        try:
            if order.state == "open" and now >= order.confirm_by:
                return cancel(bank, order, _EXPIRED)
            if order.state == "confirmed" and now >= order.settles_at:
                return _settle(bank, order)
        except Moved:
            order = orders.find(bank, order.payment_id) or order
            continue
        return order
    raise Conflict("the payment kept changing")


def sign_in(bank: Bank, order: Order, customer: Customer) -> Order:
    """The customer of a direct payment is this one. Raises: Moved."""
    account_id = order.account_id if order.is_fixed else ""
    return move(bank, order, replace(order, customer_id=customer.customer_id, account_id=account_id))


def choose(bank: Bank, order: Order, account: Account) -> Order:
    """The customer pays from this account. Raises: Moved."""
    return move(bank, order, orders.stepped(bank, order, ["checked"], account_id=account.account_id))


def cancel(bank: Bank, order: Order, reason: str) -> Order:
    """No money moves. Raises: Moved."""
    return move(bank, order, _ended(bank, order, "cancelled", reason))


def confirm(bank: Bank, order: Order) -> Order:
    """The customer says yes: the money is taken from the account, if it is there. Raises: Moved."""
    account = order.account(bank)
    assert account is not None, "an account was chosen before"
    for _ in range(_TRIES):
        taken = books.turn(bank, account.account_id)
        if book(bank, account).available < order.amount:
            return move(bank, order, _ended(bank, order, "rejected", NO_FUNDS))
        after = _confirmed(bank, order)
        paying = [books.taking_turn(bank, account.account_id, taken), *_booking(bank, after)]
        paying += durations.keeping(bank, "payment", order.payment_id, order.created_at)
        try:
            return move(bank, order, after, paying)
        except ConditionFailed:
            continue  # money was taken from the account meanwhile
    raise Conflict("the account kept changing")


def move(bank: Bank, before: Order, after: Order, others: Sequence[Operation] = ()) -> Order:
    """Write an order's next state, together with ``others``.

    Raises:
        Moved: somebody else took the order on.
        ConditionFailed: a condition of ``others`` did not hold.
    """
    try:
        bank.store.transact([*orders.writing(bank, before, after), *others])
    except ConditionFailed as failure:
        if 0 in failure.failed:
            raise Moved from failure
        raise
    if after.state != before.state:
        log.info("demo bank: payment", bank=bank.profile.name, state=after.state, kind=after.kind)
    return replace(after, revision=before.revision + 1)


def _confirmed(bank: Bank, order: Order) -> Order:
    """The order after its confirmation; that of an instant payment is settled at once."""
    now = bank.clock.time()
    if order.test == "TEST-LATE-REJECT":
        after = orders.stepped(bank, order, ["undecided"], state="confirmed", settles_at=now + SETTLE_SECONDS)
    elif order.test == "TEST-UNKNOWN":
        after = orders.stepped(bank, order, ["uncertain"], state="confirmed", settles_at=now + UNKNOWN_SECONDS)
    elif order.is_instant:
        after = orders.stepped(bank, order, ["confirmed", *_settlement(order)], state="settled")
    else:
        after = orders.stepped(bank, order, ["confirmed"], state="confirmed", settles_at=now + SETTLE_SECONDS)
    return replace(after, confirmed_at=now, result=after.status)


def _settle(bank: Bank, order: Order) -> Order:
    """The day has come: the pending entry becomes a booked one, or goes. Raises: Moved."""
    if order.test == "TEST-LATE-REJECT":
        gone = books.key(bank, order.account_id, _debit(bank, order))
        return move(bank, order, _ended(bank, order, "rejected", _LATE), [Delete(TABLE, gone)])
    after = orders.stepped(bank, order, _settlement(order), state="settled")
    return move(bank, order, after, _booking(bank, after))


def _settlement(order: Order) -> list[Step]:
    return ["settled", "credited"] if order.is_within else ["settled"]


def _ended(bank: Bank, order: Order, step: Step, message: str) -> Order:
    """The order at its end without money; its status is what the browser takes back."""
    state: orders.State = "rejected" if step == "rejected" else "cancelled"
    after = orders.stepped(bank, order, [step], state=state, message=message)
    return replace(after, result=after.status)


def _booking(bank: Bank, order: Order) -> list[Operation]:
    """The entries of a confirmed or settled order on every account of this bank that it concerns."""
    debit = books.writing(bank, order.account_id, _debit(bank, order))
    if order.state != "settled":
        return [debit]
    payer, account = order.customer(bank), order.account(bank)
    assert payer is not None
    assert account is not None
    received = [
        Entry(
            entry_id=f"{order.payment_id}{number:02d}",
            payment_id=order.payment_id,
            amount=credit.amount,
            counterparty=payer.full_name,
            counterparty_account=Party(iban=account.iban or ""),
            text=order.text if order.count == 1 else f"{credit.count} of {order.count} payments together",
            status=order.status,
            created_at=order.created_at,
            begun_at=order.confirmed_at,
            booked_at=bank.clock.time(),
        )
        for number, credit in enumerate(order.credits, start=1)
    ]
    booked = [
        books.writing(bank, credit.account_id, entry) for credit, entry in zip(order.credits, received, strict=True)
    ]
    return [debit, *booked]


def _debit(bank: Bank, order: Order) -> Entry:
    is_settled = order.state == "settled"
    return Entry(
        entry_id=order.payment_id,
        payment_id=order.payment_id,
        amount=-order.amount,
        counterparty=order.receiver,
        counterparty_account=order.receiver_account,
        text=order.text,
        status=order.status,
        created_at=order.created_at,
        begun_at=order.confirmed_at,
        booked_at=bank.clock.time() if is_settled else 0,
        settles_at=order.settles_at,
    )
