"""Delivery pages: events and deferred calls of a user's clients, their states, and resending."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

from chalice.app import Response

from chalicelib.delivery.delivery_record import Delivery, State
from chalicelib.delivery.journal import CLIENT_KINDS, LOOKED_THROUGH, PAGE, NotResendable, UnknownDelivery
from chalicelib.delivery.schedule import PLANS
from chalicelib.openbanking.records.client_record import Client
from chalicelib.openbanking.records.clients import UnknownClient
from chalicelib.website.display_text import retry_advice
from chalicelib.website.notices import Notice
from chalicelib.website.pages import Visit, message_page, page
from chalicelib.website.pagination import clamp_page_number, newest_first, select_choices
from chalicelib.website.records.attempts import TooManyAttempts

_WITH_HEADERS = 5  # latest attempts shown with headers, to keep the page small
_STATES: Sequence[State] = get_args(State)


def list_deliveries(visit: Visit) -> Response:
    """``GET /deliveries``: the latest deliveries of a client (by default the newest), filtered by ``state``."""
    wanted = visit.field("client_id")
    clients = newest_first(visit.website.openbanking.clients, visit.user, wanted)
    client = next((client for client in clients if wanted in ("", client.client_id)), None)
    if client is None and clients:
        return _not_found_page(visit, "None of your clients has this Client ID.")
    state = next((state for state in _STATES if state == visit.field("state")), None)
    number = clamp_page_number(visit.field("page"), LOOKED_THROUGH // PAGE)
    part = visit.website.delivery.journal.of_client(client.client_id, state=state, page=number) if client else None
    return page(
        visit,
        "deliveries.html",
        clients=select_choices(clients, wanted),
        client=client,
        state=state,
        states=_STATES,
        part=part,
        number=number,
        now=visit.website.shared.clock.time(),
        looked_through=LOOKED_THROUGH,
    )


def show_delivery(visit: Visit) -> Response:
    """``GET /deliveries/{delivery_id}``: every attempt, with request and response headers."""
    try:
        delivery, client = _own_delivery(visit)
    except (UnknownDelivery, UnknownClient):
        return _not_found_page(visit, "None of your clients' deliveries has this id, or it is no longer stored.")
    return _delivery_page(visit, delivery, client)


def resend_delivery(visit: Visit) -> Response:
    """``POST /deliveries/{delivery_id}``: resend an event now."""
    try:
        delivery, client = _own_delivery(visit)
        visit.website.attempts.count([("events", visit.user)])
        is_sent = visit.website.delivery.journal.resend(delivery.delivery_id)
    except (UnknownDelivery, UnknownClient):
        return _not_found_page(visit, "None of your clients' deliveries has this id, or it is no longer stored.")
    except TooManyAttempts as stopped:
        return _delivery_page(visit, delivery, client, problem=retry_advice(stopped.retry_after), status=429)
    except NotResendable as refused:
        return _delivery_page(visit, delivery, client, problem=f"It was not sent again: {refused}.", status=409)
    notice = Notice.EVENT_RESENT if is_sent else Notice.EVENT_ARRIVED
    return visit.redirect_with_notice(f"/deliveries/{delivery.delivery_id}", notice)


def _own_delivery(visit: Visit) -> tuple[Delivery, Client]:
    """The delivery in the URL, if it is visible to client owners and its client belongs to the user.

    Raises: UnknownDelivery, UnknownClient.
    """
    delivery = visit.website.delivery.journal.show(visit.incoming.uri["delivery_id"])
    if delivery.kind not in CLIENT_KINDS:
        raise UnknownDelivery(delivery.delivery_id)
    return delivery, visit.website.openbanking.clients.get(delivery.concerned_client, visit.user)


def _delivery_page(
    visit: Visit, delivery: Delivery, client: Client, *, problem: str = "", status: int = 200
) -> Response:
    return page(
        visit,
        "delivery.html",
        status=status,
        delivery=delivery,
        client=client,
        with_headers=_WITH_HEADERS,
        now=visit.website.shared.clock.time(),
        may_resend=not PLANS[delivery.kind].has_caller,
        problem=problem,
    )


def _not_found_page(visit: Visit, what: str) -> Response:
    next_step = "Choose one of your clients, then one of its deliveries."
    return message_page(visit, "No such delivery", what, "/deliveries", "To the deliveries", next_step)
