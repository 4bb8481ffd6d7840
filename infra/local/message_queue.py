"""A queue of messages in memory. The cost of a call does not depend on the queue's length, and each call wakes at most
one consumer.

Visible messages are ordered by the time at which they became visible. Delayed messages are in a heap sorted by this
time. A timer moves them, so that consumers wait without polling.
"""

from __future__ import annotations

import heapq
import itertools
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

_GONE = -1


@dataclass(slots=True, eq=False)
class Message:
    """A message. Times are Unix seconds.

    Attributes:
        attributes: the message attributes that the sender set.
        received: the number of deliveries.
        visible_at: the time from which the message can be received, as currently known.
    """

    message_id: str
    body: str
    sent_at: float
    visible_at: float
    attributes: dict[str, Any] = field(default_factory=dict)
    received: int = 0
    first_received_at: float | None = None
    entry: int = _GONE
    """The number of the message's valid entry. Older entries of a message that was hidden again or deleted are ignored.
    """


_Entry = tuple[float, int, Message]


class MessageQueue:
    """The messages of one queue. Every method acquires ``lock``. Only ``wait`` releases the lock while it waits."""

    def __init__(self, lock: threading.Lock, now: Callable[[], float]) -> None:
        self._now = now
        self._messages: dict[str, Message] = {}
        self._visible: deque[_Entry] = deque()
        self._hidden: list[_Entry] = []
        self._numbers = itertools.count()
        self.arrival = threading.Condition(lock)
        self._earlier = threading.Condition(lock)
        self._timer: threading.Thread | None = None

    def __len__(self) -> int:
        return len(self._messages)

    def add(self, message: Message) -> None:
        """Add a new message, or a message from a different queue. The message becomes visible at its ``visible_at``."""
        self._messages[message.message_id] = message
        self._enter(message)

    def get(self, message_id: str) -> Message | None:
        return self._messages.get(message_id)

    def ids(self) -> list[str]:
        """Return the ids of all messages."""
        return list(self._messages)

    def remove(self, message: Message) -> None:
        """Remove a message, if it exists."""
        if self._messages.pop(message.message_id, None):
            message.entry = _GONE

    def hide(self, message: Message, until: float) -> None:
        """Change the time at which a message of the queue becomes visible."""
        message.visible_at = until
        self._enter(message)

    def take(self) -> Message | None:
        """Return the message that has been visible for the longest time. The caller must then hide or remove the
        message.
        """
        self._uncover()
        while self._visible:
            _, number, message = self._visible.popleft()
            if number == message.entry:
                return message
        return None

    def wait(self, seconds: float) -> bool:
        """Wait until a message becomes visible for this consumer. Returns false after a timeout."""
        if seconds <= 0:
            return False
        if self._timer is None:
            self._timer = threading.Thread(target=self._uncover_in_time, name="message-timer", daemon=True)
            self._timer.start()
        return self.arrival.wait(seconds)

    def count(self) -> tuple[int, int, int]:
        """Count the messages that are visible, in progress (received and not deleted), and delayed."""
        now = self._now()
        hidden = [message for message in self._messages.values() if message.visible_at > now]
        received = sum(message.received > 0 for message in hidden)
        return len(self._messages) - len(hidden), received, len(hidden) - received

    # -- internals

    def _enter(self, message: Message) -> None:
        message.entry = next(self._numbers)
        entry = (message.visible_at, message.entry, message)
        if message.visible_at <= self._now():
            self._visible.append(entry)
            self.arrival.notify()
        else:
            heapq.heappush(self._hidden, entry)
            if self._hidden[0] is entry:
                self._earlier.notify()

    def _uncover(self) -> None:
        """Move delayed messages that have become visible, and wake a consumer for each of them."""
        now = self._now()
        while self._hidden and (self._hidden[0][0] <= now or self._hidden[0][1] != self._hidden[0][2].entry):
            entry = heapq.heappop(self._hidden)
            if entry[1] == entry[2].entry:
                self._visible.append(entry)
                self.arrival.notify()

    def _uncover_in_time(self) -> None:
        with self._earlier:
            while True:
                self._uncover()
                self._earlier.wait(self._hidden[0][0] - self._now() if self._hidden else None)
