"""The verdict on a run over a bad network: what was promised, held against what banks, receivers and TPPs have seen."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

from tests.chaos.receivers import EVENTS
from tests.chaos.verdict import Verdict
from tests.network.run import Run


class NetworkVerdict(Verdict):
    """As after the kill test, and what holds of payments, reads, reports and circuits."""

    def __init__(self, run: Run, log: Path) -> None:
        self._network_run = run
        super().__init__(run, log)

    def _promises(self) -> Iterator[str]:
        yield from super()._promises()
        yield from self._read_truly()
        yield from self._reported_once()
        yield from self._circuits()

    def _paid_once(self) -> Iterator[str]:
        """An order has one X-Request-Id, by which its bank knows repeats, and is sent as often as its TPP sent it."""
        ids: dict[str, set[str]] = defaultdict(set)
        for call in self.orders:
            ids[call.subject].add(call.id)
        yield from (f"{reference} was paid as {known}" for reference, known in ids.items() if len(known) > 1)
        for request_id in {call.id for call in self.orders}:
            times, asked = self._network_run.times_sent(request_id), self._network_run.asked[request_id]
            if times > asked:
                yield f"the order {request_id} was sent {times} times, and asked for {asked} times"

    def _read_truly(self) -> Iterator[str]:
        """A read that succeeded was answered by the bank."""
        answered = {call.id for call in self._run.ledger.calls if call.done}
        yield from (f"the read {each} never reached its bank" for each in self._network_run.read - answered)

    def _reported_once(self) -> Iterator[str]:
        """A status that a bank has reported, however often, is one event."""
        events = {call.id: json.loads(call.body) for call in self._run.ledger.calls if call.path.startswith(EVENTS)}
        of_payments = [event["data"] for event in events.values() if event["type"] == "payment.status_changed"]
        told = Counter(data["payment_id"] for data in of_payments)
        yield from (f"{each} has {told[each]} events" for each in self._network_run.reported if told[each] != 1)

    def _circuits(self) -> Iterator[str]:
        """The circuit of the bad bank has opened, and that of the good one has not."""
        opened, bad = self._network_run.opened, self._network_run.bad
        if opened != {bad}:
            yield f"circuits opened for {sorted(opened)}, and only {bad} was bad"
