"""The API specification screens: an OpenAPI document to read and, with Swagger UI, to try out."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from chalice.app import Response

from chalicelib.foundation import jsontext
from chalicelib.foundation.identifiers import digest
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.openbanking.protocol.versions import VERSIONS
from chalicelib.openbanking.records.client_record import Client
from chalicelib.website.openapi_documents import SCREENS, SpecificationScreen, load_document
from chalicelib.website.pages import NO_REFERRER, Visit, message_page, page
from chalicelib.website.pagination import newest_first, select_choices
from chalicelib.website.records.journeys import Journey

_PICTURES = "'self' data:"  # Swagger UI's style sheet embeds its images
_METHODS = ("get", "post", "put", "patch", "delete")
_OUTSIDE_PROD = "x-outside-prod-only"  # marks an operation that exists on every stage except ``prod``


@dataclass(frozen=True, slots=True)
class DocumentedOperation:
    """An operation of a document, or one action of an operation with several; ``place`` is its path or the action."""

    method: str
    place: str
    summary: str


@dataclass(frozen=True, slots=True)
class OperationGroup:
    """A group of operations; the title is empty if it is the only group."""

    title: str
    operations: Sequence[DocumentedOperation]


@dataclass(frozen=True, slots=True)
class ClientChoice:
    """A client to choose; ``payment_callback`` is the callback URL for its payments."""

    client_id: str
    title: str
    payment_callback: str


def show_specification(visit: Visit) -> Response:
    """``GET /specifications/{screen}``; ``state`` identifies the journey whose access token is used."""
    found = next((row for row in SCREENS if row.name == visit.incoming.uri["screen"]), None)
    if found is None:
        what, place = "There is no page with this name.", f"/specifications/{SCREENS[0].name}"
        return message_page(visit, "No such specification", what, place, "To the API", "Choose one from the menu.")
    journey = visit.website.journeys.find(visit.email, visit.field("state")) if visit.email else None
    settings = visit.website.shared.settings
    about, groups = _contents(found, settings.public_url, settings.is_sandbox)
    return page(
        visit,
        "specification.html",
        referrer=NO_REFERRER,
        pictures=_PICTURES,
        screen=found,
        screens=SCREENS,
        about=about,
        groups=groups,
        user=digest(visit.email) if visit.email else "",
        clients=_client_choices(visit, visit.email) if visit.email else (),
        payment_callback=_payment_callback_page(visit),
        first_scopes=" ".join(next(iter(VERSIONS.values())).scopes),
        journey=journey,
        access_token=_access_token(visit, journey) if journey else "",
    )


@cache
def _contents(shown: SpecificationScreen, public_url: str, is_sandbox: bool) -> tuple[str, Sequence[OperationGroup]]:
    """A screen's summary sentence and its operations, in the order of the document."""
    document = jsontext.loads(load_document(shown.document, public_url).text)
    if shown.tag is None:
        return document["info"]["summary"], _action_groups(document, is_sandbox)
    abouts = {tag["name"]: tag["description"] for tag in document["tags"]}
    operations = [
        DocumentedOperation(method.upper(), path, operation["summary"])
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
        if method in _METHODS and shown.tag in operation["tags"]
    ]
    return abouts[shown.tag], [OperationGroup("", operations)]


def _action_groups(document: dict[str, Any], is_sandbox: bool) -> Sequence[OperationGroup]:
    """The actions of a document that are available on this stage, in groups."""
    groups: dict[str, list[DocumentedOperation]] = {}
    for operations in document["paths"].values():
        for method, operation in operations.items():
            if operation.get(_OUTSIDE_PROD) and not is_sandbox:
                continue
            content = operation["requestBody"]["content"]["application/json"]
            for action, reference in content["schema"]["discriminator"]["mapping"].items():
                schema = document["components"]["schemas"][reference.rpartition("/")[2]]
                made = DocumentedOperation(method.upper(), action, content["examples"][action]["summary"])
                groups.setdefault(schema["x-group"], []).append(made)
    return [OperationGroup(title, operations) for title, operations in groups.items()]


def _client_choices(visit: Visit, email: str) -> Sequence[ClientChoice]:
    found = select_choices(newest_first(visit.website.openbanking.clients, email), active=True)
    return [ClientChoice(client.client_id, client.title, _payment_callback(visit, client)) for client in found]


def _payment_callback(visit: Visit, client: Client) -> str:
    """The ``callback_url`` for a client's payments: the client's own, or this service's page."""
    clients = visit.website.openbanking.clients
    own = clients.web_callback(client)
    return _payment_callback_page(visit) if own == clients.default_callback else own


def _payment_callback_page(visit: Visit) -> str:
    return f"{visit.website.shared.settings.public_url}/payments/callback"


def _access_token(visit: Visit, journey: Journey) -> str:
    """The access token of a journey; empty unless it is valid."""
    if journey.stage != "tokens" or (journey.access_valid_until or 0) <= visit.website.shared.clock.time():
        return ""
    return visit.website.journeys.unseal_secrets(journey).get("access_token", "")
