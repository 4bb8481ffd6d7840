"""The ledger commands cover card transactions: holds, disputes, and the expiry of holds."""

import json
import re
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pytest

from chalicelib.cards.authorization.authorization_record import DUE, Authorization, Dispute
from chalicelib.cards.ledger.transaction_record import timeline
from chalicelib.cards.reconciliation import account_proof
from chalicelib.foundation.dynamodb.store import Item
from infra.admin import connection, ledger_verification
from tests.cards.contest import at_once, processes
from tests.cards.issuer import EUR, GBP, Issuer, NewCard
from tests.causeway import Causeway
from tests.infra.admin.command_line import done, run
from tests.openbanking.faults import Snapshot

TURNS = 6


@dataclass
class Spent:
    """An account that received 1000.00 EUR. ``held`` and ``over`` are authorization ids, and ``bought`` is a
    transaction id.
    """

    issuer: Issuer
    card: NewCard
    held: int
    over: int
    bought: int

    @property
    def rows(self) -> list[Item]:
        return self.issuer.hub.store.rows("ledger", ("owner", f"card#{self.card.card_id}"), sort_prefix=("part", "tr"))


@pytest.fixture(autouse=True)
def connected(causeway: Causeway, monkeypatch: pytest.MonkeyPatch) -> Causeway:
    monkeypatch.setattr(connection, "connect", lambda: causeway.hub)
    return causeway


@pytest.fixture
def spent(causeway: Causeway) -> Spent:
    """Hold 60.00 EUR, clear 40.00 of a 45.00 hold, dispute 15.00 of the 40.00, and decline 5.00 GBP."""
    issuer = Issuer(causeway)
    card = issuer.card_in("A")
    issuer.inbound(issuer.address(card.account_id, method=2), 100_000)
    purchase: dict[str, Any] = {"card_id": card.card_id, "transaction_type": 0}
    held, bought = (issuer.authorization(**purchase, amount=amount) for amount in (6_000, 4_500))
    collected = {"trans_link": bought["trans_link"], "amount": 4_000, "currency_ison": EUR}
    transaction = issuer.data("simulateClearing", **collected)["transaction_id"]
    issuer.data("simulateDispute", transaction_id=transaction, step="opened", amount=1_500)
    issuer.authorization(**purchase, amount=500, currency_ison=GBP, force_response_code="51")
    return Spent(issuer, card, held["authorize_id"], bought["authorize_id"], transaction)


def books(document: Any) -> dict[tuple[str, int], int]:
    return {(each["book"], each["currency"]): each["amount"] for each in document["books"]}


def test_ledger_verify_reports_card_transactions_in_the_network_book(spent: Spent) -> None:
    found = done("ledger", "verify")

    assert found["good"] is True
    assert found["rows"] == 5
    assert found["transactions"] == 3
    stands = books(found)
    assert stands["network", EUR] == 2_500
    assert stands["pending", EUR] == -6_000
    assert (stands["account:reserved", EUR], stands["disputed", EUR]) == (1_500, -1_500)


def test_ledger_show_names_the_authorization_and_dispute_of_each_row(spent: Spent) -> None:
    account = str(spent.card.account_id)

    disputed, cleared, *_ = done("ledger", "show", account)["rows"]
    text = run("ledger", "show", account).stdout

    assert (disputed["authorization"], disputed["disputed_transaction"]) == (spent.over, spent.bought)
    assert (cleared["authorization"], cleared["disputed_transaction"]) == (spent.over, None)
    assert f"dispute opened  authorization {spent.over}, dispute of transaction {spent.bought}  " in text
    assert re.search(rf"clearing +authorization {spent.over} ", text)


# -- what is broken


Tamper = Callable[[Spent], None]


