"""The routes of both demonstration banks, and what they do every minute without a caller.

What stands behind them is loaded when somebody first goes there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from chalice.app import Rate, Response

from chalicelib.demo_bank.profiles import PROFILES, Profile
from chalicelib.foundation.http.web import Incoming, Routes

_PLACES = {"": ["GET"], "/{first}": ["GET", "POST"], "/{first}/{second}": ["GET", "POST"]}


def build() -> Routes:
    """The blueprint of both banks."""
    routes = Routes(__name__, _failed)
    for profile in PROFILES:
        for place, methods in _PLACES.items():
            routes.serve(f"/demo-bank/{profile.name}{place}", methods, _view(profile))
    return routes


def _view(profile: Profile) -> Callable[[Incoming], Response]:
    def view(incoming: Incoming) -> Response:
        from chalicelib.demo_bank import site

        return site.serve(profile.name, incoming)

    return view


def _failed(incoming: Incoming, error: Exception) -> Response:
    from chalicelib.demo_bank import site

    return site.failed(incoming, error)


bank_routes = build()


@bank_routes.schedule(Rate(1, unit=Rate.MINUTES), name="settle")
def settle(event: Any) -> None:
    """Every minute: settle the payments that are due, cancel those that expired, tell the service what it missed."""
    from chalicelib.demo_bank import clearing

    clearing.run()
