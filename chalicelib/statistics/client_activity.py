"""The activity of clients: their latest calls, and their calls and errors by hour.

Calls are counted in memory and written with the measurements, at most once a minute by each process, never for a single
call. Each process has its own rows, and replaces each row until its hour or minute ends. Row names are random, so a row
that was removed from memory is not overwritten: later calls of the same period are stored in an additional row. A
stored call has no token, no parameter, no amount and no id except its request's id. Its route is the template of its
path.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, field
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from typing import Any, Literal, get_args

from chalicelib.foundation import jsontext, log
from chalicelib.foundation.clock import Clock
from chalicelib.foundation.dynamodb.store import Item, Page, Put, Store
from chalicelib.foundation.identifiers import new_id
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.foundation.parallel import pieces, together
from chalicelib.statistics.current_call import CurrentCall
from chalicelib.statistics.days import DAY_SECONDS, HOUR_SECONDS

TABLE = "statistics"
ErrorKind = Literal["caller", "limit", "bank", "hub"]
"""The causes of failed calls: the TPP or its user, a rate limit, the bank, or this service."""
ERROR_KINDS: tuple[ErrorKind, ...] = get_args(ErrorKind)
HOURS = 24
"""The number of hours of client activity that are displayed, including the current hour."""
HOUR_RETENTION = 30 * DAY_SECONDS
CALL_RETENTION = DAY_SECONDS
"""The number of seconds after which rows of calls expire."""
PER_MINUTE = 20
"""The maximum number of calls that a process stores for a client and minute. These are the latest calls."""
ROWS_READ = 50
"""The maximum number of call rows that are read for a client, latest first. Each row has at least one call."""
HOUR_ROWS_READ = 2000
"""The maximum number of hour rows that are read, latest first, divided evenly among the clients of a page."""
MAX_ROWS = 2000
"""The maximum number of rows in memory. The oldest rows are dropped, with any counts that are not written yet."""
_MINUTE = 60
_ROUTES = ("/tpp/", "/oauth/")
"""The path prefixes of clients' calls. Calls that the web interface makes for its users are not counted."""


@dataclass(frozen=True, slots=True)
class ClientCall:
    """A call of a client: its Unix second, its response, and its durations in this service and at the bank in whole
    milliseconds.

    ``code`` is the code in the error table of version 2. ``error`` is the cause of a failure. Both can be ``None``.
    """

    at: int
    method: str
    route: str
    status: int
    code: str | None
    error: ErrorKind | None
    hub_ms: int
    bank_ms: int
    bic: str | None
    request_id: str

    @classmethod
    def of_request(cls, call: CurrentCall, seconds: float) -> ClientCall:
        """Return the call that took ``seconds`` in total."""
        banks = [*(exchange.bic for exchange in call.exchanges[-1:]), *(call.concern or ())[:1]]
        return cls(
            at=call.at,
            method=call.method,
            route=call.route,
            status=call.status or 500,
            code=call.code,
            error=_error_kind(call),
            hub_ms=round(max(seconds - call.bank_seconds, 0) * 1000),
            bank_ms=round(call.bank_seconds * 1000),
            bic=next(iter(banks), None),
            request_id=call.request_id,
        )


def _error_kind(call: CurrentCall) -> ErrorKind | None:
    status = call.status or 500
    if status == 429:
        return "limit"
    if status >= 400 and call.exchanges and call.exchanges[-1].outcome != "answered":
        return "bank"
    return call.responsible or (None if call.status else "hub")


@dataclass(slots=True)
class HourOfCalls:
    """The calls of a client in an hour, which begins at the Unix second ``start``: all calls, and calls by error."""

    client_id: str
    start: int
    row_id: str = field(default_factory=new_id)
    calls: int = 0
    errors: Counter[ErrorKind] = field(default_factory=Counter)

    def add(self, call: ClientCall) -> None:
        self.calls += 1
        if call.error is not None:
            self.errors[call.error] += 1

    @property
    def key(self) -> tuple[str, str]:
        return f"activity#{self.client_id}", f"{_hour(self.start)}#{self.row_id}"

    def to_item(self) -> Item:
        subject, part = self.key
        counts = {"calls": self.calls, "errors": dict(self.errors)}
        expires_at = self.start + HOUR_RETENTION
        return {"subject": subject, "part": part, "counts": jsontext.dumps(counts), "expires_at": expires_at}

    def include(self, item: Item) -> None:
        """Add the counts in an item of the same hour."""
        counts = jsontext.loads(item["counts"])
        self.calls += counts["calls"]
        self.errors.update(counts["errors"])


