"""A bank of ``causeway.bank`` at the real hub: network faults in both directions, and a process that is killed at any
step.
"""

import asyncio
import uuid
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import requests

from causeway import tpp as sdk
from causeway.bank import HubClient
from causeway.errors import ApiError, AuthorizationEnded, HubError, OutcomeUnknown
from chalicelib import bootstrap
from tests.e2e import parties
from tests.e2e.durable_bank import BOOKED, IBANS
from tests.e2e.sdk_processes import SCOPES, DurableBank, consent_at, durable_bank, state_in
from tests.e2e.sdk_users import FAST, bulk_of, events_of, order
from tests.kit.lossy_proxy import LOSSES, LOST, UNSENT, Fate, each_in_turn
from tests.kit.time import wait_for

pytestmark = [pytest.mark.e2e, pytest.mark.sdk]
FATES: tuple[Fate, ...] = (*LOSSES, "late", "pass")
AT_ONCE: tuple[Fate, ...] = (*LOSSES, "pass")
KNOWN: tuple[Fate, ...] = ("twice", "late", "pass")
"""Network faults after which the hub receives the bank's response to an order."""
PSU = sdk.Psu(ip_address="203.0.113.7")
Bank = DurableBank


@pytest.fixture(params=[1, 2], ids=["version 1", "version 2"], scope="module")
def version(request: pytest.FixtureRequest) -> int:
    number: int = request.param
    return number


@pytest.fixture(scope="module")
def shared_bank(
    lasting_operator: bootstrap.Hub, stack: dict[str, Any], version: int, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Bank]:
    with durable_bank(lasting_operator, stack["base_url"], version, tmp_path_factory.mktemp("bank")) as running:
        yield running


@pytest.fixture(scope="module", autouse=True)
def revoked(stack: dict[str, Any], shared_bank: Bank) -> str:
    """Revoke a consent as the TPP. The bank's response is lost, and the hub sends the notice again after 5 seconds."""
    shared_bank.webhooks.plan = lambda path, attempts: "lose"
    asking = parties.Tpp(stack["base_url"], stack["client"]["client_id"], stack["client"]["callback_url"])
    asked = asking.call("POST", "/tpp/authorize", {"bic": shared_bank.bic, "scopes": SCOPES[shared_bank.version]})
    code = parse_qs(urlsplit(shared_bank.decide(asked.json()["redirect_url"])).query)["code"][0]
    tokens = asking.redeem(code).json()
    assert asking.call("POST", "/tpp/token/revoke", {"token": tokens["access_token"]}).status_code == 200
    wait_for(lambda: shared_bank.webhooks.count("/revoke_token"), "the bank was not told")
    return str(tokens["consent_id"])


@pytest.fixture
def bank(shared_bank: Bank) -> Iterator[Bank]:
    shared_bank.webhooks.plan = shared_bank.calls.plan = lambda path, attempts: "pass"
    yield shared_bank
    shared_bank.webhooks.plan = shared_bank.calls.plan = lambda path, attempts: "pass"


@pytest.fixture
def own_bank(operator: bootstrap.Hub, stack: dict[str, Any], version: int, tmp_path: Path) -> Iterator[Bank]:
    with durable_bank(operator, stack["base_url"], version, tmp_path) as running:
        yield running


@pytest.fixture
def tpp(stack: dict[str, Any], operator: bootstrap.Hub) -> Iterator[sdk.Tpp]:
    made = operator.openbanking.clients.create(owner="sdk@example.com", title="SDK", secret=True, events="poll")
    secret = str(made.secret)
    with sdk.Tpp(stack["base_url"], client_id=made.client.client_id, client_secret=secret, retries=FAST) as client:
        yield client


def new_books(bank: Bank, what: str, known: Counter[str]) -> Counter[str]:
    return Counter(bank.books(what)) - known


def read(consent: sdk.Consent) -> None:
    (account,) = consent.accounts(psu=PSU)
    assert consent.balances(account, psu=PSU)


