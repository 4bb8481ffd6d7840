"""Evaluation of the DynamoDB expressions that the service uses: conditions of an item, and updates.

An item is a mapping of names to attribute values in wire format (``{"N": "5"}``). Binary values are in base64.
"""

import base64
import operator
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import cache
from typing import Any

Value = dict[str, Any]
Row = dict[str, Value]
Condition = Callable[[Row, "Terms"], bool]

_WORD = re.compile(r"\s*(<>|<=|>=|[=<>(),+-]|[#:]?\w+)")
_SETS = ("NS", "SS", "BS")
_ORDERS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


class Invalid(Exception):
    """Raised if DynamoDB would refuse a request with a ValidationException."""


class Terms:
    """The values of a request's placeholders.

    Raises: Invalid: an expression uses an undefined placeholder, or a placeholder is not used in any expression.
    """

    def __init__(self, names: Mapping[str, str], values: Row, expressions: list[str]) -> None:
        self._names = names
        self._values = values
        placeholders = {word for each in expressions for word in words(each) if word[0] in "#:"}
        if odd := placeholders ^ (names.keys() | values.keys()):
            raise Invalid(f"{sorted(odd)} undefined, or unused in expressions")

    def name(self, word: str) -> str:
        return self._names[word] if word[0] == "#" else word

    def operand(self, row: Row, word: str) -> Value | None:
        """Return the value of an operand, which is a literal value or an attribute. Return ``None`` if the item does
        not have the attribute.
        """
        return self._values[word] if word[0] == ":" else row.get(self.name(word))


@cache
def words(expression: str) -> tuple[str, ...]:
    """Split an expression into words.

    Raises: NotImplementedError: the expression has a document path, which the service does not use.
    """
    found = tuple(_WORD.findall(expression))
    if "".join(found) != re.sub(r"\s", "", expression):
        raise NotImplementedError(expression)
    return found


def plain(value: Value) -> tuple[str, Any]:
    """Return a comparable tuple of the value's type and content. Values of key types can be hashed and ordered."""
    ((kind, content),) = value.items()
    match kind:
        case "N":
            return kind, Decimal(content)
        case "NS":
            return kind, frozenset(map(Decimal, content))
        case "B":
            return kind, base64.b64decode(content)
        case "BS":
            return kind, frozenset(map(base64.b64decode, content))
        case "SS":
            return kind, frozenset(content)
        case "L":
            return kind, [plain(each) for each in content]
        case "M":
            return kind, {name: plain(each) for name, each in content.items()}
    return kind, content


# -- conditions


@cache
def condition(expression: str) -> Condition:
    left = list(words(expression))
    read = _either(left)
    if left:
        raise NotImplementedError(expression)
    return read


def _either(left: list[str]) -> Condition:
    found = _both(left)
    while left and left[0] == "OR":
        left.pop(0)
        found = _joined(any, found, _both(left))
    return found


def _both(left: list[str]) -> Condition:
    found = _single(left)
    while left and left[0] == "AND":
        left.pop(0)
        found = _joined(all, found, _single(left))
    return found


def _joined(how: Callable[..., bool], *conditions: Condition) -> Condition:
    return lambda row, terms: how(each(row, terms) for each in conditions)


def _single(left: list[str]) -> Condition:
    first = left.pop(0)
    if first == "NOT":
        inner = _single(left)
        return lambda row, terms: not inner(row, terms)
    if first == "(":
        inner = _either(left)
        _take(left, ")")
        return inner
    if left[0] == "(":
        arguments = _arguments(left)
        if first == "size":
            (sized,) = arguments
            return _compared(left.pop(0), sized, left.pop(0), of_size=True)
        return _function(first, arguments)
    match left.pop(0):
        case "BETWEEN":
            least = left.pop(0)
            _take(left, "AND")
            most = left.pop(0)
            return _joined(all, _compared(">=", first, least), _compared("<=", first, most))
        case "IN":
            return _joined(any, *(_compared("=", first, each) for each in _arguments(left)))
        case comparison:
            return _compared(comparison, first, left.pop(0))


def _take(left: list[str], word: str) -> None:
    if left.pop(0) != word:
        raise NotImplementedError(word)


def _arguments(left: list[str]) -> list[str]:
    _take(left, "(")
    end = left.index(")")
    found = left[:end:2]
    del left[: end + 1]
    return found


def _function(name: str, arguments: list[str]) -> Condition:
    first, *rest = arguments
    match name:
        case "attribute_exists":
            return lambda row, terms: terms.name(first) in row
        case "attribute_not_exists":
            return lambda row, terms: terms.name(first) not in row
        case "begins_with":
            return lambda row, terms: _begins(terms.operand(row, first), terms.operand(row, rest[0]))
        case "contains":
            return lambda row, terms: _contains(terms.operand(row, first), terms.operand(row, rest[0]))
    raise NotImplementedError(name)


