"""Usage groups: in which channels, at which merchants and in which countries a card may be used."""

from __future__ import annotations

from collections.abc import Mapping

from chalicelib.cards.ledger.transaction_attributes import TransactionAttributes, in_category
from chalicelib.cards.programs.catalogue import UsageGroup

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
"""Everything that a usage group can block: cash, however the card is read, and each way of reading a card."""
AUTHENTICATED = frozenset((1, 2, 5, 6))
"""The ECI indicators of what was authenticated, and of what the merchant attempted to have authenticated."""


def channels(facts: TransactionAttributes) -> frozenset[str]:
    """The channels that a transaction takes: cash from a machine that reads the chip takes both."""
    read = _OF_ENTRY_MODES[facts.entry_mode]
    return frozenset((CASH, read) if facts.transaction_type in _CASH_TYPES else (read,))


def decline_code(group: UsageGroup | None, facts: TransactionAttributes, eci_indicator: int | None) -> str | None:
    """The response code with which a group declines a transaction; ``None`` for one that it permits.

    A transaction without a country is in none that a group allows, and in none that it blocks; one without a merchant
    category is of none that it blocks.
    """
    if group is None:
        return None
    if _is_blocked(group, facts):
        return NOT_PERMITTED
    is_online = ONLINE in channels(facts)
    if group.authenticated_online and is_online and eci_indicator not in AUTHENTICATED:
        return TO_BE_AUTHENTICATED
    return None


def _is_blocked(group: UsageGroup, facts: TransactionAttributes) -> bool:
    return (
        not channels(facts).isdisjoint(group.blocked_channels)
        or any(in_category(blocked, facts.mcc) for blocked in group.blocked_mccs)
        or facts.country in group.blocked_countries
        or (bool(group.countries) and facts.country not in group.countries)
    )
