"""Paginated lists, and the clients offered in a form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.openbanking.records.client_record import Client
from chalicelib.openbanking.records.clients import Clients

PAGE = 20


@dataclass(frozen=True, slots=True)
class ListPage:
    """A page of a list: its rows, its number from 1, the number of pages, and the total number of rows."""

    rows: Sequence[Any]
    number: int
    pages: int
    total: int


def paginate(rows: Sequence[Any], asked: str) -> ListPage:
    """The page with the requested number, or the closest existing one."""
    pages = max(1, -(-len(rows) // PAGE))
    number = clamp_page_number(asked, pages)
    return ListPage(rows[(number - 1) * PAGE : number * PAGE], number, pages, len(rows))


def clamp_page_number(asked: str, last: int) -> int:
    """The requested number limited to the range 1 to ``last``; 1 if it is not a number."""
    if not (asked.isascii() and asked.isdigit()):
        return 1
    digits = asked.lstrip("0")
    return last if len(digits) > len(str(last)) else min(max(int(digits or "0"), 1), last)


MAX_CHOICES = 100  # clients offered in a form, to keep the page small


def all_newest_first(clients: Clients, owner: str) -> Sequence[Client]:
    """All clients of a user, newest first, with those that are archived."""
    return sorted(clients.all(owner), key=lambda client: client.created_at, reverse=True)


def newest_first(clients: Clients, owner: str, chosen: str = "") -> Sequence[Client]:
    """The clients of a user, newest first; of those that are archived, only the ``chosen`` one."""
    return [
        client for client in all_newest_first(clients, owner) if not client.is_archived or client.client_id == chosen
    ]


def select_choices(own: Sequence[Client], chosen: str = "", *, active: bool = False) -> Sequence[Client]:
    """The first ``MAX_CHOICES`` of a user's clients and the ``chosen`` one; with ``active``, only active ones."""
    fitting = [client for client in own if client.active or not active]
    return fitting[:MAX_CHOICES] + [client for client in fitting[MAX_CHOICES:] if client.client_id == chosen]
