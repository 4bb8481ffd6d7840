"""Renders the page about personal data: kinds, retention periods and reasons, by type of person."""

from __future__ import annotations

from collections.abc import Iterator

from infra.render.openapi.introduction import table
from infra.retention.kinds import KINDS, Kind

TITLES = {"PSU": "PSUs", "user": "Users of the web interface", "card holder": "Card holders"}
_HEADING = ("Kind", "Data", "Where", "Kept", "Then removed by", "Why", "On request")


def render() -> str:
    return "\n\n".join(_sections())


def _sections() -> Iterator[str]:
    for person, title in TITLES.items():
        yield f"## {title}"
        yield table(_HEADING, (_row(kind) for kind in KINDS if kind.person == person))


def _row(kind: Kind) -> tuple[str, ...]:
    removal = f"`{kind.removal}`" if kind.removal.startswith("retention ") else kind.removal
    on_request = "Removed" if kind.on_request else "Stays"
    return f"`{kind.name}`", kind.data, kind.place, kind.retention, removal, kind.reason, on_request
