"""Renders the reference of the SDK: each name that users import, with signature, docstring, members and methods."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import griffe

from infra.render.docs import sdk_layout, sdk_source
from infra.render.docs.apis import anchor
from infra.render.docs.sdk_layout import Entry, Group, Layout
from infra.render.docs.sdk_notation import Notation, alternatives, values_of
from infra.render.docs.sdk_source import Method, docstring
from infra.render.openapi.introduction import table
from infra.render.sdk.tpp import METHODS
from infra.render.sdk_package import load

_DECORATOR = re.compile(r"^``(\(.*\)) -> (.+?)``:\s(.+)", re.DOTALL)
"""The pattern of a decorator's docstring: the signature of the decorated function, then the description."""
_TYPE = re.compile(r": ([^,)]+)")
_INHERITED = "deferred calls"
"""The end of the title of the section for methods that the client and the consent have in common."""
_CODE_IN_ADVICE = re.compile(r"\w+=\w+\([^)]*\)|\w+\([^)]*\)(?:\.\w+)?|\w+=\w[\w.]*\w|\b[a-z]+_[a-z_]+\b")
_CODES = {"status": "Status", "code_v1": "code of version 1", "code_v2": "code of version 2"}


def render(page: str) -> str:
    layout = sdk_layout.LAYOUTS[page]
    return "\n\n".join(part for group in layout.groups for part in _group(layout, group))


def _group(layout: Layout, group: Group) -> Iterator[str]:
    found = sdk_layout.entries(layout.package, group)
    if all(map(sdk_layout.handle_of, found)):
        for each in found:
            yield from MainClass(layout.package, each).render()
        return
    yield f"## {group.title}"
    if group.introduction:
        yield group.introduction
    if group.modules[0].startswith("causeway.tpp._async"):
        yield from _asynchronous_classes(found)
        return
    names = Names(layout.package)
    if len(found) > 1:
        yield names.contents((each.name, each.name, docstring(each.node)) for each in found)
    for each in found:
        yield from names.entry(each)
    if group.modules == ("causeway.errors",):
        yield from _advice()


def _asynchronous_classes(found: Iterable[Entry]) -> Iterator[str]:
    for each in found:
        synchronous = each.name.removeprefix("Async")
        yield f"### `{each.name}`"
        yield f"[`{synchronous}`](#{anchor(synchronous)}) for a program with an event loop."


def _advice() -> Iterator[str]:
    errors = load("errors")
    for title, head, texts in (
        ("Advice by code, for TPPs", "Reason code, OAuth code, code or status", errors.ADVICE),
        ("Advice by code, for banks", "Code", errors.HUB_ADVICE),
    ):
        yield f"### {title}"
        yield table((head, "Advice"), _codes_by_advice(texts))


def _codes_by_advice(texts: Mapping[Any, str]) -> list[tuple[str, str]]:
    found: dict[str, list[str]] = {}
    for code, advice in texts.items():
        found.setdefault(advice, []).append(f"`{code}`")
    return [(", ".join(codes), mark_code(advice).removesuffix(".")) for advice, codes in found.items()]


def mark_code(advice: str) -> str:
    """Return a text of advice in which code is formatted as code."""
    return _CODE_IN_ADVICE.sub(r"`\g<0>`", advice)


