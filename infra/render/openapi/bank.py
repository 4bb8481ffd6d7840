"""Builds the documents of the bank-facing APIs, with the calls and webhooks of each version."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from chalicelib.openbanking.protocol import bank_calls, own_answers, v1_version
from chalicelib.openbanking.protocol.bank_calls import BANK_CALLS, BankCall
from chalicelib.openbanking.protocol.errors import ADDED_CODES
from chalicelib.openbanking.protocol.version import Version
from chalicelib.openbanking.protocol.webhooks import Webhook
from infra.render.openapi import bank_refusals, introduction, own_calls, psu_headers, refusals_of_calls, row_docs
from infra.render.openapi.document import ANY_REQUEST_ID, UUID, body, document, header, json_content
from infra.render.openapi.document_models import CancelQuery, WebhookError, WebhookErrorV1
from infra.render.openapi.models import Model, example, member_example, model_of
from infra.render.openapi.own_calls import PUBLIC_KEY, answer_to_bank
from infra.render.openapi.responses import Responses
from infra.render.openapi.row_docs import Purpose
from infra.render.openapi.schemas import Json, Schemas

_REQUEST_ID = "fdfd4e95-a65f-44f4-8807-2ce2f6b89e89"
_SIGNATURE = "bWFkZSB3aXRoIHRoZSBwcml2YXRlIGtleSBvdmVyIHRoZSBleGFjdCBieXRlcyBvZiB0aGUgYm9keQ=="
_BASE64 = {"type": "string", "pattern": "^[A-Za-z0-9+/]+={0,2}$", "minLength": 4}
_TAGS = (
    ("Calls to the service", "The calls that the bank makes."),
    ("Webhooks to the bank", "The calls that the service makes to the bank's URL."),
)
_INTRODUCTION = """\
The calls of version {version} banks, and the webhooks that they receive at their own URL. Members are in {spelling} in
calls{webhooks}.

