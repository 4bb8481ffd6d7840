"""Calls of a TPP and of a programme manager, each shown with its answer."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping
from typing import Any, TypeVar
from urllib.parse import urljoin

import requests

from chalicelib.cards.protocol.status_codes import Status
from chalicelib.cards.protocol.values import API_VERSION
from infra.tour.guide import Guide

SECONDS = 15.0
"""Long enough for a delivery's second attempt, after 5 seconds."""
_PAUSE = 0.25

_Seen = TypeVar("_Seen")


class TourFailed(Exception):
    """The tour cannot go on; the message is one sentence."""


def wait_for(look: Callable[[], _Seen], complaint: str) -> _Seen:
    """Poll until there is a result. Raises: TourFailed, with ``complaint``."""
    deadline = time.monotonic() + SECONDS
    while not (seen := look()):
        if time.monotonic() >= deadline:
            raise TourFailed(f"{complaint} within {SECONDS:.0f} seconds")
        time.sleep(_PAUSE)
    return seen


_SHOWN = ("Location", "Preference-Applied")


class TppCalls:
    """One client's calls of a stack at ``base``."""

    def __init__(self, base: str, client_id: str, guide: Guide) -> None:
        self._base = base
        self._client_id = client_id
        self._guide = guide
        self._session = requests.Session()
        self._session.trust_env = False

    def call(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        bearer: str = "",
        expected: int = 200,
        headers: Mapping[str, str] | None = None,
        silent: bool = False,
    ) -> Any:
        """Make a call; returns the body of the answer. Raises: TourFailed, if its status is not ``expected``."""
        return self._answer(method, path, body, bearer, expected, headers, silent).json()

    def call_later(self, method: str, path: str, body: Mapping[str, Any] | None = None, bearer: str = "") -> Any:
        """Make a deferred call; answers its outcome, fetched with the same bearer.

        Raises:
            TourFailed.
        """
        accepted = self._answer(method, path, body, bearer, 202, {"Prefer": "respond-async"})
        place = urljoin(self._base, accepted.headers["Location"]).removeprefix(self._base)

        def look() -> Any:
            found = self.call("GET", place, bearer=bearer)
            return found if found["state"] in ("done", "failed") else None

        outcome = wait_for(look, f"nothing came of {method} {path}")
        if outcome["state"] == "failed":
            raise TourFailed(f"{method} {path} failed with status {outcome['status']}")
        return outcome["body"]

    def _answer(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None,
        bearer: str,
        expected: int,
        headers: Mapping[str, str] | None,
        silent: bool = False,
    ) -> requests.Response:
        sent = {"X-Api-Key": self._client_id, "X-Request-Id": str(uuid.uuid4()), **(headers or {})}
        sent |= {"Authorization": f"Bearer {bearer}"} if bearer else {}
        self._guide.request("TPP", method, f"{self._base}{path}", "(the same body)" if silent else body, headers)
        answer = self._session.request(method, f"{self._base}{path}", json=body, headers=sent, timeout=30)
        told = {name: answer.headers[name] for name in _SHOWN if name in answer.headers}
        self._guide.answer(answer.status_code, answer.json(), answer.headers.get("Server-Timing", ""), told)
        if answer.status_code != expected:
            raise TourFailed(f"{method} {path} was answered with {answer.status_code} instead of {expected}")
        return answer


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
    def unprinted(self) -> CardCalls:
        """The same caller with other words for its requests."""
        return CardCalls(self._base, self._credential, None)

    def ask(self, action: str, refused: Status | None = None, *, silent: bool = False, **members: Any) -> Any:
        """Call an action; answers the envelope. ``silent`` if the same body was shown before. Raises: TourFailed."""
        return self._post("/api", action, refused, members, silent=silent)

    def simulate(self, action: str, **members: Any) -> Any:
        """Call an action of the simulator. Raises: TourFailed."""
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
