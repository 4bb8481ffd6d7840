"""Renders the reference page of the FAPI 2.0 Security Profile."""

from __future__ import annotations

from infra.render.docs.fapi_clauses import PARTS, Part
from infra.render.openapi.introduction import table


def render() -> str:
    return "\n\n".join(text for part in PARTS for text in _part(part))


def _part(part: Part) -> list[str]:
    rows = [
        (each.number, each.demand, each.holds, ", ".join(f"`tests/{test}`" for test in each.tests))
        for each in part.clauses
    ]
    found = [f"## {part.title}", table(("Clause", "It demands", "How it holds", "Shown by"), rows)]
    return [*found, part.note] if part.note else found
