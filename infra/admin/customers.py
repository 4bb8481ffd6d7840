"""Commands for customers of the demonstration banks: load a file, list and delete."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from chalicelib.bootstrap import Hub
from chalicelib.demo_bank.customers import Customer
from infra.admin import connection
from infra.admin.output import CommandRefused, Report, command, command_group, format_table
from infra.customers import loading
from infra.customers.loading import BankChange

group = command_group("Manage customers of the demonstration banks: load your own from a file, list and delete them.")

_COLUMNS = ("bank", "id", "name", "password", "accounts")


@command(group, "load")
def load(path: Annotated[Path, typer.Argument(metavar="FILE", help="The customer file, in YAML.")]) -> Report:
    """Load a customer file: persons with accounts, balances and transactions, all in one transaction.

    Existing customers are replaced if the file contains a customer with the same id; other customers stay unchanged.
    Every error in the file is reported with its location. The command is refused in prod, which has no demonstration
    banks.

    \b
    Example:
      .venv/bin/python -m infra.admin customers load docs/guides/customers.yaml
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not a text file"
        raise CommandRefused(f"{path} cannot be read: {reason}") from None
    changes = loading.load(_connect(), text)
    rows = [row for change in changes for row in _rows(change, (new.customer for new in change.added))]
    left = _removed(changes)
    text = f"Loaded:\n{_format_rows(rows)}" + "".join(
        f"\n{each['id']} is no longer at {each['bank']}." for each in left
    )
    return Report({"loaded": rows, "removed": left}, text)


@command(group, "list")
def list_customers() -> Report:
    """List the loaded customers with their accounts. Built-in customers are listed only on the banks' pages.

    \b
    Example:
      .venv/bin/python -m infra.admin customers list --json
    """
    rows = [
        _row(bic, customer)
        for bic, found in loading.read_all(_connect()).items()
        for customer in found.customers.values()
    ]
    nobody = "There are no loaded customers: load some with `customers load`."
    return Report({"customers": rows}, _format_rows(rows) if rows else nobody)


@command(group, "delete")
def delete(ids: Annotated[list[str], typer.Argument(metavar="ID...", help="The customers' ids.")]) -> Report:
    """Delete loaded customers at every bank. If one of the ids is unknown, no customer is deleted.

    The deleted customers' consents stop working, and their unconfirmed payments are cancelled.

    \b
    Example:
      .venv/bin/python -m infra.admin customers delete noor kenji
    """
    gone = _removed(loading.delete(_connect(), list(dict.fromkeys(ids))))
    return Report({"deleted": gone}, "\n".join(f"{each['id']} was deleted at {each['bank']}." for each in gone))


def _connect() -> Hub:
    hub = connection.connect()
    if not hub.settings.is_sandbox:
        raise CommandRefused("prod has no demonstration banks, so it has no customers")
    return hub


def _rows(change: BankChange, customers: Iterable[Customer]) -> list[dict[str, Any]]:
    return [_row(change.bank.profile.bic, customer) for customer in customers]


def _removed(changes: Iterable[BankChange]) -> list[dict[str, str]]:
    return [{"bank": change.bank.profile.bic, "id": each} for change in changes for each in change.removed]


def _row(bic: str, customer: Customer) -> dict[str, Any]:
    accounts = [
        {"id": each.account_id, "number": each.number, "name": each.name, "currency": each.currency, "iban": each.iban}
        for each in customer.accounts
    ]
    return {
        "bank": bic,
        "id": customer.customer_id,
        "name": customer.full_name,
        "password": customer.password,
        "accounts": accounts,
    }


def _format_rows(rows: Iterable[dict[str, Any]]) -> str:
    named = [
        row | {"accounts": ", ".join(f"{each['number']} {each['currency']}" for each in row["accounts"])}
        for row in rows
    ]
    return format_table(named, _COLUMNS)
