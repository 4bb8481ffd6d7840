"""The persistent state of ``causeway listen``: the signing secret and the forwarded events."""

from __future__ import annotations

import base64
import contextlib
import os
import secrets
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from causeway import _json
from causeway.errors import ConfigurationError
from causeway.tpp.events import PREFIX, secret_key

if TYPE_CHECKING:
    from causeway.tpp._generated.models import EventEntry, EventsAnswer

FORMAT = 1
LATENESS = timedelta(minutes=5)
"""Time by which an event can become visible after an event with a later timestamp: at most three minutes, plus a
reserve.
"""
Key = tuple[str, datetime]
"""An event's id and the time at which the event was recorded. An event that the hub sends again has a different time.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenState:
    """The record of one client's events that were already forwarded.

    Events up to and including ``after`` are done. Later events are done if ``handled`` contains them; ``handled`` also
    has the receiver's responses. ``newest`` is the latest time of all received events. Events older than
    ``skip_before`` are also done. If the hub no longer stores the event ``after``, all events are fetched again from
    the oldest event.
    """

    base_url: str
    client_id: str
    secret: str = field(repr=False)
    after: str | None = None
    handled: Mapping[Key, str] = field(default_factory=dict)
    newest: datetime | None = None
    skip_before: datetime | None = None

    @classmethod
    def new(cls, base_url: str, client_id: str) -> Self:
        """Create the state for a first start, with a new secret."""
        secret = PREFIX + base64.b64encode(secrets.token_bytes(32)).decode()
        return cls(base_url=base_url, client_id=client_id, secret=secret)

    def is_done(self, entry: EventEntry) -> bool:
        """Return whether an event was forwarded or has finally failed."""
        if self.skip_before is not None and entry.created_at < self.skip_before:
            return True
        return key_of(entry) in self.handled

    def with_answer(self, entry: EventEntry, answer: str) -> Self:
        """Return the state after the receiver's response to an event."""
        return replace(self, handled={**self.handled, key_of(entry): answer})

    def after_page(self, page: EventsAnswer) -> Self:
        """Return the state after all events of a page. ``handled`` retains the events that may be fetched again."""
        times = [entry.created_at for entry in page.events] + ([self.newest] if self.newest else [])
        newest = max(times, default=None)
        recent = {key: answer for key, answer in self.handled.items() if newest is None or key[1] >= newest - LATENESS}
        return replace(self, after=page.next, newest=newest, handled=recent)

    def from_oldest(self) -> Self:
        """Return the state for fetching events again from the oldest event, without forwarding events twice."""
        before = self.newest - LATENESS if self.newest else self.skip_before
        return replace(self, after=None, skip_before=before)

    def to_json(self) -> dict[str, Any]:
        """Return the state as JSON data, which ``from_json`` reads."""
        return {
            "format": FORMAT,
            "base_url": self.base_url,
            "client_id": self.client_id,
            "secret": self.secret,
            "after": self.after,
            "newest": self.newest.isoformat() if self.newest else None,
            "skip_before": self.skip_before.isoformat() if self.skip_before else None,
            "handled": [[name, moment.isoformat(), answer] for (name, moment), answer in self.handled.items()],
        }

    @classmethod
    def from_json(cls, data: Any) -> Self:
        """Parse a stored state. Raises ``ValueError``, ``TypeError`` or ``KeyError`` if the state is invalid."""
        if data["format"] != FORMAT:
            raise ValueError("another format")
        secret_key(str(data["secret"]))
        return cls(
            base_url=str(data["base_url"]),
            client_id=str(data["client_id"]),
            secret=str(data["secret"]),
            after=None if data["after"] is None else str(data["after"]),
            newest=None if data["newest"] is None else _moment(data["newest"]),
            skip_before=None if data["skip_before"] is None else _moment(data["skip_before"]),
            handled={(str(name), _moment(at)): str(answer) for name, at, answer in data["handled"]},
        )


def key_of(entry: EventEntry) -> Key:
    """Return the identity of an event."""
    return entry.id, entry.created_at


def _moment(text: str) -> datetime:
    """Parse a time that has a time zone. Raises ``ValueError`` or ``TypeError``."""
    found = datetime.fromisoformat(text)
    if found.tzinfo is None:
        raise ValueError("a time without a zone")
    return found


class StateFile:
    """The file that stores a state. The file is replaced atomically, and only its owner can read it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def load(self, base_url: str, client_id: str) -> ListenState:
        """Load the state of this client, or create it if there is no file. Creation requires the lock.

        Raises ``ConfigurationError``.
        """
        try:
            state = ListenState.from_json(_json.loads(self.path.read_bytes()))
        except FileNotFoundError:
            return self._first(base_url, client_id)
        except OSError as error:
            raise ConfigurationError(f"{self.path} cannot be read: {error.strerror}") from None
        except (ValueError, TypeError, KeyError, ConfigurationError):
            raise ConfigurationError(
                f"{self.path} is no state of causeway listen: choose another with --state"
            ) from None
        if (state.base_url, state.client_id) != (base_url, client_id):
            owner = f"the client {state.client_id} at {state.base_url}"
            raise ConfigurationError(f"{self.path} is the state of {owner}: choose another with --state")
        return state

    def _first(self, base_url: str, client_id: str) -> ListenState:
        state = ListenState.new(base_url, client_id)
        self.save(state)
        return state

    def save(self, state: ListenState) -> None:
        """Replace the file atomically. After a crash, the file is either the old or the new file."""
        temporary = self.path.with_name(self.path.name + ".new")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            temporary.unlink(missing_ok=True)
            handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(_json.dumps(state.to_json()))
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(self.path)
        except OSError as error:
            raise ConfigurationError(f"{self.path} cannot be written: {error.strerror}") from None
        _sync_folder(self.path.parent)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the state, so that no other listener can use it. Raises ``ConfigurationError`` if another listener is
        running.
        """
        place = self.path.with_name(self.path.name + ".lock")
        try:
            place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            file = place.open("ab")
        except OSError as error:
            raise ConfigurationError(f"{place} cannot be written: {error.strerror}") from None
        with file:
            try:
                _lock(file.fileno())
            except OSError:
                raise ConfigurationError(f"another causeway listen uses {self.path}") from None
            yield


def _lock(handle: int) -> None:
    """Lock a file until it is closed or the process ends. Raises ``OSError`` if another process has locked the file."""
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _sync_folder(folder: Path) -> None:
    """Write the folder to disk, if the operating system supports this, so that a renamed file is not lost in a power
    failure.
    """
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
