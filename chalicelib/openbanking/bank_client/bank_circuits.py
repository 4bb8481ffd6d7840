"""Decides which calls to banks begin, and which are abandoned.

Calls are admitted by an instance's own circuit breaker, and by the open downtimes that all instances share. While a
bank's downtime is open, all instances that have read it send together one call, the probe, in ``PROBE_SECONDS``. An
instance reads the downtimes when it writes its counters, once a minute, so admission needs no storage while a bank
responds. Pauses pass in real time, also during a clock advance.

A call that has waited for ``SLOW_SECONDS`` takes one of the bank's slots, or is abandoned if there is none. So an
unresponsive bank cannot occupy all instances. The limit needs no downtime or open circuit, and does not affect calls
with an earlier response. Each use of storage has a time limit, so unresponsive storage does not delay a call.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial

from chalicelib.foundation import log
from chalicelib.foundation.clock import Clock
from chalicelib.foundation.context import leave_time, tight_deadline
from chalicelib.foundation.dynamodb.store import Busy, Store, StoreError
from chalicelib.foundation.http.deadline_connections import SlowCheck
from chalicelib.foundation.http.outbound import GivenUp
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.foundation.requests.engine import try_to
from chalicelib.openbanking.bank_client.bank_failures import OPEN_SECONDS, CircuitOpen
from chalicelib.statistics import current_call
from chalicelib.statistics.downtimes import PROBE_SECONDS, Downtime, OpenDowntimes, Probe, claim_probe, record_answer
from chalicelib.statistics.slow_calls import SLOTS, SLOW_SECONDS, Slot, SlowCalls

FAILURES = 5
"""The number of consecutive failures that open a circuit."""
STORAGE_SECONDS = 0.5
"""The time limit of storage calls after a bank has responded. The limit leaves time to record the response."""
TAKE_SECONDS = 1.0
"""The time limit for taking a slot. It is longer than the time that the store spends on retries of a throttled call."""
NO_SLOT = f"no answer came within {SLOW_SECONDS} s, and {SLOTS} other calls wait for the bank"


@dataclass(frozen=True, slots=True)
class Pause:
    """A period of ``seconds`` that does not grow if the clock is set back.

    The elapsed time is the larger value of two clocks. The wall clock also runs while a Lambda instance is frozen, and
    the monotonic clock is never set back.
    """

    clock: Clock
    seconds: int
    began_at: int
    began: float

    @classmethod
    def begin(cls, clock: Clock, seconds: int) -> Pause:
        return cls(clock.real, seconds, clock.real.time(), clock.real.monotonic())

    def left(self) -> int:
        """Return the remaining seconds, or 0 at the end."""
        passed = max(self.clock.time() - self.began_at, int(self.clock.monotonic() - self.began))
        return max(0, self.seconds - passed)


@dataclass(slots=True)
class _Circuit:
    """The recent failures of a party. ``pause`` is the period in which the circuit is open or a probe is running."""

    failures: int = 0
    pause: Pause | None = None
    probing: bool = False

    @property
    def left(self) -> int:
        return self.pause.left() if self.pause else 0


class Breaker:
    """Pauses calls to a party that repeatedly fails, then admits a single call as a probe. Thread-safe.

    Each party is identified by a key. Each process has its own state and counts only its own failures. Pauses pass in
    real time, also during a clock advance.

    The caller reports each admitted call with ``record_success`` or ``record_failure``. After ``OPEN_SECONDS`` an open
    circuit admits one call, the probe. If the probe does not report within ``OPEN_SECONDS``, another probe is admitted.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._circuits: dict[str, _Circuit] = {}
        self._lock = threading.Lock()

    def admit(self, key: str) -> None:
        """Admit a call to ``key``. Raises: CircuitOpen."""
        with self._lock:
            circuit = self._find_probed(key)
            if circuit is not None:
                circuit.probing, circuit.pause = True, Pause.begin(self._clock, OPEN_SECONDS)

    def require_closed(self, key: str) -> None:
        """Check that ``admit`` would succeed now, without starting a probe. Raises: CircuitOpen."""
        with self._lock:
            self._find_probed(key)

    def needs_probe(self, key: str) -> bool:
        """Whether the next admitted call is a probe."""
        with self._lock:
            return key in self._circuits and self._circuits[key].failures >= FAILURES

    def record_success(self, key: str) -> None:
        """Record a successful call: close the circuit and reset its failure count."""
        with self._lock:
            self._circuits.pop(key, None)

    def record_failure(self, key: str) -> bool:
        """Record a failed call. Return whether the failure opened the circuit or, as a failed probe, reopened the
        circuit.

        Calls that began before the circuit opened do not extend the open period.
        """
        with self._lock:
            circuit = self._circuits.setdefault(key, _Circuit())
            circuit.failures += 1
            if circuit.probing or circuit.failures == FAILURES:
                circuit.probing, circuit.pause = False, Pause.begin(self._clock, OPEN_SECONDS)
                return True
            return False

    def _find_probed(self, key: str) -> _Circuit | None:
        """Return the open circuit if a probe can be admitted now, or ``None`` if the circuit is closed. Raises:
        CircuitOpen.
        """
        circuit = self._circuits.get(key)
        if circuit is None or circuit.failures < FAILURES:
            return None
        if left := circuit.left:
            raise CircuitOpen(1 if circuit.probing else left)
        return circuit


