"""The Python SDK on a network that loses the response to one call: the bank receives each payment order once."""

import itertools
from collections import Counter
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import requests

from causeway import tpp as sdk
from causeway.errors import AuthorizationEnded, ConnectionLost
from chalicelib import bootstrap
from tests.e2e.parties import PayingBank
from tests.e2e.sdk_users import FAST, IBANS, approve, bulk_of, events_of, order, payer_at
from tests.kit.lossy_proxy import LOSSES, LOST, Fate, LossyProxy, lossy_proxy
from tests.kit.time import PATIENCE_SECONDS, limit_under_test, wait_for

pytestmark = [pytest.mark.e2e, pytest.mark.sdk]
SCOPES: dict[int, Any] = {1: ["payment.init"], 2: ["payments.single"]}
INITIATIONS = {
    "single": "/tpp/unified/payments",
    "bulk": "/tpp/unified/bulk_payments",
    "direct": "/tpp/unified/direct_payments",
}

FEW: tuple[Fate, ...] = ("lose", "gateway", "twice")
ORDERS = [*itertools.product(["single"], LOSSES), *itertools.product(["bulk", "direct"], FEW)]


@pytest.fixture(params=[1, 2], ids=["version 1", "version 2"], scope="module")
def paying(
    request: pytest.FixtureRequest, lasting_operator: bootstrap.Hub, stack: dict[str, Any]
) -> Iterator[PayingBank]:
    opened = PayingBank(lasting_operator, stack["base_url"], request.param)
    opened.open()
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def network(stack: dict[str, Any]) -> Iterator[LossyProxy]:
    with lossy_proxy(stack["base_url"]) as proxy:
        yield proxy


@pytest.fixture
def tpp(network: LossyProxy, operator: bootstrap.Hub) -> Iterator[sdk.Tpp]:
    network.plan = lambda path, attempts: "pass"
    made = operator.openbanking.clients.create(owner="sdk@example.com", title="SDK", secret=True, events="poll")
    given: Any = {"client_id": made.client.client_id, "client_secret": made.secret, "retries": FAST}
    with sdk.Tpp(network.url, **given, timeout=PATIENCE_SECONDS) as client:
        yield client


def damage(network: LossyProxy, path: str, *fates: Fate) -> None:
    """Apply the given faults, in order, to the first calls of a path. All other calls succeed."""
    network.seen.clear()
    left = list(fates)
    network.plan = lambda called, attempts: left.pop(0) if called == path and left else "pass"


def fates_of(network: LossyProxy, path: str) -> list[Fate]:
    return [fate for called, fate in network.seen if called == path]


@pytest.mark.parametrize("fate", LOSSES)
def test_an_authorization_with_a_lost_response_is_retried_and_creates_one_consent(
    tpp: sdk.Tpp, network: LossyProxy, paying: PayingBank, fate: Fate
) -> None:
    scopes = SCOPES[paying.version]
    damage(network, "/tpp/authorize", fate)

    asked = tpp.authorize(bic=paying.bic, scopes=scopes)
    consent = tpp.redeem_callback(approve(paying, asked.redirect_url, scopes), state=asked.state)

    assert fates_of(network, "/tpp/authorize") == [fate, "pass"][: 1 + (fate != "twice")]
    assert [data.consent_id for data in events_of(tpp, "consent.authorised")] == [consent.consent_id]


def test_an_authorization_with_a_custom_state_is_sent_once(
    tpp: sdk.Tpp, network: LossyProxy, paying: PayingBank
) -> None:
    damage(network, "/tpp/authorize", "lose")

    with pytest.raises(ConnectionLost):
        tpp.authorize(bic=paying.bic, scopes=SCOPES[paying.version], state="visit-1")

    assert fates_of(network, "/tpp/authorize") == ["lose"]


@pytest.mark.parametrize("fate", LOSSES)
def test_a_pushed_authorization_with_a_lost_response_creates_one_consent(
    tpp: sdk.Tpp, network: LossyProxy, paying: PayingBank, fate: Fate
) -> None:
    scopes, verifier = SCOPES[paying.version], sdk.new_code_verifier()
    damage(network, "/oauth/par", fate)

    pushed = tpp.push_authorization(bic=paying.bic, scopes=scopes, state=f"visit-{fate}", code_verifier=verifier)
    url = tpp.authorization_url(request_uri=pushed.request_uri)
    back = approve(paying, at_the_bank(url), scopes)
    consent = tpp.redeem_callback(back, state=f"visit-{fate}", code_verifier=verifier)

    assert [data.consent_id for data in events_of(tpp, "consent.authorised")] == [consent.consent_id]


@pytest.mark.parametrize("fate", ["drop", "unavailable"])
def test_an_authorization_code_is_sent_again_if_the_token_request_was_lost(
    tpp: sdk.Tpp, network: LossyProxy, paying: PayingBank, fate: Fate
) -> None:
    damage(network, "/tpp/token", fate)

    consent = payer_at(paying, tpp)

    assert fates_of(network, "/tpp/token") == [fate, "pass"]
    assert consent.details().status == "authorised"
    assert events_of(tpp, "consent.revoked") == []


