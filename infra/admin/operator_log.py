"""The operator's log, with one item per command that changes data. The item is written before the change.

An item means that a command was started. The command may have been refused.

The table ``website`` stores the items in one partition per UTC day (``audit#2026-11-28``), sorted by time. An item has
the command, its arguments and the names of its options. Values of options are omitted because they may be secret. Items
expire after five years.
"""

from __future__ import annotations

import getpass
import os
from collections.abc import Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import boto3

from chalicelib.bootstrap import Hub
from chalicelib.foundation.clock import milliseconds
from chalicelib.foundation.dynamodb.store import Item, Store, absent
from chalicelib.foundation.identifiers import new_id
from chalicelib.website.records.sessions import TABLE

RETENTION_SECONDS = (5 * 365 + 2) * 24 * 3600
READING = frozenset(
    {"list", "show", "data", "test", "trace", "explain", "blocked", "verify", "unresolved", "export", "doctor"}
)
"""The names of commands that change no data. With ``--mend``, such a command counts as a change."""


@dataclass(slots=True)
class Command:
    """The running command: its full name, its arguments, and the names of the options on the command line."""

    words: str
    arguments: Sequence[str] = ()
    options: Sequence[str] = ()
    recorded: bool = field(default=False)

    @property
    def changes(self) -> bool:
        return self.words.rpartition(" ")[2] not in READING or "--mend" in self.options


running: ContextVar[Command | None] = ContextVar("running", default=None)


def record(hub: Hub) -> None:
    """Record the running command once in the stage's log, if the command changes data."""
    command = running.get()
    if command is None or command.recorded or not command.changes:
        return
    at = milliseconds(hub.clock.real)
    item = {
        "owner": _partition(at // 1000),
        "part": f"{at:013}#{new_id()}",
        "by": caller(hub),
        "command": command.words,
        "arguments": list(command.arguments),
        "options": list(command.options),
        "expires_at": at // 1000 + RETENTION_SECONDS,
    }
    hub.store.put(TABLE, item, absent("owner"))
    command.recorded = True


def entries(store: Store, since: int, until: int) -> Iterator[Mapping[str, object]]:
    """Yield the commands of a period in chronological order. The end of the period is exclusive."""
    day = datetime.fromtimestamp(since, UTC)
    while day.timestamp() <= until + 24 * 3600:
        for item in store.each(TABLE, ("owner", _partition(int(day.timestamp())))):
            if since <= _seconds(item) < until:
                yield {"at": _seconds(item), **{name: item[name] for name in ("by", "command", "arguments", "options")}}
        day += timedelta(days=1)


def caller(hub: Hub) -> str:
    """Return the operator: the AWS identity or, for the local stack, the user account of this machine."""
    if hub.settings.is_local:
        try:
            return getpass.getuser()
        except (KeyError, OSError):  # an account without a name, as in containers
            return f"user {os.getuid()}"
    return str(boto3.client("sts").get_caller_identity()["Arn"])


def _seconds(item: Item) -> int:
    return int(item["part"].partition("#")[0]) // 1000


def _partition(seconds: int) -> str:
    return f"audit#{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d}"
