"""Lists that are shown page by page, and the clients that a form offers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from chalicelib.openbanking.records.client_record import Client
from chalicelib.openbanking.records.clients import Clients

PAGE = 20


@dataclass(frozen=True, slots=True)
class ListPage:
    """One page of a list: its rows, its number from 1, how many pages there are, and how many rows in all."""

    rows: Sequence[Any]
    number: int
    pages: int
    total: int


def paginate(rows: Sequence[Any], asked: str) -> ListPage:
    """The requested page, or the nearest one."""
    pages = max(1, -(-len(rows) // PAGE))
    number = clamp_page_number(asked, pages)
    return ListPage(rows[(number - 1) * PAGE : number * PAGE], number, pages, len(rows))


def clamp_page_number(asked: str, last: int) -> int:
    """The requested number within 1 to ``last``; 1 if it is no number."""
    if not (asked.isascii() and asked.isdigit()):
        return 1
    digits = asked.lstrip("0")
    return last if len(digits) > len(str(last)) else min(max(int(digits or "0"), 1), last)


MAX_CHOICES = 100  # so many clients can be chosen from in a form: a page stays small


def newest_first(clients: Clients, owner: str) -> Sequence[Client]:
    """All clients of a user."""
    return sorted(clients.all(owner), key=lambda client: client.created_at, reverse=True)


def select_choices(own: Sequence[Client], chosen: str = "", *, active: bool = False) -> Sequence[Client]:
    """The first of a user's clients, always with the ``chosen`` one; only ``active`` ones on request."""
    fitting = [client for client in own if client.active or not active]
    return fitting[:MAX_CHOICES] + [client for client in fitting[MAX_CHOICES:] if client.client_id == chosen]
