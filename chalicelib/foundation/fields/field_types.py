"""Messages and the types of their members: type notation, the base class of validation rules, and rules for text.

Patterns in JSON Schema use ECMA-262 syntax and are exact within Latin-1. If a check is stricter than a pattern can
express (letters of all scripts, check digits), the pattern is wider and the description states the rule.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import date
from itertools import islice
from typing import Annotated, Any, TypeVar, get_args
from unicodedata import category

from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler, GetJsonSchemaHandler, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import CoreSchema, core_schema

from chalicelib.foundation.fields.problems import InvalidMessage, Kind, Problem, fault, problems_of
from chalicelib.foundation.fields.written_text import is_blank, is_written
from chalicelib.foundation.lazy_dataclasses import dataclass

Json = dict[str, Any]
PROBLEMS = 50
"""The maximum number of problems in one response."""
M = TypeVar("M", bound="Message")


class Message(BaseModel):
    """A JSON object that may have only declared members. The model rejects all other members."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True, hide_input_in_errors=True)

    @classmethod
    def read(cls: type[M], value: object, most: int | None = PROBLEMS) -> M:
        """Validate a parsed JSON value. Raises: InvalidMessage, with at most ``most`` problems."""
        if not isinstance(value, dict):
            raise InvalidMessage([Problem("", "type", "the body must be a JSON object")])
        try:
            return cls.model_validate(value)
        except ValidationError as error:
            raise InvalidMessage(list(islice(problems_of(cls, error), most))) from None


class OpenMessage(Message):
    """A JSON object that may have undeclared members."""

    model_config = ConfigDict(extra="allow")


class ValueRule:
    """Validates a value. ``check`` returns the parsed value."""

    __slots__ = ()

    def check(self, value: Any) -> Any:
        raise NotImplementedError

    def json_schema(self) -> Json:
        """Return the JSON Schema of a request value. It accepts every valid value, and may accept invalid values."""
        raise NotImplementedError

    def answer_schema(self) -> Json:
        """Return the JSON Schema of a response value."""
        return self.json_schema()

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self.check)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> Json:
        return self.json_schema()


@dataclass(frozen=True, slots=True)
class Notation:
    """A type with its bounds in brackets, in the specification's notation: ``N[20]``, ``AN[1, 10]``.

    A list has the type of its entries in brackets.

    Attributes:
        rule: creates a rule from the upper bound and the optional lower bound.
        exact: whether a single number is both bounds, instead of only the upper bound.
    """

    kind: Any
    rule: Callable[..., ValueRule]
    exact: bool = False

    def __getitem__(self, bounds: Any) -> Any:
        if isinstance(bounds, tuple):
            lower, upper = bounds
            return Annotated[self.kind, self.rule(upper, lower)]
        return Annotated[self.kind, self.rule(bounds, bounds) if self.exact else self.rule(bounds)]


def rule_of(annotation: Any) -> ValueRule:
    """Return the rule of an annotated field type."""
    found: ValueRule = next(each for each in annotation.__metadata__ if isinstance(each, ValueRule))
    return found


def rule_in(field: FieldInfo) -> ValueRule:
    """Return the rule of a model's field, which may be optional."""
    rules = [each for each in field.metadata if isinstance(each, ValueRule)]
    return rules[0] if rules else rule_of(next(each for each in get_args(field.annotation) if each is not type(None)))


def annotation_parts(annotation: Any) -> Iterator[Any]:
    """Return all parts of a type annotation: list items, union members, and type rules."""
    yield annotation
    for argument in get_args(annotation):
        yield from annotation_parts(argument)


def check_length(length: int, longest: int, shortest: int = 0, unit: str = "characters") -> None:
    """Reject a length outside its bounds. If there is no minimum, only the empty text is too short."""
    if (shortest or 1) <= length <= longest:
        return
    if not shortest:
        fault("length", f"must have at most {longest} {unit}" if length else "must not be empty")
    bounds = f"exactly {longest}" if shortest == longest else f"{shortest} to {longest}"
    fault("length", f"must have {bounds} {unit if longest > 1 else unit.removesuffix('s')}")


