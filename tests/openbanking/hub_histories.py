"""Random sequences of actions of a client, a bank and an operator. Each step is compared with a model."""

import sys
import uuid
from collections import Counter
from typing import Any
from urllib.parse import parse_qs, urlsplit

from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, precondition, rule

from chalicelib.delivery.sweeper import sweep
from chalicelib.openbanking.flows.consent.expiry import record_due_events
from chalicelib.openbanking.flows.consent.tokens import end_consent
from chalicelib.openbanking.records.consents import Consent, consent_key
from tests.causeway import Answer
from tests.openbanking.fault_scenarios import attempt_all_due
from tests.openbanking.hub_parties import HubParties, pick, spelled
from tests.openbanking.hub_state_model import DAY, HOUR, MINUTE, OK, STATUSES, Result
from tests.openbanking.kit import WorkerKilled
from tests.openbanking.payments import PATHS, order

_MOST_CONSENTS = 4
which = st.integers(0, 31)
lost = st.sampled_from([None, None, None, ("before", 1), ("after", 1), ("after", 2)])
"""The simulated fault of a call: the number of the affected transaction, and whether the fault occurs before or after
the transaction is applied. ``None`` means no fault.
"""


class HubHistory(HubParties):
    """A random sequence of actions on a client's consents and payments at a bank of one version."""

    @initialize(one_time=st.booleans())
    def begin(self, one_time: bool) -> None:
        self.consent_to(False)
        self.consent_to(one_time)

    def teardown(self) -> None:
        """Deliver all events at the end of a history without errors."""
        if sys.exception() is not None:
            return
        if not self.model["active"]:
            self.return_client()
        self._deliver_all()

    # -- calls

    def tpp(self, method: str, path: str, body: Any = None, **options: Any) -> Answer:
        """Make a call of the TPP. Every TPP call uses this method, so that subclasses can compare another API."""
        return self.causeway.tpp.call(method, path, body, **options)

    def _expect(self, answer: Answer, result: Result) -> bool:
        """Compare a response and the bank's requests with the model. Return whether the response is a success."""
        self.no_read_reaches_a_bank_without_a_living_consent()
        self.there_is_one_order_for_each_key()
        body = answer.body
        found = answer.status, None if answer.status == 200 else body.get("error_code") or body.get("code")
        assert found == result, f"told {found} instead of {result}: {answer.text}"
        return result == OK

    # -- authorization

    @precondition(lambda self: self.model["active"] and len(self.model["consents"]) < _MOST_CONSENTS)
    @rule(one_time=st.booleans())
    def consent_to(self, one_time: bool) -> None:
        self.authorize(one_time, None)
        self.approve(0, None)
        self.redeem(0, False, None)

    @precondition(lambda self: not self._is_asked)
    @rule(one_time=st.booleans(), lost=lost)
    def authorize(self, one_time: bool, lost: Any) -> None:
        self.requests += 1
        state, scopes = f"state-{self.requests}", self.scopes(one_time)
        body = {"bic": self.causeway.banks[self.version].bic, "scopes": scopes, "state": state}
        body |= {"consent_type": "one_time" if one_time else "reusable"}
        with self._losing(lost):
            answer = self.tpp("POST", "/tpp/authorize", body)
        if self._expect(answer, self.model.authorize()):
            self.model.opened(one_time, name=state, url=answer.body["redirect_url"])

    @precondition(lambda self: self._is_asked)
    @rule(which=st.sampled_from([0, 0, 0, 1]), lost=lost)
    def approve(self, which: int, lost: Any) -> None:
        request = pick(self.model["requests"], which)
        scopes = self.scopes(request["one_time"])
        body = self.causeway.banks[self.version].consent_body(request["url"], scopes=scopes)
        with self._losing(lost):
            answer = self.causeway.banks[self.version].call("/consent", body)
        if self._expect(answer, self.model.approve(request)):
            callback, token = (answer.body[spelled(self.version, name)] for name in ("callback_url", "access_token"))
            (consent_id,) = {each["consent_id"] for each in self._listed()} - {*self.model["consents"]}
            self.model.approved(request, consent_id, parse_qs(urlsplit(callback).query)["code"][0], token)

    @precondition(lambda self: self._is_asked)
    @rule(which=st.sampled_from([0, 0, 0, 1]))
    def decline(self, which: int) -> None:
        request = pick(self.model["requests"], which)
        answer = self.bank("/init_authorization", {"request_url": request["url"]})
        if self._expect(answer, self.model.open_at_bank(request)):
            request["cancel"] = urlsplit(answer.body[spelled(self.version, "cancel_url")]).path
        if request["cancel"]:
            assert self.causeway.call("GET", request["cancel"]).status == self.model.cancel(request)

    # -- tokens

    @rule(which=which, again=st.sampled_from([False, False, True]), lost=lost)
    def redeem(self, which: int, again: bool, lost: Any) -> None:
        codes = [each for each in self.model["consents"].values() if each["is_redeemed"] == again]
        if not codes:
            return
        consent = pick(codes, which)
        with self._losing(lost):
            answer = self.tpp("POST", "/tpp/token", {"code": consent["code"]})
        if self._expect(answer, self.model.redeem(consent)):
            self.model.issued(consent, answer.body["access_token"], answer.body["refresh_token"])

    @rule(which=which, back=st.sampled_from([1, 1, 1, 2, 2, 3]), lost=lost)
    def refresh(self, which: int, back: int, lost: Any) -> None:
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
        """Deactivate or archive the client. If ``returns`` is true, make refused calls and then restore the client."""
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
        consent, access = self._pick_access(which, 1)
        for _ in range(times):
            self._pay(consent, access, key, amount, bank, lost)

    def _pay(self, consent: dict[str, Any], access: str, key: str, amount: str, bank: str, lost: Any) -> None:
        if self.model.claim(key) is None:
            self.orders[key] = 0
        self.key, self.bank_reaction = key, bank
        with self._losing(lost):
            answer = self._order(access, key, amount)
        self.there_is_one_order_for_each_key()
        result = self.model.repeat(consent, access, key, amount)
        if result is None:
            result = self.model.pay(consent, access, key, amount, bank)
        assert (answer is None) is (result is None), "a process dies while it calls a bank"
        if answer is None or result is None:
            return
        self._expect(answer, result)
        kept = self.model.claim(key)
        if kept and kept["body"] == amount and result == kept["result"]:
            kept["text"] = kept["text"] or answer.text
            assert answer.text == kept["text"], "a repeat gets the same answer"

    def _order(self, access: str, key: str, amount: str) -> Answer | None:
        """Send an order. Return the response, or ``None`` if the process is killed."""
        of_version_2 = {"instructed_amount": {"amount": amount, "currency": "EUR"}}
        members: dict[str, Any] = {"amount": amount} if self.version == 1 else of_version_2
        body = order(self.causeway, self.version, "single", **members)
        headers = {"idempotency-key": key} if key else {}
        try:
            return self.tpp("POST", PATHS["single"], body, bearer=access, headers=headers)
        except WorkerKilled:
            return None
        finally:
            self.causeway.hub.openbanking.bank_client.breaker.record_success(self.causeway.banks[self.version].bic)

    @precondition(lambda self: self.model["sent"])
    @rule(payment=which, status=which, times=st.sampled_from([1, 1, 2]), lost=lost)
    def report(self, payment: int, status: int, times: int, lost: Any) -> None:
        """Report a payment status: before the payment is recorded, twice, or after a final status."""
        payment_id = f"P-{payment % (self.model['sent'] + 1) + 1}"
        reported: Any = pick(STATUSES[self.version], status)
        headers = {"x-request-id": str(uuid.uuid4())}
        result = self.model.report(payment_id, reported)
        for _ in range(times):
            body = {"payment_id": payment_id, "payment_status": reported}
            with self._losing(lost):
                answer = self.bank("/payments/status", body, **headers)
            self._expect(answer, result)

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
        self._deliver_all()
        self._advance(days * DAY)
        self.consent_to(False)

    @precondition(lambda self: self.model.has_notices)
    @rule()
    def announce(self) -> None:
        self.causeway.hub.openbanking.call(record_due_events)
        self.model.announce()

    @precondition(lambda self: self.model["active"])
    @rule(refusals=st.sampled_from([0, 0, 0, 1]), forgets=st.sampled_from([False, False, False, True]))
    def deliver(self, refusals: int, forgets: bool) -> None:
        """Attempt all due deliveries, including deliveries without a queue message. The client may refuse the first
        events.
        """
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

    def _deliver_all(self) -> None:
        self.deliver(0, False)
        attempt_all_due(self.causeway)
        self.model["now"] = self.causeway.clock.time()
        self.each_event_is_received_once_and_in_order()
        assert _sorted(self.received_events) == _sorted(self.model["events"]), "each event is received"
        self.is_orderly = self.received_events == self.model["events"]
        assert self.notices == Counter(self.model["notices"]), "the bank is told once of each end"

    def _advance(self, seconds: int) -> None:
        self.causeway.clock.advance(seconds)
        self.model["now"] += seconds

    # -- what always holds

    @invariant()
    def no_read_reaches_a_bank_without_a_living_consent(self) -> None:
        assert self.stray_reads == [], "a read reached the bank without a living consent"

    @invariant()
    def there_is_one_order_for_each_key(self) -> None:
        assert all(count <= 1 for key, count in self.orders.items() if key), "the bank has two orders for one key"

    @invariant()
    def each_event_is_received_once_and_in_order(self) -> None:
        assert all(count == 1 for count in self.deliveries.values()), "an event was received twice"
        for name, events in self.received_events.items():
            expected = self.model["events"][name]
            assert not Counter(events) - Counter(expected), f"received more than was caused: {events}, {expected}"
            assert not self.is_orderly or events == expected[: len(events)], f"out of order: {events}, {expected}"

    @invariant()
    def tokens_of_a_consent_that_has_ended_are_dead(self) -> None:
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

    def _listed(self) -> list[dict[str, Any]]:
        listed: list[dict[str, Any]] = self.tpp("GET", "/tpp/consents?limit=100").body["consents"]
        return listed


def _sorted(events: dict[str, list[Any]]) -> dict[str, list[Any]]:
    return {name: sorted(each) for name, each in events.items()}
