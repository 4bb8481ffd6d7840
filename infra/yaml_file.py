"""Parses YAML files strictly. Faults are reported as sentences that start with their location."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

import yaml
from pydantic import ValidationError

from chalicelib.foundation.jsontext import is_utf_8

try:
    from yaml import CSafeLoader as SafeLoader  # the parser in C needs a tenth of the time
except ImportError:  # PyYAML was built without it
    from yaml import SafeLoader  # type: ignore[assignment]

_DEEPEST = 100
"""Maximum depth of nested lists and members. A much greater depth would cause a stack overflow in the C parser."""


class InvalidYaml(ValueError):
    """The text is not valid YAML, or has a duplicate member. The message contains the location and quotes no value."""


class _Loader(SafeLoader):
    """A strict YAML loader. 036 is the number 36, not octal. 0.86 is text, not a binary float. Text must be UTF-8.

    The C parser refuses text that is not UTF-8.
    """

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012 - the base class has it so

    def construct_scalar(self, node: yaml.ScalarNode | yaml.MappingNode) -> Any:
        if isinstance(node, yaml.ScalarNode) and not is_utf_8(node.value):
            raise yaml.constructor.ConstructorError(
                problem="half of a surrogate pair is no text", problem_mark=node.start_mark
            )
        return super().construct_scalar(node)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        names = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        for position, name in enumerate(names):
            if name in names[:position]:
                raise yaml.constructor.ConstructorError(
                    problem="a member occurs twice", problem_mark=node.value[position][0].start_mark
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


def parse_yaml(text: str) -> Any:
    """Parse YAML text. Raises: InvalidYaml."""
    try:
        _check_events(text)
        return yaml.load(text, _Loader)  # noqa: S506 - a SafeLoader
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        raise InvalidYaml(f"{where}{error.problem}") from None
    except (yaml.YAMLError, UnicodeEncodeError):  # the latter from the parser in C
        raise InvalidYaml("the file is not valid YAML text") from None


def _check_events(text: str) -> None:
    try:
        _check_depth(yaml.parse(text, SafeLoader))
    except yaml.YAMLError:
        _check_depth(yaml.parse(text, yaml.SafeLoader))  # which gives the place more precisely
        raise


def _check_depth(events: Iterable[yaml.Event]) -> None:
    depth = 0
    for event in events:
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _DEEPEST:
            raise InvalidYaml("the file is nested too deeply")


_SENTENCES = {
    "missing": "is missing",
    "extra_forbidden": "is unknown",
    "string_type": "must be text: put it in quotes",
    "int_type": "must be a whole number",
    "bool_type": "must be true or false",
    "list_type": "must be a list",
    "too_short": "must not be empty",
    "model_type": "must have members",
}


def explain_faults(error: ValidationError) -> Iterator[str]:
    """Return the differences between a file and its model, as sentences that start with their location."""
    return map(_explain, error.errors(include_input=False, include_url=False))


def _explain(error: Any) -> str:
    place = ".".join(map(str, error["loc"])) or "the file"
    if said := _SENTENCES.get(error["type"]):
        return f"{place} {said}"
    message = str(error["msg"]).removeprefix("Value error, ")
    message = message.replace(" after validation", "")
    for subject in ("Input", "String", "List"):
        message = message.replace(f"{subject} should", "must")
    return f"{place} {message[:1].lower()}{message[1:]}"
