"""All reasons for refusing a request. Each row has a fault, a message, and optional response members.

The fault determines the error code and the HTTP status. To refuse a request, call the row and raise the result: ``raise
refusals.STATE_USED()``. Documents and tests use the codes and messages of the rows. For members that do not match their
model, see ``errors``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY

from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.openbanking.protocol.errors import (
    Challenge,
    Detail,
    Fault,
    FrontDoorError,
    OauthError,
    ReasonCode,
    Refusal,
)


@dataclass(frozen=True, slots=True)
class RefusalRow:
    """A reason for refusing a request.

    Attributes:
        sentence: the message for the caller; ``{name}`` is a placeholder for a value passed to the call.
        oauth_error, retry_after, challenge, reason_code: see ``Refusal``.
    """

    fault: Fault
    sentence: str
    _: KW_ONLY
    details: Sequence[Detail] = ()
    oauth_error: OauthError | None = None
    retry_after: int | None = None
    challenge: Challenge | None = None
    reason_code: ReasonCode | None = None

    def __call__(
        self,
        *,
        hint: str | None = None,
        reason: str | None = None,
        oauth_error: OauthError | FrontDoorError | None = None,
        retry_after: int | None = None,
        **values: str | int,
    ) -> Refusal:
        """Build the refusal to raise.

        Args:
            hint: text that is appended to the sentence after a semicolon.
            reason: the only detail, such as the bank's own text.
            oauth_error, retry_after: replace the values of the row.
            values: the values for the sentence's placeholders.
        """
        sentence = self.sentence.format(**values)
        return Refusal(
            self.fault,
            f"{sentence}; {hint}" if hint else sentence,
            self.details if reason is None else [Detail(self.fault, reason)],
            oauth_error=oauth_error or self.oauth_error,
            retry_after=self.retry_after if retry_after is None else retry_after,
            challenge=self.challenge,
            reason_code=self.reason_code,
        )


def _client(sentence: str) -> RefusalRow:
    return RefusalRow(Fault.WRONG_CREDENTIALS, sentence, oauth_error="invalid_client", challenge="basic")


def _bearer(sentence: str, challenge: Challenge = "bearer") -> RefusalRow:
    return RefusalRow(Fault.NOT_AUTHENTICATED, sentence, challenge=challenge)


def _request(sentence: str, oauth_error: OauthError = "invalid_request") -> RefusalRow:
    return RefusalRow(Fault.CONTENT, sentence, oauth_error=oauth_error)


def _scopes(sentence: str) -> RefusalRow:
    details = (Detail(Fault.SCOPES_NOT_CORRECT, sentence),)
    return RefusalRow(Fault.CONTENT, sentence, details=details, oauth_error="invalid_scope")


def _grant(sentence: str) -> RefusalRow:
    return _request(sentence, "invalid_grant")


# -- All callers

SERVICE_FAILED = RefusalRow(Fault.INTERNAL, "the service failed")
"""Internal failure of the service."""
FAILED_OUTSIDE_A_VIEW = RefusalRow(Fault.INTERNAL, f"{SERVICE_FAILED.sentence}; the request itself may be valid")
STORAGE_FAILED = RefusalRow(Fault.UNKNOWN, "the storage did not respond: repeat the same request", retry_after=1)
"""The service's storage did not respond; the same request may succeed a moment later."""
HEADERS_WRONG = RefusalRow(Fault.HEADERS, "the request's headers are not valid for this call")
REQUEST_ID_NOT_UUID = RefusalRow(Fault.REQUEST_ID, "header X-Request-Id must be a UUID")
"""X-Request-Id is not a UUID."""
ACTION_UNKNOWN = RefusalRow(Fault.NO_SUCH_ACTION, "this action does not exist")

# -- TPPs: authentication

