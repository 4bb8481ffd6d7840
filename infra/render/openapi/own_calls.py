"""Calls from TPPs, OAuth clients and browsers that the service handles itself, and its events.

Relayed calls are in ``webhooks``, banks' calls in ``bank_calls``. Together they cover all paths of the interface.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, get_type_hints

from pydantic import ConfigDict, Field
from pydantic.alias_generators import to_camel

from chalicelib.foundation.fields.message import Message, OpenMessage
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
from chalicelib.openbanking.protocol.bank_identifiers import LONGEST_PAYMENT_ID
from chalicelib.openbanking.protocol.fields import AN, Bic
from chalicelib.openbanking.protocol.payment_enumerations import PaymentOutcome
from chalicelib.openbanking.protocol.tpp_calls import (
    REQUEST_ID,
    AuthorizationParameters,
    AuthorizeRequest,
    BankPath,
    BanksQuery,
    ClientMembers,
    ConsentsQuery,
    ConsentType,
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
from infra.render.openapi.models import model_of

Caller = Literal["client", "confidential client", "consent", "consent or client", "token client", "anybody"]
"""The credentials that a call requires; ``token client`` means those of the token endpoints."""


Encoding = Literal["json", "form"]


class RequestPlace(Message):
    """The path of ``GET /tpp/requests/{request_id}``."""

    request_id: AN[REQUEST_ID]
    """The ``request_id`` of the 202. Example: ``"b81f6e03d29c4a57e6f1d8"``."""


@dataclass(frozen=True, slots=True)
class OwnCall:
    """A call that the service handles itself.

    Attributes:
        answered_by: the function that returns the response.
        query, body: the request models.
        place: the model of the path parameters.
        encodings: how the body may be encoded.
        status: the HTTP status of a success.
        takes_proof: whether the call verifies a DPoP proof.
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

    @property
    def answer(self) -> type[Message]:
        """The response model, from the function's return type."""
        return model_of(returned_by(self.answered_by))


def returned_by(function: Callable[..., object]) -> type[Any]:
    """The return type of a function."""
    found: type[Any] = get_type_hints(function, include_extras=True)["return"]
    return found


class FrontDoorQuery(Message):
    """``GET /oauth/authorize``: the RFC 6749 parameters, or a pushed request's `request_uri` (RFC 9126)."""

    described_in: ClassVar = AuthorizationParameters

    client_id: AN[64]
    """The Client ID. Example: ``"4f1c2b7a9d8e6f503a1b2c"``."""
    request_uri: AN[512] | None = None
    """The ``request_uri`` of a pushed request; valid for 60 seconds. Example if sent: ``PUSHED_REQUEST``."""
    response_type: Literal["code"] | None = None
    """Always ``code``; mandatory without ``request_uri``."""
    bic: Bic | None = None
    chosen_bic: Bic | None = None
    """Added by the page on which the PSU chooses the bank; ignored if the client names it.
    Example if sent: ``"DEMODEF1"``.
    """
    scope: AN[4096] | None = None
    """The scopes, separated by spaces; mandatory without ``request_uri``. Example: ``"accounts"``."""
    redirect_uri: AN[2048] | None = None
    state: AN[512] | None = None
    """Example: ``"lVZ1uF2wC8mJr0d6oKxq3A"``."""
    code_challenge: AN[128] | None = None
    code_challenge_method: Literal["S256"] | None = None
    consent_type: ConsentType = "reusable"
    dpop_jkt: AN[43] | None = None


class PushedMembers(ClientMembers):
    """``POST /oauth/par``: the parameters of an authorization request, and the client's credentials."""

    described_in: ClassVar = AuthorizationParameters

    client_id: AN[64] | None = None
    """Example: ``"4f1c2b7a9d8e6f503a1b2c"``."""
    response_type: Literal["code"]
    """Always ``code``."""
    bic: Bic | None = None
    scope: AN[4096]
    """The scopes, separated by spaces. Example: ``"accounts"``."""
    redirect_uri: AN[2048] | None = None
    state: AN[512] | None = None
    code_challenge: AN[128] | None = None
    code_challenge_method: Literal["S256"] | None = None
    consent_type: ConsentType = "reusable"
    dpop_jkt: AN[43] | None = None


