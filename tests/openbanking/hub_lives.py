"""A client, a bank and an operator as hypothesis makes them up, beside a model of the rules."""

from __future__ import annotations

import contextlib
import json
import sys
import uuid
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any, TypeVar
from urllib.parse import parse_qs, urlsplit

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from chalicelib import bootstrap
from chalicelib.delivery.sweeper import sweep
from chalicelib.foundation.http.outbound import NotReached, Reply, TimedOut
from chalicelib.openbanking.flows.consent.expiry import record_due_events
from chalicelib.openbanking.flows.consent.tokens import end_consent
from chalicelib.openbanking.records.consents import Consent, consent_key
from tests.causeway import Answer, Causeway
from tests.openbanking.accounts import NO_ACCOUNTS
from tests.openbanking.fault_scenarios import InMemory, attempt_all_due
from tests.openbanking.faults import Fault
from tests.openbanking.hub_model import DAY, HOUR, MINUTE, OK, STATUSES, Model, Said
from tests.openbanking.kit import Sent, camel_case
from tests.openbanking.payments import PATHS, REFUSAL, WEBHOOKS, order, payment_answer

T = TypeVar("T")

SCOPES = {1: ["account.list", "payment.init"], 2: ["accounts", "payments.single"]}
READS = {1: "/accounts", 2: "/v2_accounts"}

_MOST_CONSENTS = 4
which = st.integers(0, 31)
lost = st.sampled_from([None, None, None, ("before", 1), ("after", 1), ("after", 2)])
"""A transaction whose answer is lost, before or after it was carried out."""


class Died(BaseException):
    """The end of a process that waits for a bank."""


