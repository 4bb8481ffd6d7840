"""Display texts of the web interface: times, states, and advice on errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from typing import Any

from chalicelib.foundation.clock import timestamp
from chalicelib.openbanking.protocol.errors import Fault, Refusal
from chalicelib.openbanking.protocol.payment_statuses import UNKNOWN
from chalicelib.openbanking.protocol.scopes import Service
from chalicelib.openbanking.protocol.tpp_calls import EndedBy
from chalicelib.openbanking.protocol.versions import VERSIONS

UNKNOWN_CLIENT = "None of your clients has this Client ID."

RETURN_ADVICE: Mapping[str, str] = {
    "access_denied": "Nothing was approved. Authorize again, and approve every permission at the bank.",
    "invalid_scope": "Choose scopes that this bank provides, and authorize again.",
    "server_error": "Something failed at the bank. Authorize again; if it fails again, ask the bank.",
    "temporarily_unavailable": "The bank is busy or down. Wait a minute, and authorize again.",
}
"""Advice on the ``error`` of a callback (RFC 6749 §4.1.2.1)."""
_DEFAULT_ADVICE = "Authorize again: a new request uses a new state."

REFUSAL_ADVICE: Mapping[Fault, str] = {
    Fault.NOT_AUTHENTICATED: "Check which client the request is made for.",
    Fault.WRONG_CREDENTIALS: (
        "Check that the client is active, and enter its secret if it has one. No code or token was used up."
    ),
    Fault.UNKNOWN_RESOURCE: "Choose a bank from the list.",
    Fault.TPP_GONE: "Reactivate the client first.",
    Fault.UNKNOWN: "Wait a moment, then repeat the request.",
    Fault.INTERNAL: "Try again; if it fails again, inform the operator.",
}
"""Advice on a refusal, by fault."""

LABELS: Mapping[str, str] = {
    "email": "Email",
    "password": "Password",
    "current_password": "Current password",
    "title": "Title",
    "callback_url": "Callback URL",
    "callback_urls": "Callback URLs",
    "registration_number": "Registration number",
    "events_url": "Events URL",
    "events": "Events",
    "calls_per_minute": "Calls a minute",
    "auth_method": "Authentication method",
    "jwks": "Key set",
    "jwks_uri": "Key set URL",
    "tls_client_auth_subject_dn": "Certificate subject",
    "organization_identifier": "Organization identifier",
    "security_profile": "Profile",
    "require_pushed_authorization_requests": "Pushed requests",
    "dpop_bound_access_tokens": "Tokens bound to a DPoP key",
    "tls_client_certificate_bound_access_tokens": "Tokens bound to the certificate",
    "dpop_nonce_required": "DPoP nonces",
    "old_secret_until": "Old secret until",
}
"""The labels of form fields, by the record member that the field sets."""

JOURNEY_STAGES: Mapping[str, str] = {
    "begun": "at the bank",
    "refused": "not approved",
    "code": "back with a code",
    "tokens": "tokens fetched",
    "ended": "consent ended",
}
"""Labels of journey stages."""


def sentence(text: str) -> str:
    """Format a service message as a sentence. A member name at the start is not capitalised."""
    is_name = "_" in text.partition(" ")[0]
    capital = text if is_name else text[:1].upper() + text[1:]
    return capital if capital.endswith((".", "!", "?")) else f"{capital}."


def field_error(member: str, message: str) -> str:
    """Format an error message as a sentence, with the member name replaced by the field's label."""
    name, _, rest = message.partition(" ")
    is_named = name in LABELS and member.startswith(name)
    return sentence(f"{LABELS[name]} {rest}" if is_named else message)


def field_errors(problems: Mapping[str, str]) -> dict[str, str]:
    """Format error messages by member as sentences (see ``field_error``)."""
    return {member: field_error(member, text) for member, text in problems.items()}


def refusal_advice(refusal: Refusal) -> str:
    details = [sentence(detail.details) for detail in refusal.details if detail.details != refusal.message]
    advice = REFUSAL_ADVICE.get(refusal.fault, "Change the request, and run it again.")
    return " ".join((sentence(refusal.message), *details, advice))


def return_advice(error: str) -> str:
    return RETURN_ADVICE.get(error, _DEFAULT_ADVICE)


def change_value(value: object) -> str:
    """Format the value of a client's member in its history. Keys are represented by their ids."""
    if value is None or isinstance(value, bool):
        return {None: "none", True: "yes", False: "no"}[value]
    if isinstance(value, Mapping):
        return ", ".join(str(key.get("kid") or f"{key.get('kty')} without kid") for key in value["keys"])
    return ", ".join(map(str, value)) or "none" if isinstance(value, list) else str(value)


