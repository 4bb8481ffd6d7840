"""Signatures match the documentation, and the keys of the hub are cached."""

import asyncio
import re

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from causeway.bank import ConfigurationError, ConnectionLost, HubKeys, Signer, key_id, verify
from causeway.bank.signatures import read_keys
from tests.kit.documents import ROOT
from tests.sdk.bank.full_bank import KEY, private_pem, public_pem
from tests.sdk.bank.harness import HUB_KEY, OTHER_KEY, sign
from tests.sdk.scripted_hub import Clock

BODY = b'{"account_id": "1"}'


class Published:
    def __init__(self, *keys: rsa.RSAPrivateKey) -> None:
        self.keys, self.fetches, self.status = list(keys), 0, 200
        self.failures: list[httpx.Response | httpx.HTTPError] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.fetches += 1
        if self.failures:
            failure = self.failures.pop(0)
            if isinstance(failure, httpx.HTTPError):
                raise failure
            return failure
        return httpx.Response(self.status, text="\n".join(map(public_pem, self.keys)))

    def hub_keys(self) -> HubKeys:
        return HubKeys(httpx.AsyncClient(transport=httpx.MockTransport(self)), "https://hub.example/bank/public_key")


def test_the_signature_of_the_documented_example_is_verified() -> None:
    text = (ROOT / "docs/concepts/bank-integration.md").read_text("utf-8")
    (key,) = read_keys(text.encode())
    vector = re.findall(r"printf '%s' '(.+)' >", text)

    assert verify([key], vector[0].encode(), vector[1])
    assert key_id(key) == "dde41c952786e949"
    assert not verify([key], vector[0].encode() + b"\n", vector[1])


def test_a_signature_by_the_bank_is_verified_with_the_bank_public_key() -> None:
    signer = Signer(private_pem(KEY))

    assert verify([OTHER_KEY.public_key(), KEY.public_key()], BODY, signer.sign(BODY))
    assert signer.key_id == key_id(KEY.public_key())


@pytest.mark.parametrize("signature", ["", "no base64!", "AAAA", "é", sign(BODY, OTHER_KEY), sign(BODY + b"\n")])
def test_a_wrong_signature_is_rejected(signature: str) -> None:
    assert not verify([HUB_KEY.public_key()], BODY, signature)


def test_an_unsupported_signing_key_is_rejected() -> None:
    curve = ec.generate_private_key(ec.SECP256R1())
    pem = curve.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    short = private_pem(rsa.generate_private_key(public_exponent=65537, key_size=1024))  # noqa: S505 - it is refused
    for text in (pem, short, b"", "no key"):
        with pytest.raises(ConfigurationError):
            Signer(text)


def test_the_keys_of_the_hub_are_requested_once_a_minute(clock: Clock) -> None:
    published = Published(HUB_KEY)
    keys = published.hub_keys()

    async def verified() -> bool:
        return await keys.verify(BODY, sign(BODY))

    for seconds, fetches in ((0, 1), (59, 1), (2, 2)):
        clock.seconds += seconds
        assert asyncio.run(verified())
        assert published.fetches == fetches


def test_a_new_hub_key_is_accepted_immediately_and_a_withdrawn_key_is_rejected_after_a_request(clock: Clock) -> None:
    published = Published(HUB_KEY)
    keys = published.hub_keys()
    assert asyncio.run(keys.verify(BODY, sign(BODY)))

    clock.seconds += 2
    published.keys = [OTHER_KEY]

    assert asyncio.run(keys.verify(BODY, sign(BODY, OTHER_KEY)))
    assert not asyncio.run(keys.verify(BODY, sign(BODY)))


def test_wrong_signatures_cause_at_most_one_key_request_per_second(clock: Clock) -> None:
    published = Published(HUB_KEY)
    keys = published.hub_keys()

    async def many() -> list[bool]:
        return await asyncio.gather(*(keys.verify(BODY, sign(BODY, OTHER_KEY)) for _ in range(20)))

    assert not any(asyncio.run(many()))
    assert published.fetches == 1
    clock.seconds += 1
    assert not any(asyncio.run(many()))
    assert published.fetches == 2


def test_unavailable_hub_keys_raise_connection_lost(clock: Clock) -> None:
    published = Published(HUB_KEY)
    published.status = 503
    with pytest.raises(ConnectionLost):
        asyncio.run(published.hub_keys().verify(BODY, sign(BODY)))


def test_keys_returned_after_a_redirect_are_rejected(clock: Clock) -> None:
    def moved(request: httpx.Request) -> httpx.Response:
        if request.url.host == "hub.example":
            return httpx.Response(302, headers={"Location": "http://elsewhere.example/key"})
        return httpx.Response(200, text=public_pem(OTHER_KEY))

    client = httpx.AsyncClient(transport=httpx.MockTransport(moved), follow_redirects=True)
    keys = HubKeys(client, "https://hub.example/bank/public_key")

    with pytest.raises(ConnectionLost, match="302"):
        asyncio.run(keys.verify(BODY, sign(BODY, OTHER_KEY)))


def test_malformed_hub_keys_raise_connection_lost(clock: Clock) -> None:
    broken = "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----"
    client = httpx.AsyncClient(transport=httpx.MockTransport(lambda _: httpx.Response(200, text=broken)))

    with pytest.raises(ConnectionLost, match="read"):
        asyncio.run(HubKeys(client, "https://hub.example/bank/public_key").verify(BODY, sign(BODY)))


@pytest.mark.parametrize("failure", [httpx.ReadError("cut"), httpx.Response(502), httpx.Response(200, text="<html>")])
def test_a_failed_request_for_hub_keys_is_retried(clock: Clock, failure: httpx.Response | httpx.HTTPError) -> None:
    published = Published(HUB_KEY)
    published.failures = [failure]

    assert asyncio.run(published.hub_keys().verify(BODY, sign(BODY)))

    assert published.fetches == 2
    assert 0 < sum(clock.slept) < 1


def test_a_response_without_keys_does_not_replace_the_cached_keys(clock: Clock) -> None:
    published = Published(HUB_KEY)
    keys = published.hub_keys()
    assert asyncio.run(keys.verify(BODY, sign(BODY)))
    clock.seconds += 61

    published.failures = [httpx.Response(200, text="<html>") for _ in range(3)]
    with pytest.raises(ConnectionLost):
        asyncio.run(keys.verify(BODY, sign(BODY)))

    assert asyncio.run(keys.verify(BODY, sign(BODY)))