def is_booked(consent: sdk.Consent, payment_id: str) -> bool:
    return sdk.is_paid(consent.payment_status(payment_id))


def test_bank_actions_are_neither_lost_nor_duplicated_after_network_faults(bank: Bank, tpp: sdk.Tpp) -> None:
    accepted, booked = Counter(bank.books("accepted")), Counter(bank.books("booked"))
    bank.calls.plan = each_in_turn(FATES, attempts=2)
    consent = consent_at(bank, tpp)
    bank.webhooks.plan = each_in_turn(FATES)
    for _ in FATES:
        read(consent)

    known, unknown = {}, []
    for fate in FATES:
        request_id = str(uuid.uuid4())
        bank.webhooks.plan = lambda path, attempts, fate=fate: "pass" if attempts else fate  # type: ignore[misc]
        try:
            known[request_id] = consent.pay(order_of(bank), request_id=request_id)
            assert fate in KNOWN
        except OutcomeUnknown as error:
            assert fate not in KNOWN
            unknown.append((request_id, error.idempotency_key))
        bank.webhooks.plan = lambda path, attempts: "pass"
        read(consent)  # otherwise the hub pauses a bank that fails so often

    for request_id, key in unknown:
        with pytest.raises(OutcomeUnknown):
            consent.pay(order_of(bank), idempotency_key=key, request_id=request_id)
    taken = new_books(bank, "accepted", accepted)
    assert set(taken.values()) == {1}
    assert set(known) <= taken.keys()
    assert len(taken) == len(FATES) - len(UNSENT)
    assert taken.keys() <= {*known, *(request_id for request_id, _ in unknown)}

    bank.calls.plan = each_in_turn(FATES, attempts=2)
    paid = [answer.payment_id for answer in known.values()]
    for answer in known.values():
        bank.decide(answer.confirmation_url)
    for payment_id in paid:
        wait_for(lambda of=payment_id: is_booked(consent, of), f"no report of {payment_id}")  # type: ignore[misc]
    assert new_books(bank, "booked", booked) == Counter(paid)
    told = Counter(data.payment_id for data in events_of(tpp, "payment.status_changed"))
    assert told == Counter(paid)
    assert {fate for _, fate in bank.webhooks.seen} == set(FATES)


def test_each_call_of_a_bank_to_the_hub_is_executed_once_despite_each_network_fault(bank: Bank, tpp: sdk.Tpp) -> None:
    consent = consent_at(bank, tpp)
    payments = [consent.pay(order_of(bank)).payment_id for _ in AT_ONCE]
    asked = [tpp.authorize(bic=bank.bic, scopes=SCOPES[bank.version]).redirect_url for _ in AT_ONCE]
    saved = asyncio.run(make_all_calls(bank, asked, payments))

    ids = {token.partition(".")[0] for token in saved}
    given = Counter(data.consent_id for data in events_of(tpp, "consent.authorised"))
    ended = Counter(data.consent_id for data in events_of(tpp, "consent.revoked"))
    reported = Counter(data.payment_id for data in events_of(tpp, "payment.status_changed"))
    assert given == Counter({*ids, consent.consent_id})
    assert ended == Counter(ids)
    assert reported == Counter(payments)
    assert {fate for _, fate in bank.calls.seen} >= set(AT_ONCE)


