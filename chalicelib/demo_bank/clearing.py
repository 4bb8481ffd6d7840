"""What the banks do every minute: settle, cancel, report whatever is due, in the order in which it became due."""

from __future__ import annotations

from chalicelib.demo_bank import execution, orders, reports
from chalicelib.demo_bank.profiles import PROFILES
from chalicelib.demo_bank.runtime import TABLE, Bank, NotInstalled, bank
from chalicelib.foundation import log

_AT_ONCE = 25
_SECONDS = 20
"""So long one bank may take: a report to a service that does not answer costs seconds."""


def run() -> None:
    """Do what is due at both banks; one that was never opened has nothing to do."""
    for profile in PROFILES:
        try:
            done = clear(bank(profile.name))
        except NotInstalled:
            continue
        if done:
            log.info("demo bank: cleared", bank=profile.name, payments=done)


def clear(at: Bank) -> int:
    """Do what is due at a bank; answers how many payments were looked at. A payment that fails keeps none waiting."""
    deadline, is_reachable, done = at.clock.monotonic() + _SECONDS, True, 0
    for due_at, order_id in orders.due(at, _AT_ONCE):
        if at.clock.monotonic() > deadline:
            break
        try:
            is_reachable = _clear(at, due_at, order_id, is_reachable)
        except NotInstalled:
            raise
        except Exception:
            log.exception("demo bank: payment not cleared", bank=at.profile.name)
        done += 1
    return done


def _clear(at: Bank, due_at: int, order_id: str, is_reachable: bool) -> bool:
    """One payment; answers whether the service can be reached."""
    order = orders.find(at, order_id)
    if order is None or order.due_at != due_at:  # it was taken care of meanwhile, or cannot be read any more
        at.store.delete(TABLE, orders.due_key(at, due_at, order_id))
        return is_reachable
    order = execution.refresh(at, order)
    if is_reachable:
        return reports.send(at, order)
    reports.postpone(at, order)
    return False
