"""Responses to webhooks that read accounts."""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from causeway import _json
from causeway._records import Record
from causeway.bank._call import load
from causeway.bank._functions import Functions
from causeway.bank.calls import LOCAL, Call, account_id, matches
from causeway.bank.refusals import AccountUnknown, BadRequest, ResourceUnknown

if TYPE_CHECKING:
    from causeway.bank._generated.models_v2 import TransactionsV2, TransactionV2
    from causeway.bank.accounts import Account

Read = Callable[[Functions, Call], Awaitable[Record]]


async def accounts(functions: Functions, call: Call) -> Record:
    """Return the accounts that the PSU approved."""
    return _record(call, "AccountsAnswer", accounts=await approved_accounts(functions, call))


async def account(functions: Functions, call: Call) -> Record:
    """Return an approved account."""
    return _record(call, "AccountAnswer", account=await _account(functions, call, call.request))


async def balances(functions: Functions, call: Call) -> Record:
    """Return an account's balances."""
    of = await _account(functions, call, call.request)
    found = await functions.call("balances", call, of)
    return _record(call, "BalancesAnswer", **{"accounts" if _version(call) == "V1" else "balances": found})


async def payments(functions: Functions, call: Call) -> Record:
    """Return a page of an account's payments (version 1)."""
    request: Any = call.request
    found = await functions.call("payments", call, await _account(functions, call, request))
    if isinstance(found, Record):
        return found
    limit, page = request.record_count, request.current_page
    if limit < 1 or page < 1:
        raise BadRequest("record_count and current_page begin at 1")
    rows = tuple(found[(page - 1) * limit : page * limit])
    paginator = _record(call, "Paginator", limit=limit, current_page=page)
    return _record(call, "PaymentsAnswer", payments=rows, paginator=paginator)


async def payment(functions: Functions, call: Call) -> Record:
    """Return one booked payment (version 1)."""
    request: Any = call.request
    found = await functions.call("payment", call, request.payment_id)
    if found is None:
        raise ResourceUnknown
    return _record(call, "PaymentAnswer", payment=found)


async def transactions(functions: Functions, call: Call) -> Record:
    """Return a page of an account's transactions (version 2)."""
    request: Any = call.request
    if request.page_size < 1:
        raise BadRequest("page_size begins at 1")
    found = await functions.call("transactions", call, await _account(functions, call, request))
    if hasattr(found, "transactions"):
        page: Record = found
        return page
    wanted = {name: _within(rows, request) for name, rows in _lists(found, request.booking_status).items()}
    return _page(call, wanted)


async def funds(functions: Functions, call: Call) -> Record:
    """Return whether an account covers an amount."""
    request: Any = call.request
    of = await _account(functions, call, request.account)
    money = request.instructed_amount
    found = await functions.call("funds", call, of, money.amount, money.currency)
    return found if isinstance(found, Record) else _record(call, "FundsAnswer", funds_available=found)


READS: Mapping[str, Read] = {
    "accounts": accounts,
    "account": account,
    "balances": balances,
    "payments": payments,
    "payment": payment,
    "transactions": transactions,
    "funds": funds,
}
"""The functions that respond to webhooks, by the name of the webhook in ``Version.paths``."""


def _version(call: Call) -> str:
    """Return the suffix of class names for the call's version."""
    return type(call.request).__name__[-2:]


def _record(call: Call, name: str, **members: Any) -> Record:
    """Create a response record. The protocol version of the call determines the class."""
    version = _version(call)
    return load(f"models_{version.lower()}.{name}{version}")(**members)


async def approved_accounts(functions: Functions, call: Call) -> list[Account]:
    """Return the accounts of the consent."""
    found: Sequence[Account] = await functions.call("accounts", call)
    approved = call.consent.account_ids if call.consent else ()
    return [each for each in found if account_id(each) in approved]


async def _account(functions: Functions, call: Call, named: Any) -> Account:
    """Return the approved account that a request identifies. All identifiers in the request must match the account."""
    if not any(getattr(named, name, None) for name in ("account_id", *LOCAL)):
        raise BadRequest("the request names no account")
    for each in await approved_accounts(functions, call):
        if matches(each, named):
            return each
    raise AccountUnknown


def _lists(found: TransactionsV2, booking_status: str) -> dict[str, Sequence[TransactionV2]]:
    """Return the lists of transactions that the request selects."""
    every = {"booked": found.booked or (), "pending": found.pending or ()}
    return {name: rows for name, rows in every.items() if booking_status in ("both", name)}


def _within(rows: Sequence[TransactionV2], request: Any) -> list[TransactionV2]:
    """Return the rows in the requested period. Rows without a booking date are always included."""
    return [row for row in rows if _is_within(row.transaction_amount.booking_date, request)]


def _is_within(booked: Any, request: Any) -> bool:
    if booked is None:
        return True
    day, first, last = str(booked)[:10], request.date_from, request.date_to
    return (first is None or str(first) <= day) and (last is None or day <= str(last))


def _page(call: Call, wanted: Mapping[str, Sequence[TransactionV2]]) -> Record:
    """Return at most ``page_size`` rows, starting at the page key."""
    request: Any = call.request
    rows = [(name, row) for name, rows in wanted.items() for row in rows]
    start = _start(rows, request)
    page = rows[start : start + request.page_size]
    lists: dict[str, Any] = {name: tuple(row for of, row in page if of == name) for name in wanted}
    rest = len(rows) > start + len(page)
    key = _page_key(request, start + len(page), page[-1][1]) if rest else None
    return _record(call, "TransactionsAnswer", transactions=_record(call, "Transactions", **lists), page_key=key)


def _page_key(request: Any, start: int, last: TransactionV2) -> str:
    """Return the key of the next page. The key identifies the last row of the page, because positions may change
    between requests.
    """
    text = _json.dumps([_query(request), start, last.transaction_id])
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _query(request: Any) -> str:
    """Return a text that identifies a query, except for its page."""
    of = [request.account_id, request.booking_status, str(request.date_from), str(request.date_to)]
    return hashlib.sha256(_json.dumps(of).encode()).hexdigest()[:16]


def _start(rows: Sequence[tuple[str, TransactionV2]], request: Any) -> int:
    """Return the index of the first row of the page. Raises ``BadRequest`` if the page key belongs to a different
    request.
    """
    if request.page_key is None:
        return 0
    try:
        padded = request.page_key + "=" * (-len(request.page_key) % 4)
        query, start, last = _json.loads(base64.urlsafe_b64decode(padded))
    except (binascii.Error, ValueError, TypeError):
        query, start, last = "", 0, None
    if query != _query(request) or not isinstance(start, int):
        raise BadRequest("page_key was not issued for this request")
    places = [place for place, (_, row) in enumerate(rows) if last is not None and row.transaction_id == last]
    return places[-1] + 1 if places else start
