"""Models of requests and responses, with conditions between fields declared as data.

When a request is read, ignored fields are dropped, each field is validated by its type, and the conditions on the
remaining fields are evaluated. All problems are reported together, in the order of the model's fields.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, TypeVar

from pydantic import PrivateAttr, ValidationError
from typing_extensions import TypedDict

from chalicelib.cards.protocol.fields import Level
from chalicelib.cards.protocol.status_codes import refused_fields
from chalicelib.foundation.fields.field_types import Message, rule_in
from chalicelib.foundation.fields.problems import Problem, problems_of
from chalicelib.foundation.lazy_dataclasses import dataclass

R = TypeVar("R", bound="Request")
T = TypeVar("T")
NULL = "null"
"""The marker for the type of a response member that may be ``null``."""
Members = Mapping[str, Any]

Check = Callable[[Members], Iterator[Problem]]
"""A function that takes the parsed values and yields problems in combinations of valid fields."""

ENVELOPE = frozenset(("access_key", "access_api_id", "access_api_key", "action", "api_version", "request_reference_id"))
"""The members of every request, in addition to ``access_level`` and the action's fields."""
_MEMBERS = 200
"""The maximum number of request members, which is well above the number that any action needs."""


@dataclass(frozen=True, slots=True)
class When:
    """A condition's premise: ``field`` is present, is absent, or has a value."""

    field: str
    value: int | None = None
    present: bool = True
    default: int = 0

    def holds(self, members: Members) -> bool:
        if self.value is None:
            return (self.field in members) is self.present
        return str(members.get(self.field, self.default)) == str(self.value)

    def __str__(self) -> str:
        if self.value is None:
            return f"{self.field} is {'present' if self.present else 'absent'}"
        return f"{self.field} is {self.value}"


def if_given(field: str) -> When:
    return When(field)


def if_absent(field: str) -> When:
    return When(field, present=False)


def if_equal(field: str, value: int, default: int = 0) -> When:
    """Return the premise that a number equals ``value``. An absent field counts as ``default``."""
    return When(field, value, default=default)


@dataclass(frozen=True, slots=True)
class Needs:
    """A condition: ``fields`` are required if all premises in ``when`` are true."""

    fields: tuple[str, ...]
    when: tuple[When, ...]

    def problems(self, members: Members) -> Iterator[Problem]:
        if all(each.holds(members) for each in self.when):
            reason = f"is required when {' and '.join(map(str, self.when))}"
            yield from (Problem(field, "required", reason) for field in self.fields if field not in members)


@dataclass(frozen=True, slots=True)
class NeedsOne:
    """A condition: at least one of ``fields`` is required."""

    fields: tuple[str, ...]

    def problems(self, members: Members) -> Iterator[Problem]:
        if not any(field in members for field in self.fields):
            yield Problem(self.fields[0], "required", f"or {' or '.join(self.fields[1:])} is required")


@dataclass(frozen=True, slots=True)
class Excludes:
    """A condition: ``field`` and ``other`` are mutually exclusive."""

    field: str
    other: str

    def problems(self, members: Members) -> Iterator[Problem]:
        if self.field in members and self.other in members:
            yield Problem(self.field, "excluded", f"must not be combined with {self.other}")


Condition = Needs | NeedsOne | Excludes


@dataclass(frozen=True, slots=True)
class Ignores:
    """A condition: ``fields`` are ignored if the premise ``when`` is true."""

    fields: frozenset[str]
    when: When


@dataclass(frozen=True, slots=True)
class Late(Ignores):
    """A condition: if the premise ``when`` is true, problems in ``fields`` are reported only after the stored record
    has been read.
    """

    def select(self, problems: Iterable[Problem], members: Members) -> list[Problem]:
        """Return those ``problems`` that are reported only after the stored record has been read."""
        return [problem for problem in problems if problem.field in self.fields] if self.when.holds(members) else []


