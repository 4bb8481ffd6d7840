"""Types of the responses that the service itself sends to TPPs and banks. The flows return these types.

The documents describe these types, and tests check the documents' examples against them. Members are in snake_case;
responses to banks are converted to each version's spelling. For errors, see ``errors``, and for metadata
documents, ``oauth_metadata``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, NotRequired, TypedDict

from pydantic import Field, WithJsonSchema

from chalicelib.openbanking.protocol.bank_identifiers import LONGEST_PAYMENT_ID
from chalicelib.openbanking.protocol.fields import AN, Day, Text, Timestamp, Uuid, WebAddress
from chalicelib.openbanking.protocol.listed_names import SchemeName, ScopeName, UnifiedScopeName
from chalicelib.openbanking.protocol.oauth_security import TokenType
from chalicelib.openbanking.protocol.payment_enumerations import OrderState, PaymentOutcome
from chalicelib.openbanking.protocol.payment_statuses import NUMBERS, Status
from chalicelib.openbanking.protocol.scopes import Service
from chalicelib.openbanking.protocol.tpp_calls import (
    CURSOR,
    EVENTS_CURSOR,
    REQUEST_ID,
    ConsentState,
    ConsentStatus,
    ConsentType,
    EndedBy,
    EventType,
)
from chalicelib.openbanking.protocol.v1_account_messages import BookedOrAvailable
from chalicelib.openbanking.protocol.versions import VERSIONS

Count = Annotated[int, Field(ge=0)]
HttpStatus = Annotated[int, Field(ge=200, le=599)]


# -- To TPPs


class AuthorizeAnswer(TypedDict):
    """The URL that the PSU has to open."""

    redirect_url: WebAddress
    """The URL to send the PSU's browser to, unchanged. Example: ``REQUEST_URL``."""
    state: AN[512]
    """The ``state`` that you sent, or a generated one; compare it with the ``state`` in the callback. Example:
    ``"lVZ1uF2wC8mJr0d6oKxq3A"``.
    """
    expires_in: Count
    """The number of seconds within which the PSU must decide. Example: ``1800``."""


class TokenAnswer(TypedDict):
    """An access token and a refresh token; `token_type` is `DPoP` if they are bound to a DPoP key."""

    access_token: AN[512]
    """The access token; send it with the authorization scheme in ``token_type``. Example: ``ACCESS_TOKEN``."""
    token_type: TokenType
    """The authorization scheme of the access token; ``DPoP`` if bound to a DPoP key. Example: ``"Bearer"``."""
    expires_in: Count
    """The lifetime of the access token in seconds. Example: ``3600``."""
    refresh_token: AN[512]
    """The latest refresh token, which is exchanged for a new pair of tokens. Example: ``REFRESH_TOKEN``."""
    scope: str
    """The scopes as the authorization request named them, separated by spaces.
    Example: ``"accounts accounts.balances"``.
    """
    unified_scopes: list[UnifiedScopeName]
    """The unified scopes that the consent includes entirely, also if the request named native scopes; may be empty.
    Example: ``["accounts:read", "balances:read"]``.
    """
    consent_id: str
    """The consent's identifier. Example: ``"5f8d0c1e9b7a463f2d1c0b"``."""
    valid_until: Timestamp
    """The time at which the consent and all its tokens expire. Example: ``"2027-05-20T09:30:00+00:00"``."""


class PushedAnswer(TypedDict):
    """The reference to a pushed authorization request (RFC 9126)."""

    request_uri: AN[512]
    """The ``request_uri`` of a pushed request; valid for 60 seconds. Example: ``PUSHED_REQUEST``."""
    expires_in: Count
    """The number of seconds within which the PSU's browser must open the ``request_uri``. Example: ``60``."""


