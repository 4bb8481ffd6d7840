"""Two processes whose clocks differ by five seconds share tokens, claims, leases and counters.

Each test runs twice: once with the clock of the second process ahead, and once with this clock behind.
"""

import copy
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import pytest

from chalicelib import bootstrap
from chalicelib.cards.payments.pending_index import ASKING_SECONDS
from chalicelib.delivery.delivery_record import CLAIMED_SECONDS
from chalicelib.delivery.event_log import LATE_SECONDS
from chalicelib.delivery.receiver_slots import SLOTS as RECEIVER_SLOTS
from chalicelib.demo_bank.journeys import CLAIM_SECONDS
from chalicelib.foundation.aws.queues import Queue
from chalicelib.foundation.clock import CLOCK_SKEW_SECONDS
from chalicelib.foundation.crypto.keyring import CACHED_SECONDS
from chalicelib.foundation.crypto.resealing import SETTLE_SECONDS
from chalicelib.foundation.dynamodb.store import Delete
from chalicelib.foundation.http.outbound import TOTAL_SECONDS
from chalicelib.foundation.identifiers import new_id
from chalicelib.openbanking.bank_client.bank_circuits import STORAGE_SECONDS
from chalicelib.openbanking.protocol.oauth_security import PAST_SECONDS, PROOF_SECONDS
from chalicelib.openbanking.records import orders
from chalicelib.statistics.downtimes import PROBE_SECONDS, claim_probe
from chalicelib.statistics.slow_calls import HELD_SECONDS, SLOTS, SLOW_SECONDS
from chalicelib.website.records.journeys import EXCHANGE_SECONDS
from infra.deploy.functions import API, BY_NAME
from tests.causeway import Causeway
from tests.delivery.conftest import Receiver, record_delivery, worker_for
from tests.kit.time import FollowingClock
from tests.openbanking.accounts import LIMIT, Aisp, limit_reads
from tests.openbanking.key_holder import KeyHolder, secure
from tests.openbanking.payments import Pisp

pytestmark = pytest.mark.dynamodb

DAY = 24 * 3600
BIC = "ALPHGB21"
PROBE_WORK = TOTAL_SECONDS + STORAGE_SECONDS
SLOW_WORK = PROBE_WORK - SLOW_SECONDS


@pytest.fixture(params=[CLOCK_SKEW_SECONDS, -CLOCK_SKEW_SECONDS], ids=["ahead", "behind"])
def other(request: pytest.FixtureRequest, causeway: Causeway) -> Causeway:
    """Create a second process with a clock that is ahead of or behind the clock of the first process."""
    process = Causeway(causeway.another_process(clock=FollowingClock(causeway.clock, request.param)), causeway.banks)
    process.tpp.client, process.tpp.client_secret = causeway.tpp.client, causeway.tpp.client_secret
    return process


@contextmanager
def installed_process(process: Causeway) -> Iterator[Causeway]:
    before = bootstrap.hub()
    bootstrap.use(process.hub)
    try:
        yield process
    finally:
        bootstrap.use(before)


def advance_to(causeway: Causeway, process: Causeway, seconds: int) -> None:
    causeway.clock.advance(seconds - process.clock.time())


# -- leases

LENGTHS: dict[str, tuple[float, float]] = {
    "an attempt at a delivery, and its slot": (CLAIMED_SECONDS, BY_NAME["deliver"].timeout),
    "a slow call": (HELD_SECONDS, SLOW_WORK),
    "a probe": (PROBE_SECONDS, PROBE_WORK),
    "an order": (orders.RUNNING_SECONDS, BY_NAME["deliver"].timeout),
    "an exchange or a refresh in the web interface": (EXCHANGE_SECONDS, API.timeout),
    "a consent that a demonstration bank sends": (CLAIM_SECONDS, API.timeout),
    "a call of the provider": (ASKING_SECONDS, BY_NAME["finish"].timeout),
    "the use of a data key after its rotation": (SETTLE_SECONDS, CACHED_SECONDS + BY_NAME["ingest"].timeout),
    "the recording of an event": (LATE_SECONDS, BY_NAME["finish"].timeout),
}
"""For each kind of lease: the seconds after which another process can act, and the maximum duration of the work."""


@pytest.mark.parametrize(("length", "work"), LENGTHS.values(), ids=LENGTHS)
def test_a_lease_exceeds_the_longest_work_by_the_clock_skew(length: float, work: float) -> None:
    assert length - CLOCK_SKEW_SECONDS >= work


