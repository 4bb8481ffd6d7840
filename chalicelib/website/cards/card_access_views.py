"""Access to the card pages: for users linked to the programme manager of the card in the address."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import wraps

from chalice.app import Response

from chalicelib.cards.protocol.status_codes import Refused, Status
from chalicelib.website.display_text import span
from chalicelib.website.pages import NO_REFERRER, Visit, message_page, page
from chalicelib.website.records.one_time_secrets import LIFETIMES

CARD_ID = re.compile("[0-9]{1,20}")


def for_linked_users(view: Callable[[Visit, int], Response]) -> Callable[[Visit], Response]:
    """Pass the user's programme manager to a view, and handle missing cards."""

    @wraps(view)
    def serve(visit: Visit) -> Response:
        manager_id = visit.signed_in_user.manager_id
        if manager_id is None:
            return _not_linked_page(visit)
        try:
            return view(visit, manager_id)
        except Refused as refusal:
            return _missing_card_page(visit, refusal)

    return serve


def card_id_of(visit: Visit) -> int:
    """Return the card id in the URL. Raises: Refused, if the id is not a number."""
    written = visit.incoming.uri["card_id"]
    if not CARD_ID.fullmatch(written):
        raise Refused(Status.NO_CARD)
    return int(written)


def id_member(name: str, written: str) -> dict[str, str]:
    """Return the request member for an id, or no member if the input is not an id."""
    return {name: written} if CARD_ID.fullmatch(written) and int(written) else {}


def _missing_card_page(visit: Visit, refusal: Refused) -> Response:
    """Render the page for a missing card or account. Raises: Refused, for any other refusal."""
    if refusal.status not in (Status.NO_CARD, Status.NO_ACCOUNT):
        raise refusal
    what = "The programme manager has no card with this number."
    return message_page(visit, "No such card", what, "/cards", "To the cards")


def _not_linked_page(visit: Visit) -> Response:
    """Render the introduction for users who are not linked to a programme manager."""
    is_found = "card_id" not in visit.incoming.uri
    referrer, status = ("same-origin", 200) if is_found else (NO_REFERRER, 404)
    return page(visit, "cards_none.html", status=status, referrer=referrer, good=span(LIFETIMES["code"]))
