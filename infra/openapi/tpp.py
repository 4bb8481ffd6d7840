"""The document of the TPP-facing API: one operation per call, covering all bank versions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from chalicelib.openbanking.protocol import own_answers
from chalicelib.openbanking.protocol.tpp_calls import (
    AuthorizeRequest,
    PaymentStatusQuery,
    RevokeRequest,
    ScopeQuery,
    TokenRequest,
)
from chalicelib.openbanking.protocol.tpp_events import EventType
from chalicelib.openbanking.protocol.versions import VERSIONS
from chalicelib.openbanking.protocol.webhooks import (
    PAYMENTS,
    RELAYED,
    STATUS_PATH,
    FundsConfirmation,
    PaymentCall,
    RelayedCall,
    Webhook,
)
from infra.openapi import introduction, refusals_of_calls, webhooks
from infra.openapi.document import ANY_REQUEST_ID, UUID, body, document, header, json_content
from infra.openapi.models import Model, example, meaning, model_of
from infra.openapi.own_calls import (
    EVENTS,
    FRONT_DOOR,
    OWN_CALLS,
    AskedStatus,
    EventDescription,
    FrontDoorQuery,
    OwnCall,
    webhooks_of,
)
from infra.openapi.purposes import TPP_CALLS
from infra.openapi.responses import Responses
from infra.openapi.schemas import Json, Schemas, body_example, version_suffix

_EVENTS_TAG = ("Events", "Notifications that the service sends to a client's Events URL.")
_TAGS = (
    ("Authorization", "Authorization requests, consents and tokens, and their revocation."),
    ("Account", "A PSU's accounts, balances, payments and transactions, passed on from the bank."),
    ("Payments", "Initiation of all types of payment, and payment status."),
    _EVENTS_TAG,
)
_INTRODUCTION = """\
The API for third-party providers (TPPs). Every call identifies the client by its Client ID in `X-Api-Key`; calls for a
PSU's data also carry the access token. A client with a secret must send it on every call without an access token, using
HTTP Basic (Client ID and secret), which can replace `X-Api-Key`.

Each bank uses version 1 or version 2 of the bank protocol (`api_version` in `GET /tpp/banks`). The version determines
the scopes and the message formats; where they differ, both are documented. Bank responses are passed on as received,
including undocumented members and texts longer than documented; the digits of amounts are never changed.

Errors have the members of `Error`. `title` and `details` are for people and may change, so base your logic on `code`
and the codes in `additionalErrors`. Timestamps have the form `YYYY-MM-DDTHH:MM:SS+00:00`.