CLIENT_MISSING = RefusalRow(
    Fault.NOT_AUTHENTICATED,
    "the Client ID is required: in the header X-Api-Key or, in OAuth's calls, as client_id",
    oauth_error="invalid_client",
    challenge="basic",
)
"""The request has no Client ID."""
CLIENT_UNKNOWN = _client("no active client has this Client ID")
"""The Client ID is unknown or not active."""
CLIENT_CONTRADICTORY = _client("the request contains two different values for the {part}")
BASIC_MALFORMED = _client("header Authorization must use HTTP Basic with the Client ID and the client secret")
SECRET_WRONG = _client("the client secret is missing or wrong")
"""The client secret is missing or wrong, or was sent for a client without a secret."""
CLIENT_PROVES_NOTHING = _client(
    "this call needs client authentication, and this client has no secret, key or certificate to authenticate with"
)
"""The client has no secret, key or certificate to authenticate with."""
ASSERTION_WRONG = RefusalRow(
    Fault.WRONG_CREDENTIALS, "the client assertion is missing or not valid", oauth_error="invalid_client"
)
"""The client assertion is missing, expired, used before, wrongly signed or for another service, or the client uses
another authentication method.
"""
TPP_CERTIFICATE_WRONG = RefusalRow(
    Fault.NO_CERTIFICATE,
    "the client certificate is missing, is not accepted, or lacks a PSD2 role that the request needs",
    oauth_error="invalid_client",
)
"""The client certificate that the client's record requires is missing, expired or revoked, is from an unknown
authority, belongs to another client, or lacks the PSD2 role for the scopes.
"""
_PROOF = "the DPoP proof is missing or not valid"
_NONCE = "the DPoP proof must contain the nonce in the header DPoP-Nonce"
CLIENT_INACTIVE = RefusalRow(Fault.TPP_GONE, "the client is not active")
BEARER_MISSING = _bearer("a bearer token is required: Authorization: Bearer <access token>")
"""The request has no bearer token."""
BEARER_OR_BIC_MISSING = _bearer("a bearer token is required or, for a direct payment, the parameter bic")
PAYMENT_BEARER_MISSING = _bearer("send a bearer token of the consent used to order this payment")
REQUEST_BEARER_MISSING = _bearer("send a bearer token of the consent used for this request")
"""The deferred call was made with a bearer token, but its outcome was requested without a bearer token."""
BEARER_INVALID = _bearer(
    "the bearer token is not valid: refresh it, or ask the PSU to authorize again", "invalid_token"
)
"""The bearer token is unknown, expired, revoked or spent, belongs to another client, or is bound to a key for which the
request has no proof.
"""
PROOF_WRONG = _bearer(_PROOF, "invalid_dpop_proof")
"""The DPoP proof is missing, too old, used before or wrongly signed, or was made for another request or token."""
PROOF_WRONG_FOR_TOKEN = _request(_PROOF, "invalid_dpop_proof")
"""The DPoP proof is missing, too old, used before or wrongly signed, or was made for another request."""
NONCE_NEEDED = _bearer(_NONCE, "use_dpop_nonce")
"""The DPoP proof has no nonce, or an outdated nonce: repeat the request with the nonce in the header DPoP-Nonce."""
NONCE_NEEDED_FOR_TOKEN = _request(_NONCE, "use_dpop_nonce")
"""The DPoP proof has no nonce, or an outdated nonce: repeat the request with the nonce in the header DPoP-Nonce."""
BEARER_SPENT = _bearer("this token's one-time consent has been used: the PSU must authorize again", "invalid_token")
"""The bearer token's one-time consent has been used for a payment."""

CALL_LIMIT_REACHED = RefusalRow(
    Fault.ACCESS_EXCEEDED,
    "the client's limit of calls, {limit} a minute, is reached: repeat the request after the seconds in Retry-After",
    oauth_error="temporarily_unavailable",
)

# -- TPPs: calls

