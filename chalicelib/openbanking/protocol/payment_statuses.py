"""Payment statuses and their values in each version (specification, Enumerations).

A status has a neutral form, its ISO 20022 code. Each version converts reports to and from this form, so that reports
remain usable after a bank changes its version.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from chalicelib.foundation.lazy_dataclasses import dataclass

Status = int | str
"""A payment status as a protocol version writes it: a number from 0 to 4 in version 1, a four-letter code in version 2.
"""

UnifiedStatus = Literal["pending", "authorising", "accepted", "executed", "settled", "rejected", "cancelled", "unknown"]
"""A status in the unified API, which is the same for all versions."""
UNIFIED_MEANINGS: Mapping[UnifiedStatus, str] = {
    "pending": "The bank has the payment",
    "authorising": "The bank waits for the PSU",
    "accepted": "Confirmed, and will be executed",
    "executed": "The money has left the debtor's account; the last status at most banks",
    "settled": "The money is on the creditor's account",
    "rejected": "The bank or the PSU refused the payment",
    "cancelled": "Cancelled before execution",
    "unknown": "The status is unknown, or none of these",
}
"""The meanings of the unified statuses."""
FINAL: frozenset[UnifiedStatus] = frozenset({"executed", "settled", "rejected", "cancelled"})
"""The final statuses of the unified API; ``executed`` may still become ``settled``."""
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
    """The payment statuses of a protocol version.

    Attributes:
        meanings: all statuses of the version, with their meanings.
        reported: the neutral form of each status that banks may report, by the text of the status.
        spelled: the version's status for each neutral form.
        other: the version's status for all other neutral forms.
        first: the first status if the bank's response has none.
        unified: the unified form of each status, by its text; any other text is ``unknown``.
    """

    meanings: Mapping[Status, str]
    reported: Mapping[str, str]
    spelled: Mapping[str, Status]
    other: Status
    first: Status
    unified: Mapping[str, UnifiedStatus]

    def read(self, value: object) -> str | None:
        """Return the neutral form of a reported status, or ``None`` if the version does not have this status."""
        if isinstance(value, bool) or not isinstance(value, int | str):
            return None
        return self.reported.get(str(value))

    def write(self, neutral: str) -> Status:
        """Return the version's status for a neutral form."""
        return self.spelled.get(neutral, self.other)

    def first_status(self, answered: object) -> Status:
        """Return a new payment's status from the bank's response, or the default for a missing or unknown status."""
        return answered if isinstance(answered, str) and answered in self.meanings else self.first

    def is_final(self, status: object) -> bool:
        """Whether the status is final. The only change that a final status allows is from ``ACSC`` to ``ACCC``."""
        return self.read(status) in _AFTER_FINAL

    def is_executed(self, status: object) -> bool:
        """Whether the money has left the debtor's account."""
        return self.read(status) in _EXECUTED

    def unify(self, status: object) -> UnifiedStatus:
        """The unified form of a status."""
        return self.unified.get(str(status), "unknown")

    def may_follow(self, current: Status, new: Status) -> bool:
        """Whether a payment's status may change from ``current`` to ``new``. A status that is not final may change."""
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
    unified={"1": "pending", "2": "rejected", "3": "cancelled", "4": "executed"},
)
"""The payment statuses of version 1, which are numbers."""
CODES = Statuses(
    meanings=_CODES,
    reported={**_NEUTRAL_NUMBERS, **{str(code): str(code) for code in _CODES}},
    spelled={str(code): code for code in _CODES},
    other="RCVD",
    first="RCVD",
    unified={
        **dict.fromkeys(("RCVD", "PDNG", "ACCP", "ACFC", "PART"), "pending"),
        **dict.fromkeys(("ACTC", "PATC"), "authorising"),
        **dict.fromkeys(("ACSP", "ACWC", "ACWP"), "accepted"),
        "ACSC": "executed",
        "ACCC": "settled",
        "RJCT": "rejected",
        "CANC": "cancelled",
    },
)
"""The payment statuses of version 2, which are ISO 20022 codes. Banks may also report numbers, because the
specification gives the type as N.
"""
