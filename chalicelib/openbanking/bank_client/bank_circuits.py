"""Admits calls to banks: an instance's own circuit breaker, and the open downtimes that all instances share.

While a bank's downtime is open, the instances that know it send one call in ``PROBE_SECONDS``, the probe, among all of
them. A downtime is known from the rows that an instance reads when it writes its counters, once a minute, so admission
needs no storage while a bank responds.
"""

from __future__ import annotations

from chalicelib.foundation import log
from chalicelib.foundation.clock import Clock
from chalicelib.foundation.dynamodb.store import StoreError
from chalicelib.foundation.http.breaker import Breaker, CircuitOpen
from chalicelib.statistics import current_call
from chalicelib.statistics.downtime_probes import PROBE_SECONDS, DowntimeProbes, Probe
from chalicelib.statistics.downtimes import Downtime, OpenDowntimes


class BankCircuits:
    """Admits calls to banks, by BIC; thread-safe. The interface is that of ``Breaker``.

    Args:
        downtimes: the open downtimes that this instance knows.
    """

    def __init__(self, clock: Clock, downtimes: OpenDowntimes, probes: DowntimeProbes) -> None:
        self._clock = clock
        self._breaker = Breaker(clock)
        self._downtimes = downtimes
        self._probes = probes
        self._latest: dict[str, Probe] = {}
        """The latest probe of each bank that this instance knows, sent by any instance."""
        self._own: dict[str, Probe] = {}
        """The probes that this instance sent and that have not ended."""
        self._reserved: dict[str, Probe] = {}
        """The probes that ``require_closed`` claimed and no call has used yet."""

    def admit(self, bic: str) -> None:
        """Admit a call to a bank; with an open downtime, the next probe only. Raises: CircuitOpen."""
        reserved = self._reserved.pop(bic, None)
        if (downtime := self._downtimes.find(bic)) is None:
            self._breaker.admit(bic)
        elif reserved is None or not reserved.pause_at(self._clock.time()):
            self._claim_probe(downtime)

    def require_closed(self, bic: str) -> None:
        """Check that ``admit`` will succeed now; with an open downtime, claim the probe for it. Raises: CircuitOpen."""
        if (downtime := self._downtimes.find(bic)) is None:
            self._breaker.require_closed(bic)
        elif bic not in self._reserved and (probe := self._claim_probe(downtime)):
            self._reserved[bic] = probe

    def record_success(self, bic: str) -> None:
        """Record a successful call: calls to the bank resume, here at once and elsewhere within a minute."""
        self._breaker.record_success(bic)
        self._latest.pop(bic, None)
        if self._downtimes.find(bic) is not None:
            self._downtimes.forget(bic)
            current_call.record_end_of_downtime()
        if probe := self._own.pop(bic, None):
            try:
                self._probes.record_answer(probe)
            except StoreError:
                log.warning("probe not recorded", bic=bic)

    def record_failure(self, bic: str) -> bool:
        """Record a failed call; returns whether it opened this instance's circuit, or was a probe."""
        was_probe = self._own.pop(bic, None) is not None
        return self._breaker.record_failure(bic) or was_probe

    def _claim_probe(self, downtime: Downtime) -> Probe | None:
        """Claim the next probe; ``None`` if the bank has answered one since the downtime's latest request.

        Raises: CircuitOpen.
        """
        bic = downtime.bic
        latest = self._latest.get(bic)
        if latest is not None and (left := latest.pause_at(self._clock.time())):
            raise CircuitOpen(left)
        try:
            probe, is_own = self._probes.claim(bic)
        except StoreError as error:
            log.warning("probe not claimed", bic=bic)
            raise CircuitOpen(PROBE_SECONDS) from error
        if is_own:
            self._latest[bic] = self._own[bic] = probe
            return probe
        if probe.answered and probe.sent_at >= downtime.latest:
            self._downtimes.forget(bic)
            self._breaker.record_success(bic)
            return None
        self._latest[bic] = probe
        raise CircuitOpen(max(probe.pause_at(self._clock.time()), 1))
