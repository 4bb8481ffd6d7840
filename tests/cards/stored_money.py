"""Stored money: ledger rows, payments, and invariant checks.

The checks read the tables without the service's code.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from chalicelib.cards.payments.payment_record import ExternalPayment
from chalicelib.foundation.dynamodb.store import Item
from tests.cards.issuer import Issuer
from tests.cards.stored_cards import all_items
from tests.causeway import Causeway

BALANCES = ("settled", "held", "reserved")


def movements(issuer: Issuer, account: int | str) -> list[Item]:
    """Return the rows of an account's movements, oldest first. A special account is identified by its owner key."""
    return _rows(issuer, account, "movement#")


def transactions(issuer: Issuer, account: int | str) -> list[Item]:
    return _rows(issuer, account, "transaction#")


def entries(row: Item) -> dict[tuple[str, int], int]:
    """Return the entries of a movement by book and currency. Names of the account's own books omit the account."""
    return {(book.removeprefix(f"{row['owner']}:"), currency): amount for book, currency, amount in row["entries"]}


def payment(issuer: Issuer, number: int) -> ExternalPayment:
    item = issuer.hub.store.get(*ExternalPayment.key(number))
    assert item is not None, f"there is no payment {number}"
    return ExternalPayment.from_item(item)


def state(issuer: Issuer, number: int) -> str:
    return payment(issuer, number).state


def prove(issuer: Issuer) -> None:
    """Check that every movement balances in each currency and that every account equals the sum of its rows, with no
    gaps.
    """
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


