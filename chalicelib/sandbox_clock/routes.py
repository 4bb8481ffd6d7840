"""The routes of the adjustable clock. The API and the page are loaded on the first request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chalice.app import Response

from chalicelib.foundation.http.web import Incoming, Routes
from chalicelib.website.page_links import CLOCK

if TYPE_CHECKING:
    from chalicelib.sandbox_clock.container import ClockContainer

PLACE = "/sandbox/clock"


def _serve_api(clock: ClockContainer, incoming: Incoming) -> Response:
    from chalicelib.sandbox_clock import clock_api

    return clock_api.serve(clock, incoming)


def _answer_api_failure(clock: ClockContainer, incoming: Incoming, error: Exception) -> Response:
    from chalicelib.sandbox_clock import clock_api

    return clock_api.answer_failure(error)


def _serve_page(clock: ClockContainer, incoming: Incoming) -> Response:
    from chalicelib.sandbox_clock import clock_views

    return clock_views.serve(clock, incoming)


def _answer_page_failure(clock: ClockContainer, incoming: Incoming, error: Exception) -> Response:
    from chalicelib.website import site

    return site.answer_failure(clock.website, incoming, error)


clock_routes = Routes["ClockContainer"](__name__, _answer_page_failure)
clock_routes.serve(PLACE, ["GET", "POST"], _serve_api, _answer_api_failure)
clock_routes.serve(CLOCK, ["GET", "POST"], _serve_page)
