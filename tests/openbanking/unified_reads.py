"""The unified reads at banks of both versions, as rows of the banks' webhooks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.causeway import Answer
from tests.openbanking.examples import BY_WEBHOOK
from tests.openbanking.relay import Relay

READS = ("accounts", "account", "balances", "transactions")
_WEBHOOKS = {
    1: ("/accounts", "/account", "/account_balance", "/account_payments"),
    2: ("/v2_accounts", "/v2_account", "/v2_account_balances", "/v2_account_transactions"),
}
UNIFIED = {
    (version, read): replace(BY_WEBHOOK[webhook], call=f"/tpp/unified/{read}")
    for version, webhooks in _WEBHOOKS.items()
    for read, webhook in zip(READS, webhooks, strict=True)
}
"""The row of each version and read."""
EVERY_READ = pytest.mark.parametrize(("version", "read"), UNIFIED)
EVERY_LIST = pytest.mark.parametrize(("version", "read"), [key for key in UNIFIED if key[1] != "account"])
ACCOUNT_ID = "A-1"
LIST = {
    1: {"accounts": "accounts", "balances": "accounts", "transactions": "payments"},
    2: {"accounts": "accounts", "balances": "balances", "transactions": "booked"},
}
"""The name of the bank's list, by version and read."""


def query_of(read: str, **query: Any) -> dict[str, Any]:
    """Return the parameters of a read, with the account unless the read lists accounts."""
    return ({} if read == "accounts" else {"account_id": ACCOUNT_ID}) | query


def call(relay: Relay, version: int, read: str, answer: Any = None, bearer: str | None = None, **query: Any) -> Answer:
    """Make a unified read with a scripted response of the bank, by default the example."""
    return relay.call(UNIFIED[version, read], query_of(read, **query), answer, bearer=bearer)


def read(relay: Relay, version: int, name: str, answer: Any = None, bearer: str | None = None, **query: Any) -> Any:
    """Make a unified read that must succeed. Return the body."""
    found = call(relay, version, name, answer, bearer, **query)
    assert found.status == 200, found
    return found.body


def bank_list(version: int, read: str, entries: Any) -> dict[str, Any]:
    """Return a bank's response with a list of entries; other lists are empty."""
    members = {LIST[version][read]: entries}
    if version == 1:
        more = {"paginator": {"limit": 100, "current_page": 1}} if read == "transactions" else {}
        return {"status": "success", **members, **more}
    return {"transactions": {"pending": [], **members}} if read == "transactions" else members


def spread(version: int, read: str, change: Callable[[Any], Any]) -> Any:
    """Return the bank's example response with changed entries."""
    answer = UNIFIED[version, read].answer
    holder = answer["transactions"] if version == 2 and read == "transactions" else answer
    for name, value in holder.items():
        if isinstance(value, list):
            holder[name] = [change(each) for each in value]
        elif name == "account":
            holder[name] = change(value)
    return answer
