"""Payments as data: kinds, schemes, status values and their transitions (specification, Enumerations)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Literal, TypeGuard
from urllib.parse import urlsplit

from chalicelib.openbanking.protocol import refusals
from chalicelib.openbanking.protocol.scopes import Version

Kind = Literal["single", "bulk", "direct"]
Status = int | str
"""A number from 0 to 4 in version 1, a code of four letters in version 2."""

SCHEMES: Mapping[Version, tuple[str, ...]] = {
    1: ("FPS", "BACS", "CHAPS", "SCTI", "SCT"),
    2: ("FPS", "BACS", "CHAPS", "SCTI", "SCT", "SWIFT"),
}
SCHEME = 35
"""How long a scheme's name may be to be looked up; the names themselves have at most five letters."""
SCHEME_MEANINGS: Mapping[str, str] = {
    "FPS": "UK faster payments, the default for pounds",
    "BACS": "UK",
    "CHAPS": "UK",
    "SCTI": "instant SEPA, where supported",
    "SCT": "SEPA, the default for euros",
    "SWIFT": "international and multicurrency; version 2, single payments only",
}
WITHOUT_SWIFT: frozenset[Kind] = frozenset({"direct", "bulk"})
"""Kinds that cannot name a creditor bank, which SWIFT needs."""
_DEFAULTS = {"GBP": "FPS", "EUR": "SCT"}

PAYMENT_ID = 1024
"""The longest id of a payment that is taken: version 2 says 255 in its answers, other tables say nothing."""

PENDING = 1
STATUSES: Mapping[Version, Mapping[Status, str]] = {
    1: {0: "Unknown", 1: "Pending", 2: "Failed", 3: "Cancelled", 4: "Confirmed"},
    2: {
        "ACCC": "Settlement on the creditor account completed",
        "ACCP": "Customer profile check passed",
        "ACSC": "Settlement on the debtor account completed",
        "ACSP": "Accepted for execution",
        "ACTC": "Technical validation passed, usually pending SCA",
        "ACWC": "Accepted with change",
        "ACWP": "Accepted without posting",
        "RCVD": "Received",
        "PDNG": "Pending",
        "RJCT": "Rejected",
        "CANC": "Cancelled before execution",
        "ACFC": "Funds check positive",
        "PATC": "Partially accepted: multiple authentications, some done",
        "PART": "Some transactions accepted, others not yet",
    },
}
CODES_OF_NUMBERS: Mapping[int, str] = {0: "RCVD", 1: "PDNG", 2: "RJCT", 3: "CANC", 4: "ACSC"}
"""The numbers that version 2 also takes, since its table says N."""
_NUMBERS_OF_CODES: Mapping[str, int] = {"RJCT": 2, "CANC": 3, "ACSC": 4, "ACCC": 4}
_AFTER_FINAL: Mapping[Status, frozenset[Status]] = {
    2: frozenset(),
    3: frozenset(),
    4: frozenset(),
    "ACCC": frozenset(),
    "RJCT": frozenset(),
    "CANC": frozenset(),
    "ACSC": frozenset({"ACCC"}),
}


def schemes_schema(version: Version) -> dict[str, Any]:
    """The JSON Schema of a scheme's name."""
    return {"type": "string", "minLength": 1, "maxLength": SCHEME, "enum": list(SCHEMES[version])}


def possible_schemes(version: Version, kind: Kind, offered: Iterable[str]) -> list[str]:
    """Those of a bank's schemes that a kind of payment can go by."""
    excluded = {"SWIFT"} if kind in WITHOUT_SWIFT else set()
    return [name for name in offered if name in SCHEMES[version] and name not in excluded]


def scheme(given: str | None, currency: str, possible: Collection[str]) -> str:
    """The scheme of a payment: the one that was given, else the currency's default. Raises: Refusal."""
    chosen = given or _DEFAULTS.get(currency)
    if chosen is None:
        raise refusals.SCHEME_MISSING()
    if chosen not in possible:
        known = chosen if any(chosen in names for names in SCHEMES.values()) else "the one that was given"
        raise refusals.SCHEME_NOT_OFFERED(scheme=known, possible=", ".join(possible))
    return chosen


def is_payment_id(value: object) -> TypeGuard[str]:
    """Whether a payment can be named by ``value``, in a query and in a bank's report."""
    return isinstance(value, str) and 1 <= len(value) <= PAYMENT_ID and value.isprintable()


def is_confirmation_url(value: object, *, local: bool) -> bool:
    """Whether a PSU's browser may be sent to ``value``: an https address, in the local stage also an http one."""
    try:
        parts = urlsplit(value) if isinstance(value, str) else None
        return bool(parts and parts.scheme in (("https", "http") if local else ("https",)) and parts.hostname)
    except ValueError:
        return False


def first_status(version: Version, answered: object) -> Status:
    """The status of a payment that a bank has just answered with; what is no code of the table counts as received."""
    if version == 1:
        return PENDING
    return answered if isinstance(answered, str) and answered in STATUSES[2] else "RCVD"


def status_from(version: Version, reported: object) -> Status | None:
    """A report as a payment of ``version`` spells it, whichever the bank speaks by now; ``None`` if it is unknown."""
    if isinstance(reported, str) and reported in STATUSES[2]:
        return reported if version == 2 else _NUMBERS_OF_CODES.get(reported, PENDING)
    if isinstance(reported, bool) or not isinstance(reported, int | str) or str(reported) not in map(str, STATUSES[1]):
        return None
    number = int(reported)
    return number if version == 1 else CODES_OF_NUMBERS[number]


def may_report(version: Version, value: object) -> bool:
    """Whether a bank of ``version`` may report ``value``: a number or, in version 2, also a code of four letters."""
    return status_from(version, value) is not None and (version == 2 or value not in STATUSES[2])


def may_follow(current: Status, new: Status) -> bool:
    """Whether a payment may go from one status to another: final ones stay, else the last report wins."""
    return new != current and new in _AFTER_FINAL.get(current, {new})
