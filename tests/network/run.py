"""A run of a bank and TPPs over an unreliable network, and the checks of calls, reports and events after the run.

The hub runs in this process with real connections. The run's clock measures time limits. The proxies advance the clock
for late or missing responses, so a slow machine causes no timeouts.
"""

import json
import logging
import os
import random
import uuid
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_args

from chalicelib.bootstrap import Hub
from chalicelib.delivery import sweeper
from chalicelib.delivery.delivery_record import DUE
from chalicelib.foundation import log, metrics, parallel
from chalicelib.foundation.settings import Settings
from chalicelib.openbanking.records.consents import consent_key
from infra.local.resources import create_resources
from tests.causeway import GROWING, Causeway
from tests.chaos.receivers import EVENTS, NO_ANSWER, CallLog, Receivers, verify_in
from tests.chaos.run import Accepted, Deliveries, Observations
from tests.chaos.traffic import Preparation, TppCall, TrafficBuilder, add_bank, consent_of
from tests.chaos.verdict import Verdict, ending_of
from tests.chaos.worker import draw_from, simulate_time_limits
from tests.kit import emulator
from tests.kit.http import serving
from tests.kit.lossy_proxy import Fate, LossyProxy, each_in_turn
from tests.kit.time import ManualClock
from tests.openbanking.kit import Bank

START = datetime(2096, 3, 5, 9, tzinfo=UTC)
TPPS, VERSIONS = 0, (1, 2)
"""The keys of the TPPs' server and of the banks' servers. A bank's key is the API version that the bank uses."""
_FATES: Sequence[Fate] = get_args(Fate)
_FAILURES: Sequence[Fate] = ("drop", "unavailable", "swallow", "lose", "cut", "reset", "gateway", "never")
_BAD, _AT_ONCE, _REPEATED = 0.5, 0.6, 0.4
_LATE_SECONDS = 12
_OUTAGE = 8
_OVER = 15 * 60
"""The time, in seconds, after which every accepted call has ended."""
_END_OF_TIME = 2**40
_REPORT = {1: ("payment_id", "payment_status", 4), 2: ("paymentId", "paymentStatus", "ACSC")}
"""The member names of a bank's status report and a final payment status, by API version."""


class Network:
    """A hub with two banks and the receiver of the TPPs' events, each behind a proxy; used for several runs."""

    def __init__(self, log_file: Path) -> None:
        self.clock = ManualClock(START)
        simulate_time_limits(self.clock)
        verify_in(self.clock.now)
        parallel.WIDTH = 1
        self._ending = ExitStack()
        _install_emulator(self._ending)
        self._servers = {party: Receivers(CallLog("")) for party in (TPPS, *VERSIONS)}
        self.proxies = {party: self._open_proxy(server) for party, server in self._servers.items()}
        hub = Hub(Settings.from_environment({"STAGE": "local"}), self.clock)
        hub.keyring.initialise()
        self.urls = {party: f"{proxy.url}/bank-{party}" for party, proxy in self.proxies.items()}
        self._causeway = Causeway(hub, {version: add_bank(hub, version, self.urls[version]) for version in VERSIONS})
        handler = log.logger().handlers[0]
        assert isinstance(handler, logging.StreamHandler)
        handler.setStream(self._ending.enter_context(log_file.open("a")))

    def begin(self, log: CallLog) -> Causeway:
        self._causeway.forget_journeys((*GROWING, "clients"))
        for party, proxy in self.proxies.items():
            self._servers[party].log = log
            proxy.plan = each_in_turn(["pass"])
            proxy.attempts.clear()
        hub = self._causeway.another_process()
        outbound, sides = hub.outbound, self._causeway.banks.items()
        causeway = Causeway(hub, {version: Bank(side.record, side.api_key, side.key) for version, side in sides})
        hub.__dict__["outbound"] = outbound
        return causeway

    def fates(self) -> Counter[Fate]:
        """Return the number of requests for each network fault, summed over all runs."""
        return Counter(fate for proxy in self.proxies.values() for _, fate in proxy.seen)

    def stop(self) -> None:
        for server in self._servers.values():
            server.stop()
        self._ending.close()

    def _open_proxy(self, server: Receivers) -> LossyProxy:
        proxy = LossyProxy(server.url, self.clock.advance, lambda connection: connection.sendall(NO_ANSWER))
        proxy.late_seconds = _LATE_SECONDS
        return self._ending.enter_context(serving(proxy))


