"""Builds the document of the TPP-facing API, with one operation per call for all bank versions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from chalicelib.openbanking.protocol import own_answers
from chalicelib.openbanking.protocol import webhooks as protocol
from chalicelib.openbanking.protocol.tpp_calls import (
    AuthorizeRequest,
    EventType,
    PaymentStatusQuery,
    ScopeQuery,
    TokenRequest,
)
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
from infra.render.openapi import (
    introduction,
    own_calls,
    psu_headers,
    refusals_of_calls,
    row_docs,
    security,
    unified,
    webhooks,
)
from infra.render.openapi.document import ANY_REQUEST_ID, UUID, body, document, form_content, header, json_content
from infra.render.openapi.document_models import AskedStatus, FrontDoorQuery, PushedMembers
from infra.render.openapi.example_values import PROOF
from infra.render.openapi.models import Model, example, member_example, model_of
from infra.render.openapi.operations import (
    NONCE,
    PROOF_HEADER,
    PSU,
    Operations,
    any_of,
    operation,
    ref,
    table_of_webhooks,
)
from infra.render.openapi.own_calls import (
    EVENTS,
    FRONT_DOOR,
    OWN_CALLS,
    Caller,
    Encoding,
    EventDescription,
    OwnCall,
    webhooks_of,
)
from infra.render.openapi.responses import Responses
from infra.render.openapi.row_docs import Purpose
from infra.render.openapi.schemas import Json, Schemas, body_example, version_suffix
from infra.render.openapi.unified import UnifiedOperations

_EVENTS_TAG = ("Events", "Notifications that the service sends to a client's Events URL.")
_TAGS = (
    ("Authorization", "Authorization requests, consents and tokens, and their revocation."),
    *unified.TAGS,
    ("Account", "A PSU's accounts, balances, payments and transactions, passed on from the bank."),
    ("Payments", "Initiation of all types of payment, and payment status."),
    _EVENTS_TAG,
)
_INTRODUCTION = """\
The API for third-party providers (TPPs). Every call identifies the client by its Client ID in `X-Api-Key`; calls for a
PSU's data also carry the access token. Every call without an access token authenticates the client by its method: a
secret in HTTP Basic, which can replace `X-Api-Key`; a signed assertion (`private_key_jwt`) in `X-Client-Assertion` or,
at the OAuth endpoints, in the body; or the certificate of the connection (`tls_client_auth`).

An access token that is bound to a key is worth nothing without it. A DPoP-bound token is sent as `Authorization: DPoP`
with a proof in `DPoP` (RFC 9449), a certificate-bound token as `Authorization: Bearer` over a connection with that
certificate (RFC 8705).

Each bank uses version 1 or version 2 of the bank protocol (`api_version` in `GET /tpp/banks`). The version determines
the scopes and the message formats; where they differ, both are documented. Bank responses are passed on as received,
including undocumented members and texts longer than documented; the digits of amounts are never changed. A bank writes
an amount as a string or as a JSON number.

Errors have the members of `Error`. `title` and `details` are for people and may change, so base your logic on `code`
and the codes in `additionalErrors`. Timestamps have the form `YYYY-MM-DDTHH:MM:SS+00:00`.

Calls that are relayed to a bank can be deferred: with `Prefer: respond-async`, the service validates the call, responds
with 202, and carries it out later. The outcome is available at `GET /tpp/requests/{request_id}` for 24 hours.
Asynchronous events are sent to the client's Events URL, see the webhooks, or fetched from `GET /tpp/events`.
"""
_FORMS: Mapping[EventType, Mapping[str, tuple[str, frozenset[str]]]] = {
    "payment.status_changed": {
        "version_1": ("A payment at a version 1 bank", frozenset({"transaction_status"})),
        "version_2": ("A payment at a version 2 bank", frozenset({"payment_status"})),
        "direct": ("A direct payment at a version 2 bank", frozenset({"payment_status", "consent_id"})),
    }
}
"""The variants of an event's data, by event type. Each variant has a description and a set of omitted members."""
_PARAMETERS: Mapping[str, Json] = {
    "RequestIdIfAny": ANY_REQUEST_ID,
    "RequestId": header(
        "X-Request-Id",
        "The request's id, generated when absent; passed to the bank and returned in the response in lower case. A "
        "payment's id identifies one order at the bank for 24 hours; a different order with the same id is refused",
        UUID,
        "fdfd4e95-a65f-44f4-8807-2ce2f6b89e89",
    ),
    "IdempotencyKey": header(
        "Idempotency-Key",
        "Makes retries of a payment safe: for 24 hours, the same key with the same body gets the same response",
        {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[ -~]+$"},
        "order-2026-117",
    ),
    **psu_headers.parameters("Passed to the bank"),
    "DpopProof": header(
        "DPoP",
        "A proof of possession of the key to which a token is bound, or is to be bound: a JWT signed for this request "
        "(RFC 9449), used once. Mandatory with `Authorization: DPoP`",
        {"type": "string"},
        PROOF,
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
                "code_challenge": member_example(AuthorizeRequest, "code_challenge"),
                "code_challenge_method": "S256",
            },
        ),
    },
    PushedMembers: {
        "version_1": (
            "A version 1 bank",
            {"response_type": "code", "bic": "DEMOGB21", "scope": "account.list account.details"},
        ),
        "fapi2": (
            "A client with the profile `fapi2`",
            {
                **example(PushedMembers),
                **{
                    name: member_example(PushedMembers, name)
                    for name in (
                        *("redirect_uri", "state", "code_challenge", "code_challenge_method", "dpop_jkt"),
                        *("client_assertion_type", "client_assertion"),
                    )
                },
            },
        ),
    },
    TokenRequest: {"refresh": ("A refresh token", {"refresh_token": member_example(TokenRequest, "refresh_token")})},
}
_BANKS: Mapping[int, Json] = {1: {"bic": "DEMOGB21"}}
"""The banks in examples by protocol version, for versions that do not use the default bank."""


