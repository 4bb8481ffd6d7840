"""Who calls during the run: a TPP with a bearer at each demonstration bank, and the banks themselves, which sign."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import requests
from requests.auth import AuthBase

from chalicelib.foundation.crypto.signatures import load_private_key, sign
from chalicelib.openbanking.protocol import tpp_calls
from chalicelib.website.openapi_documents import load_document
from infra.render.openapi.models import member_example
from tests.fuzzing.bank_fixtures import BankFixtures


@dataclass(frozen=True)
class Parties:
    """What the run needs of the stack; plain values, since it goes to other processes."""

    base: str
    client_id: str
    at_banks: Mapping[int, BankFixtures]

    def document(self, name: str) -> dict[str, Any]:
        """A document whose examples name what there is on this stack."""
        at_bank = self.at_banks[2 if name == "bank-v2" else 1]
        real = {made_up: getattr(at_bank, attribute) for made_up, attribute in at_bank.placeholders().items()}
        real[member_example(tpp_calls.TokenRequest, "client_id")] = self.client_id
        text = load_document(name, self.base).text
        for made_up, value in real.items():
            text = text.replace(json.dumps(made_up)[1:-1], json.dumps(value)[1:-1])
        found: dict[str, Any] = json.loads(text, object_hook=_quick)
        if name == "tpp":
            self._bring_home(found)
        return found

    def _bring_home(self, document: dict[str, Any]) -> None:
        """Have most generated orders reach a bank: narrow down what only this stack knows to be right or wrong."""
        schemas = document["components"]["schemas"]
        document["components"]["parameters"]["IdempotencyKey"].pop(
            "example"
        )  # it would be used up by the first request
        schemas["Currency"]["enum"] = ["EUR", "GBP", "PLN", "SEK", "USD"]
        for schema in schemas.values():
            if "callback_url" in schema.get("properties", ()):
                schema["properties"]["callback_url"]["pattern"] = f"^{re.escape(self.base)}/[a-z]{{0,9}}$"
            if "bic" in schema.get("required", ()) and "scopes" not in schema.get("required", ()):
                schema["properties"]["bic"] = {"enum": [*(at.bic for at in self.at_banks.values()), "NOSUCHXX"]}


_QUICK = {"^[^\\u0000": "^[ -~À-ÿ一-丐]*$", "^[^\\u0020": "^[A-Za-zÀ-Ö]*$", "^ *[^ ": "^[A-Za-zÀ-Ö][A-Za-zÀ-Ö '.-]*$"}
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


def _quick(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema that generates fast, and what is mostly right.

    Texts are made from some characters, instead of all but some thousand; IBANs are real ones; amounts have no more
    digits than fit, which JSON Schema cannot say of numbers.
    """
    pattern = schema.get("pattern")
    if schema.get("format") == "iban":
        return {"enum": [*_IBANS, None] if "null" in schema["type"] else _IBANS}
    if not isinstance(pattern, str):
        return schema
    if pattern.startswith("^(?=.*[1-9])"):
        return {"anyOf": _AMOUNTS}
    found = next((quick for start, quick in _QUICK.items() if pattern.startswith(start)), pattern)
    return schema | {"pattern": found}


class Nobody(AuthBase):
    """No credentials but those that the request has by itself."""

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        request.body = request.body or None  # requests would send an empty text in chunks
        request.prepare_content_length(request.body)
        return request


class TppCredentials(Nobody):
    """Client ID and, where an operation takes one, the bearer of one bank."""

    def __init__(self, parties: Parties, version: int, security: list[dict[str, Any]], *, with_bearer: bool) -> None:
        self._headers = {"X-Api-Key": parties.client_id}
        if with_bearer and any("bearer" in each for each in security):
            self._headers["Authorization"] = f"Bearer {parties.at_banks[version].access_token}"

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        request.headers.pop("Authorization", None)
        request.headers.update(self._headers)
        return super().__call__(request)


class BankCredentials(Nobody):
    """The bank's key, and its signature of exactly what is sent."""

    def __init__(self, parties: Parties, version: int) -> None:
        self._key = parties.at_banks[version].api_key
        self._signing_key = load_private_key(parties.at_banks[version].signing_key)

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        body = request.body or b""
        request.headers["X-Api-Key"] = self._key
        request.headers["X-Signature"] = sign(self._signing_key, body.encode() if isinstance(body, str) else body)
        return super().__call__(request)
