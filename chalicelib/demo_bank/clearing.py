"""Clearing at the demo banks. Every minute, a job settles, cancels and reports due payments, and ends due consents.

Once a day, a bank reports how long its customers took to confirm, if the bank's protocol version supports this call.

Status changes are reported immediately. A failed report is retried until ``ATTEMPTS`` attempts have failed.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Literal

from chalicelib.demo_bank import consents, durations, execution, hub_client, orders
from chalicelib.demo_bank.banks import get_bank
from chalicelib.demo_bank.execution import OrderChanged
from chalicelib.demo_bank.hub_client import HubRefusal
from chalicelib.demo_bank.orders import DemoPaymentOrder, StatusReport
from chalicelib.demo_bank.profiles import PROFILES
from chalicelib.demo_bank.runtime import TABLE, DemoBank, HubUnreachable, NotInstalled, Services
from chalicelib.foundation import log

TIME_LIMIT_SECONDS = 10
"""The time limit for each bank, because reports to an unresponsive service take long. The job processes four banks in
55 seconds.
"""
RETRY_SECONDS = 60


def run_due_work(host: Services) -> int:
    """Process due work at all banks. Banks without credentials are skipped. Returns the number of processed items."""
    total = 0
    for profile in PROFILES:
        at = get_bank(profile.name, host)
        try:
            deadline = at.clock.monotonic() + TIME_LIMIT_SECONDS
            if done := process_due_payments(at):
                log.info("demo bank: cleared", bank=profile.name, payments=done)
            if ended := consents.revoke_due_consents(at, deadline):
                log.info("demo bank: consents ended", bank=profile.name, consents=ended)
            durations.report_yesterday(at)
            total += done + ended
        except NotInstalled:
            continue
    return total


def next_due(host: Services, until: int) -> int | None:
    """Return the time of the next due payment or consent end at any bank, or ``None`` if it is after ``until``."""
    banks = [get_bank(profile.name, host) for profile in PROFILES]
    times = [orders.DUE.next_time(at) for at in banks] + [consents.ENDS.next_time(at) for at in banks]
    return min((due for due in times if due is not None and due <= until), default=None)


def report_days(host: Services) -> int | None:
    """Report the previous day for each bank, unless already reported. Returns the time of the next attempt in Unix
    seconds.
    """
    again: list[int | None] = []
    for profile in PROFILES:
        with suppress(NotInstalled):
            again.append(durations.report_yesterday(get_bank(profile.name, host)))
    return min((at for at in again if at is not None), default=None)


def process_due_payments(at: DemoBank) -> int:
    """Process a bank's due payments within the time limit. Returns the number of processed payments.

    A failed payment is postponed and does not delay other payments.
    """
    deadline, is_reachable, done = at.clock.monotonic() + TIME_LIMIT_SECONDS, True, 0
    for due_at, order_id in orders.DUE.find(at):
        if at.clock.monotonic() >= deadline:
            break
        try:
            is_reachable = _process_payment(at, due_at, order_id, deadline, is_reachable)
        except NotInstalled:
            raise
        except Exception:
            log.exception("demo bank: payment not cleared", bank=at.profile.name)
            orders.DUE.postpone(at, due_at, order_id, RETRY_SECONDS)
        done += 1
    return done


def _process_payment(at: DemoBank, due_at: int, order_id: str, deadline: float, is_reachable: bool) -> bool:
    """Process one payment. Returns whether the service is reachable."""
    order = orders.find(at, order_id)
    if order is None or not 0 < order.due_at <= at.clock.time():
        at.store.delete(TABLE, orders.DUE.key(at, due_at, order_id))  # it was taken care of, or cannot be read any more
        return is_reachable
    order = execution.refresh(at, order)
    if is_reachable:
        return send_reports(at, order, deadline)
    if order.reports:
        _record_outcome(at, order, set(), failed=False)  # they are due again later
    return False


FIRST_REPEAT = 60
LAST_REPEAT = 3600
ATTEMPTS = 24
_TRIES = 8
_FOR_EVERYBODY = frozenset({401, 403, 429})
"""HTTP statuses that do not concern one report only. The service would refuse the next report for the same reason."""

_Outcome = Literal["delivered", "refused", "unreachable"]


def send_reports(bank: DemoBank, order: DemoPaymentOrder, deadline: float) -> bool:
    """Send every unreported status change. Returns whether the service was reachable.

    A report that is not delivered before ``deadline`` (monotonic clock) remains due. A delivered report that cannot be
    marked as delivered also remains due and is sent again. The service detects the duplicate.
    """
    delivered: set[str] = set()
    outcome: _Outcome = "delivered"
    for report in order.reports:
        left = deadline - bank.clock.monotonic()
        if left <= 0:
            break
        outcome = _send_report(bank, order, report, left)
        if outcome != "delivered":
            break
        delivered.add(report.request_id)
    if delivered or outcome != "delivered":
        _record_outcome(bank, order, delivered, failed=outcome != "delivered")
    return outcome != "unreachable"


def _send_report(bank: DemoBank, order: DemoPaymentOrder, report: StatusReport, seconds: float) -> _Outcome:
    """Send one report. A report that is refused permanently counts as delivered."""
    try:
        hub_client.report_status(bank, order.payment_id, report.status, report.request_id, seconds)
    except HubRefusal as refusal:
        log.warning("demo bank: report refused", bank=bank.profile.name, code=refusal.code)
        if refusal.is_permanent:
            return "delivered"
        return "unreachable" if refusal.status in _FOR_EVERYBODY else "refused"
    except HubUnreachable:
        log.exception("demo bank: no response to report", bank=bank.profile.name)
        return "unreachable"
    return "delivered"


def _record_outcome(bank: DemoBank, order: DemoPaymentOrder, delivered: set[str], *, failed: bool) -> None:
    """Record which reports were delivered.

    Undelivered reports become due again later, unless the maximum number of failures is reached.
    """
    known: DemoPaymentOrder | None = order
    for _ in range(_TRIES):
        if known is None:
            return
        left = tuple(report for report in known.reports if report.request_id not in delivered)
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
