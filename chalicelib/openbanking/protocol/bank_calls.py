"""Request models of the bank-facing API, in each version's spelling (specification, Endpoints)."""

import re
from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, ConfigDict, Field, PlainValidator, WithJsonSchema, model_validator
from pydantic.alias_generators import to_camel

from chalicelib.foundation.fields.field_types import Message
from chalicelib.foundation.fields.problems import fault
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.openbanking.protocol.bank_identifiers import LONGEST_ID, LONGEST_PAYMENT_ID
from chalicelib.openbanking.protocol.british_accounts import read_account, restore_leading_zeros
from chalicelib.openbanking.protocol.errors import Fault
from chalicelib.openbanking.protocol.fields import AN, Day, Digits, Iban, Id
from chalicelib.openbanking.protocol.payment_statuses import CODES, NUMBERS, Statuses

MOST_IDENTIFIERS = 1000
"""The identifiers of each kind that a consent may have."""
MOST_IDENTIFIER_BYTES = 350_000
"""The size in UTF-8 of all of a consent's identifiers: its record has room for 400 KB (DynamoDB)."""
BODY_BYTES = 65_536
_LONGEST_IBAN, _LONGEST_NUMBER = 42, 15
_CHARACTER_BYTES = 12
"""The longest notation of a character in JSON: two escapes, beyond the Basic Multilingual Plane."""
_ENTRY_BYTES = 3
"""Quotes and comma."""
CONSENT_BYTES = BODY_BYTES + MOST_IDENTIFIERS * sum(
    longest * _CHARACTER_BYTES + _ENTRY_BYTES for longest in (_LONGEST_IBAN, LONGEST_ID, _LONGEST_NUMBER)
)
"""The size of a consent's body: its lists in their longest notation, and the other members."""

Identifiers = Annotated[list[Id[LONGEST_ID]], Field(max_length=MOST_IDENTIFIERS)]


