"""Request models of TPPs' authorization calls, with this service's member names and the names in RFC 6749."""

import re
from collections.abc import Callable, Mapping
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from chalicelib.foundation.fields.field_types import FormRule, Message
from chalicelib.foundation.fields.problems import fault
from chalicelib.openbanking.protocol.bank_identifiers import LONGEST_PAYMENT_ID
from chalicelib.openbanking.protocol.errors import Fault, FrontDoorError
from chalicelib.openbanking.protocol.fields import AN, Bic, Uuid, Whole
from chalicelib.openbanking.protocol.payment_enumerations import SCHEME
from chalicelib.openbanking.protocol.versions import VERSIONS, scope_names

ConsentType = Literal["reusable", "one_time"]
ConsentStatus = Literal["authorised", "revoked", "spent"]
"""The stored status of a consent."""
ConsentState = Literal["authorised", "expired", "revoked", "spent"]
"""The state of a consent: its status, or ``expired`` if an authorised consent has expired."""
EndedBy = Literal["tpp", "bank", "operator", "service"]
"""The parties that can revoke a consent."""
EventType = Literal[
    "consent.authorised",
    "consent.cancelled",
    "consent.revoked",
    "consent.expiring",
    "consent.expired",
    "payment.status_changed",
    "test",
]
"""The types of events; their data are in ``tpp_events``."""

ASSERTION = 16_384
"""The maximum length of a client assertion."""
REQUEST_ID = 64
"""The maximum length of a deferred call's id."""
CURSOR = 256
"""The maximum length of a page's ``next`` value."""
EVENTS_CURSOR = 4096
"""The maximum length of the ``next`` value of a page of events, which also contains event ids."""
_CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}")


class AuthorizationParameters(Message):
    """The parameters of an OAuth authorization request; without ``bic``, the user chooses the bank."""

    bic: Bic | None = None
    """The bank's BIC; without it, the PSU chooses the bank. Example: ``"DEMODEF1"``."""
    scopes: Annotated[list[AN[64]], Field(max_length=64)]
    """The scopes that the PSU is asked to approve: either unified scopes or scopes of the bank's version.
    Example: ``["accounts"]``.
    """
    redirect_uri: AN[2048] | None = None
    """The URL to which the PSU returns; it must equal one of the client's Callback URLs, character for character.
    Example if sent: ``"https://tpp.example.com/callback"``.
    """
    state: AN[512] | None = None
    """A value that is returned in the callback and generated when absent; the client must not have used it before.
    Example if sent: ``"lVZ1uF2wC8mJr0d6oKxq3A"``.
    """
    code_challenge: AN[128] | None = None
    """The PKCE code challenge: the verifier's SHA-256 hash in base64url, 43 characters; mandatory in production.
    Example if sent: ``CHALLENGE``.
    """
    code_challenge_method: Literal["S256"] | None = None
    """The PKCE method that produced the challenge. Example if sent: ``"S256"``."""
    consent_type: ConsentType = "reusable"
    """Whether the consent is reusable; ``one_time`` is allowed with payment scopes only."""
    dpop_jkt: AN[43] | None = None
    """The thumbprint (RFC 7638) of the DPoP key with which the code will be exchanged; implied by a DPoP proof.
    Example if sent: ``THUMBPRINT``.
    """

    @model_validator(mode="after")
    def thumbprint_is_whole(self) -> Self:
        if self.dpop_jkt is not None and not _CHALLENGE.fullmatch(self.dpop_jkt):
            fault("value", "dpop_jkt must be a base64url SHA-256 thumbprint of 43 characters (RFC 9449)")
        return self

    @model_validator(mode="after")
    def challenge_is_whole(self) -> Self:
        if (self.code_challenge is None) != (self.code_challenge_method is None):
            fault("value", "code_challenge and code_challenge_method (S256) must be sent together")
        if self.code_challenge is not None and not _CHALLENGE.fullmatch(self.code_challenge):
            fault("value", "code_challenge must be a base64url SHA-256 hash of 43 characters (RFC 7636)")
        return self


class ChosenBank(Message):
    """The member that the bank selection page adds to an authorization request without ``bic``."""

    chosen_bic: Bic | None = None
    """The BIC of the bank that the PSU chose on the bank selection page; ignored if the client sent ``bic``.
    Example if sent: ``"DEMODEF1"``.
    """


