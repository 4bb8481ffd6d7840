"""Renders the page of the operator's commands and make targets from their help texts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from textwrap import dedent

import typer
from typer.core import TyperCommand, TyperGroup

from infra.admin.commands import program
from infra.render.openapi.introduction import table
from infra.repository import ROOT

PROGRAM = ".venv/bin/python -m infra.admin"
_OF_EVERY_COMMAND = "--json"
_EXAMPLES = re.compile(r"\n+(?:\x08\n)?Examples?:\n")


def render() -> str:
    """Render all commands: first the ungrouped commands, then each group with a separate heading."""
    root = typer.main.get_command(program)
    assert isinstance(root, TyperGroup)
    return "\n\n".join([*_group(root, ""), "## Make targets", _make_targets()])


def _make_targets() -> str:
    found = re.findall("^([a-z-]+):.*## (.+)$", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    return table(("Target", "Purpose"), [(f"`make {name}`", meaning) for name, meaning in found])


def _group(group: TyperGroup, above: str) -> Iterator[str]:
    for name, command in sorted(group.commands.items(), key=lambda each: (isinstance(each[1], TyperGroup), each[0])):
        if isinstance(command, TyperGroup):
            yield f"## `{name}`"
            yield from _paragraphs(command.help or "")
            yield from _group(command, f"{name} ")
        elif isinstance(command, TyperCommand):
            yield f"### `{above}{name}`"
            yield from _command(command)


def _command(command: TyperCommand) -> Iterator[str]:
    text, *examples = _EXAMPLES.split(command.help or "")
    yield from _paragraphs(text)
    context = command.make_context(command.name, [], resilient_parsing=True)
    records = [record for each in command.params if (record := each.get_help_record(context))]
    rows = [(f"`{name}`", meaning.replace("  [", " [")) for name, meaning in records if name != _OF_EVERY_COMMAND]
    if rows:
        yield table(("Argument or option", "Meaning"), rows)
    for example in examples:
        yield f"```bash\n{dedent(example)}\n```"


def _paragraphs(text: str) -> Iterator[str]:
    for paragraph in text.split("\n\n"):
        yield " ".join(paragraph.split())
