"""A Postman collection (format 2.1) of the documented requests: a folder for each party at each bank.

The data of the stack are collection variables, except in calls from banks: these are signed over their exact bytes
and therefore contain literal values.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from chalicelib.foundation.crypto.signatures import load_private_key, sign
from chalicelib.foundation.identifiers import new_uuid
from chalicelib.openbanking.protocol.bank_calls import BANK_CALLS
from chalicelib.openbanking.protocol.tpp_calls import PaymentStatusQuery, ScopeQuery, TokenRequest
from chalicelib.openbanking.protocol.versions import VERSIONS
from chalicelib.openbanking.protocol.webhooks import PAYMENTS, RELAYED, STATUS_PATH
from infra.postman import cards
from infra.postman.fixtures import BankFixtures
from infra.postman.request import Json, PostmanRequest
from infra.render.openapi.metadata_meanings import OWN_ADDRESS
from infra.render.openapi.models import example, meaning
from infra.render.openapi.own_calls import FRONT_DOOR, OWN_CALLS, PUBLIC_KEY

_FORMAT = "https://schema.getpostman.com/json/collection/v2.1.0/collection.json"
_AUTHORIZING = ("/tpp/authorize", "/oauth/par")
_FORM = "application/x-www-form-urlencoded"
_REVOKE = "/tpp/token/revoke"
_HEADERS: Mapping[str, str] = {
    "X-Request-Id": "{{$guid}}",
    "Idempotency-Key": "{{$guid}}",
    "PSU-IP-Address": "203.0.113.7",
}
_ASYNC = {"Prefer": "respond-async"}
_INTRODUCTION = (
    "Created by `make postman` from the OpenAPI documents, with data from the running stack: tokens valid for an hour, "
    "accounts, payments, a programme manager's credential. Run the folders from top to bottom; codes and refresh "
    "tokens can be used only once, so run `make postman` again before a second run."
)


def build(
    documents: Mapping[str, Json],
    base: str,
    client_id: str,
    banks: Mapping[int, BankFixtures],
    credential: Mapping[str, str],
) -> Json:
    """Build the collection.

    Args:
        documents: the OpenAPI documents by name.
        base: the base URL of the stack.
        credential: the three parts of a programme manager's credential.
    """
    variables = {"base_url": base, "client_id": client_id}
    folders = [_folder("Without credentials", _public(documents["tpp"], documents["bank-v1"]))]
    for version, bank in banks.items():
        variables |= {
            f"{name}_{version}": getattr(bank, name) for name in ("bic", "api_key", *bank.placeholders().values())
        }
        requests = _TppRequests(documents["tpp"], bank)
        folders.append(_folder(f"TPP at {bank.name} (version {version})", requests.all()))
        calls = _BankRequests(documents[f"bank-v{version}"], bank, base)
        folders.append(_folder(f"{bank.name} calls the service (version {version})", calls.all()))
    variables |= credential
    folders.append(_folder("Cards", cards.requests(documents["cards"])))
    return {
        "info": {"name": "Causeway", "description": _INTRODUCTION, "schema": _FORMAT},
        "item": folders,
        "variable": [{"key": name, "value": value} for name, value in variables.items()],
    }


def environment(base: str, client_id: str) -> Json:
    """The collection's environment: the base URL and the client ID."""
    values = {"base_url": base, "client_id": client_id}
    return {
        "name": "Causeway, local stack",
        "values": [{"key": name, "value": value, "enabled": True} for name, value in values.items()],
        "_postman_variable_scope": "environment",
    }


def _folder(name: str, requests: Iterator[PostmanRequest]) -> Json:
    return {"name": name, "item": [request.item() for request in requests]}


def _public(tpp: Json, bank: Json) -> Iterator[PostmanRequest]:
    for call in OWN_CALLS:
        if call.caller == "anybody":
            yield PostmanRequest(tpp["paths"][call.path]["get"], "GET", call.path, {}, {})
    yield PostmanRequest(bank["paths"][PUBLIC_KEY]["get"], "GET", PUBLIC_KEY, {}, {})


