"""Delivery records by the million, as DynamoDB takes them: what stands where comes from the records' own writes."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from chalicelib.delivery.deliveries import (
    DUE,
    FAILED,
    OF_BANK,
    OF_CLIENT,
    Delivery,
    claiming,
    creation,
    ending,
    retrying,
)
from chalicelib.delivery.schedule import DAY, PLANS
from chalicelib.foundation.store import Item, Update
from chalicelib.foundation.store_items import pack

BANKS, CLIENTS = 100, 1000
_FAILURE = {"at": 0, "milliseconds": 20_000, "error": "no answer came in time"}


def records(count: int, due: int, now: int) -> Iterator[Item]:
    """``count`` packed records, ``due`` of them due at ``now`` and spread among the others.

    Of those, eight in ten are delivered, one has failed, and one waits for its next attempt.
    """
    due_now, *others = (pack(item) for item in (_due(now), _waiting(now), _failed(now), _delivered(now)))
    others += [others[-1]] * 7
    for number in range(count):
        yield _renamed(due_now if number % (count // due) == 0 else others[number % 10], number)


def _new(now: int) -> Delivery:
    return Delivery(
        delivery_id="",
        kind="event",
        topic="consent.revoked",
        receiver="client#",
        bic="",
        client_id="",
        consent_id="a-consent",
        request_id="0" * 36,
        cause_id="0" * 36,
        state="due",
        attempts=0,
        created_at=now,
        due_at=now,
        give_up_at=now + PLANS["event"].lasts,
        expires_at=now + 2 * PLANS["event"].lasts,
        claimed_by=None,
        body_parts=1,
        answer=None,
        history=(),
        delivered_at=None,
        failed_at=None,
    )


def _due(now: int) -> Item:
    return creation(_new(now - 60)).item


def _waiting(now: int) -> Item:
    return _after(now, lambda claimed: retrying(claimed, now + DAY, _FAILURE))


def _failed(now: int) -> Item:
    return _after(now, lambda claimed: ending(claimed, "failed", _FAILURE, None, now))


def _delivered(now: int) -> Item:
    return _after(now, lambda claimed: ending(claimed, "delivered", {"at": now, "status": 204}, None, now))


def _after(now: int, outcome: Callable[[Delivery], Update]) -> Item:
    """A record as it stands after one attempt."""
    delivery = _new(now - DAY)
    claimed, claim = claiming(delivery, "a-claim", now)
    return _applied(_applied(creation(delivery).item, claim), outcome(claimed))


def _applied(item: Item, update: Update) -> Item:
    return {name: value for name, value in {**item, **update.set}.items() if name not in update.remove}


def _renamed(template: Item, number: int) -> Item:
    """The record with names of its own, in the shards that these belong to."""
    delivery_id, bic, client_id = f"volume-{number:015}", f"BANK{number % BANKS:04}", f"client-{number % CLIENTS:04}"
    own: Item = {"delivery_id": delivery_id, "bic": bic, "client_id": client_id, "receiver": f"client#{client_id}"}
    own |= OF_BANK.entry(delivery_id, bic) | OF_CLIENT.entry(delivery_id, client_id)
    for index in (DUE, FAILED):
        own |= index.entry(delivery_id) if index.partition in template else {}
    return {**template, **pack(own)}
