"""Commands for the ledger: verify it, and show the rows of an account."""

from __future__ import annotations

import re
import sys
from itertools import islice
from typing import Annotated, Any

import typer

from chalicelib.cards.ledger.account_record import Account, SpecialAccount, special_account_key
from chalicelib.cards.ledger.entries import BALANCES, Entry, entries_of
from chalicelib.cards.reconciliation.account_proof import latest_first, with_row_count
from chalicelib.cards.reconciliation.ledger_proof import (
    AccountProof,
    LedgerMismatch,
    describe_owner,
    format_amount,
    format_time,
    number_of,
)
from chalicelib.cards.reconciliation.reservations import describe_row
from chalicelib.foundation.dynamodb.store import Item
from chalicelib.foundation.requests.facts import Key
from infra.admin import connection, ledger_verification
from infra.admin.ledger_verification import ProofTotals
from infra.admin.output import CommandRefused, Report, command, command_group, format_members, format_table
from infra.progress import Progress

group = command_group("Verify the ledger of the card API, and read its rows.")

_LONGEST_LIST = 10_000
_LATEST = 20
_COUNTED = ("accounts", "special_accounts", "rows", "transactions")
_COLUMNS = ("row", "at", "cause", "about", "entries", *BALANCES)


@command(group, "verify")
def verify(
    account: Annotated[int | None, typer.Option(metavar="ID", min=1, help="Only this account.")] = None,
    special: Annotated[str | None, typer.Option(metavar="MANAGER.ID", help="Only this special account.")] = None,
) -> Report:
    """Check that every account's balances equal the sums of its rows, and print the totals of all books.

    For each account, the command checks that the rows have no gap, ascend in time, and sum to zero in each currency,
    and that the balances after each row and the current balances equal the sums of the rows. It checks that the
    transactions match the rows, and that each transaction can be found by id and in the lists of the card. It compares
    the holds with the pending payments and authorizations, and the reserve with the open disputes. A movement between
    accounts must be recorded identically in each account. At the first mismatch, the command ends with exit code 1. The
    service may keep running. Progress goes to standard error: a bar on a terminal, otherwise a line every ten seconds.

    \b
    Examples:
      .venv/bin/python -m infra.admin ledger verify
      .venv/bin/python -m infra.admin ledger verify --account 17 --json
    """
    if account is not None and special is not None:
        raise CommandRefused("pass an account or a special account, not both")
    if special is not None and "." not in special:
        raise CommandRefused("a special account is identified by its programme manager and its own id: MANAGER.ID")
    named = special if account is None else str(account)
    key = _parse_account(named) if named is not None else None
    store = connection.connect().store
    try:
        with ledger_verification.retry_reads(store), Progress(sys.stderr) as progress:
            if key is None:
                return _report_ledger(ledger_verification.prove_ledger(store, progress))
            fold = ledger_verification.prove_single_account(store, key)
    except LedgerMismatch as broken:
        found = {"account": broken.owner, "row": broken.row, "problem": broken.problem}
        return Report({"good": False, "broken": found}, f"The ledger is broken.\n{broken}", good=False)
    if fold is None:
        raise _refuse_unknown(key)
    return _report_account(fold)


@command(group, "show")
def show(
    account: Annotated[
        str, typer.Argument(metavar="ACCOUNT", help="The account's id, or MANAGER.ID for a special account.")
    ],
    limit: Annotated[int, typer.Option(min=1, max=_LONGEST_LIST, help="The maximum number of rows.")] = _LATEST,
) -> Report:
    """Show the rows of an account, newest first: time, cause, entries, and the resulting balances.

    The account's own books are settled, held and reserved; all other books are contra books. With --json, amounts are
    in minor units.

    \b
    Examples:
      .venv/bin/python -m infra.admin ledger show 17
      .venv/bin/python -m infra.admin ledger show 1.801 --limit 100
    """
    store = connection.connect().store
    key = _parse_account(account)
    item = store.get(*key)
    if item is None:
        raise _refuse_unknown(key)
    return _report_rows(item, list(islice(latest_first(store, item["owner"]), limit)))


