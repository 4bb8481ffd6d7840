"""Fixtures that create ledgers for the ledger check and report the mismatches found by the check."""

from dataclasses import dataclass
from typing import Any

import pytest

from chalicelib.cards.reconciliation.progress_record import PROGRESS, ROUND_SECONDS, Progress
from chalicelib.cards.reconciliation.rolling_proof import prove_accounts
from chalicelib.foundation.dynamodb.store import Item, Store
from tests.cards.issuer import EUR, SPECIAL_EUR, Issuer
from tests.causeway import Causeway

FOREVER = float("inf")


@dataclass
class Ledger:
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
        key = {"owner": f"account#{number}", "part": "account"}
        before = self.store.get("cards", key)
        assert before is not None
        if members:
            self.store.update("cards", key, set=members)
        return before

    def row(self, owner: str, number: int, **members: Any) -> Item:
        key = {"owner": owner, "part": f"movement#{number:012}"}
        before = self.store.get("ledger", key)
        assert before is not None
        if members:
            self.store.update("ledger", key, set=members)
        return before

    def forget_payments_to(self, number: int) -> None:
        """Delete an account's ledger rows and set its balance to zero. The check of this account alone then finds no
        mismatch.
        """
        owner = f"account#{number}"
        for item in self.store.rows("ledger", ("owner", owner)):
            self.store.delete("ledger", {"owner": owner, "part": item["part"]})
        self.account(number, settled=0, movements=0, last_at=0)


@pytest.fixture
def ledger(causeway: Causeway) -> Ledger:
    """Return a ledger in which account 1 receives 1000.00 EUR and pays 40.00 to account 2 and 5.00 to the special
    account.

    A payment of 30.00 is pending.
    """
    issuer = Issuer(causeway)
    first, second = issuer.account(), issuer.account()
    opening = {"epm_method_id": 2, "currency_ison": EUR}
    (home,) = issuer.data("assignExternalPaymentAddress", account_id=second, **opening)
    (special,) = issuer.data("assignExternalPaymentAddressForSpecialAccount", special_account_id=SPECIAL_EUR, **opening)
    (address,) = issuer.data("assignExternalPaymentAddress", account_id=first, **opening)
    issuer.inbound(address, 100_000)
    sent = {"epm_address_id": address["id"], "currency_ison": EUR, "destination_account_name": "Al"}
    issuer.data("transferToExternalPayment", **sent, amount=4_000, destination_iban=home["iban"])
    issuer.data("transferToExternalPayment", **sent, amount=500, destination_iban=special["iban"])
    pending = issuer.data("transferToExternalPayment", **sent, amount=3_000, destination_iban="DE89370400440532013000")
    return Ledger(issuer, first, second, int(pending["id"]))
