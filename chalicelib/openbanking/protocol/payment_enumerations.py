"""Payment kinds, payment schemes and outcomes (specification, Enumerations)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Literal
from urllib.parse import urlsplit

from chalicelib.openbanking.protocol import refusals

Kind = Literal["single", "bulk", "direct"]
OrderOutcome = Literal["unknown", "accepted", "not_accepted"]
"""Whether the bank has the payment of an order."""
PaymentOutcome = Literal["unknown", "not_accepted"]
"""The outcome of a payment that the bank named in an unusable response, until the bank returns a status."""
OrderState = Literal["pending", "unknown", "not_accepted"]
"""The state of an order for which the bank has returned no payment id; ``pending`` while the order is waiting or being
sent.
"""
SCHEME = 35
"""The maximum accepted length of a scheme name; actual names have at most five letters."""
SWIFT = "SWIFT"
SCHEME_MEANINGS: Mapping[str, str] = {
    "FPS": "UK faster payments, the default for pounds",
    "BACS": "UK",
    "CHAPS": "UK",
    "SCTI": "instant SEPA, where supported",
    "SCT": "SEPA, the default for euros",
    "SWIFT": "international and multicurrency; version 2, single payments only",
}
VERSION_1_SCHEMES = ("FPS", "BACS", "CHAPS", "SCTI", "SCT")
VERSION_2_SCHEMES = (*VERSION_1_SCHEMES, "SWIFT")
WITHOUT_SWIFT: frozenset[Kind] = frozenset({"direct", "bulk"})
"""The payment kinds that do not support SWIFT, because they cannot specify the creditor's bank."""
_DEFAULTS = {"GBP": "FPS", "EUR": "SCT"}


def schemes_schema(names: Iterable[str]) -> dict[str, Any]:
    """The JSON Schema of a scheme name, which must be one of ``names``."""
    return {"type": "string", "minLength": 1, "maxLength": SCHEME, "enum": list(names)}


def possible_schemes(known: Collection[str], kind: Kind, offered: Iterable[str]) -> list[str]:
    """The bank's schemes that are allowed in its version and for this kind of payment."""
    excluded = {SWIFT} if kind in WITHOUT_SWIFT else set()
    return [name for name in offered if name in known and name not in excluded]


def scheme(given: str | None, currency: str, possible: Collection[str], member: str = "payment_scheme") -> str:
    """A payment's scheme: the requested one, or the currency's default. ``member`` is its name in refusals.

    Raises:
        Refusal.
    """
    chosen = given or _DEFAULTS.get(currency)
    if chosen is None:
        raise refusals.SCHEME_MISSING(member=member)
    if chosen not in possible:
        known = chosen if chosen in SCHEME_MEANINGS else "the requested scheme"
        raise refusals.SCHEME_NOT_OFFERED(member=member, scheme=known, possible=", ".join(possible))
    return chosen


def is_confirmation_url(value: object, *, local: bool) -> bool:
    """Whether a PSU's browser may be sent to ``value``: an https URL or, in the local stage, an http URL.

    URLs with user information are refused, because user information can look like another host. URLs with blanks,
    backslashes or unprintable characters are refused, because browsers and servers parse them differently.
    """
    if not isinstance(value, str) or not value.isprintable() or any(each in value for each in " \\"):
        return False
    try:
        parts = urlsplit(value)
        _ = parts.port
    except ValueError:
        return False
    schemes = ("https", "http") if local else ("https",)
    return parts.scheme in schemes and bool(parts.hostname) and "@" not in parts.netloc
