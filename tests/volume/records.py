"""Delivery records by the million, as DynamoDB takes them: what stands where comes from the records' own writes."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from chalicelib.delivery.delivery_plan import DAY, NOTIFICATION
from chalicelib.delivery.delivery_record import (
    DUE,
    FAILED,
    FAILED_OF_CLIENT,
    OF_BANK,
    OF_CLIENT,
    Delivery,
    update_claim,
    update_end,
    update_retry,
)
from chalicelib.delivery.outbox import Outbox
from chalicelib.foundation.dynamodb.items import pack
from chalicelib.foundation.dynamodb.store import Item, Update

BANKS, CLIENTS = 100, 1000
_FAILURE = {"at": 0, "milliseconds": 20_000, "error": "no answer came in time"}


def records(outbox: Outbox, count: int, due: int, now: int) -> Iterator[Item]:
    """``count`` packed records, ``due`` of them due at ``now`` and spread among the others.

    Of those, eight in ten are delivered, one has failed, and one waits for its next attempt.
    """
    recorded = outbox.record("event", "consent.revoked", receiver="", consent_id="a-consent")
    new = recorded.operations[0].item
    due_now, *others = (pack(item) for item in (new, _waiting(new, now), _failed(new, now), _delivered(new, now)))
    others += [others[-1]] * 7
    for number in range(count):
        yield _renamed(due_now if number % (count // due) == 0 else others[number % 10], number)


def _waiting(new: Item, now: int) -> Item:
    return _after(new, now, lambda claimed: update_retry(claimed, now + DAY, _FAILURE))


def _failed(new: Item, now: int) -> Item:
    return _after(new, now, lambda claimed: update_end(claimed, NOTIFICATION, "failed", _FAILURE, None, now))


def _delivered(new: Item, now: int) -> Item:
    entry = {"at": now, "status": 204}
    return _after(new, now, lambda claimed: update_end(claimed, NOTIFICATION, "delivered", entry, None, now))


def _after(new: Item, now: int, outcome: Callable[[Delivery], Update]) -> Item:
    """A record as it stands after one attempt."""
    claimed, claim = update_claim(Delivery.from_item(new), "a-claim", now, sending=True)
    return _applied(_applied(new, claim), outcome(claimed))


def _applied(item: Item, update: Update) -> Item:
    return {name: value for name, value in {**item, **update.set}.items() if name not in update.remove}


def _renamed(template: Item, number: int) -> Item:
    """The record with names of its own, in the shards that these belong to."""
    delivery_id, bic, client_id = f"volume-{number:015}", f"BANK{number % BANKS:04}", f"client-{number % CLIENTS:04}"
    own: Item = {"delivery_id": delivery_id, "bic": bic, "client_id": client_id, "receiver": f"client#{client_id}"}
    own |= OF_BANK.entry(delivery_id, bic) | OF_CLIENT.entry(delivery_id, client_id)
    for index in (DUE, FAILED):
        own |= index.entry(delivery_id) if index.partition in template else {}
    own |= FAILED_OF_CLIENT.entry(delivery_id, client_id) if FAILED.partition in template else {}
    return {**template, **pack(own)}
