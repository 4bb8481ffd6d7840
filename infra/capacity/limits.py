"""Where it ends: AWS's limits as one table, and the rates of requests at which each kind of work meets them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal

from chalicelib.cards import due
from chalicelib.cards.sequences import BLOCK
from chalicelib.delivery.slots import SLOTS
from chalicelib.delivery.sweeper import BACKLOG
from chalicelib.statistics.ingest import RUN_SECONDS
from infra.capacity.costs import Setting, duration, is_fetched
from infra.capacity.counts import Counted, Counts, Key
from infra.capacity.places import Path, named

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
FINISHED = Decimal(due.MOST) / MINUTE
"""Holds, and payments, that ``finish`` looks after in a second."""
NEVER_CLEARED = Decimal("0.01")
"""The share of authorizations that no shop collects: their holds are released by ``finish``."""


@dataclass(frozen=True, slots=True)
class Quota:
    """A limit of AWS's: of an account in one region unless ``of`` says otherwise; whether it is raised on request."""

    name: str
    value: int
    unit: str
    of: str
    is_raised: bool


GATEWAY = Quota("API Gateway, requests", 10_000, "a second", "account", True)
AT_ONCE = Quota("API Gateway, requests at once", 5_000, "at a time", "account", True)
CONCURRENCY = Quota("Lambda, concurrent executions", 1_000, "at a time", "account", True)
GROWTH = Quota("Lambda, new environments", 1_000, "in 10 seconds", "function", False)
FETCHING = Quota("Lambda, messages worked on for a queue", 1_000, "at a time", "event source", True)
MORE_FETCHING = Quota("Lambda, more of these", 300, "in a minute", "event source", False)
KEY_READ = Quota("DynamoDB, read units of one partition", 3_000, "a second", "partition", False)
KEY_WRITE = Quota("DynamoDB, write units of one partition", 1_000, "a second", "partition", False)
WARM_READ = Quota("DynamoDB, read units of a new table", 12_000, "a second", "table or index", True)
WARM_WRITE = Quota("DynamoDB, write units of a new table", 4_000, "a second", "table or index", True)
TABLE_READ = Quota("DynamoDB, read units of a table", 40_000, "a second", "table or index", True)
TABLE_WRITE = Quota("DynamoDB, write units of a table", 40_000, "a second", "table or index", True)
IN_FLIGHT = Quota("SQS, messages in flight", 120_000, "at a time", "queue", False)
SECRET_READS = Quota("Secrets Manager, values read", 10_000, "a second", "account", False)
QUOTAS = (
    GATEWAY,
    AT_ONCE,
    CONCURRENCY,
    GROWTH,
    FETCHING,
    MORE_FETCHING,
    KEY_READ,
    KEY_WRITE,
    WARM_READ,
    WARM_WRITE,
    TABLE_READ,
    TABLE_WRITE,
    IN_FLIGHT,
    SECRET_READS,
)


@dataclass(frozen=True, slots=True)
class Step:
    """A limit, and how many of a kind of work a second it lets pass; ``help`` says what raises it, or why it is so."""

    name: str
    rate: Decimal
    help: str


def steps(counted: Counted, kind: Counts, setting: Setting) -> list[Step]:
    """What a kind of work meets, the lowest first, when it is spread over many clients, consents and accounts."""
    return sorted(_steps(counted, kind, setting), key=lambda step: step.rate)


def _steps(counted: Counted, kind: Counts, setting: Setting) -> Iterator[Step]:
    seconds = Decimal(duration(counted, kind, setting)) / 1000
    if kind.requests:
        yield Step("API Gateway", Decimal(GATEWAY.value) / kind.requests, QUOTA)
        yield from _secrets(counted, kind, seconds)
    yield Step("Lambda concurrency", CONCURRENCY.value / seconds, QUOTA)
    yield from _tables(kind)
    for what, key in kind.keys.items():
        if named(what).is_shared:
            yield Step(f"partitions: {what}", together(named(what), key), "more shards")
    if kind.numbers:
        [counter] = counted.of("numbers").keys.values()
        blocks = one_key(counter)
        yield Step("partition: the counters of identifiers", blocks * BLOCK / kind.numbers, "larger blocks")
    if kind.name == "authorization":
        yield Step("`finish`, when 1 in 100 is never cleared", FINISHED / NEVER_CLEARED, "more in a run")


