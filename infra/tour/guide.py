"""What the tour prints: requests, answers, events, pages, amounts: in colour on a terminal, with secrets shortened."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from typing import Any

from chalicelib.foundation.fields.registries import currency_numbers, minor_units
from infra.command import PYTHON

_COLOURS = {"dim": "2", "bold": "1", "red": "31", "green": "32", "blue": "34", "magenta": "35", "cyan": "36"}
_SHORT = 24
_WIDTH = 100
_SECRETS = ("access_token", "refresh_token", "authorization_code", "token", "events_secret")


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

    def request(
        self, who: str, method: str, url: str, body: Any = None, headers: Mapping[str, str] | None = None
    ) -> None:
        print(f"  {self.colour('magenta', who)} {self.colour('blue', method)} {_shorten(url)}")
        self._headers(headers)
        if body is not None:
            print(self.colour("dim", _indent(body)))

    def answer(self, status: int, body: Any, note: str = "", headers: Mapping[str, str] | None = None) -> None:
        good = "green" if status < 400 else "red"
        print(f"  {self.colour(good, str(status))} {self.colour('dim', note)}".rstrip())
        self._headers(headers)
        if body is not None:
            print(_indent(body))

    def event(self, name: str, message_id: str, data: Any) -> None:
        """An event that came, and whose signature is right."""
        verified = f"{self.colour('green', 'verified')} {self.colour('dim', f'webhook-id {message_id}')}"
        print(f"  {self.colour('magenta', 'EVENT')} {self.colour('blue', name)}  {verified}")
        print(_indent(data))

    def command(self, text: str, made: Any) -> None:
        """What the operator does, as the command line has it, and what that makes."""
        print(f"  {self.colour('magenta', 'OPERATOR')} {PYTHON} -m infra.admin {text}")
        print(_indent(made))

    def line(self, what: str, said: str, after: str, *, good: bool) -> None:
        """One thing that happened, what was said to it, and how things stand afterwards."""
        mark = self.colour("green", "✓") if good else self.colour("red", "✗")
        print(f"  {mark} {what} {self.colour('green' if good else 'red', f'{said:<42}')} {self.colour('dim', after)}")

    def print_row(self, text: str) -> None:
        """A line of a list."""
        print(f"    {text}")

    def print_finding(self, text: str) -> None:
        """What stands on the page that the PSU looks at."""
        print(f"    {self.colour('green', text)}")

    def page(self, method: str, url: str, status: int, title: str) -> None:
        good = self.colour("green" if status < 400 else "red", str(status))
        print(
            f"  {self.colour('magenta', 'PSU')} {self.colour('blue', method)} {_shorten(url)}  {good} {_shorten(title)}"
        )

    def _headers(self, headers: Mapping[str, str] | None) -> None:
        for name, value in (headers or {}).items():
            print(f"    {self.colour('dim', f'{name}: {value}')}")


def _indent(body: Any) -> str:
    return "\n".join(f"    {line}" for line in _json_lines(_mask_secrets(body)))


def _json_lines(value: Any) -> list[str]:
    """JSON in lines: what fits into one line stays in one."""
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


def _mask_secrets(value: Any, name: str = "") -> Any:
    if isinstance(value, dict):
        return {key: _mask_secrets(inner, key) for key, inner in value.items()}
    if isinstance(value, list):
        return [_mask_secrets(inner) for inner in value]
    return f"{value[:_SHORT]}…" if name in _SECRETS and isinstance(value, str) else value


def _shorten(text: str) -> str:
    return text if len(text) <= 88 else f"{text[:87]}…"


def format_amount(amount: int, currency: int, *, signed: bool = False) -> str:
    """An amount in minor units of a currency (ISO 4217, numeric) in whole ones, with its decimals and its letters."""
    digits = minor_units()[currency]
    whole, rest = divmod(abs(amount), 10**digits)
    sign = "-" if amount < 0 else "+" if signed else ""
    decimals = f".{rest:0{digits}}" if digits else ""
    return f"{sign}{whole:,}{decimals} {currency_numbers()[currency]}"
