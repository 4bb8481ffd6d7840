"""The start page of a signed-in user: clients, latest calls and failures, and the next steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from chalice.app import Response

from chalicelib.delivery.delivery_record import Delivery
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.openbanking.records.bank_record import sort_by_name
from chalicelib.openbanking.records.client_list import ClientFilter
from chalicelib.openbanking.records.client_record import Client
from chalicelib.openbanking.unified.calls import INITIATIONS
from chalicelib.statistics.client_activity import Activity, ClientCall
from chalicelib.website.authorization.drafts import create_draft
from chalicelib.website.clients.activity_chart import KIND_NAMES
from chalicelib.website.pages import Visit, page
from chalicelib.website.records.journeys import Journey

CLIENTS = 5
"""The number of newest clients for which the page shows calls and errors."""
CALLS = 5
"""The number of latest calls, and of latest failed calls, that the page shows."""
RECEIVERS = 3
"""The number of newest clients with an Events URL for which the page shows undeliverable events."""
STEPS = 3
_PAYMENT_ROUTES = frozenset(INITIATIONS)


@dataclass(frozen=True, slots=True)
class NextStep:
    """An action that the user has not yet completed, and the text of its link."""

    icon: str
    title: str
    text: str
    place: str
    label: str


def show_start(visit: Visit) -> Response:
    """``GET /`` for a signed-in user: show the start page."""
    own = visit.website.openbanking.client_list.page(visit.user, ClientFilter(), CLIENTS)
    clients = own.clients
    activities = visit.website.statistics.activity.of_clients([client.client_id for client in clients])
    journeys = visit.website.journeys.list_latest(visit.user)
    calls = _latest_calls(clients, activities)
    return page(
        visit,
        "start.html",
        clients=list(zip(clients, activities, strict=True)),
        has_more=own.next is not None,
        examined=own.examined,
        titles={client.client_id: client.title for client in clients},
        calls=calls[:CALLS],
        failures=[each for each in calls if each[1].error][:CALLS],
        deliveries=_failed_deliveries(visit, clients),
        kind_names=KIND_NAMES,
        steps=list(islice(_next_steps(clients, calls, journeys, visit.website.shared.settings.is_sandbox), STEPS)),
        draft=create_draft(visit.website.shared.clock),
        now=visit.website.shared.clock.time(),
        bank_base=visit.website.shared.settings.bank_api_url,
        banks=sort_by_name(visit.website.openbanking.banks.directory()),
    )


def _failed_deliveries(visit: Visit, clients: Sequence[Client]) -> Sequence[Delivery]:
    """Return the latest events and asynchronous calls that failed permanently, newest first."""
    receivers = [client for client in clients if client.events_mode == "url"][:RECEIVERS]
    journal = visit.website.delivery.journal
    found = [each for client in receivers for each in journal.search_latest(client.client_id, state="failed")]
    return sorted(found, key=lambda each: each.failed_at or 0, reverse=True)[:CALLS]


def _latest_calls(clients: Sequence[Client], activities: Sequence[Activity]) -> Sequence[tuple[str, ClientCall]]:
    """Return the latest calls of all clients with their Client IDs, newest first."""
    pairs = zip(clients, activities, strict=True)
    calls = [(client.client_id, call) for client, activity in pairs for call in activity.calls]
    return sorted(calls, key=lambda each: each[1].at, reverse=True)


def _next_steps(
    clients: Sequence[Client], calls: Sequence[tuple[str, ClientCall]], journeys: Sequence[Journey], is_sandbox: bool
) -> Iterator[NextStep]:
    """Return at least ``STEPS`` next steps, most urgent first."""
    if not clients:
        yield NextStep(
            "squares-2x2",
            "Create a client",
            "A client is the TPP that makes requests. All it needs is a title.",
            "/clients/new",
            "Create a client",
        )
    if not any(journey.exchanged_at for journey in journeys):
        yield NextStep(
            "shield-check",
            "Get a consent",
            "Send a person to their bank: they approve there, and you receive tokens.",
            "/authorize",
            "Authorize",
        )
    if not calls:
        yield NextStep(
            "code-bracket",
            "Make a call",
            "Accounts, balances, payments: try every call right here.",
            "/specifications/unified",
            "Try the API",
        )
    if not any(call.route in _PAYMENT_ROUTES for _, call in calls):
        yield NextStep(
            "banknotes",
            "Make a payment",
            "Initiate one, and have the person confirm it at the bank.",
            "/specifications/unified#unified_payments",
            "Try a payment",
        )
    if clients and all(client.events_mode == "none" for client in clients):
        yield NextStep(
            "bolt",
            "Receive events",
            "Hear when a consent ends or a payment settles: at your server, or with the built-in receiver."
            if is_sandbox
            else "Give your client an Events URL, to hear when a consent ends or a payment settles.",
            f"/clients/{clients[0].client_id}/settings#events-title",
            "Set up events",
        )
    yield NextStep(
        "chart-bar",
        "Compare banks",
        "How available the banks' interfaces are, and how quickly they respond.",
        "/performance",
        "See performance",
    )
    yield NextStep(
        "book-open",
        "Build your application",
        "The guide for TPPs leads from the first request to production.",
        "/docs/guides/tpp",
        "Read the guide",
    )
    yield NextStep(
        "check-badge",
        "Look after consents",
        "See what people approved and until when, and end what is no longer needed.",
        "/consents",
        "See consents",
    )