def build() -> Json:
    """Build the document."""
    responses = Responses(Schemas(lambda model: model.__name__ + version_suffix(model), handed_on=True))
    made = _TppOperations(responses)
    paths = {call.path: {call.method.lower(): made.own_call(call)} for call in OWN_CALLS}
    paths |= {FRONT_DOOR: {"get": made.front_door()}}
    paths |= UnifiedOperations(responses).paths()
    paths |= {call.path: {call.method.lower(): made.relayed_call(call)} for call in RELAYED}
    paths |= {call.path: {"post": made.payment(call)} for call in PAYMENTS}
    paths |= {STATUS_PATH: {"get": made.payment_status()}}
    tables = [
        introduction.unified_scopes(*VERSIONS.values()),
        introduction.scopes(*VERSIONS.values()),
        introduction.schemes(*VERSIONS.values()),
        introduction.statuses(*VERSIONS.values()),
        introduction.balance_types(),
        introduction.codes_of_version_2(),
    ]
    return document(
        "Causeway: TPP-facing API",
        "\n".join([_INTRODUCTION, introduction.NUMBERS, "\n\n".join(tables)]),
        tags=_TAGS,
        paths=paths,
        webhooks=event_webhooks(responses.schemas),
        components={"securitySchemes": security.SCHEMES, "parameters": _PARAMETERS, **responses.components()},
    )


