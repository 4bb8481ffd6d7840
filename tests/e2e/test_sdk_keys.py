"""Client keys in the Python SDK on the whole stack: assertions, bound tokens, lost nonces and lost responses."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from causeway import tpp as sdk
from causeway.errors import ApiError
from chalicelib import bootstrap
from infra.psu_browser import confirm_payment
from tests.e2e.sdk_users import FAST, browser, order, pushed_consent
from tests.kit.documents import blocks
from tests.kit.time import PATIENCE_SECONDS

pytestmark = [pytest.mark.e2e, pytest.mark.sdk]
README = Path(__file__).parents[2] / "sdk" / "README.md"
EXAMPLES = blocks(README.read_text("utf-8"), "python")
CLIENTS: Mapping[str, dict[str, Any]] = {
    "fapi2": {"security_profile": "fapi2", "dpop_nonce_required": True},
    "assertions": {},
    "assertions and bound tokens": {"dpop_bound_access_tokens": True},
}


@pytest.fixture
def assertion() -> sdk.PrivateKeyJwt:
    return sdk.PrivateKeyJwt.generate()


def registered(operator: bootstrap.Hub, stack: dict[str, Any], jwks: dict[str, Any], **security: Any) -> str:
    members = {"auth_method": "private_key_jwt", "jwks": jwks, **security}
    made = operator.openbanking.clients.create(
        owner="sdk@example.com", title="Keys", callback_urls=[callback_of(stack)], security=members
    )
    return made.client.client_id


def callback_of(stack: dict[str, Any]) -> str:
    return f"{stack['base_url']}/authorize/callback"


def consent_of(tpp: sdk.Tpp, stack: dict[str, Any], bank: dict[str, Any]) -> sdk.Consent:
    return pushed_consent(tpp, stack, bank, callback_of(stack))


def tpp_on(network: FaultyTransport, hub: str, client_id: str, assertion: sdk.PrivateKeyJwt) -> sdk.Tpp:
    return sdk.Tpp(
        hub,
        client_id=client_id,
        assertion=assertion,
        dpop=sdk.DpopKey.generate(),
        retries=FAST,
        http_client=httpx.Client(transport=network, trust_env=False),
    )


def act(consent: sdk.Consent, stack: dict[str, Any]) -> str:
    first, *_ = consent.accounts()
    assert consent.balances(first)
    paid = consent.pay(order(stack, consent.native.version()))
    confirm_payment(browser(stack, "/payments/callback"), paid.confirmation_url)
    assert sdk.is_paid(consent.wait_for_payment(paid.payment_id, timeout=PATIENCE_SECONDS))
    before = consent.tokens.access_token
    assert consent.refresh().access_token != before
    assert next(consent.accounts()) == first
    return paid.payment_id


@pytest.mark.parametrize("kind", CLIENTS)
def test_a_client_with_keys_obtains_a_consent_reads_accounts_pays_and_refreshes_tokens(
    operator: bootstrap.Hub,
    stack: dict[str, Any],
    bank: dict[str, Any],
    assertion: sdk.PrivateKeyJwt,
    kind: str,
    tmp_path: Path,
) -> None:
    client_id = registered(operator, stack, assertion.jwks, **CLIENTS[kind])
    assertion.save(tmp_path / "client.json")
    key = None if kind == "assertions" else sdk.DpopKey.generate()
    signing = sdk.PrivateKeyJwt.load(tmp_path / "client.json")

    with sdk.Tpp(stack["base_url"], client_id=client_id, assertion=signing, dpop=key) as tpp:
        consent = consent_of(tpp, stack, bank)
        act(consent, stack)
        told = consent.introspect()

        assert consent.tokens.token_type == ("DPoP" if key else "Bearer")
        assert dict(told.cnf or {}) == ({"jkt": key.thumbprint} if key else {})
        assert {one.consent_id for one in tpp.consents()} == {consent.consent_id}
        consent.revoke()


@pytest.mark.parametrize("algorithm", ["PS256", "EdDSA"])
def test_keys_of_every_algorithm_are_accepted_by_the_hub(
    operator: bootstrap.Hub, stack: dict[str, Any], bank: dict[str, Any], algorithm: Any
) -> None:
    assertion, key = sdk.PrivateKeyJwt.generate(algorithm), sdk.DpopKey.generate(algorithm)
    client_id = registered(operator, stack, assertion.jwks, **CLIENTS["fapi2"])

    with sdk.Tpp(stack["base_url"], client_id=client_id, assertion=assertion, dpop=key) as tpp:
        assert list(consent_of(tpp, stack, bank).accounts())


class FaultyTransport(httpx.HTTPTransport):
    """A network that invalidates nonces and loses the first response of selected paths."""

    def __init__(self) -> None:
        super().__init__()
        self.lost: list[str] = []
        self.spoils = False
        self.refused = 0

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        answer = super().handle_request(request)
        if request.url.path in self.lost:
            self.lost.remove(request.url.path)
            answer.close()
            raise httpx.ReadError("the connection broke")
        if answer.status_code in (400, 401):
            self.refused += 1
        elif self.spoils and "DPoP-Nonce" in answer.headers:
            answer.headers["DPoP-Nonce"] = "1.spoiled"
        return answer


@pytest.fixture
def network() -> Iterator[FaultyTransport]:
    with FaultyTransport() as transport:
        yield transport


def test_a_lost_dpop_nonce_causes_one_retry(
    operator: bootstrap.Hub,
    stack: dict[str, Any],
    bank: dict[str, Any],
    assertion: sdk.PrivateKeyJwt,
    network: FaultyTransport,
) -> None:
    client_id = registered(operator, stack, assertion.jwks, **CLIENTS["fapi2"])

    with tpp_on(network, stack["base_url"], client_id, assertion) as tpp:
        consent = consent_of(tpp, stack, bank)
        known = network.refused
        network.spoils = True
        paid = act(consent, stack)

        assert known == 1, "only the first proof had no nonce"
        assert network.refused > 5
        assert sdk.is_paid(consent.payment_status(paid))


def test_a_request_with_a_lost_response_is_retried_with_a_new_assertion_and_proof(
    operator: bootstrap.Hub,
    stack: dict[str, Any],
    bank: dict[str, Any],
    assertion: sdk.PrivateKeyJwt,
    network: FaultyTransport,
) -> None:
    client_id = registered(operator, stack, assertion.jwks, dpop_bound_access_tokens=True)
    stored: list[sdk.Tokens] = []

    with tpp_on(network, stack["base_url"], client_id, assertion) as tpp:
        fresh = consent_of(tpp, stack, bank).tokens
        consent = tpp.consent(
            replace(fresh, expires_at=fresh.expires_at - timedelta(hours=2)), on_refresh=stored.append
        )
        network.lost = ["/tpp/token", "/tpp/unified/accounts", "/tpp/unified/payments"]
        paid = act(consent, stack)

        assert network.lost == []
        assert [pair.token_type for pair in stored] == ["DPoP", "DPoP"]
        assert sdk.is_paid(consent.payment_status(paid))


def test_a_call_with_a_dpop_bound_token_but_without_the_key_returns_401(
    operator: bootstrap.Hub, stack: dict[str, Any], bank: dict[str, Any], assertion: sdk.PrivateKeyJwt
) -> None:
    client_id = registered(operator, stack, assertion.jwks, dpop_bound_access_tokens=True)
    given: Any = {"client_id": client_id, "assertion": assertion}
    with sdk.Tpp(stack["base_url"], **given, dpop=sdk.DpopKey.generate()) as tpp:
        tokens = consent_of(tpp, stack, bank).tokens

    with sdk.Tpp(stack["base_url"], **given) as thief, pytest.raises(ApiError) as caught:
        list(thief.consent(tokens).accounts())

    assert caught.value.status == 401


def test_the_keys_of_the_readme_example_are_accepted(
    operator: bootstrap.Hub,
    stack: dict[str, Any],
    bank: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    making, using = (example for example in EXAMPLES if "DpopKey" in example)
    monkeypatch.chdir(tmp_path)
    given: dict[str, Any] = {}

    exec(making, given)  # noqa: S102 - our own document
    made = operator.openbanking.clients.create(
        owner="sdk@example.com", title="Keys", callback_urls=[callback_of(stack)]
    )
    jwks = json.loads((tmp_path / "jwks.json").read_text())
    operator.openbanking.clients.update(
        made.client.client_id, security={"auth_method": "private_key_jwt", "jwks": jwks, "security_profile": "fapi2"}
    )
    program = using.replace("https://hub.example", stack["base_url"]).replace('"client"', repr(made.client.client_id))
    exec(program, given)  # noqa: S102 - our own document

    with given["tpp"] as tpp:
        assert list(consent_of(tpp, stack, bank).accounts())


def test_the_asynchronous_sdk_client_supports_client_keys(
    operator: bootstrap.Hub, stack: dict[str, Any], bank: dict[str, Any], assertion: sdk.PrivateKeyJwt
) -> None:
    client_id, key = registered(operator, stack, assertion.jwks, **CLIENTS["fapi2"]), sdk.DpopKey.generate()
    given: Any = {"client_id": client_id, "assertion": assertion, "dpop": key}
    with sdk.Tpp(stack["base_url"], **given) as tpp:
        tokens = consent_of(tpp, stack, bank).tokens

    async def run() -> tuple[int, sdk.Tokens]:
        async with sdk.AsyncTpp(stack["base_url"], **given) as tpp:
            consent = tpp.consent(tokens)
            return len([one async for one in consent.accounts()]), await consent.refresh()

    count, renewed = asyncio.run(run())
    assert count > 0
    assert (renewed.token_type, renewed.access_token != tokens.access_token) == ("DPoP", True)
