"""Loads the rendered OpenAPI documents by name."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache, partial

from chalicelib.openbanking.protocol.versions import VERSIONS
from infra.render.openapi import bank, tpp
from infra.render.openapi.cards import document as cards
from infra.render.openapi.generators import document as generators
from infra.render.openapi.schemas import Json

DOCUMENTS: Mapping[str, Callable[[], Json]] = {
    "tpp": tpp.build,
    **{f"bank-v{version}": partial(bank.build, version) for version in VERSIONS.values()},
    "cards": cards.build,
}


@cache
def text(name: str) -> str:
    """Return the text of a document, exactly as the service serves the document."""
    return _text(DOCUMENTS[name]())


@cache
def text_for_generators(name: str) -> str:
    """Return the text of a document for code generators."""
    return _text(generators.simplify(load(name)))


def _text(document: Json) -> str:
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def load(name: str) -> Json:
    """Return a copy of a document that the caller may change."""
    found: Json = json.loads(text(name))
    return found


def load_for_generators(name: str) -> Json:
    """Return a copy of a document for code generators."""
    found: Json = json.loads(text_for_generators(name))
    return found
