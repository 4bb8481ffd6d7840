"""What one account of the ledger alone does not show: rows and transactions that others say are there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import chain

from chalicelib.cards.issuing.card_record import Card
from chalicelib.cards.ledger.transaction_record import TABLE as LEDGER
from chalicelib.cards.reconciliation.account_proof import KINDS
from chalicelib.cards.reconciliation.ledger_proof import Broken, spoken
from chalicelib.cards.reconciliation.ledger_reader import account_key, batches
from chalicelib.cards.storage.record import Key
from chalicelib.foundation.dynamodb.store import Item, Store
from chalicelib.foundation.parallel import pieces, together
from infra.admin.progress import SILENT, Progress

READ_TOGETHER = 100
AT_ONCE = 4
"""So many calls are made at the same time, of so many keys each."""


@dataclass(frozen=True, slots=True)
class _Lead:
    """What an item says is elsewhere: whose it is, what it means if it is not there so, where, and with what."""

    owner: str
    problem: str
    key: Key
    members: Item = field(default_factory=dict)

    def leads_to(self, found: Item | None) -> bool:
        return found is not None and self.members.items() <= found.items()


def find_strays(store: Store, progress: Progress = SILENT) -> None:
    """Look for ids and lists of cards that lead to no transaction, and for rows of accounts that are not there.

    Raises: Broken.
    """
    for batch in batches(_leads(store, progress), READ_TOGETHER * AT_ONCE):
        keys = pieces([lead.key for lead in batch], READ_TOGETHER)
        read = together([partial(store.batch_get, piece) for piece in keys])
        for lead, found in zip(batch, chain.from_iterable(read), strict=True):
            if not lead.leads_to(found):
                raise Broken(lead.owner, lead.problem)


def _leads(store: Store, progress: Progress) -> Iterator[_Lead]:
    before = ""
    for item in progress.counted(store.scan(LEDGER), "ids and lists of cards: records"):
        owner, part = item["owner"], item["part"]
        kind = owner.partition("#")[0]
        if kind == "transaction":
            key = {"owner": item["account"], "part": item["part_of_account"]}
            yield _Lead(item["account"], f"it has no {spoken(owner)}, to which an id leads", (LEDGER, key))
        elif kind == Card.kind and "transaction#" in part:
            yield _lead_of_card(item)
        elif kind in KINDS and part.startswith(("movement#", "transaction#")) and owner != before:
            before = owner  # an account's items come one after the other
            yield _Lead(owner, "it has rows, and there is no such account", account_key(owner))


def _lead_of_card(item: Item) -> _Lead:
    """A row of one of a card's lists is a transaction of the account whose list it is, or which the row names."""
    owner = item["owner"]
    listed, _, place = item["part"].rpartition("transaction#")
    account = listed.removesuffix("#") or item["account"]
    key = {"owner": account, "part": f"transaction#{place}"}
    problem = f"it has no transaction {item['id']}, which is in a list of {spoken(owner)}"
    return _Lead(account, problem, (LEDGER, key), {"card_id": int(owner.partition("#")[2])})
