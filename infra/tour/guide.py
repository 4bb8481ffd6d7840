"""Prints the tour: one line per step with its outcome or, in detail mode, every request, response, event and page."""

from __future__ import annotations

import json
import os
import re
import ssl
import sys
from collections import Counter
from typing import Any
from urllib.parse import parse_qsl

import httpx

from causeway.tpp import ReceivedEvent

_COLOURS = {"dim": "2", "bold": "1", "green": "32", "magenta": "35"}
_WIDTH, _STEP_WIDTH, _MOST_OUTCOMES = 100, 80, 2
_HEADERS = ("Idempotency-Key", "Prefer", "Location", "Preference-Applied", "Server-Timing")
_TELLING = ("response_code", "funds_available")
"""Response members that summarise a step's outcome, the most informative first."""
_COUNTED = ("accounts", "balances", "transactions")
_SECRET = re.compile(r'("(?:\w*token|code|code_verifier|events_secret|access_\w+)": ")(?![A-Z_]+")([^"]{8})[^"]+')
"""Names of members with a secret, which is shortened. A ``code`` in capital letters is an error code, not a secret."""


class TourFailed(Exception):
    """The tour cannot continue. The message is one sentence."""


class Guide:
    """Prints the tour. The output is coloured on a terminal, unless ``NO_COLOR`` is set."""

    def __init__(self, *, detail: bool) -> None:
        forced, refused = os.environ.get("FORCE_COLOR"), os.environ.get("NO_COLOR")
        self._is_coloured = bool(forced) or (sys.stdout.isatty() and not refused)
        self._detail = detail
        self._outcomes: list[str] = []
        self._is_in_step = False
        self._last_body = b""

    def chapter(self, text: str) -> None:
        self.finish("")
        print(self._colour("bold", text))

    def finish(self, text: str) -> None:
        """Print the closing line of a chapter."""
        self._end_step()
        print(self._colour("green", text))

    def step(self, text: str) -> None:
        self._end_step()
        self._is_in_step = True
        if self._detail:
            print(f"\n● {self._colour('bold', text)}")
        else:
            print(f"  {text:<{_STEP_WIDTH}}", end="  ", flush=True)

    def say(self, outcome: str, who: str, what: str, *lines: str) -> None:
        """Print a person's action. In detail mode, also print the details. Otherwise, store the outcome, which is
        printed at the end of the step.
        """
        if self._detail:
            print(f"  {self._colour('magenta', who)} {what}".rstrip())
            for line in "\n".join(lines).splitlines():
                print(self._colour("dim", f"    {line}"))
        elif outcome:
            self._outcomes.append(outcome)

    def event(self, received: ReceivedEvent) -> None:
        """Print a received event after its signature was verified."""
        name = received.event.type
        data = format_json(received.event.to_json()["data"])
        self.say(f"{name}, verified", "EVENT", f"{name}  verified webhook-id {received.id}", data)

    def page(self, method: str, url: str, status: int, title: str) -> None:
        """Print a page that the PSU loads."""
        self.say("done", "PSU", f"{method} {url}  {status} {title}")

    def http_client(self, who: str) -> httpx.Client:
        """Create a client of the running stack that prints the requests of ``who`` and the responses."""
        authorities = ssl.create_default_context(cafile=os.environ.get("OUTBOUND_CA_FILE") or None)

        def request(sent: httpx.Request) -> None:
            is_repeat, self._last_body = sent.content == self._last_body, sent.content
            body = "(the same body)" if is_repeat else format_json(_body(sent))
            self.say("", who, f"{sent.method} {sent.url}", *_headers(sent), body if sent.content else "")

        def answer(received: httpx.Response) -> None:
            status, body = received.status_code, json.loads(received.read())
            self.say(_describe(status, body), str(status), "", *_headers(received), format_json(body))

        hooks: dict[str, list[Any]] = {"request": [request], "response": [answer]}
        return httpx.Client(trust_env=False, verify=authorities, timeout=30, event_hooks=hooks)

    def _end_step(self) -> None:
        if self._is_in_step and not self._detail:
            counts = Counter(self._outcomes)
            if len(counts) > 1:
                del counts["done"]
            outcomes = [name if count == 1 or name == "done" else f"{count} {name}" for name, count in counts.items()]
            print(self._colour("green", ", ".join(outcomes[-_MOST_OUTCOMES:]) or "done"))
        self._outcomes, self._is_in_step = [], False

    def _colour(self, name: str, text: str) -> str:
        return f"\x1b[{_COLOURS[name]}m{text}\x1b[0m" if self._is_coloured and text else text


def format_json(body: Any) -> str:
    """Format JSON with shortened secrets, on a single line if the line is short enough."""
    whole = _SECRET.sub(r"\1\2…", json.dumps(body, ensure_ascii=False))
    return whole if len(whole) <= _WIDTH else _SECRET.sub(r"\1\2…", json.dumps(body, ensure_ascii=False, indent=2))


def _headers(message: httpx.Request | httpx.Response) -> list[str]:
    return [f"{name}: {message.headers[name]}" for name in _HEADERS if name in message.headers]


def _body(request: httpx.Request) -> Any:
    is_form = request.headers.get("Content-Type") == "application/x-www-form-urlencoded"
    return dict(parse_qsl(request.content.decode())) if is_form else json.loads(request.content or "null")


def _describe(status: int, body: Any) -> str:
    if "status_code" in body:
        return f"refused, {body['status_code']}"
    if status >= 400:
        return f"{status} {body.get('code', '')}".rstrip()
    if body.get("duplicated"):
        return "the first response again"
    if "is_final" in body:
        return f"payment {body['status']}"
    inner = body["data"] if isinstance(body.get("data"), dict) else body
    words = {name: "yes" if inner[name] is True else inner[name] for name in _TELLING if name in inner}
    members = [f"{name.replace('_', ' ')} {word}" for name, word in words.items()]
    lists = [f"{len(value)} {name}" for name, value in inner.items() if isinstance(value, list) and name in _COUNTED]
    return (members or lists or ["done"])[0]
