"""Queues deliveries that become due while time is moved, but not those to banks that are not called at present.

A pause of a circuit passes in real time, of which a move takes little. A delivery to a bank whose circuit is open would
only be postponed, hour after hour; so it stays due, until the circuit admits a call or the move is over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from chalicelib.delivery.delivery_record import DUE, Delivery
from chalicelib.delivery.sweeper import Choose
from chalicelib.foundation.clock import Clock
from chalicelib.foundation.dynamodb.store import Store
from chalicelib.openbanking.bank_client.bank_circuits import BankCircuits
from chalicelib.sandbox_clock.clock_advance import NextDue


class DeliverySweep:
    """The sweeper's work during moves.

    Args:
        sweep: queues due deliveries (``sweeper.sweep``).
        next_due: when a delivery is due next.
    """

    def __init__(
        self, store: Store, clock: Clock, sweep: Callable[[int, Choose], int], circuits: BankCircuits, next_due: NextDue
    ) -> None:
        self._store = store
        self._clock = clock
        self._sweep = sweep
        self._circuits = circuits
        self._next_due = next_due
        self._swept_at = 0
        self._left_out: list[Delivery] = []

    def run(self) -> bool:
        """Queue the deliveries that are due. Returns whether there were any."""
        self._swept_at, self._left_out = self._clock.time(), []
        return self._sweep(0, self._choose) > 0

    def next_due(self, after: int, until: int) -> int | None:
        """When to run next; deliveries that the latest run left out count while their bank may be called."""
        if not self._left_out or any(
            self._circuits.calls_admitted(each.concerned_bank) != 0 for each in self._left_out
        ):
            return self._next_due(after, until)
        became_due = DUE.next_time(self._store, until, since=self._swept_at + 1)
        expires_at = min(each.give_up_at for each in self._left_out) + 1
        return min((at for at in (became_due, expires_at) if at is not None and at <= until), default=None)

    def _choose(self, deliveries: Iterable[Delivery]) -> Sequence[Delivery]:
        """As many of the due deliveries for each bank as its circuit admits, and those that have expired.

        The end of an expired delivery needs no call.
        """
        room: dict[str, int | None] = {}
        return [each for each in deliveries if each.give_up_at < self._swept_at or self._is_admitted(each, room)]

    def _is_admitted(self, delivery: Delivery, room: dict[str, int | None]) -> bool:
        """Whether the delivery's bank has room for another call; the delivery then takes it."""
        if not delivery.receiver.startswith("bank#"):
            return True
        bic = delivery.concerned_bank
        left = room[bic] if bic in room else self._circuits.calls_admitted(bic)
        room[bic] = None if left is None else max(0, left - 1)
        if left == 0:
            self._left_out.append(delivery)
        return left != 0
