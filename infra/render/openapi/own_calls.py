"""The calls from TPPs, OAuth clients and browsers that the service handles itself, and the events.

The module ``webhooks`` describes relayed calls, and ``bank_calls`` describes the banks' calls. The three modules cover
all paths of the interface.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_type_hints

from chalicelib.foundation.fields.field_types import Message
from chalicelib.openbanking.api import oauth_api, tpp_api
from chalicelib.openbanking.flows.bank.directory import describe_bank, list_banks
from chalicelib.openbanking.flows.bank.performance_reports import record_day
from chalicelib.openbanking.flows.consent.authorization import describe_authorization, initiate, save_consent
from chalicelib.openbanking.flows.consent.introspection import introspect
from chalicelib.openbanking.flows.consent.pushed_authorization import push
from chalicelib.openbanking.flows.consent.states import list_consents, list_states
from chalicelib.openbanking.flows.consent.tokens import describe_consent, redeem, revoke_by_bank, revoke_by_tpp
from chalicelib.openbanking.flows.deferred_calls import look_up_request
from chalicelib.openbanking.flows.payments.status import record_report
from chalicelib.openbanking.flows.tpp_events import TppEvents
from chalicelib.openbanking.protocol import tpp_events
from chalicelib.openbanking.protocol.tpp_calls import (
    AuthorizeRequest,
    BankPath,
    BanksQuery,
    ConsentsQuery,
    EventsQuery,
    EventType,
    IntrospectionRequest,
    RevokeRequest,
    ScopeQuery,
    TokenRequest,
)
from chalicelib.openbanking.protocol.version import BANK_ROOT, Version
from chalicelib.openbanking.protocol.versions import VERSIONS
from chalicelib.openbanking.protocol.webhooks import PaymentCall, RelayedCall, Webhook
from chalicelib.openbanking.unified.calls import UnifiedCall
from chalicelib.openbanking.unified.versions import UNIFIED_VERSIONS
from infra.render.openapi.document_models import PushedMembers, RequestPlace
from infra.render.openapi.models import model_of
from infra.render.openapi.refusal_cases import (
    BODY,
    CLIENT,
    CONSENT,
    LIMIT,
    NAMED,
    PROOF,
    PROOF_FOR_TOKEN,
    QUERY,
    REQUEST,
    TOKEN_CLIENT,
)

Caller = Literal["client", "confidential client", "consent", "consent or client", "token client", "anybody"]
"""The credentials that a call requires; ``token client`` means the client credentials that the token endpoints accept.
"""


Encoding = Literal["json", "form"]


@dataclass(frozen=True, slots=True)
class OwnCall:
    """A call that the service handles itself.

    Attributes:
        answered_by: the function that returns the response.
        query, body: the request models.
        place: the model of the path parameters.
        encodings: the allowed media types of the body.
        status: the HTTP status of a success.
        takes_proof: whether the call verifies a DPoP proof.
        title, text: the purpose of the call.
        refusals: the names of the call's refusals in ``refusal_cases``, in the order of the checks.
    """

    method: Literal["GET", "POST"]
    path: str
    caller: Caller
    answered_by: Callable[..., object]
    query: type[Message] | None = None
    body: type[Message] | None = None
    place: type[Message] | None = None
    encodings: tuple[Encoding, ...] = ("json",)
    status: int = 200
    takes_proof: bool = False
    title: str = field(kw_only=True)
    text: str = field(kw_only=True)
    refusals: tuple[str, ...] = ()

    @property
    def answer(self) -> type[Message]:
        """Return the response model, which is the function's return type."""
        return model_of(returned_by(self.answered_by))


def returned_by(function: Callable[..., object]) -> type[Any]:
    """Return the return type of a function."""
    found: type[Any] = get_type_hints(function, include_extras=True)["return"]
    return found


