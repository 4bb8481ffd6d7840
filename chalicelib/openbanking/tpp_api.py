"""The TPP-facing API: parses calls below ``/tpp`` and answers them (specification, TPP-facing interface)."""

from __future__ import annotations

import base64
import binascii
import ipaddress
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote_plus

from chalice.app import Response

from chalicelib.bootstrap import hub
from chalicelib.foundation.fields import InvalidMessage
from chalicelib.foundation.web import ALL_METHODS, FORM, BadContent, Incoming, Routes, View, json_answer
from chalicelib.openbanking import answers
from chalicelib.openbanking.authorization_flow import lifetime
from chalicelib.openbanking.bank_link import BankAnswer
from chalicelib.openbanking.callers import Credentials, unknown_client
from chalicelib.openbanking.idempotency import Accepted, Claim
from chalicelib.openbanking.protocol.errors import Fault, Refusal, refuse_fields, refuse_parameters
from chalicelib.openbanking.protocol.tpp_calls import (
    FIELD_FAULTS,
    AuthorizeRequest,
    BanksQuery,
    RevokeRequest,
    ScopeQuery,
    TokenRequest,
)
from chalicelib.openbanking.protocol.webhooks import PAYMENTS, RELAYED, STATUS_PATH, PaymentCall, RelayedCall
from chalicelib.openbanking.token_flow import describe

_KEY_LENGTH = 255


def _failed(incoming: Incoming, error: Exception) -> Response:
    return answers.failure(hub().clock, incoming, error)


tpp_routes = Routes(__name__, _failed)


@tpp_routes.post("/tpp/authorize")
def authorize(incoming: Incoming) -> Response:
    client = hub().callers.client(_credentials(incoming))
    try:
        request = AuthorizeRequest.read(incoming.json())
    except InvalidMessage as error:
        raise refuse_fields(error, FIELD_FAULTS) from None
    authorization = hub().authorization_flow.authorize(client, request)
    return json_answer(
        {
            "redirect_url": authorization.request_url,
            "state": authorization.state,
            "expires_in": lifetime(authorization, hub().clock.time()),
        }
    )


@tpp_routes.post("/tpp/token")
def token(incoming: Incoming) -> Response:
    request, client = _token_endpoint(incoming, TokenRequest)
    flow = hub().token_flow
    if request.refresh_token is not None:
        return json_answer(flow.refresh(client.client_id, client.secret, request.refresh_token))
    code = request.authorization_code or request.code or ""
    return json_answer(flow.redeem(client.client_id, client.secret, code, request.redirect_uri, request.code_verifier))


@tpp_routes.post("/tpp/token/revoke")
def revoke(incoming: Incoming) -> Response:
    request, client = _token_endpoint(incoming, RevokeRequest)
    hub().token_flow.revoke_by_tpp(client.client_id, client.secret, request.token)
    return json_answer({})


@tpp_routes.get("/tpp/scope")
def scope(incoming: Incoming) -> Response:
    hub().callers.client(_credentials(incoming))
    query = _query(incoming, ScopeQuery)
    bank = hub().banks.find(query.bic)
    if bank is None:
        raise Refusal(Fault.UNKNOWN_RESOURCE, "no bank with this BIC is reachable")
    scopes = [{"scope": row.name, "service": row.service, "meaning": row.meaning} for row in bank.scopes]
    return json_answer({"bic": bank.bic, "scopes": scopes})


@tpp_routes.get("/tpp/banks")
def banks(incoming: Incoming) -> Response:
    hub().callers.client(_credentials(incoming))
    query = _query(incoming, BanksQuery)
    rows = hub().banks.directory()
    first = (query.page - 1) * query.limit
    page = {"page": query.page, "limit": query.limit, "total": len(rows)}
    return json_answer({"banks": rows[first : first + query.limit], **page})


@tpp_routes.get("/tpp/consent")
def consent(incoming: Incoming) -> Response:
    caller = hub().callers.bearer(_credentials(incoming))
    _no_parameters(incoming)
    return json_answer(describe(caller.consent))


