"""Which addresses the service may send anybody to, or connect to itself."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

_NAT64 = ipaddress.ip_network("64:ff9b::/96")


class InvalidAddress(ValueError):
    """An address that cannot be used; the message says why."""


def check_address(url: str, *, local: bool, length: int = 2048) -> str:
    """Accept an absolute http(s) address without user information or fragment; outside the local stage only https
    to a host that is not plainly private.

    A name that resolves to a private address is found out when it is connected to (see ``outbound``).

    Raises:
        InvalidAddress: saying what is wrong.
    """
    if not url or len(url) > length or not url.isprintable() or " " in url or not url.isascii():
        raise InvalidAddress(f"must be an address of at most {length} printable ASCII characters without spaces")
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise InvalidAddress("is not an address") from None
    if parts.scheme not in ("http", "https") or not host:
        raise InvalidAddress("must begin with https:// (or http:// in the local stage) and name a host")
    if parts.username is not None or parts.fragment:
        raise InvalidAddress("must have neither user information nor a fragment")
    if not local and parts.scheme != "https":
        raise InvalidAddress("must be https outside the local stage")
    if not local and is_private_host(host):
        raise InvalidAddress("must not be a private address outside the local stage")
    return url


def is_private_host(host: str) -> bool:
    """Whether a host is a private name or an address that is not public."""
    try:
        return not is_public(host)
    except ValueError:
        return host == "localhost" or host.endswith((".localhost", ".local", ".internal")) or "." not in host


def is_public(address: str) -> bool:
    """Whether an IP address is reachable from the whole internet; IPv4 inside IPv6 is judged as IPv4."""
    parsed = ipaddress.ip_address(address.partition("%")[0])
    embedded = getattr(parsed, "ipv4_mapped", None) or getattr(parsed, "sixtofour", None)
    if parsed in _NAT64:
        embedded = ipaddress.IPv4Address(int(parsed) & 0xFFFFFFFF)
    judged = embedded or parsed
    return judged.is_global and not judged.is_multicast
