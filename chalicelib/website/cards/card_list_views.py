"""The lists of the card pages: cards and card activity of the linked programme manager, with filters."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from chalice.app import Response

from chalicelib.cards.protocol.portal_messages import CARDS, LIST_ACTIVITY, LIST_CARDS
from chalicelib.website.cards.card_access_views import for_linked_users
from chalicelib.website.cards.card_filters import (
    ANSWERS,
    KINDS,
    STATUSES,
    ListFilter,
    id_member,
    read_activity_filter,
    read_card_filter,
)
from chalicelib.website.pages import Visit, page

MESSAGES = 25  # messages per activity page
_BEFORE = re.compile("([0-9]{1,13})-([0-9]{1,20})")


@for_linked_users
def list_cards(visit: Visit, manager_id: int) -> Response:
    """``GET /cards``: the newest cards that match the filter, or those before the card ``before``."""
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
        statuses=STATUSES,
        programmes=programmes,
        full=len(found["data"]) == CARDS,
    )


@for_linked_users
def list_activity(visit: Visit, manager_id: int) -> Response:
    """``GET /cards/activity``: the latest network messages that match the filter, or those before ``before``."""
    wanted, before = read_activity_filter(visit.field), _BEFORE.fullmatch(visit.field("before"))
    position = {"before_at": before[1], "before_id": before[2]} if before else {}
    found = visit.website.portal.read(manager_id, LIST_ACTIVITY, item_count=MESSAGES, **_members(wanted), **position)
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
        full=len(found["data"]) == MESSAGES,
    )


def _members(wanted: ListFilter) -> Mapping[str, Any]:
    """The request members; with an invalid field, only those that say whose list it is."""
    if not wanted.errors:
        return wanted.members
    return {name: value for name, value in wanted.members.items() if name == "card_id"}