class IntrospectionAnswer(TypedDict):
    """The state of a token (RFC 7662); an invalid token, or that of another client, has `active` only."""

    active: bool
    """Whether the token is valid now."""
    scope: NotRequired[str]
    client_id: NotRequired[AN[64]]
    """The client to which the token was issued. Example: ``"4f1c2b7a9d8e6f503a1b2c"``."""
    token_type: NotRequired[TokenType]
    """The authorization scheme of an access token; absent for a refresh token. Example: ``"DPoP"``."""
    exp: NotRequired[Count]
    """The time at which the token expires, in Unix seconds. Example: ``1795257000``."""
    iss: NotRequired[WebAddress]
    """The issuer of the token. Example: ``"http://127.0.0.1:8000"``."""
    consent_id: NotRequired[str]
    cnf: NotRequired[Mapping[str, str]]
    """The key to which the access token is bound, if any: ``jkt`` (RFC 9449) or ``x5t#S256`` (RFC 8705).
    Example: ``{"jkt": "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I"}``.
    """


class RevokeAnswer(TypedDict):
    """An empty object, whether or not the token belonged to the caller (RFC 7009)."""


class BankScope(TypedDict):
    """A scope that PSUs of this bank can grant."""

    scope: ScopeName
    """The scope's name. Example: ``"accounts"``."""
    service: Service
    """The PSD2 service to which the scope belongs."""
    meaning: str
    """A description of the access that the scope allows. Example: ``"account list and details"``."""


class ScopeAnswer(TypedDict):
    """The scopes that a bank supports."""

    bic: AN[11]
    """The bank's BIC; a BIC of 8 characters denotes the head office. Example: ``"DEMODEF1"``."""
    scopes: list[BankScope]
    """The scopes."""
    unified_scopes: list[UnifiedScopeName]
    """The unified scopes that the bank provides entirely; may be empty. Example: ``["accounts:read"]``."""


class BankEntry(TypedDict):
    """An available bank and its capabilities."""

    bic: AN[11]
    name: Text[128]
    """The bank's name. Example: ``"Demo Bank Two"``."""
    country: Annotated[str, Field(pattern="^[A-Z]{2}$")]
    """The bank's country (ISO 3166-1). Example: ``"DE"``."""
    api_version: Annotated[int, Field(json_schema_extra={"enum": list(VERSIONS)})]
    """The protocol version of the bank. Example: ``2``."""
    scopes: list[ScopeName]
    """The scopes that it provides, in the order of its version. Example: ``["accounts"]``."""
    unified_scopes: list[UnifiedScopeName]
    """The unified scopes that the bank provides entirely; may be empty. Example: ``["accounts:read"]``."""
    payment_schemes: list[SchemeName]
    """The payment schemes that the bank offers. Example: ``["SCT", "SCTI"]``."""
    history_days: Annotated[int, Field(ge=1, le=3650)] | None
    """How many days back transactions are available; null if the bank does not say. Example: ``90``."""
    unsigned_amounts: bool
    """Whether the bank's transactions have amounts without a sign; the unified API then takes the direction from the
    named parties. Example: ``false``.
    """
    balance_type: BookedOrAvailable
    """The ``type`` of a version 1 bank's balances in the unified API. Example: ``"booked"``."""
    credit_limit_included: bool | None
    """Whether balances include the credit limit; null if that is not known for the whole bank. Example: ``false``."""
    no_date_to: bool
    """Whether a version 2 bank does not accept ``date_to``; the unified API then leaves out later transactions itself.
    Example: ``false``.
    """
    reachable: bool
    """Whether the bank is reachable: false from the fifth consecutive request without a response until the next
    response, or until midnight UTC. The value is at most two minutes old.
    """
    average_ms: Count | None
    """The bank's mean response time on the previous UTC day, in milliseconds; null if there were no responses. Before
    01:10 UTC, the value is for the day before the previous day.
    Example: ``149``.
    """
    logo_url: WebAddress | None
    """The URL of the bank's logo (PNG, JPEG or SVG), which can be cached permanently; null if the bank has no logo.
    Example: ``"https://hub.example/banks/DEMODEF1/logo/0a1b2c3d4e5f60718293a4b5c6d7e8f9"``.
    """


