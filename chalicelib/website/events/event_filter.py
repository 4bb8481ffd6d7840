"""The filter of the events page: its fields, and the resulting search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, get_args

from chalicelib.delivery.client_events import CLIENT_STATES, LAST_SECOND, ClientSearch, ClientState, decode_position
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.openbanking.protocol.tpp_calls import EventType
from chalicelib.statistics.days import DAY_SECONDS
from chalicelib.website.form_fields import FieldReader, filled_in

TYPES: Mapping[str, str] = {
    **{name: name for name in get_args(EventType)},
    "relay": "Asynchronous calls",
    "payment": "Asynchronous payments",
}
"""The types in the filter, with their labels."""
STATES: Mapping[ClientState, str] = {
    "due": "Due",
    "delivered": "Delivered",
    "failed": "Failed",
    "recorded": "For fetching",
}
"""The states in the filter, with their labels."""
_NAMES: Sequence[str] = ("client_id", "type", "state", "from", "until", "before")


@dataclass(frozen=True, slots=True)
class EventFilter:
    """A filter in its submitted form.

    Attributes:
        given: the nonempty fields by name.
        problems: the errors of invalid fields, by field name. Invalid fields are ignored in the search.
    """

    given: Mapping[str, str]
    problems: Mapping[str, str]

    @classmethod
    def of(cls, field: FieldReader) -> EventFilter:
        """Read the filter of a form. ``field`` returns the value of a field by its name."""
        given = filled_in(field, _NAMES)
        problems = {name: "Enter a day and a time." for name in ("from", "until") if _is_unreadable(given.get(name))}
        first, last = (_seconds(given.get(name)) for name in ("from", "until"))
        if first is not None and last is not None and first > last:
            problems["until"] = "Until is before From."
        return cls(given, problems)

    @property
    def is_set(self) -> bool:
        """Whether any field except the client is set."""
        return bool(self.given.keys() - {"client_id", "before"})

    @property
    def is_first_page(self) -> bool:
        return "before" not in self.given

    def search(self, client_id: str) -> ClientSearch:
        """Return the search of a client. Unknown types, states and positions count as absent."""
        first, last = (_seconds(self.given.get(name)) for name in ("from", "until"))
        chosen: dict[str, Any] = {} if first is None else {"since": first}
        chosen |= {} if last is None else {"until": min(last + _rest_of(self.given["until"]), LAST_SECOND)}
        return ClientSearch(
            client_id,
            type=self.given["type"] if self.given.get("type") in TYPES else "",
            state=next((state for state in CLIENT_STATES if state == self.given.get("state")), None),
            before=decode_position(self.given.get("before", "")),
            **chosen,
        )


def _is_unreadable(text: str | None) -> bool:
    return text is not None and _seconds(text) is None


def _seconds(text: str | None) -> int | None:
    """Convert a date and time in UTC, as submitted by a browser, to Unix seconds. Return ``None`` if invalid."""
    try:
        moment = datetime.fromisoformat(text or "")
    except ValueError:
        return None
    return min(max(int(moment.replace(tzinfo=moment.tzinfo or UTC).timestamp()), 0), LAST_SECOND)


def _rest_of(text: str) -> int:
    """Return the seconds that remain after the first second of a minute (a time without seconds) or of a day (a date
    without a time). Return 0 for a time with seconds.
    """
    return {0: DAY_SECONDS - 1, 1: 59}.get(text.count(":"), 0)
