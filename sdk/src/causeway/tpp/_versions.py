"""The version of the bank's protocol to which native scopes and orders belong."""

from __future__ import annotations

from collections.abc import Iterable

from causeway.tpp._generated import calls


def are_native(scopes: Iterable[str]) -> bool:
    """Return whether scopes are native scopes, not unified scopes."""
    return bool((calls.SCOPES_V1 | calls.SCOPES_V2).intersection(scopes))


def version_of_scopes(scopes: Iterable[str]) -> int:
    """Return the version to which native scopes belong."""
    return 1 if calls.SCOPES_V1.intersection(scopes) else 2


def version_of_order(order: object) -> int:
    """Return the version to which a native payment order belongs."""
    from causeway.tpp._generated.models_v1 import BulkPaymentV1, DirectPaymentV1, SinglePaymentV1

    return 1 if isinstance(order, BulkPaymentV1 | DirectPaymentV1 | SinglePaymentV1) else 2
