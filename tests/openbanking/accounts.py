"""Test helpers: an AISP that makes immediate and deferred reads, and bank conditions such as downtimes and limits."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from chalicelib.openbanking.bank_client.bank_circuits import FAILURES
from chalicelib.openbanking.records import bank_record
from chalicelib.openbanking.records.consents import TABLE
from chalicelib.statistics import call_counts
from chalicelib.statistics.days import midnight_after
from chalicelib.statistics.downtimes import Downtime
from tests.causeway import Answer, Causeway
from tests.openbanking.examples import BY_WEBHOOK, SCOPES
from tests.openbanking.kit import LATER, UNREACHABLE, accepted_id

ACCOUNTS = {1: BY_WEBHOOK["/accounts"], 2: BY_WEBHOOK["/v2_accounts"]}
NO_ACCOUNTS: dict[int, dict[str, Any]] = {1: {"status": "success", "accounts": []}, 2: {"accounts": []}}
ATTENDED = {"psu-ip-address": "192.0.2.7"}
LIMIT = 4


class Aisp:
    """A TPP with a consent for all accounts, at a bank that responds to all reads."""

    def __init__(self, causeway: Causeway, version: int = 1) -> None:
        self.causeway = causeway
        self.version = version
        self.bank = causeway.banks[version]
        tokens = causeway.tpp.tokens(version, scopes=SCOPES[version])
        self.bearer: str = tokens["access_token"]
        self.refresh_token: str = tokens["refresh_token"]
        self.consent_id = tokens["consent_id"]
        for row in BY_WEBHOOK.values():
            if row.version == version:
                self.bank_answers(row.answer, row.webhook)

    def bank_answers(self, answer: Any, webhook: str = "") -> None:
        self.bank.answers[webhook or ACCOUNTS[self.version].webhook] = lambda sent: answer

    def read(self, call: str = "accounts", headers: Mapping[str, str] | None = None, **query: Any) -> Answer:
        path = f"/tpp/{call}" + (f"?{urlencode(query)}" if query else "")
        return self.causeway.tpp.call("GET", path, bearer=self.bearer, headers=headers)

    def list_accounts(self, answer: Any = None) -> Answer:
        answer = NO_ACCOUNTS[self.version] if answer is None else answer
        self.bank_answers(answer)
        return self.read()

    def fail(self, times: int = FAILURES) -> None:
        """Read accounts ``times`` times from an unreachable bank, and check that no open circuit refuses a read."""
        for _ in range(times):
            assert "retry-after" not in self.list_accounts(UNREACHABLE).headers

    def use_up(self, call: str = "accounts", times: int = LIMIT, **query: Any) -> None:
        """Make ``times`` successful reads without the PSU. The default is the number of reads that the limit allows."""
        for _ in range(times):
            answer = self.read(call, **query)
            assert answer.status == 200, answer

    def refresh(self) -> str:
        answer = self.causeway.tpp.call("POST", "/tpp/token", {"refresh_token": self.refresh_token})
        assert answer.status == 200, answer
        self.bearer, self.refresh_token = answer.body["access_token"], answer.body["refresh_token"]
        return self.bearer

    @property
    def calls(self) -> int:
        return len(self.bank.received)

    def counted(self) -> int:
        return sum(len(item.get("reads", ())) for item in self.items())

    def items(self) -> list[dict[str, Any]]:
        rows = self.causeway.hub.store.rows(TABLE, ("consent_id", self.consent_id))
        return [item for item in rows if item["part"].startswith("reads#")]


class DeferredRead(Aisp):
    def __init__(self, causeway: Causeway, version: int = 1, **headers: str) -> None:
        super().__init__(causeway, version)
        self.row = ACCOUNTS[version]
        self.request_id = accepted_id(self.defer(**headers))

    def defer(self, **headers: str) -> Answer:
        return self.read(headers=LATER | headers)

    def attempt(self) -> None:
        self.causeway.hub.delivery.worker.attempt(self.request_id)

    def outcome(self) -> dict[str, Any]:
        """Return the outcome, after a refresh of the access token."""
        self.refresh()
        return self.causeway.tpp.outcome(self.request_id, self.bearer)

    @property
    def state(self) -> str:
        return self.causeway.delivery(self.request_id).state


def limit_reads(causeway: Causeway, version: int = 2, limit: int | None = LIMIT) -> None:
    """Limit unattended reads at a bank, only in this service."""
    change_bank(causeway, version, unattended_reads=limit)


def change_bank(causeway: Causeway, version: int, **members: Any) -> None:
    """Change members of a bank's record. They change only in this service, because tests share the stored banks."""
    banks, bic = causeway.hub.openbanking.banks, causeway.banks[version].bic
    find = banks.find

    def find_changed(wanted: str, *, active: bool = True) -> bank_record.Bank | None:
        bank = find(wanted, active=active)
        return replace(bank, **members) if bank and bank.bic == bic else bank

    banks.find = find_changed  # type: ignore[method-assign, assignment]


def know_downtime(causeway: Causeway) -> None:
    """Store an open downtime of the first bank. Add the downtime to the known downtimes of the instance."""
    now, bic = causeway.clock.time(), causeway.banks[1].bic
    downtime = Downtime(bic, is_open=True, latest=now, computed_at=now, ends_at=midnight_after(now))
    causeway.hub.store.put(call_counts.TABLE, downtime.to_item())
    causeway.hub.statistics.open_downtimes.note([downtime])


def open_circuit(causeway: Causeway, version: int) -> None:
    """Record enough failures of the bank to open its circuit, without calls."""
    for _ in range(FAILURES):
        causeway.hub.openbanking.bank_client.breaker.record_failure(causeway.banks[version].bic)
