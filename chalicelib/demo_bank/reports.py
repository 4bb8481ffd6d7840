"""Changes of status on their way to the service: sent when they happen, kept and repeated until they have arrived."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from chalicelib.demo_bank import execution, hub_client, orders
from chalicelib.demo_bank.execution import OrderChanged
from chalicelib.demo_bank.hub_client import HubRefusal
from chalicelib.demo_bank.orders import DemoPaymentOrder, StatusReport
from chalicelib.demo_bank.runtime import DemoBank, HubUnreachable
from chalicelib.foundation import log

FIRST_REPEAT = 60
LAST_REPEAT = 3600
ATTEMPTS = 24
_TRIES = 8
_FOR_GOOD = 400
"""The service understood the report and will not have it; whatever else it, or what stands before it, says may pass."""
_FOR_EVERYBODY = frozenset({401, 403, 429})
"""Not about this report: the next one would be answered the same."""

_Outcome = Literal["arrived", "refused", "unreachable"]


def send_reports(bank: DemoBank, order: DemoPaymentOrder, deadline: float) -> bool:
    """Tell the service every change of status that it has not been told; answers whether it could be reached.

    What does not arrive before ``deadline``, on the monotonic clock, stays with the order and is due again later. The
    same holds when the service is told, but that cannot be written down any more: it recognises the repeat.
    """
    told: set[str] = set()
    outcome: _Outcome = "arrived"
    for report in order.reports:
        left = deadline - bank.clock.monotonic()
        if left <= 0:
            break
        outcome = _send_report(bank, order, report, left)
        if outcome != "arrived":
            break
        told.add(report.request_id)
    if told or outcome != "arrived":
        _record_outcome(bank, order, told, failed=outcome != "arrived")
    return outcome != "unreachable"


def postpone_reports(bank: DemoBank, order: DemoPaymentOrder) -> None:
    """Another report showed that the service cannot be reached: those of this order wait too."""
    if order.reports:
        _record_outcome(bank, order, set(), failed=False)


def _send_report(bank: DemoBank, order: DemoPaymentOrder, report: StatusReport, seconds: float) -> _Outcome:
    """Send one report. What is refused for good counts as arrived: there is nothing left to send."""
    try:
        hub_client.report_status(bank, order.payment_id, report.status, report.request_id, seconds)
    except HubRefusal as refusal:
        log.warning("demo bank: report refused", bank=bank.profile.name, code=refusal.code)
        if refusal.status == _FOR_GOOD:
            return "arrived"
        return "unreachable" if refusal.status in _FOR_EVERYBODY else "refused"
    except HubUnreachable:
        log.exception("demo bank: report unanswered", bank=bank.profile.name)
        return "unreachable"
    return "arrived"


def _record_outcome(bank: DemoBank, order: DemoPaymentOrder, told: set[str], *, failed: bool) -> None:
    """Write down which reports have arrived; the others are due again after a while, after many failures no more."""
    known: DemoPaymentOrder | None = order
    for _ in range(_TRIES):
        if known is None:
            return
        left = tuple(report for report in known.reports if report.request_id not in told)
        attempts = known.report_attempts + failed
        wait = min(FIRST_REPEAT * 2 ** max(attempts - 1, 0), LAST_REPEAT)
        after = replace(
            known,
            reports=left if attempts < ATTEMPTS else (),
            report_attempts=attempts if left else 0,
            report_at=bank.clock.time() + wait,
        )
        try:
            execution.save_transition(bank, known, after)
        except OrderChanged:
            known = orders.find(bank, order.payment_id)
        else:
            return
