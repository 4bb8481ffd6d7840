"""The built-in receiver of sandboxes: an Events URL of this service, so that users can try events without a server.

Its URL determines its response. It stores no data: the delivery's attempt has the request and the response. It delays
and accepts only requests that this service signed for the client, so that other callers cannot occupy Lambda instances.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from chalice.app import Response

from chalicelib.foundation.crypto import event_signing
from chalicelib.foundation.crypto.keyring import Unsealable
from chalicelib.foundation.http.web import BODY_BYTES, Incoming, json_answer
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.openbanking.records import client_validation
from chalicelib.openbanking.records.client_record import Client
from chalicelib.openbanking.records.clients import UnknownClient
from chalicelib.website.display_text import UNKNOWN_CLIENT
from chalicelib.website.notices import Notice
from chalicelib.website.pages import Visit, message_page

if TYPE_CHECKING:
    from chalicelib.website.container import WebsiteContainer


@dataclass(frozen=True, slots=True)
class Behaviour:
    """A behaviour of the receiver: it sends the HTTP status after ``seconds``. ``label`` is the text of the behaviour's
    button.
    """

    label: str
    status: int
    seconds: int = 0


BEHAVIOURS: Mapping[str, Behaviour] = {
    "ok": Behaviour("Answers 200", 200),
    "failing": Behaviour("Answers 500", 500),
    "slow": Behaviour("Answers 200 after 5 s", 200, 5),
}
"""The receiver's behaviours, by the last segment of its URL."""
_SIGNED = {"WWW-Authenticate": 'StandardWebhooks realm="causeway"'}


def answer_event(website: WebsiteContainer, incoming: Incoming, wait: Callable[[float], None] = time.sleep) -> Response:
    """``POST /sandbox/receivers/{client_id}/{behaviour}``: respond to an event of the client.

    Returns 401 for a request not signed with the client's events secret, 404 for an unknown behaviour, and 413 for an
    oversized body. A request without the headers of a recent event is rejected without reading any record.
    """
    behaviour = BEHAVIOURS.get(incoming.uri["behaviour"])
    if behaviour is None:
        return json_answer({"message": f"the built-in receiver has these behaviours: {', '.join(BEHAVIOURS)}"}, 404)
    if len(incoming.body) > BODY_BYTES:
        return json_answer({"message": f"an event has at most {BODY_BYTES} bytes"}, 413)
    if not _is_event(website, incoming):
        return json_answer({"message": "this is not signed with the client's events secret"}, 401, _SIGNED)
    wait(behaviour.seconds)
    taken = "received" if behaviour.status == 200 else "not received: this receiver always fails"
    return json_answer({"receiver": "built-in", "event": taken}, behaviour.status)


def _is_event(website: WebsiteContainer, incoming: Incoming) -> bool:
    """Whether the request is signed with an events secret of the client in its URL."""
    now = website.shared.clock.real.time()
    if not event_signing.has_recent_headers(incoming.headers, now):
        return False
    clients = website.openbanking.clients
    try:
        secrets = clients.events_secrets(clients.get(incoming.uri["client_id"]))
    except (UnknownClient, Unsealable):
        return False
    return event_signing.is_signed(secrets, incoming.headers, incoming.body, now)


def receiver_choices(visit: Visit, client: Client | None) -> Mapping[str, Any]:
    """Return the context of ``receiver_parts.html``: the available behaviours and the chosen one."""
    settings = visit.website.shared.settings
    if client is None or client.is_archived or not settings.is_sandbox:
        return {"behaviours": {}, "behaviour": ""}
    return {"behaviours": BEHAVIOURS, "behaviour": chosen_behaviour(settings.public_url, client)}


def receiver_url(public_url: str, client_id: str, name: str) -> str:
    """Return the Events URL of the built-in receiver for a client."""
    return f"{public_url}/sandbox/receivers/{client_id}/{name}"


def chosen_behaviour(public_url: str, client: Client) -> str:
    """Return the behaviour of the client's Events URL, or an empty text for another receiver's URL."""
    urls = {receiver_url(public_url, client.client_id, name): name for name in BEHAVIOURS}
    return urls.get(client.events_url or "", "")


def use_built_in_receiver(visit: Visit) -> Response:
    """``POST /sandbox/receivers/{client_id}``: send the client's events to the built-in receiver."""
    client_id, name = visit.incoming.uri["client_id"], visit.field("behaviour")
    if name not in BEHAVIOURS:
        return _refuse(visit, "The built-in receiver has no such behaviour.", 400)
    url = receiver_url(visit.website.shared.settings.public_url, client_id, name)
    try:
        visit.website.openbanking.clients.update(client_id, owner=visit.user, events_url=url)
    except UnknownClient:
        return _refuse(visit, UNKNOWN_CLIENT, 404)
    except client_validation.InvalidClient as error:
        return _refuse(visit, str(error), 400)
    return visit.redirect_with_notice("/deliveries", Notice.RECEIVER_CHOSEN, client_id=client_id)


def _refuse(visit: Visit, what: str, status: int) -> Response:
    return message_page(
        visit, "Not possible", what, "/deliveries", "To the events", "Choose one of your clients.", status
    )
