"""Cards are managed: a new card is issued, and a card is activated, blocked, unblocked or moved to other groups.

Each form carries out an action of the card API as the programme manager, once per draft.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chalice.app import Response

from chalicelib.cards.protocol.portal_messages import LIST_PROGRAMMES
from chalicelib.cards.protocol.states import BLOCKED
from chalicelib.cards.protocol.status_codes import Refused, Status
from chalicelib.foundation.identifiers import new_id
from chalicelib.website.cards import card_actions
from chalicelib.website.cards.card_access_views import card_id_of, for_linked_users
from chalicelib.website.cards.card_views import managed_card_page, read_card
from chalicelib.website.cards.country_choice import country_choices
from chalicelib.website.cards.simulation_forms import InvalidForm, refusals_by_field
from chalicelib.website.cards.simulations import FormField
from chalicelib.website.display_text import sentence
from chalicelib.website.notices import Notice
from chalicelib.website.pages import Visit, page, question_page
from chalicelib.website.questions import Question

_NO_ERRORS: Mapping[str, str] = {}


@for_linked_users
def new_card_form(visit: Visit, manager_id: int) -> Response:
    """``GET /cards/new``: the form for a new card."""
    return _new_card_page(visit, manager_id)


@for_linked_users
def issue_card(visit: Visit, manager_id: int) -> Response:
    """``POST /cards/new``: issue a card. A form submitted twice issues one."""
    fields = [field for each in _new_card_fields(visit, manager_id).values() for field in each]
    try:
        asked: dict[str, Any] = card_actions.read_fields(fields, visit.field)
        if "account_id" in asked:
            asked["account_owner_id"] = _owner_of(asked)
        data = visit.website.portal.act(manager_id, card_actions.CREATE, visit.field("draft"), **asked)
    except InvalidForm as error:
        return _new_card_page(visit, manager_id, error.errors, status=400)
    except Refused as refusal:
        errors, told = explain_refusal(refusal, fields)
        return _new_card_page(visit, manager_id, errors, told, status=400 if errors else 409)
    return visit.redirect_with_notice(f"/cards/{data['card_id']}", Notice.CARD_ISSUED)


def _owner_of(asked: Mapping[str, str]) -> str:
    """The holder of the chosen account. Raises: InvalidForm."""
    if "holder_id" not in asked:
        raise InvalidForm({"holder_id": "Enter the id of the holder that has the account."})
    return asked["holder_id"]


@for_linked_users
def change_card(visit: Visit, manager_id: int) -> Response:
    """``POST /cards/{card_id}``: carry out one of ``CARD_ACTIONS``."""
    card_id, form = card_id_of(visit), card_actions.BY_ACTION.get(visit.field("action"))
    shown = read_card(visit, manager_id)
    if form is None:
        return managed_card_page(visit, shown, "", problem="There is no such form.", status=400)
    model = visit.website.portal.request_of(form.action)
    fields = card_actions.card_fields(form, model, shown)
    try:
        asked = card_actions.read_fields(fields, visit.field)
        if asked.get("status") == BLOCKED and visit.field("confirmed") != "yes":
            return _blocking_page(visit, card_id, asked)
        visit.website.portal.act(manager_id, form.action, visit.field("draft"), card_id=card_id, **asked)
    except InvalidForm as error:
        return managed_card_page(visit, shown, form.action, error.errors, status=400)
    except Refused as refusal:
        errors, told = explain_refusal(refusal, fields)
        return managed_card_page(visit, shown, form.action, errors, told, status=400 if errors else 409)
    return visit.redirect_with_notice(f"/cards/{card_id}", form.notice)


def _blocking_page(visit: Visit, card_id: int, asked: Mapping[str, str]) -> Response:
    """The question before a card is blocked for good."""
    question = Question(
        title="Block this card for good?",
        what="From then on, every use of the card is declined.",
        afterwards="It cannot be undone, and the card cannot be reissued. A temporary block can be undone.",
        button="Block for good",
        keep="Keep it as it is",
    )
    fields = {"action": "changeCardStatus", "draft": visit.field("draft"), "confirmed": "yes", **asked}
    return question_page(visit, question, f"/cards/{card_id}", fields)


def explain_refusal(refusal: Refused, fields: list[FormField]) -> tuple[Mapping[str, str], str]:
    """The errors by field, or else a sentence on the whole form. Raises: Refused, if the service failed."""
    if refusal.status == Status.INTERNAL:
        raise refusal
    errors = refusals_by_field({field.name: field.label for field in fields}, refusal.message)
    return errors, "" if errors else f"Refused ({int(refusal.status)}): {sentence(refusal.message)}"


def _new_card_fields(visit: Visit, manager_id: int) -> Mapping[str, list[FormField]]:
    found = visit.website.portal.read(manager_id, LIST_PROGRAMMES)["data"]
    programmes = {str(each["id"]): each["name"] for each in found["programmes"]}
    currencies = dict.fromkeys(number for each in found["programmes"] for number in each["currencies"])
    model = visit.website.portal.request_of(card_actions.CREATE)
    return card_actions.new_card_fields(model, programmes, list(currencies), found["shipping_methods"])


def _new_card_page(
    visit: Visit, manager_id: int, errors: Mapping[str, str] = _NO_ERRORS, refusal: str = "", *, status: int = 200
) -> Response:
    return page(
        visit,
        "card_new.html",
        status=status,
        sections=_new_card_fields(visit, manager_id),
        countries=country_choices(),
        help=card_actions.HELP,
        given=visit.field,
        draft=visit.field("draft") if errors else new_id(),
        errors=errors,
        refusal=refusal,
    )