def _relayed(call: RelayedCall) -> View:
    def relayed(incoming: Incoming) -> Response:
        started = hub().clock.monotonic()
        relay = hub().relay
        admitted = relay.admit(call, _credentials(incoming))
        in_query = call.method == "GET"
        if not in_query:
            _no_parameters(incoming)
        travelling = _travelling(incoming)
        members = incoming.parameters() if in_query else incoming.json()
        question = relay.question(admitted, members, in_query=in_query)
        if _prefers_async(incoming):
            return _answered(hub().deferred.accept(call.path, question, **travelling), started)
        return _answered(relay.ask(question, **travelling), started)

    return relayed


def _payment(call: PaymentCall) -> View:
    def initiated(incoming: Incoming) -> Response:
        started = hub().clock.monotonic()
        flow, credentials = hub().payment_flow, _credentials(incoming)
        claim = _claim(call, credentials, incoming)
        if call.kind == "direct":
            order = flow.admit_direct(call, credentials, claim, lambda: _direct_bic(incoming.json()))
        else:
            order = flow.admit(call, credentials, claim)
        if isinstance(order, BankAnswer | Accepted):
            return _answered(order, started)
        _no_parameters(incoming)
        _check_idempotency_key(incoming)
        members = incoming.json(call.body_bytes)
        if call.kind == "direct":
            members = {name: value for name, value in members.items() if name != "bic"}
        carry_out = flow.accept if _prefers_async(incoming) else flow.initiate
        return _answered(carry_out(order, members, **_travelling(incoming)), started)

    return initiated


@tpp_routes.get(STATUS_PATH)
def payment_status(incoming: Incoming) -> Response:
    started = hub().clock.monotonic()
    flow = hub().payment_status
    asked = flow.admit(_credentials(incoming), dict(incoming.query))
    travelling = _travelling(incoming)
    payment = flow.permitted(asked, incoming.parameters())
    if _prefers_async(incoming) and payment.api_version == 2:
        return _answered(hub().deferred.accept_status(payment, asked.consent, **travelling), started)
    return _answered(flow.answer(payment, asked.consent, **travelling), started)


@tpp_routes.get("/tpp/requests/{request_id}")
def accepted_request(incoming: Incoming) -> Response:
    outcome = hub().deferred.look_up(_credentials(incoming), incoming.uri["request_id"])
    _no_parameters(incoming)
    return json_answer(outcome)


def _answered(answer: BankAnswer | Accepted, started: float) -> Response:
    if isinstance(answer, Accepted):
        path = f"{hub().settings.public_path}/tpp/requests/{answer.request_id}"
        headers = {"Location": path, "Preference-Applied": "respond-async"}
        return json_answer({"request_id": answer.request_id, "state": "queued"}, 202, headers)
    own = hub().clock.monotonic() - started - answer.seconds
    timing = f"bank;dur={answer.seconds * 1000:.1f}, hub;dur={max(own, 0) * 1000:.1f}"
    return json_answer(answer.body, headers={"Server-Timing": timing})


for _call in RELAYED:
    tpp_routes.serve(_call.path, [_call.method], _relayed(_call))
for _order in PAYMENTS:
    tpp_routes.serve(_order.path, ["POST"], _payment(_order))


def _unknown(incoming: Incoming) -> Response:
    raise Refusal(Fault.NO_SUCH_ACTION, "this action does not exist")


for _place in ("/tpp", "/tpp/{first}", "/tpp/{first}/{second}"):
    tpp_routes.serve(_place, ALL_METHODS, _unknown)


def _credentials(incoming: Incoming) -> Credentials:
    kind, _, value = incoming.headers.get("authorization", "").partition(" ")
    return Credentials(
        client_id=incoming.headers.get("x-api-key"),
        bearer=value.strip() if kind.lower() == "bearer" else None,
        good_request_id=_good_request_id(incoming),
    )


def _query(incoming: Incoming, model: Any) -> Any:
    try:
        return model.read(incoming.parameters())
    except InvalidMessage as error:
        raise refuse_parameters(error) from None


def _no_parameters(incoming: Incoming) -> None:
    if incoming.query:
        raise Refusal(Fault.PARAMETER, "this call takes no parameters")


def _claim(call: PaymentCall, credentials: Credentials, incoming: Incoming) -> Claim | None:
    """What an Idempotency-Key stands for; a bad one is refused later, when it is the headers' turn."""
    key = incoming.headers.get("idempotency-key")
    if not key or not _is_key(key):
        return None
    consent_id = credentials.token.ids[0] if credentials.token and call.kind != "direct" else None
    return Claim.of(credentials.client_id or "", call.path, key, incoming.body, consent_id)