class Run(Deliveries):
    """One run of the service over an unreliable network.

    Attributes:
        good, bad: the BIC of the bank with a reliable network, and of the bank with an unreliable network.
        opened: the BICs of banks whose circuit breakers opened.
        read: the ids of successful reads.
        reported: the ids of payments for which a bank has sent a status report.
        sent_by_tpp: the number of times that TPPs have sent each request.
    """

    def __init__(self, network: Network, seed: str) -> None:
        draw_from(seed)
        self._draw = random.Random(f"{seed}/run")
        self._network, self.clock = network, network.clock
        self.received, self.observed = CallLog(seed, failing=0), Observations()
        self._causeway = network.begin(self.received)
        self.hub = self._causeway.hub
        version = self._draw.choice(VERSIONS)
        self._bad_proxy = network.proxies[version]
        self.bad, self.good = (self._causeway.banks[each].bic for each in (version, 3 - version))
        self.opened, self.read, self.reported = set[str](), set[str](), set[str]()
        self.sent_by_tpp = Counter[str]()

    def run(self) -> None:
        metrics.set_output(self._note_metric)
        proxies, urls = self._network.proxies, self._network.urls
        preparation = Preparation(self.received.seed, urls, proxies[TPPS].url, 4, 8, 4, backlog=0)
        with self._causeway.installed():
            traffic = TrafficBuilder(preparation, self._causeway).build()
            self.received.events_secrets |= traffic.events_secrets
            proxies[TPPS].plan = self._bad_proxy.plan = self._draw_fate
            half = len(traffic.calls) // 2
            for call in traffic.calls[:half]:
                self._call(call)
            self._have_outage(call for call in traffic.calls if call.kind == "ask")
            for call in traffic.calls[half:]:
                self._call(call)
            self._settle(self.clock.time() + _OVER)
            self._look_up()
            self._report()
            self._settle(_END_OF_TIME)
            while resent := self.hub.delivery.journal.resend_failed(0):
                self.observed.resent += resent
                self._settle(_END_OF_TIME)

    def times_sent(self, request_id: str) -> int:
        """Return the number of times that the hub has sent a request, including lost requests."""
        return sum(proxy.attempts[request_id] for proxy in self._network.proxies.values())

    # -- inside

    def _draw_fate(self, path: str, attempts: int) -> Fate:
        return self._draw.choice(_FATES) if self._draw.random() < _BAD else "pass"

    def _note_metric(self, line: str) -> None:
        if "CircuitOpened" in line:
            self.opened.add(json.loads(line)["Bank"])

    def _make(self, call: TppCall) -> tuple[int, Any]:
        self.sent_by_tpp[call.headers.get("x-request-id", "")] += 1
        answer = self._causeway.tpp.call(
            call.method, call.path, call.body, bearer=call.bearer, client_id=call.client_id, headers=call.headers
        )
        return answer.status, answer.body

    def _call(self, call: TppCall) -> None:
        """Send a TPP's call, in some cases twice, and let workers attempt due deliveries."""
        self.clock.advance(self._draw.uniform(0.5, 5))
        call = _at_once(call) if self._draw.random() < _AT_ONCE else call
        self._note(call, *self._make(call))
        if call.kind == "pay" and self._draw.random() < _REPEATED:
            self._repeat(self.observed.accepted[-1])
        self._deliver()

    def _note(self, call: TppCall, status: int, body: Any) -> None:
        if call.kind == "revoke" and status == 200:
            self.observed.revoked.add(call.subject)
        elif call.kind == "pay" or (call.kind == "ask" and status == 202):
            self.observed.accepted.append(_accepted(call, status, body))
        elif call.kind == "ask" and status == 200:
            self.read.add(call.headers["x-request-id"])
        elif call.kind == "revoke" or status < 500:
            self.observed.contradictions.append(f"{call.kind} {call.subject} was answered {status}: {body}")

    def _repeat(self, first: Accepted) -> None:
        """Retry an order that has an idempotency key or an immediate response. The bank identifies a duplicate order by
        its id.
        """
        has_key, ending = "idempotency-key" in first.call.headers, _ending(first)
        if ending == "deferred" and not has_key:
            return
        again = _accepted(first.call, *self._make(first.call))
        if ending == "not sent":
            first.outcome = again.outcome
        elif has_key and (again.request_id, _ending(again)) != (first.request_id, ending):
            self.observed.contradictions.append(
                f"{first.call.subject} ended {first.outcome}, and repeated {again.outcome}"
            )

    def _have_outage(self, questions: Iterable[TppCall]) -> None:
        """Make every call to the bank ``bad`` fail, and check that the bank ``good`` still responds to reads."""
        self._bad_proxy.plan = lambda path, attempts: self._draw.choice(_FAILURES)
        of_banks = {self._bic_of(call): call for call in questions}
        for bic in (self.bad, self.good) * _OUTAGE:
            question = of_banks[bic]
            call = _at_once(replace(question, headers={**question.headers, "x-request-id": str(uuid.uuid4())}))
            status, body = self._make(call)
            self._note(call, status, body)
            if bic == self.good and status != 200:
                self.observed.contradictions.append(f"a read of the good bank was answered {status}: {body}")
        self._bad_proxy.plan = self._draw_fate

    def _bic_of(self, call: TppCall) -> str:
        item = self.hub.store.get(*consent_key(consent_of(call.bearer or "")))
        return str(item["bic"]) if item else ""

    def _deliver(self) -> None:
        while queued := self._causeway.queued():
            for message in queued:
                self.hub.delivery.worker.attempt(message)
                log.clear()

    def _settle(self, until: int) -> None:
        """Run workers and the sweeper until no delivery is due before the time ``until``."""
        self._deliver()
        while rows := DUE.rows(self.hub.store, until=until, limit=1):
            self.clock.advance(max(rows[0][DUE.time] - self.clock.time(), 0) + self._draw.randint(0, 60))
            self.hub.delivery.call(sweeper.sweep, 0)
            self._deliver()

    def _look_up(self) -> None:
        for each in self.observed.accepted:
            each.outcome = each.outcome if each.outcome[0] else self._make(each.fetching)

    def _report(self) -> None:
        """Send two status reports, as the bank, for each payment whose id a TPP has received."""
        done = [each.outcome[1]["body"] for each in self.observed.accepted if each.outcome[1]["state"] == "done"]
        for answer in (answer for answer in done if "payment_id" in answer):
            version, headers = 2 if "status" in answer else 1, {"x-request-id": str(uuid.uuid4())}
            member, member_of_status, status = _REPORT[version]
            report = {member: answer["payment_id"], member_of_status: status}
            self.reported.add(answer["payment_id"])
            for _ in range(2):
                answered = self._causeway.banks[version].call("/payments/status", report, headers=headers)
                assert answered.status == 200, answered