PARAMETERS_NOT_ALLOWED = RefusalRow(Fault.PARAMETER, "this call takes no parameters")
"""A query parameter was sent, but the call does not accept any."""
CURSOR_INVALID = RefusalRow(
    Fault.PARAMETER,
    "after is not the next of a page of this client's consents",
    details=(Detail(Fault.PARAMETER, "after must be the next of an earlier response to this client"),),
)
"""The parameter ``after`` is not a ``next`` value from an earlier response to this client."""
EVENTS_CURSOR_INVALID = RefusalRow(
    Fault.PARAMETER, "after is not the next of a page of this client's events", details=CURSOR_INVALID.details
)
"""The parameter ``after`` is not a ``next`` value from an earlier response to this client."""
PSU_HEADERS_WRONG = RefusalRow(Fault.HEADERS, "the PSU's headers are not valid: {problems}")
"""A header about the PSU is not valid."""
ACCESS_EXCEEDED = RefusalRow(
    Fault.ACCESS_EXCEEDED,
    "the bank's limit of unattended reads, {limit} a day, is reached: repeat the request after midnight UTC or, when "
    "the PSU is present, with PSU-IP-Address",
)
CALL_NOT_IN_VERSION = RefusalRow(Fault.NO_SUCH_ACTION, "banks of version {version} do not support this call")
"""The bank's protocol version does not support this call."""
SCOPE_NOT_GRANTED = RefusalRow(
    Fault.FORBIDDEN, "the consent does not include the scope {scope}", challenge="insufficient_scope"
)
"""The consent does not include the scope."""
UNIFIED_SCOPE_NOT_GRANTED = RefusalRow(
    Fault.FORBIDDEN,
    "the consent does not include the scope {scope}, which is {native} at this bank",
    challenge="insufficient_scope",
)
"""The consent does not include the scope."""
TRANSACTIONS_CURSOR_INVALID = RefusalRow(
    Fault.PARAMETER,
    "cursor is not the next_cursor of a page of this consent, account and query",
    details=(Detail(Fault.PARAMETER, "cursor must be the next_cursor of an earlier response to the same query"),),
)
"""cursor is not the ``next_cursor`` of a page of the same consent, account and query."""
FROM_TOO_EARLY = RefusalRow(Fault.PARAMETER, "from must not be before {earliest}, the earliest day of this bank")
"""from is earlier than the bank's ``history_days`` allow."""
ACCOUNT_ID_TOO_LONG = RefusalRow(
    Fault.PARAMETER, "account_id must have at most {longest} characters at banks of this version"
)
"""account_id is longer than the bank's version takes."""
PAGES_TOO_MANY = RefusalRow(
    Fault.BANK_FAILED, "banks of this version have no page after page {last}", reason_code="pages_too_many"
)
"""The list has more pages than the bank's version can number (``pages_too_many``)."""
ACCOUNT_NOT_APPROVED = RefusalRow(Fault.FORBIDDEN, "the PSU did not approve the account in {member}")
"""The PSU did not approve this account."""
BANK_UNKNOWN = RefusalRow(Fault.UNKNOWN_RESOURCE, "no bank with this BIC is reachable", oauth_error="invalid_request")
"""No bank with this BIC can be reached."""
CONSENT_BANK_GONE = RefusalRow(Fault.UNKNOWN_RESOURCE, "the bank of this consent can no longer be reached")
"""The bank of the consent is no longer reachable."""
PAYMENT_BANK_GONE = RefusalRow(Fault.UNKNOWN_RESOURCE, "the bank of this payment can no longer be reached")
PAYMENT_UNKNOWN = RefusalRow(Fault.UNKNOWN_RESOURCE, "this client has no payment with this id at this bank")
"""The client has no payment with this identifier at this bank."""
PAYMENT_GONE = RefusalRow(Fault.UNKNOWN_RESOURCE, "the payment no longer exists")
REQUEST_UNKNOWN = RefusalRow(
    Fault.UNKNOWN_RESOURCE, "this caller has no request with this id, or it is more than a day old"
)
"""The caller has no deferred request with this id, or the request is more than a day old."""
OUTCOME_LOST = RefusalRow(Fault.INTERNAL, "the outcome of this request could not be stored")

# -- TPPs: authorization requests

CLIENT_ID_MISSING = RefusalRow(Fault.NOT_AUTHENTICATED, "the parameter client_id is missing")
RESPONSE_TYPE_WRONG = _request("response_type must be code")
"""response_type is not ``code``."""
PARAMETER_NOT_SUPPORTED = _request("{parameter} is not supported")
"""``request``, ``request_uri`` or ``registration`` was sent."""
REDIRECT_URI_FOREIGN = _request("redirect_uri must equal one of the client's Callback URLs")
"""redirect_uri is not one of the client's Callback URLs."""
SCOPES_EMPTY = _scopes("scopes must not be empty")
"""scopes is empty, contains a duplicate, or contains a scope that the bank does not provide."""
SCOPES_REPEATED = _scopes("scopes must not contain duplicates")
SCOPES_MIXED = _scopes("scopes must be either all unified or all native")
"""scopes contains unified and native scopes."""
SCOPES_NOT_PROVIDED = _scopes("this bank does not provide all of the scopes: see GET /tpp/scope")
SCOPES_OF_NO_VERSION = _scopes("no version of the bank protocol has all of the scopes")
"""The request names no bank, and no version of the bank protocol has all of the requested scopes."""
ONE_TIME_NOT_FOR_PAYMENTS = _request("consent_type one_time is allowed with payment scopes only", "invalid_scope")
CODE_CHALLENGE_MISSING = _request("code_challenge is required (PKCE)")
"""code_challenge is missing: it is mandatory in production, and for a client with the profile ``fapi2``."""
REDIRECT_URI_MISSING = _request("redirect_uri is required")
"""redirect_uri is missing: it is mandatory if the authorization request contained it, and for a client with the profile
``fapi2``.
"""
REQUEST_NOT_PUSHED = _request("this client must push its authorization requests: POST /oauth/par")
"""The client must push its authorization requests (RFC 9126)."""
REQUEST_URI_INVALID = _request("the request_uri is unknown, expired, already used, or another client's")
DPOP_JKT_OTHER = _request("dpop_jkt differs from the key of the DPoP proof")
"""dpop_jkt is not the thumbprint of the DPoP proof's key."""
STATE_USED = _request("state has already been used: each request needs a new one")
"""The client has used this state before."""
AUTHORIZATION_ENDED = _request("this authorization request has ended or expired: start a new one")

