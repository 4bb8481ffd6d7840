"""How the banks refuse: what the protocol has a fault for, and what is refused with a code of the bank's own."""

from __future__ import annotations

from typing import Any

from chalicelib.foundation.clock import timestamp
from chalicelib.openbanking.protocol.errors import (
    Fault,
    Refusal,
    version_1_body,
    version_1_status,
    version_2_body,
    version_2_status,
)
from chalicelib.openbanking.protocol.scopes import Version


class UnknownToken(Refusal):
    """A token that this bank never had: no repeat will make it known, whence HTTP 404 in both versions."""

    def __init__(self) -> None:
        super().__init__(Fault.UNKNOWN_TOKEN, "this bank has no such token")


class OwnRefusal(Refusal):
    """A refusal for which the protocol has no code: a number in version 1, a name in version 2, both the bank's own."""

    def __init__(self, number: int, name: str, message: str) -> None:
        self.number = number
        self.name = name
        super().__init__(Fault.CONTENT, message)


def no_funds() -> Refusal:
    return OwnRefusal(5101, "INSUFFICIENT_FUNDS", "There is not enough money on the account for this payment.")


def not_paid() -> Refusal:
    return OwnRefusal(5102, "PAYMENT_REFUSED", "This bank does not carry out this payment. Please ask the bank why.")


def no_account() -> Refusal:
    return Refusal(Fault.UNKNOWN_RESOURCE, "the customer approved no such account")


def no_payment() -> Refusal:
    return Refusal(Fault.UNKNOWN_RESOURCE, "there is no such payment")


def body_and_status(version: Version, refusal: Refusal, request_id: str, now: int) -> tuple[dict[str, Any], int]:
    """A refusal in the error format of a version, and its HTTP status."""
    own = refusal if isinstance(refusal, OwnRefusal) else None
    if version == 1:
        body = version_1_body(refusal)
        body |= {"error_code": own.number, "message": own.message} if own else {}
        return {"status": "error", **body}, 404 if isinstance(refusal, UnknownToken) else version_1_status(refusal)
    if own:
        code = {"code": own.name, "title": own.message, "timestamp": timestamp(now), "requestId": request_id}
        return code, version_2_status(refusal)
    return version_2_body(refusal, request_id, now), version_2_status(refusal)
