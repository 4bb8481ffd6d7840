"""The authorizer decides on a card's use, amount and account for the issuer.

It checks in this order: the card's status, expiry, PIN and CVC2, the usage group, the choice of an account and its
status, risk rules, exchange rate and fees, limits, and the balance. The first failed check determines the response
code. The code is 91 if the keys for PIN and CVC2 are unreachable or the decision takes too long, and 96 if the card
data cannot be decrypted.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Mapping
from dataclasses import field, replace
from functools import cached_property
from typing import Any

from chalicelib.cards.authorization import group_rules
from chalicelib.cards.authorization.activity_record import CardUse
from chalicelib.cards.authorization.authorization_record import Authorization
from chalicelib.cards.authorization.card_context import CardContext
from chalicelib.cards.authorization.group_rules import FiredRules
from chalicelib.cards.card_data.encryption import CardData
from chalicelib.cards.issuing.card_decryption import compute_cvc2, decrypt_number
from chalicelib.cards.issuing.card_record import Card
from chalicelib.cards.ledger.account_record import Account
from chalicelib.cards.ledger.charges import Charge, PostingContext
from chalicelib.cards.ledger.transaction_attributes import TransactionAttributes
from chalicelib.cards.ledger.usage_counters import CounterChanges, Counters, OverLimit, Usage
from chalicelib.cards.protocol import values
from chalicelib.cards.protocol.states import CREDITED_ACCOUNT, DECLINED_BY_ACCOUNT, DECLINED_BY_CARD, PIN_IS_BLOCKED
from chalicelib.cards.protocol.status_codes import Refused
from chalicelib.foundation import log
from chalicelib.foundation.aws.errors import AwsError
from chalicelib.foundation.crypto.keyring import Unsealable
from chalicelib.foundation.lazy_dataclasses import dataclass

EXPIRED, WRONG_PIN, PIN_BLOCKED, WRONG_CVC2 = "54", "55", "75", "N7"
NO_FUNDS, NOT_PERMITTED, SUSPECTED = "51", "57", "59"
OVER_AMOUNT, OVER_COUNT = "61", "65"
NOT_AVAILABLE, MALFUNCTION = "91", "96"
CVC2 = "cvc2"
"""The name of the card's counter for incorrect CVC2 entries."""
BY_RULE: Mapping[str, Any] = {"reason_code": values.OF_RISK_RULE, "note": None}
"""The reason that the authorizer records for status changes."""


@dataclass(frozen=True, slots=True)
class PresentedData:
    expiry_year: int | None = None
    expiry_month: int | None = None
    pin: str | None = field(default=None, repr=False)
    cvc2: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class RequestedAmount:
    """An amount requested by the network, in minor units of ``currency``, including cashback.

    If ``partial`` is true, a smaller amount without cashback may be approved.
    """

    use: CardUse
    amount: int
    currency: int
    presented: PresentedData = field(default_factory=PresentedData)
    partial: bool = False


@dataclass(frozen=True)
class Decision:
    """A decision and its effects.

    Attributes:
        code: the response code.
        account: the account used, or the primary account if no account could be chosen.
        amount: the approved part of the requested amount.
        charge: the charge to the account, or ``None`` if it was not computed.
        counted: the usage counted against limits.
        fired: the risk rules that fired, with their actions.
        card_changes: the card members to change.
        account_changes: the account members to change.
    """

    code: str
    account: Account
    amount: int = 0
    charge: Charge | None = None
    counted: Usage | None = None
    fired: FiredRules = field(default_factory=FiredRules)
    card_changes: Mapping[str, Any] = field(default_factory=dict)
    account_changes: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def is_approved(self) -> bool:
        return self.code in values.APPROVALS


def draw_auth_code(decision: Decision) -> str | None:
    """Return a new authorization code of six random digits for an approval, or ``None`` for a decline."""
    return f"{secrets.randbelow(10**6):06}" if decision.is_approved else None


def decide(
    card_context: CardContext,
    asked: RequestedAmount,
    now: int,
    tally: CounterChanges,
    by_number: str | None = None,
    *,
    card_data: CardData,
) -> Decision:
    """Decide on a card use at ``now`` (Unix seconds), and count usage in ``tally``.

    ``by_number`` is the decline code for a replaced card number.
    """
    card, chosen = card_context.card, card_context.account_for(asked.currency)
    account = chosen or card_context.accounts[0]
    code = by_number or DECLINED_BY_CARD.get(card.status(now))
    if code is not None:
        return Decision(code, account)
    code, changes = _verify_cardholder(card, asked.presented, now, card_data)
    if code is not None:
        return Decision(code, account, card_changes=changes)
    return _decide_use(card_context, chosen, asked, now, tally, changes)