def set_authorization(number: Callable[[Spent], int], **members: Any) -> Tamper:
    def change(spent: Spent) -> None:
        table, key = Authorization.key(number(spent))
        store = spent.issuer.hub.store
        gone = [name for name, value in members.items() if value is None]
        store.update(table, key, set={name: members[name] for name in members.keys() - set(gone)}, remove=gone)

    return change


def set_dispute(**members: Any) -> Tamper:
    def change(spent: Spent) -> None:
        table, key = Dispute.key(spent.bought)
        spent.issuer.hub.store.update(table, key, set=members)

    return change


def the_held(spent: Spent) -> int:
    return spent.held


def the_cleared(spent: Spent) -> int:
    return spent.over


def place_by_card(spent: Spent, account: str | None = None) -> Item:
    return timeline(account, spent.card.card_id).key(spent.rows[0]["at"], spent.rows[0]["id"])[1]


def place_by_both(spent: Spent) -> Item:
    return place_by_card(spent, f"account#{spent.card.account_id}")


def without(place: Callable[[Spent], Item]) -> Tamper:
    return lambda spent: spent.issuer.hub.store.delete("ledger", place(spent))


def other(place: Callable[[Spent], Item]) -> Tamper:
    def change(spent: Spent) -> None:
        spent.issuer.hub.store.update("ledger", place(spent), set={"amount": 1})

    return change


def listed_under_another_card(spent: Spent) -> None:
    spent.issuer.hub.store.put("ledger", {**spent.rows[0], "owner": "card#99"})


def listed_under_another_account(spent: Spent) -> None:
    row = spent.rows[0]
    spent.issuer.hub.store.put("ledger", {**row, "part": f"account#99#{row['part']}"})


def listed_twice(spent: Spent) -> None:
    row = spent.rows[0]
    place = timeline(None, spent.card.card_id).key(row["at"] + 1, row["id"])[1]
    spent.issuer.hub.store.put("ledger", {**row, **place})


HOLDS = "account#1: its rows hold"
RESERVES = "account#1: its rows reserve"
STRAY = "it has no transaction [0-9]+ of card"


BREAKS: list[tuple[Tamper, str]] = [
    (set_authorization(the_held, held=1), f"{HOLDS} 60.00 EUR for authorization [0-9]+, whose record holds 0.01 EUR"),
    (set_authorization(the_held, due_at=None), "account#1: authorization [0-9]+ is held, but will never expire"),
    (set_authorization(the_held, due_shard="9"), "account#1: authorization [0-9]+ is held, but will never expire"),
    (set_authorization(the_held, state="R"), "account#1: authorization [0-9]+ has ended, but still holds money"),
    (set_authorization(the_cleared, held=1), "account#1: authorization [0-9]+ has ended, but still holds money"),
    (set_authorization(the_cleared, due_at=1), "account#1: authorization [0-9]+ has ended, but is due to expire"),
    (set_authorization(the_held, account_id=99), "account#99: there is no such account, but authorization [0-9]+ "),
    (set_dispute(amount=1), f"{RESERVES} 15.00 EUR for dispute of transaction [0-9]+, whose record reserves 0.01 EUR"),
    (
        set_dispute(step="won"),
        f"{RESERVES} 15.00 EUR for dispute of transaction [0-9]+, whose record reserves 0.00 EUR",
    ),
    (set_dispute(account_id=99), "account#99: there is no such account, but dispute of transaction [0-9]+ res"),
    (without(place_by_card), "account#1: its transaction [0-9]+ of .* is not in both lists of card [0-9]+"),
    (without(place_by_both), "account#1: its transaction [0-9]+ of .* is not in both lists of card [0-9]+"),
    (other(place_by_card), "account#1: its transaction [0-9]+ of .* is different in the lists of card [0-9]+"),
    (other(place_by_both), "account#1: its transaction [0-9]+ of .* is different in the lists of card [0-9]+"),
    (listed_under_another_card, f"account#1: {STRAY} 99"),
    (listed_under_another_account, f"account#99: {STRAY} 1"),
    (listed_twice, f"account#1: {STRAY} 1"),
]  # fmt: skip


