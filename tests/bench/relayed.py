"""The service's own relayed read, through the handler as API Gateway calls it; run as a program, its cold start."""

from __future__ import annotations

import os
from typing import Any


class Relayed:
    """One ``GET /tpp/accounts`` after the other."""

    def __init__(self) -> None:
        import app

        self._app = app.app
        self._event: dict[str, Any] = {
            "requestContext": {
                "httpMethod": "GET",
                "resourcePath": "/tpp/accounts",
                "identity": {"sourceIp": "127.0.0.1"},
            },
            "headers": {
                "x-api-key": os.environ["BENCH_CLIENT"],
                "authorization": f"Bearer {os.environ['BENCH_BEARER']}",
            },
            "multiValueQueryStringParameters": None,
            "pathParameters": {},
            "stageVariables": {},
            "body": None,
        }

    def __call__(self) -> None:
        answer = self._app(self._event, None)
        if answer["statusCode"] != 200:
            raise AssertionError(answer["body"])


if __name__ == "__main__":
    Relayed()()
