"""Late declines: authorizations that timed out because of concurrent changes to the card or account.

Adding a row to the card's list would conflict with other requests, because the card's counters determine the order of
the list. So a late decline is recorded without this row. The scheduled job that releases expired holds adds the row
within a minute.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from chalicelib.cards.authorization import activity_record
from chalicelib.cards.authorization.activity_record import TABLE
from chalicelib.cards.authorization.authorization_record import DUE, Authorization
from chalicelib.cards.ledger import usage_counters
from chalicelib.cards.ledger.usage_counters import CounterChanges, Counters
from chalicelib.cards.storage.record import or_default
from chalicelib.foundation.clock import Clock, milliseconds
from chalicelib.foundation.dynamodb.conditions import Attr
from chalicelib.foundation.dynamodb.store import Item, Put, Update, absent
from chalicelib.foundation.identifiers import new_id
from chalicelib.foundation.requests.engine import Engine
from chalicelib.foundation.requests.facts import Facts, Key
from chalicelib.foundation.requests.outcome import Outcome

KIND = "late-decline"
RETENTION_SECONDS = 24 * 3600
"""The number of seconds for which a late decline is retained after its row was added to the card's list."""
_ATTEMPTS = 5


def put_late_decline(authorization: Authorization, now: int) -> Put:
    """Return the write operation that schedules a late decline's addition to the card's list. ``now`` is in Unix
    seconds.
    """
    _, key = _key(authorization.id)
    row_at = or_default(authorization.listed_at, authorization.at)
    members = {name: getattr(authorization, name) for name in ("id", "card_id", "account_id", "manager_id")}
    due = {"due_at": now, **DUE.entry(str(authorization.id))}
    return Put(TABLE, {**key, **members, "row_at": row_at, **due}, absent("owner"))


def list_by_card(decline: Item, *, clock: Clock, engine: Engine) -> bool:
    """Add a late decline to the end of its card's list. Return false if concurrent changes prevent every attempt.

    Raises: StoreError.
    """
    number, card_id = decline["id"], decline["card_id"]
    shard = activity_record.shard_with(decline["manager_id"], number)
    keys = [shard.key(decline["row_at"], number), usage_counters.key("card", card_id)]
    decide = partial(_decide, decline, keys, clock=clock)
    facts = engine.read(keys)
    return engine.carry_out(decide, facts, busy_attempts=_ATTEMPTS, if_busy=lambda: False)


def _decide(decline: Item, keys: Sequence[Key], facts: Facts, clock: Clock) -> Outcome[bool]:
    number, card_id = decline["id"], decline["card_id"]
    row, counted = (facts.item(key) for key in keys)
    assert row is not None, "both were written together"
    of_card, changes = Counters.from_item("card", card_id, counted), CounterChanges()
    at = max(milliseconds(clock), of_card.last_at + 1)
    changes.note_listing(of_card, at)
    table, place = activity_record.of_card(card_id).key(at, number)
    listed = {"at": at, "listed_at": decline["row_at"]}
    over = Update(
        *_key(number),
        set={"expires_at": at // 1000 + RETENTION_SECONDS},
        remove=("due_at", DUE.partition),
        condition=Attr("due_at").exists(),
    )
    if not facts.permits(over):  # it was listed meanwhile
        return Outcome(True)
    return Outcome(
        True,
        [
            over,
            Update(*Authorization.key(number), set=listed, condition=Attr("at").exists()),
            Put(table, {**row, **place, "at": at}, absent("owner")),
            *changes.operations(new_id()),
        ],
    )


def _key(number: int) -> Key:
    return TABLE, {"owner": f"{KIND}#{number}", "part": KIND}
