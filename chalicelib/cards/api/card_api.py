"""The endpoints ``POST /api`` (card API) and, in sandboxes, ``POST /simulator``. The handler modules are imported on
first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chalice.app import Response

from chalicelib.cards.container import CardContainer
from chalicelib.foundation import log
from chalicelib.foundation.http.web import JSON, Incoming, Routes, UnreadableBody, WrongMethod, text_answer

if TYPE_CHECKING:
    from chalicelib.cards.requests.envelope import Answer

ROUTES = ("/api", "/simulator")


def refusal(status: int) -> Response:
    """Return the error envelope for a request that no view handled. ``status`` is the HTTP status of the response."""
    return _error("NOT_JSON" if status < 500 else "INTERNAL", status=status)


def _answer_failure(cards: CardContainer, incoming: Incoming, error: Exception) -> Response:
    if isinstance(error, WrongMethod):
        return _error("NOT_JSON", "the card API accepts only POST requests with a JSON object as the body")
    if isinstance(error, UnreadableBody):
        return _error("NOT_JSON", str(error))
    log.defect("failed", error)
    return _error("INTERNAL")


def _error(code: str, message: str = "", status: int = 200) -> Response:
    from chalicelib.cards.protocol.status_codes import Refused, Status
    from chalicelib.cards.requests import envelope

    refusal = Refused(Status[code], message)
    envelope.log_refusal(refusal)
    return text_answer(envelope.error(refusal), JSON, status)


card_routes = Routes[CardContainer](__name__, _answer_failure)
simulator_routes = Routes[CardContainer](f"{__name__}.simulator", _answer_failure)


@card_routes.post(ROUTES[0])
def api(cards: CardContainer, incoming: Incoming) -> Response:
    """Carry out an action of the card API."""
    return _respond(cards.api.answer(incoming.body))


@simulator_routes.post(ROUTES[1])
def simulator(cards: CardContainer, incoming: Incoming) -> Response:
    """Carry out an action of the simulator."""
    return _respond(cards.simulator.answer(incoming.body))


def _respond(answer: Answer) -> Response:
    headers = {} if answer.retry_after is None else {"Retry-After": str(answer.retry_after)}
    return text_answer(answer.text, JSON, headers=headers)