class AuthorizeRequest(AuthorizationParameters):
    """``POST /tpp/authorize``: the bank, the scopes, and the URL to which the PSU returns."""

    bic: Bic
    """The bank's BIC; a BIC of 8 characters denotes the head office. Example: ``"DEMODEF1"``."""


class ClientMembers(Message):
    """The members with which a client authenticates in a request body (RFC 6749 §2.3.1, RFC 7521 §4.2)."""

    client_id: AN[64] | None = None
    """The Client ID, if no header contains it. Example if sent: ``"4f1c2b7a9d8e6f503a1b2c"``."""
    client_secret: AN[128] | None = None
    """The client's secret, if the client authenticates with a secret. Example if sent: ``RANDOM``."""
    client_assertion_type: AN[128] | None = None
    """The type of the client assertion, which has only one possible value; mandatory with ``client_assertion``. Example
    if sent: ``ASSERTION_TYPE``.
    """
    client_assertion: AN[ASSERTION] | None = None
    """A signed assertion, if the client's method is ``private_key_jwt`` (RFC 7523). Example if sent: ``ASSERTION``."""


class TokenRequest(ClientMembers):
    """``POST /tpp/token``: exchange an authorization code or a refresh token for tokens."""

    grant_type: Literal["authorization_code", "refresh_token"] | None = None
    """The type of grant; inferred when absent."""
    authorization_code: AN[512] | None = None
    """The code from the callback. Example: ``CODE``."""
    code: AN[512] | None = None
    """The code from the callback, under its RFC 6749 name. Example if sent: ``CODE``."""
    refresh_token: AN[512] | None = None
    """The latest refresh token, which is exchanged for a new pair of tokens. Example if sent: ``REFRESH_TOKEN``."""
    redirect_uri: AN[2048] | None = None
    """The ``redirect_uri`` of the authorization request; mandatory if ``GET /oauth/authorize`` or a pushed request
    contained it.
    Example if sent: ``"https://tpp.example.com/callback"``.
    """
    code_verifier: AN[128] | None = None
    """The PKCE code verifier; required if, and only if, the authorization request had a challenge. Example if sent:
    ``VERIFIER``.
    """
    scope: AN[1024] | None = None
    """A parameter that is accepted but ignored: tokens have the scopes of their consent. Example if sent:
    ``"accounts"``.
    """

    @model_validator(mode="after")
    def one_credential(self) -> Self:
        code = self.authorization_code or self.code
        if self.authorization_code and self.code and self.authorization_code != self.code:
            fault("value", "authorization_code and code are the same parameter and must not differ")
        if (code is None) == (self.refresh_token is None):
            fault("value", "one of authorization_code and refresh_token is required")
        if self.grant_type not in (None, "authorization_code" if code else "refresh_token"):
            fault("value", "grant_type does not match the credential in the request")
        return self


class RevokeRequest(ClientMembers):
    """The body of ``POST /tpp/token/revoke`` (RFC 7009)."""

    token: AN[512]
    """An access or refresh token. Example: ``REFRESH_TOKEN``."""
    token_type_hint: AN[64] | None = None
    """A hint that is accepted but ignored. Example if sent: ``"refresh_token"``."""


class IntrospectionRequest(ClientMembers):
    """The body of ``POST /oauth/introspect`` (RFC 7662)."""

    token: AN[512]
    """An access or refresh token."""
    token_type_hint: AN[64] | None = None
    """A hint that is accepted but ignored. Example if sent: ``"refresh_token"``."""


class ScopeQuery(Message):
    """The query of ``GET /tpp/scope``."""

    bic: Bic
    """The bank's BIC; a BIC of 8 characters denotes the head office."""


class PaymentStatusQuery(Message):
    """The query of ``GET /tpp/payment_status``, by payment_id or by the order's X-Request-Id.

    ``bic`` is the bank of a direct payment, which has no bearer token.
    """

    payment_id: AN[LONGEST_PAYMENT_ID] | None = None
    """The payment's identifier at the bank. Example: ``"P2026112100017"``."""
    request_id: Uuid | None = None
    """The order's X-Request-Id, to be sent instead of payment_id.
    Example if sent: ``"fdfd4e95-a65f-44f4-8807-2ce2f6b89e89"``.
    """
    bic: Bic | None = None
    """The bank's BIC; a BIC of 8 characters denotes the head office. Example if sent: ``"DEMODEF1"``."""

    @model_validator(mode="after")
    def has_one_id(self) -> Self:
        if (self.payment_id is None) == (self.request_id is None):
            fault("value", "payment_id is required or, instead, request_id: one of them")
        return self


