"""Tests of usage groups: allowed and blocked cases of every channel, merchant category and country."""

from dataclasses import replace
from typing import Any

import pytest

from chalicelib.cards.authorization.group_rules import CHANNELS, channels, decline_code
from chalicelib.cards.ledger.transaction_attributes import TransactionAttributes
from chalicelib.cards.programs.catalogue import MccRange, UsageGroup
from chalicelib.cards.protocol.values import ECI_INDICATORS, ENTRY_MODES, RESPONSE_CODES, TRANSACTION_TYPES

DE, FR, US = 276, 250, 840
EUR = 978
CHIP, CONTACTLESS, CREDENTIAL_ON_FILE, E_COMMERCE = 5, 7, 10, 81
PURCHASE = TransactionAttributes(0, EUR, entry_mode=CHIP, mcc=5411, country=FR, holder_country=DE)
READ_BY = {
    "unknown": {0},
    "manual": {1},
    "magnetic_stripe": {2, 80, 90},
    "chip": {5},
    "contactless": {7, 91},
    "credential_on_file": {10},
    "online": {81},
}


def group(**members: Any) -> UsageGroup:
    return UsageGroup(1, "Usage", **members)


def code(facts: TransactionAttributes = PURCHASE, eci_indicator: int | None = None, **members: Any) -> str | None:
    return decline_code(group(**members), facts, eci_indicator)


@pytest.mark.parametrize("entry_mode", ENTRY_MODES)
@pytest.mark.parametrize("transaction_type", TRANSACTION_TYPES)
def test_a_usage_group_without_restrictions_permits_every_use(entry_mode: int, transaction_type: int) -> None:
    facts = TransactionAttributes(transaction_type, EUR, entry_mode=entry_mode)

    assert decline_code(group(), facts, None) is None
    assert decline_code(None, facts, None) is None


@pytest.mark.parametrize("entry_mode", ENTRY_MODES)
@pytest.mark.parametrize("channel", READ_BY)
def test_a_blocked_channel_declines_only_its_entry_modes(channel: str, entry_mode: int) -> None:
    facts = replace(PURCHASE, entry_mode=entry_mode)

    assert code(facts, blocked_channels=(channel,)) == ("57" if entry_mode in READ_BY[channel] else None)


def test_every_channel_can_be_blocked() -> None:
    assert set(CHANNELS) == {"cash", *READ_BY}
    assert set().union(*READ_BY.values()) == set(ENTRY_MODES)


@pytest.mark.parametrize("transaction_type", TRANSACTION_TYPES)
def test_blocked_cash_declines_only_withdrawals_and_advances(transaction_type: int) -> None:
    facts = replace(PURCHASE, transaction_type=transaction_type)

    assert code(facts, blocked_channels=("cash",)) == ("57" if transaction_type in (1, 12) else None)


def test_a_cash_withdrawal_by_chip_is_declined_if_the_cash_or_the_chip_channel_is_blocked() -> None:
    facts = replace(PURCHASE, transaction_type=1)

    assert channels(facts) == {"cash", "chip"}
    assert [each for each in CHANNELS if code(facts, blocked_channels=(each,))] == ["cash", "chip"]
    assert code(facts, blocked_channels=("contactless", "online")) is None


@pytest.mark.parametrize(
    ("mcc", "said"),
    [(7799, None), (7800, "57"), (7801, "57"), (7802, "57"), (7803, None), (7994, None), (7995, "57"), (7996, None)],
)
def test_blocked_merchant_categories_include_both_ends_of_a_range(mcc: int, said: str | None) -> None:
    facts = replace(PURCHASE, mcc=mcc)

    assert code(facts, blocked_mccs=(MccRange(7800, 7802), MccRange(7995, 7995))) == said


@pytest.mark.parametrize(("low", "high", "said"), [(0, 9999, "57"), (1, 9999, None), (0, 9998, None)])
def test_a_purchase_without_a_merchant_category_is_declined_only_if_all_categories_are_blocked(
    low: int, high: int, said: str | None
) -> None:
    assert code(replace(PURCHASE, mcc=None), blocked_mccs=(MccRange(low, high),)) == said


@pytest.mark.parametrize(("country", "said"), [(DE, None), (FR, None), (US, "57"), (None, "57")])
def test_only_purchases_in_allowed_countries_are_permitted(country: int | None, said: str | None) -> None:
    assert code(replace(PURCHASE, country=country), countries=(DE, FR)) == said


@pytest.mark.parametrize(("country", "said"), [(DE, None), (US, "57"), (None, None)])
def test_only_purchases_in_blocked_countries_are_declined(country: int | None, said: str | None) -> None:
    assert code(replace(PURCHASE, country=country), blocked_countries=(US,)) == said


@pytest.mark.parametrize(
    ("eci_indicator", "said"), [(None, "1A"), (0, "1A"), (1, None), (2, None), (5, None), (6, None), (7, "1A")]
)
def test_an_e_commerce_purchase_without_an_attempted_authentication_returns_1a(
    eci_indicator: int | None, said: str | None
) -> None:
    facts = replace(PURCHASE, entry_mode=E_COMMERCE)

    assert code(facts, eci_indicator, authenticated_online=True) == said
    assert code(facts, eci_indicator) is None


def test_every_eci_indicator_has_a_test_case() -> None:
    assert set(ECI_INDICATORS) == {0, 1, 2, 5, 6, 7}


@pytest.mark.parametrize("entry_mode", [mode for mode in ENTRY_MODES if mode != E_COMMERCE])
def test_only_an_e_commerce_purchase_requires_an_authentication(entry_mode: int) -> None:
    assert code(replace(PURCHASE, entry_mode=entry_mode), authenticated_online=True) is None


def test_a_blocked_country_returns_57_before_the_authentication_check() -> None:
    facts = replace(PURCHASE, entry_mode=E_COMMERCE, country=US)

    assert code(facts, countries=(DE,), authenticated_online=True) == "57"
    assert {"57", "1A"} <= set(RESPONSE_CODES)
