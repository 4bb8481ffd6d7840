"""The routes of both demonstration banks. What stands behind them is loaded when somebody first goes there."""

from __future__ import annotations

from typing import Any

from chalice.app import Blueprint, Request, Response

from chalicelib.demo_bank.profiles import PROFILES, Profile
from chalicelib.foundation.web import ANY_CONTENT, Incoming, answering

_PLACES = {"": ["GET"], "/{first}": ["GET", "POST"], "/{first}/{second}": ["GET", "POST"]}


def build() -> Blueprint:
    """The blueprint of both banks."""
    blueprint = Blueprint(__name__)

    def current() -> Request:
        return blueprint.current_request

    for profile in PROFILES:
        view = _view(profile, current)
        for place, methods in _PLACES.items():
            name = f"demo_bank_{profile.name}_{place.count('/')}"
            path = f"/demo-bank/{profile.name}{place}"
            blueprint.route(path, methods=methods, name=name, content_types=ANY_CONTENT)(view)
    return blueprint


def _view(profile: Profile, current: Any) -> Any:
    def view(incoming: Incoming) -> Response:
        from chalicelib.demo_bank import site

        return site.serve(profile.name, incoming)

    def failed(incoming: Incoming, error: Exception) -> Response:
        from chalicelib.demo_bank import site

        return site.failed(profile.name, incoming, error)

    return answering(current, failed)(view)


bank_routes = build()
