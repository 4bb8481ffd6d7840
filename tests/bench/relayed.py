"""The service's own relayed read and refresh, through the handler as API Gateway calls it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any


def event(method: str, path: str, headers: Mapping[str, str], body: str | None = None) -> dict[str, Any]:
    """A request as API Gateway passes it on."""
    return {
        "requestContext": {"httpMethod": method, "resourcePath": path, "identity": {"sourceIp": "127.0.0.1"}},
        "headers": headers,
        "multiValueQueryStringParameters": None,
        "pathParameters": {},
        "stageVariables": {},
        "body": body,
        "isBase64Encoded": False,
    }


def accounts_event() -> dict[str, Any]:
    """``GET /tpp/accounts`` with the consent of the scene."""
    bearer = f"Bearer {os.environ['BENCH_BEARER']}"
    return event("GET", "/tpp/accounts", {"x-api-key": os.environ["BENCH_CLIENT"], "authorization": bearer})


class Relayed:
    """One ``GET /tpp/accounts`` after the other."""

    def __init__(self) -> None:
        import app

        self._app = app.app
        self._event = accounts_event()

    def __call__(self) -> None:
        answer = self._app(self._event, None)
        if answer["statusCode"] != 200:
            raise AssertionError(answer["body"])


class Refreshed:
    """One ``POST /tpp/token`` after the other, each with the refresh token of the one before."""

    def __init__(self) -> None:
        import app

        self._app = app.app
        self._token = os.environ["BENCH_REFRESH"]

    def __call__(self) -> None:
        headers = {"x-api-key": os.environ["BENCH_CLIENT"], "content-type": "application/json"}
        body = json.dumps({"grant_type": "refresh_token", "refresh_token": self._token})
        answer = self._app(event("POST", "/tpp/token", headers, body), None)
        if answer["statusCode"] != 200:
            raise AssertionError(answer["body"])
        self._token = json.loads(answer["body"])["refresh_token"]