async def make_all_calls(bank: Bank, asked: list[str], payments: list[str]) -> list[str]:
    """Make each call of a bank to the hub under each network fault. Return the tokens of saved and ended consents."""
    key, tokens = (bank.folder / "bank.pem").read_bytes(), []
    given: Any = {"version": bank.version, "api_key": bank.api_key, "private_key": key, "retries": FAST}
    async with HubClient(bank.calls.url, **given) as client:
        for fate, url, payment_id in zip(AT_ONCE, asked, payments, strict=True):
            bank.calls.plan = lambda path, attempts, fate=fate: "pass" if attempts else fate  # type: ignore[misc]
            assert list((await client.init_authorization(url)).scopes) == SCOPES[bank.version]
            saved = await client.consent(request_url=url, scopes=SCOPES[bank.version], account_ids=["1"])
            tokens.append(saved.access_token)
            assert await state(client, saved.access_token) == "authorised"
            await client.revoke_token(saved.access_token)
            assert await state(client, saved.access_token) == "revoked"
            await client.payment_status(payment_id, BOOKED[bank.version])
            if bank.version == 2:
                await client.daily_performance(datetime.now(UTC).date(), consent_duration=41250)
            with pytest.raises(HubError) as caught:
                await client.payment_status("unknown", BOOKED[bank.version])
            assert (caught.value.status, caught.value.code) == (400, {1: "4001", 2: "FORMAT_ERROR"}[bank.version])
    return tokens


async def state(client: HubClient, token: str) -> str:
    (found,) = (await client.consents_status(access_tokens=[token])).consents
    return found.status


def test_a_refusal_of_the_bank_has_the_format_of_the_protocol_version(bank: Bank, tpp: sdk.Tpp) -> None:
    consent, accepted = consent_at(bank, tpp), bank.books("accepted")

    with pytest.raises(ApiError) as caught:
        consent.pay(order_of(bank, "1000.01"))

    assert caught.value.reason_code == "refused_by_bank"
    assert caught.value.additional[0]["details"].startswith({1: "5101: ", 2: "INSUFFICIENT_FUNDS: "}[bank.version])
    assert bank.books("accepted") == accepted


def order_of(bank: Bank, amount: str = "1.10") -> sdk.Payment:
    """Return a payment from the only account."""
    return order({"base_url": bank.calls.hub}, bank.version, amount)


@pytest.mark.parametrize("kind", ["single", "bulk", "direct"])
@pytest.mark.parametrize("fate", ["twice", *LOST])
def test_a_payment_order_of_each_kind_reaches_the_bank_once(bank: Bank, tpp: sdk.Tpp, kind: str, fate: Fate) -> None:
    consent, accepted = consent_at(bank, tpp), Counter(bank.books("accepted"))
    bank.webhooks.plan = lambda path, attempts: "pass" if attempts else fate

    for _ in range(2):
        try:
            pay(tpp, consent, bank, kind)
            assert fate == "twice"
        except OutcomeUnknown:
            assert fate in LOST
        assert list(new_books(bank, "accepted", accepted).values()) == [1]
    read(consent)


def pay(tpp: sdk.Tpp, consent: sdk.Consent, bank: Bank, kind: str) -> None:
    """Make a payment with a constant idempotency key and a constant request id."""
    single = order_of(bank)
    named: Any = {"idempotency_key": "invoice-1", "request_id": str(uuid.uuid5(uuid.NAMESPACE_URL, consent.consent_id))}
    if kind == "single":
        consent.pay(single, **named)
    elif kind == "direct":
        tpp.pay_direct(single, bic=bank.bic, **named)
    else:
        consent.pay_bulk(bulk_of(single, IBANS[bank.version]), **named)


def test_a_consent_that_the_psu_revokes_at_the_bank_is_revoked_at_the_hub(bank: Bank, tpp: sdk.Tpp) -> None:
    consent = consent_at(bank, tpp)
    bank.calls.plan = lambda path, attempts: "pass" if attempts else "lose"

    bank.end_consent(consent.consent_id)

    wait_for(lambda: events_of(tpp, "consent.revoked"), "the hub was not told")
    (ended,) = events_of(tpp, "consent.revoked")
    assert (ended.consent_id, ended.revoked_by) == (consent.consent_id, "bank")
    assert bank.books("revoked").count(consent.consent_id) == 1
    with pytest.raises(AuthorizationEnded):
        read(consent)


def test_a_consent_that_the_tpp_ends_is_revoked_at_the_bank_despite_a_lost_response(bank: Bank, revoked: str) -> None:
    def is_delivered() -> bool:
        fates = [fate for path, fate in bank.webhooks.seen if path == "/revoke_token"]
        return (fates[0], fates[-1]) == ("lose", "pass")

    wait_for(is_delivered, "the hub did not repeat the notice")
    assert revoked in bank.books("revoked")