def text_of(value: Any, longest: int | None, shortest: int = 0) -> str:
    """Return a string after checking its maximum length, if any."""
    if type(value) is not str:
        fault("type", "must be a string")
    if longest is not None:
        check_length(len(value), longest, shortest)
    return value


def capitalize(text: str) -> str:
    """Return the text with its first letter in upper case."""
    return text[:1].upper() + text[1:]


# -- Texts

UNPRINTABLE = (
    r"\u0000-\u001f\u007f-\u00a0\u00ad\u061c\u1680\u180e\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000"
    r"\ue000-\uf8ff\ufeff\ufff9-\ufffb"
)
"""A regular expression character class: controls, formatting, private use, and all spaces except U+0020.

The class covers the Basic Multilingual Plane only, because JavaScript needs the ``u`` flag for ranges beyond it.
"""

UNWRITTEN = (
    r"\u0000-\u001f\u007f-\u009f\u061c\u1680\u180e\u2000-\u200b\u200e\u200f\u2028-\u202f\u205f-\u206f\u3000"
    r"\ue000-\uf8ff\ufeff\ufff9-\ufffb"
)
"""A regular expression character class: ``UNPRINTABLE`` without the characters that occur in written text, which are
no-break spaces, soft hyphens and joiners (see ``written_text``).
"""

BLANK = r" \u00a0\u00ad\u200c\u200d"
"""A regular expression character class: the invisible characters that names may contain."""

NO_LETTERS = r"\u00a1-\u00a9\u00ab\u00ac\u00ae-\u00b4\u00b6-\u00b9\u00bb-\u00bf\u00d7\u00f7"
"""A regular expression character class: the characters of Latin-1 beyond ASCII that are not letters."""


@dataclass(frozen=True, slots=True, eq=False)
class Characters:
    """The characters that a notation permits.

    Attributes:
        fits: a function that returns whether a text has only these characters. It may also raise a ``fault``.
        reason: the error message, which states the permitted characters.
        pattern: the permitted characters as a JSON Schema pattern.
        example: a text that is shortened or repeated to the length of a type.
    """

    fits: Callable[[str], object]
    reason: str
    pattern: str
    description: str
    example: str

    def notation(self, *, exact: bool = False) -> Notation:
        """Return the notation for text types that permit only these characters."""
        return Notation(str, lambda longest, shortest=0: TextRule(self, longest, shortest), exact)


