"""The participants of a test history: a client with an event receiver, and a scripted bank."""

import contextlib
import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any, TypeVar

from hypothesis.stateful import RuleBasedStateMachine

from chalicelib import bootstrap
from chalicelib.foundation.http.outbound import NotReached, Reply, TimedOut
from tests.causeway import Answer, Causeway
from tests.openbanking.accounts import NO_ACCOUNTS
from tests.openbanking.fault_scenarios import InMemory
from tests.openbanking.faults import Fault
from tests.openbanking.hub_state_model import OK, Model
from tests.openbanking.kit import ReceivedRequest, WorkerKilled, camel_case
from tests.openbanking.payments import REFUSAL, WEBHOOKS, payment_answer

T = TypeVar("T")

SCOPES = {1: ["account.list", "payment.init"], 2: ["accounts", "payments.single"]}
READS = {1: "/accounts", 2: "/v2_accounts"}


class HubParties(RuleBasedStateMachine):
    """A client with an event receiver, and a scripted bank that records the requests that it receives."""

    def __init__(self, first: Causeway, version: int) -> None:
        super().__init__()
        self.causeway, self.version = first.again(), version
        bootstrap.use(self.causeway.hub)
        self.causeway.tpp.set_events_url()
        InMemory.install(self.causeway.hub.delivery)
        self.model = Model(version, self.causeway.clock.time())
        self.requests = 0
        self.received_events: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
        self.deliveries: Counter[str] = Counter()
        self.is_orderly, self.refusals = True, 0
        self.orders: Counter[str] = Counter()
        self.key = self.bank_reaction = ""
        self.stray_reads: list[str] = []
        self.notices: Counter[str] = Counter()
        bank = self.causeway.banks[version]
        bank.answers |= {READS[version]: self._answer_read, WEBHOOKS[version, "single"]: self._answer_order}
        bank.answers |= {"/revoke_token": self._answer_revocation, "/v2_payment_single_status": self._answer_status}
        self.causeway.receiver.answer = self._receive_event  # type: ignore[method-assign]

    def scopes(self, one_time: bool) -> list[str]:
        """Return the scopes of a consent. A one-time consent is for a payment only."""
        return SCOPES[self.version][one_time:]

    # -- the bank and the client's receiver of events

    def _answer_read(self, sent: ReceivedRequest) -> Any:
        consent = self._consent_of(sent)
        if not self.model.is_living(consent):
            self.stray_reads.append(f"{sent.path} of a consent that is {self.model.state(consent)}")
        return NO_ACCOUNTS[self.version]

    def _answer_order(self, sent: ReceivedRequest) -> Any:
        if self.bank_reaction == "is not reached":
            raise NotReached("no connection could be made")
        self.orders[self.key] += 1
        if self.bank_reaction == "dies":
            raise WorkerKilled
        if self.bank_reaction == "is late":
            raise TimedOut("no answer came in time")
        payment_id = f"P-{self.model['sent'] + 1}"
        return REFUSAL[self.version] if self.bank_reaction == "refuses" else payment_answer(self.version, payment_id)

    def _answer_status(self, sent: ReceivedRequest) -> Any:
        return {"transaction_status": self.model["payments"][json.loads(sent.body)["payment_id"]]["history"][-1]}

    def _answer_revocation(self, sent: ReceivedRequest) -> Any:
        self.notices[sent.headers["X-Auth-Token"]] += 1
        return {"status": "success"}

    def _consent_of(self, sent: ReceivedRequest) -> dict[str, Any]:
        token = sent.headers["X-Auth-Token"]
        return next(each for each in self.model["consents"].values() if each["bank_token"] == token)

    def _receive_event(self, sent: ReceivedRequest) -> Reply:
        if self.refusals:
            self.refusals, self.is_orderly = self.refusals - 1, False
            return Reply(503, b"", {}, 0.01)
        event = json.loads(sent.body)
        data = event["data"]
        name = data.get("payment_id") or data.get("consent_id") or data["state"]
        members = ("revoked_by", "error", "payment_status", "transaction_status")
        detail = next((str(data[member]) for member in members if member in data), "")
        self.received_events[name].append((event["type"], detail))
        self.deliveries[sent.headers["webhook-id"]] += 1
        return Reply(204, b"", {}, 0.01)

    def bank(self, path: str, body: dict[str, Any], **headers: str) -> Answer:
        spelled = body if self.version == 1 else {camel_case(name): value for name, value in body.items()}
        return self.causeway.banks[self.version].call(path, spelled, headers=headers)

    def _losing(self, lost: tuple[str, int] | None) -> contextlib.AbstractContextManager[object]:
        return Fault(self.causeway, *lost, operation="TransactWriteItems") if lost else contextlib.nullcontext()

    @property
    def queue(self) -> InMemory:
        queue = self.causeway.hub.delivery.queue
        assert isinstance(queue, InMemory)
        return queue

    # -- choices

    @property
    def _is_asked(self) -> bool:
        return any(each["state"] == "open" for each in self.model["requests"])

    @property
    def _bearers(self) -> list[dict[str, Any]]:
        return [consent for consent in self.model["consents"].values() if consent["access"]]

    def _pick_bearer(self, which: int) -> dict[str, Any]:
        """Return a consent. In most cases, the latest access token of the consent is valid."""
        usable = [each for each in self._bearers if self.model.bearer(each, [*each["access"]][-1], True) == OK]
        return pick(usable if usable and which % 8 else self._bearers, which // 8)

    def _pick_access(self, which: int, back: int) -> tuple[dict[str, Any], str]:
        consent = self._pick_bearer(which)
        return consent, [*consent["access"]][-min(back, len(consent["access"]))]


def pick(choices: Sequence[T], which: int) -> T:
    """Return an element by its position from the end. Positions that exceed the length wrap around."""
    return choices[-1 - which % len(choices)]


def spelled(version: int, name: str) -> str:
    return name if version == 1 else camel_case(name)