class _TppOperations(Operations):
    """Builds the operations of the calls that the service handles itself, and of the native calls."""

    def own_call(self, call: OwnCall) -> Json:
        parameters = self._schemas.parameters(call.query) if call.query else []
        parameters += self._schemas.parameters(call.place, "path") if call.place else []
        parameters += [ref(PROOF_HEADER)] if call.takes_proof else []
        nonce = NONCE if call.takes_proof else ()
        refused = self._responses.refusals(call.path, refusals_of_calls.of_own_call(call.refusals), *nonce)
        answer = self._good(call.path, {0: call.answer}, *nonce)
        responses = {str(call.status): answer} | refused
        made = operation(call.path, Purpose(call.title, call.text), "Authorization", call.caller, parameters, responses)
        return made | ({"requestBody": self._own_body(call.body, call.encodings)} if call.body else {})

    def front_door(self) -> Json:
        """Return the operation for the RFC 6749 authorization request, which a browser opens."""
        page = "<!doctype html>…"
        responses = {
            "303": self._responses.redirect(
                FRONT_DOOR, "Redirect to the bank or, after an invalid request, to the client"
            ),
            "200": self._responses.text(
                FRONT_DOOR, "A page on which the PSU chooses the bank of a request without `bic`", "text/html", page
            ),
            "400": self._responses.text(
                FRONT_DOOR,
                "An error page: the client, its redirect_uri or the request_uri is invalid; or the page for choosing "
                "a bank, if the PSU's search is invalid",
                "text/html",
                page,
            ),
            "500": self._responses.text(FRONT_DOOR, "An error page: the service failed", "text/html", page),
        }
        parameters = self._schemas.parameters(FrontDoorQuery)
        purpose = row_docs.purpose("FRONT_DOOR", own_calls.__name__)
        return operation(FRONT_DOOR, purpose, "Authorization", "anybody", parameters, responses)

    def relayed_call(self, call: RelayedCall) -> Json:
        rows = webhooks_of(call)
        models: dict[int, Model] = {version: row.answer for version, row in rows.items()}
        if call.name == "funds_confirmations":
            models = {1: model_of(FundsConfirmation)}
        answer = self._good(call.path, models, *NONCE)
        refused = self._responses.refusals(call.path, refusals_of_calls.of_relayed_call(call), *NONCE)
        parameters = self._merge_parameters(rows) if call.method == "GET" else []
        made = operation(
            call.path,
            row_docs.purpose_of(call, protocol.__name__),
            "Account",
            "consent",
            [*parameters, ref(PROOF_HEADER), *PSU, ref("Prefer")],
            {"200": answer, "202": self._accepted_response(call.path, *NONCE)} | refused,
            table_of_webhooks(rows),
        )
        return made if call.method == "GET" else made | {"requestBody": self._bodies(rows)}

    def payment(self, call: PaymentCall) -> Json:
        rows = webhooks_of(call)
        is_direct = call.kind == "direct"
        nonce = () if is_direct else NONCE
        answer = self._good(call.path, {version: row.answer for version, row in rows.items()}, *nonce)
        refused = self._responses.refusals(call.path, refusals_of_calls.of_payment_call(call), *nonce)
        caller: Caller = "client" if is_direct else "consent"
        parameters = [*([] if is_direct else [ref(PROOF_HEADER)]), ref("IdempotencyKey"), *PSU, ref("Prefer")]
        responses = {"200": answer, "202": self._accepted_response(call.path, *nonce)} | refused
        purpose = row_docs.purpose_of(call, protocol.__name__)
        made = operation(call.path, purpose, "Payments", caller, parameters, responses, table_of_webhooks(rows))
        return made | {"requestBody": self._bodies(rows, ScopeQuery if is_direct else None)}

    def payment_status(self) -> Json:
        answer = self._status_response()
        refused = self._responses.refusals(STATUS_PATH, refusals_of_calls.of_payment_status(), *NONCE)
        parameters = [*self._schemas.parameters(PaymentStatusQuery), ref(PROOF_HEADER), *PSU, ref("Prefer")]
        responses = {"200": answer, "202": self._accepted_response(STATUS_PATH, *NONCE)} | refused
        purpose = row_docs.purpose("STATUS_PATH", protocol.__name__)
        return operation(STATUS_PATH, purpose, "Payments", "consent or client", parameters, responses)

    # -- internals

    def _status_response(self) -> Json:
        models: dict[str, tuple[str, Model]] = {
            "version_1": ("A version 1 bank", model_of(own_answers.ReportedStatus)),
            "version_2": ("A version 2 bank", AskedStatus),
            "order": ("An order for which the bank named no payment", model_of(own_answers.OrderWithoutPayment)),
        }
        schema = any_of([self._schemas.ref(model) for _, model in models.values()])
        examples = {name: {"summary": summary, "value": example(model)} for name, (summary, model) in models.items()}
        return self._responses.success(STATUS_PATH, schema, examples, "Success.", *NONCE)

    def _own_body(self, model: Model, encodings: Sequence[Encoding]) -> Json:
        examples = {"usual": ("Usual", example(model)), **_MORE_EXAMPLES.get(model, {})}
        content = json_content(self._schemas.ref(model), examples) if "json" in encodings else {}
        if encodings == ("form",):
            content |= form_content(self._schemas.form_ref(model), examples)
        elif "form" in encodings:
            content |= form_content(self._schemas.form_ref(model), {"usual": examples["usual"]})
        return body(content)

    def _bodies(self, webhooks: Mapping[int, Webhook], extra: Model | None = None) -> Json:
        schemas, examples = [], {}
        for version, row in webhooks.items():
            schemas.append(self._schemas.ref(row.request, extra=extra))
            value = body_example(row.request, extra)
            value |= _BANKS.get(version, {}) if extra else {}
            examples[f"version_{version}"] = f"A version {version} bank", value
        return body(json_content(any_of(schemas), examples))

    def _merge_parameters(self, webhooks: Mapping[int, Webhook]) -> list[Json]:
        found: dict[str, dict[int, Json]] = {}
        for version, row in webhooks.items():
            for parameter in self._schemas.parameters(row.request):
                found.setdefault(parameter["name"], {})[version] = parameter
        return [_merge_parameter(versions, len(webhooks)) for versions in found.values()]


def _merge_parameter(versions: Mapping[int, Json], count: int) -> Json:
    *_, last = versions.values()
    schemas = [parameter["schema"] for parameter in versions.values()]
    distinct = [schema for number, schema in enumerate(schemas) if schema not in schemas[:number]]
    only = f". Banks of version {next(iter(versions))} only" if len(versions) < count else ""
    united = last | {
        "required": len(versions) == count and all(parameter["required"] for parameter in versions.values()),
        "description": last["description"] + only,
        "schema": distinct[0] if len(distinct) == 1 else {"anyOf": distinct},
    }
    examples = {
        f"version_{version}": {"summary": f"A version {version} bank", "value": parameter["example"]}
        for version, parameter in versions.items()
    }
    if len({each["value"] for each in examples.values()}) > 1:
        united["examples"] = examples
        united.pop("example")
    return united


def event_webhooks(schemas: Schemas) -> Mapping[str, Json]:
    """Return an operation for each event type."""
    return {name: {"post": _webhook(name, row, schemas)} for name, row in EVENTS.items()}


def _webhook(name: EventType, row: EventDescription, schemas: Schemas) -> Json:
    forms = _FORMS.get(name, {"usual": ("Usual", frozenset())})
    examples = {form: (title, _event(name, row, without)) for form, (title, without) in forms.items()}
    data = schemas.ref(row.data, way="sent")
    return webhooks.operation(name, row.meaning, data, examples, tag=_EVENTS_TAG[0], receiver="client")


def _event(name: EventType, row: EventDescription, without: frozenset[str]) -> Json:
    data = example(row.data)
    return webhooks.example(name, {member: value for member, value in data.items() if member not in without})
