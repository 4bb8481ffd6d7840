"""The tour's output: one line per step, or every request, response, event and page in full."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any

from causeway.tpp import ReceivedEvent
from chalicelib.foundation.fields.registries import currency_numbers, minor_units
from infra.command import PYTHON

_COLOURS = {"dim": "2", "bold": "1", "red": "31", "green": "32", "blue": "34", "magenta": "35", "cyan": "36"}
_SHORT = 24
_WIDTH = 100
_STEP_WIDTH = 80
_MOST_OUTCOMES = 2
_LONGEST_FINDING = 60
_TELLING = ("response_code", "funds_available", "transaction_status", "payment_status")
"""Response members that summarise a step's outcome, the most informative first."""
_COUNTED = ("accounts", "balances", "payments")
_SECRETS = ("access_token", "refresh_token", "token", "code_verifier", "events_secret")
_SENT_SECRETS = (*_SECRETS, "code")
"""A request's ``code`` is the authorization's; a response's is that of an error."""


class Guide:
    """Prints every step in full, with secrets shortened; in colour on a terminal, unless ``NO_COLOR`` is set."""

    def __init__(self) -> None:
        forced = os.environ.get("FORCE_COLOR")
        self._coloured = bool(forced) or (sys.stdout.isatty() and not os.environ.get("NO_COLOR"))

    def colour(self, name: str, text: str) -> str:
        return f"\x1b[{_COLOURS[name]}m{text}\x1b[0m" if self._coloured else text

    def chapter(self, text: str) -> None:
        print(f"\n{self.colour('bold', text)}\n{self.colour('dim', '─' * len(text))}")

    def finish(self, text: str) -> None:
        """Print the closing line of a chapter."""
        print(f"\n{self.colour('green', text)}")

    def step(self, text: str) -> None:
        print(f"\n{self.colour('cyan', '●')} {self.colour('bold', text)}")

    def request(
        self, who: str, method: str, url: str, body: Any = None, headers: Mapping[str, str] | None = None
    ) -> None:
        print(f"  {self.colour('magenta', who)} {self.colour('blue', method)} {_shorten(url)}")
        self._headers(headers)
        if body is not None:
            print(self.colour("dim", _indent(body, _SENT_SECRETS)))

    def answer(self, status: int, body: Any, note: str = "", headers: Mapping[str, str] | None = None) -> None:
        good = "green" if status < 400 else "red"
        print(f"  {self.colour(good, str(status))} {self.colour('dim', note)}".rstrip())
        self._headers(headers)
        if body is not None:
            print(_indent(body))

    def event(self, received: ReceivedEvent) -> None:
        """Print a verified event."""
        verified = f"{self.colour('green', 'verified')} {self.colour('dim', f'webhook-id {received.id}')}"
        print(f"  {self.colour('magenta', 'EVENT')} {self.colour('blue', received.event.type)}  {verified}")
        print(_indent(received.event.to_json()["data"]))

    def command(self, text: str, made: Any) -> None:
        """Print an operator command and its result."""
        print(f"  {self.colour('magenta', 'OPERATOR')} {PYTHON} -m infra.admin {text}")
        print(_indent(made))

    def line(self, what: str, said: str, after: str, *, good: bool) -> None:
        """Print a step, its result, and the state afterwards."""
        mark = self.colour("green", "✓") if good else self.colour("red", "✗")
        print(f"  {mark} {what} {self.colour('green' if good else 'red', f'{said:<42}')} {self.colour('dim', after)}")

    def print_row(self, text: str) -> None:
        """Print a row of a list."""
        print(f"    {text}")

    def print_finding(self, text: str) -> None:
        """Print a finding, such as the text of a PSU's page."""
        print(f"    {self.colour('green', text)}")

    def page(self, method: str, url: str, status: int, title: str) -> None:
        good = self.colour("green" if status < 400 else "red", str(status))
        print(
            f"  {self.colour('magenta', 'PSU')} {self.colour('blue', method)} {_shorten(url)}  {good} {_shorten(title)}"
        )

    def _headers(self, headers: Mapping[str, str] | None) -> None:
        for name, value in (headers or {}).items():
            print(f"    {self.colour('dim', f'{name}: {value}')}")


