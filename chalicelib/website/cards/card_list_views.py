"""The lists of the card pages: cards and card activity of the linked programme manager, with their filters."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from chalice.app import Response

from chalicelib.cards.protocol import states
from chalicelib.cards.protocol.portal_messages import CARDS, LIST_ACTIVITY, LIST_CARDS
from chalicelib.foundation.fields.written_text import is_written
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.website.cards.card_access_views import for_linked_users, id_member
from chalicelib.website.cards.card_text import MESSAGES
from chalicelib.website.form_fields import FieldReader, filled_in, first_second, last_second, read_day
from chalicelib.website.pages import Visit, page

_NAME_CHARACTERS = 50
ANSWERS: Mapping[str, str] = {"approved": "Approved", "declined": "Declined"}
"""The choices of the filter for a message's response, by value."""
KINDS: Mapping[str, str] = {str(number): label.capitalize() for number, label in MESSAGES.items()}
"""The choices of the filter for kinds of messages, by value."""


@dataclass(frozen=True, slots=True)
class ListFilter:
    """The filter of a list.

    Attributes:
        members: request members of the portal's action.
        query: the submitted nonempty fields, by name, for links to further pages.
        errors: a sentence for each invalid field.
    """

    members: Mapping[str, Any]
    query: Mapping[str, str]
    errors: Mapping[str, str]


def read_card_filter(written: FieldReader) -> ListFilter:
    """Parse the filter of ``GET /cards``: ``status``, ``programme``, ``holder`` and ``digits``."""
    members: dict[str, Any] = {}
    errors: dict[str, str] = {}
    query = filled_in(written, ("status", "programme", "holder", "digits"))
    if query.get("status") in states.CARD_STATES:
        members["status"] = query["status"]
    members |= id_member("program_id", query.get("programme", ""))
    if holder := query.get("holder"):
        _read_holder(holder, members, errors)
    if digits := query.get("digits"):
        if len(digits) == 4 and digits.isascii() and digits.isdigit():
            members["last_four"] = digits
        else:
            errors["digits"] = "Enter the last four digits of the card number."
    return ListFilter(members, query, errors)


def _read_holder(written: str, members: dict[str, Any], errors: dict[str, str]) -> None:
    if number := id_member("holder_id", written):
        members |= number
    elif len(written) <= _NAME_CHARACTERS and is_written(written):
        members["name"] = written
    else:
        errors["holder"] = f"Enter a holder's id, or at most {_NAME_CHARACTERS} characters of a name."


def read_activity_filter(written: FieldReader) -> ListFilter:
    """Parse the filter of ``GET /cards/activity``: ``card_id``, ``answer``, ``kind``, ``from`` and ``to``."""
    errors: dict[str, str] = {}
    query = filled_in(written, ("card_id", "answer", "kind", "from", "to"))
    members: dict[str, Any] = dict(id_member("card_id", query.get("card_id", "")))
    if query.get("answer") in ANSWERS:
        members["approved"] = int(query["answer"] == "approved")
    if query.get("kind", "") in KINDS:
        members["authorize_type"] = int(query["kind"])
    since, until = read_day(written, "from", errors), read_day(written, "to", errors)
    if since and until and since > until:
        errors["from"] = "This is later than the last day."
    members |= {"date_from": first_second(since)} if since else {}
    members |= {"date_to": last_second(until)} if until else {}
    return ListFilter(members, query, errors)


_MESSAGES = 25  # messages per activity page
_BEFORE = re.compile("([0-9]{1,13})-([0-9]{1,20})")


@for_linked_users
def list_cards(visit: Visit, manager_id: int) -> Response:
    """``GET /cards``: list the newest cards that match the filter, or the matching cards before the card ``before``."""
    wanted, position = read_card_filter(visit.field), id_member("before", visit.field("before"))
    found = visit.website.portal.read(manager_id, LIST_CARDS, item_count=CARDS, **_members(wanted), **position)
    programmes = {str(number): name for number, name in found["programmes"].items()}
    return page(
        visit,
        "cards.html",
        status=400 if wanted.errors else 200,
        manager=found["programme_manager"],
        cards=[] if wanted.errors else found["data"],
        wanted=wanted,
        is_first=not position,
        older={"before": found["before"]} if found["before"] and not wanted.errors else None,
        statuses=states.CARD_STATES,
        programmes=programmes,
        full=len(found["data"]) == CARDS,
    )


@for_linked_users
def list_activity(visit: Visit, manager_id: int) -> Response:
    """``GET /cards/activity``: list the latest network messages that match the filter, or the messages before
    ``before``.
    """
    wanted, before = read_activity_filter(visit.field), _BEFORE.fullmatch(visit.field("before"))
    position = {"before_at": before[1], "before_id": before[2]} if before else {}
    found = visit.website.portal.read(manager_id, LIST_ACTIVITY, item_count=_MESSAGES, **_members(wanted), **position)
    more = found["before_at"] is not None and not wanted.errors
    return page(
        visit,
        "card_activity.html",
        status=400 if wanted.errors else 200,
        manager=found["programme_manager"],
        card_id=wanted.members.get("card_id", ""),
        messages=[] if wanted.errors else found["data"],
        wanted=wanted,
        is_first=not position,
        older={"before": f"{found['before_at']}-{found['before_id']}"} if more else None,
        answers=ANSWERS,
        kinds=KINDS,
        full=len(found["data"]) == _MESSAGES,
    )


def _members(wanted: ListFilter) -> Mapping[str, Any]:
    """Return the members of the card API request. If a filter field is invalid, return only ``card_id``."""
    if not wanted.errors:
        return wanted.members
    return {name: value for name, value in wanted.members.items() if name == "card_id"}