class HubLife(RuleBasedStateMachine):
    """A client's consents at a bank of a version, and what is paid with them."""

    def __init__(self, first: Causeway, version: int) -> None:
        super().__init__()
        self.causeway, self.version = first.again(), version
        bootstrap.use(self.causeway.hub)
        self.causeway.tpp.set_events_url()
        InMemory.install(self.causeway.hub.delivery)
        self.model = Model(version, self.causeway.clock.time())
        self.requests = 0
        self.taken: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
        self.deliveries: Counter[str] = Counter()
        self.is_orderly, self.refusals = True, 0
        self.orders: Counter[str] = Counter()
        self.key = self.bank_answers = ""
        self.strays: list[str] = []
        self.notices: Counter[str] = Counter()
        side = self.causeway.banks[version]
        side.answers |= {READS[version]: self._bank_is_read, WEBHOOKS[version, "single"]: self._bank_is_ordered}
        side.answers |= {"/revoke_token": self._bank_is_told, "/v2_payment_single_status": self._bank_is_asked}
        self.causeway.receiver.answer = self._client_is_told  # type: ignore[method-assign]

    @initialize(one_time=st.booleans())
    def begin(self, one_time: bool) -> None:
        self.consent_to(False)
        self.consent_to(one_time)

    def teardown(self) -> None:
        """In the end everybody is told everything, unless something else went wrong."""
        if sys.exception() is not None:
            return
        if not self.model["active"]:
            self.return_client()
        self._deliver_all()

    # -- the bank and the client's receiver of events

    def _bank_is_read(self, sent: Sent) -> Any:
        consent = self._consent_of(sent)
        if not self.model.is_living(consent):
            self.strays.append(f"{sent.path} of a consent that is {self.model.state(consent)}")
        return NO_ACCOUNTS[self.version]

    def _bank_is_ordered(self, sent: Sent) -> Any:
        if self.bank_answers == "is not reached":
            raise NotReached("no connection could be made")
        self.orders[self.key] += 1
        if self.bank_answers == "dies":
            raise Died
        if self.bank_answers == "is late":
            raise TimedOut("no answer came in time")
        payment_id = f"P-{self.model['sent'] + 1}"
        return REFUSAL[self.version] if self.bank_answers == "refuses" else payment_answer(self.version, payment_id)

    def _bank_is_asked(self, sent: Sent) -> Any:
        return {"transaction_status": self.model["payments"][json.loads(sent.body)["payment_id"]]["history"][-1]}

    def _bank_is_told(self, sent: Sent) -> Any:
        self.notices[sent.headers["X-Auth-Token"]] += 1
        return {"status": "success"}

    def _consent_of(self, sent: Sent) -> dict[str, Any]:
        token = sent.headers["X-Auth-Token"]
        return next(each for each in self.model["consents"].values() if each["bank_token"] == token)

    def _client_is_told(self, sent: Sent) -> Reply:
        if self.refusals:
            self.refusals, self.is_orderly = self.refusals - 1, False
            return Reply(503, b"", {}, 0.01)
        event = json.loads(sent.body)
        data = event["data"]
        name = data.get("payment_id") or data.get("consent_id") or data["state"]
        members = ("revoked_by", "error", "payment_status", "transaction_status")
        detail = next((str(data[member]) for member in members if member in data), "")
        self.taken[name].append((event["type"], detail))
        self.deliveries[sent.headers["webhook-id"]] += 1
        return Reply(204, b"", {}, 0.01)

    # -- calls

    def tpp(self, method: str, path: str, body: Any = None, **options: Any) -> Answer:
        """A call of the TPP: the only place where one is made, to be compared with the same call of another API."""
        return self.causeway.tpp.call(method, path, body, **options)

    def bank(self, path: str, body: dict[str, Any], **headers: str) -> Answer:
        spelled = body if self.version == 1 else {camel_case(name): value for name, value in body.items()}
        return self.causeway.banks[self.version].call(path, spelled, headers=headers)

    def _losing(self, lost: tuple[str, int] | None) -> contextlib.AbstractContextManager[object]:
        return Fault(self.causeway, *lost, operation="TransactWriteItems") if lost else contextlib.nullcontext()

    def _expect(self, answer: Answer, said: Said) -> bool:
        """Check an answer, after what the bank has received. Whether it is a success."""
        self.no_read_reaches_a_bank_without_a_living_consent()
        self.there_is_one_order_for_each_key()
        body = answer.body
        found = answer.status, None if answer.status == 200 else body.get("error_code") or body.get("code")
        assert found == said, f"told {found} instead of {said}: {answer.text}"
        return said == OK

    # -- authorization

    @precondition(lambda self: self.model["active"] and len(self.model["consents"]) < _MOST_CONSENTS)
    @rule(one_time=st.booleans())
    def consent_to(self, one_time: bool) -> None:
        """From the request to the first tokens."""
        self.authorize(one_time, None)
        self.approve(0, None)
        self.redeem(0, False, None)

    @precondition(lambda self: not self._is_asked)
    @rule(one_time=st.booleans(), lost=lost)
    def authorize(self, one_time: bool, lost: Any) -> None:
        self.requests += 1
        state, scopes = f"state-{self.requests}", SCOPES[self.version][one_time:]
        body = {"bic": self.causeway.banks[self.version].bic, "scopes": scopes, "state": state}
        body |= {"consent_type": "one_time" if one_time else "reusable"}
        with self._losing(lost):
            answer = self.tpp("POST", "/tpp/authorize", body)
        if self._expect(answer, self.model.authorize()):
            self.model.opened(one_time, name=state, url=answer.body["redirect_url"])

    @precondition(lambda self: self._is_asked)
    @rule(which=st.sampled_from([0, 0, 0, 1]), lost=lost)
    def approve(self, which: int, lost: Any) -> None:
        request = _pick(self.model["requests"], which)
        scopes = SCOPES[self.version][request["one_time"] :]
        body = self.causeway.banks[self.version].consent_body(request["url"], scopes=scopes)
        with self._losing(lost):
            answer = self.causeway.banks[self.version].call("/consent", body)
        if self._expect(answer, self.model.approve(request)):
            callback, token = (answer.body[_spelled(self.version, name)] for name in ("callback_url", "access_token"))
            (consent_id,) = {each["consent_id"] for each in self._listed()} - {*self.model["consents"]}
            self.model.approved(request, consent_id, parse_qs(urlsplit(callback).query)["code"][0], token)

    @precondition(lambda self: self._is_asked)
    @rule(which=st.sampled_from([0, 0, 0, 1]))
    def decline(self, which: int) -> None:
        request = _pick(self.model["requests"], which)
        answer = self.bank("/init_authorization", {"request_url": request["url"]})
        if self._expect(answer, self.model.open_at_bank(request)):
            request["cancel"] = urlsplit(answer.body[_spelled(self.version, "cancel_url")]).path
        if request["cancel"]:
            assert self.causeway.call("GET", request["cancel"]).status == self.model.cancel(request)

    # -- tokens

    @rule(which=which, again=st.sampled_from([False, False, True]), lost=lost)
    def redeem(self, which: int, again: bool, lost: Any) -> None:
        """Also a code that was used."""
        codes = [each for each in self.model["consents"].values() if each["is_redeemed"] == again]
        if not codes:
            return
        consent = _pick(codes, which)
        with self._losing(lost):
            answer = self.tpp("POST", "/tpp/token", {"code": consent["code"]})
        if self._expect(answer, self.model.redeem(consent)):
            self.model.issued(consent, answer.body["access_token"], answer.body["refresh_token"])

    @rule(which=which, back=st.sampled_from([1, 1, 1, 2, 2, 3]), lost=lost)
    def refresh(self, which: int, back: int, lost: Any) -> None:
        """Also with a token that was replaced."""
        consent = self._pick_bearer(which)
        token = consent["refresh"][-min(back, len(consent["refresh"]))]
        is_repeat = self.model.is_repeat(consent, token)
        with self._losing(lost):
            answer = self.tpp("POST", "/tpp/token", {"grant_type": "refresh_token", "refresh_token": token})
        if self._expect(answer, self.model.refresh(consent, token)):
            pair = answer.body["access_token"], answer.body["refresh_token"]
            if is_repeat:
                assert pair == ([*consent["access"]][-1], consent["refresh"][-1]), "a repeat gets the same pair"
            else:
                self.model.issued(consent, *pair)

    @rule(which=which, by=st.sampled_from(["tpp", "tpp, long after", "bank", "operator"]), lost=lost)
    def revoke(self, which: int, by: str, lost: Any) -> None:
        consent = self._pick_bearer(which)
        with self._losing(lost):
            if by == "operator":
                self._end_by_operator(consent)
            elif by == "bank":
                self._expect(self.bank("/token/revoke", {"access_token": consent["bank_token"]}), OK)
            else:
                token = [*consent["access"]][-1] if by == "tpp" else consent["refresh"][0]
                answer = self.tpp("POST", "/tpp/token/revoke", {"token": token})
        if by in ("bank", "operator"):
            self.model.end(consent, by)
        else:
            self._expect(answer, self.model.revoke(consent))

    def _end_by_operator(self, consent: dict[str, Any]) -> None:
        item = self.causeway.hub.store.get(*consent_key(consent["id"]))
        assert item is not None
        self.causeway.hub.openbanking.call(end_consent, Consent.from_item(item), by="operator")

    # -- the operator

    @precondition(lambda self: self.model["active"])
    @rule(archives=st.booleans(), returns=st.sampled_from([True, True, True, True, False]))
    def remove_client(self, archives: bool, returns: bool) -> None:
        """It may return after it was refused."""
        clients, client_id = self.causeway.hub.openbanking.clients, self.causeway.tpp.client_id
        (clients.archive if archives else clients.deactivate)(client_id)
        self.model |= {"active": False, "archived": archives}
        if returns:
            self.read(0, 1)
            self.refresh(0, 1, None)
            self.pay(0, "key-1", "12.30", "takes it", 1, None)
            self.return_client()

    @precondition(lambda self: not self.model["active"])
    @rule()
    def return_client(self) -> None:
        clients, client_id = self.causeway.hub.openbanking.clients, self.causeway.tpp.client_id
        if self.model["archived"]:
            clients.restore(client_id)
        clients.activate(client_id)
        self.model |= {"active": True, "archived": False}

    # -- reads and payments

    @rule(which=which, back=st.sampled_from([1, 1, 2]))
    def read(self, which: int, back: int) -> None:
        consent, access = self._pick_access(which, back)
        self._expect(self.tpp("GET", "/tpp/accounts", bearer=access), self.model.read(consent, access))

    @rule(
        which=which,
        key=st.sampled_from(["", "key-1", "key-1", "key-2"]),
        amount=st.sampled_from(["12.30", "12.30", "4.50"]),
        bank=st.sampled_from(["takes it", "takes it", "takes it", "refuses", "is late", "is not reached", "dies"]),
        times=st.sampled_from([1, 1, 2]),
        lost=lost,
    )
    def pay(self, which: int, key: str, amount: str, bank: str, times: int, lost: Any) -> None:
        """Also with a key that was used, for the same body or another one."""
        consent, access = self._pick_access(which, 1)
        for _ in range(times):
            self._pay(consent, access, key, amount, bank, lost)

    def _pay(self, consent: dict[str, Any], access: str, key: str, amount: str, bank: str, lost: Any) -> None:
        if self.model.claim(key) is None:
            self.orders[key] = 0
        self.key, self.bank_answers = key, bank
        with self._losing(lost):
            answer = self._order(access, key, amount)
        self.there_is_one_order_for_each_key()
        said = self.model.repeat(consent, access, key, amount)
        if said is None:
            said = self.model.pay(consent, access, key, amount, bank)
        assert (answer is None) is (said is None), "a process dies while it calls a bank"
        if answer is None or said is None:
            return
        self._expect(answer, said)
        kept = self.model.claim(key)
        if kept and kept["body"] == amount and said == kept["said"]:
            kept["text"] = kept["text"] or answer.text
            assert answer.text == kept["text"], "a repeat gets the same answer"

    def _order(self, access: str, key: str, amount: str) -> Answer | None:
        """The answer to an order; none if the process dies."""
        of_version_2 = {"instructed_amount": {"amount": amount, "currency": "EUR"}}
        members: dict[str, Any] = {"amount": amount} if self.version == 1 else of_version_2
        body = order(self.causeway, self.version, "single", **members)
        headers = {"idempotency-key": key} if key else {}
        try:
            return self.tpp("POST", PATHS["single"], body, bearer=access, headers=headers)
        except Died:
            return None
        finally:
            self.causeway.hub.openbanking.bank_client.breaker.record_success(self.causeway.banks[self.version].bic)

    @precondition(lambda self: self.model["sent"])
    @rule(payment=which, status=which, times=st.sampled_from([1, 1, 2]), lost=lost)
    def report(self, payment: int, status: int, times: int, lost: Any) -> None:
        """Also before the payment is known, twice, and after the end."""
        payment_id = f"P-{payment % (self.model['sent'] + 1) + 1}"
        reported: Any = _pick(STATUSES[self.version], status)
        headers = {"x-request-id": str(uuid.uuid4())}
        said = self.model.report(payment_id, reported)
        for _ in range(times):
            body = {"payment_id": payment_id, "payment_status": reported}
            with self._losing(lost):
                answer = self.bank("/payments/status", body, **headers)
            self._expect(answer, said)

    @rule(which=which, payment=which)
    def ask_for_status(self, which: int, payment: int) -> None:
        consent, access = self._pick_access(which, 1)
        payment_id = f"P-{payment % (self.model['sent'] + 1) + 1}"
        answer = self.tpp("GET", f"/tpp/payment_status?payment_id={payment_id}", bearer=access)
        if self._expect(answer, self.model.status(consent, access, payment_id)):
            history = self.model["payments"][payment_id]["history"]
            member = "payment_status" if self.version == 1 else "transaction_status"
            assert answer.body[member] == history[-1]
            assert [each["payment_status"] for each in answer.body.get("history", ())] in ([], history)

    # -- time, jobs and deliveries

    @rule(seconds=st.sampled_from([29, 31, 31, 61, 61, 10 * MINUTE, 30 * MINUTE, HOUR]))
    def time_passes(self, seconds: int) -> None:
        self._advance(seconds)

    @precondition(lambda self: self.model["active"])
    @rule(days=st.sampled_from([1, 8, 173]))
    def days_pass(self, days: int) -> None:
        """Afterwards the PSU consents again."""
        self._deliver_all()
        self._advance(days * DAY)
        self.consent_to(False)

    @precondition(lambda self: self.model.has_notices)
    @rule()
    def announce(self) -> None:
        """The job for consents that end."""
        self.causeway.hub.openbanking.call(record_due_events)
        self.model.announce()

    @precondition(lambda self: self.model["active"])
    @rule(refusals=st.sampled_from([0, 0, 0, 1]), forgets=st.sampled_from([False, False, False, True]))
    def deliver(self, refusals: int, forgets: bool) -> None:
        """What is due, also what the queue has forgotten; the client may refuse the first event."""
        delivery = self.causeway.hub.delivery
        self.refusals = refusals
        if forgets:
            self.queue.ids.clear()
            self.is_orderly = False
        if not self.is_orderly:
            delivery.call(sweep, first=0)
        messages, self.queue.ids = self.queue.ids, []
        for message in messages:
            delivery.worker.attempt(message)
        self.refusals = 0

    @property
    def queue(self) -> InMemory:
        queue = self.causeway.hub.delivery.queue
        assert isinstance(queue, InMemory)
        return queue

    def _deliver_all(self) -> None:
        self.deliver(0, False)
        attempt_all_due(self.causeway)
        self.model["now"] = self.causeway.clock.time()
        self.each_event_is_received_once_and_in_order()
        assert _sorted(self.taken) == _sorted(self.model["events"]), "each event is received"
        self.is_orderly = self.taken == self.model["events"]
        assert self.notices == Counter(self.model["notices"]), "the bank is told once of each end"

    def _advance(self, seconds: int) -> None:
        self.causeway.clock.advance(seconds)
        self.model["now"] += seconds

    # -- what always holds

    @invariant()
    def no_read_reaches_a_bank_without_a_living_consent(self) -> None:
        assert self.strays == [], "a read reached the bank without a living consent"

    @invariant()
    def there_is_one_order_for_each_key(self) -> None:
        assert all(count <= 1 for key, count in self.orders.items() if key), "the bank has two orders for one key"

    @invariant()
    def each_event_is_received_once_and_in_order(self) -> None:
        assert all(count == 1 for count in self.deliveries.values()), "an event was received twice"
        for name, events in self.taken.items():
            expected = self.model["events"][name]
            assert not Counter(events) - Counter(expected), f"received more than was caused: {events}, {expected}"
            assert not self.is_orderly or events == expected[: len(events)], f"out of order: {events}, {expected}"

    @invariant()
    def tokens_of_a_consent_that_has_ended_are_dead(self) -> None:
        """Among them those of a code that was used twice."""
        for consent in self._bearers:
            access = [*consent["access"]][-1]
            answer = self.tpp("GET", "/tpp/consent", bearer=access)
            assert not consent["is_misused"] or answer.status == 401, "a code was used twice, and its tokens live"
            self._expect(answer, self.model.bearer(consent, access))

    @precondition(lambda self: self.model["active"])
    @invariant()
    def consents_are_as_the_model_says(self) -> None:
        found = {each["consent_id"]: each["status"] for each in self._listed()}
        expected = {name: self.model.state(consent) for name, consent in self.model["consents"].items()}
        assert found == expected, f"the consents are {found} instead of {expected}"

    # -- choices

    @property
    def _is_asked(self) -> bool:
        """Whether a request was neither approved nor declined."""
        return any(each["state"] == "open" for each in self.model["requests"])

    @property
    def _bearers(self) -> list[dict[str, Any]]:
        """The consents that there are tokens of."""
        return [consent for consent in self.model["consents"].values() if consent["access"]]

    def _pick_bearer(self, which: int) -> dict[str, Any]:
        """A consent, more often than not one whose latest access token is good for something."""
        usable = [each for each in self._bearers if self.model.bearer(each, [*each["access"]][-1], True) == OK]
        return _pick(usable if usable and which % 8 else self._bearers, which // 8)

    def _pick_access(self, which: int, back: int) -> tuple[dict[str, Any], str]:
        consent = self._pick_bearer(which)
        return consent, [*consent["access"]][-min(back, len(consent["access"]))]

    def _listed(self) -> list[dict[str, Any]]:
        listed: list[dict[str, Any]] = self.tpp("GET", "/tpp/consents?limit=100").body["consents"]
        return listed


def _pick(choices: Sequence[T], which: int) -> T:
    """One of them, the last one first."""
    return choices[-1 - which % len(choices)]


def _sorted(events: dict[str, list[Any]]) -> dict[str, list[Any]]:
    return {name: sorted(each) for name, each in events.items()}


def _spelled(version: int, name: str) -> str:
    return name if version == 1 else camel_case(name)
