"""External payment methods with their currencies, schemes with their maximum amounts, and the SEPA countries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

UK, SEPA = 1, 2
METHODS = {UK: "UK (sort code and account number, IBAN)", SEPA: "SEPA (IBAN, BIC)"}
METHOD_CURRENCIES: Mapping[int, int] = {UK: 826, SEPA: 978}

FPS, BACS, CHAPS, SCTINST, SCT = "FPS", "BACS", "CHAPS", "SCTINST", "SCT"
SCHEMES: Mapping[int, Mapping[str, int | None]] = {
    UK: {FPS: 100_000_000, BACS: 2_000_000_000, CHAPS: None},
    SEPA: {SCTINST: 10_000_000, SCT: 99_999_999_999},
}
"""The schemes of each payment method, with the maximum amount per payment in minor units. ``None`` means unlimited."""
SCHEME_NAMES = {
    FPS: "Faster Payments",
    BACS: "Bacs direct credit",
    CHAPS: "CHAPS",
    SCTINST: "SEPA Instant Credit Transfer",
    SCT: "SEPA Credit Transfer",
}
DIRECT_CREDITS = frozenset((BACS,))
"""The schemes of payments that are returned as direct credits."""
RETURNS_WITH_REASON = frozenset((SCTINST, SCT))
"""Schemes that require a reason for a return."""
DEFAULT_SCHEMES: Mapping[int, tuple[str, ...]] = {UK: (FPS, CHAPS), SEPA: (SCTINST, SCT)}
"""The schemes to try for each payment method, in order, if the request does not specify schemes."""

BRITAIN = 826
SEPA_COUNTRIES: Mapping[str, int] = {
    "AD": 20,
    "AL": 8,
    "AT": 40,
    "BE": 56,
    "BG": 100,
    "CH": 756,
    "CY": 196,
    "CZ": 203,
    "DE": 276,
    "DK": 208,
    "EE": 233,
    "ES": 724,
    "FI": 246,
    "FR": 250,
    "GB": BRITAIN,
    "GI": 292,
    "GR": 300,
    "HR": 191,
    "HU": 348,
    "IE": 372,
    "IS": 352,
    "IT": 380,
    "LI": 438,
    "LT": 440,
    "LU": 442,
    "LV": 428,
    "MC": 492,
    "MD": 498,
    "ME": 499,
    "MK": 807,
    "MT": 470,
    "NL": 528,
    "NO": 578,
    "PL": 616,
    "PT": 620,
    "RO": 642,
    "RS": 688,
    "SE": 752,
    "SI": 705,
    "SK": 703,
    "SM": 674,
    "VA": 336,
}
"""SEPA countries by IBAN prefix, as numeric codes (ISO 3166-1)."""


def choose_scheme(method: int, schemes: Sequence[str], amount: int) -> str | None:
    """Return the first requested or default scheme that belongs to the method and allows the amount, or ``None``."""
    taking = [name for name, limit in SCHEMES[method].items() if limit is None or amount <= limit]
    return next((name for name in schemes or DEFAULT_SCHEMES[method] if name in taking), None)


def country_of(iban: str | None) -> int | None:
    """Return the numeric country code of an account. Without an IBAN, the country is the UK. For an IBAN outside SEPA,
    return ``None``.
    """
    return SEPA_COUNTRIES.get(iban[:2]) if iban else BRITAIN
