"""The delivery worker: one attempt at one delivery, and what comes after it."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping

from chalicelib.delivery.outbox import Delivery, Kind, Outbox
from chalicelib.foundation import log

MINUTE, HOUR = 60, 3600
SCHEDULE = (5, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 14 * HOUR, 20 * HOUR, 24 * HOUR)
"""Seconds to wait after the first attempt, after the second, …; the first attempt is made at once."""
JITTER = 0.2


class Undeliverable(Exception):
    """An attempt failed; with ``final`` no other will be made."""

    def __init__(self, reason: str, *, final: bool = False) -> None:
        self.final = final
        super().__init__(reason)


Sender = Callable[[Delivery], None]


class Worker:
    """Makes attempts; ``senders`` has one sender for each kind of delivery."""

    def __init__(self, outbox: Outbox, senders: Mapping[Kind, Sender]) -> None:
        self._outbox = outbox
        self._senders = senders

    def attempt(self, delivery_id: str) -> None:
        """Send a delivery if it is due; a message that comes twice, or too early, does nothing."""
        delivery = self._outbox.claim(delivery_id)
        if delivery is None:
            return
        try:
            self._senders[delivery.kind](delivery)
        except Undeliverable as error:
            self._after_failure(delivery, error)
        except Exception as error:
            log.exception("delivery met a defect", delivery_id=delivery_id)
            self._after_failure(delivery, Undeliverable(f"a defect of this service: {type(error).__name__}"))
            self._outbox.bury(delivery_id)
        else:
            self._outbox.delivered(delivery)
            log.info("delivered", delivery_id=delivery_id, kind=delivery.kind, attempts=delivery.attempts)

    def _after_failure(self, delivery: Delivery, error: Undeliverable) -> None:
        log.warning("delivery failed", delivery_id=delivery.delivery_id, attempts=delivery.attempts, reason=str(error))
        if error.final or delivery.attempts > len(SCHEDULE):
            self._outbox.failed(delivery, str(error))
            return
        delay = SCHEDULE[delivery.attempts - 1]
        self._outbox.retry(delivery, round(delay * random.uniform(1 - JITTER, 1 + JITTER)), str(error))

    def sweep(self) -> int:
        """Queue every delivery whose time has come; answers how many."""
        count = 0
        for delivery_id in self._outbox.due():
            self._outbox.dispatch(delivery_id)
            count += 1
        return count