ACCEPTED_REQUEST = "/tpp/requests/{request_id}"
_EITHER: tuple[Encoding, ...] = ("json", "form")
OWN_CALLS: tuple[OwnCall, ...] = (
    OwnCall("POST", "/tpp/authorize", "client", describe_authorization, body=AuthorizeRequest, takes_proof=True),
    OwnCall(
        "POST",
        "/oauth/par",
        "token client",
        push,
        body=PushedMembers,
        encodings=("form",),
        status=201,
        takes_proof=True,
    ),
    OwnCall("POST", "/tpp/token", "token client", redeem, body=TokenRequest, encodings=_EITHER, takes_proof=True),
    OwnCall("POST", "/oauth/introspect", "token client", introspect, body=IntrospectionRequest, encodings=_EITHER),
    OwnCall("POST", "/tpp/token/revoke", "token client", revoke_by_tpp, body=RevokeRequest, encodings=_EITHER),
    OwnCall("GET", "/tpp/scope", "client", tpp_api.describe_scopes, query=ScopeQuery),
    OwnCall("GET", "/tpp/banks", "client", list_banks, query=BanksQuery),
    OwnCall("GET", "/tpp/banks/{bic}", "client", describe_bank, place=BankPath),
    OwnCall("GET", "/tpp/consent", "consent", describe_consent, takes_proof=True),
    OwnCall("GET", "/tpp/consents", "client", list_consents, query=ConsentsQuery),
    OwnCall("GET", "/tpp/events", "confidential client", TppEvents.list_events, query=EventsQuery),
    OwnCall("GET", ACCEPTED_REQUEST, "consent or client", look_up_request, place=RequestPlace, takes_proof=True),
    OwnCall("GET", "/.well-known/oauth-authorization-server", "anybody", oauth_api.describe_server),
    OwnCall("GET", "/.well-known/oauth-protected-resource", "anybody", oauth_api.describe_resource),
    OwnCall("GET", "/.well-known/jwks.json", "anybody", oauth_api.key_set),
)


class CancelQuery(Message):
    """The query of ``GET /bank/cancel/{secret}``: why no consent was given (RFC 6749 §4.1.2.1).

    Characters that the RFC forbids are removed, and long values are truncated.
    """

    error: str | None = None
    """The reason why no consent was given; access_denied when absent. Example: ``"access_denied"``."""
    error_description: str | None = None
    """The reason why no consent was given, for people. Example: ``"The customer declined"``."""


FRONT_DOOR = "/oauth/authorize"
PUBLIC_KEY = f"{BANK_ROOT}/public_key"

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
    """The response model of a bank's call, in its version's spelling."""
    return model_of(returned_by(BANK_STEPS[name]), version.spell)


def webhooks_of(call: RelayedCall | PaymentCall) -> dict[int, Webhook]:
    """The webhooks for a TPP's call, by version, for the versions that support it."""
    found = {version.number: version.webhook_by_call.get(call) for version in VERSIONS.values()}
    return {number: webhook for number, webhook in found.items() if webhook is not None}


@dataclass(frozen=True, slots=True)
class EventDescription:
    """An event type: the model of its ``data``, and when it is sent."""

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


class AskedStatus(OpenMessage):
    """A payment's status as returned by a version 2 bank."""

    payment_id: AN[LONGEST_PAYMENT_ID]
    """The payment's identifier at the bank. Example: ``"P2026112100017"``."""
    transaction_status: AN[255]
    """The payment's status. Example: ``"ACSC"``."""
    outcome: PaymentOutcome | None = None
    """Present while it is unknown whether the bank has the payment, or once the bank said that it does not.
    Example if sent: ``"unknown"``.
    """


class WebhookErrorV1(OpenMessage):
    """An error from a bank; the service passes code and message on to the TPP."""

    status: Literal["error"]
    """Always ``error``."""
    error_code: Annotated[int | str, Field(description="The bank's own code, or one of this protocol's")] | None = None
    """The bank's own code. Example: ``5101``."""
    message: AN[1024] | None = None
    """A description of the error for people. Example: ``"Insufficient funds in the account"``."""


class WebhookAdditionalError(OpenMessage):
    """A single problem found by the bank."""

    code: AN[255]
    """The error code. Example: ``"INVALID_MODEL_TYPE"``."""
    title: str | None = None
    """A description of the error for people; its wording may change. Example: ``"currency is required"``."""
    details: str | None = None
    """The location of the error, for people; its wording may change. Example: ``"currency is required"``."""


class WebhookError(OpenMessage):
    """An error from a bank; the service passes code and title on to the TPP."""

    model_config = ConfigDict(alias_generator=to_camel)

    code: AN[255]
    """The error code. Example: ``"FORMAT_ERROR"``."""
    title: str | None = None
    """A description of the error for people; its wording may change."""
    timestamp: AN[25]
    """When the error occurred. Example: ``"2026-11-21T09:30:00+00:00"``."""
    request_id: str | None = None
    """The request's X-Request-Id, or a generated one. Example: ``"fdfd4e95-a65f-44f4-8807-2ce2f6b89e89"``."""
    additional_errors: list[WebhookAdditionalError] | None = None
    """The individual errors, at most 50."""
