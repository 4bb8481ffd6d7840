"""Movements of several accounts, of which only some have been read: whether the others have such a row, too."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from chalicelib.cards.reconciliation.ledger_proof import Broken, Shared, number_of, spoken
from chalicelib.cards.reconciliation.ledger_reader import latest_first
from chalicelib.foundation.dynamodb.store import Store


def missing(store: Store, shared: Shared, has_time: Callable[[], bool]) -> Iterator[Broken]:
    """What does not fit in the accounts that were read, as far as there is time to look; the latest rows come first."""
    for owner, halves in shared.missing().items():
        waiting = set(halves)
        for row in latest_first(store, owner):
            if not waiting:
                break
            if not has_time():
                return
            if row["movement"] in waiting:
                waiting.remove(row["movement"])
                try:
                    shared.note(owner, row)
                except Broken:
                    half = halves[row["movement"]]
                    other = f"row {number_of(row)} of {spoken(owner)}"
                    yield Broken(half.owner, f"its entries are not those of {other}", half.row)
        if waiting:
            half = halves[min(waiting)]
            yield Broken(half.owner, f"it moves {spoken(owner)}, too, which has no such row", half.row)
