"""The evidence of a check, and the reasons for a failed or skipped check."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Skip = Literal["", "inapplicable", "blocked", "unplayed"]
"""Why a check was skipped: its rule does not apply; a step before it failed; the PSU's part was not played."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Requests and responses as readable, unmasked text.

    Attributes:
        by_bank: whether ``received`` is a call of the bank, and ``sent`` the kit's response.
    """

    sent: str = ""
    received: str = ""
    by_bank: bool = False


class CheckFailed(Exception):
    """The bank violated the rule. ``expected`` overrides the row's text, ``received`` ends with the fault."""

    def __init__(self, evidence: Evidence, problem: str) -> None:
        self.evidence = evidence
        self.problem = problem
        super().__init__(problem)


class CheckSkipped(Exception):
    """The check is skipped. The message contains the reason. This class means that the rule does not apply."""

    kind: Skip = "inapplicable"


class CheckBlocked(CheckSkipped):
    """A prerequisite step of the check failed. The message ends with ``see`` and the ids of the failing checks."""

    kind: Skip = "blocked"


class CheckUnplayed(CheckSkipped):
    """The PSU's part was not run, because it is unsupported or was skipped."""

    kind: Skip = "unplayed"