def _british_account(value: object) -> str:
    text = restore_leading_zeros(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if not isinstance(text, str):
        fault("type", "must be a string or a whole number")
    if read_account(text) is None:
        fault("value", "must be an 8-digit account number, alone or with its 6-digit sort code")
    return text


_BRITISH_ACCOUNT: Mapping[str, Any] = {
    "type": ["string", "integer"],
    "pattern": "^(?:[0-9]{8}|[0-9]{6}[ /-]?[0-9]{8}|[0-9]{8}[ /-][0-9]{6})$",
    "minimum": 0,
    "maximum": 10**14 - 1,
    "description": "An 8-digit account number; or sort code and account number, in either order, separated by a space, "
    "a hyphen or a slash; or 14 digits, sort code first. In a whole number, missing leading zeros are restored",
}
AccountNumbers = Annotated[
    list[Annotated[str, PlainValidator(_british_account), WithJsonSchema(dict(_BRITISH_ACCOUNT))]],
    Field(max_length=MOST_IDENTIFIERS),
]


class InitAuthorization(Message):
    """``/bank/init_authorization``: the PSU has arrived at the bank with an OAuth2 authorization URL."""

    request_url: AN[16384]
    """The OAuth2 authorization URL that the PSU opened, complete and unaltered. Example: ``REQUEST_URL``."""


class SaveConsent(Message):
    """``/bank/consent``: the PSU's approval, with the approved scopes and accounts."""

    scopes: Annotated[list[AN[64]], Field(max_length=64)]
    """The approved scopes: exactly those requested. Example: ``["account.list"]``."""
    request_url: AN[16384]
    ibans: Annotated[list[Iban], Field(max_length=MOST_IDENTIFIERS)] | None = None
    """The approved accounts' IBANs. Example: ``["DE61100999000004711001"]``."""
    account_ids: Identifiers | None = None
    """The bank's own identifiers of the approved accounts. Example: ``["65e1d84d-bbff-5020-8a18-fa562a050c8d"]``."""
    account_numbers: AccountNumbers | None = None
    """The local account numbers of the approved accounts, optionally prefixed with the sort code.
    Example: ``["04000431926801"]``.
    """

    @model_validator(mode="after")
    def fits_in_a_record(self) -> Self:
        identifiers = (*(self.ibans or ()), *(self.account_ids or ()), *(self.account_numbers or ()))
        if sum(len(text.encode()) for text in identifiers) > MOST_IDENTIFIER_BYTES:
            fault("value", f"the account identifiers must have at most {MOST_IDENTIFIER_BYTES} bytes together")
        return self


class RevokeToken(Message):
    """``/bank/token/revoke``: the consent of a token has ended."""

    access_token: AN[512]
    """The token of the consent, as issued to the bank. Example: ``BANK_TOKEN``."""


def status_validator(statuses: Statuses) -> BeforeValidator:
    """A validator that accepts the reportable values of ``statuses``."""

    def check(value: object) -> object:
        known = ", ".join(map(str, statuses.meanings))
        return value if statuses.read(value) is not None else fault("value", f"must be one of {known}")

    return BeforeValidator(check)


class PaymentsStatus(Message):
    """``/bank/payments/status``: a payment's current status."""

    payment_id: Id[LONGEST_PAYMENT_ID]
    """The payment's identifier at the bank. Example: ``"P2026112100017"``."""
    payment_status: Annotated[int | str, status_validator(NUMBERS)]
    """The payment's status. Example: ``4``."""


MOST_CONSENTS = 100
"""The consents that one call may ask for: as many as one read can have."""
_CONSENT_ID = re.compile("[A-Za-z0-9_-]{1,64}")


def _consent_id(value: object) -> str:
    if not isinstance(value, str):
        fault("type", "must be a string")
    if not _CONSENT_ID.fullmatch(value):
        fault("value", "must be the id of a consent: its access token up to the dot")
    return value


_CONSENT_ID_SCHEMA: Mapping[str, Any] = {"type": "string", "pattern": f"^{_CONSENT_ID.pattern}$"}
ConsentId = Annotated[str, PlainValidator(_consent_id), WithJsonSchema(dict(_CONSENT_ID_SCHEMA))]


class ConsentsStatus(Message):
    """``/bank/consents/status``: the consents, at most 100, whose states the bank wants to know."""

    access_tokens: Annotated[list[AN[512]], Field(max_length=MOST_CONSENTS)] | None = None
    """The consents' access tokens, as issued to the bank.
    Example: ``["7a3e9c1d5b20f8e6a4c2d1.3q2-7wX9aLr0Zk5vYtJmNcB1dFgHsUe4iOpQlAzXyVw"]``.
    """
    consent_ids: Annotated[list[ConsentId], Field(max_length=MOST_CONSENTS)] | None = None
    """The consents' ids: their access tokens up to the dot. Example if sent: ``["5f8d0c1e9b7a463f2d1c0b"]``."""

    @model_validator(mode="after")
    def has_1_to_100_consents(self) -> Self:
        count = len(self.access_tokens or ()) + len(self.consent_ids or ())
        if not 1 <= count <= MOST_CONSENTS:
            fault("value", f"1 to {MOST_CONSENTS} access tokens and consent ids are required")
        return self


class _Camel(Message):
    model_config = ConfigDict(alias_generator=to_camel)


class InitAuthorizationV2(_Camel, InitAuthorization):
    """``/bank/v2/init_authorization``."""


class SaveConsentV2(_Camel, SaveConsent):
    """``/bank/v2/consent``."""

    """Inherited ``scopes``: Example: ``["accounts"]``."""


class RevokeTokenV2(_Camel, RevokeToken):
    """``/bank/v2/token/revoke``."""


class PaymentsStatusV2(_Camel, PaymentsStatus):
    """``/bank/v2/payments/status``; accepts codes, but also numbers, because the specification gives the type as N."""

    payment_status: Annotated[int | str, status_validator(CODES)]
    """The payment's status as a code, or as a number, since the protocol's table specifies type N.
    Example: ``"ACSC"``.
    """


class ConsentsStatusV2(_Camel, ConsentsStatus):
    """``/bank/v2/consents/status``."""


class DailyPerformance(_Camel):
    """``/bank/v2/daily_performance``: a day's average durations, in milliseconds."""

    date: Day
    """The day the data is for. Example: ``"2026-11-20"``."""
    consent_duration: Digits[10] | None = None
    """Average time to confirm a consent, in milliseconds. Example: ``42000``."""
    payment_duration: Digits[10] | None = None
    """Average time to complete a payment confirmation, in milliseconds. Example: ``31500``."""


@dataclass(frozen=True, slots=True)
class BankCall:
    """A call of the bank-facing API, available in every version that declares a request model for it.

    Attributes:
        name: the flow step that handles the call.
        path: relative to the version's base path, ``/bank`` or ``/bank/v2``.
        is_read: whether the call changes nothing, so that its response is not stored: a repeat gets the current state.
        body_bytes: the maximum body size.
    """

    name: str
    path: str
    is_read: bool = False
    body_bytes: int = BODY_BYTES


INITIATE = BankCall("initiate", "/init_authorization")
"""Start an authorization. The PSU has opened an OAuth2 authorization URL at the bank. Returns the TPP, the requested
scopes, and the URL for the PSU if no consent is given.
"""
SAVE_CONSENT = BankCall("save_consent", "/consent", body_bytes=CONSENT_BYTES)
"""Save a consent. The PSU has approved all requested scopes. Send the PSU's browser to the callback URL, and keep the
access token with the PSU: webhooks about this PSU carry it in X-Auth-Token.
"""
REVOKE_TOKEN = BankCall("revoke_token", "/token/revoke")
"""End a consent. The consent of an access token has ended at the bank. The call also succeeds, without effect, if the
consent is already revoked or expired.
"""
REPORT_STATUS = BankCall("report_status", "/payments/status")
"""Report a payment's status. Call this whenever the status of a payment changes. The latest report counts; after a
final status ({final}), further reports are ignored but succeed. A report on a payment that the bank has not yet
returned to the service is refused, but kept for 15 minutes.
"""
REPORT_DAY = BankCall("report_day", "/daily_performance")
"""Report a day's performance. Call this once a day with the average times that PSUs took to confirm consents and
payments. A later report for the same day replaces the earlier one.
"""
LIST_STATES = BankCall("list_states", "/consents/status", is_read=True)
"""Read the states of consents. For a bank that may have missed something, for example after an outage: the states of up
to 100 of its consents, identified by their access tokens or by their ids, the part of a token before the dot. The
response has an entry for each, in the order of the request: first those of tokens, then those of ids. A consent is
``unknown`` if it does not exist or is another bank's, or if the token is not that of the consent. Nothing is stored:
repeating the call, also with the same X-Request-Id, returns the states at that time.
"""
BANK_CALLS: tuple[BankCall, ...] = (INITIATE, SAVE_CONSENT, REVOKE_TOKEN, REPORT_STATUS, REPORT_DAY, LIST_STATES)

FIELD_FAULTS: Mapping[str, tuple[Fault, Fault]] = {
    "request_url": (Fault.URL_MISSING, Fault.URL_NOT_VALID),
    "scopes": (Fault.SCOPES_MISSING, Fault.SCOPES_NOT_CORRECT),
    "ibans": (Fault.FIELD, Fault.IBAN_NOT_VALID),
    "access_token": (Fault.FIELD, Fault.MALFORMED_TOKEN),
    "payment_id": (Fault.FIELD, Fault.PAYMENT_ID),
    "payment_status": (Fault.FIELD, Fault.PAYMENT_STATUS),
}
"""Members, in snake_case, that have their own error codes: one if missing, one if invalid."""
