"""A ledger to prove, and the findings of a run of the proof."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from chalicelib.cards.reconciliation.progress_record import PROGRESS, ROUND_SECONDS, Progress
from chalicelib.cards.reconciliation.rolling_proof import prove_accounts
from chalicelib.foundation.dynamodb.store import Item, Store
from tests.cards.issuer import Issuer

FOREVER = float("inf")


@dataclass
class Ledger:
    """Two accounts and a special one that have paid each other, and what a run of the proof has to say of them."""

    issuer: Issuer
    first: int
    second: int
    payment: int

    @property
    def store(self) -> Store:
        return self.issuer.hub.store

    @property
    def progress(self) -> Progress:
        return Progress.of(self.store.get(*PROGRESS), self.issuer.clock.time())

    def go_on(self, until: float = FOREVER) -> Progress:
        return self.issuer.hub.cards.call(prove_accounts, until)

    def next_round(self) -> Progress:
        self.issuer.clock.advance(ROUND_SECONDS)
        return self.go_on()

    def account(self, number: int, **members: Any) -> Item:
        """Change what an account's item says; answers what it said before."""
        key = {"owner": f"account#{number}", "part": "account"}
        before = self.store.get("cards", key)
        assert before is not None
        if members:
            self.store.update("cards", key, set=members)
        return before

    def row(self, owner: str, number: int, **members: Any) -> Item:
        """The same of a row of the ledger."""
        key = {"owner": owner, "part": f"movement#{number:012}"}
        before = self.store.get("ledger", key)
        assert before is not None
        if members:
            self.store.update("ledger", key, set=members)
        return before

    def forget_payments_to(self, number: int) -> None:
        """As if an account had never been paid: it is whole by itself."""
        owner = f"account#{number}"
        for item in self.store.rows("ledger", ("owner", owner)):
            self.store.delete("ledger", {"owner": owner, "part": item["part"]})
        self.account(number, settled=0, movements=0, last_at=0)
