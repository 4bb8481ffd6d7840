"""The routes of the demonstration banks. Pages are imported on the first request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chalice.app import Response

from chalicelib.demo_bank.profiles import PROFILES, Profile
from chalicelib.foundation.http.web import API_KEY_CHALLENGE, Incoming, Routes, View

if TYPE_CHECKING:
    from chalicelib.demo_bank.runtime import Services

_PATHS = {"": ["GET"], "/{first}": ["GET", "POST"], "/{first}/{second}": ["GET", "POST"]}


def build() -> Routes[Services]:
    """Build the blueprint of all banks."""
    routes = Routes["Services"](__name__, _answer_failure, challenge=API_KEY_CHALLENGE)
    for profile in PROFILES:
        for place, methods in _PATHS.items():
            routes.serve(f"/demo-bank/{profile.name}{place}", methods, _view(profile))
    return routes


def _view(profile: Profile) -> View[Services]:
    def view(host: Services, incoming: Incoming) -> Response:
        from chalicelib.demo_bank import site

        return site.serve(host, profile.name, incoming)

    return view


def _answer_failure(host: Services, incoming: Incoming, error: Exception) -> Response:
    from chalicelib.demo_bank import site

    return site.answer_failure(host, incoming, error)


demo_bank_routes = build()
