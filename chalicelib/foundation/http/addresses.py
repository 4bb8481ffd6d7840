"""Rules for addresses to which the service redirects or connects."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Collection
from ipaddress import IPv4Address, IPv6Address, IPv6Network
from urllib.parse import parse_qsl, urlsplit

_NAME = re.compile(r"(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?)*")
_ENDS_IN_A_NUMBER = re.compile(r"(.*\.)?([0-9]+|0x[0-9a-f]*)")
"""A pattern that matches a host whose last label is a number. Browsers and the C library parse such a host as an IPv4
address in any notation.
"""
_PRIVATE_NAMES = (".localhost", ".local", ".internal", ".home.arpa", ".localdomain")

_NOT_PUBLIC = (
    "0.0.0.0/8",  # this network
    "10.0.0.0/8",  # private use
    "100.64.0.0/10",  # shared address space of providers
    "127.0.0.0/8",  # loopback
    "169.254.0.0/16",  # link-local, including metadata services
    "172.16.0.0/12",  # private use
    "192.0.0.0/24",  # protocol assignments
    "192.0.2.0/24",  # documentation
    "192.88.99.0/24",  # 6to4 relays, deprecated
    "192.168.0.0/16",  # private use
    "198.18.0.0/15",  # benchmarks
    "198.51.100.0/24",  # documentation
    "203.0.113.0/24",  # documentation
    "224.0.0.0/4",  # multicast
    "240.0.0.0/4",  # reserved, broadcast
    "2001::/23",  # protocol assignments
    "2001:db8::/32",  # documentation
    "3fff::/20",  # documentation
)
"""Address blocks in IANA's registries of special-purpose addresses (RFC 6890). IPv6 blocks outside ``_GLOBAL_UNICAST``
are omitted.
"""
_NETWORKS = tuple(ipaddress.ip_network(block) for block in _NOT_PUBLIC)
_GLOBAL_UNICAST = IPv6Network("2000::/3")
_ENDS_IN_IPV4 = tuple(
    IPv6Network(block)
    for block in (
        "::/96",  # IPv4-compatible
        "::ffff:0:0/96",  # IPv4-mapped
        "64:ff9b::/96",  # NAT64
        "64:ff9b:1::/96",  # local-use NAT64; the rest of 64:ff9b:1::/48 is not public
    )
)


class InvalidAddress(ValueError):
    """An address is unusable. The message contains the reason."""


def check_address(url: str, *, local: bool, length: int = 2048) -> str:
    """Accept an absolute http(s) URL without user information or fragment, and return it unchanged.

    Outside the local stage, the URL must use https and a host that ``check_host`` accepts. A name that resolves to a
    private address is refused when connecting (see ``outbound``).

    Raises:
        InvalidAddress: the URL is refused. The message contains the reason.
    """
    if not url or len(url) > length or not url.isprintable() or " " in url or not url.isascii():
        raise InvalidAddress(f"must be a URL of at most {length} printable ASCII characters without spaces")
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise InvalidAddress("is not a valid URL") from None
    if parts.scheme not in ("http", "https") or not host:
        raise InvalidAddress("must begin with https:// (or http:// in the local stage) and have a host")
    if parts.username is not None or parts.fragment:
        raise InvalidAddress("must not contain user information or a fragment")
    if not local and parts.scheme != "https":
        raise InvalidAddress("must use https outside the local stage")
    if not local:
        check_host(host)
    return url


def has_web_scheme(url: str) -> bool:
    """Whether a URL begins with ``https://`` or ``http://``. The case of the scheme is ignored (RFC 3986 §3.1)."""
    return url[:8].lower().startswith(("https://", "http://"))


def check_query(url: str, added: Collection[str]) -> None:
    """Reject a URL that already has a query parameter in ``added``, because no parameter may occur twice (RFC 6749
    §3.1).

    Raises:
        InvalidAddress: the message names the parameters.
    """
    there = {name for name, _ in parse_qsl(urlsplit(url).query, keep_blank_values=True)}
    if twice := [name for name in added if name in there]:
        raise InvalidAddress(f"must not have {', '.join(twice)} in its query: the service adds these parameters")


def check_host(host: str) -> None:
    """Accept a host name that is not obviously private, or a public IP address in standard notation.

    ``127.1``, ``0177.0.0.1`` and ``2130706433`` are also addresses, but browsers, resolvers and libraries read them
    differently. IPv4 must be four decimal numbers without leading zeros, and a host must not end in a dot.

    Args:
        host: in lower case; an IPv6 address without brackets.

    Raises:
        InvalidAddress: the host is refused. The message contains the reason.
    """
    is_address = _is_address(host)
    if not is_address and (not _NAME.fullmatch(host) or _ENDS_IN_A_NUMBER.fullmatch(host)):
        raise InvalidAddress("must have a host that is a name, a dotted-decimal IPv4 address or an IPv6 address")
    public = is_public(host) if is_address else "." in host and not f".{host}".endswith(_PRIVATE_NAMES)
    if not public:
        raise InvalidAddress("must not point to a private address outside the local stage")


def may_be_public(host: str) -> bool:
    """Whether ``check_host`` accepts ``host``."""
    try:
        check_host(host)
    except InvalidAddress:
        return False
    return True


def _is_address(host: str) -> bool:
    """Whether ``host`` is an IP address. Addresses with a zone (``%eth0``) are excluded, because zones are local to a
    machine.
    """
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return "%" not in host


def is_public(address: str) -> bool:
    """Whether an IP address is reachable from the whole internet. Embedded IPv4 addresses are checked as IPv4.

    Raises:
        ValueError: ``address`` is not an IP address.
    """
    parsed = ipaddress.ip_address(address)
    if isinstance(parsed, IPv4Address):
        return not _is_special(parsed)
    if inside := _embedded_ipv4_addresses(parsed):
        return not any(map(_is_special, inside))
    return parsed in _GLOBAL_UNICAST and not _is_special(parsed)


def _embedded_ipv4_addresses(address: IPv6Address) -> tuple[IPv4Address, ...]:
    """Return the IPv4 addresses that packets to an IPv6 address reach or pass through."""
    if any(address in block for block in _ENDS_IN_IPV4):
        return (IPv4Address(int(address) & 0xFFFFFFFF),)
    if address.sixtofour:
        return (address.sixtofour,)
    return address.teredo or ()


def _is_special(address: IPv4Address | IPv6Address) -> bool:
    return any(address in network for network in _NETWORKS)
