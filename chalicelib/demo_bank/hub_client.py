"""A client of the service's bank-facing API, which sends signed HTTP requests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any

import requests

from chalicelib.demo_bank.runtime import READ_SECONDS, DemoBank, HubUnreachable
from chalicelib.foundation import jsontext
from chalicelib.foundation.crypto import signatures
from chalicelib.foundation.http.addresses import has_web_scheme
from chalicelib.foundation.identifiers import new_uuid
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.openbanking.protocol.payment_statuses import Status

_BAD_REQUEST = 400


class HubRefusal(Exception):
    """The service refused the bank's request. The refusal's code and message are displayed to the PSU."""

    def __init__(self, status: int, code: str, message: str) -> None:
        self.status = status
        self.code = code
        self.message = message
        super().__init__(f"{status} {code}")

    @property
    def is_permanent(self) -> bool:
        """Whether the service would also refuse a retry, which is assumed only for status 400."""
        return self.status == _BAD_REQUEST


@dataclass(frozen=True, slots=True)
class AuthorizationRequest:
    """The service's response to an authorization request."""

    tpp_name: str
    tpp_registration_number: str
    scopes: tuple[str, ...]
    cancel_url: str


@dataclass(frozen=True, slots=True)
class SavedConsent:
    """The service's response to a consent. ``valid_until`` is in Unix seconds."""

    callback_url: str
    access_token: str
    valid_until: int


def init_authorization(bank: DemoBank, request_url: str) -> AuthorizationRequest:
    """Start an authorization at the service. Raises: HubRefusal, HubUnreachable."""
    answer = _post(bank, "/init_authorization", {"request_url": request_url}, new_uuid())
    scopes = answer("scopes", list)
    return AuthorizationRequest(
        tpp_name=answer("tpp_name", str),
        tpp_registration_number=answer("tpp_registration_number", str),
        scopes=tuple(str(scope) for scope in scopes),
        cancel_url=_checked_url(answer("cancel_url", str)),
    )


def save_consent(
    bank: DemoBank, request_url: str, scopes: Sequence[str], identifiers: Mapping[str, Sequence[str]], request_id: str
) -> SavedConsent:
    """Send the consent. A retry with the same ``request_id`` returns the same response.

    ``identifiers`` has ``ibans``, ``account_ids`` and ``account_numbers``; empty kinds are omitted.

    Raises:
        HubRefusal, HubUnreachable.
    """
    members: dict[str, Any] = {"scopes": list(scopes), "request_url": request_url}
    members |= {kind: list(values) for kind, values in identifiers.items() if values}
    answer = _post(bank, "/consent", members, request_id)
    return SavedConsent(
        callback_url=_checked_url(answer("callback_url", str)),
        access_token=answer("access_token", str),
        valid_until=_unix_seconds(answer("valid_until", str)),
    )


def revoke_token(bank: DemoBank, access_token: str, seconds: float) -> None:
    """Revoke a consent at the service. ``seconds`` is the timeout.

    Raises:
        HubRefusal, HubUnreachable.
    """
    _post(bank, "/token/revoke", {"access_token": access_token}, new_uuid(), seconds)


def report_status(bank: DemoBank, payment_id: str, status: Status, request_id: str, seconds: float) -> None:
    """Report a payment's status. A retry uses the same ``request_id``. ``seconds`` is the timeout.

    Raises:
        HubRefusal, HubUnreachable.
    """
    _post(bank, "/payments/status", {"payment_id": payment_id, "payment_status": status}, request_id, seconds)


def report_day(
    bank: DemoBank, day: date, consent_duration: int | None, payment_duration: int | None, seconds: float
) -> None:
    """Report average confirmation durations in milliseconds. ``seconds`` is the timeout.

    Raises:
        HubRefusal, HubUnreachable.
    """
    members = {"date": day.isoformat(), "consent_duration": consent_duration, "payment_duration": payment_duration}
    known = {name: value for name, value in members.items() if value is not None}
    _post(bank, "/daily_performance", known, new_uuid(), seconds)


@dataclass(frozen=True, slots=True)
class _Answer:
    """The members of a response by snake_case name, in any protocol version."""

    bank: DemoBank
    members: Mapping[str, Any]

    def __call__(self, name: str, kind: type[Any]) -> Any:
        spelled = self.bank.profile.protocol.spell(name)
        value = self.members.get(spelled)
        if not isinstance(value, kind):
            raise HubUnreachable(f"the response has no usable {spelled}")
        return value


def _post(
    bank: DemoBank, path: str, members: Mapping[str, Any], request_id: str, seconds: float = READ_SECONDS
) -> _Answer:
    version = bank.profile.protocol
    body = jsontext.dumps(version.in_spelling(members)).encode()
    credentials = bank.credentials()
    headers = {
        "Content-Type": "application/json",
        "X-Api-Key": credentials.api_key,
        "X-Request-Id": request_id,
        "X-Signature": signatures.sign(credentials.signing_key, body),
    }
    answer = bank.call_hub("POST", version.base + path, body, headers, seconds)
    return _Answer(bank, _members(path, answer))


def _members(path: str, answer: requests.Response) -> Mapping[str, Any]:
    try:
        members = jsontext.loads(answer.content)
    except jsontext.InvalidJson:
        raise HubUnreachable(f"{path}: status {answer.status_code} without JSON") from None
    if not isinstance(members, dict) or answer.status_code >= 500:
        raise HubUnreachable(f"{path}: status {answer.status_code}")
    if answer.status_code != 200:
        raise HubRefusal(answer.status_code, *_error_reason(members))
    return members


def _error_reason(members: Mapping[str, Any]) -> tuple[str, str]:
    additional = members.get("additionalErrors")
    first = additional[0] if isinstance(additional, list) and additional else {}
    code = first.get("code") or members.get("code") or members.get("error_code") or "unknown"
    message = first.get("details") or members.get("title") or members.get("message") or ""
    return str(code), str(message)


def _checked_url(url: str) -> str:
    if not has_web_scheme(url) or not url.isprintable():
        raise HubUnreachable("the response has a URL that cannot be opened")
    return url


def _unix_seconds(text: str) -> int:
    try:
        return int(datetime.fromisoformat(text).timestamp())
    except ValueError:
        raise HubUnreachable("the response has an unreadable timestamp") from None