class Request(Message):
    """The request fields of an action.

    Every action accepts ``access_level``. If the action creates a record, the value is the access level of the new
    record. Otherwise, the action can see only records up to this level.
    """

    conditions: ClassVar[tuple[Condition, ...]] = ()
    ignored: ClassVar[tuple[Ignores, ...]] = ()
    emptied: ClassVar[frozenset[str]] = frozenset()
    """The fields that ``null`` clears. In other fields, ``null`` counts as absent."""
    late: ClassVar[Late | None] = None
    further: ClassVar[tuple[Check, ...]] = ()
    """The additional checks on combinations of valid fields."""
    lists: ClassVar[tuple[str, ...]] = ()
    """The list fields that are used in conditions."""

    _problems: tuple[Problem, ...] = PrivateAttr(())
    _nulls: tuple[str, ...] = PrivateAttr(())

    access_level: Level | None = None
    """For reads, the highest access level of visible records. For actions that create a record, the access level of the
    new record.
    """

    @classmethod
    def read_fields(cls: type[R], body: Members) -> R:
        """Read the action's fields from a request body. Raises: Refused, with the names of all invalid fields."""
        if len(body) > _MEMBERS:
            raise refused_fields([Problem("", "unknown", f"the request has more than {_MEMBERS} fields")])
        members, nulls = cls._read_members(body)
        request, problems = cls._validate(members)
        late = cls.late.select(problems, members) if cls.late else []
        if len(late) < len(problems):
            raise refused_fields(_sort_problems(cls, [problem for problem in problems if problem not in late]))
        if request is None:
            postponed = {problem.field for problem in late}
            request = cls.model_validate({name: members[name] for name in members.keys() - postponed})
        if late or (nulls and cls.emptied):
            request.keep_notes(late, nulls)
        return request

    @classmethod
    def _validate(cls: type[R], members: Members) -> tuple[R | None, list[Problem]]:
        request: R | None = None
        problems: list[Problem] = []
        try:
            request = cls.model_validate(members)
        except ValidationError as error:
            problems = list(problems_of(cls, error))
        problems += cls._unmet_conditions(members, {problem.field for problem in problems})
        values = cls._valid_values(members, problems) if request is None else request.__dict__
        problems += [problem for check in cls.further for problem in check(values)]
        return request, problems

    def keep_notes(self, late: Sequence[Problem], nulls: Sequence[str]) -> None:
        """Store the deferred problems and the names of the fields to clear."""
        self._problems, self._nulls = tuple(late), tuple(sorted(self.emptied.intersection(nulls)))

    @property
    def problems(self) -> Sequence[Problem]:
        """The deferred problems. A problem does not apply if the stored record makes the field irrelevant."""
        return self._problems

    @property
    def nulls(self) -> Sequence[str]:
        """The names of the fields to clear, in alphabetical order."""
        return self._nulls

    @classmethod
    def _read_members(cls, body: Members) -> tuple[dict[str, Any], list[str]]:
        """Return the members to validate and the names of null fields. Unknown members are always validated."""
        fields = cls.model_fields
        nulls = [name for name, value in body.items() if value is None and name in fields]
        members = {
            name: value
            for name, value in body.items()
            if name not in ENVELOPE and (value is not None or name not in fields)
        }
        for ignores in cls.ignored:
            if ignores.when.holds(members):
                members = {name: value for name, value in members.items() if name not in ignores.fields}
        return members, nulls

    @classmethod
    def _unmet_conditions(cls, members: Members, faulty: set[str]) -> list[Problem]:
        empty = [name for name in cls.lists if _is_empty_list(members.get(name))]
        here = {name: value for name, value in members.items() if name not in empty}
        found = (problem for condition in cls.conditions for problem in condition.problems(here))
        return [problem for problem in found if problem.field not in faulty]

    @classmethod
    def _valid_values(cls, members: Members, problems: Iterable[Problem]) -> dict[str, Any]:
        faulty = {problem.field.partition(".")[0] for problem in problems}
        right = [name for name in cls.model_fields if name in members and name not in faulty]
        return {name: rule_in(cls.model_fields[name]).check(members[name]) for name in right}

    def members(self) -> dict[str, Any]:
        """Return the parsed values of the fields that are present."""
        return {name: value for name, value in self.__dict__.items() if value is not None}


def _is_empty_list(value: Any) -> bool:
    """Whether ``value`` is an empty list value, which counts as absent."""
    return value == [] or (isinstance(value, str) and not value.strip())


def _sort_problems(model: type[Request], problems: list[Problem]) -> list[Problem]:
    """Sort problems by field in the specification's order, which is the action's own fields, then the fields of the
    action's blocks.
    """
    own = [name for name in model.__annotations__ if name in model.model_fields]
    places = {name: place for place, name in enumerate(dict.fromkeys([*own, *model.model_fields]))}
    return sorted(problems, key=lambda problem: places.get(problem.field.partition(".")[0], len(places)))


class Answer(TypedDict):
    """The ``data`` of a response: an object, or an entry of a list.

    Members that are ``None`` are omitted unless they are ``Nullable``.
    """


Nullable = Annotated[T | None, NULL]
"""The type of a member that is ``null`` if it has no value."""
