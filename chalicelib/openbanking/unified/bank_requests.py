"""Rows that build the requests to banks from unified requests, and refuse members that a version cannot carry.

Members are paths with dots. Of several rows with the same native member, the first one with a value counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from chalicelib.foundation.fields.field_types import PROBLEMS, Message
from chalicelib.foundation.fields.problems import InvalidMessage, Problem
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.openbanking.protocol.errors import refuse_fields
from chalicelib.openbanking.unified.rows import find
from chalicelib.openbanking.unified.values import Converter

Members = Mapping[str, Any]
ORDER = "{order}"
"""The first part of a path from one of several payments to a member of their order."""
_PAYMENTS = "payments"
"""The list of payments in a bulk payment: the unified one and that of each version."""


def keep(value: Any) -> Any:
    """Return a value unchanged."""
    return value


@dataclass(frozen=True, slots=True)
class RefusedRow:
    """A member that a version cannot carry.

    Attributes:
        sentence: what banks of the version take.
        unless: sets of members; beside all members of one set, the member is left out and not refused.
    """

    unified: str
    sentence: str
    unless: Sequence[Sequence[str]] = ()

    def problem(self) -> Problem:
        """Return the problem that names the member."""
        return Problem(self.unified, "value", f"cannot be sent: {self.sentence}")

    def refuses(self, body: Members) -> bool:
        """Whether a body has the member, and none of the sets that replace it."""
        return _has(body, self.unified) and not any(
            all(_has(body, each) for each in members) for members in self.unless
        )


@dataclass(frozen=True, slots=True)
class RequestRow:
    """A member of the request to the bank.

    Attributes:
        native: the path of the version's member.
        unified: the path of the unified member.
        convert: returns the native value.
        longest: the maximum length, if the version's model allows more.
        refused_as: the refusal, if it is not the reason of the version's model.
    """

    native: str
    unified: str
    convert: Converter = keep
    longest: int | None = None
    refused_as: RefusedRow | None = None


@dataclass(frozen=True, slots=True)
class RequestTable:
    """The members of a unified body at banks of one version.

    Attributes:
        left_out: the members that are not sent; they never change where money goes.
        payments: the table of each payment of a bulk payment.
    """

    rows: Sequence[RequestRow]
    refused: Sequence[RefusedRow] = ()
    left_out: Sequence[str] = ()
    payments: RequestTable | None = None

    def build(self, body: Members) -> dict[str, Any]:
        """Return the request to the bank, not yet validated."""
        request = build_request(self.rows, body)
        if self.payments is not None:
            request[_PAYMENTS] = [self.payments.build({**each, ORDER: body}) for each in body[_PAYMENTS]]
        return request

    def unified_name(self, native: str) -> str:
        """Return the path of the unified member for that of a native member."""
        place, row = self.find_row(native)
        return native if row is None else _in_order(place, row.unified)

    def refused_members(self, body: Members, version: int) -> Iterator[Problem]:
        """Yield the members of a body that banks of ``version`` do not take."""
        yield from (row.problem() for row in self.refused if row.refuses(body))
        for row in self.rows:
            if row.longest is not None and len(find(body, _parts(row.unified)) or "") > row.longest:
                reason = f"must have at most {row.longest} characters"
                yield Problem(row.unified, "length", _at_banks(reason, version))
        if self.payments is not None:
            for place, each in enumerate(body[_PAYMENTS]):
                for problem in self.payments.refused_members(each, version):
                    yield replace(problem, field=f"{_PAYMENTS}.{place}.{problem.field}")

    def translate(self, problem: Problem, version: int) -> Problem | None:
        """Return a problem of the version's model with the unified member, or ``None`` if no row has the member."""
        place, row = self.find_row(problem.field)
        if row is None:
            return None
        if row.refused_as is not None:
            return row.refused_as.problem()
        return Problem(_in_order(place, row.unified), problem.kind, _at_banks(problem.reason, version))

    def find_row(self, native: str) -> tuple[str, RequestRow | None]:
        """Return the place of a native member's payment, and the row of the member or of an object that contains it."""
        first, _, rest = native.partition(".")
        if self.payments is not None and first == _PAYMENTS:
            position, _, member = rest.partition(".")
            return f"{_PAYMENTS}.{position}.", self.payments.find_row(member)[1]
        holders = {native} | {native[:end] for end, letter in enumerate(native) if letter == "."}
        return "", next((row for row in self.rows if row.native in holders), None)


def build_request(rows: Sequence[RequestRow], members: Members) -> dict[str, Any]:
    """Return the request to the bank. Members that are ``None`` are left out."""
    request: dict[str, Any] = {}
    for row in rows:
        value = find(members, _parts(row.unified))
        if value is not None:
            *objects, name = _parts(row.native)
            holder = request
            for each in objects:
                holder = holder.setdefault(each, {})
            holder.setdefault(name, row.convert(value))
    return request


def read_request(table: RequestTable, model: type[Message], body: Members, version: int) -> dict[str, Any]:
    """Return the request to a bank of ``version``, validated by the version's ``model``.

    Raises:
        Refusal: banks of the version cannot carry a member.
    """
    problems = {problem.field: problem for problem in table.refused_members(body, version)}
    request: dict[str, Any] = {}
    try:
        request = model.read(table.build(body)).model_dump(exclude_none=True)
    except InvalidMessage as error:
        found = [table.translate(problem, version) for problem in error.problems]
        problems = {problem.field: problem for problem in found if problem} | problems
        problems = problems or {problem.field: problem for problem in error.problems}
    if problems:
        first = [*problems.values()][:PROBLEMS]
        raise refuse_fields(InvalidMessage(first), reason_code="not_at_this_bank")
    return request


def _at_banks(reason: str, version: int) -> str:
    return f"{reason} at banks of version {version}"


def _in_order(place: str, member: str) -> str:
    """Return the path of a member at the place of its payment, or of the order's member."""
    return member.removeprefix(f"{ORDER}.") if member.startswith(ORDER) else f"{place}{member}"


def _has(body: Members, member: str) -> bool:
    return find(body, _parts(member)) is not None


@cache
def _parts(path: str) -> tuple[str, ...]:
    return tuple(path.split("."))
