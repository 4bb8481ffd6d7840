"""The first page and the terms."""

from __future__ import annotations

from chalice.app import Response

from chalicelib.website.pages import Visit, page


def show_home(visit: Visit) -> Response:
    """``GET /``: what this is and, for a user, what to do next."""
    clients = visit.website.openbanking.clients.all(visit.email) if visit.email else []
    journeys = visit.website.journeys.list_latest(visit.email) if visit.email else []
    return page(
        visit,
        "home.html",
        bank_base=visit.website.shared.settings.bank_api_url,
        banks=sorted(visit.website.openbanking.banks.directory(), key=lambda bank: bank["name"].casefold()),
        clients=clients,
        journeys=journeys,
    )


def show_terms(visit: Visit) -> Response:
    """``GET /terms``."""
    return page(visit, "terms.html")