# -- TPPs: codes and refresh tokens

CODE_INVALID = _grant("the authorization code is not valid")
CODE_EXPIRED = _grant("the authorization code has expired")
"""The code or refresh token is unknown, expired, used or revoked, belongs to another client, or is bound to another
key.
"""
CODE_USED = _grant("the authorization code has already been used: its tokens have been revoked")
REDIRECT_URI_OTHER = _grant("redirect_uri differs from the one in the authorization request")
CODE_VERIFIER_MISSING = _grant("code_verifier is required, because the authorization request had a code_challenge")
CODE_VERIFIER_NOT_ALLOWED = _grant(
    "code_verifier is not allowed, because the authorization request had no code_challenge"
)
CODE_VERIFIER_WRONG = _grant("code_verifier does not match the code_challenge")
REFRESH_TOKEN_INVALID = _grant("the refresh token is not valid")
REFRESH_TOKEN_USED = _grant("the refresh token has already been used: the consent has been revoked")

# -- TPPs: payments

SWIFT_NOT_POSSIBLE = RefusalRow(Fault.SCHEME, "{member} SWIFT is available only for single payments in version 2")
SCHEME_MISSING = RefusalRow(Fault.SCHEME, "{member} is required for this currency: only GBP and EUR have a default")
SCHEME_NOT_OFFERED = RefusalRow(
    Fault.SCHEME, "this bank does not offer {scheme} for this payment; available values of {member}: {possible}"
)
"""The bank or this type of payment does not support the payment scheme."""
CALLBACK_URL_FOREIGN = RefusalRow(
    Fault.FIELD, "callback_url must have the scheme, host and port of one of the client's Callback URLs"
)
"""callback_url does not match any of the client's Callback URLs."""
IDEMPOTENCY_KEY_WRONG = RefusalRow(Fault.HEADERS, "header Idempotency-Key must have 1 to {most} printable characters")
"""Idempotency-Key is empty, too long, or not printable."""
IDEMPOTENCY_KEY_USED = RefusalRow(Fault.HEADERS, "Idempotency-Key has already been used with a different body")
"""Idempotency-Key was used with another body."""
STILL_RUNNING = RefusalRow(
    Fault.STILL_RUNNING,
    "the first request with this Idempotency-Key is still in progress: repeat this one in a moment",
    retry_after=1,
)
"""The first request with this Idempotency-Key is still running."""
NEVER_ENDED = RefusalRow(
    Fault.BANK_FAILED,
    "the first request with this Idempotency-Key never ended: it is unknown whether the bank has the payment",
    details=(Detail(Fault.BANK_FAILED, "no response from the bank was stored; ask the bank before you pay again"),),
    reason_code="outcome_unknown",
)
"""The first request with this Idempotency-Key never finished."""
ORDER_ID_USED = RefusalRow(
    Fault.HEADERS, "X-Request-Id has already been used for another order at this bank: send a new one"
)
"""X-Request-Id was used for a different order at this bank (client, call, consent or body differs)."""
ACCEPTANCE_UNKNOWN = RefusalRow(
    Fault.INTERNAL,
    "the storage did not respond: it is unknown whether the payment was accepted and will be sent; without an "
    "Idempotency-Key, repeating the request may cause a second payment",
    reason_code="outcome_unknown",
)
"""A payment without an Idempotency-Key may have been accepted for deferred execution."""
PAYMENT_NOT_SENT = RefusalRow(
    Fault.BANK_FAILED, "the payment was not sent: the bank could not be reached", reason_code="not_sent"
)
PAYMENT_REFUSED = RefusalRow(Fault.BANK_FAILED, "the bank refused the payment", reason_code="refused_by_bank")
_UNKNOWN = "it is unknown whether the bank has taken the payment"
_FIND_OUT = (
    "do not send it again as a new one until you know; query GET /tpp/payment_status with the X-Request-Id as "
    "request_id, or ask the bank, quoting the X-Request-Id"
)
PAYMENT_OUTCOME_UNKNOWN = RefusalRow(Fault.BANK_FAILED, f"{_UNKNOWN}: {_FIND_OUT}", reason_code="outcome_unknown")
PAYMENT_ANSWER_BAD = RefusalRow(
    Fault.BANK_FAILED, f"{_UNKNOWN}, because its response cannot be used: {_FIND_OUT}", reason_code="bad_answer"
)
PAYMENT_NOT_STORED = RefusalRow(
    Fault.INTERNAL,
    f"the bank responded, but its response could not be stored; {PAYMENT_OUTCOME_UNKNOWN.sentence}",
    reason_code="outcome_unknown",
)
"""The bank responded, but the service could not store the response."""