ACCEPTED_REQUEST = "/tpp/requests/{request_id}"
_EITHER: tuple[Encoding, ...] = ("json", "form")
OWN_CALLS: tuple[OwnCall, ...] = (
    OwnCall(
        "POST",
        "/tpp/authorize",
        "client",
        describe_authorization,
        body=AuthorizeRequest,
        takes_proof=True,
        title="Start an authorization",
        text=(
            "Returns the URL at the bank where the PSU consents. Send the PSU's browser there, unchanged. The "
            "browser returns to the Callback URL with `authorization_code`, `code` (the same value), `state` and "
            "`iss`, or, if no consent was given, with `error`, `error_description`, `state` and `iss`. The PSU "
            "approves either all scopes or none."
        ),
        refusals=(
            *(*NAMED, *PROOF_FOR_TOKEN, *LIMIT, *BODY, "scopes_missing", "jkt_other", "bank_unknown", "not_pushed"),
            *(*REQUEST, "state_used"),
        ),
    ),
    OwnCall(
        "POST",
        "/oauth/par",
        "token client",
        push,
        body=PushedMembers,
        encodings=("form",),
        status=201,
        takes_proof=True,
        title="Push an authorization request (RFC 9126)",
        text=(
            "Takes a form, and no JSON, with the parameters of `GET /oauth/authorize` and the client's "
            "credentials, and returns a `request_uri`, valid for 60 seconds. Send the PSU's browser to `GET "
            "/oauth/authorize` with `client_id` and `request_uri`. A DPoP proof, or `dpop_jkt`, binds the code to"
            " the key. Mandatory for clients with the profile `fapi2`, which must send `redirect_uri` and a code "
            "challenge. Without `bic`, the PSU chooses the bank, within 30 minutes of opening the request."
        ),
        refusals=(
            *(*NAMED, *PROOF_FOR_TOKEN, *LIMIT, "too_large", "content_type_form", "not_a_form"),
            *(
                "parameter_not_supported",
                "response_type",
                "member_wrong",
                "jkt_other",
                "bank_unknown",
                "redirect_uri_missing",
                *REQUEST,
            ),
            "scopes_of_no_version",
        ),
    ),
    OwnCall(
        "POST",
        "/tpp/token",
        "token client",
        redeem,
        body=TokenRequest,
        encodings=_EITHER,
        takes_proof=True,
        title="Exchange a code or a refresh token for tokens",
        text=(
            "Accepts JSON or a form. A code can be used once, within one minute (ten in the local stage); a "
            "second use revokes the tokens issued for the first. If `GET /oauth/authorize` or a pushed request "
            "named `redirect_uri`, send the same one with the code. Refresh tokens rotate: each use returns a new"
            " pair, and a repeat within a minute returns the same pair; a client with the profile `fapi2` keeps "
            "its refresh token. The client authenticates by its method: HTTP Basic (user: Client ID, password: "
            "client secret), `client_id` and `client_secret`, or `client_assertion` in the body, or the "
            "certificate of the connection. Contradictory credentials are refused. With a DPoP proof, the tokens "
            "are bound to its key; a client's record can demand that, or tokens that are bound to its "
            "certificate."
        ),
        refusals=(*TOKEN_CLIENT, *PROOF_FOR_TOKEN, *LIMIT, "redirect_uri_missing", "grant_type", "grant_invalid"),
    ),
    OwnCall(
        "POST",
        "/oauth/introspect",
        "token client",
        introspect,
        body=IntrospectionRequest,
        encodings=_EITHER,
        title="Describe a token (RFC 7662)",
        text=(
            "Accepts JSON or a form. Describes an access or refresh token of the calling client. A token that is "
            'not valid, or is another client\'s, is `{"active": false}`.'
        ),
        refusals=(*TOKEN_CLIENT, *LIMIT),
    ),
    OwnCall(
        "POST",
        "/tpp/token/revoke",
        "token client",
        revoke_by_tpp,
        body=RevokeRequest,
        encodings=_EITHER,
        title="End a consent (RFC 7009)",
        text=(
            "Accepts JSON or a form. Any access or refresh token of the client ends its consent and all of the "
            "consent's tokens; the bank is notified. The token of a consent that has ended, an unknown token, or "
            "one of another client has no effect and gets the same response."
        ),
        refusals=(*TOKEN_CLIENT, *LIMIT),
    ),
    OwnCall(
        "GET",
        "/tpp/scope",
        "client",
        tpp_api.describe_scopes,
        query=ScopeQuery,
        title="List the scopes of a bank",
        text="The scopes that the bank provides, in the order of its protocol version, and the unified scopes.",
        refusals=(*CLIENT, *QUERY, "bank_unknown"),
    ),
    OwnCall(
        "GET",
        "/tpp/banks",
        "client",
        list_banks,
        query=BanksQuery,
        title="List the banks",
        text=(
            "The banks that match all filters, sorted by BIC, and what each can do; `total` counts them. A page "
            "beyond the last is empty. Changes appear within a minute, and whether a bank responds within two."
        ),
        refusals=(*CLIENT, *QUERY, "filter_unknown"),
    ),
    OwnCall(
        "GET",
        "/tpp/banks/{bic}",
        "client",
        describe_bank,
        place=BankPath,
        title="Read one bank",
        text="What a bank can do, as in the list.",
        refusals=(*CLIENT, "parameters_none", "bic_wrong", "bank_unknown"),
    ),
    OwnCall(
        "GET",
        "/tpp/consent",
        "consent",
        describe_consent,
        takes_proof=True,
        title="Read the consent of a bearer token",
        text="The scopes and accounts that the PSU approved, and the end of the consent.",
        refusals=(*CONSENT, "parameters_none"),
    ),
    OwnCall(
        "GET",
        "/tpp/consents",
        "client",
        list_consents,
        query=ConsentsQuery,
        title="List the client's consents",
        text=(
            "All consents that PSUs gave to this client, newest first, including those that have ended and those "
            "at banks that are no longer reachable. Needs no token and returns none. Pass `next` as `after` to "
            "get the following page, with the same or other filters. With `bic` or `status`, a page examines up "
            "to 1,000 consents: it may have fewer than `limit`, even none, although `has_more` is true."
        ),
        refusals=(*CLIENT, *QUERY, "cursor_invalid"),
    ),
    OwnCall(
        "GET",
        "/tpp/events",
        "confidential client",
        TppEvents.list_events,
        query=EventsQuery,
        title="Fetch events",
        text=(
            "For clients whose events are recorded for fetching instead of sent to an Events URL. Oldest first, "
            "kept for 30 days; without `after` from the oldest. Pass `next`, which is always present, as `after`:"
            " at once if `has_more` is true, or else in a second or more. A client that follows `next` gets every"
            " event exactly once, even one that was written late. A page may have fewer events than `limit` "
            "although `has_more` is true. The client must authenticate: its Client ID alone is not enough."
        ),
        refusals=(*CLIENT, "client_proves_nothing", *QUERY, "events_cursor_invalid"),
    ),
    OwnCall(
        "GET",
        ACCEPTED_REQUEST,
        "consent or client",
        look_up_request,
        place=RequestPlace,
        takes_proof=True,
        title="Read the outcome of a deferred call",
        text=(
            "For calls that returned 202. `status` and `body` are null until the state is `done` or `failed`; "
            "then they are the call's actual status and body. Outcomes are kept for 24 hours from acceptance of "
            "the call. Any valid bearer of the same consent can read them, including that of a spent one-time "
            "consent. Direct payments and their status are read by the same client without a bearer token."
        ),
        refusals=(
            *(*NAMED, "bearer_of_request", "bearer_invalid", *PROOF, *LIMIT, "parameters_none", "request_unknown"),
        ),
    ),
    OwnCall(
        "GET",
        "/.well-known/oauth-authorization-server",
        "anybody",
        oauth_api.describe_server,
        title="Read the authorization server's metadata (RFC 8414)",
        text="For off-the-shelf OAuth clients.",
    ),
    OwnCall(
        "GET",
        "/.well-known/oauth-protected-resource",
        "anybody",
        oauth_api.describe_resource,
        title="Read the API's metadata as a protected resource (RFC 9728)",
        text="Names the authorization server and the ways of sending tokens.",
    ),
    OwnCall(
        "GET",
        "/.well-known/jwks.json",
        "anybody",
        oauth_api.key_set,
        title="Read the service's public keys (RFC 7517)",
        text=("The keys with which the service signs its calls to banks, newest first; two during a rotation."),
    ),
)


