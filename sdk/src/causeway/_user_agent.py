"""The ``User-Agent`` header of this package's requests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from causeway import __version__

if TYPE_CHECKING:
    import httpx

PACKAGE = f"causeway-python/{__version__}"


def user_agent(client: httpx.Client | httpx.AsyncClient) -> str:
    """Return the ``User-Agent`` of the application's HTTP client or, by default, the name and version of this
    package.
    """
    name = client.headers.get("User-Agent", "")
    return PACKAGE if name.startswith("python-httpx/") else name
