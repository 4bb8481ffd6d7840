"""Payment statuses and their values in each version (specification, Enumerations).

A status has a neutral form, its ISO 20022 code. Each version converts reports to and from this form, so that reports
remain usable after a bank changes its version.
"""

from __future__ import annotations

from collections.abc import Mapping

from chalicelib.foundation.lazy_dataclasses import dataclass

Status = int | str
"""A status in a version's own form: a number from 0 to 4 in version 1, a four-letter code in version 2."""

UNKNOWN = "UNKNOWN"
"""The neutral form of the number 0, which has no ISO 20022 code."""
_AFTER_FINAL: Mapping[str, frozenset[str]] = {
    "ACCC": frozenset(),
    "RJCT": frozenset(),
    "CANC": frozenset(),
    "ACSC": frozenset({"ACCC"}),
}
"""The statuses that may follow each final status, in neutral form."""
_EXECUTED = ("ACSC", "ACCC")


@dataclass(frozen=True, slots=True)
class Statuses:
    """The statuses of a version.

    Attributes:
        meanings: all statuses of the version, with their meanings.
        reported: the neutral form of each reportable status, by its text.
        spelled: the version's status for each neutral form.
        other: the version's status for all other neutral forms.
        first: the first status if the bank's response has none.
    """

    meanings: Mapping[Status, str]
    reported: Mapping[str, str]
    spelled: Mapping[str, Status]
    other: Status
    first: Status

    def read(self, value: object) -> str | None:
        """The neutral form of a reported status; ``None`` if this version has no such status."""
        if isinstance(value, bool) or not isinstance(value, int | str):
            return None
        return self.reported.get(str(value))

    def write(self, neutral: str) -> Status:
        """The version's status for a neutral form."""
        return self.spelled.get(neutral, self.other)

    def first_status(self, answered: object) -> Status:
        """A new payment's status from the bank's response, or the default if it is missing or unknown."""
        return answered if isinstance(answered, str) and answered in self.meanings else self.first

    def is_final(self, status: object) -> bool:
        """Whether nothing changes after this status, except that ``ACSC`` may become ``ACCC``."""
        return self.read(status) in _AFTER_FINAL

    def is_executed(self, status: object) -> bool:
        """Whether the money has left the debtor's account."""
        return self.read(status) in _EXECUTED

    def may_follow(self, current: Status, new: Status) -> bool:
        """Whether a status transition is allowed: final statuses are kept; otherwise the latest report wins."""
        before, after = self.read(current) or "", self.read(new)
        return new != current and after in _AFTER_FINAL.get(before, {after})


_CODES: Mapping[Status, str] = {
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
}
_NEUTRAL_NUMBERS: Mapping[str, str] = {"0": UNKNOWN, "1": "PDNG", "2": "RJCT", "3": "CANC", "4": "ACSC"}

NUMBERS = Statuses(
    meanings={0: "Unknown", 1: "Pending", 2: "Failed", 3: "Cancelled", 4: "Confirmed"},
    reported=_NEUTRAL_NUMBERS,
    spelled={UNKNOWN: 0, "RJCT": 2, "CANC": 3, "ACSC": 4, "ACCC": 4},
    other=1,
    first=1,
)
"""Version 1: numbers."""
CODES = Statuses(
    meanings=_CODES,
    reported={**_NEUTRAL_NUMBERS, **{str(code): str(code) for code in _CODES}},
    spelled={str(code): code for code in _CODES},
    other="RCVD",
    first="RCVD",
)
"""Version 2: ISO 20022 codes. Banks may also report numbers, because the specification gives the type as N."""
