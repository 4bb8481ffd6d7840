"""A programme manager's requests of the card API, each shown as it is made and as it is answered, or told in a line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import requests

from chalicelib.cards.protocol.status_codes import Status
from chalicelib.cards.protocol.values import API_VERSION
from infra.tour.guide import Guide
from infra.tour.patience import TourFailed

_CREDENTIALS = ("access_key", "access_api_id", "access_api_key")


class CardCalls:
    """Requests of a stack at ``base`` with ``credential``, which has its three parts; shown if there is a ``guide``."""

    def __init__(self, base: str, credential: Mapping[str, str], guide: Guide | None) -> None:
        self._base = base
        self._credential = {name: credential[name] for name in _CREDENTIALS}
        self._guide = guide
        self._session = requests.Session()
        self._session.trust_env = False

    @property
    def unseen(self) -> CardCalls:
        """The same caller, whose requests are told in other words."""
        return CardCalls(self._base, self._credential, None)

    def ask(self, action: str, refused: Status | None = None, *, silent: bool = False, **members: Any) -> Any:
        """The envelope that an action answers; ``silent`` when the same body was shown before. Raises: TourFailed."""
        return self._post("/api", action, refused, members, silent=silent)

    def simulate(self, action: str, **members: Any) -> Any:
        """The same of an action of the simulator. Raises: TourFailed."""
        return self._post("/simulator", action, None, members)

    def _post(
        self, path: str, action: str, refused: Status | None, members: Mapping[str, Any], *, silent: bool = False
    ) -> Any:
        """The envelope. Raises: TourFailed, unless it is a success, or the error that is expected."""
        asked = {"action": action, "api_version": API_VERSION, **members}
        if self._guide:
            self._guide.request("PM", "POST", f"{self._base}{path}", "(the same body)" if silent else asked)
        answer = self._session.post(f"{self._base}{path}", json={**self._credential, **asked}, timeout=30)
        envelope = answer.json()
        if self._guide:
            self._guide.answer(answer.status_code, envelope)
        if envelope.get("status_code") != refused:
            raise TourFailed(f"{action} was answered with {envelope.get('message', 'success')}")
        return envelope
