"""What instances have counted, made up: slips of a bank, written as they would write them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from chalicelib.foundation.identifiers import new_id
from chalicelib.foundation.store import Store
from chalicelib.statistics.slips import TABLE, Slip, hours_of
from chalicelib.statistics.tallies import Fault, Service

ALPHA, BETA = "ALPHGB21", "BETADEF1"


def seconds(day: date, time: str) -> int:
    """The Unix second of ``HH:MM:SS`` on a UTC day."""
    hours, minutes, rest = map(int, time.split(":"))
    return hours_of(day)[0] + 3600 * hours + 60 * minutes + rest


def counted(
    store: Store,
    bic: str,
    day: date,
    *,
    answered: Sequence[str] = (),
    unanswered: Sequence[str] = (),
    not_asked: Sequence[str] = (),
    service: Service = "AISP",
    fault: Fault | None = None,
    bank_ms: float = 100,
    hub_ms: float = 10,
) -> None:
    """Write the slips of one instance: requests that were sent at these times.

    ``fault`` is who is to blame for those that were answered; for the unanswered it is the bank.
    """
    slips: dict[int, Slip] = {}

    def slip(at: int) -> Slip:
        return slips.setdefault(at - at % 3600, Slip(bic, at - at % 3600))

    for at in [seconds(day, time) for time in answered]:
        tally, latency = slip(at).tally(at, service), slip(at).latency(service)
        tally.calls += 1
        tally.answered += 1
        slip(at).answered(at)
        latency.bank.add(bank_ms)
        latency.hub.add(hub_ms)
        if fault:
            tally.blame(fault)
    for at in [seconds(day, time) for time in unanswered]:
        slip(at).tally(at, service).unanswered += 1
        slip(at).tally(at, service).blame("bank")
        slip(at).unanswered(at)
    for at in [seconds(day, time) for time in not_asked]:
        slip(at).tally(at, service).not_asked += 1
    for each in slips.values():
        store.put(TABLE, each.to_item(new_id()))
