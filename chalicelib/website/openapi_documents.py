"""The OpenAPI documents as ``make openapi`` wrote them, with this stage's own address in them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from chalicelib.foundation.identifiers import digest

_ROOM = Path(__file__).parent / "openapi"
DOCUMENTS = tuple(sorted(file.stem for file in _ROOM.glob("*.json")))
"""The names of the documents that exist."""
_WRITTEN_WITH = "http://127.0.0.1:8000"


@dataclass(frozen=True, slots=True)
class Description:
    """A document's text, and its entity tag (RFC 9110 §8.8.3)."""

    text: str
    tag: str

    def is_known(self, if_none_match: str) -> bool:
        """Whether a caller who sends this ``If-None-Match`` has the document already."""
        return bool({self.tag, "*"} & {entry.strip().removeprefix("W/") for entry in if_none_match.split(",")})


@cache
def description(name: str, address: str) -> Description:
    """The document ``name`` of a service that stands at ``address``."""
    text = (_ROOM / f"{name}.json").read_text(encoding="utf-8").replace(_WRITTEN_WITH, address)
    return Description(text, f'"{digest(text)[:32]}"')
