"""The Authorize screen: choose a client, bank and permissions, inspect the request, and send it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

from chalice.app import Response

from chalicelib.foundation.http import pages
from chalicelib.openbanking.flows.bank.directory import is_named
from chalicelib.openbanking.protocol.errors import Refusal
from chalicelib.openbanking.protocol.scopes import Scope
from chalicelib.openbanking.protocol.unified_scopes import UNIFIED_SCOPES
from chalicelib.openbanking.protocol.version import Version
from chalicelib.openbanking.protocol.webhooks import PAYMENTS, RELAYED
from chalicelib.openbanking.records.bank_record import Bank, sort_by_name
from chalicelib.openbanking.records.client_list import ClientFilter
from chalicelib.openbanking.records.client_record import Client
from chalicelib.openbanking.records.clients import UnknownClient
from chalicelib.openbanking.unified.calls import UNIFIED_PAYMENTS, UNIFIED_READS
from chalicelib.website.authorization.call_samples import authorize_programs
from chalicelib.website.authorization.drafts import create_draft, read_draft
from chalicelib.website.authorization.web_tpp_flow import AuthorizationChoice, begin_authorization, request_body
from chalicelib.website.client_choice import choose_client
from chalicelib.website.display_text import refusal_advice
from chalicelib.website.pages import Visit, page
from chalicelib.website.pagination import paginate


def show_authorization(visit: Visit) -> Response:
    """``GET /authorize``: let the user choose a client and a bank, then inspect the request."""
    choice = _read_choice(visit)
    return _first_page(visit) if choice is None else _request_page(visit, choice)


def run_authorization(visit: Visit) -> Response:
    """``POST /authorize``: send the request and redirect to the bank."""
    choice = _read_choice(visit)
    if choice is None:
        return _first_page(visit)
    try:
        return pages.see_other(visit.website.call(begin_authorization, choice))
    except Refusal as refusal:
        return _request_page(
            visit, replace(choice, draft=create_draft(visit.website.shared.clock)), refusal_advice(refusal), 400
        )


def _read_choice(visit: Visit) -> AuthorizationChoice | None:
    """Return the submitted choice, or ``None`` until a client and a bank are chosen.

    Without a draft, the page was just opened and defaults to all of the displayed scopes and a code challenge.
    """
    bank = visit.website.openbanking.banks.find(visit.field("bic"))
    client = _chosen_client(visit) if bank else None
    if client is None or bank is None:
        return None
    is_new = not visit.field("draft")
    displayed = [scope.name for scope in _displayed_scopes(visit, bank)]
    return AuthorizationChoice(
        owner=visit.user,
        client=client,
        bank=bank,
        scopes=tuple(displayed if is_new else visit.values("scope")),
        consent_type=visit.field("consent_type") or "reusable",
        with_challenge=is_new or visit.field("pkce") == "yes",
        draft=read_draft(visit.website.shared.clock, visit.field("draft")),
    )


def _shows_unified(visit: Visit, bank: Bank) -> bool:
    """Whether the page shows the unified scopes. With ``scopes=native``, it shows those of the bank's version."""
    return bool(bank.unified_scopes) and visit.field("scopes") != "native"


def _displayed_scopes(visit: Visit, bank: Bank) -> Sequence[Scope]:
    """The scopes that the user can choose."""
    return [UNIFIED_SCOPES[name] for name in bank.unified_scopes] if _shows_unified(visit, bank) else bank.scopes


def _chosen_client(visit: Visit) -> Client | None:
    """The chosen client, if it belongs to the user and is active."""
    try:
        client = visit.website.openbanking.clients.get(visit.field("client_id"), visit.user)
    except UnknownClient:
        return None
    return client if client.active else None


def _first_page(visit: Visit) -> Response:
    openbanking = visit.website.openbanking
    choice = choose_client(
        openbanking.client_list, visit.user, visit.field("client_id"), visit.last_client_id, active=True
    )
    has_none = not (choice.clients or choice.examined)
    wanted = visit.field("bank").strip()
    banks = [bank for bank in openbanking.banks.directory() if is_named(bank, wanted)]
    return page(
        visit,
        "authorize.html",
        examined=choice.examined,
        has_inactive=has_none and bool(openbanking.client_list.page(visit.user, ClientFilter(), 1).clients),
        last_client=choice.client if visit.field("client_id") else None,
        clients=choice.clients,
        chosen=choice.client.client_id if choice.client else "",
        part=paginate(sort_by_name(banks), visit.field("page")),
        wanted=visit.field("bank"),
        journeys=visit.website.journeys.list_latest(visit.user),
    )


def _request_page(visit: Visit, choice: AuthorizationChoice, problem: str = "", status: int = 200) -> Response:
    body = visit.website.call(request_body, choice)
    return page(
        visit,
        "authorize_request.html",
        status=status,
        last_client=choice.client,
        leads_to=(choice.bank.authorization_url, body["redirect_uri"]),
        choice=choice,
        is_shared_callback=body["redirect_uri"] == visit.website.openbanking.clients.default_callback,
        callback_url=body["redirect_uri"],
        body=json.dumps(body, indent=2),
        programs=authorize_programs(visit.website.shared.settings.public_url, choice.client, body),
        problem=problem,
        is_unified=_shows_unified(visit, choice.bank),
        services=_scopes_by_service(choice.bank.version, _displayed_scopes(visit, choice.bank)),
    )


def _scopes_by_service(version: Version, scopes: Sequence[Scope]) -> list[tuple[str, list[tuple[Scope, str]]]]:
    """The scopes by role, each with the calls that require it."""
    calls = _scopes_of_calls(version)
    return [
        (name, [(scope, _calls_of_scope(calls, scope)) for scope in scopes if scope.service == name])
        for name in dict.fromkeys(scope.service for scope in scopes)
    ]


def _calls_of_scope(scopes_of_calls: Mapping[str, str], scope: Scope) -> str:
    return ", ".join(call for call, name in scopes_of_calls.items() if name == scope.name)


def _scopes_of_calls(version: Version) -> Mapping[str, str]:
    """The name of the scope that each call requires, by method and path, for example ``GET /tpp/accounts``."""
    native = [(call.method, call) for call in RELAYED] + [("POST", call) for call in PAYMENTS]
    rows = [(f"{method} {call.path}", version.webhook_by_call.get(call)) for method, call in native]
    unified = {f"{call.method} {call.path}": call.scope for call in UNIFIED_READS}
    unified |= {f"POST {call.path}": call.scope for call in UNIFIED_PAYMENTS if call.scope}
    return {name: webhook.scope.name for name, webhook in rows if webhook and webhook.scope} | unified
