"""Who calls during the run: a TPP with a bearer at each demonstration bank, and the banks themselves, which sign."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

import requests
from requests.auth import AuthBase

from chalicelib import bootstrap
from chalicelib.foundation.settings import Settings
from chalicelib.foundation.signatures import load_private_key, sign
from chalicelib.openbanking.authorizations import Authorization, authorization_key, identify
from chalicelib.openbanking.consents import Consent, consent_key
from chalicelib.openbanking.protocol import own_answers, v1, v2
from chalicelib.openbanking.protocol.bank_calls import InitAuthorization, PaymentsStatus, RevokeToken
from chalicelib.openbanking.protocol.meanings import OWN_ADDRESS
from chalicelib.openbanking.protocol.scopes import SCOPES
from chalicelib.openbanking.protocol.tpp_calls import TokenRequest
from chalicelib.website.descriptions import DOCUMENTS, description
from infra.openapi import models
from infra.tour.browser import Browser, approve


@dataclass(frozen=True)
class Scene:
    """What the run needs of the stack; plain values, since it goes to other processes.

    Attributes:
        bearers: access tokens by version.
        bank_keys: API key and signing key (PEM) by version.
        real: what stands in the place of the examples' made-up values, by document.
    """

    base: str
    client_id: str
    bearers: Mapping[int, str]
    bank_keys: Mapping[int, tuple[str, str]]
    real: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def document(self, name: str) -> dict[str, Any]:
        """A document whose examples name what there is on this stack."""
        text = description(name, self.base).text
        for made_up, real in self.real.get(name, {}).items():
            text = text.replace(json.dumps(made_up, ensure_ascii=False)[1:-1], json.dumps(real)[1:-1])
        found: dict[str, Any] = json.loads(text)
        return found


def prepare(stack: Mapping[str, Any]) -> Scene:
    """Have a PSU approve everything at both demonstration banks, and find out what can be asked about there."""
    tpp = _Tpp(stack)
    names = {bank["api_version"]: bank["bic"] for bank in stack["banks"]}
    everything = {version: list(scopes) for version, scopes in SCOPES.items()}
    bearers = {version: tpp.tokens(bic, everything[version])["access_token"] for version, bic in names.items()}
    real = {f"bank-v{version}": tpp.at_bank(bic, version, bearers[version]) for version, bic in names.items()}
    real["tpp"] = tpp.own(names[1], everything[1], bearers[1])
    assert real.keys() == set(DOCUMENTS)
    return Scene(stack["base_url"], stack["client"]["client_id"], bearers, _bank_keys(stack), real)


class _Tpp:
    """The client, at work before the run."""

    def __init__(self, stack: Mapping[str, Any]) -> None:
        self._base, self._client = stack["base_url"], stack["client"]
        self._hub = bootstrap.Hub(Settings.from_environment(stack["environment"]))

    def tokens(self, bic: str, scopes: list[str]) -> dict[str, Any]:
        """The tokens of a new consent."""
        return self._call("POST", "/tpp/token", {"authorization_code": self._code(bic, scopes)})

    def at_bank(self, bic: str, version: int, bearer: str) -> dict[str, str]:
        """What a bank's calls are about: an open request, a token that may be revoked, a payment, a way back."""
        scopes = [next(iter(SCOPES[version]))]
        token = self._bank_token(self.tokens(bic, scopes)["consent_id"])
        example: Any = (v1 if version == 1 else v2).SinglePayment
        payment = self._call("POST", "/tpp/payment_initiation", self._paid(models.example(example)), bearer)
        secret = self._cancel_secret(self._ask(bic, scopes)["state"])
        return {
            _example(InitAuthorization, "request_url"): self._ask(bic, scopes)["redirect_url"],
            _example(RevokeToken, "access_token"): token,
            _example(PaymentsStatus, "payment_id"): payment["payment_id"],
            _example(own_answers.InitAuthorizationAnswer, "cancel_url").rpartition("/")[2]: secret,
        }

    def own(self, bic: str, scopes: list[str], bearer: str) -> dict[str, str]:
        """What a TPP's calls are about, at a bank of version 1."""
        account = _example(v1.AccountRequest, "account_id")
        listed = self._call("GET", f"/tpp/account_payments?account_id={account}", bearer=bearer)["payments"]
        payment = self._call("POST", "/tpp/payment_initiation", self._paid(models.example(v1.SinglePayment)), bearer)
        return {
            _example(TokenRequest, "authorization_code"): self._code(bic, scopes),
            _example(TokenRequest, "refresh_token"): self.tokens(bic, scopes)["refresh_token"],
            _example(TokenRequest, "client_id"): self._client["client_id"],
            _example(v1.PaymentRequest, "payment_id"): listed[0]["id"],
            _example(PaymentsStatus, "payment_id"): payment["payment_id"],
        }

    # -- inside

    def _ask(self, bic: str, scopes: list[str]) -> dict[str, Any]:
        return self._call("POST", "/tpp/authorize", {"bic": bic, "scopes": scopes})

    def _code(self, bic: str, scopes: list[str]) -> str:
        browser = Browser(self._client["callback_url"], lambda *_: None)
        callback = approve(browser, self._ask(bic, scopes)["redirect_url"])
        return parse_qs(urlsplit(callback).query)["code"][0]

    def _paid(self, order: dict[str, Any]) -> dict[str, Any]:
        return order | {"callback_url": order["callback_url"].replace(OWN_ADDRESS, self._base)}

    def _bank_token(self, consent_id: str) -> str:
        item = self._hub.store.get(*consent_key(consent_id))
        assert item is not None
        return self._hub.consents.bank_token(Consent.from_item(item))

    def _cancel_secret(self, state: str) -> str:
        item = self._hub.store.get(*authorization_key(identify(self._client["client_id"], state)))
        assert item is not None
        return self._hub.authorizations.cancel_credential(Authorization.from_item(item))

    def _call(self, method: str, path: str, body: Any = None, bearer: str = "") -> dict[str, Any]:
        headers = {"X-Api-Key": self._client["client_id"]} | ({"Authorization": f"Bearer {bearer}"} if bearer else {})
        answer = requests.request(method, f"{self._base}{path}", json=body, headers=headers, timeout=30)
        assert answer.status_code == 200, f"{method} {path}: {answer.text}"
        found: dict[str, Any] = answer.json()
        return found


