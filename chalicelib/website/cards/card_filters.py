"""The filters of the lists of cards and of activity: from the fields of a form to request members."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from chalicelib.cards.protocol import states
from chalicelib.foundation.fields.written_text import is_written
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.website.cards.card_text import MESSAGES
from chalicelib.website.form_fields import FieldReader, filled_in, first_second, last_second, read_day

CARD_ID = re.compile("[0-9]{1,20}")
_NAME_CHARACTERS = 50
ANSWERS: Mapping[str, str] = {"approved": "Approved", "declined": "Declined"}
"""Choices for the answer to a message."""
STATUSES: Mapping[str, str] = states.CARD_STATES
KINDS: Mapping[str, str] = {str(number): label.capitalize() for number, label in MESSAGES.items()}
"""Choices of the filters, by value."""


@dataclass(frozen=True, slots=True)
class ListFilter:
    """What a list is filtered by.

    Attributes:
        members: request members of the portal's action.
        query: the fields that are filled in, by name, for links to further pages.
        errors: a sentence for each invalid field.
    """

    members: Mapping[str, Any]
    query: Mapping[str, str]
    errors: Mapping[str, str]


def read_card_filter(written: FieldReader) -> ListFilter:
    """The filter of ``GET /cards``: ``status``, ``programme``, ``holder`` and ``digits``."""
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


def id_member(name: str, written: str) -> dict[str, str]:
    """The request member for an id; none if the input is not one."""
    return {name: written} if CARD_ID.fullmatch(written) and int(written) else {}


def _read_holder(written: str, members: dict[str, Any], errors: dict[str, str]) -> None:
    if number := id_member("holder_id", written):
        members |= number
    elif len(written) <= _NAME_CHARACTERS and is_written(written):
        members["name"] = written
    else:
        errors["holder"] = f"Enter a holder's id, or at most {_NAME_CHARACTERS} characters of a name."


def read_activity_filter(written: FieldReader) -> ListFilter:
    """The filter of ``GET /cards/activity``: ``card_id``, ``answer``, ``kind``, ``from`` and ``to``."""
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
