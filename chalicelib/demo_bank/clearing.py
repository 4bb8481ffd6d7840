"""What the banks do every minute: settle, cancel, report whatever is due, in the order in which it became due.

And once a day, a bank whose version has that call: tell the service how long its customers took to confirm.
"""

from __future__ import annotations

from chalicelib.demo_bank import durations, execution, orders, reports
from chalicelib.demo_bank.banks import get_bank
from chalicelib.demo_bank.profiles import PROFILES
from chalicelib.demo_bank.runtime import TABLE, DemoBank, NotInstalled, Services
from chalicelib.foundation import log

TIME_LIMIT_SECONDS = 20
"""So long one bank may take: a report to a service that does not answer costs seconds."""
RETRY_SECONDS = 60


def run_due_work(host: Services) -> None:
    """Do what is due at both banks; one that was never opened has nothing to do."""
    for profile in PROFILES:
        at = get_bank(profile.name, host)
        try:
            if done := process_due_payments(at):
                log.info("demo bank: cleared", bank=profile.name, payments=done)
            durations.report_yesterday(at)
        except NotInstalled:
            continue


def process_due_payments(at: DemoBank) -> int:
    """Do what is due at a bank, as far as the time goes; answers how many payments were looked at.

    A payment that fails keeps none waiting: it is put off itself.
    """
    deadline, is_reachable, done = at.clock.monotonic() + TIME_LIMIT_SECONDS, True, 0
    for due_at, order_id in orders.find_due(at):
        if at.clock.monotonic() >= deadline:
            break
        try:
            is_reachable = _process_payment(at, due_at, order_id, deadline, is_reachable)
        except NotInstalled:
            raise
        except Exception:
            log.exception("demo bank: payment not cleared", bank=at.profile.name)
            orders.postpone(at, due_at, order_id, RETRY_SECONDS)
        done += 1
    return done


def _process_payment(at: DemoBank, due_at: int, order_id: str, deadline: float, is_reachable: bool) -> bool:
    """One payment; answers whether the service can be reached."""
    order = orders.find(at, order_id)
    if order is None or not 0 < order.due_at <= at.clock.time():
        at.store.delete(TABLE, orders.due_key(at, due_at, order_id))  # it was taken care of, or cannot be read any more
        return is_reachable
    order = execution.refresh(at, order)
    if is_reachable:
        return reports.send_reports(at, order, deadline)
    reports.postpone_reports(at, order)
    return False
