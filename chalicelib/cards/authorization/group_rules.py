"""Usage group and risk group rules: permitted channels and suspicious attempts.

All rules of a risk group are evaluated. A rule with an attempt limit counts approved and declined attempts in its own
windows, which are UTC days, ISO weeks, months or years, as for limits.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from chalicelib.cards.ledger.conversion import NoRate, convert_at_base_rate
from chalicelib.cards.ledger.transaction_attributes import TransactionAttributes, applying_rules, in_category
from chalicelib.cards.ledger.usage_counters import Windows, WindowUsage, current_window, live_windows
from chalicelib.cards.programs.catalogue import OF_RISK, Catalogue, RiskGroup, RiskRule, UsageGroup
from chalicelib.cards.protocol.values import RISK_ACTIONS
from chalicelib.foundation.lazy_dataclasses import dataclass

NOT_PERMITTED, TO_BE_AUTHENTICATED = "57", "1A"

CASH, ONLINE = "cash", "online"
_CASH_TYPES = frozenset((1, 12))
_OF_ENTRY_MODES: Mapping[int, str] = {
    0: "unknown",
    1: "manual",
    2: "magnetic_stripe",
    5: "chip",
    7: "contactless",
    10: "credential_on_file",
    80: "magnetic_stripe",
    81: ONLINE,
    90: "magnetic_stripe",
    91: "contactless",
}
CHANNELS = (CASH, *dict.fromkeys(_OF_ENTRY_MODES.values()))
"""The channels that a usage group can block: cash, and each way of reading a card."""
AUTHENTICATED = frozenset((1, 2, 5, 6))
"""The ECI values of successful and attempted authentications."""


@dataclass(frozen=True, slots=True)
class FiredRules:
    """The rules that fired, as ``group.rule`` ids such as ``7.1``, and their actions.

    ``actions`` has no duplicates and follows the order of ``RISK_ACTIONS``.
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
    """Evaluate risk rules for an attempt of ``amount`` in ``currency`` at ``now`` (Unix seconds).

    Returns the updated windows and the rules that fired. ``windows`` may include windows of limits. Expired windows are
    removed. Duplicate groups are evaluated once.
    """
    changed = live_windows(catalogue, windows, now)
    found: dict[str, RiskRule] = {}
    rules = {f"{group.id}.{rule.id}": rule for group in groups if group for rule in group.rules}
    for name, rule in applying_rules(catalogue, rules.items(), facts):
        if not _is_large(catalogue, rule, amount, currency):
            continue
        if rule.count is not None and rule.duration is not None:
            key = f"{OF_RISK}{name}"
            before = current_window(rule.duration, changed.get(key), now)
            changed[key] = before.add(WindowUsage(key, before.start, 0, 1))
            if before.count < rule.count:
                continue
        found[name] = rule
    wished = {action for rule in found.values() for action in rule.actions}
    return changed, FiredRules(tuple(found), tuple(action for action in RISK_ACTIONS if action in wished))


def _is_large(catalogue: Catalogue, rule: RiskRule, amount: int, currency: int) -> bool:
    if rule.amount is None or rule.amount_currency is None:
        return True
    try:
        return convert_at_base_rate(catalogue, amount, currency, rule.amount_currency) >= rule.amount
    except NoRate:
        return False


def channels(facts: TransactionAttributes) -> frozenset[str]:
    """Return the channels of a transaction. A cash withdrawal at an ATM that reads the chip uses both ``cash`` and
    ``chip``.
    """
    read = _OF_ENTRY_MODES[facts.entry_mode]
    return frozenset((CASH, read) if facts.transaction_type in _CASH_TYPES else (read,))


def decline_code(group: UsageGroup | None, facts: TransactionAttributes, eci_indicator: int | None) -> str | None:
    """Return the response code if the usage group declines the transaction, otherwise ``None``.

    A transaction without a country matches neither permitted nor blocked countries. A transaction without a merchant
    category matches no blocked category.
    """
    if group is None:
        return None
    used = channels(facts)
    if not used.isdisjoint(group.blocked_channels) or any(in_category(each, facts.mcc) for each in group.blocked_mccs):
        return NOT_PERMITTED
    if facts.country in group.blocked_countries or (group.countries and facts.country not in group.countries):
        return NOT_PERMITTED
    if group.authenticated_online and ONLINE in used and eci_indicator not in AUTHENTICATED:
        return TO_BE_AUTHENTICATED
    return None
