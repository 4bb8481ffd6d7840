"""Payment kinds, schemes and ids (specification, Enumerations)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Literal
from urllib.parse import urlsplit

from chalicelib.openbanking.protocol import refusals

Kind = Literal["single", "bulk", "direct"]
OrderOutcome = Literal["unknown", "accepted", "not_accepted"]
"""Whether the bank has the payment of an order."""
PaymentOutcome = Literal["unknown", "not_accepted"]
"""The outcome of a payment that the bank named in an unusable response, as long as it gives no status."""
OrderState = Literal["pending", "unknown", "not_accepted"]
"""The state of an order for which the bank named no payment; ``pending`` while it waits or is being sent."""
SCHEME = 35
"""The maximum accepted length of a scheme name; actual names have at most five letters."""
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
"""Payment kinds that cannot specify a creditor bank, which SWIFT requires."""
_DEFAULTS = {"GBP": "FPS", "EUR": "SCT"}


def schemes_schema(names: Iterable[str]) -> dict[str, Any]:
    """The JSON Schema of a scheme name, which must be one of ``names``."""
    return {"type": "string", "minLength": 1, "maxLength": SCHEME, "enum": list(names)}


def possible_schemes(known: Collection[str], kind: Kind, offered: Iterable[str]) -> list[str]:
    """The bank's schemes that are allowed in its version and for this kind of payment."""
    excluded = {"SWIFT"} if kind in WITHOUT_SWIFT else set()
    return [name for name in offered if name in known and name not in excluded]


def scheme(given: str | None, currency: str, possible: Collection[str]) -> str:
    """A payment's scheme: the requested one, or the currency's default. Raises: Refusal."""
    chosen = given or _DEFAULTS.get(currency)
    if chosen is None:
        raise refusals.SCHEME_MISSING()
    if chosen not in possible:
        known = chosen if chosen in SCHEME_MEANINGS else "the requested scheme"
        raise refusals.SCHEME_NOT_OFFERED(scheme=known, possible=", ".join(possible))
    return chosen


def is_confirmation_url(value: object, *, local: bool) -> bool:
    """Whether a PSU's browser may be sent to ``value``: an https URL or, in the local stage, an http URL.

    User information, which can pass for another host, is refused, and so is what browsers and servers read differently:
    blanks, backslashes, and characters that are not printable.
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