Take = Callable[[Causeway], Sequence[object]]
"""A function that lets a process claim as many objects as possible. The function returns the claimed objects."""


def begin_deliveries(causeway: Causeway) -> Take:
    """Record twice as many deliveries as a receiver has slots. Return a function with which a process begins the
    deliveries.
    """
    name = f"bank#{new_id()}"
    recorded = [record_delivery(causeway, receiver=name) for _ in range(2 * RECEIVER_SLOTS)]
    causeway.clock.advance(CLOCK_SKEW_SECONDS)  # they are due by both clocks
    return lambda process: [worker_for(process, Receiver()).begin(number) for number in recorded]


def make_slow_calls(_: Causeway) -> Take:
    return lambda process: [process.hub.statistics.slow_calls.take(BIC) for _ in range(SLOTS)]


def send_a_probe(_: Causeway) -> Take:
    return lambda process: [claim_probe(process.hub.store, process.hub.clock, BIC)[1] or None]


@pytest.mark.parametrize(
    ("lease", "number", "work", "length"),
    [
        (begin_deliveries, RECEIVER_SLOTS, BY_NAME["deliver"].timeout, CLAIMED_SECONDS),
        (make_slow_calls, SLOTS, SLOW_WORK, HELD_SECONDS),
        (send_a_probe, 1, PROBE_WORK, PROBE_SECONDS),
    ],
)
def test_a_lease_of_one_process_is_not_taken_by_another_process(
    causeway: Causeway, other: Causeway, lease: Callable[[Causeway], Take], number: int, work: float, length: int
) -> None:
    take = lease(causeway)
    held = []
    for process, seconds in ((causeway, 0), (other, 0), (other, work), (other, length + CLOCK_SKEW_SECONDS - work)):
        causeway.clock.advance(seconds)
        held.append(sum(each is not None for each in take(process)))

    assert held == [number, 0, 0, number]


# -- proofs and assertions


@pytest.fixture
def holder(causeway: Causeway, other: Causeway) -> KeyHolder:
    holder = KeyHolder()
    secure(causeway, holder, security_profile="fapi2")
    other.tpp.client, other.tpp.client_secret = causeway.tpp.client, None
    return holder


Use = Callable[[Causeway], bool]
"""A function that sends the same credential to a process, and returns whether the process accepts the credential."""


def use_an_assertion(causeway: Causeway, holder: KeyHolder, *, iat: int) -> tuple[Use, int]:
    expiry, jti = iat + 60, new_id()

    def use(process: Causeway) -> bool:
        form = holder.form(causeway, {"token": "a-token"}, jti=jti, exp=expiry, iat=iat)
        with installed_process(process):
            return process.tpp.call("POST", "/oauth/introspect", form=form, client_id="").status == 200

    return use, expiry + PAST_SECONDS - 1


def use_a_proof(causeway: Causeway, holder: KeyHolder, *, iat: int) -> tuple[Use, int]:
    token, jti = holder.tokens(causeway)["access_token"], new_id()
    path = "/tpp/consent"

    def use(process: Causeway) -> bool:
        with installed_process(process):
            proof = holder.proof(causeway, "GET", path, token, jti=jti, iat=iat)
            return holder.read(process, token, path, proof=proof).status == 200

    return use, iat + PROOF_SECONDS - 1


@pytest.mark.parametrize("sign", [use_an_assertion, use_a_proof])
@pytest.mark.parametrize("early", [True, False], ids=["used at once", "used in the last second"])
def test_an_assertion_or_proof_with_the_time_of_a_fast_clock_is_accepted_exactly_once(
    causeway: Causeway, other: Causeway, holder: KeyHolder, sign: Callable[..., tuple[Use, int]], early: bool
) -> None:
    """The process with the slow clock receives the replayed request in the last second in which this process would
    accept a new assertion.
    """
    behind, ahead = sorted((causeway, other), key=lambda process: process.clock.time())
    (use, last), (soon, _), (fresh, _) = (sign(causeway, holder, iat=ahead.clock.time()) for _ in range(3))
    assert (soon(behind), soon(ahead)) == (True, False)

    advance_to(causeway, ahead, ahead.clock.time() if early else last)
    assert (use(ahead), use(behind)) == (True, False)

    advance_to(causeway, behind, last)
    delete_expired(causeway, ahead.clock.time())
    assert (use(behind), fresh(behind)) == (False, True)


