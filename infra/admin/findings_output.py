"""The output of ``doctor``, which prints each finding immediately, as text or as part of one JSON document."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any, Literal

from infra.admin.output import to_printable
from infra.restore.checks import CHECKS, LEDGER
from infra.restore.examination import Finding, Position

State = Literal["mended", "mendable", "left"]
_CHECKS = {check.name: check for check in (*CHECKS, LEDGER)}
_NOT_COMPARED = "earlier tables and items were not compared"


class FindingsText:
    """Findings as lines of text, below a heading with the inconsistency and its remedy.

    Args:
        start: the position at which the examination began.
        mend: whether repairable findings are repaired.
        address: the URL of the page that explains the checks.
    """

    def __init__(self, start: Position, *, mend: bool, address: str) -> None:
        self.start = start
        self.counts = Counter[State]()
        self._mend = mend
        self._address = address
        self._heading = ""
        self._explained = set[str]()

    def add(self, finding: Finding) -> str:
        """Count a finding and return its output."""
        state = _state_of(finding)
        self.counts[state] += 1
        heading, self._heading = self._heading, f"{finding.check} {state}"
        above = [] if heading == self._heading else self._explain(finding, state)
        return "\n".join([*above, f"    {to_printable(finding.item)}"])

    def end(self, resume: Position | None, error: str | None) -> str:
        """Return the final output. ``resume`` is the position at which an incomplete examination can continue."""
        return "\n".join(self._summarize(is_complete=resume is None))

    @property
    def left(self) -> int:
        """Return the number of findings that were not repaired."""
        return self.counts["mendable"] + self.counts["left"]

    def _explain(self, finding: Finding, state: State) -> list[str]:
        if self._heading in self._explained:
            return [f"{finding.check}:"]
        self._explained.add(self._heading)
        check = _CHECKS[finding.check]
        remedy = check.remedy[0].lower() + check.remedy[1:]
        return [f"{check.name}: {check.wrong}.", f"  {self._who_mends(state)}: {remedy}."]

    def _who_mends(self, state: State) -> str:
        mendable = "Changed meanwhile. With another --mend" if self._mend else "With --mend"
        return {"mended": "Mended", "mendable": mendable, "left": "You"}[state]

    def _summarize(self, *, is_complete: bool) -> Iterator[str]:
        is_part = self.start != Position()
        if self.counts:
            so_far = "" if is_complete else " so far"
            earlier = f" {_NOT_COMPARED.capitalize()}." if is_part else ""
            yield f"{self.counts.total()} inconsistent{so_far}: {self._count()}.{earlier}"
            yield f"See {self._address}"
        elif not is_complete:
            yield "Nothing inconsistent so far."
        else:
            yield f"Consistent from {self.start} on; {_NOT_COMPARED}." if is_part else "The tables are consistent."

    def _count(self) -> str:
        mendable, left = self.counts["mendable"], self.counts["left"]
        if not self._mend:
            return f"--mend mends {mendable}, {_are(left)} for you"
        again = f"{_are(mendable)} left for another --mend, " if mendable else ""
        return f"{self.counts['mended']} mended, {again}{_are(left)} left for you"


class FindingsDocument(FindingsText):
    """The findings as the first member of a JSON document, one finding per line. ``end`` completes the document."""

    def add(self, finding: Finding) -> str:
        before = "," if self.counts else '{"findings": [\n'
        self.counts[_state_of(finding)] += 1
        check = _CHECKS[finding.check]
        members = {"check": check.name, "item": finding.item, "mended": finding.mended}
        return before + json.dumps(members | {"mendable": check.mends, "remedy": check.remedy})

    def end(self, resume: Position | None, error: str | None) -> str:
        members: dict[str, Any] = {
            "good": resume is None and not self.left,
            "left": self.left,
            "mended": self.counts["mended"],
            "mendable": self.counts["mendable"],
            "from": str(self.start),
            "next": resume and str(resume),
        }
        members |= {"error": error} if error else {}
        before = "" if self.counts else '{"findings": ['
        return f"{before}], {json.dumps(members)[1:]}"


def _state_of(finding: Finding) -> State:
    if finding.mended:
        return "mended"
    return "mendable" if _CHECKS[finding.check].mends else "left"


def _are(count: int) -> str:
    return f"{count} {'is' if count == 1 else 'are'}"