def _check_idempotency_key(incoming: Incoming) -> None:
    key = incoming.headers.get("idempotency-key")
    if key is not None and not _is_key(key):
        raise Refusal(Fault.HEADERS, f"header Idempotency-Key must have 1 to {_KEY_LENGTH} printable characters")


def _is_key(key: str) -> bool:
    return 1 <= len(key) <= _KEY_LENGTH and key.isprintable()


def _direct_bic(members: Any) -> str:
    """The bank of a direct payment's body. Raises: Refusal."""
    named = {name: value for name, value in members.items() if name == "bic"} if isinstance(members, dict) else members
    try:
        return ScopeQuery.read(named).bic
    except InvalidMessage as error:
        raise refuse_fields(error) from None


def _prefers_async(incoming: Incoming) -> bool:
    """Whether the caller would rather not wait for the bank (RFC 7240); other preferences are ignored."""
    given = incoming.headers.get("prefer", "").split(",")
    return any(preference.partition(";")[0].strip().lower() == "respond-async" for preference in given)


def _travelling(incoming: Incoming) -> dict[str, Any]:
    """What goes along to the bank: the request's id and the PSU's address. Raises: Refusal."""
    return {"request_id": incoming.request_id, "psu_address": _psu_address(incoming)}


def _psu_address(incoming: Incoming) -> str | None:
    given = incoming.headers.get("psu-ip-address")
    if given is None:
        return None
    refusal = Refusal(Fault.HEADERS, "header PSU-IP-Address must be an IP address")
    try:
        address = ipaddress.ip_address(given.strip())
    except ValueError:
        raise refusal from None
    if getattr(address, "scope_id", None) is not None:  # the name of a network interface: free text
        raise refusal
    return str(address)


@dataclass(frozen=True, slots=True)
class _NamedClient:
    """The client that a token request names, by whichever of the three ways, and the secret it shows."""

    client_id: str | None
    secret: str | None


def _token_endpoint(incoming: Incoming, model: Any) -> tuple[Any, _NamedClient]:
    """The body and the client of a request at the token or the revocation endpoint.

    The client is judged first, so what is wrong with a body is told to known clients only.
    """
    members: Any = {}
    request, refusal = None, None
    try:
        members = _members(incoming, model)
        request = model.read(members)
    except BadContent as error:
        refusal = answers.as_refusal(error)
    except InvalidMessage as error:
        refusal = refuse_fields(error)
        if any(problem.field == "grant_type" for problem in error.problems):
            refusal.oauth_error = "unsupported_grant_type"
    client = _named_client(incoming, members)
    if not _good_request_id(incoming):
        refusal = Refusal(Fault.REQUEST_ID, "header X-Request-Id must be a UUID")
    if refusal is not None:
        hub().token_flow.authenticate(client.client_id, client.secret)
        raise refusal
    return request, client


def _members(incoming: Incoming, model: Any) -> Any:
    """The body's members; of a form, unknown ones are ignored (RFC 6749 §3.2)."""
    if incoming.content_type == FORM:
        return {name: value for name, value in incoming.form().items() if name in model.model_fields}
    return incoming.json()


def _good_request_id(incoming: Incoming) -> bool:
    return incoming.has_good_request_id or "x-request-id" not in incoming.headers


def _named_client(incoming: Incoming, members: Any) -> _NamedClient:
    members = members if isinstance(members, dict) else {}
    basic_id, basic_secret = _basic(incoming.headers.get("authorization", ""))
    names = [incoming.headers.get("x-api-key"), members.get("client_id"), basic_id]
    secrets = [members.get("client_secret"), basic_secret]
    return _NamedClient(_agreed(names), _agreed(secrets))


def _agreed(given: list[Any]) -> str | None:
    values = {value for value in given if isinstance(value, str) and value}
    if len(values) > 1:
        raise unknown_client()
    return values.pop() if values else None


def _basic(header: str) -> tuple[str | None, str | None]:
    """Client ID and secret of HTTP Basic (RFC 6749 §2.3.1)."""
    kind, _, value = header.partition(" ")
    if kind.lower() != "basic":
        return None, None
    try:
        user, _, password = base64.b64decode(value.strip(), validate=True).decode("utf-8").partition(":")
    except (binascii.Error, ValueError):
        raise unknown_client() from None
    return unquote_plus(user), unquote_plus(password)
