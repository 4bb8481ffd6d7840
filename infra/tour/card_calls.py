"""A client of the card API that prints each request and response."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chalicelib.cards.protocol.status_codes import Status
from chalicelib.cards.protocol.values import API_VERSION
from infra.local.http_session import new_session
from infra.tour.guide import Guide
from infra.tour.polling import TourFailed

_CREDENTIALS = ("access_key", "access_api_id", "access_api_key")


class CardCalls:
    """Calls the card API on the stack at ``base`` with the three parts of ``credential``; prints the calls to
    ``guide``, if any.
    """

    def __init__(self, base: str, credential: Mapping[str, str], guide: Guide | None) -> None:
        self._base = base
        self._credential = {name: credential[name] for name in _CREDENTIALS}
        self._guide = guide
        self._session = new_session()

    @property
    def without_output(self) -> CardCalls:
        """The same client without output."""
        return CardCalls(self._base, self._credential, None)

    def ask(self, action: str, refused: Status | None = None, *, silent: bool = False, **members: Any) -> Any:
        """Call an action. Returns the envelope. ``silent`` abbreviates a body that was printed before. Raises:
        TourFailed.
        """
        return self._post("/api", action, refused, members, silent=silent)

    def simulate(self, action: str, **members: Any) -> Any:
        """Call a simulator action. Returns the envelope. Raises: TourFailed."""
        return self._post("/simulator", action, None, members)

    def _post(
        self, path: str, action: str, refused: Status | None, members: Mapping[str, Any], *, silent: bool = False
    ) -> Any:
        """Send a request. Returns the envelope. Raises: TourFailed, if its status code is not ``refused`` (``None``:
        success).
        """
        asked = {"action": action, "api_version": API_VERSION, **members}
        if self._guide:
            self._guide.request("PM", "POST", f"{self._base}{path}", "(the same body)" if silent else asked)
        answer = self._session.post(f"{self._base}{path}", json={**self._credential, **asked}, timeout=30)
        envelope = answer.json()
        if self._guide:
            self._guide.answer(answer.status_code, envelope)
        if envelope.get("status_code") != refused:
            raise TourFailed(f"{action} returned {envelope.get('message', 'success')}")
        return envelope
