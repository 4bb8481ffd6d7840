"""API clients for a TPP and a programme manager that print each request and response."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping
from typing import Any, TypeVar
from urllib.parse import urljoin

import requests

from chalicelib.cards.protocol.status_codes import Status
from chalicelib.cards.protocol.values import API_VERSION
from infra.local.http_session import new_session
from infra.tour.guide import Guide

SECONDS = 15.0
"""Maximum wait; long enough for the second attempt of a delivery, which follows after 5 seconds."""
_PAUSE = 0.25

_Seen = TypeVar("_Seen")


class TourFailed(Exception):
    """The tour cannot continue; the message is one sentence."""


def wait_for(look: Callable[[], _Seen], complaint: str) -> _Seen:
    """Poll ``look`` until it returns a true value. Raises: TourFailed, with ``complaint``, after ``SECONDS``."""
    deadline = time.monotonic() + SECONDS
    while not (seen := look()):
        if time.monotonic() >= deadline:
            raise TourFailed(f"{complaint} within {SECONDS:.0f} seconds")
        time.sleep(_PAUSE)
    return seen


_SHOWN = ("Location", "Preference-Applied")


class TppCalls:
    """Calls one client's TPP API on the stack at ``base``."""

    def __init__(self, base: str, client_id: str, guide: Guide) -> None:
        self._base = base
        self._client_id = client_id
        self._guide = guide
        self._session = new_session()

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
        """Make a call. Returns the response body. Raises: TourFailed, if the status is not ``expected``."""
        return self._answer(method, path, body, bearer, expected, headers, silent).json()

    def call_later(self, method: str, path: str, body: Mapping[str, Any] | None = None, bearer: str = "") -> Any:
        """Make a deferred call and wait for it. Returns its outcome, fetched with the same bearer.

        Raises:
            TourFailed: the call failed, or did not finish in time.
        """
        accepted = self._answer(method, path, body, bearer, 202, {"Prefer": "respond-async"})
        place = urljoin(self._base, accepted.headers["Location"]).removeprefix(self._base)

        def look() -> Any:
            found = self.call("GET", place, bearer=bearer)
            return found if found["state"] in ("done", "failed") else None

        outcome = wait_for(look, f"{method} {path} did not finish")
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
            raise TourFailed(f"{method} {path} got status {answer.status_code} instead of {expected}")
        return answer


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
    def unprinted(self) -> CardCalls:
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
