"""Renders the reference page of the ``causeway listen`` command from its argument parser."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator

from infra.render.openapi.introduction import table
from infra.render.sdk_package import load

_VARIABLE = re.compile(r" \((CAUSEWAY_\w+)\)$")


def render() -> str:
    cli = load("cli")
    parser: argparse.ArgumentParser = cli.parser({})
    (commands,) = (each.choices for each in parser._actions if isinstance(each, argparse._SubParsersAction))
    return "\n\n".join(part for name in commands for part in _command(name, commands[name]))


def _command(name: str, parser: argparse.ArgumentParser) -> Iterator[str]:
    parser.prog = f"causeway {name}"
    yield f"## `causeway {name}`"
    for paragraph in (parser.description or "").split("\n\n"):
        yield " ".join(paragraph.split())
    yield f"```text\n{_usage(parser)}\n```"
    yield table(("Option", "Meaning"), [_row(each) for each in parser._actions if each.dest != "help"])
    yield re.sub(r"\bCAUSEWAY_\w+", r"`\g<0>`", " ".join((parser.epilog or "").split()))


def _usage(parser: argparse.ArgumentParser) -> str:
    options = [each for each in parser._actions if each.dest != "help"]
    texts = [f"{each.option_strings[-1]} {each.metavar}" for each in options]
    lines = [text if each.required else f"[{text}]" for each, text in zip(options, texts, strict=True)]
    return "\n    ".join([parser.prog, *lines])


def _row(option: argparse.Action) -> tuple[str, str]:
    text = (option.help or "").replace("%%", "%")
    variable = _VARIABLE.search(text)
    meaning = _VARIABLE.sub("", text)
    more = ". Mandatory" if option.required else f". Variable `{variable[1]}`" if variable else ""
    return f"`{option.option_strings[-1]} {option.metavar}`", f"{meaning[:1].upper()}{meaning[1:]}{more}"
