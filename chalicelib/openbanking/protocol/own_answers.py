"""The service's own responses to TPPs and banks: the return types of the flows.

The documents describe these types, and tests check the documents' examples against them. Members are in snake_case;
responses to banks are converted to each version's spelling. For errors, see ``errors``, and for metadata
documents, ``oauth_metadata``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, NotRequired, TypedDict

from pydantic import Field, WithJsonSchema

from chalicelib.foundation.fields.field_types import AN, Day, Text, Timestamp, Uuid, WebAddress
from chalicelib.openbanking.protocol.bank_identifiers import LONGEST_PAYMENT_ID
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
from chalicelib.openbanking.protocol.versions import VERSIONS

Count = Annotated[int, Field(ge=0)]
HttpStatus = Annotated[int, Field(ge=200, le=599)]
ScopeName = Annotated[
    str, Field(json_schema_extra={"enum": [name for version in VERSIONS.values() for name in version.scopes]})
]

SchemeName = Annotated[
    str,
    Field(
        json_schema_extra={
            "enum": list(dict.fromkeys(name for version in VERSIONS.values() for name in version.schemes))
        }
    ),
]


# -- To TPPs


class AuthorizeAnswer(TypedDict):
    """The URL that the PSU has to open."""

    redirect_url: WebAddress
    state: AN[512]
    expires_in: Count


class TokenAnswer(TypedDict):
    """A pair of tokens; `token_type` is `DPoP` if they are bound to the key of the request's proof."""

    access_token: AN[512]
    token_type: TokenType
    expires_in: Count
    refresh_token: AN[512]
    scope: str
    consent_id: str
    valid_until: Timestamp


class PushedAnswer(TypedDict):
    """The reference to a pushed authorization request (RFC 9126)."""

    request_uri: AN[512]
    expires_in: Count


class IntrospectionAnswer(TypedDict):
    """A token's state (RFC 7662); a token that is not valid, or not the caller's, has `active` only."""

    active: bool
    scope: NotRequired[str]
    client_id: NotRequired[AN[64]]
    token_type: NotRequired[TokenType]
    exp: NotRequired[Count]
    iss: NotRequired[WebAddress]
    consent_id: NotRequired[str]
    cnf: NotRequired[Mapping[str, str]]


class RevokeAnswer(TypedDict):
    """An empty object, whether or not the token belonged to the caller (RFC 7009)."""


class BankScope(TypedDict):
    """A scope that PSUs of this bank can grant."""

    scope: ScopeName
    service: Service
    meaning: str


class ScopeAnswer(TypedDict):
    """The scopes that a bank supports."""

    bic: AN[11]
    scopes: list[BankScope]


class BankEntry(TypedDict):
    """An available bank, and what it can do."""

    bic: AN[11]
    name: Text[128]
    country: Annotated[str, Field(pattern="^[A-Z]{2}$")]
    api_version: Annotated[int, Field(json_schema_extra={"enum": list(VERSIONS)})]
    scopes: list[ScopeName]
    payment_schemes: list[SchemeName]
    history_days: Annotated[int, Field(ge=1, le=3650)] | None
    reachable: bool
    average_ms: Count | None
    logo_url: WebAddress | None


class BanksAnswer(TypedDict):
    """One page of the available banks."""

    banks: list[BankEntry]
    page: Count
    limit: Count
    total: Count


class ConsentAnswer(TypedDict):
    """The PSU's consent."""

    consent_id: str
    status: Annotated[ConsentStatus, WithJsonSchema({"const": "authorised", "type": "string"})]
    consent_type: ConsentType
    scopes: list[ScopeName]
    bic: AN[11]
    ibans: list[str]
    account_ids: list[str]
    account_numbers: list[str]
    valid_until: Timestamp


class ConsentEntry(TypedDict):
    """A consent of the client, without its tokens and accounts."""

    consent_id: str
    bic: AN[11]
    status: ConsentState
    consent_type: ConsentType
    scopes: list[ScopeName]
    created_at: Timestamp
    valid_until: Timestamp
    last_used_on: Day | None


class ConsentsAnswer(TypedDict):
    """One page of the client's consents."""

    consents: list[ConsentEntry]
    next: AN[CURSOR] | None
    has_more: bool


class EventEntry(TypedDict):
    """An event recorded for fetching. `body` is the exact text that an Events URL gets, as JSON."""

    id: AN[64]
    type: EventType
    created_at: Timestamp
    body: str


class EventsAnswer(TypedDict):
    """One page of the client's events."""

    events: list[EventEntry]
    next: AN[EVENTS_CURSOR]
    has_more: bool


StatusNumber = Annotated[Status, WithJsonSchema({"type": "integer", "enum": list(NUMBERS.meanings)})]


class StatusEntry(TypedDict):
    """A payment's status at a point in time."""

    payment_status: StatusNumber
    at: Timestamp


class ReportedStatus(TypedDict):
    """A payment's status as reported by a version 1 bank."""

    payment_id: AN[LONGEST_PAYMENT_ID]
    payment_status: StatusNumber
    history: list[StatusEntry]
    outcome: NotRequired[PaymentOutcome]


class OrderWithoutPayment(TypedDict):
    """An order for which the bank named no payment."""

    request_id: Uuid
    outcome: OrderState


class Accepted(TypedDict):
    """A deferred call; its outcome will be available at `Location`."""

    request_id: AN[REQUEST_ID]
    state: Literal["queued"]


class AcceptedRequest(TypedDict):
    """The outcome of a call with `Prefer: respond-async`."""

    state: Literal["queued", "running", "done", "failed"]
    status: HttpStatus | None
    body: Mapping[str, Any] | None


# -- To banks


class InitAuthorizationAnswer(TypedDict):
    """The TPP and the scopes that it requests."""

    tpp_name: Text[128]
    tpp_registration_number: AN[128]
    scopes: list[ScopeName]
    cancel_url: WebAddress


class SaveConsentAnswer(TypedDict):
    """The URL to which the PSU is redirected, and the token of this consent."""

    callback_url: WebAddress
    access_token: AN[512]
    valid_until: Timestamp


class BankConsent(TypedDict):
    """The state of a consent; for an unknown one, all other members are null, except an id that was sent."""

    consent_id: str | None
    status: Literal[ConsentState, "unknown"]
    scopes: list[ScopeName] | None
    valid_until: Timestamp | None
    ended_at: Timestamp | None
    ended_by: EndedBy | None


class ConsentStatesAnswer(TypedDict):
    """The consents that were asked for, in the order of the request: first those of tokens, then those of ids."""

    consents: list[BankConsent]


class Success(TypedDict):
    """The request was successful."""

    status: Literal["success"]