def _example(model: Any, member: str) -> str:
    example: str = models.meaning(model, member)[1]
    return example


def _bank_keys(stack: Mapping[str, Any]) -> dict[int, tuple[str, str]]:
    hub = bootstrap.Hub(Settings.from_environment(stack["environment"]))
    kept = hub.secrets.get(hub.settings.demo_banks_secret).values()
    versions = {bank["bic"][:8]: bank["api_version"] for bank in stack["banks"]}
    return {versions[bank["bic"][:8]]: (bank["api_key"], bank["signing_key"]) for bank in kept}


class TppCredentials(AuthBase):
    """Client ID and, where the operation takes one, the bearer of one version."""

    def __init__(self, scene: Scene, version: int) -> None:
        self._headers = {"X-Api-Key": scene.client_id, "Authorization": f"Bearer {scene.bearers[version]}"}

    def for_operation(self, security: list[dict[str, Any]], *, with_bearer: bool) -> TppCredentials:
        """Only what the operation asks for."""
        kept = {"X-Api-Key"} | (
            {"Authorization"} if with_bearer and any("bearer" in each for each in security) else set()
        )
        self._headers = {name: value for name, value in self._headers.items() if name in kept}
        return self

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        request.headers.pop("Authorization", None)
        request.headers.update(self._headers)
        return request


class BankCredentials(AuthBase):
    """The bank's key, and its signature of exactly what is sent."""

    def __init__(self, scene: Scene, version: int) -> None:
        self._key, pem = scene.bank_keys[version]
        self._signing_key = load_private_key(pem)

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        body = request.body or b""
        request.headers["X-Api-Key"] = self._key
        request.headers["X-Signature"] = sign(self._signing_key, body.encode() if isinstance(body, str) else body)
        return request
