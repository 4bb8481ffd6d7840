"""Event pages: events and deferred calls of a user's clients, their states, bodies and attempts, and resending."""

from __future__ import annotations

from chalice.app import Response

from chalicelib.delivery.client_events import FIRST, LOOKED_THROUGH, ClientEventsPage, decode_position, encode_position
from chalicelib.delivery.delivery_record import Delivery, client_receiver
from chalicelib.delivery.journal import NotResendable, UnknownDelivery
from chalicelib.foundation import jsontext, log
from chalicelib.foundation.http.web import json_answer, text_answer
from chalicelib.foundation.identifiers import digest
from chalicelib.openbanking.flows.deferred_calls import request_text
from chalicelib.openbanking.records.client_record import Client
from chalicelib.openbanking.records.clients import UnknownClient
from chalicelib.website.client_choice import choose_client
from chalicelib.website.display_text import UNKNOWN_CLIENT, retry_advice
from chalicelib.website.events.event_filter import STATES, TYPES, EventFilter
from chalicelib.website.events.event_inspection import inspect_delivery, show_body
from chalicelib.website.events.receiver_views import receiver_choices
from chalicelib.website.notices import Notice
from chalicelib.website.pages import Visit, fragment, message_page, page
from chalicelib.website.records.attempts import TooManyAttempts, count_attempt


def list_deliveries(visit: Visit) -> Response:
    """``GET /deliveries``: list the latest events and calls of a client (see ``client_choice``) that match a filter."""
    choice = choose_client(
        visit.website.openbanking.client_list, visit.user, visit.field("client_id"), visit.last_client_id
    )
    client = choice.client
    if client is None and visit.field("client_id"):
        return _not_found_page(visit, UNKNOWN_CLIENT)
    chosen = EventFilter.of(visit.field)
    part = visit.website.delivery.client_events.page(chosen.search(client.client_id)) if client else None
    return page(
        visit,
        "deliveries.html",
        status=400 if chosen.problems else 200,
        last_client=client,
        has_archived_only=choice.has_archived_only,
        examined=choice.examined,
        clients=choice.clients,
        client=client,
        chosen=chosen,
        types=TYPES,
        states=STATES,
        part=part,
        cursor=_cursor(part, visit.website.shared.clock.time()) if part else "",
        older=encode_position(part.older) if part and part.older else "",
        now=visit.website.shared.clock.time(),
        looked_through=LOOKED_THROUGH,
        **receiver_choices(visit, client),
    )


def list_latest(visit: Visit) -> Response:
    """``GET /deliveries/latest``: return the latest rows to a script, or 204 if nothing has changed since ``after``.

    The script polls this URL, so each request reads only a few rows. The script retains older rows.
    """
    try:
        client = visit.website.openbanking.clients.get(visit.field("client_id"), visit.user)
    except UnknownClient:
        return _not_found_page(visit, UNKNOWN_CLIENT)
    chosen, now = EventFilter.of(visit.field), visit.website.shared.clock.time()
    part = visit.website.delivery.client_events.page(chosen.search(client.client_id), most=FIRST)
    cursor = _cursor(part, now)
    if cursor == visit.field("after"):
        return text_answer("", "text/plain; charset=utf-8", 204)
    return fragment(visit, "deliveries_rows.html", client=client, part=part, cursor=cursor, now=now)


def show_delivery(visit: Visit) -> Response:
    """``GET /deliveries/{delivery_id}``: show the bodies and every attempt. With ``at``, show an event for fetching.

    With ``format=json``, return only the delivery's progress. The page polls it to detect changes.
    """
    if visit.field("at"):
        return _fetched_event_page(visit)
    try:
        delivery, client = _own_delivery(visit)
    except (UnknownDelivery, UnknownClient):
        return _not_found_page(visit, "None of your clients' deliveries has this id, or it is no longer stored.")
    if visit.field("format") == "json":
        return json_answer({"state": _progress(delivery, visit.website.shared.clock.time())})
    return _delivery_page(visit, delivery, client)


