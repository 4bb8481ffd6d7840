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
"""The maximum number of identifiers of each kind in a consent."""
MOST_IDENTIFIER_BYTES = 350_000
"""The maximum size of all identifiers in a consent, as UTF-8. DynamoDB limits the consent's record to 400 KB."""
BODY_BYTES = 65_536
_LONGEST_IBAN, _LONGEST_NUMBER = 42, 15
_CHARACTER_BYTES = 12
"""The maximum size of one character in JSON. A character beyond the Basic Multilingual Plane takes two escapes."""
_ENTRY_BYTES = 3
"""The size of the two quotes and the comma of a list entry in JSON."""
CONSENT_BYTES = BODY_BYTES + MOST_IDENTIFIERS * sum(
    longest * _CHARACTER_BYTES + _ENTRY_BYTES for longest in (_LONGEST_IBAN, LONGEST_ID, _LONGEST_NUMBER)
)
"""The maximum body size of a request that saves a consent: the general limit, plus the longest possible lists of
account identifiers.
"""

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
    """Create a validator that accepts the reportable values of ``statuses``."""

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
"""The maximum number of consents in one call, which is the maximum number of items in one read."""
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
    """``/bank/consents/status``: a query for the status of at most 100 consents."""

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
    """``/bank/v2/init_authorization``: the PSU has arrived at the bank with an OAuth2 authorization URL."""


class SaveConsentV2(_Camel, SaveConsent):
    """``/bank/v2/consent``: the PSU's approval, with the approved scopes and accounts."""

    """Inherited ``scopes``: Example: ``["accounts"]``."""


class RevokeTokenV2(_Camel, RevokeToken):
    """``/bank/v2/token/revoke``: the consent of a token has ended."""


class PaymentsStatusV2(_Camel, PaymentsStatus):
    """``/bank/v2/payments/status``: accepts codes, but also numbers, because the specification gives the type as N."""

    payment_status: Annotated[int | str, status_validator(CODES)]
    """The payment's status as a code, or as a number, since the protocol's table specifies type N.
    Example: ``"ACSC"``.
    """


class ConsentsStatusV2(_Camel, ConsentsStatus):
    """``/bank/v2/consents/status``: a query for the status of at most 100 consents."""


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
    """A call of the bank-facing API, available in every version that declares a request model for the call.

    Attributes:
        name: the flow step that handles the call.
        path: relative to the version's base path, ``/bank`` or ``/bank/v2``.
        is_read: whether the call changes no data. Its response is not stored, so a retry gets the current state.
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
"""Save a consent. The PSU has approved all requested scopes. Send the PSU's browser to the callback URL, and store the
access token for the PSU: webhooks about this PSU contain the token in X-Auth-Token.
"""
REVOKE_TOKEN = BankCall("revoke_token", "/token/revoke")
"""End a consent. The consent of an access token has ended at the bank. The call also succeeds, without effect, if the
consent is already revoked or expired.
"""
REPORT_STATUS = BankCall("report_status", "/payments/status")
"""Report a payment's status. Call this whenever the status of a payment changes. The latest report counts; after a
final status ({final}), further reports are ignored but succeed. A report on a payment that the bank has not yet
returned to the service is refused, but stored for 15 minutes.
"""
REPORT_DAY = BankCall("report_day", "/daily_performance")
"""Report a day's performance. Call this once a day with the average times that PSUs took to confirm consents and
payments. A later report for the same day replaces the earlier one.
"""
LIST_STATES = BankCall("list_states", "/consents/status", is_read=True)
"""Read the states of consents. A bank that may have missed notifications, for example after an outage, can read the
states of up to 100 of its consents. Each consent is identified by its access token or its id, which is the part of the
token before the dot. The response has an entry for each consent in the order of the request: first the consents
identified by tokens, then the consents identified by ids. A consent is ``unknown`` if it does not exist or belongs to
another bank, or if the token does not belong to the consent. The response is not stored: a repeated call, even with the
same X-Request-Id, returns the current states.
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
"""Members, in snake_case, with specific error codes. The first fault is for a missing value, the second for an invalid
value.
"""
