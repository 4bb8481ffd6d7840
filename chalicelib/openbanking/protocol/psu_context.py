"""The PSU's headers: what a TPP tells the bank about the PSU's device and connection (Berlin Group, NextGenPSD2).

A request without ``PSU-IP-Address`` is unattended: the PSU has not asked for it (RTS on SCA, Article 36(5)).
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import field
from decimal import Decimal
from typing import Any, Self

from chalicelib.foundation.identifiers import is_uuid
from chalicelib.foundation.lazy_dataclasses import dataclass

ADDRESS = "PSU-IP-Address"
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
PORT = r"(0|[1-9][0-9]{0,4})"
TEXT = r"[!-~]([ -~]*[!-~])?"
_NUMBER = r"-?[0-9]{1,9}(?:\.[0-9]{1,9})?"
LOCATION = (
    rf"[Gg][Ee][Oo]:(-?[0-9]{{1,2}}(?:\.[0-9]{{1,9}})?)(?:;|,)(-?[0-9]{{1,3}}(?:\.[0-9]{{1,9}})?)"
    rf"(?:,{_NUMBER})?(?:;crs=wgs84)?(?:;u={_NUMBER})?"
)
"""``GEO:<latitude>;<longitude>`` (Berlin Group) or a geo URI in WGS 84 (RFC 5870)."""
_PORTS, _NORTH, _EAST = 65_535, 90, 180


class InvalidPsuHeaders(ValueError):
    """Headers of the PSU have another form; the message names them and their forms, never their values."""


@dataclass(frozen=True, slots=True)
class PsuHeader:
    """A header about the PSU.

    Attributes:
        name: as it is sent to the bank.
        longest: the maximum length of a value.
        form: what a value must be, for people.
        read: the value to pass on; ``None`` if it has another form.
    """

    name: str
    longest: int
    form: str
    read: Callable[[str], str | None]


@dataclass(frozen=True, slots=True)
class PsuContext:
    """The PSU's ``headers`` in a request, by name; personal data, which must not be logged."""

    headers: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def is_attended(self) -> bool:
        """Whether the PSU is present."""
        return ADDRESS in self.headers

    def as_members(self) -> dict[str, Any]:
        """The members of a stored call."""
        return {"psu_headers": dict(self.headers)}

    @classmethod
    def from_members(cls, members: Mapping[str, Any]) -> Self:
        """Read a stored call; those stored by earlier versions of the service have only the address."""
        if "psu_headers" in members:
            return cls(members["psu_headers"])
        address = members.get("psu_address")
        return cls({ADDRESS: address} if address else {})


UNATTENDED = PsuContext()
"""No PSU is present."""


def read_psu_headers(headers: Mapping[str, str], repeated: Collection[str] = ()) -> PsuContext:
    """The PSU's headers in a request, given by lower-case name; ``repeated`` names those that were sent more than once.

    Raises:
        InvalidPsuHeaders.
    """
    found = {row.name: _read(row, headers[row.name.lower()]) for row in PSU_HEADERS if row.name.lower() in headers}
    problems = list(_problems(found, repeated))
    if problems:
        raise InvalidPsuHeaders("; ".join(problems))
    return PsuContext({name: value for name, value in found.items() if value is not None})


def _problems(found: Mapping[str, str | None], repeated: Collection[str]) -> Iterator[str]:
    for row in PSU_HEADERS:
        if row.name in found and row.name.lower() in repeated:
            yield f"{row.name} must not be repeated"
        elif row.name in found and found[row.name] is None:
            yield f"{row.name} must be {row.form}"


def _read(row: PsuHeader, given: str) -> str | None:
    value = given.strip(" \t")
    return row.read(value) if len(value) <= row.longest else None


def _address(value: str) -> str | None:
    try:
        address = ipaddress.ip_address(value)
    except ValueError:
        return None
    zone = getattr(address, "scope_id", None)  # free text: the name of a network interface
    return str(address) if zone is None else None


def _port(value: str) -> str | None:
    return value if re.fullmatch(PORT, value) and int(value) <= _PORTS else None


def _text(value: str) -> str | None:
    return value if re.fullmatch(TEXT, value) else None


def _method(value: str) -> str | None:
    return value if value in METHODS else None


def _uuid(value: str) -> str | None:
    return value if is_uuid(value) else None


def _location(value: str) -> str | None:
    found = re.fullmatch(LOCATION, value)
    is_on_earth = found and abs(Decimal(found[1])) <= _NORTH and abs(Decimal(found[2])) <= _EAST
    return value if is_on_earth else None


def _text_header(name: str, longest: int) -> PsuHeader:
    return PsuHeader(name, longest, f"1 to {longest} printable ASCII characters", _text)


PSU_HEADERS: tuple[PsuHeader, ...] = (
    PsuHeader(ADDRESS, 45, "an IP address", _address),
    PsuHeader("PSU-IP-Port", 5, f"a number from 0 to {_PORTS}", _port),
    _text_header("PSU-Accept", 512),
    _text_header("PSU-Accept-Charset", 512),
    _text_header("PSU-Accept-Encoding", 512),
    _text_header("PSU-Accept-Language", 512),
    _text_header("PSU-User-Agent", 1024),
    PsuHeader("PSU-Http-Method", 6, f"{', '.join(METHODS[:-1])} or {METHODS[-1]}", _method),
    PsuHeader("PSU-Device-ID", 36, "a UUID", _uuid),
    PsuHeader(
        "PSU-Geo-Location", 64, "a location such as GEO:52.506931;13.144558 or geo:52.506931,13.144558", _location
    ),
)