# -- Bank failures

AUTHORIZE_AGAIN = "the bank no longer accepts the PSU's token: the PSU must authorize again"
BANK_FAILED = RefusalRow(Fault.BANK_FAILED, "the request to the bank failed")
RESOURCE_UNKNOWN_TO_BANK = RefusalRow(Fault.UNKNOWN_RESOURCE, "the bank does not know the account or payment")
BANK_REFUSED_TOKEN = RefusalRow(Fault.BANK_FAILED, f"{BANK_FAILED.sentence}: {AUTHORIZE_AGAIN}")

# -- Banks: authentication

BANK_KEY_MISSING = RefusalRow(Fault.NOT_AUTHENTICATED, "header X-Api-Key is required")
"""The request has no X-Api-Key."""
BANK_KEY_WRONG = RefusalRow(Fault.WRONG_CREDENTIALS, "X-Api-Key is not the key of a bank")
"""X-Api-Key does not belong to a bank."""
OTHER_VERSION = RefusalRow(Fault.OTHER_VERSION, "this bank is registered for {version}")
"""The bank is registered for another protocol version."""
CERTIFICATE_WRONG = RefusalRow(
    Fault.NO_CERTIFICATE, "the client certificate is missing, is not the bank's, or is not accepted"
)
"""The client certificate that the bank's record requires is missing, expired or revoked, is from an unknown authority,
or does not belong to the bank.
"""
SIGNATURE_MISSING = RefusalRow(Fault.WRONG_SIGNATURE, "header X-Signature is required")
SIGNATURE_WRONG = RefusalRow(Fault.WRONG_SIGNATURE, "X-Signature is not the bank's signature of this body")
"""X-Signature is required but missing, or is not the bank's signature of this body."""
REQUEST_ID_USED = RefusalRow(Fault.HEADERS, "X-Request-Id has already been used with a different body")
"""X-Request-Id was used before with a different body."""

# -- Banks: calls

REQUEST_URL_INVALID = RefusalRow(
    Fault.URL_NOT_VALID, "the request URL is unknown, altered, expired, already used, or for another bank"
)
"""The request URL is unknown, altered, expired, used, or was issued for another bank."""
CALLBACK_URL_GIVEN_UP = RefusalRow(
    Fault.URL_NOT_VALID, "the redirect_uri of this request is no longer one of the TPP's Callback URLs"
)
TPP_GONE = RefusalRow(Fault.TPP_GONE, "the TPP of this request is no longer active")
"""The TPP is no longer active."""
APPROVED_SCOPES_WRONG = RefusalRow(
    Fault.SCOPES_NOT_CORRECT, "scopes must be a list of this version's scopes without duplicates"
)
"""scopes is empty, contains a duplicate, or contains a scope of another protocol version."""
APPROVED_SCOPES_OTHER = RefusalRow(Fault.WRONG_SCOPES, "the approved scopes must match the requested scopes exactly")
"""The approved scopes differ from the requested scopes."""
ACCOUNTS_MISSING = RefusalRow(Fault.ACCOUNTS_MISSING, "account scopes require ibans, account_ids or account_numbers")
"""Account scopes were approved without an account."""
CONSENT_SAVED_BEFORE = RefusalRow(Fault.DUPLICATE_STATE, "a consent has already been saved for this request")
"""A consent has already been saved for this request."""
TOKEN_MALFORMED = RefusalRow(
    Fault.MALFORMED_TOKEN, "the access token does not have the format of this service's tokens"
)
"""The access token is malformed."""
TOKEN_UNKNOWN = RefusalRow(Fault.UNKNOWN_TOKEN, "the access token is unknown")
"""The access token does not belong to this bank."""
PAYMENT_ID_UNKNOWN = RefusalRow(Fault.PAYMENT_ID, "no payment at this bank has this id")
"""The bank has not returned a payment with this id."""
