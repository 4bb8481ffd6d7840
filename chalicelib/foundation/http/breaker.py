"""Circuit breaker: a party that keeps failing is left alone for a while, and then asked by a single call first.

Per process: nothing is shared, so that a party is asked once more by every process before all of them know better. It
goes by the clock's time, which runs on while an instance of a function is frozen.
"""

from __future__ import annotations

import threading

from chalicelib.foundation.clock import Clock
from chalicelib.foundation.lazy_dataclasses import dataclass

FAILURES = 5
"""Consecutive failures that open a circuit."""
OPEN_SECONDS = 30
"""Seconds that a circuit stays open, and that its probe may take: longer than any call, so a report during a probe
comes from the probe."""


class CircuitOpen(Exception):
    """Calls to the party are paused.

    Attributes:
        retry_after: whole seconds, at least 1, after which asking may be possible again.
    """

    def __init__(self, retry_after: int) -> None:
        self.retry_after = retry_after
        super().__init__(f"calls are paused for {retry_after} s")


@dataclass(slots=True)
class _Circuit:
    """A party that has failed; its circuit is open, or its probe under way, until ``until``."""

    failures: int = 0
    until: int = 0
    probing: bool = False


class Breaker:
    """Admits calls to parties, by key; safe to be used by many threads.

    The caller then reports with ``record_success`` or ``record_failure``. After ``OPEN_SECONDS`` an open circuit admits
    one call, the probe. A probe that does not report in as long a time gives way to another.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._circuits: dict[str, _Circuit] = {}
        self._lock = threading.Lock()

    def admit(self, key: str) -> None:
        """Let a call to ``key`` begin. Raises: CircuitOpen."""
        with self._lock:
            circuit = self._find_probed(key)
            if circuit is not None:
                circuit.probing, circuit.until = True, self._clock.time() + OPEN_SECONDS

    def require_closed(self, key: str) -> None:
        """Whether ``admit`` would let a call begin now; unlike it, this is not yet the probe. Raises: CircuitOpen."""
        with self._lock:
            self._find_probed(key)

    def record_success(self, key: str) -> None:
        """A call brought an answer: the circuit is closed and its failures are forgotten."""
        with self._lock:
            self._circuits.pop(key, None)

    def record_failure(self, key: str) -> bool:
        """A call failed; answers whether that has opened the circuit, again after a probe.

        Calls that began before the circuit opened do not keep it open any longer.
        """
        with self._lock:
            circuit = self._circuits.setdefault(key, _Circuit())
            circuit.failures += 1
            if circuit.probing or circuit.failures == FAILURES:
                circuit.probing, circuit.until = False, self._clock.time() + OPEN_SECONDS
                return True
            return False

    def _find_probed(self, key: str) -> _Circuit | None:
        """The open circuit that a probe may pass now; ``None`` when it is closed. Raises: CircuitOpen."""
        circuit = self._circuits.get(key)
        if circuit is None or circuit.failures < FAILURES:
            return None
        left = circuit.until - self._clock.time()
        if left > 0:
            raise CircuitOpen(1 if circuit.probing else left)
        return circuit
