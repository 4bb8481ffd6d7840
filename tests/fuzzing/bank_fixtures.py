"""Data for generated requests: consents, accounts and payments at both demonstration banks of a running stack.

Examples in the OpenAPI documents contain made-up tokens, URLs and payments, which these real values replace.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

from chalicelib import bootstrap
from chalicelib.foundation.settings import Settings
from chalicelib.openbanking.protocol import own_answers
from chalicelib.openbanking.protocol import v1_account_messages as v1
from chalicelib.openbanking.protocol import v2_account_messages as v2
from chalicelib.openbanking.protocol.bank_calls import DailyPerformance, InitAuthorization, PaymentsStatus, RevokeToken
from chalicelib.openbanking.protocol.tpp_calls import TokenRequest
from chalicelib.openbanking.protocol.versions import VERSIONS
from chalicelib.openbanking.records.authorization_requests import (
    AuthorizationRequest,
    authorization_key,
    compute_authorization_id,
)
from chalicelib.openbanking.records.consents import Consent, consent_key
from infra.local.http_session import new_session
from infra.psu_browser import Browser, approve_consent
from infra.render.openapi.example_values import OWN_ADDRESS
from infra.render.openapi.models import Model, example, member_example, model_of
from tests.patience import PATIENCE_SECONDS

Json = dict[str, Any]


class PreparationFailed(Exception):
    """The stack sent an unexpected response, which the message quotes."""


@dataclass(frozen=True, slots=True)
class BankFixtures:
    """Data of one bank. Each token belongs to a different consent, so using one does not affect the others.

    Attributes:
        access_token: a bearer with every scope.
        refresh_token: an unused refresh token.
        authorization_code: a code that has not been exchanged.
        bank_token: the bank's token for a consent that may be revoked.
        request_url: the URL of an open authorization request.
        cancel_secret: the last segment of the ``cancel_url`` of another open request.
        payment_id: an initiated payment.
        request_id: a deferred call.
        listed_payment_id: a payment in the account's history; version 1 only.
        api_key: the bank's API key.
        signing_key: the bank's private key, PEM.
        day: yesterday, a valid day for a performance report.
    """

    version: int
    bic: str
    access_token: str
    refresh_token: str
    authorization_code: str
    bank_token: str
    request_url: str
    cancel_secret: str
    payment_id: str
    request_id: str
    listed_payment_id: str
    account_id: str
    iban: str
    api_key: str
    signing_key: str
    day: str

    def placeholders(self) -> dict[str, str]:
        """Maps each placeholder in the examples to the attribute that contains the real value."""
        names = {_example(model, member): name for name, (model, member) in _MADE_UP.items()}
        cancel_url = _example(model_of(own_answers.InitAuthorizationAnswer), "cancel_url")
        account = _ACCOUNTS[self.version]
        asked = VERSIONS[self.version].relayed["account"].request
        return names | {
            cancel_url.rpartition("/")[2]: "cancel_secret",
            _example(asked, "account_id"): "account_id",
            _example(account, "iban"): "iban",
        }


_ACCOUNTS: Mapping[int, Model] = {1: v1.Account, 2: v2.AccountReference}
_MADE_UP: Mapping[str, tuple[Model, str]] = {
    "access_token": (model_of(own_answers.TokenAnswer), "access_token"),
    "authorization_code": (TokenRequest, "authorization_code"),
    "refresh_token": (TokenRequest, "refresh_token"),
    "bank_token": (RevokeToken, "access_token"),
    "request_url": (InitAuthorization, "request_url"),
    "payment_id": (PaymentsStatus, "payment_id"),
    "request_id": (model_of(own_answers.Accepted), "request_id"),
    "day": (DailyPerformance, "date"),
    "listed_payment_id": (v1.PaymentRequest, "payment_id"),
}


def _example(model: Model, member: str) -> str:
    found: str = member_example(model, member)
    return found


def prepare(stack: Mapping[str, Any]) -> dict[int, BankFixtures]:
    """Act as the TPP and the PSU at both banks of a running stack; the process must have the stack's environment.

    Returns the data by protocol version.

    Raises:
        PreparationFailed, NavigationFailed.
    """
    tpp = _Tpp(stack)
    return {bank["api_version"]: tpp.prepare_bank(bank) for bank in stack["banks"]}


class _Tpp:
    """Makes calls as the stack's client."""

    def __init__(self, stack: Mapping[str, Any]) -> None:
        self._base: str = stack["base_url"]
        self._client = stack["client"]
        self._hub = bootstrap.Hub(Settings.from_environment(stack["environment"]))

    def prepare_bank(self, bank: Mapping[str, Any]) -> BankFixtures:
        """Create the data for one bank."""
        version, bic = bank["api_version"], bank["bic"]
        bearer = self._tokens(bic, list(VERSIONS[version].scopes))["access_token"]
        few = [next(iter(VERSIONS[version].scopes))]
        account = self._call("GET", "/tpp/accounts", bearer=bearer)["accounts"][0]
        account_id = account[VERSIONS[version].relayed["accounts"].account_id or ""]
        kept = self._hub.secrets.get(self._hub.settings.demo_banks_secret).values()
        keys = next(entry for entry in kept if bic.startswith(entry["bic"]) or entry["bic"].startswith(bic))
        return BankFixtures(
            version=version,
            bic=bic,
            access_token=bearer,
            refresh_token=self._tokens(bic, few)["refresh_token"],
            authorization_code=self._code(bic, few),
            bank_token=self._bank_token(self._tokens(bic, few)["consent_id"]),
            request_url=self._ask(bic, few)["redirect_url"],
            cancel_secret=self._cancel_secret(self._ask(bic, few)["state"]),
            payment_id=self._payment(version, bearer),
            request_id=self._accepted_request_id(bearer),
            listed_payment_id=self._listed_payment_id(version, account_id, bearer),
            account_id=account_id,
            iban=account["iban"],
            api_key=keys["api_key"],
            signing_key=keys["signing_key"],
            day=(self._hub.clock.now() - timedelta(days=1)).date().isoformat(),
        )

    # -- inside

    def _ask(self, bic: str, scopes: list[str]) -> Json:
        return self._call("POST", "/tpp/authorize", {"bic": bic, "scopes": scopes})

    def _code(self, bic: str, scopes: list[str]) -> str:
        browser = Browser(self._client["callback_url"], lambda *_: None)
        callback = approve_consent(browser, self._ask(bic, scopes)["redirect_url"])
        return parse_qs(urlsplit(callback).query)["code"][0]

    def _tokens(self, bic: str, scopes: list[str]) -> Json:
        return self._call("POST", "/tpp/token", {"authorization_code": self._code(bic, scopes)})

    def _payment(self, version: int, bearer: str) -> str:
        order = example(VERSIONS[version].payments["single"].request)
        order["callback_url"] = order["callback_url"].replace(OWN_ADDRESS, self._base)
        payment_id: str = self._call("POST", "/tpp/payment_initiation", order, bearer)["payment_id"]
        return payment_id

    def _accepted_request_id(self, bearer: str) -> str:
        request_id: str = self._call("GET", "/tpp/accounts", bearer=bearer, later=True)["request_id"]
        return request_id

    def _listed_payment_id(self, version: int, account_id: str, bearer: str) -> str:
        if "account_payments" not in VERSIONS[version].relayed:
            return ""
        found = self._call("GET", f"/tpp/account_payments?account_id={account_id}", bearer=bearer)["payments"]
        return str(found[0]["id"])

    def _bank_token(self, consent_id: str) -> str:
        item = self._hub.store.get(*consent_key(consent_id))
        assert item is not None, "the consent was made a moment ago"
        return self._hub.openbanking.consents.bank_token(Consent.from_item(item))

    def _cancel_secret(self, state: str) -> str:
        item = self._hub.store.get(*authorization_key(compute_authorization_id(self._client["client_id"], state)))
        assert item is not None, "the request was made a moment ago"
        return self._hub.openbanking.authorization_requests.cancel_credential(AuthorizationRequest.from_item(item))

    def _call(self, method: str, path: str, body: Any = None, bearer: str = "", *, later: bool = False) -> Json:
        headers = {"X-Api-Key": self._client["client_id"]} | ({"Authorization": f"Bearer {bearer}"} if bearer else {})
        headers |= {"Prefer": "respond-async"} if later else {}
        with new_session() as session:
            answer = session.request(
                method, f"{self._base}{path}", json=body, headers=headers, timeout=PATIENCE_SECONDS
            )
        if answer.status_code != (202 if later else 200):
            raise PreparationFailed(f"{method} {path} got status {answer.status_code}: {answer.text}")
        found: Json = answer.json()
        return found
