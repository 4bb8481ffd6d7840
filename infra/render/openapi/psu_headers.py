"""The headers about the PSU in the documents: meanings, schemas and examples."""

from __future__ import annotations

from collections.abc import Mapping

from chalicelib.openbanking.protocol.psu_context import METHODS, PSU_HEADERS, PsuHeader
from infra.render.openapi.document import header
from infra.render.openapi.schemas import Json

_OF_REQUEST = "of the request that the PSU's browser or app sent to the TPP"
_MEANINGS: Mapping[str, tuple[str, str]] = {
    "PSU-IP-Address": ("The PSU's IP address. A request without it is unattended", "203.0.113.7"),
    "PSU-IP-Port": ("The PSU's IP port", "49152"),
    "PSU-Accept": (f"`Accept` {_OF_REQUEST}", "text/html,application/xhtml+xml"),
    "PSU-Accept-Charset": (f"`Accept-Charset` {_OF_REQUEST}", "utf-8"),
    "PSU-Accept-Encoding": (f"`Accept-Encoding` {_OF_REQUEST}", "gzip, br"),
    "PSU-Accept-Language": (f"`Accept-Language` {_OF_REQUEST}", "de-AT,de;q=0.8"),
    "PSU-User-Agent": (f"`User-Agent` {_OF_REQUEST}", "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Firefox/140.0"),
    "PSU-Http-Method": (f"The HTTP method {_OF_REQUEST}", "GET"),
    "PSU-Device-ID": ("The id of the PSU's device or installed app", "99435c7e-ad88-49ec-a2ad-99ddcb1f5555"),
    "PSU-Geo-Location": (
        "The PSU's location: latitude and longitude, as `GEO:52.506931;13.144558` or as a geo URI (RFC 5870)",
        "GEO:52.506931;13.144558",
    ),
}
_SCHEMAS: Mapping[str, Json] = {
    "PSU-IP-Address": {"anyOf": [{"format": "ipv4"}, {"format": "ipv6"}]},
    "PSU-Http-Method": {"enum": [*METHODS]},
    "PSU-Device-ID": {"format": "uuid"},
}
"""JSON Schemas of the PSU headers for which a format or an enumeration is clearer than a regular expression."""


def references() -> list[Json]:
    """Return references to the components of the headers, in the table's order."""
    return [{"$ref": f"#/components/parameters/{_component_name(row)}"} for row in PSU_HEADERS]


def parameters(remark: str) -> dict[str, Json]:
    """Return the components of the headers. Each description ends with ``remark``."""
    return {_component_name(row): _parameter(row, remark) for row in PSU_HEADERS}


def _parameter(row: PsuHeader, remark: str) -> Json:
    text, example = _MEANINGS[row.name]
    form = _SCHEMAS.get(row.name, {"pattern": f"^{row.pattern}$"})
    return header(row.name, f"{text}. {remark}", {"type": "string", "maxLength": row.longest, **form}, example)


def _component_name(row: PsuHeader) -> str:
    return "".join(part.capitalize() for part in row.name.split("-"))
