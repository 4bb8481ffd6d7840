"""How the reference of the SDK writes types, signatures and docstrings of one package."""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from infra.render.docs import python_source
from infra.render.openapi.introduction import table
from infra.render.sdk.definitions import Function

_WIDTH = 88
_FEW = 6
"""The most values that a type lists."""
_SPAN = re.compile(r"(?<![`\[])`([A-Za-z_][\w.]*)`(?![`\]])")
_PARAMETER = re.compile(r"^    (\w+): (.+(?:\n {5,}.+)*)", re.MULTILINE)


@dataclass(frozen=True)
class Notation:
    """The names of one package.

    Attributes:
        links: the place of each documented name.
        aliases: types that have no place of their own: they are written out.
    """

    links: Mapping[str, str]
    aliases: Mapping[str, ast.expr]

    # -- types

    def resolve(self, annotation: ast.expr) -> ast.expr:
        """An annotation without modules, and with aliases written out."""
        found = _Resolver(self).visit(copy.deepcopy(annotation))
        assert isinstance(found, ast.expr)
        return found

    def code(self, annotation: ast.expr) -> str:
        """A type, as a program writes it."""
        return python_source.unparse(self.resolve(annotation))

    def cell(self, annotation: ast.expr, default: ast.expr | None = None) -> str:
        """A type in a table: alternatives, each with a link, and what holds without a value."""
        parts = python_source.alternatives(self.resolve(annotation))
        has_none_as_default = default is not None and ast.unparse(default) == "None"
        if has_none_as_default:
            parts = [each for each in parts if ast.unparse(each) != "None"]
        found = " or ".join(part for each in parts for part in self._choices(each))
        if has_none_as_default:
            return f"{found}, optional"
        if default is None or found == f"`{python_source.unparse(default)}`":
            return found
        return f"{found}, default `{'{}' if ast.unparse(default) == 'dict' else python_source.unparse(default)}`"

    def _choices(self, annotation: ast.expr) -> Iterator[str]:
        values = python_source.values_of(annotation)
        if 0 < len(values) <= _FEW:
            yield from (f"`{value}`" for value in values)
            return
        code = f"`{python_source.unparse(annotation)}`".replace("|", "\\|")
        yield next((f"[{code}]({place})" for _, place in self._places(annotation)), code)

    def links_of_types(self, *annotations: ast.expr) -> str:
        """Links to the documented types in annotations."""
        found = dict.fromkeys(
            f"[`{name}`]({place})" for each in annotations for name, place in self._places(self.resolve(each))
        )
        return ", ".join(found)

    def _places(self, annotation: ast.expr) -> Iterator[tuple[str, str]]:
        names = python_source.names_in(annotation)
        return ((name, self.links[name]) for name in names if name in self.links)

    # -- signatures

    def signature(self, name: str, node: Function) -> str:
        """A call as a program writes it, with the types of parameters and result."""
        parameters = [*self._parameters(node)]
        result = "" if node.name == "__init__" or node.returns is None else f" -> {self.code(node.returns)}"
        line = f"{name}({', '.join(parameters)}){result}"
        if len(line) <= _WIDTH:
            return line
        return "\n".join([f"{name}(", *(f"    {each}," for each in parameters), f"){result}"])

    def _parameters(self, node: Function) -> Iterator[str]:
        arguments = node.args
        places = arguments.args[1:] if arguments.args and arguments.args[0].arg in {"self", "cls"} else arguments.args
        defaults: list[ast.expr | None] = [None] * len(places)
        if arguments.defaults:
            defaults[-len(arguments.defaults) :] = arguments.defaults
        for argument, default in zip(places, defaults, strict=True):
            yield self._parameter(argument, default)
        if arguments.kwonlyargs:
            yield "*"
        for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
            yield self._parameter(argument, default)
        if arguments.kwarg is not None:
            yield f"**{self._parameter(arguments.kwarg, None)}"

    def _parameter(self, argument: ast.arg, default: ast.expr | None) -> str:
        named = f"{argument.arg}: {self.code(argument.annotation)}" if argument.annotation else argument.arg
        if default is None:
            return named
        return f"{named} = {'...' if isinstance(default, ast.Attribute) else python_source.unparse(default)}"

    def links_of_signature(self, node: Function) -> str:
        """Links to the documented types of a signature."""
        arguments = [*node.args.args, *node.args.kwonlyargs]
        annotations = [each.annotation for each in arguments if each.annotation is not None]
        return self.links_of_types(*annotations, *([node.returns] if node.returns is not None else []))

    # -- texts

    def prose(self, text: str, own: Collection[str] = ()) -> Iterator[str]:
        """The paragraphs of a docstring, with links to the names in it but ``own``. ``Args:`` become a table."""
        for paragraph in text.split("\n\n"):
            if paragraph.startswith("Args:"):
                rows = [
                    (f"`{name}`", self.cell_text(f"{told[0].upper()}{told[1:]}"))
                    for name, told in _PARAMETER.findall(paragraph)
                ]
                yield table(("Parameter", "Meaning"), rows)
            elif paragraph:
                yield self.line(paragraph, own)

    def line(self, text: str, own: Collection[str] = ()) -> str:
        """A paragraph on one line."""
        joined = " ".join(text.split()).replace("``", "`")
        return _SPAN.sub(lambda span: self._link(span, own), joined)

    def cell_text(self, text: str) -> str:
        """A docstring in a table."""
        return re.sub(r"(?<!\\)\|", r"\\|", self.line(text).removesuffix("."))

    def first_sentence(self, text: str) -> str:
        """What a table of contents says, without links."""
        joined = " ".join(text.split("\n\n", maxsplit=1)[0].split()).replace("``", "`")
        found = re.split(r"(?<=[.:]) (?=[A-Z`])", joined, maxsplit=1)[0]
        return re.sub(r"(?<!\\)\|", r"\\|", found.removesuffix(".").removesuffix(":"))

    def _link(self, span: re.Match[str], own: Collection[str]) -> str:
        name = span[1].removeprefix("causeway.tpp.").removeprefix("causeway.bank.")
        place = self.links.get(name)
        return f"[{span[0]}]({place})" if place and name not in own else span[0]


class _Resolver(ast.NodeTransformer):
    def __init__(self, notation: Notation) -> None:
        self._notation = notation

    def visit_Name(self, node: ast.Name) -> ast.expr:
        written_out = None if node.id in self._notation.links else self._notation.aliases.get(node.id)
        return node if written_out is None else self._notation.resolve(written_out)

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if ast.unparse(node.value) == "datetime":
            return ast.Name(node.attr)
        return node
