"""What the banks answer about the transactions of an account: version 1 in numbered pages, version 2 by page keys."""

from __future__ import annotations

import base64
import binascii
import hmac
from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Any

from chalicelib.demo_bank import execution, orders, refusals
from chalicelib.demo_bank.answers import named_v1, named_v2
from chalicelib.demo_bank.calls import Call
from chalicelib.demo_bank.customers import Account
from chalicelib.demo_bank.execution import book
from chalicelib.demo_bank.instructions import BOTH
from chalicelib.demo_bank.minor_units import decimal_amount
from chalicelib.demo_bank.transactions import Means, Statement, Transaction
from chalicelib.openbanking.protocol import v1_messages as v1
from chalicelib.openbanking.protocol import v2_messages as v2

_TYPES: Mapping[Means, str] = {
    "transfer": "Bank transfer",
    "card": "Card transfer",
    "internal": "Internal transfer",
    "opening": "Other",
}
_CONFIRMED, _PENDING = 4, 1
_REFERENCE, _DESCRIPTION, _REMITTANCE = 30, 255, 140


def payments_v1(call: Call) -> dict[str, Any]:
    """A page of an account's payments, pending ones first, then the newest."""
    request: v1.PaymentsRequest = call.request
    account = named_v1(call, request)
    found = _newest_first(book(call.bank, account))
    start = (request.current_page - 1) * request.record_count
    page = found[start : start + request.record_count]
    return {
        "payments": [_record(call, account, entry, is_pending) for entry, is_pending in page],
        "paginator": [{"limit": request.record_count, "current_page": request.current_page}],
    }


def payment_v1(call: Call) -> dict[str, Any]:
    """One payment of an approved account; also one that was never carried out. Raises: Refusal."""
    wanted = call.request.payment_id
    for account in call.accounts:
        for entry, is_pending in _newest_first(book(call.bank, account)):
            if entry.transaction_id == wanted:
                return {"payment": _record(call, account, entry, is_pending)}
    order = orders.find(call.bank, wanted)
    debtor = order.account(call.bank) if order else None
    if order is None or debtor is None or debtor not in call.accounts:
        raise refusals.PAYMENT_UNKNOWN()
    order = execution.refresh(call.bank, order)
    created_on = datetime.fromtimestamp(order.created_at, UTC).date()
    asked = Transaction(
        transaction_id=order.payment_id,
        booked_on=created_on,
        amount=-order.amount,
        counterparty=order.receiver,
        counterparty_account=order.receiver_account,
        text=order.text,
        means="transfer",
        status=order.status,
        created_on=created_on,
    )
    return {"payment": _record(call, debtor, asked, is_pending=True)}


def transactions_v2(call: Call) -> dict[str, Any]:
    """A page of an account's transactions, pending ones first, then the newest. Raises: Refusal."""
    request: v2.TransactionsRequest = call.request
    account, today = named_v2(call, request.account_id), call.bank.clock.now().date()
    found = [
        (entry, is_pending)
        for entry, is_pending in _newest_first(book(call.bank, account))
        if request.booking_status in ("both", "pending" if is_pending else "booked")
        and _is_between(request, entry, today)
    ]
    start = _start(call, request, found)
    page = found[start : start + request.page_size]
    rows: dict[str, list[dict[str, Any]]] = {"booked": [], "pending": []}
    for entry, is_pending in page:
        rows["pending" if is_pending else "booked"].append(_transaction(call, account, entry, is_pending))
    more = start + request.page_size < len(found)
    return {"transactions": rows} | ({"page_key": _page_key(call, request, page[-1][0])} if more else {})


def _newest_first(statement: Statement) -> list[tuple[Transaction, bool]]:
    """Every entry, and whether it is pending."""
    pending = [(entry, True) for entry in reversed(statement.pending)]
    return pending + [(entry, False) for entry in reversed(statement.booked)]


def _is_between(request: v2.TransactionsRequest, entry: Transaction, today: date) -> bool:
    """Whether an entry is of the days asked for; what is pending counts as today's."""
    day = min(entry.booked_on, today).isoformat()
    return (request.date_from or day) <= day <= (request.date_to or day)


