"""``python -m infra.tour``: a TPP and a PSU on their way through both demonstration banks, with all that is said."""

from __future__ import annotations

import json
import os
import sys
import uuid
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs, urlsplit

import requests

from infra.tour.browser import Browser, Stuck, approve

_COLOURS = {"dim": "2", "bold": "1", "red": "31", "green": "32", "blue": "34", "magenta": "35", "cyan": "36"}
_SHORT = 24
_WIDTH = 100
_SECRETS = ("access_token", "refresh_token", "authorization_code", "token")
_SCOPES = {1: ["account.list", "account.details"], 2: ["accounts"]}


class TourFailed(Exception):
    """An answer was not the one that the tour needs to go on."""


class Guide:
    """Prints what happens; in colour on a terminal, unless ``NO_COLOR`` is set."""

    def __init__(self) -> None:
        forced = os.environ.get("FORCE_COLOR")
        self._coloured = bool(forced) or (sys.stdout.isatty() and not os.environ.get("NO_COLOR"))

    def colour(self, name: str, text: str) -> str:
        return f"\x1b[{_COLOURS[name]}m{text}\x1b[0m" if self._coloured else text

    def chapter(self, text: str) -> None:
        print(f"\n{self.colour('bold', text)}\n{self.colour('dim', '─' * len(text))}")

    def step(self, text: str) -> None:
        print(f"\n{self.colour('cyan', '●')} {self.colour('bold', text)}")

    def request(self, who: str, method: str, url: str, body: Any = None) -> None:
        print(f"  {self.colour('magenta', who)} {self.colour('blue', method)} {_short(url)}")
        if body is not None:
            print(self.colour("dim", _indented(body)))

    def answer(self, status: int, body: Any, note: str = "") -> None:
        good = "green" if status < 400 else "red"
        print(f"  {self.colour(good, str(status))} {self.colour('dim', note)}".rstrip())
        if body is not None:
            print(_indented(body))

    def page(self, method: str, url: str, status: int, title: str) -> None:
        good = self.colour("green" if status < 400 else "red", str(status))
        print(f"  {self.colour('magenta', 'PSU')} {self.colour('blue', method)} {_short(url)}  {good} {_short(title)}")


class Tour:
    """One client's way through one bank after the other."""

    def __init__(self, base: str, client_id: str, callback: str, guide: Guide) -> None:
        self._base = base
        self._client_id = client_id
        self._callback = callback
        self._guide = guide
        self._session = requests.Session()
        self._session.trust_env = False

    def bank(self, bic: str, name: str, version: int) -> None:
        """The whole journey at one bank. Raises: TourFailed, Stuck."""
        guide = self._guide
        guide.chapter(f"{name} ({bic}, version {version})")

        guide.step("The TPP asks for an authorization")
        asked = self._call("POST", "/tpp/authorize", {"bic": bic, "scopes": _SCOPES[version]})

        guide.step("The PSU follows the redirect to the bank, signs in, chooses accounts and confirms")
        callback = approve(Browser(self._callback, guide.page), asked["redirect_url"])
        query = {key: values[0] for key, values in parse_qs(urlsplit(callback).query).items()}
        if query.get("state") != asked["state"]:
            raise TourFailed("the state that came back is not the one that was sent")

        guide.step("The TPP exchanges the code for tokens")
        tokens = self._call("POST", "/tpp/token", {"authorization_code": query["authorization_code"]})

        guide.step("The TPP reads the PSU's accounts: the hub asks the bank with a signed webhook")
        accounts = self._call("GET", "/tpp/accounts", bearer=tokens["access_token"])["accounts"]
        if not accounts:
            raise TourFailed("the bank answered with no account")
        identifier = accounts[0]["id"] if version == 1 else accounts[0]["resource_id"]
        self._call("GET", f"/tpp/account?account_id={identifier}", bearer=tokens["access_token"])

        guide.step("The TPP refreshes its tokens")
        tokens = self._call("POST", "/tpp/token", {"refresh_token": tokens["refresh_token"]})

        guide.step("The TPP ends the consent; from the very next call on its token is worth nothing")
        self._call("POST", "/tpp/token/revoke", {"token": tokens["access_token"]})
        self._call("GET", "/tpp/accounts", bearer=tokens["access_token"], expected=401)

    def _call(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, bearer: str = "", expected: int = 200
    ) -> Any:
        headers = {"X-Api-Key": self._client_id, "X-Request-Id": str(uuid.uuid4())}
        headers |= {"Authorization": f"Bearer {bearer}"} if bearer else {}
        self._guide.request("TPP", method, f"{self._base}{path}", body)
        answer = self._session.request(method, f"{self._base}{path}", json=body, headers=headers, timeout=30)
        shown = answer.json()
        self._guide.answer(answer.status_code, shown, answer.headers.get("Server-Timing", ""))
        if answer.status_code != expected:
            raise TourFailed(f"{method} {path} was answered with {answer.status_code} instead of {expected}")
        return shown


def _indented(body: Any) -> str:
    return "\n".join(f"    {line}" for line in _laid_out(_masked(body)))


def _laid_out(value: Any) -> list[str]:
    """JSON in lines: what fits into one line stays in one."""
    whole = json.dumps(value, ensure_ascii=False)
    if len(whole) <= _WIDTH or not isinstance(value, dict | list) or not value:
        return [whole]
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    lines = [opening]
    names = [f"{json.dumps(name)}: " for name in value] if isinstance(value, dict) else [""] * len(value)
    inner = list(value.values()) if isinstance(value, dict) else value
    for number, (name, member) in enumerate(zip(names, inner, strict=True), 1):
        first, *rest = _laid_out(member)
        lines += [f"  {name}{first}", *(f"  {line}" for line in rest)]
        lines[-1] += "," if number < len(inner) else ""
    return [*lines, closing]


def _masked(value: Any, name: str = "") -> Any:
    if isinstance(value, dict):
        return {key: _masked(inner, key) for key, inner in value.items()}
    if isinstance(value, list):
        return [_masked(inner) for inner in value]
    return f"{value[:_SHORT]}…" if name in _SECRETS and isinstance(value, str) else value


def _short(text: str) -> str:
    return text if len(text) <= 88 else f"{text[:87]}…"


def run(stack: Mapping[str, Any]) -> None:
    """Play the tour against a stack. Raises: TourFailed, Stuck."""
    guide = Guide()
    client = stack["client"]
    tour = Tour(stack["base_url"], client["client_id"], client["callback_url"], guide)
    for bank in stack["banks"]:
        tour.bank(bank["bic"], bank["name"], bank["api_version"])
    print(f"\n{guide.colour('green', 'Both banks done.')}")


def main() -> int:
    """The running stack if there is one, else one of its own."""
    from infra.local import background, stackfile

    try:
        running = stackfile.running()
        if running is not None:
            run(running)
            return 0
        print("No stack is running: starting one for the tour.")
        with background.started() as own:
            run(own)
    except (TourFailed, Stuck, requests.RequestException) as error:
        print(f"The tour ended early: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
