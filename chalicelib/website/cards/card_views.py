"""The page of a card and the form for a new card, for users linked to the programme manager.

A card's page has the forms of the simulator and the forms that manage the card. Each form carries out an action of the
card API as the programme manager, once per draft. All data comes from the card API's portal, which exposes only
masked card numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from chalice.app import Response

from chalicelib.cards.protocol.portal_messages import LIST_PROGRAMMES, SHOW_CARD
from chalicelib.cards.protocol.states import BLOCKED
from chalicelib.cards.protocol.status_codes import Refused, Status
from chalicelib.foundation import log
from chalicelib.foundation.clock import milliseconds
from chalicelib.foundation.identifiers import new_id
from chalicelib.website.cards import card_actions
from chalicelib.website.cards.balance_chart import HEIGHT, WIDTH, balance_chart
from chalicelib.website.cards.card_access_views import CARD_ID, card_id_of, for_linked_users
from chalicelib.website.cards.card_actions import card_fields, offered_actions
from chalicelib.website.cards.card_text import ENTRIES
from chalicelib.website.cards.country_choice import country_choices
from chalicelib.website.cards.simulation_forms import (
    InvalidForm,
    SimulationResult,
    build_defaults,
    build_offers,
    describe_result,
    read_members,
    refusals_by_field,
)
from chalicelib.website.cards.simulations import BY_ACTION, SIMULATIONS, FormField, Simulation
from chalicelib.website.display_text import sentence
from chalicelib.website.notices import Notice
from chalicelib.website.pages import NO_ERRORS, Question, Visit, page, question_page

LATEST = 10  # messages, and transactions of an account, on the page of a card
LATEST_OF_SEVERAL = 5  # transactions of each of several accounts, to keep the page small
MOVEMENTS = 60  # movements in the chart of an account's balance


@for_linked_users
def show_card(visit: Visit, manager_id: int) -> Response:
    """``GET /cards/{card_id}``: show a card with its accounts, its activity, and the simulator."""
    return _card_page(visit, read_card(visit, manager_id))


@for_linked_users
def simulate(visit: Visit, manager_id: int) -> Response:
    """``POST /cards/{card_id}/simulator``: run one of ``SIMULATIONS``. A duplicate form has no further effect."""
    form = BY_ACTION.get(visit.field("action"))
    if form is None:
        return _card_page(visit, read_card(visit, manager_id), problem="There is no such form.", status=400)
    try:
        asked = read_members(form, card_id_of(visit), visit.field)
        data = visit.website.portal.act(manager_id, form.action, visit.field("draft"), **asked)
    except InvalidForm as error:
        shown = read_card(visit, manager_id)
        return _card_page(visit, shown, opened=form.action, errors=error.errors, status=400)
    except Refused as refusal:
        errors, text = explain_refusal(refusal, form.fields, f"{form.title.partition(':')[0]} was refused")
        after, status = _read_card_after(visit, manager_id, form), 400 if errors else 409
        return _card_page(visit, after, opened=form.action, errors=errors, refusal=text, status=status)
    after = _read_card_after(visit, manager_id, form)
    return _card_page(visit, after, opened=form.action, outcome=describe_result(form.action, asked, data, after))


def redirect_to_card(visit: Visit) -> Response:
    """``GET /cards/{card_id}/simulator``: redirect to the card, because a form's result cannot be reloaded."""
    written = visit.incoming.uri["card_id"]
    return visit.redirect(f"/cards/{written}" if CARD_ID.fullmatch(written) else "/cards")


def read_card(visit: Visit, manager_id: int) -> Mapping[str, Any]:
    """Read the card in the URL with all data of its page. Raises: Refused."""
    asked = {"card_id": card_id_of(visit), "item_count": LATEST, "balance_count": MOVEMENTS}
    found: Mapping[str, Any] = visit.website.portal.read(manager_id, SHOW_CARD, **asked)["data"]
    return found


def _read_card_after(visit: Visit, manager_id: int, form: Simulation) -> Mapping[str, Any]:
    """Read the card after a form was processed. Raises: Refused."""
    found = read_card(visit, manager_id)
    log.bind(action=form.action)  # log the form's action instead of the read that follows it
    return found


def _card_page(
    visit: Visit,
    shown: Mapping[str, Any],
    *,
    opened: str = "",
    outcome: SimulationResult | None = None,
    problem: str = "",
    refusal: str = "",
    errors: Mapping[str, str] = NO_ERRORS,
    status: int = 200,
) -> Response:
    """Render the page of a card.

    Args:
        opened: the action of the submitted form, which stays open.
        outcome: the result of the form.
        problem: an error that concerns the whole request.
        refusal: an error that concerns the whole form, shown in it.
        errors: errors by field, shown next to the field.
    """
    now, model_of = milliseconds(visit.website.shared.clock), visit.website.portal.request_of
    charts = {each["id"]: balance_chart(each["balances"], each["currency_ison"], now) for each in shown["accounts"]}
    return page(
        visit,
        "card.html",
        status=status,
        **{name: shown[name] for name in ("card", "holder_name", "accounts", "more_accounts", "activity")},
        entries={ENTRIES[kind]: name for kind, name in shown["entries"].items()},
        states={each["trans_link"]: each["state"] for each in shown["authorizations"]},
        charts={number: asdict(made) for number, made in charts.items() if made},
        size=(WIDTH, HEIGHT),
        latest=LATEST if len(shown["accounts"]) == 1 else LATEST_OF_SEVERAL,
        simulations=SIMULATIONS,
        offers=build_offers(shown),
        defaults=build_defaults(shown),
        managing=[(each, card_fields(each, model_of(each.action), shown)) for each in offered_actions(shown)],
        opened=opened,
        given=visit.field,
        draft=new_id(),
        outcome=outcome,
        problem=problem,
        refusal=refusal,
        errors=errors,
    )


