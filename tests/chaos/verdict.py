"""The verdict: what was promised, held against what receivers, records and TPPs have seen."""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

from chalicelib.bootstrap import Hub
from chalicelib.delivery.delivery_record import CLAIMED_SECONDS, Delivery
from chalicelib.foundation.dynamodb.store import Item
from chalicelib.openbanking.protocol import refusals
from chalicelib.openbanking.records.consents import consent_key
from tests.chaos.life import kind_of
from tests.chaos.receivers import Call, Ledger, payment_id_of
from tests.chaos.run import Accepted, Story
from tests.kit.time import ManualClock

_NOTICES = ("event", "revoke_token")
_STORIES = ("consent.authorised", "consent.revoked", "/revoke_token")


_UNLUCKY = 3
_GROWTH = 1.5


class Played(Protocol):
    """A run that is over."""

    hub: Hub
    clock: ManualClock
    ledger: Ledger
    story: Story

    def records(self) -> list[Delivery]: ...

    def items(self, kind: str) -> list[Item]: ...


class Verdict:
    """Looks at a run that is over; ``broken`` names every promise that was not kept, and by what.

    ``most_waiting`` is how many messages waited, at most, when another call was made.
    """

    def __init__(self, run: Played, log: Path, most_waiting: float = math.inf) -> None:
        self._run = run
        self._most_waiting = most_waiting
        self._story = run.story
        self._log = log
        self.records = run.records()
        self._by_id: dict[str, list[Call]] = defaultdict(list)
        for call in run.ledger.calls:
            self._by_id[call.id].append(call)
        self.orders = [call for call in run.ledger.calls if kind_of(call.path) == "payment"]
        self.endings: Counter[str] = Counter()
        self.broken = [*run.ledger.complaints, *self._story.contradictions, *self._promises()]

    def _promises(self) -> Iterator[str]:
        yield from self._arrived()
        yield from self._unaided()
        yield from self._complete()
        yield from self._repeats()
        yield from self._paid_once()
        yield from self._told_truth()
        yield from self._nothing_left()
        yield from self._not_multiplied()
        yield from self._defects()

    @property
    def ordered(self) -> list[Delivery]:
        """The payments that were accepted, whether or not their TPPs know it."""
        return [record for record in self.records if record.kind == "payment"]

    @property
    def notices(self) -> list[Delivery]:
        return [record for record in self.records if record.kind in _NOTICES]

    def _arrived(self) -> Iterator[str]:
        """Every notice has arrived, and none is called delivered that has not."""
        for record in self.notices:
            taken = any(200 <= call.status < 300 for call in self._calls_of(record))
            if record.state != "delivered":
                yield f"{record.topic} {record.delivery_id} has not arrived: {record.state}, {record.last}"
            elif not taken:
                yield f"{record.topic} {record.delivery_id} is called delivered, and no receiver has it"

    def _unaided(self) -> Iterator[str]:
        """By hand is sent again only what bad luck has kept from its receiver ten times: one in many thousands."""
        if self._story.resent > _UNLUCKY:
            yield f"{self._story.resent} notices failed and had to be sent again by hand"

    def _complete(self) -> Iterator[str]:
        """What happened was told once, each to whom it concerns."""
        told = Counter((record.consent_id, record.topic) for record in self.notices)
        for consent_id in self._story.revoked:
            for topic in _STORIES:
                if told[consent_id, topic] != 1:
                    yield f"{topic} of {consent_id} has {told[consent_id, topic]} deliveries"

    def _repeats(self) -> Iterator[str]:
        """A repeat has the id and the body of the first, and nothing else has that id."""
        by_subject: dict[tuple[str, str], set[str]] = defaultdict(set)
        for call_id, calls in self._by_id.items():
            if len({(call.path, call.body) for call in calls}) > 1:
                yield f"calls with the id {call_id} differ"
            if kind_of(calls[0].path) != "question":
                by_subject[calls[0].path, calls[0].subject].add(call_id)
        yield from (f"{subject} came with the ids {ids}" for subject, ids in by_subject.items() if len(ids) > 1)

    def _paid_once(self) -> Iterator[str]:
        """No order reaches a bank twice, whatever was answered, and however often its TPP repeated it."""
        times = Counter(call.subject for call in self.orders)
        yield from (f"{reference} reached its bank {count} times" for reference, count in times.items() if count > 1)
        one: dict[str, set[str]] = defaultdict(set)
        for each in self._story.accepted:
            one[each.call.subject].add(each.request_id)
        for reference, ids in one.items():
            if reference and len(ids) > 1:
                yield f"{reference} was accepted more than once: {ids}"

    def _told_truth(self) -> Iterator[str]:
        """What a TPP is told of its accepted call is what happened."""
        reached = {call.subject: call for call in self.orders}
        for each in self._story.accepted:
            status, body = each.told
            if status != 200 or body["state"] not in ("done", "failed"):
                yield f"{each.call.kind} {each.call.subject} ended with {status}: {body}"
                continue
            ending = ending_of(body)
            self.endings[f"{each.call.kind}: {ending}"] += 1
            if each.call.kind == "pay":
                yield from self._true(each, ending, body["body"], reached.get(each.call.subject))

    def _true(self, each: Accepted, ending: str, body: Any, at_bank: Call | None) -> Iterator[str]:
        reference = each.call.subject
        took, refused = at_bank is not None and at_bank.done, at_bank is not None and not at_bank.done
        wrong = {
            "done": not took or body.get("payment_id") != payment_id_of(reference),
            "refused": not refused,
            "not sent": at_bank is not None,
            "unknown": False,
        }
        if wrong.get(ending, at_bank is not None):
            yield f"{reference} is said to be {ending}, and its bank says {at_bank and at_bank.said}: {body}"
        if each.call.one_time:
            item = self._run.hub.store.get(*consent_key(each.call.one_time)) or {}
            if (item.get("status") == "authorised") is not (ending == "not sent"):
                yield f"{reference} is {ending}, and its one-time consent is {item.get('status')}"

    def _nothing_left(self) -> Iterator[str]:
        """Nothing is due, and every slot is free as soon as the time of an attempt is over."""
        yield from (f"{record.delivery_id} is still due" for record in self.records if record.state == "due")
        until = self._run.clock.time() + CLAIMED_SECONDS
        for slot in self._run.items("slot#"):
            if slot["held_until"] > until:
                yield f"{slot['part']} of {slot['delivery_id']} is held"

    def _not_multiplied(self) -> Iterator[str]:
        """A long queue does not grow by itself."""
        longest, waiting = self._story.longest, self._most_waiting
        if longest > _GROWTH * waiting:
            yield f"{longest} messages waited, although no call was made while there were more than {waiting}"

    def _defects(self) -> Iterator[str]:
        """The service has logged no defect: receivers that fail and processes that die are data."""
        for line in self._log.read_text().splitlines():
            try:
                said = json.loads(line)
                level = "INFO" if "_aws" in said else said["level"]  # figures have none
            except (ValueError, TypeError, KeyError):
                level = "ERROR"  # a traceback, or what the runner says of a function that failed
            if level in ("ERROR", "CRITICAL"):
                yield f"logged: {line[:300]}"

    def _calls_of(self, record: Delivery) -> list[Call]:
        return self._by_id[record.delivery_id if record.kind == "event" else record.request_id]


def ending_of(body: Any) -> str:
    """How an accepted call ended, by what its TPP was told: done, or why not, in a word if it is a payment's."""
    if body["state"] == "done":
        return "done"
    title = str(body["body"]["title"])
    names = {
        refusals.PAYMENT_NOT_SENT.sentence: "not sent",
        refusals.PAYMENT_REFUSED.sentence: "refused",
        refusals.PAYMENT_OUTCOME_UNKNOWN.sentence: "unknown",
        refusals.PAYMENT_ANSWER_BAD.sentence: "unknown",
    }
    return next((name for text, name in names.items() if title.startswith(text)), title)