class _SizedRule(ValueRule):
    """A text with a maximum length and an optional minimum length, parsed by ``accept``.

    Attributes:
        longest: the maximum length, or ``None`` if ``accept`` checks the length.
        shortest: the minimum length; 0 if only the empty text is too short.
    """

    __slots__ = ()
    longest: int | None
    shortest: int

    def accept(self, text: str) -> str:
        raise NotImplementedError

    def check(self, value: Any) -> str:
        is_sized = type(value) is str and self.longest is not None and self.shortest <= len(value) <= self.longest
        return self.accept(value if is_sized and value else text_of(value, self.longest, self.shortest))

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Delegate type and length checks to pydantic, which is faster, unless the rule has a minimum length."""
        if self.shortest:
            return ValueRule.__get_pydantic_core_schema__(self, source, handler)
        least = None if self.longest is None else 1
        text = core_schema.str_schema(strict=True, min_length=least, max_length=self.longest)
        return core_schema.no_info_after_validator_function(self.accept, text)


@dataclass(frozen=True, slots=True, eq=False)
class TextRule(_SizedRule):
    """A text that contains only permitted characters."""

    characters: Characters
    longest: int
    shortest: int = 0

    def accept(self, text: str) -> str:
        return text if self.characters.fits(text) else fault("characters", self.characters.reason)

    def json_schema(self) -> Json:
        shortest, example = self.shortest or 1, self.characters.example
        example = (example * (shortest // len(example) + 1))[: max(shortest, len(example))]
        return {
            "type": "string",
            "minLength": shortest,
            "maxLength": self.longest,
            "pattern": self.characters.pattern,
            "description": self.characters.description,
            "examples": [example[: self.longest].strip()],
        }

    def answer_schema(self) -> Json:
        """Return the schema without the pattern, which is irrelevant in responses."""
        return {name: value for name, value in self.json_schema().items() if name != "pattern"}


@dataclass(frozen=True, slots=True, eq=False)
class FormRule(_SizedRule):
    """A text in a format, such as a date.

    Attributes:
        read: returns the normalised text, or ``None`` if the format is invalid; may also raise a ``fault``.
        reason: states the required format; ``kind`` is the kind of this fault.
        characters: the characters, if they are checked before the format.
        format: the format's name in JSON Schema; ``schema`` has further members.
        codes: returns all valid texts for the ``enum`` of the schema.
    """

    read: Callable[[str], str | None]
    schema: Json
    reason: str = ""
    longest: int | None = None
    shortest: int = 0
    characters: Characters | None = None
    kind: Kind = "value"
    format: str = ""
    codes: Callable[[], frozenset[str]] | None = None

    def accept(self, text: str) -> str:
        if self.characters is not None and not self.characters.fits(text):
            fault("characters", self.characters.reason)
        found = self.read(text)
        return fault(self.kind, self.reason) if found is None else found

    def json_schema(self) -> Json:
        named = {"format": self.format} if self.format else {}
        is_variable = self.longest is not None and self.longest != self.shortest  # otherwise, the pattern says it
        lengths = {"minLength": self.shortest or 1, "maxLength": self.longest} if is_variable else {}
        codes = {"enum": sorted(self.codes())} if self.codes else {}
        return {"type": "string", **named, **lengths, **codes, **self.schema}


PRINTABLE = Characters(
    str.isprintable, "must be printable text", f"^[^{UNPRINTABLE}]*$", "Printable text", "Invoice 17"
)


def is_visible(text: str) -> bool:
    """Whether a text has only characters that people write, and at least one of them is visible."""
    return (text.isprintable() or is_written(text)) and not (text.isspace() if text.isascii() else is_blank(text))


_JOINERS = "\u00a0\u00ad\u200c\u200d"
_USUAL_LETTERS = "A-Za-zÀ-ÖØ-öø-\u02c1\u0400-\u0481\u048a-\u052f\u1e00-\u1eff"


def in_names(
    punctuation: str, has_enough: Callable[[str], object], is_letter: Callable[[str], bool] = str.isalpha
) -> Callable[[str], object]:
    """Create a check that a text has only letters of any script, combining marks, spaces, joiners and ``punctuation``.

    A text without common letters must also satisfy the function ``has_enough``.
    """
    others = f" {re.escape(punctuation)}"
    usual = re.compile(f"[{others}]*[{_USUAL_LETTERS}][{_USUAL_LETTERS}{others}]*")
    no_letters = f" {punctuation}{_JOINERS}"

    def fits(text: str) -> object:
        return usual.fullmatch(text) or (
            all(is_letter(each) or each in no_letters or category(each)[0] == "M" for each in text) and has_enough(text)
        )

    return fits


DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def read_day(text: str) -> str | None:
    """Parse a date, YYYY-MM-DD. Return ``None`` for any other text."""
    try:
        return date.fromisoformat(text).isoformat() if DAY.fullmatch(text) else None
    except ValueError:
        return None


def reader(pattern: re.Pattern[str]) -> Callable[[str], str | None]:
    """Create a reader that accepts the texts that match a regular expression."""
    return lambda text: text if pattern.fullmatch(text) else None
