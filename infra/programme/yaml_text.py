"""YAML as people write it in a set-up: whole numbers are decimal, fractions stay text, a member stands there once."""

from __future__ import annotations

import re
from typing import Any

import yaml


class InvalidYaml(ValueError):
    """The text is no YAML, or says a member twice; the message says where, and quotes nothing of the text."""


class _Loader(yaml.SafeLoader):
    """YAML without surprises: 036 is 36 and not an octal number, 0.86 is text and not a binary fraction."""

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012 - the base class has it so

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        names = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        for position, name in enumerate(names):
            if name in names[:position]:
                raise yaml.constructor.ConstructorError(
                    problem="a member stands there twice", problem_mark=node.value[position][0].start_mark
                )
        return super().construct_mapping(node, deep)


def _decimal(loader: yaml.Loader, node: yaml.Node) -> int:
    assert isinstance(node, yaml.ScalarNode)
    return int(node.value)


_Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"(true|false)\Z"), list("tf"))
_Loader.add_implicit_resolver("tag:yaml.org,2002:int", re.compile(r"[0-9]{1,18}\Z"), list("0123456789"))
_Loader.add_implicit_resolver("tag:yaml.org,2002:null", re.compile(r"(null|~|)\Z"), ["n", "~", ""])
_Loader.add_implicit_resolver("tag:yaml.org,2002:merge", re.compile(r"<<\Z"), ["<"])
_Loader.add_constructor("tag:yaml.org,2002:int", _decimal)


def loads(text: str) -> Any:
    """What the text says. Raises: InvalidYaml."""
    try:
        return yaml.load(text, _Loader)  # noqa: S506 - a SafeLoader
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        raise InvalidYaml(f"{where}{error.problem}") from None
    except yaml.YAMLError:
        raise InvalidYaml("this is not text in YAML") from None