FRONT_DOOR = "/oauth/authorize"
"""Start an authorization in the browser (RFC 6749). This call, which is intended for off-the-shelf OAuth clients,
redirects the browser to the bank. Unknown and empty parameters are ignored. An invalid request redirects to the
Callback URL with ``error``, ``error_description``, ``state`` and ``iss``. For an unknown client or an unregistered
``redirect_uri``, the browser gets an error page instead, because that URL cannot be trusted. While the request is open,
opening the same URL again redirects to the bank again. Without ``bic``, the browser gets a page on which the PSU
chooses one of the banks that provide all requested scopes; until the bank has saved a consent, the PSU can go back and
choose a different bank. A client that has pushed its request sends only ``client_id`` and ``request_uri``; all other
parameters are ignored, except ``chosen_bic``, in which the page for choosing a bank sends the PSU's choice.
"""
PUBLIC_KEY = f"{BANK_ROOT}/public_key"
"""Read the service's public keys. The response contains the keys that sign webhooks, in PEM format, newest first.
During a rotation, there are two keys. Fetch the keys again when the verification of a signature fails.
"""

BANK_STEPS: Mapping[str, Callable[..., object]] = {
    "initiate": initiate,
    "save_consent": save_consent,
    "revoke_token": revoke_by_bank,
    "report_status": record_report,
    "report_day": record_day,
    "list_states": list_states,
}
"""The functions that handle a bank's calls, by call name."""


