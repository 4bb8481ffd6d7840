"""The OpenAPI documents as ``make openapi`` wrote them, with this stage's own address in them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from chalicelib.foundation.identifiers import digest

_FOLDER = Path(__file__).parent / "openapi"
DOCUMENTS = tuple(sorted(file.stem for file in _FOLDER.glob("*.json")))
"""The names of the documents that exist."""
_PLACEHOLDER_URL = "http://127.0.0.1:8000"


@dataclass(frozen=True, slots=True)
class OpenApiDocument:
    """A document's text, and its entity tag (RFC 9110 §8.8.3)."""

    text: str
    tag: str

    def matches(self, if_none_match: str) -> bool:
        """Whether a caller who sends this ``If-None-Match`` has the document already."""
        return bool({self.tag, "*"} & {entry.strip().removeprefix("W/") for entry in if_none_match.split(",")})


@cache
def load_document(name: str, address: str) -> OpenApiDocument:
    """The document ``name`` of a service that stands at ``address``."""
    text = (_FOLDER / f"{name}.json").read_text(encoding="utf-8").replace(_PLACEHOLDER_URL, address)
    return OpenApiDocument(text, f'"{digest(text)[:32]}"')
