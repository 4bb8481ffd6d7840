"""The API specification screens: the operations of an OpenAPI document, which the explorer's script executes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from chalice.app import Response

from chalicelib.foundation import jsontext
from chalicelib.foundation.identifiers import digest
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.openbanking.protocol.versions import VERSIONS
from chalicelib.openbanking.records.client_record import Client
from chalicelib.website.docs_index import place_of_section
from chalicelib.website.openapi_documents import SCREENS, SpecificationScreen, load_document
from chalicelib.website.pages import NO_REFERRER, Visit, message_page, page, static_files
from chalicelib.website.records.journeys import Journey
from chalicelib.website.rendered_files import cache_until_replaced

_METHODS = ("get", "post", "put", "patch", "delete")
_OUTSIDE_PROD = "x-outside-prod-only"  # marks an operation that exists on every stage except ``prod``
_BREAKS = re.compile(r"(?<=.)(?=/)|(?<=_)|(?<=[a-z])(?=[A-Z])")
_TPP_REFERENCE, _CARD_REFERENCE = "reference/tpp-api", "reference/card-actions"
_GROUPS: Mapping[str, Sequence[str]] = {
    "Every bank": (
        *("unified_accounts", "unified_account", "unified_balances", "unified_transactions"),
        *("unified_payments", "unified_bulk_payments", "unified_direct_payments", "unified_payment_status"),
        "unified_funds_confirmations",
    ),
    "Consent and tokens": (
        *("authorize", "oauth_par", "oauth_authorize", "token", "oauth_introspect", "token_revoke"),
        *("consent", "consents"),
    ),
    "Banks": ("banks", "bank", "scope"),
    "Events and deferred calls": ("events", "requests"),
    "Metadata": (
        *("well_known_oauth_authorization_server", "well_known_oauth_protected_resource"),
        "well_known_jwks_json",
    ),
    "Accounts": ("accounts", "account", "account_balance"),
    "Payments and transactions": ("account_transactions", "account_payments", "account_payment"),
    "Funds": ("funds_confirmations",),
    "Initiation": ("payment_initiation", "bulk_payment_initiation", "direct_payment_initiation"),
    "Status": ("payment_status",),
}
"""The operations of the TPP API in groups, in the order in which the specification screens list the groups."""


@dataclass(frozen=True, slots=True)
class DocumentedOperation:
    """An operation of a document, or one action of an operation that has several actions. ``place`` is the path or the
    action.

    ``reference`` is the path of the operation's description in the documentation.
    """

    operation_id: str
    method: str
    place: str
    summary: str
    reference: str

    @property
    def parts(self) -> Sequence[str]:
        """Split the path into parts, between which a line break is allowed."""
        return _BREAKS.split(self.place)


@dataclass(frozen=True, slots=True)
class OperationGroup:
    """A group of operations."""

    title: str
    operations: Sequence[DocumentedOperation]


def show_specification(visit: Visit) -> Response:
    """``GET /specifications/{screen}``: show the screen. ``state`` identifies the journey of the access token.

    With ``show=balance``, the unified screen lists the accounts and immediately shows the balances of the first one.
    """
    found = next((row for row in SCREENS if row.name == visit.incoming.uri["screen"]), None)
    if found is None:
        what, place = "There is no page with this name.", f"/specifications/{SCREENS[0].name}"
        return message_page(visit, "No such specification", what, place, "To the API", "Choose one from the menu.")
    journey = visit.website.journeys.find(visit.email, visit.field("state")) if visit.email else None
    settings = visit.website.shared.settings
    groups = _operation_groups(found, settings.public_url, settings.is_sandbox)
    return page(
        visit,
        "specification.html",
        referrer=NO_REFERRER,
        screen=found,
        screens=SCREENS,
        groups=groups,
        modules=static_files().modules("explorer.js"),
        user=digest(visit.email) if visit.email else "",
        clients=_client_options(visit, visit.email) if visit.email else (),
        payment_callback=_payment_callback_page(visit),
        first_scopes=" ".join(next(iter(VERSIONS.values())).scopes),
        journey=journey,
        access_token=_access_token(visit, journey) if journey else "",
        shows_balance=journey is not None and found.name == "unified" and visit.field("show") == "balance",
    )


@cache_until_replaced
def _operation_groups(shown: SpecificationScreen, public_url: str, is_sandbox: bool) -> Sequence[OperationGroup]:
    """A screen's operations in groups."""
    document = jsontext.loads(load_document(shown.document, public_url).text)
    return list(_tpp_groups(document, shown.tags)) if shown.tags else _action_groups(document, is_sandbox)


def _tpp_groups(document: dict[str, Any], tags: Sequence[str]) -> Iterator[OperationGroup]:
    """The operations with one of the tags, in groups."""
    found = {
        operation["operationId"]: DocumentedOperation(
            operation["operationId"], method.upper(), path, operation["summary"], _reference(f"{method} {path}")
        )
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
        if method in _METHODS and not set(tags).isdisjoint(operation["tags"])
    }
    for title, names in _GROUPS.items():
        if operations := [found[name] for name in names if name in found]:
            yield OperationGroup(title, operations)


def _reference(heading: str) -> str:
    """Return the path of a call's section in the TPP reference. The headings of sections are method and path."""
    anchor = re.sub(r"[^a-z0-9_ -]", "", heading.lower()).replace(" ", "-")
    return place_of_section(_TPP_REFERENCE, anchor)


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
                groups.setdefault(schema["x-group"], []).append(_action(method, action, content))
    return [OperationGroup(title, operations) for title, operations in groups.items()]


def _action(method: str, action: str, content: dict[str, Any]) -> DocumentedOperation:
    summary = content["examples"][action]["summary"]
    reference = place_of_section(_CARD_REFERENCE, action.lower())
    return DocumentedOperation(action, method.upper(), action, summary, reference)


def _client_options(visit: Visit, email: str) -> Sequence[tuple[Client, str]]:
    """The clients to choose from, each with the ``callback_url`` for its payments."""
    found = visit.website.openbanking.client_list.choices(email, active=True).clients
    return [(client, _payment_callback(visit, client)) for client in found]


def _payment_callback(visit: Visit, client: Client) -> str:
    """Return the ``callback_url`` for a client's payments: the client's own, or this service's page."""
    clients = visit.website.openbanking.clients
    own = clients.web_callback(client)
    return _payment_callback_page(visit) if own == clients.default_callback else own


def _payment_callback_page(visit: Visit) -> str:
    return f"{visit.website.shared.settings.public_url}/payments/callback"


def _access_token(visit: Visit, journey: Journey) -> str:
    """Return the access token of a journey, or an empty text if the token is invalid or expired."""
    if journey.stage != "tokens" or (journey.access_valid_until or 0) <= visit.website.shared.clock.time():
        return ""
    return visit.website.journeys.unseal_secrets(journey).get("access_token", "")
