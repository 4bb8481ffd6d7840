"""A hub with scripted responses, and a clock that advances when the SDK sleeps."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs

import httpx
import pytest

from causeway import _waiting
from causeway._retries import utc
from causeway.tpp import AsyncTpp, Retries, Tokens, Tpp

BASE = "https://hub.example"
START = 1_800_000_000.0
SCOPES = {
    1: "account.list account.balance account.payments payment.init",
    2: "accounts accounts.balances payments.single",
}

RETRIEVED = {"bic": "DEMODEFFXXX", "retrieved_at": "2026-11-21T09:30:00+00:00"}
ACCOUNT = {
    "account_id": "4711001",
    "name": "Girokonto",
    "currency": "EUR",
    "iban": "DE61100999000004711001",
    "bban": None,
    "sort_code": None,
    "account_number": None,
    "payment_schemes": ["SCT"],
}
INITIATED = {
    "payment_id": "P1",
    "confirmation_url": "https://bank.example/confirm",
    "status": "pending",
    "native_status": "RCVD",
}

Step = httpx.Response | Exception | Callable[[httpx.Request], httpx.Response]


def answer(status: int = 200, body: Any = None, **headers: str) -> httpx.Response:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx.Response(status, json={} if body is None else body, headers=named)


def accounts(*listed: Any, problems: Any = ()) -> httpx.Response:
    """Return a response with accounts."""
    return answer(body={**RETRIEVED, "accounts": [*listed], "problems": [*problems]})


def payment_status(status: str, *, is_final: bool = False, **members: Any) -> httpx.Response:
    """Return a response with the status of a payment."""
    found: dict[str, Any] = {
        "payment_id": "P1",
        "request_id": None,
        "kind": "single",
        "status": status,
        "is_final": is_final,
        "native_status": None,
        "outcome": None,
        "history": [],
    }
    return answer(body={**found, **members})


def failure(
    status: int, code: str, title: str = "", *, retry_after: int | None = None, **members: Any
) -> httpx.Response:
    body = {
        "code": code,
        "title": title,
        "timestamp": "2026-11-21T09:30:00+00:00",
        "requestId": "the-hubs-id",
        **members,
    }
    headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
    return httpx.Response(status, json=body, headers=headers)


def token_answer(number: int = 2, version: int = 2, expires_in: int = 3600) -> httpx.Response:
    return answer(
        body={
            "access_token": f"access-{number}",
            "token_type": "Bearer",
            "expires_in": expires_in,
            "refresh_token": f"refresh-{number}",
            "scope": SCOPES[version],
            "consent_id": "consent-1",
            "valid_until": utc(START + 180 * 86400).isoformat(),
        }
    )


def tokens(number: int = 1, version: int = 2, expires_in: float = 3600) -> Tokens:
    return Tokens(
        access_token=f"access-{number}",
        refresh_token=f"refresh-{number}",
        expires_at=utc(START + expires_in),
        scope=SCOPES[version],
        consent_id="consent-1",
        valid_until=utc(START + 180 * 86400),
    )


@dataclass
class Clock:
    seconds: float = START
    slept: list[float] = field(default_factory=list)

    def now(self) -> float:
        return self.seconds

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.seconds += seconds

    async def async_sleep(self, seconds: float) -> None:
        self.sleep(seconds)

    def install(self, patch: pytest.MonkeyPatch) -> Clock:
        for name in ("now", "sleep", "async_sleep"):
            patch.setattr(_waiting, name, getattr(self, name))
        return self


class ScriptedHub:
    """A hub that responds to requests in the order of its script, and records the requests."""

    def __init__(self, *steps: Step) -> None:
        self.steps = list(steps)
        self.requests: list[httpx.Request] = []
        self._lock = threading.Lock()

    def __call__(self, request: httpx.Request) -> httpx.Response:
        with self._lock:
            self.requests.append(request)
            assert self.steps, f"an unexpected request: {request.method} {request.url}"
            step = self.steps.pop(0)
        if isinstance(step, Exception):
            raise step
        return step if isinstance(step, httpx.Response) else step(request)

    async def asynchronously(self, request: httpx.Request) -> httpx.Response:
        return self(request)

    def tpp(self, **options: Any) -> Tpp:
        client = httpx.Client(transport=httpx.MockTransport(self))
        return Tpp(BASE, **{"client_id": "client-1", "client_secret": "secret-1", "http_client": client, **options})

    def async_tpp(self, **options: Any) -> AsyncTpp:
        client = httpx.AsyncClient(transport=httpx.MockTransport(self.asynchronously))
        return AsyncTpp(
            BASE, **{"client_id": "client-1", "client_secret": "secret-1", "http_client": client, **options}
        )

    @property
    def paths(self) -> list[str]:
        return [request.url.path for request in self.requests]

    def header(self, name: str) -> list[str | None]:
        return [request.headers.get(name) for request in self.requests]

    def json(self, number: int = -1) -> Any:
        return json.loads(self.requests[number].content)

    def form(self, number: int = -1) -> dict[str, str]:
        return {name: values[0] for name, values in parse_qs(self.requests[number].content.decode()).items()}


def repeated(step: Callable[[], Step], times: int) -> Iterable[Step]:
    return (step() for _ in range(times))


NO_RETRIES = Retries(waits=())
