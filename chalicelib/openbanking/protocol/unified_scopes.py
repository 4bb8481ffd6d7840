"""Unified scopes: names for permissions that are the same at banks of all versions.

A request names either unified or native scopes. Banks receive and approve native scopes only. To add a version, add a
row to ``NATIVE_SCOPES``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from chalicelib.openbanking.protocol.scopes import Scope
from chalicelib.openbanking.protocol.version import by_name

UNIFIED_SCOPES: Mapping[str, Scope] = by_name(
    Scope("accounts:read", "AISP", "account list and details"),
    Scope("balances:read", "AISP", "balances"),
    Scope("transactions:read", "AISP", "transactions"),
    Scope("payments:write", "PISP", "single payment initiation"),
    Scope("bulk_payments:write", "PISP", "bulk payment initiation"),
    Scope("funds:read", "CBPII", "confirmation of funds"),
)
"""The unified scopes by name, in the order in which responses list them."""

NATIVE_SCOPES: Mapping[int, Mapping[str, tuple[str, ...]]] = {
    1: {
        "accounts:read": ("account.list", "account.details"),
        "balances:read": ("account.balance",),
        "transactions:read": ("account.payments",),
        "payments:write": ("payment.init",),
        "bulk_payments:write": ("payment.init",),
        "funds:read": ("card_based.funds_confirmations",),
    },
    2: {
        "accounts:read": ("accounts",),
        "balances:read": ("accounts.balances",),
        "transactions:read": ("accounts.transactions",),
        "payments:write": ("payments.single",),
        "bulk_payments:write": ("payments.bulk",),
        "funds:read": ("funds_confirmations",),
    },
}
"""The native scopes of each unified scope, by version number. A scope without a row is not available in the version."""


def is_mixture(names: Collection[str]) -> bool:
    """Whether some, but not all, of the names are unified scopes."""
    unified = [name for name in names if name in UNIFIED_SCOPES]
    return 0 < len(unified) < len(names)


def to_native(names: Iterable[str], version: int) -> tuple[str, ...]:
    """Replace unified scopes by the native scopes of a version, without duplicates. Other names do not change."""
    rows = NATIVE_SCOPES.get(version, {})
    return tuple(dict.fromkeys(native for name in names for native in rows.get(name, (name,))))


def to_unified(native: Iterable[str], version: int) -> list[str]:
    """Return the unified scopes whose native scopes are all among ``native``, in the order of ``UNIFIED_SCOPES``."""
    rows, available = NATIVE_SCOPES.get(version, {}), set(native)
    return [name for name in UNIFIED_SCOPES if name in rows and available.issuperset(rows[name])]
