"""The field vocabulary: the specification's types as types, so that a message reads like its table.

``AN[18]`` is printable text of 1 to 18 characters, ``A[3]`` letters, ``N[20]`` up to 20 digits (a JSON number or a
string of digits), ``Whole[100]`` a number from 1 to 100; ``Iban``, ``Bic`` and ``Currency`` what their names say.
A ``Message`` refuses unknown members; an ``OpenMessage``, for what a bank answers, lets them through.

Values are never quoted in a problem: it names the member and the rule.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any, Literal, NoReturn, TypeVar

from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler, ValidationError
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

_PROBLEMS = 50  # as many as one answer tells
Kind = Literal["missing", "unknown", "type", "length", "characters", "value"]
M = TypeVar("M", bound="Message")


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with one member: where (``payments.3.amount``), which kind of fault, and a sentence."""

    field: str
    kind: Kind
    reason: str
    mandatory: bool = True

    def __str__(self) -> str:
        return f"{self.field} {self.reason}" if self.field else self.reason


class InvalidMessage(ValueError):
    """A message does not fit its model; ``problems`` has every fault, in the order of the model's members."""

    def __init__(self, problems: list[Problem]) -> None:
        self.problems = problems
        super().__init__("; ".join(map(str, problems)))


def fault(kind: Kind, reason: str) -> NoReturn:
    """Refuse a value from inside a validator."""
    raise PydanticCustomError(kind, "{reason}", {"reason": reason})


class Message(BaseModel):
    """A JSON object with exactly the members that its model declares."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True, hide_input_in_errors=True)

    @classmethod
    def read(cls: type[M], value: object) -> M:
        """Check a parsed JSON value. Raises: InvalidMessage."""
        if not isinstance(value, dict):
            raise InvalidMessage([Problem("", "type", "the body must be a JSON object")])
        try:
            return cls.model_validate(value)
        except ValidationError as error:
            raise InvalidMessage(list(islice(_problems(cls, error), _PROBLEMS))) from None


class OpenMessage(Message):
    """A JSON object that may have more members than its model declares."""

    model_config = ConfigDict(extra="allow")


class _Text:
    """A constrained string; subclasses say which characters are allowed."""

    @classmethod
    def check(cls, value: str) -> str:
        raise NotImplementedError

    def __class_getitem__(cls, length: int) -> Any:
        return Annotated[str, _Rule(cls.check, length)]


@dataclass(frozen=True, slots=True)
class _Rule:
    """Tells pydantic to check a string's length, then its characters."""

    check: Callable[[str], str]
    length: int

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        text = core_schema.str_schema(strict=True, min_length=1, max_length=self.length)
        return core_schema.no_info_after_validator_function(self.check, text)


class AN(_Text):
    """Printable text (the specification's letters, digits and ``. ! @`` would refuse addresses and names)."""

    @classmethod
    def check(cls, value: str) -> str:
        return value if value.isprintable() else fault("characters", "must be printable text")


class A(_Text):
    """Letters."""

    @classmethod
    def check(cls, value: str) -> str:
        return value if value.isalpha() else fault("characters", "must be letters only")


class N:
    """A number of at most so many digits: a JSON number, or a string of digits with an optional decimal dot."""

    def __class_getitem__(cls, length: int) -> Any:
        return Annotated[Any, _Digits(length)]


class Whole:
    """A whole number from 1 to the length in brackets, as a query has it: nothing but digits."""

    def __class_getitem__(cls, highest: int) -> Any:
        return Annotated[int, _WholeUpTo(highest)]


@dataclass(frozen=True, slots=True)
class _WholeUpTo:
    highest: int

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self.check)

    def check(self, value: object) -> int:
        text = str(value)
        if not re.fullmatch(r"[0-9]{1,9}", text) or not 1 <= int(text) <= self.highest:
            fault("value", f"must be a whole number from 1 to {self.highest}")
        return int(text)


_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")


@dataclass(frozen=True, slots=True)
class _Digits:
    length: int

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self.check)

    def check(self, value: object) -> object:
        if isinstance(value, bool) or not isinstance(value, int | Decimal | str):
            fault("type", "must be a number")
        if isinstance(value, Decimal) and _digits(value) > self.length:  # before 1e999999999 is written out
            fault("length", f"must have at most {self.length} digits")
        text = f"{value:f}" if isinstance(value, Decimal) else str(value)
        if not _NUMBER.fullmatch(text):
            fault("type", "must be a number")
        if sum(map(str.isdigit, text)) > self.length:
            fault("length", f"must have at most {self.length} digits")
        return value


def _digits(value: Decimal) -> int:
    """A lower bound of how many digits a number has when it is written without an exponent."""
    _, digits, exponent = value.as_tuple()
    return max(len(digits) + exponent, -exponent) if isinstance(exponent, int) else 0


def _iban(value: str) -> str:
    from stdnum import iban  # the registry is large and few requests need it

    compact = value.replace(" ", "").upper()
    return compact if compact.isascii() and iban.is_valid(compact) else fault("value", "is not a valid IBAN")


def _bic(value: str) -> str:
    upper = value.upper()
    return upper if _BIC.fullmatch(upper) else fault("value", "is not a BIC of 8 or 11 characters")


_BIC = re.compile(r"[A-Z0-9]{4}[A-Z]{2}[A-Z0-9]{2}(?:[A-Z0-9]{3})?")


def _currency(value: str) -> str:
    return value if value in currencies() else fault("value", "is not a currency code of ISO 4217")


def currencies() -> frozenset[str]:
    """The alphabetic codes of ISO 4217."""
    global _currencies
    if not _currencies:
        import pycountry  # the registry is large and few requests need it

        _currencies = frozenset(currency.alpha_3 for currency in pycountry.currencies)
    return _currencies


_currencies: frozenset[str] = frozenset()

if TYPE_CHECKING:
    Iban = str
    Bic = str
    Currency = str
else:
    Iban = Annotated[str, _Rule(_iban, 42)]
    Bic = Annotated[str, _Rule(_bic, 11)]
    Currency = Annotated[str, _Rule(_currency, 3)]


_REASONS: dict[str, tuple[Kind, str]] = {
    "missing": ("missing", "is required"),
    "extra_forbidden": ("unknown", "is not known here"),
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


def _problems(model: type[BaseModel], error: ValidationError) -> Iterator[Problem]:
    seen = set()
    for entry in error.errors(include_url=False, include_input=False):
        place = _place(entry)
        kind, reason = _describe(entry)
        if (place, kind) not in seen:
            seen.add((place, kind))
            yield Problem(_shown(place), kind, reason, _is_mandatory(model, entry["loc"]))


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
    return _REASONS.get(name, ("type", "is not of the right type"))


_BRANCH = re.compile(r"str|int|bool|none|constrained-str|(?:function-\w+|list|dict)\[.*\]", re.DOTALL)


def _place(entry: Any) -> str:
    """The path to a member. Pydantic puts the names of a union's branches into a location; they are no members."""
    *way, last = entry["loc"] or ("",)
    members = [part for part in way if isinstance(part, int) or not _BRANCH.fullmatch(part)]
    if entry["type"] == "extra_forbidden" or isinstance(last, int) or not _BRANCH.fullmatch(last):
        members.append(last)
    return ".".join(map(str, members))


def _shown(place: str) -> str:
    """A member's name as the caller wrote it, shortened and freed of what cannot be printed."""
    return "".join(character if character.isprintable() else "?" for character in place)[:128]


def _is_mandatory(model: type[BaseModel], location: tuple[int | str, ...]) -> bool:
    """Whether every member on the way to ``location`` is required by the model it belongs to."""
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
