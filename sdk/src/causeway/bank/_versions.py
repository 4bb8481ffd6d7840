"""Describes the differences between the versions of the bank protocol as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from causeway import _waiting
from causeway._final_statuses import FINAL_V1, FINAL_V2
from causeway.bank._call import HubCall, Webhook
from causeway.bank._generated import calls
from causeway.bank.refusals import Refused
from causeway.errors import ConfigurationError

Kind = Literal["single", "bulk", "direct"]
Status = int | str


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """A protocol version. ``paths`` maps functions to webhooks, and ``kinds`` maps payment kinds to webhooks."""

    number: int
    webhooks: Mapping[str, Webhook]
    calls: Mapping[str, HubCall]
    paths: Mapping[str, str]
    kinds: Mapping[str, Kind]
    statuses: Mapping[str, Status]
    final_statuses: frozenset[int] | frozenset[str]
    status_paths: frozenset[str]
    account_id: str
    """The name of the attribute that contains the bank's identifier of an account."""
    says_status: bool
    """Whether every response has the member ``status`` with the value ``success`` or ``error``."""

    def error_body(self, refused: Refused, request_id: str) -> dict[str, Any]:
        """Return the body of a refusal."""
        if self.says_status:
            return {"status": "error", "error_code": refused.code_v1, "message": refused.text}
        timestamp = datetime.fromtimestamp(_waiting.now(), UTC).isoformat(timespec="seconds")
        body = {"code": refused.code_v2, "title": refused.text, "timestamp": timestamp}
        body |= {"requestId": request_id} if request_id else {}
        return body | ({"additionalErrors": list(refused.additional)} if refused.additional else {})


VERSION_1 = Version(
    number=1,
    webhooks=calls.WEBHOOKS_V1,
    calls=calls.HUB_CALLS_V1,
    paths={
        "accounts": "/accounts",
        "account": "/account",
        "balances": "/account_balance",
        "payments": "/account_payments",
        "payment": "/account_payment",
        "funds": "/funds_confirmations",
        "revoke": "/revoke_token",
    },
    kinds={"/payment_initiation": "single", "/bulk_payment_initiation": "bulk", "/direct_payment_initiation": "direct"},
    statuses={"received": 1, "confirmed": 4, "cancelled": 3, "rejected": 2},
    final_statuses=FINAL_V1,
    status_paths=frozenset(),
    account_id="id",
    says_status=True,
)
VERSION_2 = Version(
    number=2,
    webhooks=calls.WEBHOOKS_V2,
    calls=calls.HUB_CALLS_V2,
    paths={
        "accounts": "/v2_accounts",
        "account": "/v2_account",
        "balances": "/v2_account_balances",
        "transactions": "/v2_account_transactions",
        "funds": "/v2_funds_confirmations",
        "revoke": "/revoke_token",
    },
    kinds={"/v2_payment_single": "single", "/v2_payment_bulk": "bulk", "/v2_payment_direct_single": "direct"},
    statuses={"received": "RCVD", "confirmed": "ACSC", "cancelled": "CANC", "rejected": "RJCT"},
    final_statuses=FINAL_V2,
    status_paths=frozenset({"/v2_payment_single_status", "/v2_payment_bulk_status"}),
    account_id="resource_id",
    says_status=False,
)


def version_of(number: int) -> Version:
    """Return the protocol version with the given number. Raises ``ConfigurationError`` if there is no such version."""
    for version in (VERSION_1, VERSION_2):
        if version.number == number:
            return version
    raise ConfigurationError(f"there are versions 1 and 2, not {number!r}")
