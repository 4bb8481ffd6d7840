"""Cards: the record, its derived state, and its counters of failed attempts."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import reduce
from typing import Any, ClassVar

from chalicelib.cards.programs.programmes import EntryId
from chalicelib.cards.protocol.states import (
    CARD_RULES,
    EXPIRED,
    EXPIRING,
    MISMATCHES_A_DAY,
    PIN_IS_BLOCKED,
    PIN_OK,
    PIN_TRIES,
)
from chalicelib.cards.protocol.status_codes import Status, require_permitted
from chalicelib.cards.storage.record import TABLE, Record
from chalicelib.cards.storage.time_ordered import Rows, Search, shard_of, shards
from chalicelib.foundation.dynamodb.conditions import Attr, Condition
from chalicelib.foundation.dynamodb.store import Put, Update, absent
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.foundation.requests.facts import Key
from chalicelib.foundation.search_text import fold

MOST_ACCOUNTS = 90
"""The maximum number of accounts per card. One read must be able to return all the accounts and a claim."""

_DAY = 24 * 3600


@dataclass(frozen=True, kw_only=True)
class Card(Record):
    """A card. Its number, PIN and password are encrypted. Its CVC2 is computed with the keys of ``key_version``.

    The first of ``account_ids`` is the primary account. ``wrong`` counts failed attempts by kind and day.
    """

    kind: ClassVar = "card"
    missing: ClassVar = Status.NO_CARD

    holder_id: int
    account_ids: list[int]
    currency: int
    program_id: int
    product_id: int
    sub_product_id: int
    virtual: int
    stored_status: str
    country: int
    service_code: str
    design_id: int
    expiry_year: int
    expiry_month: int
    request_id: int
    pan: bytes
    acs_password: bytes
    key_version: int
    name_line_3: str
    auto_conversion: int
    fee_group_id: int
    limit_group_id: int
    usage_group_id: int
    risk_group_id: int
    participating: int = 0
    pin: bytes | None = None
    pvv: str | None = None
    pin_status: int = PIN_OK
    pin_tries: int = 0
    pin_tries_limit: int = PIN_TRIES
    name_line_4: str | None = None
    reference: str | None = None
    reason_code: int | None = None
    note: str | None = None
    track_first_name: str | None = None
    track_last_name: str | None = None
    thermal_line_1: str | None = None
    thermal_line_2: str | None = None
    wrong: dict[str, Any] | None = None

    @property
    def uses(self) -> list[EntryId]:
        """The configuration entries that the card uses."""
        named = {
            "card_programme": self.program_id,
            "product": self.product_id,
            "design": self.design_id,
            "fee_group": self.fee_group_id,
            "limit_group": self.limit_group_id,
            "usage_group": self.usage_group_id,
            "risk_group": self.risk_group_id,
        }
        return [*named.items()]

    def status(self, now: int) -> str:
        """Return the state at ``now`` (Unix seconds). N, A, T and R become E after the month of expiry (UTC)."""
        if self.stored_status in EXPIRING and (self.expiry_year, self.expiry_month) < month_of(now):
            return EXPIRED
        return self.stored_status

    def require(self, action: str, now: int) -> None:
        """Check that the card's state permits the action. Raises: Refused."""
        require_permitted(CARD_RULES[action][self.status(now)])

    @property
    def pin_is_blocked(self) -> bool:
        return self.pin_status == PIN_IS_BLOCKED

    def mismatches(self, kind: str, now: int) -> int:
        """Return the number of failed attempts of a kind today (UTC)."""
        return int(self._wrong_entries(kind, now)["count"])

    def has_too_many_mismatches(self, kind: str, now: int) -> bool:
        """Whether today's failed attempts of a kind have reached the limit."""
        return self.mismatches(kind, now) >= MISMATCHES_A_DAY

    def with_wrong_entry(self, kind: str, now: int) -> dict[str, Any]:
        """Return the value of the member ``wrong`` after one more failed attempt today."""
        counted = self._wrong_entries(kind, now)
        return {**(self.wrong or {}), kind: {**counted, "count": counted["count"] + 1}}

    def _wrong_entries(self, kind: str, now: int) -> Mapping[str, int]:
        """Return the failed attempts of today or of a later day.

        Later days can occur because another process's clock may be ahead.
        """
        counted: Mapping[str, int] | None = (self.wrong or {}).get(kind)
        return counted if counted and counted["day"] >= now // _DAY else {"day": now // _DAY, "count": 0}


def month_of(now: int) -> tuple[int, int]:
    """Return the year and month of a Unix time in seconds (UTC)."""
    moment = datetime.fromtimestamp(now, UTC)
    return moment.year, moment.month


def months_later(start: tuple[int, int], months: int) -> tuple[int, int]:
    """Return the year and month that is ``months`` months after ``start``."""
    count = start[0] * 12 + start[1] - 1 + months
    return count // 12, count % 12 + 1


def number_key(lookup: str) -> Key:
    """Return the key of a card number's item. ``lookup`` is the keyed hash of the number."""
    return TABLE, {"owner": f"pan#{lookup}", "part": "pan"}


def put_number(lookup: str, card: Card, write_id: str) -> Put:
    """Return a conditional put that assigns a number to a card. The put fails if the number is or was in use."""
    return Put(TABLE, {**number_key(lookup)[1], **_number_members(card), "written_by": write_id}, absent("owner"))