class BankCircuits:
    """Circuit breakers for calls to banks, identified by BIC, with the interface of ``Breaker``. Thread-safe.

    Args:
        open_downtimes: the cached downtimes that have not ended.
    """

    def __init__(self, store: Store, clock: Clock, open_downtimes: OpenDowntimes) -> None:
        self._store = store
        self._clock = clock
        self._breaker = Breaker(clock)
        self._open_downtimes = open_downtimes
        self._latest: dict[str, tuple[Probe, Pause]] = {}
        """The latest known probe of each bank, sent by any instance, and the pause that follows the probe."""
        self._own: dict[str, Probe] = {}
        """The probes that this instance sent and that have not ended."""

    def admit(self, bic: str) -> None:
        """Admit a call to a bank. During an open downtime, admit only the next probe. Raises: CircuitOpen."""
        if (downtime := self._open_downtimes.find(bic)) is None:
            self._breaker.admit(bic)
        else:
            self._claim_probe(downtime)

    def require_closed(self, bic: str) -> None:
        """Check that ``admit`` may succeed now, without claiming the probe of a downtime. Raises: CircuitOpen."""
        if self._open_downtimes.find(bic) is None:
            self._breaker.require_closed(bic)
        else:
            self._require_due_probe(bic)

    def calls_admitted(self, bic: str) -> int | None:
        """Return the number of calls to a bank that may begin now: 0 in a pause, 1 as a probe, or ``None`` without a
        limit.
        """
        try:
            self.require_closed(bic)
        except CircuitOpen:
            return 0
        is_down = self._open_downtimes.find(bic) is not None or self._breaker.needs_probe(bic)
        return 1 if is_down else None

    def record_success(self, bic: str) -> None:
        """Record a successful call. Calls to the bank resume immediately in this instance, and within a minute in all
        other instances.
        """
        self._breaker.record_success(bic)
        self._latest.pop(bic, None)
        if self._open_downtimes.find(bic) is not None:
            self._open_downtimes.forget(bic)
            current_call.record_end_of_downtime()
        if probe := self._own.pop(bic, None):
            with tight_deadline(self._clock.monotonic, self._clock.monotonic() + STORAGE_SECONDS):
                try_to(partial(record_answer, self._store, probe), "probe not recorded", bic=bic)

    def record_failure(self, bic: str) -> bool:
        """Record a failed call. Return whether the failure opened this instance's circuit, or the call was a probe."""
        was_probe = self._own.pop(bic, None) is not None
        return self._breaker.record_failure(bic) or was_probe

    def _require_due_probe(self, bic: str) -> None:
        """Check that a new probe is due, based on the latest probe known to this instance. Raises: CircuitOpen."""
        latest = self._latest.get(bic)  # another thread may remove it at any time
        if latest is not None and (left := latest[1].left()):
            raise CircuitOpen(left)

    def _claim_probe(self, downtime: Downtime) -> None:
        """Claim the next probe, unless the bank has responded to a probe since the downtime's latest request.

        Raises: CircuitOpen.
        """
        bic = downtime.bic
        self._require_due_probe(bic)
        known, _ = self._latest.get(bic, (None, None))
        claim = partial(claim_probe, self._store, self._clock.real, bic, known)
        with tight_deadline(self._clock.monotonic, self._clock.monotonic() + STORAGE_SECONDS):
            claimed = try_to(claim, "probe not claimed", report=log.warning, bic=bic)
        if claimed is None:
            raise CircuitOpen(PROBE_SECONDS)
        probe, is_own = claimed
        if is_own:
            self._own[bic] = probe
            self._latest[bic] = probe, Pause.begin(self._clock, PROBE_SECONDS)
        elif probe.answered and probe.sent_at + self._clock.offset_seconds >= downtime.latest:
            self._open_downtimes.forget(bic)
            self._breaker.record_success(bic)
        else:
            left = max(probe.pause_at(self._clock.real.time()), 1)
            self._latest[bic] = probe, Pause.begin(self._clock, left)
            raise CircuitOpen(left)


@contextmanager
def limit_slow_call(slow_calls: SlowCalls, bic: str, *, may_give_up: bool) -> Iterator[SlowCheck]:
    """Return the check for a slow call to a bank. The check raises ``GivenUp`` if no slot is free.

    After the call, time is reserved for later steps, of which the first frees the slot. If ``may_give_up`` is false,
    the call takes a slot, but continues if no slot is free. Every call continues if storage fails or does not respond.
    """
    taken: list[Slot] = []

    def check() -> None:
        try:
            with _storage_limit(slow_calls, TAKE_SECONDS):
                slot = slow_calls.take(bic)
        except Busy:  # more calls than one partition takes compete for the slots
            slot = None
        except StoreError:
            log.warning("slow call not counted", bic=bic)
            return
        if slot is not None:
            taken.append(slot)
        elif may_give_up:
            raise GivenUp(NO_SLOT)

    try:
        yield SlowCheck(SLOW_SECONDS, check)
    finally:
        leave_time(slow_calls.clock.monotonic)
        for slot in taken:
            with _storage_limit(slow_calls, STORAGE_SECONDS):  # a slot that is not freed frees itself
                try_to(partial(slow_calls.free, slot), "slow call not ended", bic=slot.bic)


def _storage_limit(slow_calls: SlowCalls, seconds: float) -> AbstractContextManager[None]:
    clock = slow_calls.clock
    return tight_deadline(clock.monotonic, clock.monotonic() + seconds)
