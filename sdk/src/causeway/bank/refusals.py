"""The refusals that a bank's functions can raise. The application sends the error in the format of the bank's version.

After ``ConsentNotInForce``, the PSU must authorize the TPP again. All other refusals pass the bank's code and text to
the TPP. The text is for people, and must not contain secrets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


class Refused(Exception):
    """A refusal. To use a code of the bank: ``raise Refused("…", code_v1=5102, code_v2="PAYMENT_REFUSED")``.

    A refused payment must not exist at the bank. The hub considers the refusal certain if the status is below 500,
    except for 408, 409 and 425. ``retry_after`` is in seconds.
    """

    status = 400
    code_v1 = 4001
    code_v2 = "FORMAT_ERROR"
    text = "this bank refuses the request"

    def __init__(
        self,
        text: str = "",
        *,
        status: int | None = None,
        code_v1: int | None = None,
        code_v2: str | None = None,
        retry_after: int | None = None,
        additional: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        self.text = text or self.text
        self.status = status or self.status
        self.code_v1 = code_v1 or self.code_v1
        self.code_v2 = code_v2 or self.code_v2
        self.retry_after = retry_after
        self.additional = tuple(additional)
        super().__init__(self.text)


class BadRequest(Refused):
    """The request does not match the API reference."""

    text = "the request is not as in the reference"


class WrongCredentials(Refused):
    """The API key is missing or incorrect."""

    status, code_v1, code_v2, text = 401, 4200, "WRONG_CREDENTIALS", "X-Api-Key is missing or wrong"


class WrongSignature(Refused):
    """The signature is not the hub's signature of this body."""

    status, code_v1, code_v2, text = 401, 4200, "HEADERS_ERROR", "X-Signature is not the hub's signature of this body"


class RequestIdInvalid(Refused):
    """``X-Request-Id`` is missing or is not a UUID."""

    status, code_v1, code_v2, text = 401, 4204, "REQUEST_ID_NOT_UUID", "X-Request-Id is missing or no UUID"


class RequestIdUsed(Refused):
    """``X-Request-Id`` was already used for a different order."""

    code_v2, text = "HEADERS_ERROR", "this X-Request-Id was used for another order"


class StillRunning(Refused):
    """The same order is still being processed, and its outcome is not known yet."""

    status, code_v2, text = 409, "HEADERS_ERROR", "this order is being processed"


class ConsentNotInForce(Refused):
    """The token is missing, unknown, ended or expired: the PSU must authorize again."""

    status, code_v1, code_v2, text = 401, 4202, "AUTHENTICATION_REQUIRED", "X-Auth-Token is of no consent in force"


class ScopeMissing(Refused):
    """The PSU did not approve the scope."""

    status, code_v1, code_v2, text = 403, 4004, "SERVICE_BLOCKED", "the PSU did not approve this scope"


class ResourceUnknown(Refused):
    """The webhook, payment or consent does not exist."""

    status, code_v2, text = 404, "RESOURCE_UNKNOWN", "this bank does not offer that, or has nothing of that name"


class AccountUnknown(ResourceUnknown):
    """The PSU has no such account, or the PSU did not approve the account."""

    text = "the PSU approved no such account"


class InsufficientFunds(Refused):
    """The account has insufficient funds."""

    code_v1, code_v2, text = 5101, "INSUFFICIENT_FUNDS", "there is not enough money in the account"


class PaymentDeclined(Refused):
    """The bank declines the payment without giving a reason."""

    code_v1, code_v2, text = 5102, "PAYMENT_REFUSED", "this bank declined the payment"


class OutOfService(Refused):
    """The bank is out of service for ``retry_after`` seconds. If the refused call was a payment, its outcome is
    unknown.
    """

    status, code_v1, code_v2, text = 503, 5103, "OUT_OF_SERVICE", "this bank is out of service"


class TooManyRequests(Refused):
    """The bank received too many requests; ``retry_after`` is the time to wait, in seconds."""

    status, code_v1, code_v2, text = 429, 5104, "TOO_MANY_REQUESTS", "this bank got too many requests"
