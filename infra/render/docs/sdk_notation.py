"""The notation of types, signatures and docstrings of one package in the SDK's reference."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

import griffe

from infra.render.docs import sdk_source
from infra.render.openapi.introduction import table

_WIDTH = 88
_FEW = 6
_NAME = re.compile(r"""(?<![\w.'"])(?:datetime\.)?([A-Za-z_]\w*)""")
_CONSTANT = re.compile(r"[A-Za-z_]\w*\.[\w.]+")
_SPAN = re.compile(r"(?<![`\[])`([A-Za-z_][\w.]*)`(?![`\]])")
_PARAMETER = re.compile(r"^    (\w+): (.+(?:\n {5,}.+)*)", re.MULTILINE)


@dataclass(frozen=True)
class Notation:
    """The notation for the names of one package. Types are strings of Python source code.

    Attributes:
        links: maps each documented name to its link target.
        aliases: maps each type alias to its definition, which replaces undocumented aliases.
    """

    links: Mapping[str, str]
    aliases: Mapping[str, str]

    def code(self, annotation: object) -> str:
        """Return a type as source code, without module names and with undocumented aliases expanded."""
        return _NAME.sub(lambda found: self._written_out(found[1]), str(annotation)).replace("'", '"')

    def _written_out(self, name: str) -> str:
        return self.code(self.aliases[name]) if name in self.aliases and name not in self.links else name

    def cell(self, annotation: str, default: str | None = None) -> str:
        """Return the table cell of a type: its alternatives, each with a link, and the default value."""
        parts = alternatives(self.code(annotation))
        if default == "None":
            parts = [each for each in parts if each != "None"]
        found = " or ".join(part for each in parts for part in self._choices(each))
        if default == "None":
            return f"{found}, optional"
        value = None if default is None else "{}" if default == "dict" else default.replace("'", '"')
        return found if value is None or found == f"`{value}`" else f"{found}, default `{value}`"

    def _choices(self, annotation: str) -> Iterator[str]:
        values = values_of(annotation)
        if 0 < len(values) <= _FEW:
            yield from (f"`{value}`" for value in values)
            return
        code = f"`{annotation}`".replace("|", "\\|")
        yield next((f"[{code}]({self.links[name]})" for name in _NAME.findall(annotation) if name in self.links), code)

    def links_of_types(self, *annotations: object) -> str:
        """Return links to the documented types in annotations."""
        names = dict.fromkeys(name for each in annotations for name in _NAME.findall(self.code(each)))
        return ", ".join(f"[`{name}`]({self.links[name]})" for name in names if name in self.links)

    def links_of_signature(self, function: griffe.Function) -> str:
        """Return links to the documented types of a signature."""
        found = [*(each.annotation for each in sdk_source.parameters(function)), function.returns]
        return self.links_of_types(*(each for each in found if each is not None))

    def signature(self, name: str, function: griffe.Function) -> str:
        """Return the signature of a call as source code, with the types of the parameters and the result."""
        parameters = [*self._parameters(function)]
        has_result = function.returns is not None and function.name != "__init__"
        result = f" -> {self.code(function.returns)}" if has_result else ""
        line = f"{name}({', '.join(parameters)}){result}"
        if len(line) <= _WIDTH:
            return line
        return "\n".join([f"{name}(", *(f"    {each}," for each in parameters), f"){result}"])

    def _parameters(self, function: griffe.Function) -> Iterator[str]:
        named_only = False
        for each in sdk_source.parameters(function):
            if each.kind is griffe.ParameterKind.keyword_only and not named_only:
                named_only = True
                yield "*"
            stars = "**" if each.kind is griffe.ParameterKind.var_keyword else ""
            named = f"{stars}{each.name}: {self.code(each.annotation)}" if each.annotation else f"{stars}{each.name}"
            default = None if stars or each.default is None else str(each.default).replace("'", '"')
            yield named if default is None else f"{named} = {'...' if _CONSTANT.fullmatch(default) else default}"

    # -- texts

    def prose(self, text: str, own: Collection[str] = ()) -> Iterator[str]:
        """Yield the paragraphs of a docstring. Names except those in ``own`` become links, and ``Args:`` becomes a
        table.
        """
        for paragraph in text.split("\n\n"):
            if paragraph.startswith("Args:"):
                rows = [
                    (f"`{name}`", self.cell_text(f"{meaning[0].upper()}{meaning[1:]}"))
                    for name, meaning in _PARAMETER.findall(paragraph)
                ]
                yield table(("Parameter", "Meaning"), rows)
            elif paragraph:
                yield self.line(paragraph, own)

    def line(self, text: str, own: Collection[str] = ()) -> str:
        """Return a paragraph as a single line."""
        joined = " ".join(text.split()).replace("``", "`")
        return _SPAN.sub(lambda span: self._link(span, own), joined)

    def cell_text(self, text: str) -> str:
        """Return a docstring as the content of a table cell."""
        return re.sub(r"(?<!\\)\|", r"\\|", self.line(text).removesuffix("."))

    def first_sentence(self, text: str) -> str:
        """Return the first sentence of a docstring for a table of contents, without links."""
        joined = " ".join(text.split("\n\n", maxsplit=1)[0].split()).replace("``", "`")
        found = re.split(r"(?<=[.:]) (?=[A-Z`])", joined, maxsplit=1)[0]
        return re.sub(r"(?<!\\)\|", r"\\|", found.removesuffix(".").removesuffix(":"))

    def _link(self, span: re.Match[str], own: Collection[str]) -> str:
        name = span[1].removeprefix("causeway.tpp.").removeprefix("causeway.bank.")
        place = self.links.get(name)
        return f"[{span[0]}]({place})" if place and name not in own else span[0]


def alternatives(annotation: str) -> list[str]:
    """Return the members of a union type."""
    parts = [""]
    for piece in annotation.split(" | "):
        is_open = parts[-1].count("[") > parts[-1].count("]")
        parts[-1:] = [f"{parts[-1]} | {piece}"] if is_open else [*filter(None, parts[-1:]), piece]
    return parts


def values_of(annotation: str) -> list[str]:
    """Return the values of a ``Literal`` in source notation; an empty list for other types."""
    found = re.fullmatch(r"Literal\[(.+)\]", annotation)
    return found[1].replace("'", '"').split(", ") if found else []