def _begins(value: Value | None, prefix: Value | None) -> bool:
    if value is None or prefix is None or value.keys() != prefix.keys():
        return False
    return bool(plain(value)[1].startswith(plain(prefix)[1]))


def _contains(value: Value | None, member: Value | None) -> bool:
    if value is None or member is None:
        return False
    (kind, content), (of_member, wanted) = plain(value), plain(member)
    if kind == "L":
        return plain(member) in content
    return kind in (of_member, f"{of_member}S") and kind in ("S", "B", "SS", "NS", "BS") and wanted in content


def _compared(comparison: str, first: str, second: str, *, of_size: bool = False) -> Condition:
    def compare(row: Row, terms: Terms) -> bool:
        one, other = terms.operand(row, first), terms.operand(row, second)
        if one is None or other is None:
            return comparison == "<>"
        if of_size:
            one = {"N": str(_length(one))}
        if comparison in ("=", "<>"):
            return (plain(one) == plain(other)) == (comparison == "=")
        return one.keys() == other.keys() and bool(_ORDERS[comparison](plain(one)[1], plain(other)[1]))

    if comparison not in ("=", "<>", *_ORDERS):
        raise NotImplementedError(comparison)
    return compare


def _length(value: Value) -> int:
    kind, content = plain(value)
    return len(content.encode() if kind == "S" else content)


# -- updates


def updated(expression: str, row: Row, terms: Terms) -> tuple[Row, set[str]]:
    """Return the updated item and the names of the changed attributes. Raises: Invalid."""
    after, named = dict(row), set()
    for verb, clause in _clauses(expression):
        for first, *rest in clause:
            name = terms.name(first)
            if name in named:
                raise Invalid(f"two changes of {name}")
            named.add(name)
            match verb, rest:
                case "SET", ["=", *source]:
                    after[name] = _source(source, row, terms)
                case "REMOVE", []:
                    after.pop(name, None)
                case "ADD", [more]:
                    after[name] = _added(row.get(name), terms.operand({}, more))
                case "DELETE", [gone]:
                    after |= _deleted(name, after.pop(name, None), terms.operand({}, gone))
                case _:
                    raise NotImplementedError(expression)
    return after, named


@cache
def _clauses(expression: str) -> list[tuple[str, list[list[str]]]]:
    found: list[tuple[str, list[list[str]]]] = []
    for word in words(expression):
        if word in ("SET", "REMOVE", "ADD", "DELETE"):
            found.append((word, [[]]))
        elif word == "," and "(" not in found[-1][1][-1]:
            found[-1][1].append([])
        else:
            found[-1][1][-1].append(word)
    return found


def _source(source: list[str], row: Row, terms: Terms) -> Value:
    match source:
        case [word]:
            value = terms.operand(row, word)
        case ["if_not_exists", "(", name, ",", word, ")"]:
            value = terms.operand(row, name) or terms.operand(row, word)
        case [first, "+" | "-" as sign, second]:
            one, other = terms.operand(row, first), terms.operand(row, second)
            if one is None or other is None or not one.keys() == other.keys() == {"N"}:
                raise Invalid("no numbers")
            change = plain(other)[1]
            value = {"N": _number(plain(one)[1] + (change if sign == "+" else -change))}
        case _:
            raise NotImplementedError(source)
    if value is None:
        raise Invalid(f"no attribute {source}")
    return value


def _added(before: Value | None, more: Value | None) -> Value:
    assert more is not None
    ((kind, content),) = more.items()
    if kind not in ("N", *_SETS) or (before is not None and before.keys() != more.keys()):
        raise Invalid(f"{more} cannot be added to {before}")
    if before is None:
        return more
    if kind == "N":
        return {kind: _number(plain(before)[1] + plain(more)[1])}
    return {kind: [*before[kind], *(each for each in content if each not in before[kind])]}


def _deleted(name: str, before: Value | None, gone: Value | None) -> Row:
    """Return an item with the remaining members of a set, or an empty item if no member remains."""
    assert gone is not None
    ((kind, content),) = gone.items()
    if kind not in _SETS or (before is not None and before.keys() != gone.keys()):
        raise Invalid(f"{gone} cannot be deleted from {before}")
    left = [each for each in (before or {kind: []})[kind] if each not in content]
    return {name: {kind: left}} if left else {}


def _number(value: Decimal) -> str:
    return f"{value:f}"