class BanksAnswer(TypedDict):
    """One page of the available banks."""

    banks: list[BankEntry]
    """The banks on this page."""
    page: Count
    """The page number. Example: ``1``."""
    limit: Count
    """The maximum number of banks per page. Example: ``20``."""
    total: Count
    """The total number of banks. Example: ``2``."""


class ConsentAnswer(TypedDict):
    """The PSU's consent."""

    consent_id: str
    status: Annotated[ConsentStatus, WithJsonSchema({"const": "authorised", "type": "string"})]
    """The consent's status; once a consent has ended, its bearer token is refused. Example: ``"authorised"``."""
    consent_type: ConsentType
    """Whether the consent is reusable; ``one_time`` is allowed with payment scopes only."""
    scopes: list[ScopeName]
    """The scopes that the PSU is asked to approve."""
    unified_scopes: list[UnifiedScopeName]
    bic: AN[11]
    ibans: list[str]
    """The approved accounts' IBANs as supplied by the bank; may be empty. Example: ``["DE61100999000004711001"]``."""
    account_ids: list[str]
    """The approved accounts' identifiers at the bank; may be empty. Example: ``[]``."""
    account_numbers: list[str]
    """The approved accounts' local numbers; may be empty. Example: ``[]``."""
    valid_until: Timestamp


class ConsentEntry(TypedDict):
    """A consent of the client, without its tokens and accounts."""

    consent_id: str
    bic: AN[11]
    """The bank's BIC."""
    status: ConsentState
    """The consent's state."""
    consent_type: ConsentType
    scopes: list[ScopeName]
    """The scopes that the PSU approved."""
    unified_scopes: list[UnifiedScopeName]
    created_at: Timestamp
    """The time at which the PSU gave the consent. Example: ``"2026-11-21T09:30:00+00:00"``."""
    valid_until: Timestamp
    last_used_on: Day | None
    """The UTC day on which the client last received an access token, which is valid for an hour, or paid with a
    one-time consent; null if no such day is known.
    Example: ``"2026-11-25"``.
    """


class ConsentsAnswer(TypedDict):
    """One page of the client's consents."""

    consents: list[ConsentEntry]
    """The consents."""
    next: AN[CURSOR] | None
    """The cursor of the next page, to be sent as ``after``; null on the last page. Example: ``CONSENTS_CURSOR``."""
    has_more: bool
    """Whether another page follows. Example: ``true``."""


class EventEntry(TypedDict):
    """An event recorded for fetching. `body` is exactly the JSON text that is sent to an Events URL."""

    id: AN[64]
    """The event's id, which is also the ``webhook-id`` of a request to an Events URL. Example:
    ``"d24c7a9be0513f86a1c45d"``.
    """
    type: EventType
    """The event type. Example: ``"consent.revoked"``."""
    created_at: Timestamp
    """The time at which the event was recorded."""
    body: str
    """A JSON object with ``type``, ``timestamp`` and ``data``, as text. Example: ``EVENT_BODY``."""


class EventsAnswer(TypedDict):
    """One page of the client's events."""

    events: list[EventEntry]
    """The events, oldest first."""
    next: AN[EVENTS_CURSOR]
    """The cursor of the events that follow, now or later, to be sent as ``after``. Example: ``EVENTS_CURSOR``."""
    has_more: bool
    """Whether further events are available now. Example: ``false``."""


StatusNumber = Annotated[Status, WithJsonSchema({"type": "integer", "enum": list(NUMBERS.meanings)})]


class StatusEntry(TypedDict):
    """A payment's status at a point in time."""

    payment_status: StatusNumber
    """The payment's status. Example: ``4``."""
    at: Timestamp
    """The time at which the bank reported the status. Example: ``"2026-11-21T09:30:00+00:00"``."""


class ReportedStatus(TypedDict):
    """A payment's status as reported by a version 1 bank."""

    payment_id: AN[LONGEST_PAYMENT_ID]
    """The payment's identifier at the bank. Example: ``"P2026112100017"``."""
    payment_status: StatusNumber
    history: list[StatusEntry]
    """All statuses of the payment, oldest first."""
    outcome: NotRequired[PaymentOutcome]
    """Whether the bank has the payment; present only if this is unknown, or if the bank has reported that it does not
    have the payment.
    Example if sent: ``"unknown"``.
    """


