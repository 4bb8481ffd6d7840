"""The parties of an end-to-end test: a TPP that speaks HTTP, and what it has at each point of its journey."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import parse_qs, urlsplit

import requests

from infra.psu_browser import Browser, approve_consent
from tests.kit.time import PATIENCE_SECONDS, wait_for
from tests.openbanking.kit import basic
from tests.payment_orders import payment_orders

T = TypeVar("T")
SCOPES = {1: ["account.list", "account.details"], 2: ["accounts"]}


@dataclass(frozen=True)
class Journey:
    """An approved authorization: the bank, the code, and the callback address it came in."""

    bank: Mapping[str, Any]
    code: str
    callback: str


class Tpp:
    """One client of the running stack."""

    def __init__(self, base: str, client_id: str, callback: str) -> None:
        self.base = base
        self.client_id = client_id
        self.callback = callback

    def call(
        self, method: str, path: str, body: Any = None, bearer: str = "", headers: Mapping[str, str] | None = None
    ) -> requests.Response:
        headers = {"X-Api-Key": self.client_id, **(headers or {})}
        headers |= {"Authorization": f"Bearer {bearer}"} if bearer else {}
        with requests.Session() as session:
            session.trust_env = False
            return session.request(method, self.base + path, json=body, headers=headers, timeout=PATIENCE_SECONDS)

    def send_form(self, path: str, form: Mapping[str, str]) -> requests.Response:
        """A call whose body is a form."""
        with requests.Session() as session:
            session.trust_env = False
            return session.post(
                self.base + path, data=form, headers={"X-Api-Key": self.client_id}, timeout=PATIENCE_SECONDS
            )

    def later(
        self, method: str, path: str, body: Any = None, bearer: str = "", headers: Mapping[str, str] | None = None
    ) -> Any:
        """Make a call without waiting for the bank; answers what is found where its outcome is to be fetched."""
        accepted = self.call(method, path, body, bearer, {"Prefer": "respond-async", **(headers or {})})
        assert accepted.status_code == 202, accepted.text

        def look() -> Any:
            found = self.call("GET", accepted.headers["Location"], bearer=bearer).json()
            return found if found["state"] in ("done", "failed") else None

        return wait_for(look, f"nothing came of {method} {path}")

    def direct_payment(self, bank: Mapping[str, Any]) -> dict[str, Any]:
        """The body of an order that needs no consent."""
        currency, back = "GBP" if bank["api_version"] == 1 else "EUR", f"{self.base}/payments/callback"
        return payment_orders(bank["api_version"], bank["bic"], "unused", currency, back).direct.to_json()

    def journey(self, bank: Mapping[str, Any], scopes: Sequence[str] = ()) -> Journey:
        """A PSU's approval of some scopes, or of few."""
        scopes = list(scopes or SCOPES[bank["api_version"]])
        asked = self.call("POST", "/tpp/authorize", {"bic": bank["bic"], "scopes": scopes}).json()
        callback = approve_consent(Browser(self.callback, lambda *_: None), asked["redirect_url"])
        return Journey(bank, parse_qs(urlsplit(callback).query)["code"][0], callback)

    def redeem(self, code: str) -> requests.Response:
        return self.call("POST", "/tpp/token", {"authorization_code": code})

    def refresh(self, token: str) -> requests.Response:
        return self.call("POST", "/tpp/token", {"refresh_token": token})


class TppWithSecret(Tpp):
    """A client that authenticates with its secret wherever it has no token."""

    def __init__(self, base: str, client_id: str, secret: str, callback: str) -> None:
        super().__init__(base, client_id, callback)
        self._basic = basic(client_id, secret)

    def call(
        self, method: str, path: str, body: Any = None, bearer: str = "", headers: Mapping[str, str] | None = None
    ) -> requests.Response:
        shown = {} if bearer else {"Authorization": self._basic}
        return super().call(method, path, body, bearer, {**shown, **(headers or {})})


def at_once(count: int, call: Callable[[], T]) -> list[T]:
    """What comes of ``count`` calls made at the same time."""
    with ThreadPoolExecutor(count) as pool:
        return [future.result() for future in [pool.submit(call) for _ in range(count)]]