class _TppRequests:
    """The TPP's requests at one bank in executable order: the consent is revoked last."""

    def __init__(self, document: Json, bank: BankFixtures) -> None:
        self._document = document
        self._bank = bank
        self._variables = {made_up: f"{{{{{name}_{bank.version}}}}}" for made_up, name in bank.placeholders().items()}
        self._variables |= {OWN_ADDRESS: "{{base_url}}", meaning(TokenRequest, "client_id")[1]: "{{client_id}}"}
        self._bics = {str(meaning(ScopeQuery, "bic")[1]), "DEMOGB21"}

    def all(self) -> Iterator[PostmanRequest]:
        version = self._bank.version
        for call in OWN_CALLS:
            if call.caller not in ("anybody", "confidential client") and call.path != _REVOKE:
                shown = example(call.query) if call.query else {}
                body = ("version_1" if version == 1 and call.path in _AUTHORIZING else "usual") if call.body else ""
                yield self._request(call.method, call.path, shown, body)
        yield self._request("POST", "/tpp/token", {}, "refresh", name="Refresh the tokens")
        yield self._front_door()
        for asked in RELAYED:
            if (webhook := VERSIONS[version].webhook(asked)) is not None:
                shown = example(webhook.request)
                in_query = asked.method == "GET"
                body = "" if in_query else f"version_{version}"
                yield self._request(asked.method, asked.path, shown if in_query else {}, body)
        for payment in PAYMENTS:
            yield self._request("POST", payment.path, {}, f"version_{version}")
        yield self._request("GET", STATUS_PATH, example(PaymentStatusQuery), "")
        later = self._request("GET", RELAYED[0].path, {}, "", name=f"{RELAYED[0].path}, asynchronous")
        yield replace(later, headers={**later.headers, **_ASYNC})
        yield self._request("POST", _REVOKE, {}, "usual")

    # -- inside

    def _request(self, method: str, path: str, query: Mapping[str, Any], body: str, name: str = "") -> PostmanRequest:
        operation = self._document["paths"][path][method.lower()]
        parameters = [_resolve_ref(self._document, each) for each in operation["parameters"]]
        headers = {"X-Api-Key": "{{client_id}}"}
        if any("bearer" in each for each in operation["security"]):
            headers["Authorization"] = f"Bearer {{{{access_token_{self._bank.version}}}}}"
        named = {each["name"] for each in parameters if each["in"] == "header"}
        headers |= {name: value for name, value in _HEADERS.items() if name in named}
        if body:
            headers["Content-Type"] = next(iter(operation["requestBody"]["content"]))
        asked = {key: self._real(value) for key, value in query.items()}
        others = [each["name"] for each in parameters if each["in"] == "query" and each["name"] not in asked]
        content = self._body(operation, body) if body else None
        return PostmanRequest(operation, method, self._place(path), headers, asked, tuple(others), content, name)

    def _place(self, path: str) -> str:
        """The path with variables in place of its parameters."""
        return re.sub(r"\{(.+?)\}", rf"{{{{\1_{self._bank.version}}}}}", path)

    def _front_door(self) -> PostmanRequest:
        operation = self._document["paths"][FRONT_DOOR]["get"]
        scope = next(iter(VERSIONS[self._bank.version].scopes))
        query = {"response_type": "code", "client_id": "{{client_id}}", "scope": scope, "state": "{{$guid}}"}
        return PostmanRequest(operation, "GET", FRONT_DOOR, {}, query | {"bic": self._bank.bic})

    def _body(self, operation: Json, name: str) -> str:
        kind, content = next(iter(operation["requestBody"]["content"].items()))
        shown = content["examples"][name]["value"]
        if "bic" in shown:
            shown = shown | {"bic": f"{{{{bic_{self._bank.version}}}}}"}
        if kind == _FORM:
            return "&".join(f"{key}={self._real(quote(value, safe='{}'))}" for key, value in shown.items())
        return str(self._real(json.dumps(shown, indent=2, ensure_ascii=False)))

    def _real(self, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        if value in self._bics:
            return f"{{{{bic_{self._bank.version}}}}}"
        for made_up, variable in self._variables.items():
            value = value.replace(made_up, variable)
        return value


class _BankRequests:
    """The bank's signed calls. Their request ids are fixed, so running them again returns the same success."""

    def __init__(self, document: Json, bank: BankFixtures, base: str) -> None:
        self._document = document
        self._bank = bank
        self._base = base
        self._key = load_private_key(bank.signing_key)

    def all(self) -> Iterator[PostmanRequest]:
        version = VERSIONS[self._bank.version]
        for call in [call for call in BANK_CALLS if call.name in version.calls and call.name != "revoke_token"]:
            yield self._call(f"{version.base}{call.path}")
        yield self._call(f"{version.base}/token/revoke")
        operation = self._document["paths"][version.cancel_path]["get"]
        path = version.cancel_path.format(secret=f"{{{{cancel_secret_{version}}}}}")
        yield PostmanRequest(operation, "GET", path, {}, {})

    def _call(self, path: str) -> PostmanRequest:
        operation = self._document["paths"][path]["post"]
        shown = operation["requestBody"]["content"]["application/json"]["examples"]["usual"]["value"]
        body = json.dumps(shown, indent=2, ensure_ascii=False).replace(OWN_ADDRESS, self._base)
        for made_up, attribute in self._bank.placeholders().items():
            body = body.replace(made_up, getattr(self._bank, attribute))
        headers = {
            "X-Api-Key": f"{{{{api_key_{self._bank.version}}}}}",
            "X-Request-Id": new_uuid(),
            "X-Signature": sign(self._key, body.encode()),
            "Content-Type": "application/json",
        }
        return PostmanRequest(operation, "POST", path, headers, {}, body=body)


def _resolve_ref(document: Json, parameter: Json) -> Json:
    """Resolve a ``$ref`` to a parameter."""
    name = parameter.get("$ref", "").rpartition("/")[2]
    found: Json = document["components"]["parameters"][name] if name else parameter
    return found