def _verify_cardholder(
    card: Card, presented: PresentedData, now: int, card_data: CardData
) -> tuple[str | None, Mapping[str, Any]]:
    """Verify the cardholder. If the keys are unavailable, decline without counting a failed attempt."""
    try:
        return _check_presented(card, presented, now, card_data)
    except AwsError:
        log.exception("keys unavailable", card_id=card.id)
        return NOT_AVAILABLE, {}
    except (Unsealable, KeyError):
        log.exception("card data not decrypted", card_id=card.id)
        return MALFUNCTION, {}


def _check_presented(
    card: Card, presented: PresentedData, now: int, card_data: CardData
) -> tuple[str | None, dict[str, Any]]:
    """Return the response code of a failed check, and the changes to the card's counters of failed attempts.

    The caller must write the changes on condition that the card is unchanged. Otherwise parallel guesses of the PIN or
    the CVC2 could exceed the limits.
    """
    is_same_year = presented.expiry_year in (None, card.expiry_year)
    if not is_same_year or presented.expiry_month not in (None, card.expiry_month):
        return EXPIRED, {}
    if presented.pin is None and presented.cvc2 is None:
        return None, {}
    number = decrypt_number(card, card_data)
    code, changes = _check_pin(card, number, presented.pin, card_data)
    if code is not None or presented.cvc2 is None:
        return code, changes
    if card.has_too_many_mismatches(CVC2, now):
        return WRONG_CVC2, changes
    if not hmac.compare_digest(compute_cvc2(card, number, card_data), presented.cvc2):
        return WRONG_CVC2, changes | {"wrong": card.with_wrong_entry(CVC2, now)}
    return None, changes


def _check_pin(card: Card, number: str, pin: str | None, card_data: CardData) -> tuple[str | None, dict[str, Any]]:
    """Count an incorrect PIN, or reset the counter for a correct PIN."""
    if pin is None:
        return None, {}
    if card.pin_is_blocked:
        return PIN_BLOCKED, {}
    if card.pvv is not None:
        value = card_data.pvv(number, pin, card.key_version)
        if hmac.compare_digest(value, card.pvv):
            return None, {"pin_tries": 0} if card.pin_tries else {}
    tries = card.pin_tries + 1
    if tries < card.pin_tries_limit:
        return WRONG_PIN, {"pin_tries": tries}
    return PIN_BLOCKED, {"pin_tries": tries, "pin_status": PIN_IS_BLOCKED}


def force(card_context: CardContext, asked: RequestedAmount, code: str, now: int, tally: CounterChanges) -> Decision:
    """Apply a response code without checks. Count an approval and place its hold, even if the hold exceeds the balance.

    If there is no exchange rate, the amount of the hold is unknown, and an approval is recorded as a decline.
    """
    account = card_context.account_for(asked.currency) or card_context.accounts[0]
    if code not in values.APPROVALS or not asked.use.moves_money:
        return Decision(code, account)
    party = card_context.posting_context(account)
    facts = asked.use.attributes(asked.currency, party.holder_country)
    try:
        charge = party.charge(facts, asked.amount, debit=asked.use.takes_money)
    except Refused:
        return Decision(NOT_PERMITTED, account)
    counted = party.count(facts, asked.amount, now, tally, forced=True)
    return Decision(code, account, asked.amount, charge, counted)


def price(card_context: CardContext, account: Account, asked: RequestedAmount) -> Charge | None:
    """Return the charge to an account for the request, or ``None`` if there is no exchange rate."""
    party = card_context.posting_context(account)
    facts = asked.use.attributes(asked.currency, party.holder_country)
    try:
        return party.charge(facts, asked.amount, debit=asked.use.takes_money)
    except Refused:
        return None


def increase(
    card_context: CardContext, authorization: Authorization, amount: int, now: int, tally: CounterChanges
) -> tuple[Decision, Charge | None]:
    """Decide on an increment of ``amount``. Return the decision and the charge for the new total.

    The charge is recomputed for the total, so fixed fees are not held twice.
    """
    account, use = card_context.accounts[0], authorization.card_use
    code = DECLINED_BY_CARD.get(card_context.card.status(now)) or _decline_by_account(account, use)
    if code is not None:
        return Decision(code, account), None
    party = card_context.posting_context(account)
    facts = use.attributes(authorization.currency, party.holder_country)
    try:
        whole = party.charge(facts, authorization.left + amount, debit=use.takes_money)
    except Refused:
        return Decision(NOT_PERMITTED, account), None
    before = authorization.charge_details
    charge = whole.increase_over(before.share(authorization.left)) if before else whole
    is_paid = not use.takes_money or whole.total - authorization.held <= account.available
    more, counted = Decision(values.APPROVED, account, amount, charge), tally if is_paid else tally.copy()
    decision = _count(party, facts, more, now, counted, further=authorization.left)
    if decision.is_approved and not is_paid:
        decision = Decision(NO_FUNDS, account, charge=charge)
    return decision, whole


