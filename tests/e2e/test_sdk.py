"""The Python SDK on the whole stack: both banks, every simulated fault of a bank, and lost responses."""

import asyncio
import random
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from causeway import tpp as sdk
from causeway.errors import AuthorizationEnded, ConsentRefused, OutcomeUnknown
from chalicelib import bootstrap
from infra.psu_browser import confirm_payment
from infra.render.sdk import tpp as document
from tests.e2e.parties import PayingBank, at_once
from tests.e2e.sdk_users import (
    FAST,
    Credentials,
    browser,
    bulk_of,
    consent_of,
    decline,
    native_bulk_of,
    native_direct_of,
    native_funds_request,
    native_id,
    native_order,
    order,
    payer_at,
    pushed_consent,
)
from tests.kit.lossy_proxy import LOSSES, Fate, LossyProxy, lossy_proxy
from tests.kit.time import PATIENCE_SECONDS

pytestmark = [pytest.mark.e2e, pytest.mark.sdk]
CALLED_ONCE = ("/tpp/token", "/tpp/authorize")


class Network:
    """A network that loses some attempts of each request, but not all. No attempt with an authorization code or a state
    is lost.
    """

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def __call__(self, path: str, attempts: int) -> Fate:
        if attempts > 1 or path in CALLED_ONCE:
            return "pass"
        return self._random.choice((*LOSSES, "pass"))


@pytest.fixture
def client(stack: dict[str, Any], credentials: Credentials) -> Iterator[sdk.Tpp]:
    with sdk.Tpp(stack["base_url"], **credentials, retries=FAST) as tpp:
        yield tpp


@pytest.fixture
def network(stack: dict[str, Any]) -> Iterator[LossyProxy]:
    with lossy_proxy(stack["base_url"]) as proxy:
        yield proxy


def act(consent: sdk.Consent, stack: dict[str, Any]) -> None:
    """Read all data, and make a payment. The queried transactions are older than the payments of other tests."""
    until = datetime.now(UTC).date() - timedelta(days=2)
    first, *_ = consent.accounts()
    assert consent.account(first).account == first
    assert all(isinstance(balance.amount.value, Decimal) for balance in consent.balances(first).balances)
    booked = list(consent.transactions(first, until=until, status="booked", limit=17))
    assert booked == list(consent.transactions(first.account_id, until=until, status="booked"))
    assert len({one.stable_key for one in booked}) == len(booked) > 17
    paid = consent.pay(order(stack, consent.native.version()))
    confirm_payment(browser(stack, "/payments/callback"), paid.confirmation_url)
    status = consent.wait_for_payment(paid.payment_id, timeout=PATIENCE_SECONDS)
    assert sdk.is_paid(status), status


def act_natively(consent: sdk.Consent, stack: dict[str, Any]) -> None:
    """Do the same with the calls of the bank's version."""
    until, native = datetime.now(UTC).date() - timedelta(days=2), consent.native
    first, *_ = native.accounts()
    number = native_id(first)
    assert native_id(native.account(number).account) == number
    match native.balances(number):
        case sdk.BalancesAnswerV1(accounts=(balance, *_)):
            assert isinstance(balance.balance, Decimal)
            listed = [payment.id for payment in native.payments(number, page_size=17)]
            assert listed == [payment.id for payment in native.payments(number)]
            assert len(set(listed)) == len(listed) > 17
        case sdk.BalancesAnswerV2(balances=(balance_v2, *_)):
            assert isinstance(balance_v2.balance_amount.amount, Decimal)
            booked = [one.transaction_id for one in native.transactions(number, date_to=until, page_size=7)]
            page = native.transactions_page(number, booking_status="booked", date_to=until, page_size=999).transactions
            assert len(booked) > 7
            assert booked == [one.transaction_id for one in page.booked or ()]
        case other:
            pytest.fail(f"an answer without balances: {other}")
    paid = native.pay(native_order(stack, native.version()))
    confirm_payment(browser(stack, "/payments/callback"), paid.confirmation_url)
    assert sdk.is_paid(native.wait_for_payment(paid.payment_id, timeout=PATIENCE_SECONDS))


def test_a_tpp_reads_and_pays_at_both_banks(client: sdk.Tpp, stack: dict[str, Any], bank: dict[str, Any]) -> None:
    stored: list[sdk.Tokens] = []
    consent = consent_of(client, stack, bank, on_refresh=stored.append)

    act(consent, stack)
    act_natively(consent, stack)
    details = consent.details()
    renewed = consent.refresh()

    assert details.consent_id == consent.consent_id
    assert stored == [renewed]
    assert consent.introspect().active is True
    assert {one.consent_id for one in client.consents(status="authorised")} == {consent.consent_id}
    assert client.bank(bank["bic"]).api_version == consent.native.version()
    assert {one.bic for one in client.banks()} >= {bank["bic"]}
    consent.revoke()
    with pytest.raises(AuthorizationEnded):
        list(client.consent(renewed).accounts())


