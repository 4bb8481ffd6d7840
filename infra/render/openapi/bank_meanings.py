"""The meanings of the bank directory's members and filters: one sentence and one valid example each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

BANKS: Mapping[str, tuple[str, Any]] = {
    "own_answers.BankEntry.scopes": ("The scopes that it provides, in the order of its version", ["accounts"]),
    "own_answers.BankEntry.payment_schemes": ("The payment schemes that it offers", ["SCT", "SCTI"]),
    "own_answers.BankEntry.history_days": (
        "How many days back transactions are available; null if the bank does not say",
        90,
    ),
    "own_answers.BankEntry.reachable": (
        (
            "False from the fifth consecutive request without a response until the next response, or until midnight "
            "UTC; known within two minutes"
        ),
        True,
    ),
    "own_answers.BankEntry.average_ms": (
        (
            "The bank's mean response time on the last full UTC day, in milliseconds; null without responses. Until "
            "01:10 UTC that of the day before"
        ),
        149,
    ),
    "own_answers.BankEntry.logo_url": (
        "The bank's logo (PNG, JPEG or SVG), to be cached for good; null without one",
        "https://hub.example/banks/DEMODEF1/logo/0a1b2c3d4e5f60718293a4b5c6d7e8f9",
    ),
    "tpp_calls.BanksQuery.country": ("Only banks of this country (ISO 3166-1, two letters in any case)", "DE"),
    "tpp_calls.BanksQuery.scope": ("Only banks that provide this scope", "accounts"),
    "tpp_calls.BanksQuery.scheme": ("Only banks that offer this payment scheme", "SCTI"),
    "tpp_calls.BanksQuery.q": ("Only banks whose name or BIC contains this text, in any case", "demo"),
}