@pytest.mark.parametrize("fate", [*LOST, "twice"])
def test_a_lost_token_response_revokes_the_consent_once_at_the_hub_and_at_the_bank(
    tpp: sdk.Tpp, network: LossyProxy, paying: PayingBank, fate: Fate
) -> None:
    scopes, before = SCOPES[paying.version], len(paying.ended)
    asked = tpp.authorize(bic=paying.bic, scopes=scopes)
    back = approve(paying, asked.redirect_url, scopes)
    damage(network, "/tpp/token", fate)

    with pytest.raises(AuthorizationEnded) as caught:
        tpp.redeem_callback(back, state=asked.state)

    assert "authorize again" in caught.value.advice
    wait_for(lambda: len(paying.ended) > before, "the bank was not told")
    assert len(paying.ended) == before + 1
    (revoked,) = events_of(tpp, "consent.revoked")
    assert paying.ended[-1].startswith(f"{revoked.consent_id}.")
    assert list(tpp.consents(status="authorised")) == []


@pytest.mark.parametrize("fate", LOSSES)
def test_a_token_refresh_with_a_lost_response_returns_one_new_token_pair(
    tpp: sdk.Tpp, network: LossyProxy, paying: PayingBank, fate: Fate
) -> None:
    stored: list[sdk.Tokens] = []
    consent = tpp.consent(payer_at(paying, tpp).tokens, on_refresh=stored.append)
    damage(network, "/tpp/token", fate)

    renewed = consent.refresh()

    assert stored == [renewed]
    assert consent.refresh().access_token != renewed.access_token
    assert consent.details().status == "authorised"
    assert tpp.introspect(renewed.refresh_token).active is False
    assert events_of(tpp, "consent.revoked") == []


@pytest.mark.parametrize(("kind", "fate"), ORDERS)
def test_a_payment_with_a_lost_response_reaches_the_bank_once(
    tpp: sdk.Tpp, network: LossyProxy, paying: PayingBank, kind: str, fate: Fate
) -> None:
    consent, before = payer_at(paying, tpp), len(paying.received)
    damage(network, INITIATIONS[kind], fate, fate)

    answer = pay(tpp, consent, paying, kind)

    assert len(paying.received) == before + 1
    assert answer.payment_id == f"P-{paying.received[-1].number}"
    wanted = 1 if fate == "twice" else 3
    assert len(fates_of(network, INITIATIONS[kind])) == wanted


def pay(tpp: sdk.Tpp, consent: sdk.Consent, paying: PayingBank, kind: str) -> Any:
    single = order({"base_url": tpp.server_metadata().issuer}, paying.version)
    if kind == "single":
        return consent.pay(single)
    if kind == "bulk":
        return consent.pay_bulk(bulk_of(single, IBANS[paying.version]))
    return tpp.pay_direct(single, bic=paying.bic)


def test_a_payment_with_a_late_response_reaches_the_bank_once(
    network: LossyProxy, paying: PayingBank, tpp: sdk.Tpp, operator: bootstrap.Hub
) -> None:
    before = len(paying.received)
    made = operator.openbanking.clients.create(owner="sdk@example.com", title="SDK", secret=True)
    given: Any = {"client_id": made.client.client_id, "client_secret": made.secret, "retries": FAST}
    with (
        sdk.Tpp(network.url, **given) as patient,
        sdk.Tpp(network.url, **given, timeout=limit_under_test(3.0)) as hasty,
    ):
        consent = hasty.consent(payer_at(paying, patient).tokens)
        damage(network, INITIATIONS["single"], "never")

        answer = pay(hasty, consent, paying, "single")

    assert fates_of(network, INITIATIONS["single"])[:2] == ["never", "pass"]
    assert answer.payment_id == f"P-{paying.received[-1].number}"
    assert len(paying.received) == before + 1


@pytest.mark.parametrize("fate", LOSSES)
def test_the_revocation_of_a_consent_is_sent_to_the_bank_once_despite_a_lost_response(
    tpp: sdk.Tpp, network: LossyProxy, paying: PayingBank, fate: Fate
) -> None:
    consent, before = payer_at(paying, tpp), len(paying.ended)
    damage(network, "/tpp/token/revoke", fate)

    consent.revoke()

    wait_for(lambda: len(paying.ended) > before, "the bank was not told")
    assert len(paying.ended) == before + 1
    assert [data.consent_id for data in events_of(tpp, "consent.revoked")] == [consent.consent_id]
    with pytest.raises(AuthorizationEnded):
        consent.refresh()


def test_each_event_is_returned_once_in_order_despite_lost_pages(
    tpp: sdk.Tpp, network: LossyProxy, paying: PayingBank
) -> None:
    consents = [payer_at(paying, tpp) for _ in range(len(LOSSES))]
    everything = [entry.id for entry in tpp.events()]
    assert len(everything) == len(set(everything)) == len(consents)

    found, after = [], None
    for fate in LOSSES:
        damage(network, "/tpp/events", fate)
        page = tpp.events_page(after=after, limit=1)
        found += [entry.id for entry in page.events]
        after = page.next

    assert found == everything
    damage(network, "/tpp/events", *(LOSSES[:4]))
    assert [entry.id for entry in tpp.events()] == everything
    assert Counter(data.consent_id for data in events_of(tpp, "consent.authorised")) == Counter(
        consent.consent_id for consent in consents
    )


def at_the_bank(url: str) -> str:
    answer = requests.get(url, timeout=PATIENCE_SECONDS, allow_redirects=False)
    assert parse_qs(urlsplit(answer.headers["Location"]).query)["client_id"]
    return answer.headers["Location"]