def _managed_card_page(
    visit: Visit,
    shown: Mapping[str, Any],
    action: str,
    errors: Mapping[str, str] = NO_ERRORS,
    refusal: str = "",
    *,
    problem: str = "",
    status: int = 200,
) -> Response:
    """Render the card's page after a form of ``CARD_ACTIONS``. A refused form remains open and shows its errors."""
    offered = {each.action for each in offered_actions(shown)}
    text = problem or (refusal if action not in offered else "")
    return _card_page(visit, shown, opened=action, errors=errors, refusal=refusal, problem=text, status=status)


@for_linked_users
def new_card_form(visit: Visit, manager_id: int) -> Response:
    """``GET /cards/new``: show the form for a new card."""
    return _new_card_page(visit, manager_id)


@for_linked_users
def issue_card(visit: Visit, manager_id: int) -> Response:
    """``POST /cards/new``: issue a card. A duplicate form issues no second card."""
    fields = [field for each in _new_card_fields(visit, manager_id).values() for field in each]
    try:
        asked: dict[str, Any] = card_actions.read_fields(fields, visit.field)
        if "account_id" in asked:
            asked["account_owner_id"] = _owner_of(asked)
        data = visit.website.portal.act(manager_id, card_actions.CREATE, visit.field("draft"), **asked)
    except InvalidForm as error:
        return _new_card_page(visit, manager_id, error.errors, status=400)
    except Refused as refusal:
        errors, text = explain_refusal(refusal, fields)
        return _new_card_page(visit, manager_id, errors, text, status=400 if errors else 409)
    return visit.redirect_with_notice(f"/cards/{data['card_id']}", Notice.CARD_ISSUED)


def _owner_of(asked: Mapping[str, str]) -> str:
    """Return the holder of the chosen account. Raises: InvalidForm."""
    if "holder_id" not in asked:
        raise InvalidForm({"holder_id": "Enter the id of the holder that has the account."})
    return asked["holder_id"]


@for_linked_users
def change_card(visit: Visit, manager_id: int) -> Response:
    """``POST /cards/{card_id}``: carry out one of ``CARD_ACTIONS``."""
    card_id, form = card_id_of(visit), card_actions.BY_ACTION.get(visit.field("action"))
    shown = read_card(visit, manager_id)
    if form is None:
        return _managed_card_page(visit, shown, "", problem="There is no such form.", status=400)
    model = visit.website.portal.request_of(form.action)
    fields = card_actions.card_fields(form, model, shown)
    try:
        asked = card_actions.read_fields(fields, visit.field)
        if asked.get("status") == BLOCKED and visit.field("confirmed") != "yes":
            return _blocking_page(visit, card_id, asked)
        visit.website.portal.act(manager_id, form.action, visit.field("draft"), card_id=card_id, **asked)
    except InvalidForm as error:
        return _managed_card_page(visit, shown, form.action, error.errors, status=400)
    except Refused as refusal:
        errors, text = explain_refusal(refusal, fields)
        return _managed_card_page(visit, shown, form.action, errors, text, status=400 if errors else 409)
    return visit.redirect_with_notice(f"/cards/{card_id}", form.notice)


def _blocking_page(visit: Visit, card_id: int, asked: Mapping[str, str]) -> Response:
    """Ask for confirmation before a card is blocked permanently."""
    question = Question(
        title="Block this card for good?",
        what="From then on, every use of the card is declined.",
        afterwards="It cannot be undone, and the card cannot be reissued. A temporary block can be undone.",
        button="Block for good",
        keep="Keep it as it is",
    )
    fields = {"action": "changeCardStatus", "draft": visit.field("draft"), "confirmed": "yes", **asked}
    return question_page(visit, question, f"/cards/{card_id}", fields)


def explain_refusal(
    refusal: Refused, fields: Sequence[FormField], what: str = "Refused"
) -> tuple[Mapping[str, str], str]:
    """Return the errors by field, or a sentence about the whole form. Raises: Refused, if the service failed."""
    if refusal.status == Status.INTERNAL:
        raise refusal
    errors = refusals_by_field({field.name: field.label for field in fields}, refusal.message)
    return errors, "" if errors else f"{what} ({int(refusal.status)}): {sentence(refusal.message)}"


def _new_card_fields(visit: Visit, manager_id: int) -> Mapping[str, list[FormField]]:
    found = visit.website.portal.read(manager_id, LIST_PROGRAMMES)["data"]
    programmes = {str(each["id"]): each["name"] for each in found["programmes"]}
    currencies = dict.fromkeys(number for each in found["programmes"] for number in each["currencies"])
    model = visit.website.portal.request_of(card_actions.CREATE)
    return card_actions.new_card_fields(model, programmes, list(currencies), found["shipping_methods"])


def _new_card_page(
    visit: Visit, manager_id: int, errors: Mapping[str, str] = NO_ERRORS, refusal: str = "", *, status: int = 200
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
