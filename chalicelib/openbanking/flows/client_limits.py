"""The limit of a client's calls, counted in each process before anything is read from its bank or sent to it.

Only a client that has proved who it is uses up its own limit. A call that merely names a Client ID, which every PSU's
browser sees, counts for the pair of client and IP address, so that strangers cannot use up what a client may do.
"""

from __future__ import annotations

from chalicelib.foundation import log
from chalicelib.foundation.call_limits import CallLimits, LimitReached
from chalicelib.foundation.clock import Clock
from chalicelib.foundation.metrics import Metrics
from chalicelib.openbanking.protocol import refusals
from chalicelib.openbanking.protocol.errors import Refusal
from chalicelib.openbanking.records.client_record import Client


class ClientLimits:
    """Admits calls; ``default`` is the limit of clients without one of their own, in calls a minute."""

    def __init__(self, clock: Clock, client_calls: int, metrics: Metrics) -> None:
        self._proved = CallLimits(clock)
        self._named = CallLimits(clock)
        self._default = client_calls
        self._metrics = metrics

    def admit(self, client: Client, address: str, *, has_proof: bool) -> None:
        """Count a call from an IP address. Raises: Refusal."""
        limit = client.calls_per_minute or self._default
        try:
            if has_proof:
                self._proved.admit(client.client_id, limit)
            else:
                self._named.admit(f"{client.client_id} {address}", limit)
        except LimitReached as reached:
            log.warning("call limit reached", client_id=client.client_id, limit=limit)
            self._metrics.write({"CallsOverLimit": 1}, Limit="client")
            raise refuse_call(reached) from None


def refuse_call(reached: LimitReached) -> Refusal:
    """The refusal of a call above its client's limit."""
    return refusals.CALL_LIMIT_REACHED(limit=reached.limit, retry_after=reached.retry_after)
