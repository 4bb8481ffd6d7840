"""Disputes: opening, winning and losing (``docs/concepts/card-network.md``).

The disputed amount is credited immediately and reserved until the dispute is won or lost.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from chalicelib.cards.authorization import network_messages
from chalicelib.cards.authorization.authorization_record import Authorization, Dispute
from chalicelib.cards.events.card_events import CardEvent
from chalicelib.cards.ledger import usage_counters
from chalicelib.cards.ledger.account_record import Account
from chalicelib.cards.ledger.conversion import ClearedAmount, portion
from chalicelib.cards.ledger.entries import NETWORK, Movement
from chalicelib.cards.ledger.transaction_record import Transaction, row_key, transaction_key
from chalicelib.cards.ledger.usage_counters import Counters
from chalicelib.cards.protocol import values
from chalicelib.cards.protocol.simulator_messages import Disputed, SimulateDispute
from chalicelib.cards.protocol.states import DISPUTE_LOST, DISPUTE_OPENED, DISPUTE_RULES, DISPUTE_WON
from chalicelib.cards.protocol.status_codes import Refused, Status, refused_field, require_permitted
from chalicelib.cards.requests.request_context import ActionOutcome, RefusedWith, RequestContext
from chalicelib.cards.storage.sequences import Sequences
from chalicelib.foundation.dynamodb.store import Item, Operation
from chalicelib.foundation.lazy_dataclasses import dataclass

CALLED: Mapping[str, str] = {DISPUTE_OPENED: "dispute opened", DISPUTE_WON: "dispute won", DISPUTE_LOST: "dispute lost"}
"""The cause recorded in the ledger for each dispute step. It is also the description of the transaction that is booked.
"""


@dataclass(frozen=True, slots=True)
class _Case:
    lead: Item
    row: Item
    dispute: Dispute | None
    authorization: Authorization
    account: Account
    of_card: Counters


def simulate_dispute(
    request: SimulateDispute, context: RequestContext, *, sequences: Sequences
) -> ActionOutcome[Disputed]:
    """The transaction must be a clearing (4008) and can be disputed once. ``amount`` must not exceed the amount
    charged, less refunds (5004). The steps ``won`` and ``lost`` require an open dispute (4008). A closed dispute cannot
    be closed again (4002). When a dispute is closed, ``amount`` must be the disputed amount or absent (2005).
    """
    case = _read_case(request, context)
    require_permitted(DISPUTE_RULES[request.step][case.dispute.step if case.dispute else None])
    if case.dispute is None:
        return _open_dispute(request, context, case, sequences)
    if request.amount not in (None, case.dispute.amount):
        raise refused_field("amount", "value", "must be the dispute's amount or absent")
    return _close_dispute(request, context, case, case.dispute, sequences)


def _read_case(request: SimulateDispute, context: RequestContext) -> _Case:
    """Read the transaction with its dispute, authorization and account. Raises: Refused."""
    lead, found = context.items([transaction_key(request.transaction_id), Dispute.key(request.transaction_id)])
    if lead is None or not context.can_see(lead):
        raise Refused(Status.NO_TRANSACTION)
    if lead.get("mti") != values.PRESENTMENT or lead["transaction_type"] in values.CREDIT_TYPES:
        raise Refused(Status.WRONG_STATE, "only a clearing that debits the holder can be disputed")
    row, *items = context.items(
        [
            row_key(lead),
            Authorization.key(lead["authorization_id"]),
            Account.key(lead["account_id"]),
            usage_counters.key("card", lead["card_id"]),
        ]
    )
    assert row is not None and items[0] is not None and items[1] is not None, "booked records are never deleted"
    return _Case(
        lead,
        row,
        Dispute.from_item(found) if found else None,
        Authorization.from_item(items[0]),
        Account.from_item(items[1]),
        Counters.from_item("card", lead["card_id"], items[2]),
    )


def _open_dispute(
    request: SimulateDispute, context: RequestContext, case: _Case, sequences: Sequences
) -> ActionOutcome[Disputed]:
    amount = case.row["holder_amount"] if request.amount is None else request.amount
    worth = portion(case.row["amount"], amount, case.row["holder_amount"])
    cleared = _cleared_amount(case)
    is_covered = worth <= cleared.left and cleared.covers(_without_fees(case, amount))
    if amount > case.row["holder_amount"] or not is_covered:
        raise RefusedWith(Status.MORE_THAN_ORIGINAL, [Dispute.check_undisputed(request.transaction_id)])
    dispute = Dispute(
        id=sequences.next("dispute"),
        manager_id=context.manager_id,
        access_level=case.lead["access_level"],
        transaction_id=request.transaction_id,
        account_id=case.account.id,
        step=DISPUTE_OPENED,
        amount=amount,
        worth=worth,
        opened_at=context.now,
    )
    movement = _start_movement(request, context, case)
    movement.book(case.account, amount, NETWORK)
    movement.reserve(case.account, amount)
    shown = _list_transaction(case, movement, values.CREDIT_ADJUSTMENT, amount, sequences)
    written = [dispute.put(context.write_id), _update_disputed(case, dispute, context.write_id)]
    return _outcome(context, dispute, case, movement, written, shown)


def _close_dispute(
    request: SimulateDispute, context: RequestContext, case: _Case, dispute: Dispute, sequences: Sequences
) -> ActionOutcome[Disputed]:
    movement = _start_movement(request, context, case)
    movement.reserve(case.account, -dispute.amount)
    written: list[Operation] = [dispute.update(context.write_id, step=request.step)]
    shown = None
    if request.step == DISPUTE_LOST:
        movement.book(case.account, -dispute.amount, NETWORK)
        shown = _list_transaction(case, movement, values.DEBIT_ADJUSTMENT, dispute.amount, sequences)
        written.append(_update_disputed(case, dispute, context.write_id, sign=-1))
    return _outcome(context, dispute, case, movement, written, shown)


def _start_movement(request: SimulateDispute, context: RequestContext, case: _Case) -> Movement:
    movement = Movement(
        CALLED[request.step],
        context.at,
        context.write_id,
        authorization_id=case.authorization.id,
        transaction_id=request.transaction_id,
    )
    movement.list_by_card(case.of_card)
    return movement


def _list_transaction(
    case: _Case, movement: Movement, transaction_type: int, amount: int, sequences: Sequences
) -> Transaction:
    """Add the transaction of a dispute step, in the account's currency, to the account's list."""
    account, authorization = case.account, case.authorization
    use = authorization.card_use
    is_credit = transaction_type == values.CREDIT_ADJUSTMENT
    transaction = Transaction(
        id=sequences.next("transaction"),
        transaction_type=transaction_type,
        direction="credit" if is_credit else "debit",
        mti=values.CHARGEBACK,
        function_code=values.FIRST_CHARGEBACK,
        trans_link=authorization.trans_link,
        amount=amount,
        currency=account.currency,
        holder_amount=amount,
        entry_mode=use.entry_mode,
        parent_id=case.row["id"],
        card_id=case.row["card_id"],
        country=use.country,
        description=CALLED[DISPUTE_OPENED if is_credit else DISPUTE_LOST],
        authorization_id=authorization.id,
        reason_code=values.OF_DISPUTE,
        network={
            **(case.row.get("network") or {}),
            "proc_code": transaction_type * 10_000,
            "transaction_type": transaction_type,
        },
    )
    movement.list_transaction(account, transaction)
    return transaction


def _cleared_amount(case: _Case) -> ClearedAmount:
    row = case.row
    taken = row["holder_amount"] - row["fee"] + (0 if row["conversion_fee_blended"] else row["conversion_fee"])
    found = case.authorization.cleared_in(row["currency"], lambda amount: taken * amount // row["amount"])
    assert found is not None, "the transaction is a clearing"
    return found


def _without_fees(case: _Case, amount: int) -> int:
    """Return the disputed amount without a proportional share of the fees that the transaction's amount includes.

    The conversion fee is not deducted.
    """
    whole: int = case.row["holder_amount"]
    return portion(whole - case.row["fee"], amount, whole) if whole else 0


def _update_disputed(case: _Case, dispute: Dispute, write_id: str, *, sign: Literal[1, -1] = 1) -> Operation:
    after = _cleared_amount(case).give_back(sign * dispute.worth, sign * _without_fees(case, dispute.amount))
    return case.authorization.update(write_id, **case.authorization.cleared_members(case.row["currency"], after))


def _outcome(
    context: RequestContext,
    dispute: Dispute,
    case: _Case,
    movement: Movement,
    written: list[Operation],
    shown: Transaction | None,
) -> ActionOutcome[Disputed]:
    after = movement.account_after(case.account)
    data: Disputed = {
        "dispute_id": dispute.id,
        "reserved_balance": after.reserved if after.access_level <= context.level else 0,
        **after.visible_balances(context.level),
    }
    events: list[CardEvent] = [network_messages.transaction_event(shown, after, 0)] if shown else []
    return ActionOutcome(data, [*written, *movement.operations()], events=events)
