"""The limit of a credential's calls, counted in each process before the action is looked at."""

from __future__ import annotations

from chalicelib.cards.programs.credentials import Credential
from chalicelib.cards.protocol.status_codes import Refused, Status
from chalicelib.foundation import log
from chalicelib.foundation.call_limits import CallLimits, LimitReached
from chalicelib.foundation.clock import Clock
from chalicelib.foundation.metrics import Metrics


class CredentialLimits:
    """Admits calls; ``credential_calls`` is the limit of credentials without one of their own, in calls a minute."""

    def __init__(self, clock: Clock, credential_calls: int, metrics: Metrics) -> None:
        self._limits = CallLimits(clock)
        self._default = credential_calls
        self._metrics = metrics

    def limit_of(self, credential: Credential) -> int:
        """The credential's own limit, or the default."""
        return credential.calls_per_minute or self._default

    def admit(self, credential: Credential) -> None:
        """Count a call, with whichever of the credential's keys. Raises: Refused."""
        limit = self.limit_of(credential)
        try:
            self._limits.admit(credential.identity, limit)
        except LimitReached as reached:
            log.warning("call limit reached", credential=credential.identity, limit=limit)
            self._metrics.write({"CallsOverLimit": 1}, Limit="credential")
            raise refuse_call(reached) from None


def refuse_call(reached: LimitReached) -> Refused:
    """The refusal of a call above its credential's limit."""
    return Refused(
        Status.TOO_MANY_ATTEMPTS,
        f"the credential's limit of calls, {reached.limit} a minute, is reached: repeat the request after the seconds "
        "in the header Retry-After",
        retry_after=reached.retry_after,
    )