def test_ledger_verify_names_each_mismatch_between_cards_and_accounts(
    spent: Spent, monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests
) -> None:
    monkeypatch.setattr(account_proof, "LOOKS", 1)
    beginning = Snapshot(spent.issuer.causeway, ("ledger", "card-activity"))
    for tamper, sentence in BREAKS:
        with subtests.test(sentence):
            beginning.restore()
            tamper(spent)
            printed = run("ledger", "verify", "--json")
            found = json.loads(printed.stdout)["broken"]
            assert printed.exit_code == 1
            assert re.match(sentence, f"{found['account']}: {found['problem']}"), found


def test_ledger_verify_finds_a_hold_without_ledger_rows(spent: Spent) -> None:
    set_authorization(the_cleared, state="H", left=1, held=7, due_at=1, **DUE.entry(str(spent.over)))(spent)

    told = run("ledger", "verify")

    assert told.exit_code == 1
    assert f"its rows hold 0.00 EUR for authorization {spent.over}, whose record holds 0.07 EUR" in told.stdout


def test_ledger_find_all_reports_every_mismatch_even_if_a_hold_has_no_expiry(spent: Spent) -> None:
    set_authorization(the_held, due_at=None)(spent)
    set_dispute(account_id=99)(spent)

    held, reserved = map(str, ledger_verification.find_all(spent.issuer.hub.store))

    assert held == f"account 1: authorization {spent.held} is held, but will never expire"
    assert reserved.startswith("account 99: there is no such account, but dispute")


def test_ledger_verify_accepts_a_hold_reversed_before_the_hold_record_is_read(spent: Spent) -> None:
    """The verified ledger rows contain held money. The authorization record, read after the reversal, contains none."""
    store, issuer = spent.issuer.hub.store, spent.issuer
    real = store.batch_get

    def read(keys: Any) -> Any:
        if any(key == Authorization.key(spent.held) for key in keys):
            vars(store).pop("batch_get", None)
            issuer.data("simulateReversal", trans_link=f"{spent.held:012}")
        return real(keys)

    vars(store)["batch_get"] = read
    found = done("ledger", "verify")

    assert "batch_get" not in vars(store)
    assert books(found)["account:held", EUR] == 0


@pytest.mark.dynamodb
@pytest.mark.faults
def test_ledger_verify_succeeds_while_several_processes_use_a_card(spent: Spent) -> None:
    issuers, moving, proved_twice = processes(spent.issuer)[:3], threading.Event(), threading.Event()
    card = {"card_id": spent.card.card_id}

    def use(issuer: Issuer) -> None:
        for turn in range(10 * TURNS):
            if turn >= TURNS and proved_twice.is_set():
                return
            held = {"trans_link": issuer.purchase(**card, amount=300)["trans_link"]}
            issuer.data("simulateIncrement", **held, amount=100)
            issuer.data("simulateReversal", **held, amount=50)
            bought = issuer.clearing(held, 200, final=0)["transaction_id"]
            issuer.data("simulateDispute", transaction_id=bought, step="opened", amount=90)
            issuer.data("simulateRefund", **held, amount=80, currency_ison=EUR)
            issuer.data("simulateDispute", transaction_id=bought, step="lost")
            issuer.data("simulateExpiry", **held)

    def prove() -> int:
        proofs = 0
        while not moving.is_set():
            ledger_verification.prove_ledger(spent.issuer.hub.store)
            proofs += 1
            if proofs == 2:
                proved_twice.set()
        return proofs

    def used() -> int:
        try:
            with ThreadPoolExecutor(len(issuers)) as pool:
                list(pool.map(use, issuers))
        finally:
            moving.set()
        return 0

    proofs, _ = at_once([prove, used])

    assert proofs > 1
    ledger_verification.prove_ledger(spent.issuer.hub.store)
