"""Where it ends: the rates of requests at which each kind of work meets AWS's limits, and the service's own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal

from chalicelib.cards.storage import due_index
from chalicelib.cards.storage.sequences import BLOCK
from chalicelib.delivery.slots import SLOTS
from chalicelib.delivery.sweeper import BACKLOG
from chalicelib.statistics.ingest import RUN_SECONDS
from infra.capacity import quotas
from infra.capacity.costs import Suppositions, duration, is_fetched
from infra.capacity.counts import Counted, KeyUnits, Kind
from infra.capacity.places import AccessPath, named

SLOT, WAITING = "a slot of a receiver", "deliveries by their next attempt"
BANKS = 2
"""So many banks are ingested in what is counted."""
NEVER = "nothing"
QUOTA, GROWING = "a higher quota", "load, in half an hour for twice as much, or warm throughput"
EACH_MINUTE: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "open banking": ("minute", ("a bank", "a bank's hour")),
    "cards": ("card_minute", ("a programme manager's set-up", "a credential")),
}
"""What was counted after a minute, and what of it is read or written that often only."""
RATES = (100, 10_000, 1_000_000)
"""Requests a second that are asked about."""
MINUTE = 60
FINISHED = Decimal(due_index.MOST) / MINUTE
"""Holds, and payments, that ``finish`` looks after in a second."""
NEVER_CLEARED = Decimal("0.01")
"""The share of authorizations that no shop collects: their holds are released by ``finish``."""


@dataclass(frozen=True, slots=True)
class Limit:
    """A limit, and how many of a kind of work a second it lets pass; ``help`` says what raises it, or why it is so."""

    name: str
    rate: Decimal
    help: str


def limits_of(counted: Counted, kind: Kind, supposed: Suppositions) -> list[Limit]:
    """What a kind of work meets, the lowest first, when it is spread over many clients, consents and accounts."""
    return sorted(_limits(counted, kind, supposed), key=lambda limit: limit.rate)


def _limits(counted: Counted, kind: Kind, supposed: Suppositions) -> Iterator[Limit]:
    each = environments(Decimal(1), Decimal(duration(counted, kind, supposed)) / 1000)
    if kind.requests:
        yield Limit("API Gateway", Decimal(quotas.GATEWAY.value) / kind.requests, QUOTA)
        yield from _secrets(counted, kind, each)
    yield Limit("Lambda concurrency", quotas.CONCURRENCY.value / each, QUOTA)
    yield from _tables(kind)
    for what, key in kind.keys.items():
        if named(what).is_shared:
            yield Limit(f"partitions: {what}", all_partitions(named(what), key), "more shards")
    if kind.numbers:
        [counter] = counted.of("numbers").keys.values()
        blocks = one_key(counter)
        yield Limit("partition: the counters of identifiers", blocks * BLOCK / kind.numbers, "larger blocks")
    if kind.name == "authorization":
        yield Limit("`finish`, when 1 in 100 is never cleared", FINISHED / NEVER_CLEARED, "more in a run")


def environments(rate: Decimal, seconds: Decimal) -> Decimal:
    """How many environments so many requests a second take, of so many seconds: one takes 10 a second at most."""
    return max(rate * seconds, rate / quotas.PER_ENVIRONMENT.value)


def _secrets(counted: Counted, kind: Kind, each: Decimal) -> Iterator[Limit]:
    """Keys are read again by each environment once a minute."""
    name, _ = EACH_MINUTE[kind.group]
    if counted.of(name).services.get("secretsmanager.GetSecretValue"):
        yield Limit("Secrets Manager, each minute and environment", quotas.SECRET_READS.value * MINUTE / each, NEVER)


def workers(counted: Counted, supposed: Suppositions) -> list[Limit]:
    """What works off in the background what others leave, and how much of it in a second."""
    delivery = Decimal(duration(counted, counted.of("event"), supposed)) / 1000
    night = Decimal(RUN_SECONDS) * BANKS * 1000 / duration(counted, counted.of("ingest"), supposed)
    recorded, delivered = (counted.of(name).keys[WAITING] for name in ("payment_report", "event"))
    both = KeyUnits(recorded.read + delivered.read, recorded.write + delivered.write, used=1)
    in_a_run, at_a_time = f"{due_index.MOST:,} in a run each minute", f"{quotas.FETCHING.value:,} messages at a time"
    shards, waiting = f"{named(WAITING).partitions} shards of those that wait", f"{BACKLOG:,} messages in the queue"
    return [
        Limit("events recorded, and delivered", all_partitions(named(WAITING), both), shards),
        Limit("`deliver`: events to many receivers", quotas.FETCHING.value / delivery, at_a_time),
        Limit("`sweep`: deliveries that wait for long", Decimal(BACKLOG) / MINUTE, waiting),
        Limit("`finish`: holds that are over", FINISHED, in_a_run),
        Limit("`finish`: payments cut off, direct debits", FINISHED, in_a_run),
        Limit("`ingest`: banks, in a night", night, f"{RUN_SECONDS} seconds, one bank after the other"),
    ]


def _tables(kind: Kind) -> Iterator[Limit]:
    """The busiest table or index: as it is made, and as large as it may become without asking."""
    for of_read, of_write, words, helped in (
        (quotas.WARM_READ, quotas.WARM_WRITE, "as it is made", GROWING),
        (quotas.TABLE_READ, quotas.TABLE_WRITE, "its quota", QUOTA),
    ):
        rates = [
            (quota.value / spent, name)
            for name, units in kind.tables.items()
            for quota, spent in ((of_read, units.read), (of_write, units.write))
            if spent
        ]
        if rates:
            rate, name = min(rates)
            yield Limit(f"DynamoDB, {name}, {words}", rate, helped)


def one_key(key: KeyUnits) -> Decimal:
    """How many a second one partition lets pass: its reads and its writes share it."""
    return 1 / (key.read / quotas.KEY_READ.value + key.write / quotas.KEY_WRITE.value)


def all_partitions(path: AccessPath, key: KeyUnits) -> Decimal:
    """How many a second all partitions let pass that hold what belongs together."""
    return one_key(key) * path.partitions / key.used


@dataclass(frozen=True, slots=True)
class Ceiling:
    """How many of a kind of work a second there may be about one and the same thing.

    Attributes:
        what: one client, one account, one receiver.
        spent: what one of them takes of its partition.
    """

    what: str
    spent: str
    rate: Decimal


def of_one(counted: Counted, kind: Kind, supposed: Suppositions) -> list[Ceiling]:
    """What a kind of work meets that is all about one thing, the lowest first."""
    return sorted(_of_one(counted, kind, supposed), key=lambda ceiling: ceiling.rate)


def _of_one(counted: Counted, kind: Kind, supposed: Suppositions) -> Iterator[Ceiling]:
    seconds = Decimal(duration(counted, kind, supposed)) / 1000
    for what, key in kind.keys.items():
        if not named(what).is_shared and not (what == SLOT and is_fetched(kind)):
            yield Ceiling(what, _spent(key), all_partitions(named(what), key))
    if is_fetched(kind):
        yield Ceiling("a receiver's slots", f"one of {SLOTS} for {seconds * 1000:.0f} ms", SLOTS / seconds)
    for what, key in _each_minute(counted, kind).items():
        spent = f"{_spent(key)}, each minute and environment"
        yield Ceiling(what, spent, all_partitions(named(what), key) * MINUTE / environments(Decimal(1), seconds))


def _each_minute(counted: Counted, kind: Kind) -> Mapping[str, KeyUnits]:
    """What every environment reads again, or writes, once a minute, and not with every request."""
    if not kind.requests:
        return {}
    name, whats = EACH_MINUTE[kind.group]
    return {what: key for what, key in counted.of(name).keys.items() if what in whats}


def _spent(key: KeyUnits) -> str:
    units = (("read", key.read), ("written", key.write))
    return " and ".join(f"{count.normalize():f} {word}" for word, count in units if count)