class StoredMoney:
    """The stored accounts, ledger rows and transactions, and the payments and orders at the sandbox provider.

    If ``accounts`` is given, only these accounts are included. The payments of these accounts must not involve other
    accounts.
    """

    def __init__(self, causeway: Causeway, accounts: Collection[int] = ()) -> None:
        rows = [row for row in all_items(causeway, "cards") if row["part"] in ("account", "special_account")]
        self.accounts = {row["owner"]: row for row in rows if not accounts or row["id"] in accounts}
        ledger = sorted(all_items(causeway, "ledger"), key=lambda row: (row["owner"], row["part"]))
        holders = {f"holder#{row['holder_id']}" for row in self.accounts.values() if "holder_id" in row}
        self.rows = self._of_each(ledger, "movement#")
        self.transactions = self._of_each(ledger, "transaction#")
        self.pointers = {row["owner"]: row for row in ledger if row["part"] == "transaction"}
        counted = {row["owner"]: row["windows"] for row in ledger if row["part"] == "limits"}
        self.counters = {owner: counted[owner] for owner in counted.keys() & (self.accounts.keys() | holders)}
        external = all_items(causeway, "external-payments")
        payments = [row for row in external if row["part"] == "external_payment"]
        self.payments = {row["id"]: row for row in payments if not accounts or row["account_id"] in accounts}
        orders = {int(row["owner"].partition("#")[2]): row for row in external if row["part"] == "order"}
        self.orders = {number: row for number, row in orders.items() if not accounts or number in self.payments}

    def check(self, *, at_rest: bool = False) -> None:
        """Check all invariants. If ``at_rest`` is true, also check that no payment waits for the provider."""
        for owner, account in self.accounts.items():
            self._check_rows(owner, account)
            self._check_transactions(owner)
        self._check_movements()
        self._check_holds()
        self._check_returns()
        self._check_counters()
        self._check_orders()
        if at_rest:
            assert [number for number, payment in self.payments.items() if "asks" in payment] == []

    def shape(self) -> list[str]:
        accounts = (f"{[row.get(name, 0) for name in BALANCES]}" for row in self.accounts.values())
        payments = (f"{row['payment']} {row['state']} {row['held']} {'asks' in row}" for row in self.payments.values())
        causes = (row["cause"] for rows in self.rows.values() for row in rows)
        counted = (
            f"{key} {window['count']} {window['amount']}"
            for all_ in self.counters.values()
            for key, window in all_.items()
        )
        orders = (f"{row['kind']} {row['amount']} {row['accepted']}" for row in self.orders.values())
        types = (row["transaction_type"] for rows in self.transactions.values() for row in rows)
        return sorted(map(str, [*accounts, *payments, *causes, *counted, *orders, *types]))

    # -- inside

    def _of_each(self, ledger: Iterable[Item], prefix: str) -> dict[str, list[Item]]:
        found: dict[str, list[Item]] = defaultdict(list)
        for row in ledger:
            if row["part"].startswith(prefix) and row["owner"] in self.accounts:
                found[row["owner"]].append(row)
        return found

    def _check_rows(self, owner: str, account: Item) -> None:
        """Check that balances are the sum of the rows, without a missing row or a negative balance."""
        sums, before = dict.fromkeys(BALANCES, 0), 0
        for number, row in enumerate(self.rows.get(owner, ()), start=1):
            assert row["part"] == f"movement#{number:012}", f"{owner}: row {number} is missing"
            assert row["at"] > before, f"{owner}: row {number} is not later than the one before"
            before = row["at"]
            assert _sums(row) == {}, f"{owner}: row {number} does not sum to zero"
            for book, currency, amount in row["entries"]:
                if book.rpartition(":")[0] == owner:
                    assert currency == account["currency"]
                    sums[book.rpartition(":")[2]] += amount
            assert {name: row[name] for name in BALANCES} == sums, f"{owner}: row {number}"
            assert sums["settled"] - sums["held"] - sums["reserved"] >= 0, f"{owner}: row {number} leaves too little"
            assert min(sums["held"], sums["reserved"]) >= 0
        assert {name: account.get(name, 0) for name in BALANCES} == sums, f"{owner} is not the sum of its rows"
        assert account.get("movements", 0) == len(self.rows.get(owner, ()))

    def _check_transactions(self, owner: str) -> None:
        """Check that an account's transactions match its bookings and are found by number."""
        shown: Counter[str] = Counter()
        for row in self.transactions.get(owner, ()):
            shown[row["written_by"]] += _effect(row)
            assert self.pointers[f"transaction#{row['id']}"]["part_of_account"] == row["part"]
        booked: Counter[str] = Counter()
        for row in self.rows.get(owner, ()):
            booked[row["written_by"]] += sum(each[2] for each in row["entries"] if each[0] == f"{owner}:settled")
        wrong = {name for name in shown | booked if shown[name] != booked[name]}
        assert not wrong, f"{owner} is shown something else than was booked by {wrong}"

    def _check_movements(self) -> None:
        """Check that the two rows of a movement are equal and that all books sum to zero."""
        found: dict[str, Any] = {}
        for row in (row for rows in self.rows.values() for row in rows):
            entries = sorted(map(tuple, row["entries"]))
            assert found.setdefault(row["movement"], entries) == entries
        for entries in found.values():
            for owner in {book.rpartition(":")[0] for book, _, _ in entries} - {""}:
                assert owner in self.rows, f"{owner} lacks a movement"
        pending: Counter[int] = Counter()
        for entries in found.values():
            pending.update({currency: amount for book, currency, amount in entries if book == "pending"})
        held: Counter[int] = Counter()
        for account in self.accounts.values():
            held[account["currency"]] += account.get("held", 0)
        assert +held == +Counter({currency: -amount for currency, amount in pending.items()})

    def _check_holds(self) -> None:
        """Check that all holds belong to pending payments and that each hold is released once."""
        for owner in self.accounts:
            left: Counter[int] = Counter()
            times: Counter[tuple[int, bool]] = Counter()
            for row in self.rows.get(owner, ()):
                amount = sum(each[2] for each in row["entries"] if each[0] == f"{owner}:held")
                if amount:
                    left[row["epm_transaction_id"]] += amount
                    times[row["epm_transaction_id"], amount > 0] += 1
            assert set(times.values()) <= {1}, f"{owner}: a hold was made or released twice"
            assert all(amount >= 0 for amount in left.values())
            assert +left == +Counter({number: self.payments[number]["held"] for number in left})
        for number, payment in self.payments.items():
            assert not payment["held"] or payment["state"] == "P", f"payment {number} is over, and still holds"

    def _check_returns(self) -> None:
        """Check that each payment is returned at most once, and that the return does not exceed the payment."""
        live = [row for row in self.payments.values() if row.get("returns") and row["state"] in "PS"]
        assert max(Counter(row["returns"] for row in live).values(), default=1) == 1
        by_original = {row["returns"]: row for row in live}
        for number, payment in self.payments.items():
            back = by_original.get(number)
            assert payment.get("returned_by") == (back["id"] if back else None)
            if back is not None:
                assert back["instructed_amount"] == payment["instructed_amount"]
                assert abs(back["settlement_amount"]) <= abs(payment["settlement_amount"])
                assert (payment["state"] == "R") == (back["state"] == "S")
            elif payment["state"] == "R":
                assert payment["payment"] == "out", f"payment {number} is returned, and nothing returns it"
                assert "return_transaction_id" in payment

    def _check_counters(self) -> None:
        """Check that usage counters are the sum of the payments that were not rejected."""
        used: Counter[tuple[str, str, int]] = Counter()
        times: Counter[tuple[str, str, int]] = Counter()
        for payment in self.payments.values():
            for owner, shares in (payment.get("counted") or {}).items():
                assert payment["state"] != "J", "what came to nothing counts nothing"
                for share in shares:
                    used[owner, share["key"], share["start"]] += share["amount"]
                    times[owner, share["key"], share["start"]] += share["count"]
        for owner, windows in self.counters.items():
            for key, window in windows.items():
                place = owner, key, window["start"]
                assert (window["count"], window["amount"]) == (times[place], used[place]), f"limit {key} of {owner}"

    def _check_orders(self) -> None:
        """Check that every provider order has a payment and no paid order was rejected."""
        assert self.orders.keys() <= self.payments.keys()
        for number, payment in self.payments.items():
            order = self.orders.get(number)
            if order is None:
                continue
            assert order["amount"] == payment["instructed_amount"]
            if "asks" not in payment and payment["state"] in "SR":
                assert order["accepted"], f"payment {number} was paid, and the provider had refused it"
            if payment["payment"] == "return" and "asks" not in payment:
                assert order["accepted"] == (payment["state"] == "S")


def _effect(transaction: Item) -> int:
    gives = transaction["direction"] == "credit"
    beside = 0 if transaction["conversion_fee_blended"] else transaction["conversion_fee"]
    is_return = transaction["transaction_type"] in (63, 64)
    amount: int = transaction["holder_amount"] if gives else -transaction["holder_amount"]
    return amount + (beside if is_return else -beside)


def _sums(row: Item) -> dict[int, int]:
    sums: Counter[int] = Counter()
    for _, currency, amount in row["entries"]:
        sums[currency] += amount
    return {currency: left for currency, left in sums.items() if left}