Calls that are relayed to a bank can be deferred: with `Prefer: respond-async`, the service validates the call, responds
with 202, and carries it out later. The outcome is available at `GET /tpp/requests/{request_id}` for 24 hours.
Asynchronous events are sent to the client's Events URL; see the webhooks.
"""
_FORMS: Mapping[EventType, Mapping[str, tuple[str, frozenset[str]]]] = {
    "payment.status_changed": {
        "version_1": ("A payment at a version 1 bank", frozenset({"transaction_status"})),
        "version_2": ("A payment at a version 2 bank", frozenset({"payment_status"})),
        "direct": ("A direct payment at a version 2 bank", frozenset({"payment_status", "consent_id"})),
    }
}
"""Events with several forms, and the members that each form omits."""
_NEVER_GIVEN = "SSL_CREDENTIALS_NOT_FOUND"
_SECURITY: Mapping[str, list[Json]] = {
    "client": [{"clientId": []}, {"clientSecret": []}],
    "consent": [{"clientId": [], "bearer": []}],
    "consent or client": [{"clientId": [], "bearer": []}, {"clientId": []}, {"clientSecret": []}],
    "token client": [{"clientId": []}, {"clientSecret": []}, {}],
    "anybody": [],
}
_SECURITY_SCHEMES: Mapping[str, Json] = {
    "clientId": {"type": "apiKey", "in": "header", "name": "X-Api-Key", "description": "The Client ID"},
    "bearer": {"type": "http", "scheme": "bearer", "description": "The access token of a consent"},
    "clientSecret": {
        "type": "http",
        "scheme": "basic",
        "description": "Client ID and client secret, for calls without a bearer by clients that have a secret",
    },
}
_PARAMETERS: Mapping[str, Json] = {
    "RequestIdIfAny": ANY_REQUEST_ID,
    "RequestId": header(
        "X-Request-Id",
        "The request's id, generated when absent; passed to the bank and returned in the response. A payment's id "
        "identifies one order at the bank for 24 hours; a different order with the same id is refused",
        UUID,
        "fdfd4e95-a65f-44f4-8807-2ce2f6b89e89",
    ),
    "IdempotencyKey": header(
        "Idempotency-Key",
        "Makes retries of a payment safe: for 24 hours, the same key with the same body gets the same response",
        {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[ -~]+$"},
        "order-2026-117",
    ),
    "PsuAddress": header(
        "PSU-IP-Address",
        "The PSU's IP address, passed to the bank",
        {"type": "string", "anyOf": [{"format": "ipv4"}, {"format": "ipv6"}]},
        "203.0.113.7",
    ),
    "Prefer": header(
        "Prefer",
        "`respond-async` (RFC 7240) defers the call: the service validates it at once and responds with a refusal "
        "or 202. Other preferences are ignored",
        {"anyOf": [{"const": "respond-async"}, {"type": "string"}]},
        "respond-async",
    ),
    **webhooks.parameters(),
}
_MORE_EXAMPLES: Mapping[Model, Mapping[str, tuple[str, Json]]] = {
    AuthorizeRequest: {
        "version_1": ("A version 1 bank", {"bic": "DEMOGB21", "scopes": ["account.list", "account.details"]}),
        "pkce": (
            "One payment, with PKCE",
            {
                "bic": "DEMODEF1",
                "scopes": ["payments.single"],
                "consent_type": "one_time",
                "code_challenge": meaning(AuthorizeRequest, "code_challenge")[1],
                "code_challenge_method": "S256",
            },
        ),
    },
    TokenRequest: {"refresh": ("A refresh token", {"refresh_token": meaning(TokenRequest, "refresh_token")[1]})},
}
_BANKS: Mapping[int, Json] = {1: {"bic": "DEMOGB21"}}
"""The banks used in examples, where they differ from the default."""


def build() -> Json:
    """Build the document."""
    responses = Responses(Schemas(lambda model: model.__name__ + version_suffix(model), handed_on=True))
    made = _TppOperations(responses)
    paths = {call.path: {call.method.lower(): made.own_call(call)} for call in OWN_CALLS}
    paths |= {FRONT_DOOR: {"get": made.front_door()}}
    paths |= {call.path: {call.method.lower(): made.relayed_call(call)} for call in RELAYED}
    paths |= {call.path: {"post": made.payment(call)} for call in PAYMENTS}
    paths |= {STATUS_PATH: {"get": made.payment_status()}}
    tables = [
        introduction.scopes(*VERSIONS.values()),
        introduction.schemes(*VERSIONS.values()),
        introduction.statuses(*VERSIONS.values()),
        introduction.balance_types(),
        introduction.codes_of_version_2(_NEVER_GIVEN),
    ]
    return document(
        "Causeway: TPP-facing API",
        "\n".join([_INTRODUCTION, "\n\n".join(tables)]),
        tags=_TAGS,
        paths=paths,
        webhooks=event_webhooks(responses.schemas),
        components={"securitySchemes": _SECURITY_SCHEMES, "parameters": _PARAMETERS, **responses.components()},
    )


class _TppOperations:
    """Builds the operations."""

    def __init__(self, responses: Responses) -> None:
        self._responses = responses
        self._schemas = responses.schemas

    def own_call(self, call: OwnCall) -> Json:
        """The operation for a call that the service handles itself."""
        parameters = self._schemas.parameters(call.query) if call.query else []
        parameters += self._schemas.parameters(call.place, "path") if call.place else []
        refused = self._responses.refusals(call.path, refusals_of_calls.of_own_call(call.path))
        answer = self._good(call.path, {0: call.answer})
        made = _operation(call.path, "Authorization", call.caller, parameters, {"200": answer} | refused)
        return made | ({"requestBody": self._own_body(call.body)} if call.body else {})

    def front_door(self) -> Json:
        """The operation for the RFC 6749 authorization request, which a browser opens."""
        page = "<!doctype html>…"
        responses = {
            "303": self._responses.redirect(
                FRONT_DOOR, "Redirect to the bank or, after an invalid request, to the client"
            ),
            "400": self._responses.text(
                FRONT_DOOR, "An error page: the client or its redirect_uri is invalid", "text/html", page
            ),
            "500": self._responses.text(FRONT_DOOR, "An error page: the service failed", "text/html", page),
        }
        parameters = self._schemas.parameters(FrontDoorQuery)
        return _operation(FRONT_DOOR, "Authorization", "anybody", parameters, responses)

    def relayed_call(self, call: RelayedCall) -> Json:
        """The operation for a call that is relayed to the bank."""
        rows = webhooks_of(call)
        models: dict[int, Model] = {version: row.answer for version, row in rows.items()}
        if call.name == "funds_confirmations":
            models = {1: model_of(FundsConfirmation)}
        answer = self._good(call.path, models)
        refused = self._responses.refusals(call.path, refusals_of_calls.of_relayed_call(call))
        parameters = self._merge_parameters(rows) if call.method == "GET" else []
        made = _operation(
            call.path,
            "Account",
            "consent",
            [*parameters, _ref("PsuAddress"), _ref("Prefer")],
            {"200": answer, "202": self._accepted_response(call.path)} | refused,
            _needs(rows),
        )
        return made if call.method == "GET" else made | {"requestBody": self._bodies(rows)}

    def payment(self, call: PaymentCall) -> Json:
        """The operation for a payment initiation."""
        extra = ScopeQuery if call.kind == "direct" else None
        rows = webhooks_of(call)
        answer = self._good(call.path, {version: row.answer for version, row in rows.items()})
        refused = self._responses.refusals(call.path, refusals_of_calls.of_payment_call(call))
        caller = "client" if call.kind == "direct" else "consent"
        parameters = [_ref("IdempotencyKey"), _ref("PsuAddress"), _ref("Prefer")]
        responses = {"200": answer, "202": self._accepted_response(call.path)} | refused
        made = _operation(call.path, "Payments", caller, parameters, responses, _needs(rows))
        return made | {"requestBody": self._bodies(rows, extra)}

    def payment_status(self) -> Json:
        """The operation for the payment status call."""
        answer = self._good(STATUS_PATH, {1: model_of(own_answers.ReportedStatus), 2: AskedStatus})
        refused = self._responses.refusals(STATUS_PATH, refusals_of_calls.of_payment_status())
        parameters = [*self._schemas.parameters(PaymentStatusQuery), _ref("PsuAddress"), _ref("Prefer")]
        responses = {"200": answer, "202": self._accepted_response(STATUS_PATH)} | refused
        return _operation(STATUS_PATH, "Payments", "consent or client", parameters, responses)

    # -- inside

    def _good(self, path: str, models: Mapping[Any, Model]) -> Json:
        schema = _any_of([self._schemas.ref(model) for model in models.values()])
        shown = {
            f"version_{version}" if len(models) > 1 else "success": {
                "summary": f"A version {version} bank" if len(models) > 1 else "Success",
                "value": example(model),
            }
            for version, model in models.items()
        }
        return self._responses.success(path, schema, shown, "Success.")

    def _accepted_response(self, path: str) -> Json:
        """The response to a deferred call."""
        shown = {"accepted": {"summary": "Accepted", "value": example(model_of(own_answers.Accepted))}}
        text = "Accepted: with `Prefer: respond-async`, the call is carried out later."
        headers = ("Accepted-At", "Preference-Applied")
        return self._responses.success(path, self._schemas.ref(model_of(own_answers.Accepted)), shown, text, *headers)

    def _own_body(self, model: Model) -> Json:
        examples = {"usual": ("Usual", example(model)), **_MORE_EXAMPLES.get(model, {})}
        content = json_content(self._schemas.ref(model), examples)
        if model in (TokenRequest, RevokeRequest):
            content["application/x-www-form-urlencoded"] = {
                "schema": self._schemas.form_ref(model),
                "example": example(model),
            }
        return body(content)

    def _bodies(self, webhooks: Mapping[int, Webhook], extra: Model | None = None) -> Json:
        schemas, examples = [], {}
        for version, row in webhooks.items():
            schemas.append(self._schemas.ref(row.request, extra=extra))
            value = body_example(row.request, extra)
            value |= _BANKS.get(version, {}) if extra else {}
            examples[f"version_{version}"] = f"A version {version} bank", value
        return body(json_content(_any_of(schemas), examples))

    def _merge_parameters(self, webhooks: Mapping[int, Webhook]) -> list[Json]:
        """The parameters of all versions; a parameter of a single version is marked with it."""
        found: dict[str, dict[int, Json]] = {}
        for version, row in webhooks.items():
            for parameter in self._schemas.parameters(row.request):
                found.setdefault(parameter["name"], {})[version] = parameter
        return [_merge_parameter(versions, len(webhooks)) for versions in found.values()]


def _merge_parameter(versions: Mapping[int, Json], count: int) -> Json:
    """Merge the versions of a parameter."""
    *_, last = versions.values()
    schemas = [parameter["schema"] for parameter in versions.values()]
    distinct = [schema for number, schema in enumerate(schemas) if schema not in schemas[:number]]
    only = f". Banks of version {next(iter(versions))} only" if len(versions) < count else ""
    united = last | {
        "required": len(versions) == count and all(parameter["required"] for parameter in versions.values()),
        "description": last["description"] + only,
        "schema": distinct[0] if len(distinct) == 1 else {"anyOf": distinct},
    }
    shown = {
        f"version_{version}": {"summary": f"A version {version} bank", "value": parameter["example"]}
        for version, parameter in versions.items()
    }
    if len({each["value"] for each in shown.values()}) > 1:
        united["examples"] = shown
        united.pop("example")
    return united


def _operation(path: str, tag: str, caller: str, parameters: list[Json], responses: Json, needs: str = "") -> Json:
    purpose = TPP_CALLS[path]
    return {
        "operationId": re.sub("[^a-z0-9]+", "_", path.partition("/{")[0].rpartition("/tpp/")[2]).strip("_"),
        "tags": [tag],
        "summary": purpose.title,
        "description": "\n\n".join(text for text in (purpose.text, needs) if text),
        "security": _SECURITY[caller],
        "parameters": [*parameters, _ref("RequestIdIfAny" if caller == "anybody" else "RequestId")],
        "responses": responses,
    }


def _needs(webhooks: Mapping[int, Webhook]) -> str:
    """A table of the scope and the webhook for each version."""
    rows = [(version, f"`{row.scope}`" if row.scope else "none", f"`{row.path}`") for version, row in webhooks.items()]
    return introduction.table(("Bank version", "Scope", "Bank webhook"), rows)


def _ref(name: str) -> Json:
    return {"$ref": f"#/components/parameters/{name}"}


def _any_of(schemas: list[Json]) -> Json:
    return schemas[0] if len(schemas) == 1 else {"anyOf": schemas}


def event_webhooks(schemas: Schemas) -> Mapping[str, Json]:
    """An operation for each event type."""
    return {name: {"post": _webhook(name, row, schemas)} for name, row in EVENTS.items()}


def _webhook(name: EventType, row: EventDescription, schemas: Schemas) -> Json:
    forms = _FORMS.get(name, {"usual": ("Usual", frozenset())})
    shown = {form: (title, _event(name, row, without)) for form, (title, without) in forms.items()}
    data = schemas.ref(row.data, way="sent")
    return webhooks.operation(name, row.meaning, data, shown, tag=_EVENTS_TAG[0], receiver="client")


def _event(name: EventType, row: EventDescription, without: frozenset[str]) -> Json:
    data = example(row.data)
    return webhooks.example(name, {member: value for member, value in data.items() if member not in without})
