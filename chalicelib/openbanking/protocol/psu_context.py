"""The PSU headers, in which a TPP describes the PSU's device and connection to the bank (Berlin Group, NextGenPSD2).

A request without ``PSU-IP-Address`` is unattended: the PSU did not actively request the data (RTS on SCA, Article
36(5)).
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import field
from functools import cached_property
from typing import Any, Self

from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.openbanking.protocol import refusals

ADDRESS = "PSU-IP-Address"
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
_TEXT = r"[!-~]([ -~]*[!-~])?"
_PORT = r"(0|[1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])"
_UUID = r"[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}"
_LATITUDE = r"-?(90(\.0{1,9})?|[0-8]?[0-9](\.[0-9]{1,9})?)"
_LONGITUDE = r"-?(180(\.0{1,9})?|(1[0-7][0-9]|[0-9]{1,2})(\.[0-9]{1,9})?)"
_NUMBER = r"-?[0-9]{1,9}(\.[0-9]{1,9})?"
_LOCATION = rf"[Gg][Ee][Oo]:{_LATITUDE}[;,]{_LONGITUDE}(,{_NUMBER})?(;crs=wgs84)?(;u={_NUMBER})?"
"""``GEO:<latitude>;<longitude>`` (Berlin Group) or a geo URI in WGS 84 (RFC 5870)."""


@dataclass(frozen=True, slots=True)
class PsuHeader:
    """A header about the PSU.

    Attributes:
        name: the header's name in requests to the bank.
        longest: the maximum length of a value.
        form: a description of valid values for error messages.
        pattern: the regular expression for a whole value; ``None`` for an IP address.
    """

    name: str
    longest: int
    form: str
    pattern: str | None

    def read(self, value: str) -> str | None:
        """Return the value to pass on to the bank, or ``None`` if the value is invalid."""
        if len(value) > self.longest:
            return None
        fits = _is_address(value) if self.pattern is None else re.fullmatch(self.pattern, value)
        return value if fits else None


@dataclass(frozen=True)
class PsuContext:
    """The PSU headers of a request, by name. The values are personal data and must not be logged."""

    headers: Mapping[str, str] = field(default_factory=dict, repr=False)

    @cached_property
    def is_attended(self) -> bool:
        """Whether the PSU is present."""
        return ADDRESS in self.headers

    def as_members(self) -> dict[str, Any]:
        """Return the headers as members of a stored call."""
        return {"psu_headers": dict(self.headers)}

    @classmethod
    def from_members(cls, members: Mapping[str, Any]) -> Self:
        """Read the headers from a stored call. Calls stored by earlier versions of the service have only the IP
        address.
        """
        if "psu_headers" in members:
            return cls(members["psu_headers"])
        address = members.get("psu_address")
        return cls({ADDRESS: address} if address else {})


UNATTENDED = PsuContext()
"""The context of a request without a PSU."""


def read_psu(headers: Mapping[str, str], repeated: Collection[str] = ()) -> PsuContext:
    """Read the PSU headers from a request's headers, which have lower-case names. ``repeated`` contains the names of
    headers that were sent more than once.

    Raises:
        Refusal: a PSU header is invalid. The message has the header's name and valid form, never its value.
    """
    given = [(row, headers[name]) for name, row in _BY_NAME.items() if name in headers]
    if not given:
        return UNATTENDED
    found = {row.name: row.read(value.strip(" \t")) for row, value in given}
    problems = list(_problems(found, repeated))
    if problems:
        raise refusals.PSU_HEADERS_WRONG(problems="; ".join(problems))
    return PsuContext({name: value for name, value in found.items() if value is not None})


def _problems(found: Mapping[str, str | None], repeated: Collection[str]) -> Iterator[str]:
    for row in PSU_HEADERS:
        if row.name in found and row.name.lower() in repeated:
            yield f"{row.name} must not be repeated"
        elif row.name in found and found[row.name] is None:
            yield f"{row.name} must be {row.form}"


def _is_address(value: str) -> bool:
    """Whether ``value`` is an IP address without a zone. A zone may contain any text."""
    try:
        address = ipaddress.ip_address(value)
    except ValueError:
        return False
    return getattr(address, "scope_id", None) is None


def _text_header(name: str, longest: int) -> PsuHeader:
    return PsuHeader(name, longest, f"1 to {longest} printable ASCII characters", _TEXT)


PSU_HEADERS: tuple[PsuHeader, ...] = (
    PsuHeader(ADDRESS, 45, "an IP address", None),
    PsuHeader("PSU-IP-Port", 5, "a number from 0 to 65535", _PORT),
    _text_header("PSU-Accept", 512),
    _text_header("PSU-Accept-Charset", 512),
    _text_header("PSU-Accept-Encoding", 512),
    _text_header("PSU-Accept-Language", 512),
    _text_header("PSU-User-Agent", 1024),
    PsuHeader("PSU-Http-Method", 6, f"{', '.join(METHODS[:-1])} or {METHODS[-1]}", f"({'|'.join(METHODS)})"),
    PsuHeader("PSU-Device-ID", 36, "a UUID", _UUID),
    PsuHeader("PSU-Geo-Location", 64, "a location, as GEO:52.506931;13.144558 or geo:52.506931,13.144558", _LOCATION),
)
_BY_NAME = {row.name.lower(): row for row in PSU_HEADERS}
