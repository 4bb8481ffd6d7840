"""Tests of the table of unified scopes: each row is complete, and the same in every version."""

import pytest

from chalicelib.openbanking.protocol.unified_scopes import (
    NATIVE_SCOPES,
    UNIFIED_SCOPES,
    is_mixture,
    to_native,
    to_unified,
)
from chalicelib.openbanking.protocol.versions import VERSIONS, services_of
from chalicelib.openbanking.unified.calls import UNIFIED_READS, UnifiedCall
from chalicelib.openbanking.unified.versions import UNIFIED_VERSIONS
from tests.openbanking import examples
from tests.openbanking.kit import VERSIONS as EACH_VERSION

EACH_SCOPE = pytest.mark.parametrize("name", examples.UNIFIED_SCOPES)


@EACH_VERSION
@EACH_SCOPE
def test_a_unified_scope_is_translated_to_native_scopes_and_back(name: str, version: int) -> None:
    native = examples.UNIFIED_SCOPES[name][version]

    assert to_native([name], version) == tuple(native)
    assert name in to_unified(native, version)
    assert name not in to_unified(native[:-1], version), "a part of the translation is not enough"


@EACH_VERSION
@EACH_SCOPE
def test_a_unified_scope_has_the_service_of_its_native_scopes(name: str, version: int) -> None:
    native = NATIVE_SCOPES[version][name]

    assert set(native) <= VERSIONS[version].scopes.keys()
    assert services_of([name]) == services_of(native) == {UNIFIED_SCOPES[name].service}


def test_the_table_of_unified_scopes_has_a_row_for_each_version() -> None:
    assert [*UNIFIED_SCOPES] == [*examples.UNIFIED_SCOPES]
    assert NATIVE_SCOPES.keys() == VERSIONS.keys()
    assert all(row.keys() == UNIFIED_SCOPES.keys() for row in NATIVE_SCOPES.values())


@EACH_VERSION
@pytest.mark.parametrize("call", UNIFIED_READS, ids=lambda call: call.name)
def test_the_native_call_of_a_unified_call_needs_a_native_scope_of_its_unified_scope(
    call: UnifiedCall, version: int
) -> None:
    webhook = VERSIONS[version].webhook_by_call[UNIFIED_VERSIONS[version].read(call).native]

    assert webhook.scope_name in NATIVE_SCOPES[version][call.scope]


@pytest.mark.parametrize(
    ("names", "version", "native"),
    [
        (["payments:write", "bulk_payments:write"], 1, ("payment.init",)),
        (["payments:write", "bulk_payments:write"], 2, ("payments.single", "payments.bulk")),
        (["funds:read", "accounts:read"], 1, ("card_based.funds_confirmations", "account.list", "account.details")),
        (["accounts.balances", "accounts"], 2, ("accounts.balances", "accounts")),
        (["unknown"], 1, ("unknown",)),
        (["accounts:read"], 4, ("accounts:read",)),
    ],
)
def test_scopes_are_translated_in_the_order_of_the_request_without_repeats(
    names: list[str], version: int, native: tuple[str, ...]
) -> None:
    assert to_native(names, version) == native


@pytest.mark.parametrize(
    ("native", "version", "unified"),
    [
        ([], 1, []),
        (["account.list"], 1, []),
        (["account.payment"], 1, []),
        (["payment.init", "account.balance"], 1, ["balances:read", "payments:write", "bulk_payments:write"]),
        (["account.details", "account.list"], 1, ["accounts:read"]),
        (["payments.bulk", "accounts.balances"], 2, ["balances:read", "bulk_payments:write"]),
        (["accounts"], 4, []),
    ],
)
def test_granted_unified_scopes_are_listed_in_the_order_of_the_table(
    native: list[str], version: int, unified: list[str]
) -> None:
    assert to_unified(native, version) == unified


@pytest.mark.parametrize(
    ("names", "mixed"),
    [
        ([], False),
        (["accounts:read", "payments:write"], False),
        (["accounts", "account.list"], False),
        (["accounts:read", "accounts"], True),
        (["accounts:read", "unknown"], True),
    ],
)
def test_a_mixture_has_unified_scopes_and_others(names: list[str], mixed: bool) -> None:
    assert is_mixture(names) == mixed