def delete_expired(causeway: Causeway, now: int) -> None:
    """Delete expired claims at the earliest time at which DynamoDB would delete them."""
    over = [item["claim"] for item in causeway.hub.store.scan("idempotency") if item["expires_at"] <= now]
    for claim in over:
        causeway.hub.store.transact([Delete("idempotency", {"claim": claim})])


@pytest.mark.parametrize("second", [0, 2, 30, 57])
def test_a_dpop_nonce_of_one_process_is_accepted_by_another_process(
    causeway: Causeway, other: Causeway, second: int
) -> None:
    causeway.clock.advance(60 + second)
    for issuer, receiver in ((causeway, other), (other, causeway)):
        assert receiver.hub.openbanking.dpop_nonces.is_valid(issuer.hub.openbanking.dpop_nonces.make())


def test_dpop_nonces_are_valid_in_every_process_after_a_data_key_rotation(causeway: Causeway, other: Causeway) -> None:
    third = causeway.another_process()
    third.keyring.data_keys()
    causeway.hub.keyring.rotate_data_key()

    causeway.clock.advance(CACHED_SECONDS - 1)
    assert third.openbanking.dpop_nonces.is_valid(other.hub.openbanking.dpop_nonces.make())


# -- what is valid until a time


def test_a_token_expires_by_the_clock_of_the_process_that_checks_the_token(causeway: Causeway, other: Causeway) -> None:
    tokens = causeway.tpp.tokens(2)
    until = causeway.clock.time() + tokens["expires_in"]
    with installed_process(other):
        for now, status in ((until - 1, 200), (until, 401)):
            advance_to(causeway, other, now)
            assert other.tpp.call("GET", "/tpp/consent", bearer=tokens["access_token"]).status == status


# -- days


@pytest.mark.parametrize("second", [-3, 3])
def test_unattended_reads_do_not_exceed_the_daily_limit_with_different_clocks(
    causeway: Causeway, other: Causeway, second: int
) -> None:
    for process in (causeway, other):
        limit_reads(process)
    aisp = Aisp(causeway, 2)
    causeway.clock.advance(DAY - causeway.clock.time() % DAY + second)
    aisp.refresh()
    elsewhere = copy.copy(aisp)
    elsewhere.causeway = other

    answers: list[int] = []
    for _ in range(2 * LIMIT + 1):
        answers.append(aisp.read().status)
        with installed_process(other):
            answers.append(elsewhere.read().status)

    days = {causeway.clock.time() // DAY, other.clock.time() // DAY}
    assert answers.count(200) == LIMIT * len(days)
    assert {len(item["reads"]) for item in aisp.items()} == {LIMIT}


def test_a_delivery_message_received_too_early_is_queued_again_with_the_clock_skew_as_delay(
    causeway: Causeway, other: Causeway, monkeypatch: pytest.MonkeyPatch
) -> None:
    behind, ahead = sorted((causeway, other), key=lambda process: process.clock.time())
    number, receiver, sent = record_delivery(ahead), Receiver(), list[tuple[str, int]]()
    monkeypatch.setattr(Queue, "send", lambda _, body, delay=0: sent.append((body, delay)))

    worker_for(behind, receiver).attempt(number)
    assert (receiver.got, sent) == ([], [(number, CLOCK_SKEW_SECONDS)])
    causeway.clock.advance(CLOCK_SKEW_SECONDS)
    worker_for(behind, receiver).attempt(number)
    assert len(receiver.got) == 1


# -- order


def test_statuses_and_events_of_a_payment_are_in_order_with_different_clocks(
    causeway: Causeway, other: Causeway
) -> None:
    pisp = Pisp(causeway, 2)
    causeway.tpp.set_events_url()
    pisp.pay()
    elsewhere = copy.copy(pisp)
    elsewhere.causeway = other
    for status, process in (("ACTC", pisp), ("ACSC", elsewhere)):
        with installed_process(process.causeway):
            assert process.report(status).status == 200

    [stored] = causeway.hub.store.scan("payments")
    times = [entry["at"] for entry in stored["history"]]
    assert times == sorted(times)
    causeway.clock.advance(CLOCK_SKEW_SECONDS)
    for each in causeway.recorded("event"):
        causeway.hub.delivery.worker.attempt(each.delivery_id)
    sent = {event["data"]["transaction_status"]: event["timestamp"] for event in causeway.receiver.events}
    assert sent["ACTC"] <= sent["ACSC"]
