"""The texts on the pages of the demonstration banks."""

import pytest

from chalicelib.demo_bank.pages import SCOPE_TEXTS, day, group_by_four, money, scope_text, sort_code
from chalicelib.openbanking.protocol.versions import VERSIONS


def test_every_scope_of_both_versions_has_a_description() -> None:
    assert set(SCOPE_TEXTS) == {name for version in VERSIONS.values() for name in version.scopes}
    assert scope_text("brand.new").title == "brand.new"


@pytest.mark.parametrize(
    ("minor", "currency", "text"),
    [
        (0, "GBP", "£0.00"),
        (5, "EUR", "€0.05"),
        (-123456789, "USD", "\N{MINUS SIGN}$1,234,567.89"),
        (-1, "GBP", "\N{MINUS SIGN}£0.01"),
        (100_00, "SEK", "SEK\N{NO-BREAK SPACE}100.00"),
        (-12345, "JPY", "\N{MINUS SIGN}JPY\N{NO-BREAK SPACE}12,345"),
        (1_234_567, "KWD", "KWD\N{NO-BREAK SPACE}1,234.567"),
    ],
)
def test_amounts_are_formatted_with_all_minor_units_of_the_currency(minor: int, currency: str, text: str) -> None:
    assert money(minor, currency) == text


def test_ibans_sort_codes_and_dates_are_formatted() -> None:
    assert group_by_four("DE61100999000004711001") == "DE61 1009 9900 0004 7110 01"
    assert sort_code("040004") == "04-00-04"
    assert day(1_772_442_000) == "2 March 2026"
