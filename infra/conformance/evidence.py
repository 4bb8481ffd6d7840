"""The recorded exchange of a check, and the exceptions for failed and skipped checks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Skip = Literal["", "inapplicable", "blocked", "unplayed"]
"""The reason why a check was skipped: the rule does not apply, an earlier step failed, or the PSU's action was not
performed.
"""


@dataclass(frozen=True, slots=True)
class Evidence:
    """The recorded exchange of a check: requests and responses as readable, unmasked text.

    Attributes:
        by_bank: if true, ``received`` is a call from the bank, and ``sent`` is the kit's response.
    """

    sent: str = ""
    received: str = ""
    by_bank: bool = False


class CheckFailed(Exception):
    """The bank violated a rule. ``expected`` overrides the expectation in the check. ``received`` ends with the
    fault.
    """

    def __init__(self, evidence: Evidence, problem: str) -> None:
        self.evidence = evidence
        self.problem = problem
        super().__init__(problem)


class CheckSkipped(Exception):
    """The check is skipped. The message contains the reason. An instance of this base class means that the rule does
    not apply.
    """

    kind: Skip = "inapplicable"


class CheckBlocked(CheckSkipped):
    """A prerequisite step of the check failed. The message ends with ``see`` and the ids of the failing checks."""

    kind: Skip = "blocked"


class CheckUnplayed(CheckSkipped):
    """The PSU's action was not performed, because it is unsupported or was skipped."""

    kind: Skip = "unplayed"