def answer_to_bank(name: str, version: Version) -> type[Message]:
    """Return the response model of a bank's call, with the member names of its version."""
    return model_of(returned_by(BANK_STEPS[name]), version.spell)


def webhooks_of(call: RelayedCall | PaymentCall) -> dict[int, Webhook]:
    """Return the webhooks for a TPP's call, by protocol version. Versions that do not support the call are omitted."""
    found = {number: _webhook_of(call, each) for number, each in VERSIONS.items()}
    return {number: webhook for number, webhook in found.items() if webhook is not None}


def _webhook_of(call: RelayedCall | PaymentCall, version: Version) -> Webhook | None:
    if isinstance(call, PaymentCall):
        return version.payments.get(call.kind)
    if isinstance(call, UnifiedCall):
        mapping = UNIFIED_VERSIONS.get(version.number)
        return version.webhook_by_call[mapping.read(call).native] if mapping else None
    return version.webhook_by_call.get(call)


@dataclass(frozen=True, slots=True)
class EventDescription:
    """An event type: the model of its ``data``, and a description of the occasion on which the event is sent."""

    data: type[Message]
    meaning: str


EVENTS: Mapping[EventType, EventDescription] = {
    "consent.authorised": EventDescription(
        model_of(tpp_events.ConsentAuthorised), "A PSU has given a consent that this client requested."
    ),
    "consent.cancelled": EventDescription(
        model_of(tpp_events.ConsentCancelled), "A PSU returned from the bank without giving consent."
    ),
    "consent.revoked": EventDescription(
        model_of(tpp_events.ConsentRevoked), "A consent was ended before its expiry, by any party."
    ),
    "consent.expiring": EventDescription(model_of(tpp_events.ConsentEnding), "A consent ends in 7 days."),
    "consent.expired": EventDescription(model_of(tpp_events.ConsentEnding), "A consent has reached its end."),
    "payment.status_changed": EventDescription(
        model_of(tpp_events.PaymentStatusChanged), "A bank has reported a new payment status."
    ),
    "test": EventDescription(model_of(tpp_events.TestEvent), "A test of event delivery."),
}