# -- a process that is killed


def test_a_payment_is_booked_once_and_reported_even_if_the_process_is_killed(own_bank: Bank, tpp: sdk.Tpp) -> None:
    consent, paid = consent_at(own_bank, tpp), []
    for step in ("booked", "add-call", "delete-call"):
        answer = consent.pay(order_of(own_bank))
        page = own_bank.open(answer.confirmation_url)
        own_bank.die_at(step)
        own_bank.click(page)
        own_bank.wait_until_dead()
        own_bank.start()
        wait_for(lambda of=answer.payment_id: is_booked(consent, of), f"no report after {step}")  # type: ignore[misc]
        assert own_bank.click(page).startswith(own_bank.calls.hub), step
        paid.append(answer.payment_id)

    assert Counter(own_bank.books("booked")) == Counter(paid)
    assert Counter(data.payment_id for data in events_of(tpp, "payment.status_changed")) == Counter(paid)


def test_a_payment_order_is_accepted_once_even_if_the_process_is_killed(own_bank: Bank, tpp: sdk.Tpp) -> None:
    consent = consent_at(own_bank, tpp)
    for step in ("add-order", "accepted", "add-payment", "replace-order"):
        own_bank.die_at(step)
        with pytest.raises(OutcomeUnknown) as caught:
            consent.pay(order_of(own_bank))
        own_bank.wait_until_dead()
        own_bank.start()
        with pytest.raises(OutcomeUnknown):
            consent.pay(
                order_of(own_bank), idempotency_key=caught.value.idempotency_key, request_id=caught.value.order_id
            )
        assert own_bank.books("accepted").count(caught.value.order_id) == (step != "add-order")

    assert consent.pay(order_of(own_bank)).payment_id
    assert own_bank.books("booked") == []


def test_reports_to_an_unreachable_hub_are_sent_later_even_if_the_process_is_killed(
    own_bank: Bank, tpp: sdk.Tpp
) -> None:
    consent = consent_at(own_bank, tpp)
    paid = [consent.pay(order_of(own_bank)) for _ in range(3)]
    own_bank.calls.plan = lambda path, attempts: "drop" if path.endswith("/payments/status") else "pass"
    for answer in paid:
        own_bank.decide(answer.confirmation_url)

    own_bank.restart()
    assert not any(is_booked(consent, answer.payment_id) for answer in paid if own_bank.version == 1)
    own_bank.calls.plan = lambda path, attempts: "pass"

    for answer in paid:
        wait_for(lambda of=answer.payment_id: of in reported(tpp), "no report")  # type: ignore[misc]
    assert Counter(reported(tpp)) == Counter(own_bank.books("booked")) == Counter(one.payment_id for one in paid)


def reported(tpp: sdk.Tpp) -> list[str]:
    return [data.payment_id for data in events_of(tpp, "payment.status_changed")]


def test_a_consent_is_saved_once_even_if_the_process_is_killed(own_bank: Bank, tpp: sdk.Tpp) -> None:
    for step in ("add-page", "replace-page", "add-consent"):
        asked = tpp.authorize(bic=own_bank.bic, scopes=SCOPES[own_bank.version])
        page = "" if step == "add-page" else own_bank.open(asked.redirect_url)
        own_bank.die_at(step)
        if page:
            assert own_bank.click(page) == ""
        else:
            with pytest.raises(requests.ConnectionError):
                own_bank.open(asked.redirect_url)
        own_bank.wait_until_dead()
        own_bank.start()
        back = own_bank.click(page or own_bank.open(asked.redirect_url))
        consent = tpp.redeem_callback(back, state=state_in(back))
        read(consent)

    given = [data.consent_id for data in events_of(tpp, "consent.authorised")]
    assert len(given) == len(set(given)) == 3