def test_sdk_calls_are_neither_lost_nor_duplicated_after_lost_responses(
    stack: dict[str, Any], credentials: Credentials, network: LossyProxy, bank: dict[str, Any]
) -> None:
    with sdk.Tpp(network.url, **credentials, retries=FAST) as tpp:
        consent = consent_of(tpp, stack, bank)
        for seed in range(2):
            network.plan = Network(seed)
            act(consent, stack)

    assert {fate for _, fate in network.seen} >= set(LOSSES)


@pytest.mark.parametrize("version", [1, 2])
def test_each_of_30_payments_reaches_the_bank_once_despite_lost_responses(
    operator: bootstrap.Hub, stack: dict[str, Any], credentials: Credentials, network: LossyProxy, version: int
) -> None:
    paying = PayingBank(operator, stack["base_url"], version)
    paying.open()
    try:
        with sdk.Tpp(network.url, **credentials, retries=FAST) as tpp:
            consent = payer_at(paying, tpp)
            network.plan = Network(version)
            amounts = [f"1.{number:02}" for number in range(1, 31)]
            with ThreadPoolExecutor(6) as pool:
                paid = list(pool.map(lambda amount: pay_until_known(consent, order(stack, version, amount)), amounts))
    finally:
        paying.close()

    received = [one.body.get("amount") or one.body["instructed_amount"]["amount"] for one in paying.received]
    assert sorted(received) == sorted(amounts)
    assert len({one.payment_id for one in paid}) == len(amounts)
    assert network.count("/tpp/unified/payments", "lose", "cut", "gateway") > 0


def pay_until_known(consent: sdk.Consent, payment: sdk.Payment) -> sdk.Initiation:
    """Pay, and retry with the same key while the outcome is unknown, as the error message advises."""
    try:
        return consent.pay(payment)
    except OutcomeUnknown as error:
        return consent.pay(payment, idempotency_key=error.idempotency_key, request_id=error.order_id)


def test_50_threads_refresh_an_expired_token_once_despite_a_lost_response(
    stack: dict[str, Any], credentials: Credentials, network: LossyProxy, bank: dict[str, Any]
) -> None:
    with sdk.Tpp(network.url, **credentials, retries=FAST) as tpp:
        fresh = consent_of(tpp, stack, bank).tokens
        stored: list[sdk.Tokens] = []
        consent = tpp.consent(expired(fresh), on_refresh=stored.append)
        network.seen.clear()
        network.plan = lambda path, attempts: "lose" if path == "/tpp/token" and not attempts else "pass"

        found = at_once(50, lambda: len(list(consent.accounts())))

    assert len(set(found)) == 1
    assert [fate for path, fate in network.seen if path == "/tpp/token"] == ["lose", "pass"]
    assert len(stored) == 1
    assert stored[0].refresh_token != fresh.refresh_token


def expired(tokens: sdk.Tokens) -> sdk.Tokens:
    return replace(tokens, expires_at=tokens.expires_at - timedelta(hours=2))


def test_the_asynchronous_client_refreshes_once_and_pays_despite_lost_responses(
    stack: dict[str, Any], credentials: Credentials, network: LossyProxy, bank: dict[str, Any]
) -> None:
    with sdk.Tpp(stack["base_url"], **credentials) as tpp:
        tokens = consent_of(tpp, stack, bank).tokens

    async def run() -> sdk.PaymentStatus:
        async with sdk.AsyncTpp(network.url, **credentials, retries=FAST) as tpp:
            consent = tpp.consent(expired(tokens))
            network.plan = Network(5)
            counts = await asyncio.gather(*(count(consent) for _ in range(20)))
            assert len(set(counts)) == 1
            paid = await consent.pay(order(stack, await consent.native.version()), prefer_async=True)
            await asyncio.to_thread(confirm_payment, browser(stack, "/payments/callback"), paid.confirmation_url)
            return await consent.wait_for_payment(paid.payment_id, timeout=PATIENCE_SECONDS)

    async def count(consent: sdk.AsyncConsent) -> int:
        return len([account async for account in consent.accounts()])

    assert sdk.is_paid(asyncio.run(run()))
    assert network.count("/tpp/token") == 1