@dataclass(slots=True)
class MinuteOfCalls:
    """The latest calls of a client in a minute, which begins at the Unix second ``start``, oldest first."""

    client_id: str
    start: int
    row_id: str = field(default_factory=new_id)
    calls: list[ClientCall] = field(default_factory=list)

    def add(self, call: ClientCall) -> None:
        self.calls = [*self.calls, call][-PER_MINUTE:]

    @property
    def key(self) -> tuple[str, str]:
        minute = f"{datetime.fromtimestamp(self.start, UTC):%Y-%m-%dT%H:%M}"
        return f"recent#{self.client_id}", f"{minute}#{self.row_id}"

    def to_item(self) -> Item:
        subject, part = self.key
        calls = jsontext.dumps([asdict(call) for call in self.calls])
        return {"subject": subject, "part": part, "calls": calls, "expires_at": self.start + CALL_RETENTION}


def calls_of(item: Item) -> list[ClientCall]:
    """Return the calls in an item of ``MinuteOfCalls``. Members of later versions are omitted."""
    known = ClientCall.__dataclass_fields__
    found: list[Mapping[str, Any]] = jsontext.loads(item["calls"])
    return [ClientCall(**{name: value for name, value in each.items() if name in known}) for each in found]


Row = HourOfCalls | MinuteOfCalls
_Place = tuple[type[Row], str, int]
"""The kind of a row, its client, and its start."""
_SECONDS: Mapping[type[Row], int] = {HourOfCalls: HOUR_SECONDS, MinuteOfCalls: _MINUTE}


class ClientActivity:
    """Counts the calls of clients in this process. Thread-safe."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._rows: dict[_Place, Row] = {}
        self._changed: dict[_Place, None] = {}

    def count(self, call: CurrentCall, seconds: float) -> None:
        """Count a request that took ``seconds``, if the request was made by a client."""
        if call.client_id is None or not call.route.startswith(_ROUTES):
            return
        made = ClientCall.of_request(call, seconds)
        with self._lock:
            self._add(HourOfCalls, call.client_id, made)
            self._add(MinuteOfCalls, call.client_id, made)
            if len(self._rows) > MAX_ROWS:
                self._drop_oldest()

    @property
    def has_changes(self) -> bool:
        """Whether there are counts that are not written yet."""
        return bool(self._changed)

    def begin_write(self) -> Mapping[_Place, Put]:
        """Return the write operations of the rows that have changed. Either ``finish_write`` or ``abandon_write`` must
        follow.
        """
        with self._lock:
            changed, self._changed = self._changed, {}
            return {place: Put(TABLE, self._rows[place].to_item()) for place in changed}

    def finish_write(self) -> None:
        """Discard the rows that are written and cannot receive further calls."""
        now = self._clock.time()
        with self._lock:
            written = (place for place in self._rows if place not in self._changed)
            ended = [(kind, client, start) for kind, client, start in written if start + _SECONDS[kind] <= now]
            for place in ended:
                del self._rows[place]

    def abandon_write(self, writes: Mapping[_Place, Put]) -> None:
        """Include the rows of this failed write in the next write."""
        with self._lock:
            self._changed = {place: None for place in writes if place in self._rows} | self._changed
        if writes:
            log.warning("activity not written", rows=len(writes))

    def items(self, client_id: str) -> Sequence[Item]:
        """Return the items of a client's rows in this process. Some may not be written yet."""
        with self._lock:
            return [row.to_item() for place, row in self._rows.items() if place[1] == client_id]

    def _add(self, kind: type[Row], client_id: str, made: ClientCall) -> None:
        start = made.at - made.at % _SECONDS[kind]
        place: _Place = (kind, client_id, start)
        if place not in self._rows:
            self._rows[place] = kind(client_id, start)
        self._rows[place].add(made)
        self._changed[place] = None

    def _drop_oldest(self) -> None:
        too_many = list(islice(self._rows, len(self._rows) - MAX_ROWS))
        lost = [place for place in too_many if place in self._changed]
        for place in too_many:
            del self._rows[place]
            self._changed.pop(place, None)
        if lost:
            log.warning("activity dropped", rows=len(lost))