class BriefGuide(Guide):
    """Prints one line per step, ending with its outcome."""

    def __init__(self) -> None:
        super().__init__()
        self._outcomes: list[str] | None = None

    def chapter(self, text: str) -> None:
        self._end_step()
        print(f"\n{self.colour('bold', text)}")

    def finish(self, text: str) -> None:
        self._end_step()
        print(f"{self.colour('green', text)}")

    def step(self, text: str) -> None:
        self._end_step()
        print(f"  {text:<{_STEP_WIDTH}}", end="  ", flush=True)
        self._outcomes = []

    def request(
        self, who: str, method: str, url: str, body: Any = None, headers: Mapping[str, str] | None = None
    ) -> None:
        """Print nothing: the outcome follows."""

    def answer(self, status: int, body: Any, note: str = "", headers: Mapping[str, str] | None = None) -> None:
        self._add(_describe_answer(status, body))

    def event(self, received: ReceivedEvent) -> None:
        self._add(f"{received.event.type}, verified")

    def command(self, text: str, made: Any) -> None:
        self._add("done")

    def line(self, what: str, said: str, after: str, *, good: bool) -> None:
        self._add("✓" if good else "✗")

    def print_row(self, text: str) -> None:
        """Print nothing: lists are omitted."""

    def print_finding(self, text: str) -> None:
        self._add(text if len(text) <= _LONGEST_FINDING else text.partition(":")[0])

    def page(self, method: str, url: str, status: int, title: str) -> None:
        self._add("done")

    def _add(self, outcome: str) -> None:
        if self._outcomes is not None:
            self._outcomes.append(outcome)

    def _end_step(self) -> None:
        """Print the last outcomes of the step, with counts for repeated ones."""
        if self._outcomes is None:
            return
        counts = Counter(self._outcomes)
        if len(counts) > 1:
            del counts["done"]
        told = [name if count == 1 or name == "done" else f"{count} {name}" for name, count in counts.items()]
        print(self.colour("green", ", ".join(told[-_MOST_OUTCOMES:]) or "done"))
        self._outcomes = None


def _describe_answer(status: int, body: Any) -> str:
    """A response in a few words: the error, or its most informative member."""
    if not isinstance(body, dict):
        return str(status)
    if "status_code" in body:
        return f"refused, {body['status_code']}"
    if status >= 400:
        return f"{status} {body.get('code', '')}".rstrip()
    if body.get("duplicated"):
        return "the first response again"
    inner = body["data"] if isinstance(body.get("data"), dict) else body
    told = [f"{name.replace('_', ' ')} {_word(inner[name])}" for name in _TELLING if name in inner]
    lists = [f"{len(value)} {name}" for name, value in inner.items() if isinstance(value, list) and name in _COUNTED]
    return (told or lists or ["done"])[0]


def _word(value: Any) -> str:
    return str(value) if not isinstance(value, bool) else "yes" if value else "no"


def _indent(body: Any, secrets: Collection[str] = _SECRETS) -> str:
    return "\n".join(f"    {line}" for line in _json_lines(_mask(secrets, body)))


def _json_lines(value: Any) -> list[str]:
    """Pretty-printed JSON lines; a value that fits stays on one line."""
    whole = json.dumps(value, ensure_ascii=False)
    if len(whole) <= _WIDTH or not isinstance(value, dict | list) or not value:
        return [whole]
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    lines = [opening]
    names = [f"{json.dumps(name)}: " for name in value] if isinstance(value, dict) else [""] * len(value)
    inner = list(value.values()) if isinstance(value, dict) else value
    for number, (name, member) in enumerate(zip(names, inner, strict=True), 1):
        first, *rest = _json_lines(member)
        lines += [f"  {name}{first}", *(f"  {line}" for line in rest)]
        lines[-1] += "," if number < len(inner) else ""
    return [*lines, closing]


def _mask(secrets: Collection[str], value: Any, name: str = "") -> Any:
    if isinstance(value, dict):
        return {key: _mask(secrets, inner, key) for key, inner in value.items()}
    if isinstance(value, list):
        return [_mask(secrets, inner) for inner in value]
    return f"{value[:_SHORT]}…" if name in secrets and isinstance(value, str) else value


def _shorten(text: str) -> str:
    return text if len(text) <= 88 else f"{text[:87]}…"


def format_amount(amount: int, currency: int, *, signed: bool = False) -> str:
    """Format an amount in minor units of a currency (ISO 4217, numeric), e.g. ``12.50 EUR``."""
    digits = minor_units()[currency]
    whole, rest = divmod(abs(amount), 10**digits)
    sign = "-" if amount < 0 else "+" if signed else ""
    decimals = f".{rest:0{digits}}" if digits else ""
    return f"{sign}{whole:,}{decimals} {currency_numbers()[currency]}"