def _at_once(call: TppCall) -> TppCall:
    """Return the call without the ``Prefer`` header, so that the service responds synchronously."""
    return replace(call, headers={name: value for name, value in call.headers.items() if name != "prefer"})


def _accepted(call: TppCall, status: int, body: Any) -> Accepted:
    if status == 202:
        return Accepted(call, body["request_id"])
    outcome = {"state": "done" if status == 200 else "failed", "body": body}
    return Accepted(call, call.headers["x-request-id"], (200, outcome))


def _ending(each: Accepted) -> str:
    return ending_of(each.outcome[1]) if each.outcome[0] else "deferred"


def _install_emulator(ending: ExitStack) -> None:
    from moto import mock_aws

    os.environ |= emulator.ENVIRONMENT
    emulator.answer_calls()
    emulator.install()
    ending.enter_context(mock_aws())
    create_resources(emulated=True, dynamodb_apart=False)


class NetworkVerdict(Verdict):
    """The checks of the kill test, with additional checks of payments, reads, reports and circuits."""

    def __init__(self, run: Run, log: Path) -> None:
        self._network_run = run
        super().__init__(run, log)

    def _promises(self) -> Iterator[str]:
        yield from super()._promises()
        yield from self._read_truly()
        yield from self._reported_once()
        yield from self._circuits()

    def _paid_once(self) -> Iterator[str]:
        """Check that an order has one X-Request-Id and that the hub does not send the order more often than the TPP."""
        ids: dict[str, set[str]] = defaultdict(set)
        for call in self.orders:
            ids[call.subject].add(call.id)
        yield from (f"{reference} was paid as {known}" for reference, known in ids.items() if len(known) > 1)
        for request_id in {call.id for call in self.orders}:
            times, wanted = self._network_run.times_sent(request_id), self._network_run.sent_by_tpp[request_id]
            if times > wanted:
                yield f"the order {request_id} was sent {times} times, and asked for {wanted} times"

    def _read_truly(self) -> Iterator[str]:
        answered = {call.id for call in self._run.received.calls if call.done}
        yield from (f"the read {each} never reached its bank" for each in self._network_run.read - answered)

    def _reported_once(self) -> Iterator[str]:
        """Check that each reported payment status causes exactly one event."""
        events = {call.id: json.loads(call.body) for call in self._run.received.calls if call.path.startswith(EVENTS)}
        of_payments = [event["data"] for event in events.values() if event["type"] == "payment.status_changed"]
        counts = Counter(data["payment_id"] for data in of_payments)
        yield from (f"{each} has {counts[each]} events" for each in self._network_run.reported if counts[each] != 1)

    def _circuits(self) -> Iterator[str]:
        opened, bad = self._network_run.opened, self._network_run.bad
        if opened != {bad}:
            yield f"circuits opened for {sorted(opened)}, and only {bad} was bad"