@dataclass(frozen=True, slots=True)
class Activity:
    """A client's recent activity.

    Attributes:
        hours: an entry for each of the latest ``HOURS``, oldest first.
        calls: the latest calls, newest first.
        is_whole: whether all counts were read. Otherwise the counts of the oldest hours are too low.
        listed_from: the Unix second from which ``calls`` has all stored calls, 0 if all were read.
    """

    hours: Sequence[HourOfCalls]
    calls: Sequence[ClientCall]
    is_whole: bool = True
    listed_from: int = 0

    @property
    def total(self) -> int:
        """The number of calls in the hours of this activity."""
        return sum(hour.calls for hour in self.hours)

    @property
    def errors(self) -> int:
        """The number of failed calls in the hours of this activity."""
        return sum(hour.errors.total() for hour in self.hours)


class ActivityReader:
    """Reads a client's activity in two queries: the rows of all processes, and the latest rows of this process."""

    def __init__(self, store: Store, clock: Clock, own: ClientActivity) -> None:
        self._store = store
        self._clock = clock
        self._own = own

    def of_client(self, client_id: str) -> Activity:
        return self.of_clients([client_id])[0]

    def of_clients(self, client_ids: Sequence[str]) -> Sequence[Activity]:
        """Return the activity of each client, in the given order. All queries are made in parallel."""
        now = self._clock.time()
        current = now - now % HOUR_SECONDS
        starts = range(current - (HOURS - 1) * HOUR_SECONDS, current + 1, HOUR_SECONDS)
        queries: list[Callable[[], Page]] = []
        for each in client_ids:
            rows = HOUR_ROWS_READ // len(client_ids)
            queries += [partial(self._read_hours, each, starts[0], rows), partial(self._read_calls, each)]
        pages = together(queries) if queries else []
        return [
            self._activity(client_id, starts, *found)
            for client_id, found in zip(client_ids, pieces(pages, 2), strict=True)
        ]

    def _read_hours(self, client_id: str, since: int, rows: int) -> Page:
        partition, between = ("subject", f"activity#{client_id}"), ("part", _hour(since), "~")
        return self._store.query(TABLE, partition, between=between, limit=rows, newest_first=True)

    def _read_calls(self, client_id: str) -> Page:
        return self._store.query(TABLE, ("subject", f"recent#{client_id}"), limit=ROWS_READ, newest_first=True)

    def _activity(self, client_id: str, starts: range, hours: Page, calls: Page) -> Activity:
        own = {item["part"]: item for item in self._own.items(client_id)}
        rows = [item for item in [*hours.items, *calls.items[::-1]] if item["part"] not in own] + list(own.values())
        since = self._clock.time() - CALL_RETENTION
        recent = [call for item in rows if "calls" in item for call in calls_of(item) if call.at > since]
        by_hour = _by_hour(client_id, starts, [item for item in rows if "counts" in item])
        latest = sorted(recent, key=lambda call: call.at)[::-1]
        return Activity(by_hour, latest, hours.next is None, _listed_from(calls))


def _by_hour(client_id: str, starts: Iterable[int], items: Iterable[Item]) -> Sequence[HourOfCalls]:
    sums = {_hour(start): HourOfCalls(client_id, start, "") for start in starts}
    for item in items:
        if (found := sums.get(item["part"].partition("#")[0])) is not None:
            found.include(item)
    return list(sums.values())


def _listed_from(calls: Page) -> int:
    """Return the end of the minute of the last row read, or 0 if no rows remain."""
    if calls.next is None:
        return 0
    minute = calls.items[-1]["part"].partition("#")[0]
    return int(datetime.fromisoformat(f"{minute}+00:00").timestamp()) + _MINUTE


def _hour(start: int) -> str:
    return f"{datetime.fromtimestamp(start, UTC):%Y-%m-%dT%H}"
