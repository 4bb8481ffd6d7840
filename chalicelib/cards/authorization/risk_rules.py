"""Risk rules: which attempts to use a card are to be wary of, and what is done about them.

Every rule of a group is looked at by itself. One with a count counts the attempts that it is about in windows of its
own, as limits do: UTC days, ISO weeks, months or years. Attempts count whether or not they were declined.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from chalicelib.cards.ledger.conversion import NoRate, convert_at_base_rate
from chalicelib.cards.ledger.limits import OF_RISK, Windows, WindowUsage, current_window, live_windows
from chalicelib.cards.ledger.transaction_attributes import TransactionAttributes, is_in_risk_rule
from chalicelib.cards.programs.catalogue import Catalogue, RiskGroup, RiskRule
from chalicelib.cards.protocol.values import RISK_ACTIONS


@dataclass(frozen=True, slots=True)
class FiredRules:
    """The rules that an attempt fired, by the ids of group and rule (``7.1``), and what is to be done.

    ``actions`` are in the order of ``RISK_ACTIONS``, each of them once.
    """

    rules: tuple[str, ...] = ()
    actions: tuple[str, ...] = ()


def evaluate_rules(
    catalogue: Catalogue,
    groups: Iterable[RiskGroup | None],
    windows: Windows,
    facts: TransactionAttributes,
    amount: int,
    currency: int,
    now: int,
) -> tuple[Windows, FiredRules]:
    """Look at an attempt of ``amount`` in ``currency``: the windows afterwards, in which it is counted, and what fired.

    A group that is named twice is looked at once. The windows may be those that limits are counted in; the ones that
    are over are left out. ``now`` in Unix seconds.
    """
    changed = dict(live_windows(catalogue, windows, now))
    found: dict[str, RiskRule] = {}
    rules = {f"{group.id}.{rule.id}": rule for group in groups if group for rule in group.rules}
    for name, rule in rules.items():
        if not is_in_risk_rule(catalogue, rule, facts) or not _is_large(catalogue, rule, amount, currency):
            continue
        if rule.count is not None and rule.duration is not None:
            key = f"{OF_RISK}{name}"
            before = current_window(rule.duration, changed.get(key), now)
            changed[key] = before.plus(WindowUsage(key, before.start, 0, 1))
            if before.count < rule.count:
                continue
        found[name] = rule
    wished = {action for rule in found.values() for action in rule.actions}
    return changed, FiredRules(tuple(found), tuple(action for action in RISK_ACTIONS if action in wished))


def _is_large(catalogue: Catalogue, rule: RiskRule, amount: int, currency: int) -> bool:
    """Whether an amount is one that the rule is about. One that cannot be converted is not known to be."""
    if rule.amount is None or rule.amount_currency is None:
        return True
    try:
        return convert_at_base_rate(catalogue, amount, currency, rule.amount_currency) >= rule.amount
    except NoRate:
        return False