def test_every_documented_sdk_call_is_made_on_the_real_stack(
    operator: bootstrap.Hub, stack: dict[str, Any], network: LossyProxy
) -> None:
    made = operator.openbanking.clients.create(owner="sdk@example.com", title="Poller", secret=True, events="poll")
    with sdk.Tpp(network.url, client_id=made.client.client_id, client_secret=made.secret, retries=FAST) as tpp:
        for bank in stack["banks"]:
            consent = pushed_consent(tpp, stack, bank)
            use(tpp, consent, stack, bank)
            events = [sdk.parse_event(entry.body) for entry in tpp.events()]
            authorised = [event for event in events if isinstance(event, sdk.ConsentAuthorisedEvent)]
            assert consent.consent_id in {event.data.consent_id for event in authorised}
            tpp.revoke(consent.tokens.access_token)
            assert tpp.introspect(consent.tokens.refresh_token).active is False
        assert tpp.server_metadata().issuer == stack["base_url"]
        assert tpp.resource_metadata().authorization_servers == (stack["base_url"],)
        assert tpp.keys().keys

    called = {path for path, _ in network.seen} | {"/oauth/authorize"}  # which the browser opens
    missing = [
        path for path in document.document()["paths"] if not any(re.fullmatch(pattern(path), one) for one in called)
    ]
    assert missing == []


def pattern(path: str) -> str:
    return re.sub(r"{\w+}", "[^/]+", path)


def use(tpp: sdk.Tpp, consent: sdk.Consent, stack: dict[str, Any], bank: dict[str, Any]) -> None:
    """Make the calls that no other test makes and that all banks support."""
    version, native = consent.native.version(), consent.native
    asked = tpp.authorize(bic=bank["bic"], scopes=["accounts:read"])
    assert asked.expires_in > 0
    assert tpp.bank(bank["bic"]).bic in {one.bic for one in tpp.banks()}
    assert consent.consent_id in {one.consent_id for one in tpp.consents(bic=bank["bic"])}
    assert consent.details().valid_until == consent.tokens.valid_until
    first, *_ = consent.accounts(psu=sdk.Psu(ip_address="203.0.113.7"), prefer_async=True)
    act(consent, stack)
    price = sdk.Amount(value=Decimal("25.00"), currency=first.currency)
    assert consent.confirm_funds(first, price).funds_available is True
    paid = consent.pay_bulk(bulk_of(order(stack, version), str(first.iban)))
    confirm_payment(browser(stack, "/payments/callback"), paid.confirmation_url)
    assert sdk.is_paid(consent.wait_for_payment(paid.payment_id, timeout=PATIENCE_SECONDS))
    assert tpp.pay_direct(order(stack, version), bic=bank["bic"], prefer_async=True).payment_id
    act_natively(consent, stack)
    use_natively(tpp.native, native, native_order(stack, version), bank["bic"])


def use_natively(tpp: sdk.NativeTpp, consent: sdk.NativeConsent, single: Any, bic: str) -> None:
    """Make the other calls of the bank's version."""
    first = next(consent.accounts())
    if isinstance(first, sdk.AccountV1):
        listed = next(consent.payments(first.id))
        assert consent.payment(listed.id).payment.amount == listed.amount
    assert consent.confirm_funds(native_funds_request(first)).funds_available is True
    assert consent.pay_bulk(native_bulk_of(single, str(first.iban))).payment_id
    assert tpp.pay_direct(native_direct_of(single, bic)).payment_id


def test_the_status_of_a_direct_payment_is_requested_with_the_bank_of_the_payment(
    client: sdk.Tpp, stack: dict[str, Any], bank: dict[str, Any]
) -> None:
    paid = client.pay_direct(order(stack, bank["api_version"]), bic=bank["bic"])
    confirm_payment(browser(stack, "/payments/callback"), paid.confirmation_url)

    assert sdk.is_paid(client.wait_for_payment(paid.payment_id, bic=bank["bic"], timeout=PATIENCE_SECONDS))


def test_a_declined_consent_raises_consent_refused(
    client: sdk.Tpp, stack: dict[str, Any], bank: dict[str, Any]
) -> None:
    back, state = decline(client, stack, bank)

    with pytest.raises(ConsentRefused, match="access_denied"):
        client.redeem_callback(back, state=state)


def test_an_unknown_payment_outcome_can_be_queried_by_the_order_id(
    client: sdk.Tpp, stack: dict[str, Any], bank: dict[str, Any]
) -> None:
    consent = consent_of(client, stack, bank)

    with pytest.raises(OutcomeUnknown) as caught:
        consent.pay(order(stack, consent.native.version(), reference="TEST-MALFORMED"))
    known = consent.payment_status(request_id=caught.value.order_id)

    assert (known.payment_id, known.status, known.outcome) == (None, "unknown", "unknown")
    with pytest.raises(OutcomeUnknown):
        consent.pay(
            order(stack, consent.native.version(), reference="TEST-MALFORMED"),
            idempotency_key=caught.value.idempotency_key,
            request_id=caught.value.order_id,
        )