def _secrets(counted: Counted, kind: Counts, seconds: Decimal) -> Iterator[Step]:
    """Keys are read again by each environment once a minute."""
    name, _ = EACH_MINUTE[kind.group]
    if counted.of(name).services.get("secretsmanager.GetSecretValue"):
        yield Step("Secrets Manager, each minute and environment", SECRET_READS.value * MINUTE / seconds, NEVER)


def workers(counted: Counted, setting: Setting) -> list[Step]:
    """What works off in the background what others leave, and how much of it in a second."""
    delivery = Decimal(duration(counted, counted.of("event"), setting)) / 1000
    night = Decimal(RUN_SECONDS) * BANKS * 1000 / duration(counted, counted.of("ingest"), setting)
    recorded, delivered = (counted.of(name).keys[WAITING] for name in ("payment_report", "event"))
    both = Key(recorded.read + delivered.read, recorded.write + delivered.write, used=1)
    in_a_run, at_a_time = f"{due.MOST:,} in a run each minute", f"{FETCHING.value:,} messages at a time"
    shards = f"{named(WAITING).partitions} shards of those that wait"
    return [
        Step("events recorded, and delivered", together(named(WAITING), both), shards),
        Step("`deliver`: events to many receivers", FETCHING.value / delivery, at_a_time),
        Step("`sweep`: deliveries that wait for long", Decimal(BACKLOG) / MINUTE, f"{BACKLOG:,} messages in the queue"),
        Step("`finish`: holds that are over", FINISHED, in_a_run),
        Step("`finish`: payments cut off, direct debits", FINISHED, in_a_run),
        Step("`ingest`: banks, in a night", night, f"{RUN_SECONDS} seconds, one bank after the other"),
    ]


def _tables(kind: Counts) -> Iterator[Step]:
    """The busiest table or index: as it is made, and as large as it may become without asking."""
    for of_read, of_write, words, helped in (
        (WARM_READ, WARM_WRITE, "as it is made", GROWING),
        (TABLE_READ, TABLE_WRITE, "its quota", QUOTA),
    ):
        rates = [
            (quota.value / spent, name)
            for name, units in kind.tables.items()
            for quota, spent in ((of_read, units.read), (of_write, units.write))
            if spent
        ]
        if rates:
            rate, name = min(rates)
            yield Step(f"DynamoDB, {name}, {words}", rate, helped)


def one_key(key: Key) -> Decimal:
    """How many a second one partition lets pass: its reads and its writes share it."""
    return 1 / (key.read / KEY_READ.value + key.write / KEY_WRITE.value)


def together(path: Path, key: Key) -> Decimal:
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


def of_one(counted: Counted, kind: Counts, setting: Setting) -> list[Ceiling]:
    """What a kind of work meets that is all about one thing, the lowest first."""
    return sorted(_of_one(counted, kind, setting), key=lambda ceiling: ceiling.rate)


def _of_one(counted: Counted, kind: Counts, setting: Setting) -> Iterator[Ceiling]:
    seconds = Decimal(duration(counted, kind, setting)) / 1000
    for what, key in kind.keys.items():
        if not named(what).is_shared and not (what == SLOT and is_fetched(kind)):
            yield Ceiling(what, _spent(key), together(named(what), key))
    if is_fetched(kind):
        yield Ceiling("a receiver's slots", f"one of {SLOTS} for {seconds * 1000:.0f} ms", SLOTS / seconds)
    for what, key in _each_minute(counted, kind).items():
        spent = f"{_spent(key)}, each minute and environment"
        yield Ceiling(what, spent, together(named(what), key) * MINUTE / seconds)


def _each_minute(counted: Counted, kind: Counts) -> Mapping[str, Key]:
    """What every environment reads again, or writes, once a minute, and not with every request."""
    if not kind.requests:
        return {}
    name, whats = EACH_MINUTE[kind.group]
    return {what: key for what, key in counted.of(name).keys.items() if what in whats}


def _spent(key: Key) -> str:
    units = (("read", key.read), ("written", key.write))
    return " and ".join(f"{count.normalize():f} {word}" for word, count in units if count)
