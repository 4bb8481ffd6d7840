"""Clearings, with or without an authorization, and refunds (``docs/concepts/card-network.md``).

A clearing is booked in any state of the card and account, even if the balance becomes negative, at the current rates
and fees. The transaction that books the clearing also releases the hold.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

from chalicelib.cards.authorization import network_messages
from chalicelib.cards.authorization.activity_record import ACQUIRER_BIN, UNCHECKED, CardUse, at_merchant, risk_members
from chalicelib.cards.authorization.authorization_record import (
    NOT_DUE,
    Authorization,
    find_by_trans_link,
    join_usage,
    split_usage,
)
from chalicelib.cards.authorization.card_context import CardContext, read_card_context, read_with_card
from chalicelib.cards.issuing.card_record import Card
from chalicelib.cards.ledger.account_record import Account
from chalicelib.cards.ledger.charges import Charge, PostingContext
from chalicelib.cards.ledger.conversion import ClearedAmount, NoRate, convert_at_base_rate, portion
from chalicelib.cards.ledger.entries import NETWORK, Movement
from chalicelib.cards.ledger.transaction_record import Transaction
from chalicelib.cards.ledger.usage_counters import CounterChanges, Usage
from chalicelib.cards.protocol import values
from chalicelib.cards.protocol.simulator_messages import Cleared, SimulateClearing, SimulateRefund
from chalicelib.cards.protocol.states import CLEARED, CREDITED_ACCOUNT, DECLINED
from chalicelib.cards.protocol.status_codes import Refused, Status
from chalicelib.cards.requests.request_context import ActionOutcome, RequestContext
from chalicelib.cards.storage.record import without_none
from chalicelib.cards.storage.sequences import Sequences
from chalicelib.foundation.dynamodb.store import Operation


def simulate_clearing(
    request: SimulateClearing, context: RequestContext, *, sequences: Sequences
) -> ActionOutcome[Cleared]:
    """The clearing is booked regardless of status and balance, at the current rates and fees. Without an exchange rate,
    the clearing is refused with 5003. Merchant details in the request replace the earlier details.
    """
    authorization, card_context = _read_authorization(request, context, values.PURCHASE, sequences)
    use, tally = _use_at_shop(authorization.card_use, request), CounterChanges()
    party = card_context.posting_context(card_context.accounts[0])
    facts = use.attributes(request.currency_ison, party.holder_country)
    charge = party.charge(facts, request.amount, debit=use.takes_money)
    members, released, back, excess = _split_off(request, context, authorization)
    party.release(back, tally)
    if excess:
        if authorization.left:
            facts = replace(facts, currency=authorization.currency)
        further = authorization.left if authorization.is_held or authorization.cleared else None
        party.count(facts, excess, context.now, tally, forced=True, further=further)
    before = authorization.cleared_in(request.currency_ison, partial(party.purchase_amount, request.currency_ison))
    converted = charge.conversion
    cleared = before.add_clearing(converted) if before else ClearedAmount.of_clearing(converted)
    members |= authorization.cleared_members(request.currency_ison, cleared)
    if not members["left"]:
        members |= {"state": CLEARED, **NOT_DUE}
    return _post(context, authorization, card_context, use, charge, members, released, tally, sequences=sequences)


def simulate_refund(
    request: SimulateRefund, context: RequestContext, *, sequences: Sequences
) -> ActionOutcome[Cleared]:
    """The account's status must be A or R (4003). With ``trans_link``, the currency must be the currency of a clearing
    (5003). The amount must not exceed the amount cleared in this currency, less earlier refunds and disputes (5004).
    Without a clearing, the refund is refused with 4008.
    """
    authorization, card_context = _read_authorization(request, context, values.REFUND, sequences)
    account = card_context.accounts[0]
    if account.status not in CREDITED_ACCOUNT:
        raise Refused(Status.ACCOUNT_STATUS)
    use = replace(_use_at_shop(authorization.card_use, request), transaction_type=values.REFUND)
    party, tally = card_context.posting_context(account), CounterChanges()
    facts = use.attributes(request.currency_ison, party.holder_country)
    cleared = None if request.trans_link is None else _cleared_amount(authorization, request, party)
    charge = party.charge(facts, request.amount, debit=False, cleared=cleared)
    party.count(facts, request.amount, context.now, tally, forced=True)
    members: dict[str, Any] = {"state": CLEARED}
    if cleared is not None:
        members = authorization.cleared_members(request.currency_ison, cleared.add_refund(charge.conversion))
    return _post(context, authorization, card_context, use, charge, members, 0, tally, sequences=sequences)


def _read_authorization(
    request: SimulateClearing, context: RequestContext, transaction_type: int, sequences: Sequences
) -> tuple[Authorization, CardContext]:
    """Read the requested authorization, or create a new one, and read its card's context with one account.

    If no message was approved, the account is chosen as for a new authorization. Raises: Refused.
    """
    authorization = None
    if request.trans_link is not None:
        authorization = find_by_trans_link(context, request.trans_link)
        authorization.require(context.action)
        if not authorization.card_use.moves_money:
            raise Refused(Status.WRONG_STATE, "an inquiry moves no money")
        if authorization.state != DECLINED:
            return authorization, read_with_card(context.items, context.catalogue, authorization)
    card = context.find(Card, authorization.card_id if authorization else request.card_id or 0)
    card_context = read_card_context(context.items, context.catalogue, card)
    account = card_context.account_for(request.currency_ison)
    if account is None:
        raise Refused(
            Status.CURRENCY_NOT_SUPPORTED, "the card has no account in this currency and does not convert currencies"
        )
    authorization = authorization or _new_authorization(request, context, card, account, transaction_type, sequences)
    return replace(authorization, account_id=account.id), card_context.with_account(account)


def _new_authorization(
    request: SimulateClearing,
    context: RequestContext,
    card: Card,
    account: Account,
    transaction_type: int,
    sequences: Sequences,
) -> Authorization:
    use = CardUse(transaction_type=transaction_type, checks=UNCHECKED)
    return Authorization(
        id=sequences.next("authorization"),
        version=0,
        manager_id=card.manager_id,
        access_level=card.access_level,
        card_id=card.id,
        holder_id=card.holder_id,
        account_id=account.id,
        at=context.at,
        state=DECLINED,
        response_code=values.APPROVED,
        currency=request.currency_ison,
        use=_use_at_shop(use, request).as_dict,
    )


def _post(
    context: RequestContext,
    authorization: Authorization,
    card_context: CardContext,
    use: CardUse,
    charge: Charge,
    members: dict[str, Any],
    released: int,
    tally: CounterChanges,
    *,
    sequences: Sequences,
) -> ActionOutcome[Cleared]:
    account = card_context.accounts[0]
    about = {"authorization_id": authorization.id, "authorization_version": authorization.version + 1}
    movement = Movement("clearing" if charge.debit else "credit", context.at, context.write_id, tally, **about)
    movement.list_by_card(card_context.of_card)
    movement.hold(account, -released)
    number, *fee_ids = sequences.take("transaction", 1 + len(charge.separate_fees))
    main = Transaction(
        id=number,
        transaction_type=use.transaction_type,
        mti=values.PRESENTMENT,
        function_code=values.FURTHER_PRESENTMENT
        if authorization.cleared and charge.debit
        else values.FIRST_PRESENTMENT,
        trans_link=authorization.trans_link,
        card_id=card_context.card.id,
        entry_mode=use.entry_mode,
        country=use.country,
        description=use.merchant_name,
        authorization_id=authorization.id,
        network=_network_members(authorization, use, number, context.now),
        **charge.transaction_members,
    )
    charge.book(movement, account, NETWORK)
    charge.list_transactions(movement, account, main, fee_ids)
    after = movement.account_after(account)
    data: Cleared = {
        "transaction_id": number,
        "trans_link": authorization.trans_link,
        "holder_amount": charge.holder_amount,
        "released_amount": released,
        **after.visible_balances(context.level),
    }
    members |= {"account_id": account.id, "booked_row": after.movements}
    update: Operation = authorization.update(context.write_id, **members)
    if not authorization.version:
        update = replace(authorization, version=1, **without_none(members)).put(context.write_id)
    return ActionOutcome(
        data, [update, *movement.operations()], events=[network_messages.transaction_event(main, after, released)]
    )


def _use_at_shop(use: CardUse, request: SimulateClearing) -> CardUse:
    return replace(use, **without_none(at_merchant(request)))


def _split_off(
    request: SimulateClearing, context: RequestContext, authorization: Authorization
) -> tuple[dict[str, Any], int, Usage, int]:
    """Subtract a clearing's share from an authorization. A final clearing takes the entire remainder.

    Returns the changed members, the released hold, the limit usage to release, and the unauthorized amount. The
    unauthorized amount is in the authorization's currency. If nothing remains to be cleared, the unauthorized amount is
    in the clearing's currency.
    """
    left, held = authorization.left, authorization.held
    worth = left or request.amount
    if left:
        with suppress(NoRate):  # without an exchange rate, assume the authorized amount
            worth = convert_at_base_rate(
                context.catalogue, request.amount, request.currency_ison, authorization.currency
            )
    part = min(worth, left)
    taken = portion(held, part, left) if left else 0
    _, rest = split_usage(authorization.counted, part, left or 1, with_count=True)
    back = join_usage(rest, None)
    if request.final == 0 and part < left:
        return {"left": left - part, "held": held - taken, "counted": back}, taken, {}, 0
    return {"left": 0, "held": 0, "counted": None}, held, back or {}, worth - part


def _cleared_amount(authorization: Authorization, request: SimulateClearing, party: PostingContext) -> ClearedAmount:
    if not (authorization.cleared and authorization.card_use.takes_money):
        raise Refused(Status.WRONG_STATE, "there is no cleared amount to refund")
    cleared = authorization.cleared_in(request.currency_ison, partial(party.purchase_amount, request.currency_ison))
    if cleared is None:
        raise Refused(Status.CURRENCY_NOT_SUPPORTED, "no amount was cleared in this currency")
    if request.amount > cleared.left:
        raise Refused(Status.MORE_THAN_ORIGINAL)
    return cleared


def _network_members(authorization: Authorization, use: CardUse, number: int, now: int) -> dict[str, Any]:
    day = f"{datetime.fromtimestamp(now, UTC):%y%m%d}"
    known = use.report_members(number, now) | {
        "auth_code": authorization.auth_code,
        "acquirer_bin": ACQUIRER_BIN,
        "acquirer_processing_date": day,
        "settlement_date": int(day),
        "reconciliation_date": int(day),
        "merchant_terminal_id": use.terminal_id,
        "merchant_country": use.country,
        **risk_members(authorization.fired_rules),
    }
    return without_none(known)