class OrderWithoutPayment(TypedDict):
    """An order for which the bank has returned no payment id."""

    request_id: Uuid
    """The order's X-Request-Id. Example: ``"fdfd4e95-a65f-44f4-8807-2ce2f6b89e89"``."""
    outcome: OrderState
    """The state of the order: ``pending`` while the order is waiting or being sent, ``unknown`` if the bank may have
    the payment, ``not_accepted`` if the bank does not have the payment.
    Example: ``"unknown"``.
    """


class Accepted(TypedDict):
    """A deferred call; its outcome will be available at `Location`."""

    request_id: AN[REQUEST_ID]
    """The identifier for retrieving the outcome. Example: ``"b81f6e03d29c4a57e6f1d8"``."""
    state: Literal["queued"]
    """The state of the call, always ``queued``. Example: ``"queued"``."""


class AcceptedRequest(TypedDict):
    """The outcome of a call with `Prefer: respond-async`."""

    state: Literal["queued", "running", "done", "failed"]
    """The state of the call: ``done`` after a success, ``failed`` after a refusal or failure. Example: ``"done"``."""
    status: HttpStatus | None
    """The HTTP status of the outcome; null until the call has finished. Example: ``200``."""
    body: Mapping[str, Any] | None
    """The response body, also of an error; null until the call has finished.
    Example: ``{"funds_available": true}``.
    """


# -- To banks


class InitAuthorizationAnswer(TypedDict):
    """The TPP and the scopes that it requests."""

    tpp_name: Text[128]
    """The TPP's name, to show to the PSU. Example: ``"Example TPP"``."""
    tpp_registration_number: AN[128]
    """The TPP's registration number, to show to the PSU. Example: ``"SANDBOX-4f1c2b7a"``."""
    scopes: list[ScopeName]
    """The scopes that the PSU is asked to approve."""
    cancel_url: WebAddress
    """The URL for the PSU's browser if no consent is given; you may add ``error`` and ``error_description``.
    Example: ``"http://127.0.0.1:8000/bank/cancel/d04b98f48e8f8bcc15c6ae.3q2-7wX9aLr0Zk5vYtJmNcB1dFgHsUe4iOpQlAzXyVw"``.
    """


class SaveConsentAnswer(TypedDict):
    """The URL to which the PSU is redirected, and the token of the consent."""

    callback_url: WebAddress
    """The URL to send the PSU's browser to, unchanged. Example: ``RETURN_URL``."""
    access_token: AN[512]
    """The token of the consent, which webhooks send in X-Auth-Token. Example: ``BANK_TOKEN``."""
    valid_until: Timestamp


class BankConsent(TypedDict):
    """The state of a consent; for an unknown consent, all other members are null, except an id that was sent in the
    request.
    """

    consent_id: str | None
    """The consent's id; null if the token does not have the format of this service's tokens.
    Example: ``"7a3e9c1d5b20f8e6a4c2d1"``.
    """
    status: Literal[ConsentState, "unknown"]
    """The consent's state. Example: ``"revoked"``."""
    scopes: list[ScopeName] | None
    """The approved scopes; null if the consent is unknown."""
    valid_until: Timestamp | None
    """The time at which the consent and all its tokens expire; null if the consent is unknown."""
    ended_at: Timestamp | None
    """The time at which the consent was revoked; null if it was not revoked. Example: ``"2026-11-25T16:02:11+00:00"``.
    """
    ended_by: EndedBy | None
    """The party that revoked the consent, ``service`` after the misuse of a code or refresh token; null if the consent
    was not revoked.
    """


class ConsentStatesAnswer(TypedDict):
    """The requested consents in the order of the request: first the consents requested by token, then those requested
    by id.
    """

    consents: list[BankConsent]
    """The consents."""


class Success(TypedDict):
    """The request was successful."""

    status: Literal["success"]
    """The status, always ``success``. Example: ``"success"``."""
