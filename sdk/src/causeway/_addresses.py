"""Validates URLs that an application or a command line passes to the package."""

from __future__ import annotations

from causeway.errors import ConfigurationError


def check_address(url: str, name: str) -> None:
    """Raise ``ConfigurationError`` if a parameter or option is not a usable address."""
    import httpx

    try:
        parts = httpx.URL(url)
        good = parts.scheme in ("http", "https") and bool(parts.host) and 0 < (parts.port or 80) < 65536
    except (httpx.InvalidURL, TypeError):
        good = False
    if not good:
        raise ConfigurationError(f"{name} must be an http or https address, not {without_password(str(url))!r}")


def base_address(url: str, name: str) -> str:
    """Return an address without trailing slashes, to which paths can be appended. Raises ``ConfigurationError``."""
    check_address(url, name)
    if any(character in url for character in "@?#"):
        raise ConfigurationError(f"{name} must have no user, query or fragment, unlike {without_password(url)!r}")
    return url.rstrip("/")


def without_password(url: str) -> str:
    """Return an address without its password, if it has one."""
    return url.rpartition("@")[2]