# -- version 2's pages: the key names the last transaction of the page before, and fits one question only


def _page_key(call: Call, request: v2.TransactionsRequest, last: Transaction) -> str:
    name = base64.urlsafe_b64encode(last.transaction_id.encode()).decode()
    return f"{name}.{_proof(call, request, last.transaction_id)}"


def _start(call: Call, request: v2.TransactionsRequest, found: list[tuple[Transaction, bool]]) -> int:
    if request.page_key is None:
        return 0
    name, _, proof = request.page_key.partition(".")
    try:
        last = base64.b64decode(name.encode("ascii"), b"-_", validate=True).decode()
    except (ValueError, binascii.Error):
        last = ""
    if not hmac.compare_digest(proof.encode(), _proof(call, request, last).encode()):
        raise refusals.PAGE_KEY_FOREIGN()
    for position, (entry, _) in enumerate(found, start=1):
        if entry.transaction_id == last:
            return position
    raise refusals.PAGE_KEY_STALE()


def _proof(call: Call, request: v2.TransactionsRequest, last: str) -> str:
    question = (request.account_id, request.booking_status, request.date_from or "", request.date_to or "")
    return call.bank.derive("page key", *question, last).hex()[:32]


# -- records


def _record(call: Call, account: Account, entry: Transaction, is_pending: bool) -> dict[str, Any]:
    """A version 1 payment record; ``amount`` is negative when money leaves the account.

    A confirmed payment is pending here until it is settled: the balance does not have it before.
    """
    created_on = entry.created_on or min(entry.booked_on, call.bank.clock.now().date())
    status = _CONFIRMED if entry.status is None else entry.status
    return {
        "id": entry.transaction_id,
        "reference": (entry.text.partition(BOTH)[0] or "Payment")[:_REFERENCE],
        "date_created": created_on.isoformat(),
        "amount": decimal_amount(entry.amount),
        "status": _PENDING if is_pending and status == _CONFIRMED else status,
        "type": _TYPES[entry.means],
        "description": f"{entry.counterparty}: {entry.text}"[:_DESCRIPTION],
        "additional_data": [_parties_v1(account, entry)],
    }


def _parties_v1(account: Account, entry: Transaction) -> dict[str, Any]:
    own = {
        "iban": account.iban,
        "account_name": account.name,
        "account_number": account.number,
        "sort_code": account.sort_code,
        "internal_account_id": account.account_id,
        "currency": account.currency,
    }
    other = {"account_name": entry.counterparty[:50], **_named(entry), "currency": account.currency}
    sender, receiver = (other, own) if entry.amount > 0 else (own, other)
    return {"sender_data": sender, "receiver_data": receiver}


def _named(entry: Transaction) -> dict[str, str]:
    """What is known of the other side's account; both versions call it the same."""
    party = entry.counterparty_account
    members = {
        "iban": party.iban,
        "bban": party.bban,
        "account_number": party.number,
        "sort_code": party.sort_code,
    }
    return {name: value for name, value in members.items() if value}


def _transaction(call: Call, account: Account, entry: Transaction, is_pending: bool) -> dict[str, Any]:
    """A version 2 transaction; the amount is negative when money leaves the account."""
    owner = call.consent.customer(call.bank).full_name if call.consent else ""
    own = {"iban": account.iban} if account.iban else {"bban": account.bban}
    names = ("debtor", "creditor") if entry.amount > 0 else ("creditor", "debtor")
    members = {
        "transaction_id": entry.transaction_id,
        f"{names[0]}_name": entry.counterparty,
        f"{names[0]}_account": _named(entry),
        f"{names[1]}_name": owner,
        f"{names[1]}_account": own,
        "remittance_information_unstructured": entry.text[:_REMITTANCE],
        "transaction_amount": {
            "amount": decimal_amount(entry.amount),
            "currency": account.currency,
            "value_date": entry.booked_on.isoformat(),
            **({} if is_pending else {"booking_date": entry.booked_on.isoformat()}),
        },
    }
    return {name: value for name, value in members.items() if value}
