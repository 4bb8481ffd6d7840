"""The Chalice application. Chalice's own error responses are rewritten in the service's formats."""

from __future__ import annotations

from typing import Any

from chalice.app import Response

from chalicelib.bootstrap import Hub, hub
from chalicelib.cards.api import card_api
from chalicelib.foundation import log
from chalicelib.foundation.http.web import OTHERS, RestApi
from chalicelib.foundation.identifiers import new_uuid, read_uuid
from chalicelib.openbanking.api.answers import refusal_answer
from chalicelib.openbanking.protocol import refusals
from chalicelib.statistics.current_call import CurrentCall

_HEADERS = {"X-Content-Type-Options": "nosniff"}
_HTTPS = {"Strict-Transport-Security": "max-age=31536000"}
"""HSTS for one year (RFC 6797), for this host only, without its subdomains."""


class Application(RestApi):
    """The Chalice application, which rewrites Chalice's own error responses in the service's formats."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.api.binary_types = []  # binary responses encode themselves: Chalice refuses them without a fitting Accept

    def __call__(self, event: Any, context: Any) -> dict[str, Any]:
        process = hub()
        with process.statistics.measurements.measure() as call:
            place = event.get("requestContext") or {}
            call.route, call.method = str(place.get("resourcePath")), str(place.get("httpMethod"))
            answer = self._answer(process, event, context, call)
            call.status, call.request_id = answer["statusCode"], answer["headers"].get("X-Request-Id", "")
        return answer

    def _answer(self, process: Hub, event: Any, context: Any, call: CurrentCall) -> dict[str, Any]:
        route, method = call.route, call.method
        try:
            answer = super().__call__(self._with_known_method(event, route, method), context)
            if "X-Request-Id" not in answer["headers"]:
                answer = _own_answer(event, route, answer["statusCode"])
        except Exception:
            log.exception("unhandled", route=route)
            answer = _own_answer(event, route, 500)
        milliseconds = round((process.clock.monotonic() - call.started) * 1000, 1)
        if route.startswith("/tpp/"):
            answer["headers"]["Server-Timing"] = _server_timing(
                answer["headers"].get("Server-Timing", ""), milliseconds
            )
        answer["headers"] = {**_HEADERS, **(_HTTPS if process.settings.requires_https else {}), **answer["headers"]}
        log.info("request", method=method, route=route, status=answer["statusCode"], milliseconds=milliseconds)
        return answer

    def _with_known_method(self, event: Any, route: str, method: str) -> Any:
        views = self.routes.get(route, {})
        if OTHERS not in views or method in views:
            return event
        return {**event, "httpMethod": method, "requestContext": {**event["requestContext"], "httpMethod": OTHERS}}


def _server_timing(known: str, milliseconds: float) -> str:
    """Return the ``Server-Timing`` header with the service's own time added. ``known`` may already contain the bank's
    time.
    """
    bank = float(known.partition("bank;dur=")[2] or 0)
    own = f"hub;dur={max(milliseconds - bank, 0):.1f}"
    return f"{known}, {own}" if known else own


def _own_answer(event: Any, route: str, status: int) -> dict[str, Any]:
    """Return the response for an error that Chalice raised outside a view, in the format of the route's interface."""
    given = {name.lower(): value for name, value in (event.get("headers") or {}).items()}.get("x-request-id", "")
    request_id = read_uuid(given) or new_uuid()
    response = card_api.refusal(status) if route in card_api.ROUTES else _open_banking_answer(route, status, request_id)
    response.headers["X-Request-Id"] = request_id
    answer: dict[str, Any] = response.to_dict()
    return answer


def _open_banking_answer(route: str, status: int, request_id: str) -> Response:
    row = refusals.HEADERS_WRONG if status < 500 else refusals.FAILED_OUTSIDE_A_VIEW
    return refusal_answer(route, row(), request_id, hub().clock.time())
