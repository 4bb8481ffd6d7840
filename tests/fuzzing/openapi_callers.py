"""The TPP and the banks that send generated requests to a running stack, and the test data used in the requests."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import requests
from requests.auth import AuthBase

from chalicelib import bootstrap
from chalicelib.foundation.crypto.signatures import load_private_key, sign
from chalicelib.foundation.settings import Settings
from chalicelib.openbanking.protocol import own_answers, tpp_calls
from chalicelib.openbanking.protocol import v1_account_messages as v1
from chalicelib.openbanking.protocol import v2_account_messages as v2
from chalicelib.openbanking.protocol.bank_calls import DailyPerformance, InitAuthorization, PaymentsStatus, RevokeToken
from chalicelib.openbanking.protocol.tpp_calls import TokenRequest
from chalicelib.openbanking.protocol.version import Version
from chalicelib.openbanking.protocol.versions import VERSIONS
from chalicelib.openbanking.records.authorization_requests import (
    AuthorizationRequest,
    authorization_key,
    compute_authorization_id,
)
from chalicelib.openbanking.records.consents import Consent, consent_key
from chalicelib.website.openapi_documents import load_document
from infra.render.openapi.example_values import OWN_ADDRESS
from infra.render.openapi.models import Model, example, member_example, model_of
from tests.e2e.parties import Tpp

Json = dict[str, Any]
_ACCOUNTS: Mapping[int, Model] = {1: v1.Account, 2: v2.AccountReference}
_UNIFIED = "/tpp/unified/"
_SIMPLE_PATTERNS = {
    "^[^\\u0000": "^[ -~À-ÿ一-丐]*$",
    "^[^\\u0020": "^[A-Za-zÀ-Ö]*$",
    "^ *[^ ": "^[A-Za-zÀ-Ö][A-Za-zÀ-Ö '.-]*$",
}
"""Simple patterns that replace patterns of almost all characters. The key is the beginning of the replaced pattern."""
_IBANS = [
    "GB10DEMO04000431926801",
    "GB53 DEMO 0400 0440 7182 04",
    "de61100999000004711001",
    "FR1420041010050500013M02606",
]
_AMOUNTS = [
    {"type": "string", "pattern": r"^[1-9][0-9]{0,5}(?:\.[0-9]{1,2})?$"},
    {"type": "integer", "minimum": 1, "maximum": 999999},
]


@dataclass(frozen=True, slots=True)
class AtBank:
    """Test data of one bank. Each token has its own consent, so using one token does not affect another token.

    Attributes:
        access_token: a bearer token with every scope.
        signing_key: the bank's private key, PEM.
        examples: maps each example in the documents to a token, URL or payment of the stack.
    """

    bic: str
    access_token: str
    account_id: str
    api_key: str
    signing_key: str
    examples: Mapping[str, str]


@dataclass(frozen=True)
class Callers:
    """A TPP with a bearer token at each bank, and the banks by protocol version. All values can be pickled for other
    processes.
    """

    base_url: str
    client_id: str
    banks: Mapping[int, AtBank]

    def document(self, name: str) -> Json:
        """Return a document in which the ids and URLs of this stack replace the examples."""
        values = dict(self.banks[2 if name == "bank-v2" else 1].examples)
        values[member_example(tpp_calls.TokenRequest, "client_id")] = self.client_id
        text = load_document(name, self.base_url).text
        for documented, value in values.items():
            text = text.replace(json.dumps(documented)[1:-1], json.dumps(value)[1:-1])
        found: Json = json.loads(text, object_hook=_simplify)
        if name == "tpp":
            self._narrow(found)
        return found

    def _narrow(self, document: Json) -> None:
        """Limit members to values that this stack accepts, so that most generated orders reach the banks."""
        schemas = document["components"]["schemas"]
        del document["components"]["parameters"]["IdempotencyKey"]["example"]  # the first request would use it up
        self._narrow_account_ids(document)
        schemas["Currency"]["enum"] = ["EUR", "GBP", "PLN", "SEK", "USD"]
        for schema in schemas.values():
            if "callback_url" in schema.get("properties", ()):
                schema["properties"]["callback_url"]["pattern"] = f"^{re.escape(self.base_url)}/[a-z]{{0,9}}$"
                if "bic" in schema["properties"]:
                    schema["properties"]["bic"] = {"enum": [*(bank.bic for bank in self.banks.values()), "NOSUCHXX"]}

    def _narrow_account_ids(self, document: Json) -> None:
        """Limit the accounts of unified reads to one of each bank, and an unknown one."""
        accounts = {"enum": [*(bank.account_id for bank in self.banks.values()), "4711 /%?#"]}
        for path, item in document["paths"].items():
            for parameter in item["get"]["parameters"] if path.startswith(_UNIFIED) and "get" in item else ():
                if parameter.get("name") == "account_id":
                    parameter["schema"] = accounts


def _simplify(schema: Json) -> Json:
    """Simplify a schema, so that values of the schema are fast to generate and mostly valid.

    Texts consist of few characters, and IBANs are valid. Amounts have a limited number of digits, which JSON Schema
    cannot express.
    """
    pattern = schema.get("pattern")
    if schema.get("format") == "iban":
        return {"enum": [*_IBANS, None] if "null" in schema["type"] else _IBANS}
    if not isinstance(pattern, str):
        return schema
    if pattern.startswith("^(?=.*[1-9])"):
        return {"anyOf": _AMOUNTS}
    simple = (each for begin, each in _SIMPLE_PATTERNS.items() if pattern.startswith(begin))
    return schema | {"pattern": next(simple, pattern)}


class NoCredentials(AuthBase):
    """Credentials that add nothing to the generated headers."""

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        request.body = request.body or None  # requests would send an empty text in chunks
        request.prepare_content_length(request.body)
        return request


class TppCredentials(NoCredentials):
    def __init__(self, callers: Callers, version: int, security: Sequence[Json], *, with_bearer: bool) -> None:
        self._headers = {"X-Api-Key": callers.client_id}
        if with_bearer and any("bearer" in each for each in security):
            self._headers["Authorization"] = f"Bearer {callers.banks[version].access_token}"

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        request.headers.pop("Authorization", None)
        request.headers.update(self._headers)
        return super().__call__(request)


class BankCredentials(NoCredentials):
    """Credentials of a bank: the API key, and a signature of the exact bytes of the body."""

    def __init__(self, bank: AtBank) -> None:
        self._key, self._signing_key = bank.api_key, load_private_key(bank.signing_key)

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        body = request.body or b""
        request.headers["X-Api-Key"] = self._key
        request.headers["X-Signature"] = sign(self._signing_key, body.encode() if isinstance(body, str) else body)
        return super().__call__(request)


def prepare_callers(stack: Mapping[str, Any]) -> Callers:
    """Create a TPP with consents by acting as the TPP and the PSU at both banks.

    The process must have the stack's environment variables.

    Raises:
        KeyError, NavigationFailed.
    """
    hub, client = bootstrap.Hub(Settings.from_environment(stack["environment"])), stack["client"]
    tpp = Tpp(stack["base_url"], client["client_id"], client["callback_url"])
    banks = {bank["api_version"]: _prepare_bank(hub, tpp, bank) for bank in stack["banks"]}
    return Callers(tpp.base, tpp.client_id, banks)


def _prepare_bank(hub: bootstrap.Hub, tpp: Tpp, bank: Mapping[str, Any]) -> AtBank:
    version, bic = VERSIONS[bank["api_version"]], bank["bic"]
    one_scope = [next(iter(version.scopes))]
    bearer = _tokens(tpp, bank, list(version.scopes))["access_token"]
    account = tpp.call("GET", "/tpp/accounts", bearer=bearer).json()["accounts"][0]
    account_id = account[version.relayed["accounts"].account_id or ""]
    secrets = hub.secrets.get(hub.settings.demo_banks_secret).values()
    keys = next(each for each in secrets if bic.startswith(each["bic"]) or each["bic"].startswith(bic))
    cancel_url = member_example(model_of(own_answers.InitAuthorizationAnswer), "cancel_url")
    accepted = tpp.call("GET", "/tpp/accounts", bearer=bearer, headers={"Prefer": "respond-async"}).json()
    examples = {
        member_example(model_of(own_answers.TokenAnswer), "access_token"): bearer,
        member_example(TokenRequest, "authorization_code"): tpp.journey(bank, one_scope).code,
        member_example(TokenRequest, "refresh_token"): _tokens(tpp, bank, one_scope)["refresh_token"],
        member_example(RevokeToken, "access_token"): _bank_token(hub, _tokens(tpp, bank, one_scope)["consent_id"]),
        member_example(InitAuthorization, "request_url"): _authorize(tpp, bic, one_scope)["redirect_url"],
        member_example(PaymentsStatus, "payment_id"): _payment_id(tpp, version, bearer),
        member_example(model_of(own_answers.Accepted), "request_id"): accepted["request_id"],
        member_example(DailyPerformance, "date"): (hub.clock.now() - timedelta(days=1)).date().isoformat(),
        member_example(v1.PaymentRequest, "payment_id"): _listed_payment_id(tpp, version, account_id, bearer),
        cancel_url.rpartition("/")[2]: _cancel_secret(hub, tpp.client_id, _authorize(tpp, bic, one_scope)["state"]),
        member_example(version.relayed["account"].request, "account_id"): account_id,
        member_example(_ACCOUNTS[bank["api_version"]], "iban"): account["iban"],
    }
    return AtBank(bic, bearer, account_id, keys["api_key"], keys["signing_key"], examples)


def _authorize(tpp: Tpp, bic: str, scopes: list[str]) -> Json:
    answer: Json = tpp.call("POST", "/tpp/authorize", {"bic": bic, "scopes": scopes}).json()
    return answer


def _tokens(tpp: Tpp, bank: Mapping[str, Any], scopes: list[str]) -> Json:
    answer: Json = tpp.redeem(tpp.journey(bank, scopes).code).json()
    return answer


def _payment_id(tpp: Tpp, version: Version, bearer: str) -> str:
    order = example(version.payments["single"].request)
    order["callback_url"] = order["callback_url"].replace(OWN_ADDRESS, tpp.base)
    return str(tpp.call("POST", "/tpp/payment_initiation", order, bearer).json()["payment_id"])


def _listed_payment_id(tpp: Tpp, version: Version, account_id: str, bearer: str) -> str:
    """Return a payment id from the account's history, or an empty string for version 2, which has no history."""
    if "account_payments" not in version.relayed:
        return ""
    answer = tpp.call("GET", f"/tpp/account_payments?account_id={account_id}", bearer=bearer)
    return str(answer.json()["payments"][0]["id"])


def _bank_token(hub: bootstrap.Hub, consent_id: str) -> str:
    item = hub.store.get(*consent_key(consent_id))
    assert item is not None, "the consent was created a moment ago"
    return hub.openbanking.consents.bank_token(Consent.from_item(item))


def _cancel_secret(hub: bootstrap.Hub, client_id: str, state: str) -> str:
    """Return the last segment of the ``cancel_url`` of an open authorization request."""
    item = hub.store.get(*authorization_key(compute_authorization_id(client_id, state)))
    assert item is not None, "the request was created a moment ago"
    return hub.openbanking.authorization_requests.cancel_credential(AuthorizationRequest.from_item(item))
