"""Addresses that the program gives."""

from __future__ import annotations

from causeway.errors import ConfigurationError


def check_address(url: str, name: str) -> None:
    """Raises ``ConfigurationError`` if a parameter or option is not a usable address."""
    import httpx

    try:
        parts = httpx.URL(url)
        good = parts.scheme in ("http", "https") and bool(parts.host) and 0 < (parts.port or 80) < 65536
    except (httpx.InvalidURL, TypeError):
        good = False
    if not good:
        raise ConfigurationError(f"{name} must be an http or https address, not {without_password(str(url))!r}")


def base_address(url: str, name: str) -> str:
    """An address to which paths are appended, without slashes at its end. Raises ``ConfigurationError``."""
    check_address(url, name)
    if any(character in url for character in "@?#"):
        raise ConfigurationError(f"{name} must have no user, query or fragment, unlike {without_password(url)!r}")
    return url.rstrip("/")


def without_password(url: str) -> str:
    """An address without the password that may stand in it."""
    return url.rpartition("@")[2]
