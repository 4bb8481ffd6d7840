"""Circuit breaker: pauses calls to a party that keeps failing, then admits a single call as a probe.

State is kept per process, so each process has to see the failures itself. Pauses pass in real time, also while business
time is moved.
"""

from __future__ import annotations

import threading

from chalicelib.foundation.clock import Clock
from chalicelib.foundation.lazy_dataclasses import dataclass

FAILURES = 5
"""Consecutive failures that open a circuit."""
OPEN_SECONDS = 30
"""Seconds for which a circuit stays open, and for which a probe may run. No call takes longer, so a report received
during a probe comes from that probe.
"""


class CircuitOpen(Exception):
    """Calls to the party are paused.

    Attributes:
        retry_after: whole seconds, at least 1, until a call may be admitted again.
    """

    def __init__(self, retry_after: int) -> None:
        self.retry_after = retry_after
        super().__init__(f"calls are paused for {retry_after} s")


@dataclass(frozen=True, slots=True)
class Pause:
    """A period of ``seconds`` in real time, which does not last longer if the clock is set back.

    The time that has passed is the larger one of two clocks: the wall clock also runs while a Lambda instance is
    frozen, the monotonic clock is never set back.
    """

    clock: Clock
    seconds: int
    began_at: int
    began: float

    @classmethod
    def begin(cls, clock: Clock, seconds: int) -> Pause:
        return cls(clock.real, seconds, clock.real.time(), clock.real.monotonic())

    def left(self) -> int:
        """The seconds that are left; 0 when it is over."""
        passed = max(self.clock.time() - self.began_at, int(self.clock.monotonic() - self.began))
        return max(0, self.seconds - passed)


@dataclass(slots=True)
class _Circuit:
    """The recent failures of a party; ``pause`` is the open period or the time of the running probe."""

    failures: int = 0
    pause: Pause | None = None
    probing: bool = False

    @property
    def left(self) -> int:
        return self.pause.left() if self.pause else 0


class Breaker:
    """Admits calls to parties, by key; thread-safe.

    The caller reports each admitted call with ``record_success`` or ``record_failure``. After ``OPEN_SECONDS`` an open
    circuit admits one call, the probe. If the probe does not report within ``OPEN_SECONDS``, another is admitted.
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
        """Whether the next call to be admitted is a probe."""
        with self._lock:
            return key in self._circuits and self._circuits[key].failures >= FAILURES

    def record_success(self, key: str) -> None:
        """Record a successful call: close the circuit and reset its failure count."""
        with self._lock:
            self._circuits.pop(key, None)

    def record_failure(self, key: str) -> bool:
        """Record a failed call; returns whether it opened the circuit or, as a probe, reopened it.

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
        """The open circuit if it can admit a probe now; ``None`` if it is closed. Raises: CircuitOpen."""
        circuit = self._circuits.get(key)
        if circuit is None or circuit.failures < FAILURES:
            return None
        if left := circuit.left:
            raise CircuitOpen(1 if circuit.probing else left)
        return circuit
