"""Changes of status on their way to the service: sent when they happen, kept and repeated until they have arrived."""

from __future__ import annotations

from dataclasses import replace

from chalicelib.demo_bank import execution, hub_client, orders
from chalicelib.demo_bank.execution import Moved
from chalicelib.demo_bank.hub_client import HubRefused
from chalicelib.demo_bank.orders import Order
from chalicelib.demo_bank.runtime import Bank, HubUnreachable
from chalicelib.foundation import log

FIRST_REPEAT = 60
LAST_REPEAT = 3600
ATTEMPTS = 24
_TRIES = 8
_FOR_GOOD = 400
"""The service understood the report and will not have it; whatever else it, or what stands before it, says may pass."""


def send(bank: Bank, order: Order) -> bool:
    """Tell the service every change of status that it has not been told; answers whether it could be reached.

    What does not arrive stays with the order and is due again later. The same holds when the service is told, but that
    cannot be written down any more: it recognises the repeat.
    """
    told = set()
    for report in order.reports:
        try:
            hub_client.report_status(bank, order.payment_id, report.status, report.request_id)
        except HubRefused as refusal:
            log.warning("demo bank: report refused", bank=bank.profile.name, code=refusal.code)
            if refusal.status != _FOR_GOOD:
                break
        except HubUnreachable:
            log.exception("demo bank: report unanswered", bank=bank.profile.name)
            break
        told.add(report.request_id)
    if order.reports:
        _keep(bank, order, told)
    return len(told) == len(order.reports)


def postpone(bank: Bank, order: Order) -> None:
    """Another report showed that the service cannot be reached: those of this order wait too."""
    if order.reports:
        _keep(bank, order, set())


def _keep(bank: Bank, order: Order, told: set[str]) -> None:
    """Write down which reports have arrived; the others are due again after a while, at last no more."""
    known: Order | None = order
    for _ in range(_TRIES):
        if known is None:
            return
        left = tuple(report for report in known.reports if report.request_id not in told)
        attempts = known.report_attempts + 1
        wait = min(FIRST_REPEAT * 2 ** (attempts - 1), LAST_REPEAT)
        after = replace(
            known,
            reports=left if attempts < ATTEMPTS else (),
            report_attempts=attempts if left else 0,
            report_at=bank.clock.time() + wait,
        )
        try:
            execution.move(bank, known, after)
        except Moved:
            known = orders.find(bank, order.payment_id)
        else:
            return