def _decide_use(
    card_context: CardContext,
    account: Account | None,
    asked: RequestedAmount,
    now: int,
    tally: CounterChanges,
    changes: Mapping[str, Any],
) -> Decision:
    """Decide on the use of a valid, verified card. ``account`` is ``None`` if the card has no account for the
    currency.
    """
    party = card_context.posting_context(account or card_context.accounts[0])
    facts = asked.use.attributes(asked.currency, party.holder_country)
    group = card_context.catalogue.usage_groups.get(card_context.card.usage_group_id)
    code = group_rules.decline_code(group, facts, asked.use.eci_indicator)
    if code is None and account is not None:
        code = _decline_by_account(account, asked.use)
    if code is not None or account is None:
        return Decision(code or NOT_PERMITTED, account or card_context.accounts[0], card_changes=changes)
    fired = _evaluate_rules(card_context, account, party.counters[0], facts, asked, now, tally)
    decision = _decide_price(party, asked, facts, now, tally, rejected=values.REJECT in fired.actions)
    if values.CARD_TO_RISK in fired.actions:
        changes = {**changes, "stored_status": "R", **BY_RULE}
    by_rules = {"status": "S", **BY_RULE} if values.ACCOUNT_TO_SUSPENDED in fired.actions else {}
    return replace(decision, fired=fired, card_changes=changes, account_changes=by_rules)


def _decline_by_account(account: Account, use: CardUse) -> str | None:
    if not use.takes_money and account.status in CREDITED_ACCOUNT:
        return None
    return DECLINED_BY_ACCOUNT.get(account.status)


def _evaluate_rules(
    card_context: CardContext,
    account: Account,
    of_account: Counters,
    facts: TransactionAttributes,
    asked: RequestedAmount,
    now: int,
    tally: CounterChanges,
) -> FiredRules:
    """Evaluate the risk groups of the card and the account. Each group has separate counters of attempts."""
    groups = card_context.catalogue.risk_groups
    rules: dict[str, None] = {}
    actions: set[str] = set()
    for counters, number in (
        (card_context.of_card, card_context.card.risk_group_id),
        (of_account, account.risk_group_id),
    ):
        before = tally.current(counters).windows
        windows, found = group_rules.evaluate_rules(
            card_context.catalogue, [groups.get(number)], before, facts, asked.amount, asked.currency, now
        )
        if windows != before:
            tally.change(counters, windows)
        rules |= dict.fromkeys(found.rules)
        actions |= set(found.actions)
    return FiredRules(tuple(rules), tuple(action for action in values.RISK_ACTIONS if action in actions))


def _decide_price(
    party: PostingContext,
    asked: RequestedAmount,
    facts: TransactionAttributes,
    now: int,
    tally: CounterChanges,
    *,
    rejected: bool,
) -> Decision:
    account = party.account
    assert isinstance(account, Account), "a card context has accounts of holders"
    if not asked.use.moves_money:
        return Decision(SUSPECTED if rejected else values.APPROVED, account)
    try:
        charge = party.charge(facts, asked.amount, debit=asked.use.takes_money)
    except Refused:
        return Decision(SUSPECTED if rejected else NOT_PERMITTED, account)
    if rejected:
        return Decision(SUSPECTED, account, charge=charge)
    is_paid = not asked.use.takes_money or charge.total <= account.available
    whole = Decision(values.APPROVED, account, asked.amount, charge)
    decision = _count(party, facts, whole, now, tally if is_paid else tally.copy())
    if is_paid or not decision.is_approved:
        return decision
    partly = _affordable_part(party, asked, facts) if asked.partial else None
    if partly is None:
        return Decision(NO_FUNDS, account, charge=charge)
    return _count(party, facts, Decision(values.APPROVED_IN_PART, account, *partly), now, tally)


def _count(
    party: PostingContext,
    facts: TransactionAttributes,
    decision: Decision,
    now: int,
    tally: CounterChanges,
    *,
    further: int | None = None,
) -> Decision:
    """Count the approval against the limits, or decline it if it exceeds a limit."""
    try:
        counted = party.count(facts, decision.amount, now, tally, further=further)
    except OverLimit as over:
        code = OVER_AMOUNT if over.bound == "amount" else OVER_COUNT
        return Decision(code, decision.account, charge=decision.charge)
    except Refused:
        return Decision(NOT_PERMITTED, decision.account, charge=decision.charge)
    return replace(decision, counted=counted)


def _affordable_part(
    party: PostingContext, asked: RequestedAmount, facts: TransactionAttributes
) -> tuple[int, Charge] | None:
    """Return the largest part of the amount that the account can afford, without cashback, and its charge.

    Return ``None`` if this part is zero.
    """
    available = party.account.available
    low, high = 0, asked.amount - (asked.use.cashback_amount or 0)
    while low < high:
        middle = (low + high + 1) // 2
        if party.charge(facts, middle, debit=asked.use.takes_money).total <= available:
            low = middle
        else:
            high = middle - 1
    return (low, party.charge(facts, low, debit=asked.use.takes_money)) if low else None
