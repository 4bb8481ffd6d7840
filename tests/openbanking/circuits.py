"""A bank that fails, and a TPP that reads accounts there."""

from __future__ import annotations

from typing import Any

from chalicelib.foundation.http.outbound import NotReached
from chalicelib.openbanking.bank_client.bank_circuits import FAILURES
from chalicelib.statistics.call_counts import TABLE
from chalicelib.statistics.days import midnight_after
from chalicelib.statistics.downtimes import Downtime
from tests.causeway import Answer, Causeway

GONE = NotReached("no connection could be made")

GOOD = {1: {"status": "success", "accounts": []}, 2: {"accounts": []}}


class Reader:
    """A TPP with a consent for accounts, and a bank that does as it is told."""

    def __init__(self, causeway: Causeway, version: int = 1) -> None:
        self.causeway = causeway
        self.version = version
        self.side = causeway.banks[version]
        self.bearer = causeway.tpp.tokens(version)["access_token"]

    def ask(self, answer: Any = None) -> Answer:
        """``GET /tpp/accounts`` while the bank gives ``answer``, a good one unless told otherwise."""
        answer = GOOD[self.version] if answer is None else answer
        self.side.answers["/accounts" if self.version == 1 else "/v2_accounts"] = lambda sent: answer
        return self.causeway.tpp.call("GET", "/tpp/accounts", bearer=self.bearer)

    def fail(self, times: int = FAILURES) -> None:
        for _ in range(times):
            assert "retry-after" not in self.ask(GONE).headers

    @property
    def calls(self) -> int:
        return len(self.side.received)


def know_downtime(causeway: Causeway) -> None:
    """Have the service's instance know an open downtime of the first bank, which is stored."""
    now = causeway.clock.time()
    downtime = Downtime(causeway.banks[1].bic, is_open=True, latest=now, computed_at=now, ends_at=midnight_after(now))
    causeway.hub.store.put(TABLE, downtime.to_item())
    causeway.hub.statistics.open_downtimes.note([downtime])


def opened(causeway: Causeway, version: int) -> None:
    """Have the bank fail often enough without the calls that it takes."""
    for _ in range(FAILURES):
        causeway.hub.openbanking.bank_client.breaker.record_failure(causeway.banks[version].bic)