def _one_of(
    known: Callable[[], frozenset[str]], longest: int, description: str, spelled: Callable[[str], str] = str
) -> FormRule:
    """Return a validation rule that accepts only the ``known`` names. ``spelled`` normalises the input before the
    comparison.
    """

    def check(given: str) -> str:
        name = spelled(given)
        return name if name in known() else fault("value", f"must be one of {', '.join(sorted(known()))}")

    return FormRule(check, {"description": description}, longest=longest, codes=known)


def _scope_names() -> frozenset[str]:
    return frozenset(scope_names())


def _scheme_names() -> frozenset[str]:
    return frozenset(name for version in VERSIONS.values() for name in version.schemes)


def _in_capitals(name: str) -> str:
    return name.upper() if name.isascii() else name


def _read_country(letters: str) -> str | None:
    return letters.upper() if len(letters) == 2 and letters.isascii() and letters.isalpha() else None


_COUNTRY_RULE = FormRule(_read_country, {"pattern": "^[A-Za-z]{2}$"}, "must be a two-letter country code (ISO 3166-1)")
_SCHEME_RULE = _one_of(_scheme_names, SCHEME, "A payment scheme, in capitals or small letters", _in_capitals)


class BankSearchQuery(Message):
    """A search for a page of banks, optionally by country and by ``q``, a part of a name or BIC."""

    page: Whole[1_000_000] = 1
    """The page number. Example: ``1``."""
    country: Annotated[str, _COUNTRY_RULE] | None = None
    """The country of the banks to return (ISO 3166-1, two letters in any case). Example if sent: ``"DE"``."""
    q: AN[64] | None = None
    """A text that the name or BIC of the banks to return contains, in any case. Example if sent: ``"demo"``."""


class BanksQuery(BankSearchQuery):
    """The query of ``GET /tpp/banks``, which returns the banks that match all filters."""

    limit: Whole[100] = 20
    """The maximum number of banks per page. Example: ``20``."""
    scope: Annotated[str, _one_of(_scope_names, 64, "A unified scope, or a scope of any version")] | None = None
    """Only banks that provide this scope. Example if sent: ``"accounts"``."""
    scheme: Annotated[str, _SCHEME_RULE] | None = None
    """A payment scheme that the banks to return offer. Example if sent: ``"SCTI"``."""


class BankPath(Message):
    """The path of ``GET /tpp/banks/{bic}``."""

    bic: Bic
    """The bank's BIC; a BIC of 8 characters denotes the head office."""


class ConsentsQuery(Message):
    """The query of ``GET /tpp/consents``; ``after`` is the ``next`` value of the previous page."""

    bic: Bic | None = None
    """The BIC of the bank whose consents are returned; the bank may be unreachable."""
    status: ConsentState | None = None
    """The state of the consents to return."""
    after: AN[CURSOR] | None = None
    """The ``next`` value of the previous page; omit it for the first page. Example if sent: ``CONSENTS_CURSOR``."""
    limit: Whole[100] = 20
    """The maximum number of consents per page."""


class EventsQuery(Message):
    """The query of ``GET /tpp/events``; ``after`` is the ``next`` value of the previous page."""

    after: AN[EVENTS_CURSOR] | None = None
    """The ``next`` value of the previous page; omit it to begin with the oldest event. Example if sent:
    ``EVENTS_CURSOR``.
    """
    limit: Whole[100] = 20
    """The maximum number of events per page."""


REPEATABLE = frozenset({"resource"})
"""OAuth parameters that may be repeated and are ignored (RFC 8707 §2)."""

NOT_SUPPORTED: Mapping[str, FrontDoorError] = {
    "request": "request_not_supported",
    "request_uri": "request_uri_not_supported",
    "registration": "registration_not_supported",
}
"""Unsupported parameters that would change the request, with their errors (OpenID Connect Core §3.1.2.6)."""

FIELD_FAULTS: Mapping[str, tuple[Fault, Fault]] = {"scopes": (Fault.SCOPES_MISSING, Fault.SCOPES_NOT_CORRECT)}
"""The members with their own error codes: one code for a missing member, one for an invalid member."""
