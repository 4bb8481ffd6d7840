"""What one account of the ledger alone does not show: rows and transactions that others say are there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from chalicelib.cards.accounts import Account
from chalicelib.cards.cards import Card
from chalicelib.cards.external.special_accounts import SpecialAccount
from chalicelib.cards.money.proof import Broken, Shared, spoken
from chalicelib.cards.money.transactions import TABLE as LEDGER
from chalicelib.cards.record import TABLE as CARDS
from chalicelib.cards.record import Key
from chalicelib.foundation.store import Item, Store
from infra.admin.ledger_reading import READ_TOGETHER, batches, latest_first

KINDS = (Account.kind, SpecialAccount.kind)


@dataclass(frozen=True, slots=True)
class _Lead:
    """What an item says is elsewhere: whose it is, what it means if it is not there so, where, and with what."""

    owner: str
    problem: str
    key: Key
    members: Item = field(default_factory=dict)

    def leads_to(self, found: Item | None) -> bool:
        return found is not None and self.members.items() <= found.items()


def find_missing(store: Store, shared: Shared) -> None:
    """Look for the other rows of movements of several accounts, the latest first. Raises: Broken."""
    for owner, halves in shared.missing().items():
        waiting = set(halves)
        for row in latest_first(store, owner):
            if row["movement"] in waiting:
                shared.note(owner, row)
                waiting.remove(row["movement"])
            if not waiting:
                break
        for movement in waiting:
            half = halves[movement]
            raise Broken(half.owner, f"it moves {spoken(owner)}, too, which has no such row", half.row)


def find_strays(store: Store) -> None:
    """Look for ids and lists of cards that lead to no transaction, and for rows of accounts that are not there.

    Raises: Broken.
    """
    for batch in batches(_leads(store), READ_TOGETHER):
        for lead, found in zip(batch, store.batch_get([lead.key for lead in batch]), strict=True):
            if not lead.leads_to(found):
                raise Broken(lead.owner, lead.problem)


def _leads(store: Store) -> Iterator[_Lead]:
    before = ""
    for item in store.scan(LEDGER):
        owner, part = item["owner"], item["part"]
        kind = owner.partition("#")[0]
        if kind == "transaction":
            key = {"owner": item["account"], "part": item["part_of_account"]}
            yield _Lead(item["account"], f"it has no {spoken(owner)}, to which an id leads", (LEDGER, key))
        elif kind == Card.kind and "transaction#" in part:
            yield _lead_of_card(item)
        elif kind in KINDS and part.startswith(("movement#", "transaction#")) and owner != before:
            before = owner  # an account's items come one after the other
            yield _Lead(owner, "it has rows, and there is no such account", (CARDS, {"owner": owner, "part": kind}))


def _lead_of_card(item: Item) -> _Lead:
    """A row of one of a card's lists is a transaction of the account whose list it is, or which the row names."""
    owner = item["owner"]
    listed, _, place = item["part"].rpartition("transaction#")
    account = listed.removesuffix("#") or item["account"]
    key = {"owner": account, "part": f"transaction#{place}"}
    problem = f"it has no transaction {item['id']}, which is in a list of {spoken(owner)}"
    return _Lead(account, problem, (LEDGER, key), {"card_id": int(owner.partition("#")[2])})
