"""A programme manager who calls the card API of the running stack."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import requests

from tests.kit.time import PATIENCE_SECONDS


class ProgrammeManager:
    """A caller of the card API who may do everything."""

    def __init__(self, stack: Mapping[str, Any]) -> None:
        self._base = stack["base_url"]
        self._credentials = stack["programme"]["credentials"]["full"]

    def post(self, path: str, action: str, **members: Any) -> requests.Response:
        body = {**self._credentials, "action": action, "api_version": "1.2", **members}
        with requests.Session() as session:
            session.trust_env = False
            return session.post(self._base + path, json=body, timeout=PATIENCE_SECONDS)

    def data(self, action: str, **members: Any) -> Any:
        return self._data("/api", action, members)

    def simulated(self, action: str, **members: Any) -> Any:
        return self._data("/simulator", action, members)

    def _data(self, path: str, action: str, members: dict[str, Any]) -> Any:
        answer = self.post(path, action, **members).json()
        assert answer["status"] == "success", answer
        return answer.get("data")
