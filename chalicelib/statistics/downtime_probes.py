"""Probes of banks that are down: one in ``PROBE_SECONDS`` for each bank, whichever instance sends it.

A row for each bank says when the latest probe was sent and whether the bank answered it. The instance that sends a
probe writes the row first, on the condition that the probe before is old enough.
"""

from __future__ import annotations

from dataclasses import replace

from chalicelib.foundation.clock import Clock
from chalicelib.foundation.dynamodb.conditions import Attr
from chalicelib.foundation.dynamodb.store import Item, Put, Store, absent
from chalicelib.foundation.identifiers import new_id
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.foundation.requests.engine import Engine, if_permitted
from chalicelib.statistics.call_counts import TABLE
from chalicelib.statistics.days import DAY_SECONDS
from chalicelib.statistics.downtimes import CLOCK_SKEW_SECONDS

PROBE_SECONDS = 30
"""The minimum number of seconds between two probes of a bank; no probe takes longer."""


@dataclass(frozen=True, slots=True)
class Probe:
    """The latest probe of a bank: when it was sent (Unix seconds, real time), and whether the bank has answered it."""

    bic: str
    probe_id: str
    sent_at: int
    answered: bool = False

    def to_item(self) -> Item:
        return {
            "subject": "probe",
            "part": self.bic,
            "probe_id": self.probe_id,
            "sent_at": self.sent_at,
            "answered": self.answered,
            "expires_at": self.sent_at + DAY_SECONDS,
        }

    @classmethod
    def from_item(cls, item: Item) -> Probe:
        return cls(item["part"], item["probe_id"], int(item["sent_at"]), item["answered"])

    def pause_at(self, now: int) -> int:
        """The seconds until the next probe may be sent; none if the clock has been set back since this one."""
        if self.sent_at > now + CLOCK_SKEW_SECONDS:
            return 0
        return max(0, min(self.sent_at, now) + PROBE_SECONDS - now)


def claim_probe(store: Store, clock: Clock, bic: str, over: Probe | None = None) -> tuple[Probe, bool]:
    """Claim the next probe of a bank; ``clock`` is the real one.

    Returns the stored probe, and whether it is the caller's.

    A probe in the future was sent by an instance whose clock is ahead, and does not count. Neither does ``over``,
    a probe whose pause has passed according to the caller, whose clock may have been set back meanwhile.

    Raises: StoreError.
    """
    now = clock.time()
    probe = Probe(bic, new_id(), now)
    sent_at = Attr("sent_at")
    is_due = sent_at.lte(now - PROBE_SECONDS) | sent_at.gt(now + CLOCK_SKEW_SECONDS)
    if over is not None:
        is_due |= Attr("probe_id").eq(over.probe_id)
    put = Put(TABLE, probe.to_item(), absent("subject") | is_due)
    decide = if_permitted([put], (probe, True), lambda facts: (Probe.from_item(facts.item_of(put)), False))
    return Engine(store).carry_out(decide)


def record_answer(store: Store, probe: Probe) -> None:
    """Record that the bank answered a probe, unless another was sent since. Raises: StoreError."""
    put = Put(TABLE, replace(probe, answered=True).to_item(), Attr("probe_id").eq(probe.probe_id))
    Engine(store).carry_out(if_permitted([put], None, lambda _: None))