Requests in both directions carry the bank's API key in `X-Api-Key`, a UUID in `X-Request-Id`, and in `X-Signature` the
base64-encoded RSA signature (PKCS#1 v1.5, SHA-256) of the exact bytes of the body. {signed} The service always signs;
its public keys are at `GET /bank/public_key`. Repeating a successful call within 24 hours with the same `X-Request-Id`
and body returns the same response, except for calls that only read ({reads}). Timestamps have the form
`YYYY-MM-DDTHH:MM:SS+00:00`.

Amounts are strings or JSON numbers in both directions. {numbers}
A bank has 3 seconds to accept a webhook's connection and 20 seconds to respond. {errors}
"""
_WORDS: Mapping[int, Mapping[str, str]] = {
    1: {
        "spelling": "snake_case",
        "webhooks": " and in webhooks",
        "signed": "Version 1 banks may omit their signature unless their record requires it; a signature that is "
        "sent is verified.",
        "errors": 'A success has `"status": "success"` next to its members, an error `"status": "error"`.',
    },
    2: {
        "spelling": "camelCase",
        "webhooks": " and in snake_case in webhooks, whose responses may use either",
        "signed": "Version 2 banks must sign.",
        "errors": "An error has `code` and `title`, and an HTTP status of 400 or more.",
    },
}
_FINAL: Mapping[int, str] = {1: "`2`, `3`, `4`", 2: "`ACCC`, `RJCT`, `CANC`; `ACSC` may still become `ACCC`"}
_TABLES: Mapping[int, Callable[[], list[str]]] = {
    1: lambda: [introduction.codes_of_version_1()],
    2: lambda: [introduction.balance_types(), introduction.codes_of_version_2(*ADDED_CODES)],
}
_WEBHOOK_ERRORS: Mapping[int, Model] = {1: WebhookErrorV1, 2: WebhookError}
_CANCEL = Purpose(
    "Leave without a consent",
    text="For the PSU's browser, without headers: ends the authorization request and redirects to the TPP. Repeated "
    "requests redirect to the same URL. After a consent, the call has no effect.",
)
_BANK_KEY: Json = {
    "type": "apiKey",
    "in": "header",
    "name": "X-Api-Key",
    "description": "The bank's API key, used in both directions",
}
_PEM = "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A…\n-----END PUBLIC KEY-----\n"


def build(version: Version) -> Json:
    """Build the document for a version."""
    suffix, number = f"V{version}", version.number
    responses = Responses(Schemas(lambda model: model.__name__.removesuffix(suffix)))
    made = _BankOperations(version, responses)
    calls = [call for call in BANK_CALLS if call.name in version.calls]
    paths = {f"{version.base}{call.path}": {"post": made.call(call)} for call in calls}
    paths |= {PUBLIC_KEY: {"get": made.public_key()}, version.cancel_path: {"get": made.cancel()}}
    reads = ", ".join(f"`POST {version.base}{call.path}`" for call in calls if call.is_read)
    webhooks = {row.path.strip("/"): {"post": made.webhook(row)} for row in version.webhooks}
    tables = [
        introduction.scopes(version),
        introduction.schemes(version),
        introduction.statuses(version),
        *_TABLES[number](),
        bank_refusals.refusals_of_banks(version),
    ]
    return document(
        f"Causeway: bank-facing API, version {version}",
        "\n".join(
            [
                _INTRODUCTION.format(version=version, reads=reads, numbers=introduction.NUMBERS, **_WORDS[number]),
                "\n\n".join(tables),
            ]
        ),
        tags=_TAGS,
        paths=paths,
        webhooks=webhooks,
        components={
            "securitySchemes": {"bankKey": _BANK_KEY},
            "parameters": _parameters(version),
            **responses.components(),
        },
    )


def _parameters(version: Version) -> Mapping[str, Json]:
    signature = "Signature of the body with the bank's private key, in base64"
    if_any = header("X-Auth-Token", "The token of the PSU's consent, if there is one", {"type": "string"}, _token())
    return {
        "RequestIdIfAny": ANY_REQUEST_ID,
        "RequestId": header(
            "X-Request-Id", "A UUID, new for each request; capitals are the same id", UUID, _REQUEST_ID, required=True
        ),
        "Signature": header("X-Signature", signature, _BASE64, _SIGNATURE, required=version.signature_required),
        "ServiceSignature": header(
            "X-Signature",
            "Signature of the body with the service's private key, in base64",
            _BASE64,
            _SIGNATURE,
            required=True,
        ),
        "AuthToken": header(
            "X-Auth-Token", "The token of the PSU's consent", {"type": "string"}, _token(), required=True
        ),
        **({"AuthTokenIfAny": if_any} if version.answers_status_queries else {}),  # a direct payment's status has none
        **psu_headers.parameters("Present if the TPP supplied it"),
    }


def _token() -> str:
    token: str = member_example(model_of(own_answers.SaveConsentAnswer), "access_token")
    return token


def webhook_purpose(version: Version, row: Webhook) -> Purpose:
    """Return the purpose of a webhook. Raises: LookupError, if its row has no docstring."""
    of_all_versions = row is version.revoke_token
    return row_docs.purpose(row.path, v1_version.__name__ if of_all_versions else version.load_webhooks.__module__)


class _BankOperations:
    """Builds the operations of one protocol version."""

    def __init__(self, version: Version, responses: Responses) -> None:
        self._version = version
        self._responses = responses
        self._schemas = responses.schemas

    def call(self, call: BankCall) -> Json:
        path = f"{self._version.base}{call.path}"
        request, answer = self._version.calls[call.name], answer_to_bank(call.name, self._version)
        good = self._responses.success(path, self._schemas.ref(answer), _success(self._example(answer)), "Success.")
        return {
            **_operation_head(call.path.strip("/").replace("/", "_"), *self._purpose(call)),
            "security": [{"bankKey": []}],
            "parameters": [_ref("RequestId"), _ref("Signature")],
            "requestBody": body(json_content(self._schemas.ref(request), {"usual": ("Usual", self._example(request))})),
            "responses": {"200": good} | self._responses.refusals(path, refusals_of_calls.of_bank_call(call)),
        }

    def public_key(self) -> Json:
        keys = self._responses.text(PUBLIC_KEY, "The keys.", "application/x-pem-file", _PEM)
        refused = self._responses.refusals(PUBLIC_KEY, refusals_of_calls.of_own_call(()))
        return {
            **_operation_head("public_key", *row_docs.purpose("PUBLIC_KEY", own_calls.__name__)),
            "security": [],
            "parameters": [_ref("RequestIdIfAny")],
            "responses": {"200": keys} | refused,
        }

    def cancel(self) -> Json:
        path, page = self._version.cancel_path, "<!doctype html>…"
        secret = {
            "name": "secret",
            "in": "path",
            "required": True,
            "description": "The last segment of the `cancel_url`",
            "schema": {"type": "string", "minLength": 1},
            "example": f"d04b98f48e8f8bcc15c6ae.{_token().rpartition('.')[2]}",
        }
        return {
            **_operation_head("cancel", *_CANCEL),
            "security": [],
            "parameters": [secret, *self._schemas.parameters(CancelQuery), _ref("RequestIdIfAny")],
            "responses": {
                "303": self._responses.redirect(path, "Redirect to the TPP's Callback URL"),
                "404": self._responses.text(path, "An error page: the URL does not exist", "text/html", page),
                "500": self._responses.text(path, "An error page: the service failed", "text/html", page),
            },
        }

    def webhook(self, row: Webhook) -> Json:
        name = "TokenRevoked" if row is self._version.revoke_token else ""
        purpose = webhook_purpose(self._version, row)
        scope = f"The consent has the scope `{row.scope}`." if row.scope else ""
        return {
            **_operation_head(
                f"webhook_{row.path.strip('/')}", purpose.title, " ".join(filter(None, (purpose.text, scope))), 1
            ),
            "security": [{"bankKey": []}],
            "parameters": [
                _ref("RequestId"),
                _ref("ServiceSignature"),
                *self._token_of(row),
                *([] if name else psu_headers.references()),
            ],
            "requestBody": body(
                json_content(
                    self._schemas.ref(row.request, name=name, way="sent"), {"usual": ("Usual", example(row.request))}
                )
            ),
            "responses": {"200": self._webhook_success(row), "default": self._webhook_error()},
        }

    # -- internals

    def _purpose(self, call: BankCall) -> tuple[str, str]:
        purpose = row_docs.purpose_of(call, bank_calls.__name__)
        return purpose.title, purpose.text.format(final=_FINAL[self._version.number])

    def _example(self, model: Model) -> Json:
        old = member_example(model_of(own_answers.InitAuthorizationAnswer), "cancel_url")
        new = self._version.cancel_path
        moved = old.replace(v1_version.VERSION.cancel_path.partition("{")[0], new.partition("{")[0])
        return self._with_scopes({name: moved if value == old else value for name, value in example(model).items()})

    def _with_scopes(self, members: Json) -> Json:
        made = {name: self._with_scopes_inside(value) for name, value in members.items()}
        return made | ({"scopes": [next(iter(self._version.scopes))]} if "scopes" in made else {})

    def _with_scopes_inside(self, value: Any) -> Any:
        objects = isinstance(value, list) and value and isinstance(value[0], dict)
        return [self._with_scopes(each) for each in value] if objects else value

    def _token_of(self, row: Webhook) -> list[Json]:
        if not row.sends_token:
            return []
        always = (self._version.revoke_token, self._version.payment_status.get("bulk"))
        required = row.scope is not None or row in always
        return [_ref("AuthToken" if required else "AuthTokenIfAny")]

    def _webhook_success(self, row: Webhook) -> Json:
        answer, value = self._schemas.ref(row.answer), example(row.answer)
        if (row.form or self._version.answers).says_status:
            answer = {"allOf": [self._schemas.ref(model_of(own_answers.Success)), answer]}
            value = {"status": "success"} | value
        content = {"application/json": {"schema": answer, "examples": _success(value)}}
        return {"description": "Success.", "content": content}

    def _webhook_error(self) -> Json:
        model = _WEBHOOK_ERRORS[self._version.number]
        examples = {"refused": {"summary": "The bank refuses", "value": example(model)}}
        content = {"application/json": {"schema": self._schemas.ref(model), "examples": examples}}
        return {"description": "The bank refuses; the TPP receives the code and text.", "content": content}


def _success(value: Json) -> Json:
    return {"success": {"summary": "Success", "value": value}}


def _operation_head(operation: str, title: str, text: str, tag: int = 0) -> Json:
    return {"operationId": operation, "tags": [_TAGS[tag][0]], "summary": title, "description": text}


def _ref(name: str) -> Json:
    return {"$ref": f"#/components/parameters/{name}"}
