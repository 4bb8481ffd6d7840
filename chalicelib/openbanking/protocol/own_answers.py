"""What the service answers by itself, and the errors of both versions: models that its descriptions are made of.

Nothing is checked against them at work. They say in the field vocabulary what the flows answer with.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field
from pydantic.alias_generators import to_camel

from chalicelib.foundation.fields.field_types import AN, Message, OpenMessage, WebAddress
from chalicelib.openbanking.protocol.errors import ADDITIONAL, VERSION_1, VERSION_2
from chalicelib.openbanking.protocol.payment_enumerations import PAYMENT_ID
from chalicelib.openbanking.protocol.payment_statuses import NUMBERS
from chalicelib.openbanking.protocol.scopes import Service
from chalicelib.openbanking.protocol.tpp_calls import REQUEST_ID, ConsentType
from chalicelib.openbanking.protocol.versions import VERSIONS

Count = Annotated[int, Field(ge=0)]
HttpStatus = Annotated[int, Field(ge=200, le=599)]
Timestamp = Annotated[
    str,
    Field(
        pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\+00:00$",
        json_schema_extra={"format": "date-time"},
    ),
]
Uuid = Annotated[
    str,
    Field(
        pattern="^[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$",
        json_schema_extra={"format": "uuid"},
    ),
]
ScopeName = Annotated[
    str, Field(json_schema_extra={"enum": [name for version in VERSIONS.values() for name in version.scopes]})
]
OauthError = Literal[
    "invalid_client", "invalid_grant", "invalid_request", "invalid_scope", "unsupported_grant_type", "server_error"
]


class _Camel(Message):
    model_config = ConfigDict(alias_generator=to_camel)


# -- To TPPs


class AuthorizeAnswer(Message):
    """Where the PSU has to go."""

    redirect_url: WebAddress
    state: AN[512]
    expires_in: Count


class TokenAnswer(Message):
    """A pair of tokens."""

    access_token: AN[512]
    token_type: Literal["Bearer"]
    expires_in: Count
    refresh_token: AN[512]
    scope: str
    consent_id: str
    valid_until: Timestamp


class RevokeAnswer(Message):
    """An empty object, whether or not the token was one of the caller's (RFC 7009)."""


class BankScope(Message):
    """One right that a PSU of this bank can give."""

    scope: ScopeName
    service: Service
    meaning: str


class ScopeAnswer(Message):
    """The scopes that a bank can provide."""

    bic: AN[11]
    scopes: list[BankScope]


class BankEntry(Message):
    """A bank that can be reached."""

    bic: AN[11]
    name: AN[128]
    country: Annotated[str, Field(pattern="^[A-Z]{2}$")]
    api_version: Annotated[int, Field(json_schema_extra={"enum": list(VERSIONS)})]


class BanksAnswer(Message):
    """One page of the banks that can be reached."""

    banks: list[BankEntry]
    page: Count
    limit: Count
    total: Count


class ConsentAnswer(Message):
    """What the PSU allowed."""

    consent_id: str
    status: Literal["authorised"]
    consent_type: ConsentType
    scopes: list[ScopeName]
    bic: AN[11]
    ibans: list[str]
    account_ids: list[str]
    account_numbers: list[str]
    valid_until: Timestamp


class FundsConfirmation(Message):
    """Whether there is as much on the account."""

    funds_available: bool


StatusNumber = Annotated[int, Field(json_schema_extra={"enum": list(NUMBERS.meanings)})]


class StatusEntry(Message):
    """A status that a payment has had."""

    payment_status: StatusNumber
    at: Timestamp


class ReportedStatus(Message):
    """What a version 1 bank has reported on a payment."""

    payment_id: AN[PAYMENT_ID]
    payment_status: StatusNumber
    history: list[StatusEntry]


class AskedStatus(OpenMessage):
    """What a version 2 bank says of a payment now."""

    payment_id: AN[PAYMENT_ID]
    transaction_status: AN[255]


