"""The documents as tests read them: blocks, tables and sections, and the members that tables and models declare."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from chalicelib.foundation.fields.field_types import Message

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = {path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in sorted(ROOT.glob("docs/**/*.md"))}
README = (ROOT / "README.md").read_text("utf-8")
EVERYTHING = "\n".join([README, *DOCUMENTS.values()])
TPP, BANK, OPERATIONS, STATISTICS = (
    DOCUMENTS[f"docs/{name}.md"] for name in ("tpp-api", "bank-api", "operations", "statistics")
)
CARDS = "\n".join(
    DOCUMENTS[f"docs/{name}.md"] for name in ("card-api", "reference/card-actions", "reference/card-values")
)
CARD_EVENTS = DOCUMENTS["docs/reference/card-events.md"]
SETTINGS, COMMANDS = (DOCUMENTS[f"docs/reference/{name}.md"] for name in ("settings", "commands"))
SANDBOX, ARCHITECTURE = (DOCUMENTS[f"docs/{name}.md"] for name in ("sandbox", "architecture"))
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)

Member = tuple[str, bool, str]
"""A member's name without those of the objects around it, whether it is mandatory, and its type."""


def blocks(text: str, language: str) -> list[str]:
    """The code blocks of one language."""
    return [content for kind, content in BLOCK.findall(text) if kind == language]


def rows(text: str) -> list[list[str]]:
    """The cells of all table rows, without the signs of code."""
    return [cells for table in tables(text) for cells in table]


def tables(text: str) -> list[list[list[str]]]:
    """The rows of every table; the first row is its head, the second the line below."""
    found = re.findall(r"(?:^\|.*\n?)+", text, re.MULTILINE)
    return [[_cells(line) for line in table.splitlines()] for table in found]


def _cells(line: str) -> list[str]:
    return [cell.strip().replace("`", "") for cell in line.strip("|").split("|")]


def section(text: str, heading: str) -> str:
    """What stands below a heading, up to the next of the same or a higher level."""
    level = heading.index(" ")
    found = re.search(
        rf"^{re.escape(heading)}$(.*?)(?=^#{{1,{level}}} |\Z)",
        BLOCK.sub(lambda block: re.sub("^#", " ", block[0], flags=re.MULTILINE), text),
        re.DOTALL | re.MULTILINE,
    )
    assert found, f"there is no heading {heading}"
    return found[1]


def named(text: str, name: str) -> bool:
    """Whether ``name`` stands in ``text`` as a whole word."""
    return bool(re.search(rf"(?<![\w/]){re.escape(name)}(?![\w/{{])", text))


def documented(text: str, *heads: str) -> set[Member]:
    """The members in the tables of ``text`` whose first column is headed by one of ``heads``."""
    return {
        (name.rpartition(".")[2], need == "mandatory", kind)
        for table in tables(text)
        if table[0][0] in heads
        for names, need, kind, _ in table[2:]
        for name in names.split(", ")
    }


def declared(models: Iterable[type[Message]], *, above: str = "") -> set[Member]:
    """The members that models declare, nested ones as well; with ``above``, not those inside that member."""
    found = (member for model in models for member in _members(model))
    inside = re.compile(rf"{above}(\[\])?\." if above else "$^")
    return {(path.rpartition(".")[2], mandatory, kind) for path, mandatory, kind in found if not inside.match(path)}


_TYPES = (
    ("Printable text, or a whole number", "id {longest}"),
    ("Printable text", "AN {longest}"),
    ("Letters", "A {longest}"),
    ("A name", "name {longest}"),
    ("The name of a payee", "payee {longest}"),
    (r"A number of at most (\d+) digits", "N {0}"),
    (r"An amount of money of at most (\d+) digits", "amount {0}"),
    (r"At most (\d+) digits", "digits {0}"),
    (r"A whole number from 1 to (\d+)", "1 to {0}"),
    (r"A country code of ISO 3166-1 alpha-(\d)", "country {0}"),
    ("An IBAN", "IBAN"),
    ("A BIC", "BIC"),
    ("A currency code", "currency"),
    ("A date", "date"),
    ("An absolute http or https address", "address"),
)
"""How the documents call what JSON Schema describes."""


def _members(model: type[Message]) -> Iterator[Member]:
    schema = model.model_json_schema()
    return _below(schema, schema.get("$defs", {}), "")


def _below(schema: dict[str, Any], definitions: dict[str, Any], path: str) -> Iterator[Member]:
    for name, member in schema.get("properties", {}).items():
        variants = [
            _resolved(each, definitions) for each in member.get("anyOf", [member]) if each.get("type") != "null"
        ]
        yield f"{path}{name}", name in schema.get("required", ()), " or ".join(map(_kind, variants))
        for variant in variants:
            entries = _resolved(variant.get("items", {}), definitions)
            yield from _below(variant, definitions, f"{path}{name}.")
            yield from _below(entries, definitions, f"{path}{name}[].")


def _resolved(schema: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    return definitions[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema


def _kind(schema: dict[str, Any]) -> str:
    for pattern, name in _TYPES:
        found = re.match(pattern, schema.get("description", ""))
        if found:
            return name.format(*found.groups(), longest=schema.get("maxLength"))
    return "choice" if "enum" in schema else {"array": "list"}.get(schema["type"], schema["type"])
