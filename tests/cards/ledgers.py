"""Rows of the ledger and of external payments, and the proof that every balance is the sum of its account's rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from chalicelib.cards.payments.payment_record import ExternalPayment
from chalicelib.foundation.dynamodb.store import Item
from tests.cards.issuer import Issuer

BALANCES = ("settled", "held", "reserved")


def movements(issuer: Issuer, account: int | str) -> list[Item]:
    """The rows of an account's movements, the oldest first; a special account is named by its owner."""
    return _rows(issuer, account, "movement#")


def transactions(issuer: Issuer, account: int | str) -> list[Item]:
    """The transactions that an account shows, the oldest first."""
    return _rows(issuer, account, "transaction#")


def entries(row: Item) -> dict[tuple[str, int], int]:
    """The entries of a movement, by book and currency; an account's own books are named without the account."""
    return {(book.removeprefix(f"{row['owner']}:"), currency): amount for book, currency, amount in row["entries"]}


def payment(issuer: Issuer, number: int) -> ExternalPayment:
    """An external payment as it stands."""
    item = issuer.hub.store.get(*ExternalPayment.key(number))
    assert item is not None, f"there is no payment {number}"
    return ExternalPayment.from_item(item)


def state(issuer: Issuer, number: int) -> str:
    """The state of an external payment."""
    return payment(issuer, number).state


def prove(issuer: Issuer) -> None:
    """Every movement balances in every currency, and every account is the sum of its rows, which have no gap."""
    found: dict[str, list[Item]] = defaultdict(list)
    for row in issuer.hub.store.scan("ledger"):
        if row["part"].startswith("movement#"):
            found[row["owner"]].append(row)
    kinds = ("account", "special_account")
    accounts = [row for row in issuer.hub.store.scan("cards") if row["part"] in kinds]
    assert found.keys() <= {account["owner"] for account in accounts}
    for account in accounts:
        _prove_account(account, sorted(found[account["owner"]], key=lambda row: str(row["part"])))


# -- inside


def _rows(issuer: Issuer, account: int | str, part: str) -> list[Item]:
    owner = account if isinstance(account, str) else f"account#{account}"
    return issuer.hub.store.rows("ledger", ("owner", owner), sort_prefix=("part", part))


def _prove_account(account: Mapping[str, Any], rows: list[Item]) -> None:
    sums = dict.fromkeys(BALANCES, 0)
    for number, row in enumerate(rows, start=1):
        assert row["part"] == f"movement#{number:012}", "the rows have no gap"
        left: dict[int, int] = defaultdict(int)
        for book, currency, amount in row["entries"]:
            assert amount, "no entry is of nothing"
            left[currency] += amount
            owner, _, balance = book.rpartition(":")
            if owner == account["owner"]:
                assert currency == account["currency"]
                sums[balance] += amount
        assert not any(left.values()), f"{row['cause']} does not balance"
        assert {name: row[name] for name in BALANCES} == sums, "a row says what the balances are after it"
    assert {name: account[name] for name in BALANCES} == sums, "a balance is the sum of its rows"
    assert account["movements"] == len(rows)
    times = [row["at"] for row in rows]
    assert times == sorted(set(times)), "no two rows of an account have the same time"
