"""Renders the pages of the open banking reference, one per OpenAPI document, with all calls, webhooks and events."""

from __future__ import annotations

import re
from collections.abc import Iterator

from infra.render.docs.calls import CallPages, Operation
from infra.render.docs.types import TYPE_NOTES
from infra.render.openapi.introduction import table
from infra.render.openapi.schemas import Json


def render(document: Json) -> str:
    """Render a page: the document's introduction, calls by tag, webhooks, and code tables."""
    return "\n\n".join(_parts(document))


def _parts(document: Json) -> Iterator[str]:
    pages = CallPages(document)
    operations = [*pages.calls, *pages.webhooks]
    sections = {
        tag["name"]: [each for each in operations if tag["name"] in each.body["tags"]] for tag in document["tags"]
    }
    rendered = {name: pages.render(members, level=3) for name, members in sections.items()}
    introduction, *tables = re.split(r"\n\n(?=## )", document["info"]["description"].strip())
    yield introduction
    yield "## Headers"
    yield pages.headers(operations)
    yield "## Types"
    yield _types("\n".join(rendered.values()))
    for tag in document["tags"]:
        yield f"## {tag['name']}"
        yield tag["description"]
        yield _contents(sections[tag["name"]])
        yield rendered[tag["name"]]
    yield from tables


def _types(text: str) -> str:
    found = [each for each in TYPE_NOTES if re.search(each.column, text)]
    return table(("Type", "Meaning"), [(f"`{each.sample}`", each.meaning) for each in found])


def _contents(operations: list[Operation]) -> str:
    return table(
        ("", "Purpose"), [(f"[`{each.name}`](#{anchor(each.name)})", each.body["summary"]) for each in operations]
    )


def anchor(heading: str) -> str:
    """Return the anchor of a heading, in the format of GitHub and of the site."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")
