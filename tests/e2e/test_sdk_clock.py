"""The Python package on a stack with changing clock and keys. The tests share one clock, and each test advances the
clock.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack
from typing import Any

import pytest

from causeway import tpp as sdk
from causeway.errors import AuthorizationEnded
from chalicelib import bootstrap
from chalicelib.demo_bank.faults import FAULTS
from chalicelib.foundation.crypto import signatures
from infra.psu_browser import confirm_payment
from tests.e2e.parties import at_once
from tests.e2e.sdk_processes import (
    DurableBank,
    ForwardReceiver,
    ListenProcess,
    consent_at,
    durable_bank,
    environment,
    listening,
    receiving,
)
from tests.e2e.sdk_users import FAST, browser, consent_of, order, takes_time
from tests.e2e.separate_stack import SeparateStack, separate_stack
from tests.kit.lossy_proxy import LossyProxy, lossy_proxy
from tests.kit.time import PATIENCE_SECONDS, wait_for

pytestmark = [pytest.mark.e2e, pytest.mark.sdk]
THREADS, CONSENT_DAYS = 50, 8
REJECTS, REVOKES = "payment-rejected-later", "revokes-after-a-day"


@pytest.fixture(scope="module")
def own_stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SeparateStack]:
    with separate_stack(tmp_path_factory.mktemp("sdk-clock")) as started:
        yield started


@pytest.fixture(scope="module")
def stack(own_stack: SeparateStack) -> dict[str, Any]:
    return own_stack.content


@pytest.fixture(scope="module")
def poller(own_stack: SeparateStack) -> dict[str, Any]:
    owner = own_stack.content["user"]["email"]
    made = own_stack.admin("clients", "add", "--owner", owner, "--title", "Poller", "--events", "poll", "--secret")
    return {"client_id": made["client"]["client_id"], "client_secret": made["client_secret"]}


@pytest.fixture(scope="module")
def network(stack: dict[str, Any]) -> Iterator[LossyProxy]:
    with lossy_proxy(stack["base_url"]) as proxy:
        yield proxy


@pytest.fixture(scope="module")
def tpp(network: LossyProxy, poller: dict[str, Any]) -> Iterator[sdk.Tpp]:
    with sdk.Tpp(network.url, **poller, retries=FAST) as client:
        yield client


@pytest.fixture(scope="module")
def receiver() -> Iterator[ForwardReceiver]:
    with receiving() as server:
        yield server


@pytest.fixture(scope="module", autouse=True)
def listener(
    stack: dict[str, Any], poller: dict[str, Any], receiver: ForwardReceiver, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ListenProcess]:
    state = tmp_path_factory.mktemp("listen") / "state.json"
    environ = environment(stack["base_url"], poller["client_id"], poller["client_secret"], state)
    with listening(environ, "--forward-to", receiver.url) as process:
        yield process


@pytest.fixture(scope="module", autouse=True)
def lasting(tpp: sdk.Tpp, stack: dict[str, Any], listener: ListenProcess) -> list[sdk.Consent]:
    return [consent_of(tpp, stack, bank) for bank in stack["banks"]]


@pytest.fixture(scope="module")
def banks(
    lasting_operator: bootstrap.Hub, stack: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[list[DurableBank]]:
    """Start a bank of ``causeway.bank`` for each version, with consents that are valid for 8 days."""

    def made(version: int) -> AbstractContextManager[DurableBank]:
        folder = tmp_path_factory.mktemp("bank")
        return durable_bank(lasting_operator, stack["base_url"], version, folder, consent_days=CONSENT_DAYS)

    with ExitStack() as ending:
        yield [ending.enter_context(made(version)) for version in (1, 2)]


@pytest.fixture(autouse=True)
def good_network(network: LossyProxy) -> None:
    network.plan = lambda path, attempts: "pass"


def told(receiver: ForwardReceiver, listener: ListenProcess, consents: Sequence[sdk.Consent]) -> Counter[Any]:
    ids = {consent.consent_id for consent in consents}
    events = [(event["type"], event["data"].get("consent_id")) for event in receiver.verified(listener.secret)]
    return Counter(event for event in events if event[1] in ids)


@pytest.mark.parametrize("lost", [False, True], ids=["all goes well", "the answer is lost"])
def test_a_token_that_the_hub_rejects_is_refreshed_once_by_50_threads(
    own_stack: SeparateStack, network: LossyProxy, lasting: list[sdk.Consent], lost: bool
) -> None:
    own_stack.advance("PT61M")
    for consent in lasting:
        before = consent.tokens
        network.seen.clear()
        network.plan = lambda path, attempts: "lose" if lost and path == "/tpp/token" and not attempts else "pass"

        found = at_once(THREADS, lambda of=consent: len(list(of.accounts())))  # type: ignore[misc]

        assert len(found) == THREADS
        assert len(set(found)) == 1
        assert [fate for path, fate in network.seen if path == "/tpp/token"] == ["lose", "pass"][1 - lost :]
        assert consent.tokens.refresh_token != before.refresh_token
        assert network.count("/tpp/unified/accounts") > THREADS, "the hub refused the old token"


def test_every_fault_that_requires_a_clock_advance_has_a_test() -> None:
    assert {fault.name for fault in FAULTS if takes_time(fault)} == {REJECTS, REVOKES}


def test_waiting_for_a_payment_that_is_rejected_later_returns_the_rejection(
    own_stack: SeparateStack, tpp: sdk.Tpp
) -> None:
    stack = own_stack.content
    with ThreadPoolExecutor(2) as pool:
        waits = []
        for bank in stack["fault_banks"]:
            consent = consent_of(tpp, stack, bank, REJECTS)
            paid = consent.pay(order(stack, bank["api_version"]))
            confirm_payment(browser(stack, "/payments/callback"), paid.confirmation_url, REJECTS)
            assert not sdk.is_final(consent.payment_status(paid.payment_id))
            waits.append(pool.submit(consent.wait_for_payment, paid.payment_id, timeout=PATIENCE_SECONDS))
        own_stack.advance("PT20S")
        ended = [wait.result() for wait in waits]

    assert [sdk.is_final(status) for status in ended] == [True, True]
    assert [sdk.is_paid(status) for status in ended] == [False, False]


def test_a_consent_revocation_by_the_bank_after_a_day_ends_the_authorization(
    own_stack: SeparateStack, tpp: sdk.Tpp, receiver: ForwardReceiver, listener: ListenProcess
) -> None:
    stack = own_stack.content
    consents = [consent_of(tpp, stack, bank, REVOKES) for bank in stack["fault_banks"]]
    for consent in consents:
        assert list(consent.accounts())

    own_stack.advance("P1D")

    for consent in consents:
        has_ended(consent, stack)
    wait_for(lambda: told(receiver, listener, consents).total() >= 4, "not all events came")
    assert told(receiver, listener, consents) == Counter(
        {(kind, consent.consent_id): 1 for consent in consents for kind in ("consent.authorised", "consent.revoked")}
    )
    revoked = [event for event in receiver.verified(listener.secret) if event["type"] == "consent.revoked"]
    assert {event["data"]["revoked_by"] for event in revoked} == {"bank"}


def has_ended(consent: sdk.Consent, stack: dict[str, Any]) -> None:
    """Check that each of several calls reports that the PSU must authorize again."""
    calls = (
        lambda: list(consent.accounts()),
        lambda: consent.pay(order(stack, 2)),
        consent.refresh,
        lambda: list(consent.accounts(prefer_async=True)),
    )
    for call in calls:
        with pytest.raises(AuthorizationEnded) as caught:
            call()
        assert "authorize again" in caught.value.advice


# -- keys


def test_calls_between_hub_and_banks_succeed_during_rotations_of_the_hub_key_and_the_bank_keys(
    own_stack: SeparateStack, banks: list[DurableBank], tpp: sdk.Tpp
) -> None:
    consents = [consent_at(bank, tpp) for bank in banks]
    for bank, consent in zip(banks, consents, strict=True):
        use(consent, bank)

    rotated = own_stack.admin("keys", "rotate-signing", "--overlap", "1")
    own_stack.admin("keys", "rotate-data")  # so that the hub loads its keys anew to open a bank's new key
    for bank in banks:
        new = own_stack.admin("banks", "rotate-key", bank.bic, "--overlap", "1")["api_key"]
        bank.api_keys = [new, bank.api_key]
        bank.restart()
    own_stack.advance("PT61S")  # the overlap, and the minute for which the hub caches a bank

    (signs,) = (key["pem"] for key in rotated["keys"] if key["key_id"] == rotated["key_id"])
    for bank, consent in zip(banks, consents, strict=True):
        wait_for(lambda of=(bank, consent): is_sent_with(signs, *of), "the hub keeps its keys")  # type: ignore[misc]
        use(consent, bank)
        for way in (bank.calls, bank.webhooks):
            keys = {headers["X-Api-Key"] for headers, _ in way.forwarded if "X-Api-Key" in headers}
            assert keys == {bank.api_key, bank.api_keys[0]}
            assert set(way.statuses) == {200}


def use(consent: sdk.Consent, bank: DurableBank) -> None:
    assert list(consent.accounts())
    paid = consent.pay(order(own(bank), bank.version))
    bank.decide(paid.confirmation_url)
    wait_for(lambda: sdk.is_paid(consent.payment_status(paid.payment_id)), "no report")


def own(bank: DurableBank) -> dict[str, Any]:
    return {"base_url": bank.calls.hub}


def is_sent_with(pem: str, bank: DurableBank, consent: sdk.Consent) -> bool:
    """Return whether the hub signs webhooks with this key and sends the newer API key of the bank."""
    assert list(consent.accounts())
    headers, body = bank.webhooks.forwarded[-1]
    is_signed = signatures.verify([signatures.load_public_key(pem)], body, headers["X-Signature"])
    return is_signed and headers["X-Api-Key"] == bank.api_keys[0]


# -- the end of consents


def test_listen_forwards_expiring_and_expired_events_once(
    own_stack: SeparateStack, banks: list[DurableBank], tpp: sdk.Tpp, receiver: ForwardReceiver, listener: ListenProcess
) -> None:
    consents = [consent_at(bank, tpp) for bank in banks]

    def events(kind: str) -> Counter[Any]:
        return Counter({event: n for event, n in told(receiver, listener, consents).items() if event[0] == kind})

    def each(kind: str) -> Counter[Any]:
        return Counter((kind, consent.consent_id) for consent in consents)

    own_stack.advance("PT23H")
    assert events("consent.expiring") == Counter()
    own_stack.advance("PT1H")
    wait_for(lambda: events("consent.expiring"), "no event came")
    wait_for(lambda: events("consent.expiring") == each("consent.expiring"), "not all events came")
    for consent in consents:
        assert list(consent.accounts()), "a consent that expires soon is in force"
    assert events("consent.expired") == Counter()

    own_stack.advance("P7D")
    wait_for(lambda: events("consent.expired") == each("consent.expired"), "not all events came")
    for consent in consents:
        has_ended(consent, own_stack.content)

    assert listener.interrupt() == 0
    assert events("consent.expiring") == each("consent.expiring")
    assert events("consent.expired") == each("consent.expired")
    assert max(Counter(receiver.ids).values()) == 1
