"""The page of a card for users linked to its programme manager, with the simulator's forms.

All data comes from the card API's portal, which only exposes masked card numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from chalice.app import Response

from chalicelib.cards.protocol.portal_messages import SHOW_CARD
from chalicelib.cards.protocol.status_codes import Refused, Status
from chalicelib.foundation import log
from chalicelib.foundation.clock import milliseconds
from chalicelib.foundation.identifiers import new_id
from chalicelib.website.cards.balance_chart import HEIGHT, WIDTH, balance_chart
from chalicelib.website.cards.card_access_views import card_id_of, for_linked_users
from chalicelib.website.cards.card_actions import CardAction, card_fields, offered_actions
from chalicelib.website.cards.card_filters import CARD_ID
from chalicelib.website.cards.card_text import ENTRIES
from chalicelib.website.cards.simulation_forms import (
    InvalidForm,
    SimulationResult,
    build_defaults,
    build_offers,
    describe_result,
    field_refusals,
    read_members,
)
from chalicelib.website.cards.simulations import BY_ACTION, SIMULATIONS, FormField, Simulation
from chalicelib.website.display_text import sentence
from chalicelib.website.pages import Visit, page

LATEST = 10  # messages, and transactions of an account, on the page of a card
LATEST_OF_SEVERAL = 5  # transactions of each of several accounts, to keep the page small
MOVEMENTS = 60  # movements in the chart of an account's balance
_NO_ERRORS: Mapping[str, str] = {}


@for_linked_users
def show_card(visit: Visit, manager_id: int) -> Response:
    """``GET /cards/{card_id}``: a card with its accounts, its activity, and the simulator."""
    return _card_page(visit, read_card(visit, manager_id))


@for_linked_users
def simulate(visit: Visit, manager_id: int) -> Response:
    """``POST /cards/{card_id}/simulator``: run one of ``SIMULATIONS``. A form submitted twice runs once."""
    form = BY_ACTION.get(visit.field("action"))
    if form is None:
        return _card_page(visit, read_card(visit, manager_id), problem="There is no such form.", status=400)
    try:
        asked = read_members(form, card_id_of(visit), visit.field)
        data = visit.website.portal.act(manager_id, form.action, visit.field("draft"), **asked)
    except InvalidForm as error:
        return _card_page(visit, read_card(visit, manager_id), form=form, errors=error.errors, status=400)
    except Refused as refusal:
        told, after = _refusal_text(form, refusal), _read_card_after(visit, manager_id, form)
        if errors := field_refusals(form, refusal.message):
            return _card_page(visit, after, form=form, errors=errors, status=400)
        return _card_page(visit, after, form=form, refusal=told, status=409)
    after = _read_card_after(visit, manager_id, form)
    return _card_page(visit, after, form=form, outcome=describe_result(form.action, asked, data, after))


def redirect_to_card(visit: Visit) -> Response:
    """``GET /cards/{card_id}/simulator``: redirect to the card, because a form's result cannot be reloaded."""
    written = visit.incoming.uri["card_id"]
    return visit.redirect(f"/cards/{written}" if CARD_ID.fullmatch(written) else "/cards")


def read_card(visit: Visit, manager_id: int) -> Mapping[str, Any]:
    """The card in the URL, with everything that its page shows. Raises: Refused."""
    asked = {"card_id": card_id_of(visit), "item_count": LATEST, "balance_count": MOVEMENTS}
    found: Mapping[str, Any] = visit.website.portal.read(manager_id, SHOW_CARD, **asked)["data"]
    return found


def _read_card_after(visit: Visit, manager_id: int, form: Simulation) -> Mapping[str, Any]:
    """The card after a form was processed. Raises: Refused."""
    found = read_card(visit, manager_id)
    log.bind(action=form.action)  # log the form's action instead of the read that follows it
    return found


def _refusal_text(form: Simulation, refusal: Refused) -> str:
    """The text of a refusal. Raises: Refused, if the service failed."""
    if refusal.status == Status.INTERNAL:
        raise refusal
    return f"{form.title.partition(':')[0]} was refused ({int(refusal.status)}): {sentence(refusal.message)}"


def _card_page(
    visit: Visit,
    shown: Mapping[str, Any],
    *,
    form: Simulation | None = None,
    outcome: SimulationResult | None = None,
    problem: str = "",
    refusal: str = "",
    errors: Mapping[str, str] = _NO_ERRORS,
    action: str = "",
    status: int = 200,
) -> Response:
    """The page of a card.

    Args:
        form: the submitted form, which stays open.
        outcome: the result of the form.
        problem: an error that concerns the whole request.
        refusal: an error that concerns the whole form, shown in it.
        errors: errors by field, shown next to the field.
        action: the submitted one of ``CARD_ACTIONS``, which stays open.
    """
    now = milliseconds(visit.website.shared.clock)
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
        managing=_managing_forms(visit, shown),
        opened=form.action if form else action,
        given=visit.field,
        draft=new_id(),
        outcome=outcome,
        problem=problem,
        refusal=refusal,
        errors=errors,
    )


def managed_card_page(
    visit: Visit,
    shown: Mapping[str, Any],
    action: str,
    errors: Mapping[str, str] = _NO_ERRORS,
    refusal: str = "",
    *,
    problem: str = "",
    status: int = 200,
) -> Response:
    """The page of a card after a form of ``CARD_ACTIONS``, which stays open with its errors."""
    offered = {each.action for each in offered_actions(shown)}
    told = problem or (refusal if action not in offered else "")
    return _card_page(visit, shown, action=action, errors=errors, refusal=refusal, problem=told, status=status)


def _managing_forms(visit: Visit, shown: Mapping[str, Any]) -> list[tuple[CardAction, list[FormField]]]:
    """The forms that manage the card, with their fields."""
    model_of = visit.website.portal.request_of
    return [(each, card_fields(each, model_of(each.action), shown)) for each in offered_actions(shown)]