def _parse_account(account: str) -> Key:
    numbers = re.fullmatch(r"([0-9]{1,10})(?:\.([0-9]{1,10}))?", account)
    if numbers is None:
        raise CommandRefused(f"{account!r} is not an account: pass an id, or MANAGER.ID for a special account")
    first, second = numbers.groups()
    return Account.key(int(first)) if second is None else special_account_key(int(first), int(second))


def _refuse_unknown(key: Key) -> CommandRefused:
    owner = key[1]["owner"]
    books = (
        " with a ledger: its ledger is created with its first address" if owner.startswith(SpecialAccount.kind) else ""
    )
    return CommandRefused(f"there is no {describe_owner(owner)}{books}")


def _report_ledger(proven: ProofTotals) -> Report:
    books = sorted(proven.books.items())
    data = {
        "good": True,
        "accounts": proven.accounts[Account.kind],
        "special_accounts": proven.accounts[SpecialAccount.kind],
        "rows": proven.rows,
        "transactions": proven.transactions,
        "not_compared": proven.left_out,
        "books": [{"book": name, "currency": currency, "amount": amount} for (name, currency), amount in books],
    }
    counted = (f"{name.replace('_', ' ')} {data[name]}" for name in _COUNTED)
    parts = [f"The ledger is consistent: {', '.join(counted)}."]
    if proven.left_out:
        parts.append(f"Shared movements not compared, because there were too many: {proven.left_out}.")
    if spelt := [_book_row(*place, amount) for place, amount in books if amount]:
        parts.append(format_table(spelt, ("book", "amount")))
    return Report(data, "\n\n".join(parts))


def _book_row(name: str, currency: int, amount: int) -> dict[str, str]:
    kind, _, balance = name.rpartition(":")
    return {
        "book": f"{balance}, {kind.replace('_', ' ')}s" if kind else name,
        "amount": format_amount(amount, currency),
    }


def _report_account(fold: AccountProof) -> Report:
    balances = {str(name): amount for name, amount in fold.balances.items()}
    data = {"account": fold.owner, "currency": fold.currency, "rows": fold.rows, "transactions": fold.transactions}
    text = format_members({name: format_amount(amount, fold.currency) for name, amount in balances.items()})
    said = (
        f"The ledger of {describe_owner(fold.owner)} is consistent: rows {fold.rows}, transactions {fold.transactions}."
    )
    return Report({"good": True, **data, **balances}, f"{said}\n\n{text}")


def _report_rows(account: Item, rows: list[Item]) -> Report:
    account = with_row_count(account)
    owner, currency = account["owner"], account["currency"]
    data = {
        "account": owner,
        "currency": currency,
        "movements": account["movements"],
        **{str(name): account[name] for name in BALANCES},
        "rows": [_row_members(row) for row in rows],
    }
    balances = ", ".join(f"{name} {format_amount(account[name], currency)}" for name in BALANCES)
    said = f"{describe_owner(owner).capitalize()}: {balances}; rows {account['movements']}"
    if not rows:
        return Report(data, said)
    return Report(data, f"{said}\n\n{format_table([_format_row(owner, currency, row) for row in rows], _COLUMNS)}")


def _row_members(row: Item) -> dict[str, Any]:
    return {
        "row": number_of(row),
        "at": format_time(row["at"]),
        "cause": row["cause"],
        "payment": row.get("epm_transaction_id"),
        "authorization": row.get("authorization_id"),
        "disputed_transaction": row.get("transaction_id"),
        "entries": [
            {"book": entry.book, "currency": entry.currency, "amount": entry.amount} for entry in _sort_entries(row)
        ],
        **{str(name): row[name] for name in BALANCES},
    }


def _format_row(owner: str, currency: int, row: Item) -> dict[str, Any]:
    entries = [
        f"{entry.book.removeprefix(f'{owner}:')} {format_amount(entry.amount, entry.currency)}"
        for entry in _sort_entries(row)
    ]
    balances = {str(name): format_amount(row[name], currency) for name in BALANCES}
    return _row_members(row) | {"about": describe_row(row), "entries": "; ".join(entries)} | balances


def _sort_entries(row: Item) -> list[Entry]:
    return sorted(entries_of(row), key=lambda entry: (not entry.book.startswith(f"{row['owner']}:"), entry.book))