def put_retired_number(lookup: str, card: Card, status: str, write_id: str) -> Put:
    """Return a put that retires a replaced number. The number's item records the state of the card at the time of
    replacement.
    """
    item = {**number_key(lookup)[1], **_number_members(card), "retired": status, "written_by": write_id}
    return Put(TABLE, item, Attr("card_id").eq(card.id))


def _number_members(card: Card) -> dict[str, Any]:
    """Return the members of a number's item: its card, and the ids of the records to read with the card.

    Accounts may be added to the card later.
    """
    return {"card_id": card.id, "holder_id": card.holder_id, "account_ids": card.account_ids}


_ROW = "card"
"""The sort key prefix of rows in the programme manager's list of cards. Each row is written together with its card."""


def card_rows(manager_id: int) -> Sequence[Rows]:
    """Return a programme manager's card list, shard by shard."""
    return [Rows(TABLE, shard, _ROW) for shard in shards(manager_id)]


def row_part(card_id: int) -> str:
    """Return the sort key of a card's row. Newer cards sort higher, except for cards created by parallel processes."""
    return f"{_ROW}#{card_id:020}"


def card_of_part(part: str) -> int:
    """Return the id of the card that a row's sort key refers to."""
    return int(part.removeprefix(f"{_ROW}#"))


def put_row(card: Card, holder_name: str, pan: str, write_id: str) -> Put:
    """Return the write operation that adds a new card to the list. The row contains the last four digits of the number
    ``pan``.

    The row has the holder's name at the time of creation. Later changes of the name do not update the row.
    """
    searched = {**_searched_members(card, pan), "holder_name": fold(holder_name)}
    row = {**_row_key(card), "card_id": card.id, **searched, "written_by": write_id}
    return Put(TABLE, row, absent("owner"))


def update_reissued_row(card: Card, pan: str, write_id: str) -> Update:
    """Return the update of the row of a card that was reissued with the number ``pan``."""
    members = {"card_id": card.id, **_searched_members(card, pan), "written_by": write_id}
    return Update(TABLE, _row_key(card), set=members)


def update_listed(card: Card, write_id: str, **members: Any) -> list[Update]:
    """Return the update of a card's members. If the card's state changes, also return the update of its row in the
    list.
    """
    updates = [card.update(write_id, **members)]
    if (status := members.get("stored_status")) is not None:
        row = {"card_id": card.id, "status": status, "written_by": write_id}
        updates.append(Update(TABLE, _row_key(card), set=row))
    return updates


def update_nameless_row(card: Card, write_id: str) -> Update:
    """Return the update that removes the searchable names from a card's row."""
    return Update(TABLE, _row_key(card), set={"name": "", "holder_name": "", "written_by": write_id})


def _row_key(card: Card) -> dict[str, str]:
    return {"owner": shard_of(card.manager_id, card.id), "part": row_part(card.id)}


def _searched_members(card: Card, pan: str) -> dict[str, Any]:
    """Return the searchable members of a row. Rows of earlier versions lack these members or have a ``name`` that is
    not case-folded.
    """
    return {
        "status": card.stored_status,
        "expiry": _month_number((card.expiry_year, card.expiry_month)),
        "program_id": card.program_id,
        "holder_id": card.holder_id,
        "name": fold(card.name_line_3),
        "last_four": pan[-4:],
    }


def _month_number(month: tuple[int, int]) -> int:
    return month[0] * 100 + month[1]


@dataclass(frozen=True, slots=True)
class CardSearch:
    """A filter for cards. Members that are ``None`` match every card.

    ``name`` is a part of the name on the card or of the holder's name. Case and diacritics are ignored.
    """

    status: str | None = None
    program_id: int | None = None
    holder_id: int | None = None
    name: str | None = None
    last_four: str | None = None

    def rows(self, now: int) -> Search:
        """Return the condition for rows in the card list. Rows of earlier versions that lack a searched member also
        match.

        In rows without ``holder_name``, ``name`` is not case-folded, so these rows match every name.
        """
        wanted = {
            "status": None if self.status is None else _has_status(self.status, now),
            "program_id": None if self.program_id is None else Attr("program_id").eq(self.program_id),
            "holder_id": None if self.holder_id is None else Attr("holder_id").eq(self.holder_id),
            "holder_name": None if self.name is None else _has_name(fold(self.name)),
            "last_four": None if self.last_four is None else Attr("last_four").eq(self.last_four),
        }
        conditions = [Attr(name).not_exists() | condition for name, condition in wanted.items() if condition]
        return Search(reduce(operator.and_, conditions) if conditions else None)

    def matches(self, card: Card, names: Iterable[str], pan: str, now: int) -> bool:
        """Whether a card with these names and the number ``pan`` matches the filter."""
        return (
            self.status in (None, card.status(now))
            and self.program_id in (None, card.program_id)
            and self.holder_id in (None, card.holder_id)
            and (self.name is None or any(fold(self.name) in fold(name) for name in names))
            and self.last_four in (None, pan[-4:])
        )


def _has_name(name: str) -> Condition:
    return Attr("holder_name").contains(name) | Attr("name").contains(name)


def _has_status(status: str, now: int) -> Condition:
    stored, expiry, month = Attr("status"), Attr("expiry"), _month_number(month_of(now))
    if status == EXPIRED:
        return stored.is_in(list(EXPIRING)) & (expiry.not_exists() | expiry.lt(month))
    if status in EXPIRING:
        return stored.eq(status) & (expiry.not_exists() | expiry.gte(month))
    return stored.eq(status)
