"""The ``User-Agent`` header of this package's requests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from causeway import __version__

if TYPE_CHECKING:
    import httpx

PACKAGE = f"causeway-python/{__version__}"


def user_agent(client: httpx.Client | httpx.AsyncClient) -> str:
    """Return the name of the program's HTTP client, or this package's name and version by default."""
    name = client.headers.get("User-Agent", "")
    return PACKAGE if name.startswith("python-httpx/") else name
