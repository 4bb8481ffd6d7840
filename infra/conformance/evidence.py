"""The evidence of a check, and the reasons for which it fails or is skipped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Skip = Literal["", "inapplicable", "blocked", "unplayed"]
"""Why a check was skipped: its rule does not apply; a step before it failed; the PSU's part was not played."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Requests and responses as readable text, not yet masked.

    Attributes:
        by_bank: whether ``received`` is a call of the bank, and ``sent`` the kit's answer to it.
    """

    sent: str = ""
    received: str = ""
    by_bank: bool = False


class CheckFailed(Exception):
    """The bank broke the rule; ``expected`` overrides the row's, ``received`` ends with the fault."""

    def __init__(self, evidence: Evidence, problem: str) -> None:
        self.evidence = evidence
        self.problem = problem
        super().__init__(problem)


class CheckSkipped(Exception):
    """The check is skipped; the message gives the reason. This class: its rule does not apply."""

    kind: Skip = "inapplicable"


class CheckBlocked(CheckSkipped):
    """A step that the check needs has failed; the message ends with ``see`` and the ids of the checks that fail."""

    kind: Skip = "blocked"


class CheckUnplayed(CheckSkipped):
    """The PSU's part was not played, because it is not supported or was left out."""

    kind: Skip = "unplayed"
