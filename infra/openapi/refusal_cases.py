"""What callers are refused for: one example of every refusal.

The codes and statuses are the error tables'; a case adds when it happens and what the answer then says.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from chalicelib.openbanking.protocol.errors import Challenge, Detail, Fault, Refusal
from chalicelib.openbanking.protocol.payment_enumerations import (
    ACCEPTANCE_UNKNOWN,
    AUTHORIZE_AGAIN,
    NOT_KEPT,
    NOT_SENT,
    OUTCOME_UNKNOWN,
    REFUSED,
)


@dataclass(frozen=True, slots=True)
class Case:
    """One reason to refuse: a name, when it happens, and the refusal as it is raised then."""

    name: str
    when: str
    refusal: Refusal


_FORBIDDEN_ACCOUNT = "the PSU did not approve the account that iban names"
_NOT_ASKED = "the bank does not answer at the moment and is not asked again for 17 s"


def _field(text: str, fault: Fault = Fault.FIELD) -> Refusal:
    return Refusal(fault, text, [Detail(fault, text)])


def _parameter(text: str, fault: Fault) -> Refusal:
    return Refusal(Fault.PARAMETER, text, [Detail(fault, text)])


def _client(text: str) -> Refusal:
    return Refusal(Fault.WRONG_CREDENTIALS, text, oauth_error="invalid_client", challenge="basic")


def _bearer(text: str, challenge: Challenge) -> Refusal:
    return Refusal(Fault.NOT_AUTHENTICATED, text, challenge=challenge)


def _bank(message: str, details: str, retry_after: int | None = None) -> Refusal:
    return Refusal(Fault.BANK_FAILED, message, [Detail(Fault.BANK_FAILED, details)], retry_after=retry_after)


def _by_name(*cases: Case) -> Mapping[str, Case]:
    return {case.name: case for case in cases}


CASES = _by_name(
    # everywhere
    Case("failed", "A failure of this service", Refusal(Fault.INTERNAL, "the service failed")),
    Case(
        "storage",
        "The service's storage did not answer; the same request may succeed a moment later",
        Refusal(Fault.UNKNOWN, "the storage did not answer: repeat the request as it was", retry_after=1),
    ),
    Case(
        "request_id",
        "X-Request-Id is not a UUID",
        Refusal(Fault.REQUEST_ID, "header X-Request-Id must be a UUID"),
    ),
    # TPPs
    Case(
        "client_missing",
        "No Client ID",
        Refusal(Fault.NOT_AUTHENTICATED, "header X-Api-Key with the Client ID is required", challenge="basic"),
    ),
    Case(
        "client_unknown",
        "The Client ID is unknown or not active",
        _client("no active client has this Client ID"),
    ),
    Case(
        "secret_wrong",
        "The client has a secret, which is missing or wrong; or it has none, and one came",
        _client("the client secret is missing or wrong"),
    ),
    Case(
        "bearer_missing",
        "No bearer",
        _bearer("a bearer token is required: Authorization: Bearer <access token>", "bearer"),
    ),
    Case(
        "bearer_spent",
        "The bearer's one-time consent has paid",
        _bearer("the one-time consent of this bearer is used up: the PSU must authorize again", "invalid_token"),
    ),
    Case(
        "bearer_invalid",
        "The bearer is unknown, expired, revoked, spent, or another client's",
        _bearer("the bearer token is not valid: refresh it, or ask the PSU to authorize again", "invalid_token"),
    ),
    Case(
        "parameter_wrong",
        "A query parameter is missing or wrong",
        _parameter("bic is not a BIC of 8 or 11 characters", Fault.FIELD),
    ),
    Case(
        "parameter_unknown",
        "A query parameter that this call does not have",
        _parameter("colour is not known here", Fault.UNKNOWN_FIELD),
    ),
    Case(
        "parameters_none",
        "A query parameter, where the call has none",
        Refusal(Fault.PARAMETER, "this call takes no parameters"),
    ),
    Case(
        "parameter_repeated",
        "A query parameter is given twice",
        Refusal(Fault.PARAMETER, "a parameter is given twice"),
    ),
    Case(
        "parameter_date",
        "A date in the query that is none",
        _parameter("date_from must be a date, YYYY-MM-DD", Fault.DATE),
    ),
    Case(
        "not_json",
        "The body is not JSON",
        Refusal(Fault.NOT_JSON, "the body is not valid JSON: Expecting value at line 1 column 1"),
    ),
    Case("too_large", "The body is too large", Refusal(Fault.CONTENT, "the body is larger than 65536 bytes")),
    Case("not_a_form", "The body is not a form", Refusal(Fault.CONTENT, "the body is not a form in UTF-8")),
    Case("member_wrong", "A member of the body is missing or wrong", _field("state must be a string")),
    Case(
        "member_unknown",
        "A member that this call does not have",
        _field("colour is not known here", Fault.UNKNOWN_FIELD),
    ),
    Case(
        "content_type",
        "Content-Type is another one",
        Refusal(Fault.HEADERS, "Content-Type must be application/json"),
    ),
    Case(
        "psu_address",
        "PSU-IP-Address is no IP address",
        Refusal(Fault.HEADERS, "header PSU-IP-Address must be an IP address"),
    ),
    Case(
        "bank_unknown",
        "No bank with this BIC can be reached",
        Refusal(Fault.UNKNOWN_RESOURCE, "no bank with this BIC is reachable", oauth_error="invalid_request"),
    ),
    Case(
        "bank_gone",
        "The bank of the consent cannot be reached any more",
        Refusal(Fault.UNKNOWN_RESOURCE, "the bank of this consent is not reachable any more"),
    ),
    Case(
        "version",
        "The bank's version does not have this call",
        Refusal(Fault.NO_SUCH_ACTION, "a bank of version 1 does not have this call"),
    ),
    Case(
        "scope",
        "The consent has not the scope",
        Refusal(Fault.FORBIDDEN, "the consent has not the scope accounts.balances", challenge="insufficient_scope"),
    ),
    Case("account", "The PSU did not approve this account", Refusal(Fault.FORBIDDEN, _FORBIDDEN_ACCOUNT)),
    Case(
        "bank_failed",
        "The bank refused, failed, or did not answer in time",
        _bank("the request to the bank failed", "4305: Parameter iban not correct"),
    ),
    Case(
        "bank_not_asked",
        "The bank has failed to answer several times in a row, and is left alone for some seconds",
        _bank("the request to the bank failed", _NOT_ASKED, retry_after=17),
    ),
    Case(
        "bank_token",
        "The bank does not accept the PSU's token any more",
        _bank(
            "the request to the bank failed: the bank does not accept the PSU's token any more, the PSU must "
            "authorize again",
            "AUTHENTICATION_REQUIRED: X-Auth-Token is not the token of a consent that is in force",
        ),
    ),
    # authorization
    Case(
        "scopes_missing",
        "scopes is missing",
        _field("scopes is required", Fault.SCOPES_MISSING),
    ),
    Case(
        "scopes_wrong",
        "scopes is empty, has a scope twice, or one that the bank does not provide",
        Refusal(
            Fault.CONTENT,
            "scopes must not be empty",
            [Detail(Fault.SCOPES_NOT_CORRECT, "scopes must not be empty")],
            oauth_error="invalid_scope",
        ),
    ),
    Case(
        "state_used",
        "The client has used this state before",
        Refusal(Fault.CONTENT, "state was used before: every request needs a new one", oauth_error="invalid_request"),
    ),
    Case(
        "grant_invalid",
        "The code or refresh token is unknown, expired, used, revoked, or another client's",
        Refusal(Fault.CONTENT, "the authorization code has expired", oauth_error="invalid_grant"),
    ),
    Case(
        "grant_type",
        "grant_type is another one",
        Refusal(
            Fault.FIELD,
            "grant_type must be 'authorization_code' or 'refresh_token'",
            [Detail(Fault.FIELD, "grant_type must be 'authorization_code' or 'refresh_token'")],
            oauth_error="unsupported_grant_type",
        ),
    ),
    # payments
    Case(
        "scheme",
        "The bank, or this kind of payment, does not have this payment scheme",
        Refusal(Fault.SCHEME, "this bank does not offer the payment_scheme CHAPS here, only SCT, SCTI, SWIFT"),
    ),
    Case(
        "callback_foreign",
        "callback_url leads to another place than the client's Callback URLs",
        Refusal(Fault.FIELD, "callback_url must have the scheme, host and port of one of the client's Callback URLs"),
    ),
    Case(
        "key_wrong",
        "Idempotency-Key is empty, too long, or not printable",
        Refusal(Fault.HEADERS, "header Idempotency-Key must have 1 to 255 printable characters"),
    ),
    Case(
        "key_used",
        "Idempotency-Key was used with another body",
        Refusal(Fault.HEADERS, "Idempotency-Key was used before, with another body"),
    ),
    Case(
        "order_id_used",
        "X-Request-Id was used for another order at this bank: another client, call, consent or body",
        Refusal(Fault.HEADERS, "X-Request-Id was used before, for another order at this bank: send a new one"),
    ),
    Case(
        "still_running",
        "The first request with this Idempotency-Key is still running",
        Refusal(
            Fault.STILL_RUNNING,
            "the first request with this Idempotency-Key is still running: repeat this one in a moment",
            retry_after=1,
        ),
    ),
    Case(
        "never_ended",
        "The first request with this Idempotency-Key never ended",
        _bank(
            "the first request with this Idempotency-Key never ended: whether the bank has the payment is unknown",
            "no answer of the bank was kept; ask the bank before you pay again",
        ),
    ),
    Case("not_kept", "The bank answered, and the service could not write it down", Refusal(Fault.INTERNAL, NOT_KEPT)),
    Case(
        "token_refused",
        "The bank does not accept the PSU's token any more",
        _bank(f"{REFUSED}; {AUTHORIZE_AGAIN}", "4202: Access token not found"),
    ),
    Case("not_sent", "The payment was not sent", _bank(NOT_SENT, "no connection could be made")),
    Case(
        "not_sent_for_now",
        "The bank has failed to answer several times in a row, and is left alone for some seconds: nothing was sent",
        _bank(NOT_SENT, _NOT_ASKED, retry_after=17),
    ),
    Case("refused_by_bank", "The bank refused the payment", _bank(REFUSED, "5101: insufficient funds")),
    Case(
        "outcome_unknown",
        "Nobody knows whether the bank has the payment",
        _bank(OUTCOME_UNKNOWN, "no answer came in time"),
    ),
    Case(
        "payment_unknown",
        "This client has no such payment at this bank",
        Refusal(Fault.UNKNOWN_RESOURCE, "no payment of this client has this id at this bank"),
    ),
    # calls that are answered later
    Case(
        "acceptance_unknown",
        "A payment without an Idempotency-Key was perhaps accepted for later",
        Refusal(Fault.INTERNAL, ACCEPTANCE_UNKNOWN),
    ),
    Case(
        "bearer_of_request",
        "The call was made with a bearer, and none came",
        _bearer("what was asked with a bearer token is fetched with one of the same consent", "bearer"),
    ),
    Case(
        "request_unknown",
        "No such request of this caller's, or it is more than a day old",
        Refusal(Fault.UNKNOWN_RESOURCE, "no request of this caller's has this id, or it is more than a day old"),
    ),
    # banks
    Case("bank_key_missing", "No X-Api-Key", Refusal(Fault.NOT_AUTHENTICATED, "header X-Api-Key is required")),
    Case(
        "bank_key_wrong",
        "X-Api-Key is not the key of a bank",
        Refusal(Fault.WRONG_CREDENTIALS, "X-Api-Key is not the key of a bank"),
    ),
    Case(
        "other_version",
        "The bank is registered for the other version",
        Refusal(Fault.OTHER_VERSION, "this bank is registered for the other version"),
    ),
    Case(
        "certificate",
        "The bank's client certificate is missing, or another one came",
        Refusal(Fault.NO_CERTIFICATE, "the call did not come with the bank's client certificate"),
    ),
    Case(
        "signature",
        "X-Signature is missing where it is required, or is not the bank's signature of this body",
        Refusal(Fault.WRONG_SIGNATURE, "X-Signature is not the bank's signature of this body"),
    ),
    Case(
        "request_id_used",
        "X-Request-Id was used before, with another body",
        Refusal(Fault.HEADERS, "X-Request-Id was used before, with another body"),
    ),
    Case("url_missing", "The request URL is missing", _field("the request URL is required", Fault.URL_MISSING)),
    Case(
        "url_not_valid",
        "The request URL is unknown, altered, expired, used, or was issued for another bank",
        Refusal(Fault.URL_NOT_VALID, "the request URL is unknown, altered, expired, used, or for another bank"),
    ),
    Case(
        "tpp_gone",
        "The TPP is not active any more",
        Refusal(Fault.TPP_GONE, "the TPP that asked is not active any more"),
    ),
    Case(
        "approved_scopes_missing",
        "scopes is missing",
        _field("scopes is required", Fault.SCOPES_MISSING),
    ),
    Case(
        "approved_scopes_wrong",
        "scopes is empty, has a scope twice, or one of the other version",
        Refusal(Fault.SCOPES_NOT_CORRECT, "scopes must be a list of different scopes of this version"),
    ),
    Case("iban", "An IBAN fails its check", _field("ibans.0 is not a valid IBAN", Fault.IBAN_NOT_VALID)),
    Case(
        "scopes_others",
        "Other scopes were approved than requested",
        Refusal(Fault.WRONG_SCOPES, "exactly the requested scopes must be approved, no more and no fewer"),
    ),
    Case(
        "accounts_missing",
        "Account scopes were approved without an account",
        Refusal(Fault.ACCOUNTS_MISSING, "account scopes need ibans, account_ids or account_numbers"),
    ),
    Case(
        "consent_given",
        "A consent was saved for this request before",
        Refusal(Fault.DUPLICATE_STATE, "a consent was saved for this request before"),
    ),
    Case(
        "token_malformed",
        "The access token has not the form of one",
        Refusal(Fault.MALFORMED_TOKEN, "the access token has not the form of a token of this service"),
    ),
    Case(
        "token_unknown",
        "The access token is not one of this bank's",
        Refusal(Fault.UNKNOWN_TOKEN, "the access token is not known"),
    ),
    Case(
        "payment_id",
        "This bank has not answered with a payment of this id",
        Refusal(Fault.PAYMENT_ID, "this bank has not answered with a payment of this id"),
    ),
    Case(
        "payment_status",
        "The status is none of this version",
        _field("the payment status must be one of the table's", Fault.PAYMENT_STATUS),
    ),
    Case("day", "The date is none, or out of range", _field("date must be a date, YYYY-MM-DD", Fault.DATE)),
)
