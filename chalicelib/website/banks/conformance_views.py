"""The public page with a bank's conformance report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from chalice.app import Response

from chalicelib.openbanking.records.conformance_reports import Check, ConformanceReport
from chalicelib.website.banks.bank_views import find_bank
from chalicelib.website.pages import Visit, not_found_page, page
from chalicelib.website.pagination import paginate

OUTCOMES: Mapping[str, str] = {"failed": "Failed", "advice": "Advice", "passed": "Passed", "skipped": "Skipped"}
"""The labels of the outcomes. ``advice`` is the failure of an advisory check."""
_RANKS = {"failed": 0, "advice": 1}
"""The position of the outcomes that are shown first."""


def show_report(visit: Visit) -> Response:
    """``GET /banks/{bic}/conformance``: show the published report, failures first, 20 checks a page.

    The query selects checks by ``outcome`` and ``group``.
    """
    bank = find_bank(visit)
    report = bank and visit.website.openbanking.banks.find_report(bank)
    if not bank or not report:
        return not_found_page(visit)
    wanted = {"outcome": visit.field("outcome"), "group": visit.field("group")}
    return page(
        visit,
        "conformance.html",
        bank=bank,
        report=report,
        counts={label: _count(report, outcome) for outcome, label in OUTCOMES.items()},
        outcomes=OUTCOMES,
        groups={group: group for group in dict.fromkeys(check.group for check in report.checks)},
        wanted=wanted,
        part=paginate(_select(report.checks, **wanted), visit.field("page")),
        outcome_of=outcome_of,
    )


def outcome_of(check: Check) -> str:
    """Return the outcome of a check, one of ``OUTCOMES``."""
    return "advice" if check.is_advice else check.outcome


def _count(report: ConformanceReport, outcome: str) -> int:
    return sum(outcome_of(check) == outcome for check in report.checks)


def _select(checks: Sequence[Check], outcome: str, group: str) -> list[Check]:
    """Return the checks with the outcome and in the group, if any, failures first."""
    found = [check for check in checks if outcome in ("", outcome_of(check)) and group in ("", check.group)]
    return sorted(found, key=lambda check: _RANKS.get(outcome_of(check), len(_RANKS)))
