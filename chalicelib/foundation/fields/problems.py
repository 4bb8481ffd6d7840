"""Validation problems of a message. They contain the member and the rule, but never the value."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, Literal, NoReturn

from pydantic import BaseModel, ValidationError
from pydantic_core import PydanticCustomError

from chalicelib.foundation.lazy_dataclasses import dataclass

Kind = Literal[
    "missing", "unknown", "type", "length", "characters", "value", "date", "required", "excluded", "identifier", "empty"
]


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem with one member: its path (``payments.3.amount``), the kind of fault, and a description."""

    field: str
    kind: Kind
    reason: str
    mandatory: bool = True

    @property
    def is_fatal(self) -> bool:
        """Whether the problem makes a response unusable.

        It does if a mandatory member is missing, empty or of the wrong type, if no request could contain an identifier,
        or if the response as a whole is unreadable.
        """
        unusable = self.kind == "identifier" or (self.mandatory and self.kind in ("missing", "empty", "type"))
        return unusable or not self.field

    def __str__(self) -> str:
        return f"{self.field} {self.reason}" if self.field else self.reason


_PLAIN_NAME = re.compile("[A-Za-z_.]{1,64}")


def loggable_problems(problems: Iterable[Problem]) -> list[Problem]:
    """Return at most 20 problems for a log line. Problems with unknown fields are included only if the field name is
    plain.
    """
    return [*islice(filter(_is_loggable, problems), 20)]


def _is_loggable(problem: Problem) -> bool:
    return problem.kind != "unknown" or _PLAIN_NAME.fullmatch(problem.field) is not None


class InvalidMessage(ValueError):
    """A message does not match its model. ``problems`` lists every fault in the order of the model's members."""

    def __init__(self, problems: list[Problem]) -> None:
        self.problems = problems
        super().__init__("; ".join(map(str, problems)))


def fault(kind: Kind, reason: str) -> NoReturn:
    """Raise an error that rejects a value in a validator."""
    raise PydanticCustomError(kind, "{reason}", {"reason": reason})


def problems_of(model: type[BaseModel], error: ValidationError) -> Iterator[Problem]:
    """Convert pydantic errors to problems. Each combination of path and kind is included once."""
    seen = set()
    for entry in error.errors(include_url=False, include_input=False):
        place = _place(entry)
        kind, reason = _describe(entry)
        if (place, kind) not in seen:
            seen.add((place, kind))
            yield Problem(printable_name(place), kind, reason, _is_mandatory(model, entry["loc"]))


_REASONS: dict[str, tuple[Kind, str]] = {
    "missing": ("missing", "is required"),
    "extra_forbidden": ("unknown", "is not recognised"),
    "string_type": ("type", "must be a string"),
    "bool_type": ("type", "must be true or false"),
    "list_type": ("type", "must be a list"),
    "model_type": ("type", "must be an object"),
    "model_attributes_type": ("type", "must be an object"),
    "dict_type": ("type", "must be an object"),
    "string_too_short": ("length", "must not be empty"),
    "string_unicode": ("characters", "must be printable text"),
    "recursion_loop": ("type", "is nested too deeply"),
}


def _describe(entry: Any) -> tuple[Kind, str]:
    name, context = entry["type"], entry.get("ctx", {})
    if "reason" in context:
        return name, context["reason"]
    if name == "string_too_long":
        return "length", f"must have at most {context['max_length']} characters"
    if name == "too_long":
        return "length", f"must have at most {context['max_length']} entries"
    if name == "too_short":
        return "length", f"must have at least {context['min_length']} entry"
    if name in ("literal_error", "enum"):
        return "value", f"must be {context['expected']}"
    return _REASONS.get(name, ("type", "has the wrong type"))


_BRANCH = re.compile(r"str|int|bool|none|constrained-str|(?:function-\w+|list|dict)\[.*\]", re.DOTALL)


def _place(entry: Any) -> str:
    """Return the path to a member, without the union branch names that pydantic adds to a location."""
    *way, last = entry["loc"] or ("",)
    members = [part for part in way if isinstance(part, int) or not _BRANCH.fullmatch(part)]
    if entry["type"] == "extra_forbidden" or isinstance(last, int) or not _BRANCH.fullmatch(last):
        members.append(last)
    return ".".join(map(str, members))


def printable_name(place: str) -> str:
    """Shorten a member's name to 128 characters, and replace unprintable characters by ``?``."""
    return "".join(character if character.isprintable() else "?" for character in place)[:128]


def _is_mandatory(model: type[BaseModel], location: tuple[int | str, ...]) -> bool:
    current: Any = model
    for part in location:
        if isinstance(part, int):
            continue
        described = getattr(current, "model_fields", {}).get(part)
        if described is None:
            return True
        if not described.is_required():
            return False
        current = _inner_model(described.annotation)
    return True


def _inner_model(annotation: Any) -> Any:
    arguments = getattr(annotation, "__args__", ())
    return _inner_model(arguments[0]) if arguments else annotation
