"""The TPP's calls of the service, each shown as it is made and as it is answered."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any
from urllib.parse import urljoin

import requests

from infra.tour.guide import Guide
from infra.tour.patience import TourFailed, until

_SHOWN = ("Location", "Preference-Applied")


class Calls:
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
        """Answers the body of the answer. Raises: TourFailed, when its status is not the ``expected`` one."""
        return self._answer(method, path, body, bearer, expected, headers, silent).json()

    def call_later(self, method: str, path: str, body: Mapping[str, Any] | None = None, bearer: str = "") -> Any:
        """Have the bank asked while nobody waits; answers what came of it, fetched with the same bearer.

        Raises:
            TourFailed.
        """
        accepted = self._answer(method, path, body, bearer, 202, {"Prefer": "respond-async"})
        place = urljoin(self._base, accepted.headers["Location"]).removeprefix(self._base)

        def look() -> Any:
            found = self.call("GET", place, bearer=bearer)
            return found if found["state"] in ("done", "failed") else None

        outcome = until(look, f"nothing came of {method} {path}")
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
