"""Payment statuses, and how each version spells them (specification, Enumerations).

The neutral form of a status is its ISO 20022 code. A version reads reports into that form and writes them in its own,
so a report counts even after the bank has changed its version.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

Status = int | str
"""A status as a version spells it: a number from 0 to 4 in version 1, a code of four letters in version 2."""

UNKNOWN = "UNKNOWN"
"""The neutral form of the number 0, which is no ISO 20022 code."""
_AFTER_FINAL: Mapping[str, frozenset[str]] = {
    "ACCC": frozenset(),
    "RJCT": frozenset(),
    "CANC": frozenset(),
    "ACSC": frozenset({"ACCC"}),
}
"""What may follow a final status, in the neutral form."""


@dataclass(frozen=True, slots=True)
class Statuses:
    """How a version spells statuses.

    Attributes:
        meanings: every status of the version, and its meaning.
        reported: the neutral form of every reportable status, by its text.
        spelled: the version's own form of neutral ones.
        other: the version's form of every other neutral one.
        first: the first status if the bank's answer has none.
    """

    meanings: Mapping[Status, str]
    reported: Mapping[str, str]
    spelled: Mapping[str, Status]
    other: Status
    first: Status

    def read(self, value: object) -> str | None:
        """The neutral form of a reported status; ``None`` if this version does not have it."""
        if isinstance(value, bool) or not isinstance(value, int | str):
            return None
        return self.reported.get(str(value))

    def write(self, neutral: str) -> Status:
        """A neutral status in the version's own form."""
        return self.spelled.get(neutral, self.other)

    def first_status(self, answered: object) -> Status:
        """The first status of a payment from the bank's answer; an unknown one is ignored."""
        return answered if isinstance(answered, str) and answered in self.meanings else self.first

    def may_follow(self, current: Status, new: Status) -> bool:
        """Whether a payment may go from one status to another: final ones stay, else the last report wins."""
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
"""Version 2: the codes themselves. Banks may report the numbers too, since its table has N."""