_PAYMENT_HEADLINES: Mapping[str, str] = {
    "RJCT": "Payment rejected",
    "CANC": "Payment cancelled",
    UNKNOWN: "Payment status unknown",
}
"""The headlines of payments that were not executed, by the neutral form of the status. Payments with another status are
pending.
"""

END_REASONS: Mapping[str, str] = {
    "user": "You ended it here, and the bank was notified.",
    "tpp": "The client ended it, and the bank was notified.",
    "bank": "The bank reported that it has ended: the person may have ended it there.",
    "operator": "The operator ended it, and the bank was notified.",
    "service": "The service ended it, because a code or refresh token was used twice. The bank was notified.",
    "expired": "It had reached the end of its validity.",
}
"""Explanations of why a consent ended, by ``ended_by`` of its journey."""


def is_final_status(status: object) -> bool:
    """Whether a payment status of any protocol version means that the payment was executed, rejected or cancelled."""
    return any(version.statuses.is_final(status) for version in VERSIONS.values())


def payment_headline(status: object) -> str:
    """A short description of a payment status of any protocol version."""
    if any(version.statuses.is_executed(status) for version in VERSIONS.values()):
        return "Payment completed"
    neutral = next(filter(None, (version.statuses.read(status) for version in VERSIONS.values())), UNKNOWN)
    return _PAYMENT_HEADLINES.get(neutral, "Payment pending")


def payment_status(status: object) -> str:
    """The meaning of a payment status of any protocol version, or an empty text if the status is unknown."""
    meanings = [version.statuses.meanings for version in VERSIONS.values()]
    names = {str(status): meaning for each in meanings for status, meaning in each.items()}
    return names.get(str(status), "")


def moment(seconds: int) -> str:
    return f"{datetime.fromtimestamp(int(seconds), UTC):%-d %b %Y, %H:%M:%S} UTC"


def day_of_moment(seconds: int) -> str:
    """The UTC day of a Unix second."""
    return f"{datetime.fromtimestamp(int(seconds), UTC):%-d %b %Y}"


def calendar_day(day: str) -> str:
    """Format a day written as ``YYYY-MM-DD``."""
    return f"{date.fromisoformat(day):%-d %b %Y}"


def span(seconds: int) -> str:
    """A duration in the largest unit that fits, for example ``15 minutes``."""
    for unit, length in (("day", 86400), ("hour", 3600), ("minute", 60)):
        if seconds >= length:
            count = seconds // length
            return f"{count} {unit}{'s' if count > 1 else ''}"
    return f"{max(seconds, 0)} second{'' if seconds == 1 else 's'}"


def elapsed(seconds: int) -> str:
    """Format a duration in days, hours and minutes, for example ``7 days and 2 hours``, or in seconds below a
    minute.
    """
    parts = []
    for unit, length in (("day", 86400), ("hour", 3600), ("minute", 60)):
        count, seconds = divmod(seconds, length)
        parts += [f"{count} {unit}{'s' if count > 1 else ''}"] if count else []
    return " and ".join(parts[:2]) or span(seconds)


def retry_advice(seconds: int) -> str:
    """The advice to a user who has made too many attempts."""
    whole = seconds if seconds < 60 else -(-seconds // 60) * 60  # rounded up, so that waiting this long is enough
    return f"Too many attempts. Please wait {span(whole)} and try again; nothing was done."


ENDED_BY: Mapping[EndedBy, str] = {
    "tpp": "by the client, or here by its owner",
    "bank": "by the bank, or by its customer there",
    "operator": "by the operator of this service",
    "service": "by this service, because a code or token was used twice",
}
"""Descriptions of the party that revoked a consent."""

SERVICES: Mapping[Service, str] = {"AISP": "Account information", "PISP": "Payments", "CBPII": "Confirmation of funds"}
"""The labels of the PSD2 services to which scopes belong."""

FILTERS: Mapping[str, Callable[..., Any]] = {
    "moment": moment,
    "elapsed": elapsed,
    "timestamp": timestamp,
    "span": span,
    "sentence": sentence,
    "change_value": change_value,
    "service_name": SERVICES.__getitem__,
    "journey_stage": JOURNEY_STAGES.__getitem__,
    "ended_by": ENDED_BY.__getitem__,
    "calendar_day": calendar_day,
    "day_of_moment": day_of_moment,
}