def resend_delivery(visit: Visit) -> Response:
    """``POST /deliveries/{delivery_id}``: resend an event now."""
    try:
        delivery, client = _own_delivery(visit)
        visit.website.call(count_attempt, [("events", visit.user)])
        is_sent = visit.website.delivery.journal.resend(delivery.delivery_id)
    except (UnknownDelivery, UnknownClient):
        return _not_found_page(visit, "None of your clients' deliveries has this id, or it is no longer stored.")
    except TooManyAttempts as stopped:
        return _delivery_page(visit, delivery, client, problem=retry_advice(stopped.retry_after), status=429)
    except NotResendable as refused:
        return _delivery_page(visit, delivery, client, problem=f"It was not sent again: {refused}.", status=409)
    if is_sent:
        log.audit("delivery resent", delivery_id=delivery.delivery_id, client_id=client.client_id, by="owner")
    notice = Notice.EVENT_RESENT if is_sent else Notice.EVENT_DELIVERED
    return visit.redirect_with_notice(f"/deliveries/{delivery.delivery_id}", notice)


def _own_delivery(visit: Visit) -> tuple[Delivery, Client]:
    """Return the delivery in the URL, if its client belongs to the user and client owners may see the delivery.

    Raises: UnknownDelivery, UnknownClient.
    """
    delivery = visit.website.delivery.journal.show(visit.incoming.uri["delivery_id"])
    if not visit.website.delivery.plans[delivery.kind].keeps_replies:
        raise UnknownDelivery(delivery.delivery_id)
    return delivery, visit.website.openbanking.clients.get(delivery.concerned_client, visit.user)


def _delivery_page(
    visit: Visit, delivery: Delivery, client: Client, *, problem: str = "", status: int = 200
) -> Response:
    now, plan = visit.website.shared.clock.time(), visit.website.delivery.plans[delivery.kind]
    return page(
        visit,
        "delivery.html",
        status=status,
        last_client=client,
        delivery=delivery,
        client=client,
        found=inspect_delivery(visit.website.delivery.bodies, delivery, plan, request_text),
        progress=_progress(delivery, now),
        now=now,
        may_resend=not plan.has_caller,
        problem=problem,
    )


def _fetched_event_page(visit: Visit) -> Response:
    """Render the page of an event for fetching, recorded at ``at`` (Unix milliseconds)."""
    position = decode_position(f"{visit.field('at')}-{visit.incoming.uri['delivery_id']}")
    if position is None:
        return _not_found_page(visit, "An event for fetching has a time in its address.")
    try:
        client = visit.website.openbanking.clients.get(visit.field("client_id"), visit.user)
    except UnknownClient:
        return _not_found_page(visit, UNKNOWN_CLIENT)
    event = visit.website.delivery.event_log.find(client_receiver(client.client_id), position)
    if event is None:
        return _not_found_page(visit, "None of this client's events has this id, or it is no longer stored.")
    return page(
        visit,
        "fetched_event.html",
        last_client=client,
        client=client,
        event=event,
        at=position[0] // 1000,
        payload=show_body(event.body),
    )


def _cursor(part: ClientEventsPage, now: int) -> str:
    """Return a digest that changes when the listed events or their states change. Passing time alone does not change
    the digest.
    """
    rows = [
        [*entry.position] if entry.delivery is None else [entry.delivery.delivery_id, _progress(entry.delivery, now)]
        for entry in part.entries
    ]
    return digest(jsontext.dumps(rows).encode())[:22]


def _progress(delivery: Delivery, now: int) -> str:
    """Return a text that changes when the displayed state of a delivery changes. Passing time alone does not change the
    text.
    """
    activity = "running" if delivery.is_running(now) else delivery.due_at or ""
    return f"{delivery.state} {delivery.attempts} {activity} {delivery.last.get('at', '')}"


def _not_found_page(visit: Visit, what: str) -> Response:
    next_step = "Choose one of your clients, then one of its events."
    return message_page(visit, "No such event", what, "/deliveries", "To the events", next_step)