class Names:
    """Renders the names of one package."""

    def __init__(self, package: str) -> None:
        self._notation: Notation = sdk_layout.notation(package)

    def contents(self, rows: Iterable[tuple[str, str, str]]) -> str:
        """Return a table of contents with the name, heading and docstring of each entry."""
        cells = [(f"[`{name}`](#{anchor(to)})", self._notation.first_sentence(text)) for name, to, text in rows]
        return table(("", "Purpose"), cells)

    def entry(self, entry: Entry) -> Iterator[str]:
        yield f"### `{entry.name}`"
        if isinstance(entry.node, griffe.Attribute):
            yield from self._alias(entry, str(entry.node.value))
        elif isinstance(entry.node, griffe.Class):
            yield from self._class(entry, entry.node)
        else:
            yield from self.call(entry.name, entry.node)

    def _alias(self, entry: Entry, value: str) -> Iterator[str]:
        yield from self._notation.prose(docstring(entry.node), [entry.name])
        values = values_of(value)
        if values:
            yield f"Values: {', '.join(f'`{each}`' for each in values)}."
        elif len(alternatives(value)) > 1:
            yield f"One of {self._notation.links_of_types(value)}."
        else:
            yield f"Type: `{self._notation.code(value)}`."

    def _class(self, entry: Entry, node: griffe.Class) -> Iterator[str]:
        made = sdk_source.constructor(node)
        is_error = entry.module == "causeway.errors"
        if made is not None and not is_error:
            yield _block(self._notation.signature(entry.name, made))
        yield from self._notation.prose(docstring(node), [entry.name])
        if made is not None and not is_error:
            yield from self._notation.prose(docstring(made), [entry.name])
        if is_error:
            yield from self._error(node)
        if entry.module == "causeway.bank.refusals":
            yield self._refusal(entry)
        if members := sdk_source.members(node):
            yield self._members(members)
        added = sdk_source.inherited_methods(node) if node.name in METHODS else ()
        for method in (*sdk_source.methods(node), *added):
            if _has_own_text(method):
                yield f"#### `{entry.name}.{method.name}`"
                yield from self.method(entry.name, method)

    def _members(self, members: Sequence[sdk_source.Member]) -> str:
        rows = []
        for each in members:
            renamed = f" In JSON `{each.wire_name}`" if each.wire_name != each.name else ""
            meaning = self._notation.cell_text(each.meaning)
            text = f"{meaning}.{renamed}" if meaning and renamed else meaning or renamed.strip()
            rows.append((f"`{each.name}`", self._notation.cell(each.annotation, each.default), text))
        return table(("Member", "Type", "Meaning"), rows)

    def _error(self, node: griffe.Class) -> Iterator[str]:
        above = [f"[`{name}`](#{anchor(name)})" for name in map(str, node.bases) if name != "Exception"]
        sentences = [f"A kind of {above[0]}."] if above else []
        error = getattr(load("errors"), node.name)
        if above and {"advice", "advice_for"} & set(vars(error)) and node.name != "ApiError":
            sentences.append(f"Advice: {mark_code(error(400).advice if 'advice_for' in vars(error) else error.advice)}")
        if sentences:
            yield " ".join(sentences)

    def _refusal(self, entry: Entry) -> str:
        refusal = getattr(load("bank.refusals"), entry.name)
        codes = [f"{title} `{getattr(refusal, name)}`" for name, title in _CODES.items()]
        return f"{', '.join(codes)}."

    def method(self, name: str, method: Method) -> Iterator[str]:
        """Render a method or property of an object with the variable name ``name``."""
        if isinstance(method, griffe.Attribute):
            yield _block(f"{name}.{method.name}: {self._notation.code(method.annotation)}")
            yield from self._notation.prose(docstring(method))
        else:
            yield from self.call(f"{name}.{method.name}", method)

    def call(self, name: str, node: griffe.Function) -> Iterator[str]:
        text = docstring(node)
        decorated = _DECORATOR.match(text)
        if decorated:
            text = _capitalize(decorated[3])
            yield _block(f"@{name}\ndef {name.rpartition('.')[2]}{decorated[1]} -> {decorated[2]}")
        else:
            awaited = "await " if "async" in node.labels else ""
            yield _block(f"{awaited}{self._notation.signature(name, node)}")
        yield from self._notation.prose(text, {name.rpartition(".")[2], *_names_of(node)})
        types = (
            self._notation.links_of_types(*_TYPE.findall(decorated[1]), decorated[2])
            if decorated
            else self._notation.links_of_signature(node)
        )
        if types:
            yield f"Types: {types}."


class MainClass(Names):
    """Renders the reference of a class, with a separate section for each method."""

    def __init__(self, package: str, entry: Entry) -> None:
        super().__init__(package)
        assert isinstance(entry.node, griffe.Class)
        self._entry, self._node = entry, entry.node
        self._handle = str(sdk_layout.handle_of(entry))
        own = {each.name: f"#{anchor(f'{self._handle}.{each.name}')}" for each in sdk_source.methods(entry.node)}
        self._notation = replace(self._notation, links={**own, **self._notation.links})

    def render(self) -> Iterator[str]:
        yield f"## `{self._entry.name}`"
        made = sdk_source.constructor(self._node)
        is_made_by_users = made is not None and not self._entry.module.endswith((".consent", ".native"))
        if made is not None and is_made_by_users:
            yield _block(self._notation.signature(self._entry.name, made))
        parameters = _names_of(made) if made is not None else ()
        yield from self._notation.prose(docstring(self._node), {self._entry.name, *parameters})
        if made is not None and is_made_by_users:
            yield from self._notation.prose(docstring(made), {self._entry.name, *parameters})
            yield f"Types: {self._notation.links_of_signature(made)}."
        for section, methods in self._sections().items():
            if section:
                yield f"## {section}"
            yield self.contents(self._row(each) for each in methods)
            for each in methods:
                yield f"### `{self._handle}.{each.name}`"
                yield from self.method(self._handle, each)

    def _row(self, method: Method) -> tuple[str, str, str]:
        name = f"{self._handle}.{method.name}"
        decorated = _DECORATOR.match(text := docstring(method))
        return name, name, _capitalize(decorated[3]) if decorated else text

    def _sections(self) -> Mapping[str, list[Method]]:
        """Return the methods by section comment of the source. Inherited methods without one are in the section of
        payments, or in the last one.
        """
        found: dict[str, list[Method]] = {}
        for each in sdk_source.methods(self._node):
            found.setdefault(sdk_source.section_of(each), []).append(each)
        section = next((each for each in found if each.endswith(_INHERITED)), [*found][-1])
        for each in sdk_source.inherited_methods(self._node):
            found.setdefault(sdk_source.section_of(each) or section, []).append(each)
        return found


def _names_of(function: griffe.Function) -> set[str]:
    return {each.name for each in function.parameters}


def _has_own_text(method: Method) -> bool:
    text = docstring(method)
    return bool(text) and not text.startswith("See ")


def _capitalize(text: str) -> str:
    return text[:1].upper() + text[1:]


def _block(code: str) -> str:
    """Return a signature as a code block. The block is not marked as Python, because a signature is not a complete
    program.
    """
    return f"```text\n{code}\n```"
