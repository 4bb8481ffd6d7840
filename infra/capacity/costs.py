"""What one kind of work costs: its milliseconds of Lambda, and dollars for a million of it, part by part."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from pathlib import Path

from infra.capacity import prices
from infra.capacity.counts import Counted, Kind
from infra.capacity.prices import MILLION

ROOT = Path(__file__).parents[2]
WORKER = "deliver"
"""The function that the queue starts."""
WHOLE_PROCESSOR = 1769
"""So many MB of memory have a whole processor."""
_FETCHING = 2
"""Requests by which Lambda takes a message from the queue and deletes it; one for ten messages where ten wait."""
_PLATFORM_LINES = 400
"""Bytes of START, END and REPORT, which Lambda writes for every invocation."""


@dataclass(frozen=True, slots=True)
class Suppositions:
    """What is not counted but supposed.

    Attributes:
        bank: milliseconds that a bank, or a receiver of events, takes to answer.
        storage: milliseconds of a call of DynamoDB; calls made at the same time count once.
        other: milliseconds of a call of another service of AWS.
        traced: the share of requests that X-Ray records.
    """

    bank: int = 200
    storage: int = 6
    other: int = 10
    traced: Decimal = Decimal("0.05")


@dataclass(frozen=True, slots=True)
class Cost:
    """Dollars for a million by what they go for, and the milliseconds of Lambda that are billed for one."""

    milliseconds: int
    parts: Mapping[str, Decimal]

    @property
    def dollars(self) -> Decimal:
        return sum(self.parts.values(), Decimal(0))

    def __add__(self, other: Cost) -> Cost:
        names = dict.fromkeys([*self.parts, *other.parts])
        parts = {name: self.parts.get(name, Decimal(0)) + other.parts.get(name, Decimal(0)) for name in names}
        return Cost(self.milliseconds + other.milliseconds, parts)


def duration(counted: Counted, kind: Kind, supposed: Suppositions) -> int:
    """Milliseconds that are billed: a function has less than a whole processor, and waits for everybody it asks."""
    work = counted.milliseconds(kind) * max(WHOLE_PROCESSOR / memory(kind.function), 1)
    waits = kind.waits * supposed.storage + sum(kind.services.values()) * supposed.other + kind.banks * supposed.bank
    return math.ceil(work + waits)


def cost(counted: Counted, kind: Kind, supposed: Suppositions) -> Cost:
    """What a million of a kind costs."""
    milliseconds = duration(counted, kind, supposed)
    gigabyte_seconds = Decimal(milliseconds) * memory(kind.function) / (1024 * 1000)
    queue = kind.queue_requests + (_FETCHING if is_fetched(kind) else 0)
    one = {
        "API Gateway": prices.GATEWAY.of(kind.requests),
        "Lambda": prices.INVOCATION.of(1) + prices.DURATION.of(gigabyte_seconds),
        "DynamoDB": prices.READ.of(kind.read) + prices.WRITE.of(kind.write),
        "SQS": prices.QUEUE.of(queue),
        "logs": prices.LOGGED.of(kind.log + _PLATFORM_LINES),
        "traces": prices.TRACE.of(supposed.traced),
        "data out": prices.SENT.of(kind.sent),
        "keys": prices.KEY_USE.of(_of(kind, "kms.")) + prices.SECRET_USE.of(_of(kind, "secretsmanager.")),
    }
    return Cost(milliseconds, {name: dollars * MILLION for name, dollars in one.items()})


def is_fetched(kind: Kind) -> bool:
    """Whether the queue starts it."""
    return kind.function == WORKER


@cache
def memory(function: str) -> int:
    """MB of a function, as it is deployed."""
    config = json.loads((ROOT / ".chalice" / "config.json").read_text(encoding="utf-8"))
    own: int = config["lambda_functions"].get(function, config)["lambda_memory_size"]
    return own


def _of(kind: Kind, service: str) -> int:
    return sum(count for name, count in kind.services.items() if name.startswith(service))