class Accepted(Message):
    """A call that is carried out later; `Location` is where its outcome can be read."""

    request_id: AN[REQUEST_ID]
    state: Literal["queued"]


class AcceptedRequest(Message):
    """What came of a call that was made with `Prefer: respond-async`."""

    state: Literal["queued", "running", "done", "failed"]
    status: HttpStatus | None
    body: dict[str, Any] | None


class ServerMetadata(Message):
    """The authorization server's metadata (RFC 8414)."""

    issuer: WebAddress
    authorization_endpoint: WebAddress
    token_endpoint: WebAddress
    revocation_endpoint: WebAddress
    jwks_uri: WebAddress
    scopes_supported: list[ScopeName]
    response_types_supported: list[Literal["code"]]
    response_modes_supported: list[Literal["query"]]
    grant_types_supported: list[Literal["authorization_code", "refresh_token"]]
    token_endpoint_auth_methods_supported: list[str]
    revocation_endpoint_auth_methods_supported: list[str]
    code_challenge_methods_supported: list[Literal["S256"]]
    authorization_response_iss_parameter_supported: bool
    request_parameter_supported: bool
    request_uri_parameter_supported: bool


class PublicKey(Message):
    """A public key that the service signs with."""

    kty: Literal["RSA"]
    use: Literal["sig"]
    alg: Literal["RS256"]
    kid: str
    n: str
    e: str


class KeySet(Message):
    """The public keys that the service signs with (RFC 7517)."""

    keys: list[PublicKey]


# -- To banks


class InitAuthorizationAnswer(Message):
    """Who asks for what."""

    tpp_name: AN[128]
    tpp_registration_number: AN[128]
    scopes: list[ScopeName]
    cancel_url: WebAddress


class SaveConsentAnswer(Message):
    """Where the PSU goes back to, and the token of this consent."""

    callback_url: WebAddress
    access_token: AN[512]
    valid_until: Timestamp


class Success(OpenMessage):
    """It is done."""

    status: Literal["success"]


class InitAuthorizationAnswerV2(_Camel, InitAuthorizationAnswer):
    """Who asks for what."""


class SaveConsentAnswerV2(_Camel, SaveConsentAnswer):
    """Where the PSU goes back to, and the token of this consent."""


# -- Errors


class AdditionalError(_Camel):
    """One thing that is wrong with the request."""

    code: Annotated[AN[255], Field(json_schema_extra={"enum": [*ADDITIONAL, *VERSION_2]})]
    title: AN[1024] | None = None
    details: AN[1024] | None = None


class Error(_Camel):
    """Why a request was refused."""

    code: Annotated[AN[255], Field(json_schema_extra={"enum": list(VERSION_2)})]
    title: AN[2048]
    timestamp: Timestamp
    request_id: Uuid
    additional_errors: Annotated[list[AdditionalError], Field(min_length=1)] | None = None


class TokenError(Error):
    """Why a token request was refused, also in the words of RFC 6749."""

    model_config = ConfigDict(alias_generator=lambda name: name if name.startswith("error") else to_camel(name))

    error: OauthError
    error_description: AN[2048]


class ErrorV1(Message):
    """Why a request was refused."""

    error_code: Annotated[int, Field(json_schema_extra={"enum": list(VERSION_1)})]
    message: AN[4096]


class WebhookErrorV1(OpenMessage):
    """Why the bank refuses; the service hands code and message on to the TPP."""

    status: Literal["error"]
    error_code: Annotated[int | str, Field(description="The bank's own code, or one of this protocol's")] | None = None
    message: AN[1024] | None = None


class WebhookAdditionalError(OpenMessage):
    """One thing that the bank finds wrong."""

    code: AN[255]
    title: str | None = None
    details: str | None = None


class WebhookError(OpenMessage):
    """Why the bank refuses; the service hands code and title on to the TPP."""

    model_config = ConfigDict(alias_generator=to_camel)

    code: AN[255]
    title: str | None = None
    timestamp: AN[25]
    request_id: str | None = None
    additional_errors: list[WebhookAdditionalError] | None = None
