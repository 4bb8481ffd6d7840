"""Tests of the error text tables. Each sentence is defined once, and code raises an error by its name in the table."""

import ast
from collections import Counter
from collections.abc import Iterator
from functools import cache
from string import Formatter

import pytest

from chalicelib.demo_bank import refusals as of_demo_banks
from chalicelib.openbanking.protocol import refusals
from chalicelib.openbanking.protocol.refusals import RefusalRow
from tests.kit.source_code import MODULES, nodes, within

TABLES = {"chalicelib.openbanking.protocol.refusals": refusals, "chalicelib.demo_bank.refusals": of_demo_banks}
ROOMS = ("app", "chalicelib.application", "chalicelib.openbanking", "chalicelib.website", "chalicelib.demo_bank")
REFUSING = [module for module in MODULES if within(module, *ROOMS)]
OPTIONS = {"hint", "reason", "oauth_error", "retry_after"}


def rows(table: object) -> dict[str, RefusalRow]:
    return {name: row for name, row in vars(table).items() if isinstance(row, RefusalRow)}


def placeholders(row: RefusalRow) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(row.sentence) if name}


def texts(module: str) -> Iterator[str]:
    """Yield the string literals of a module, with ``{}`` for the replacement fields of f-strings."""
    parts = {id(part) for node in nodes(module) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in nodes(module):
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts:
            yield node.value


def test_every_refusal_sentence_is_unique() -> None:
    found = Counter(text for module in REFUSING for text in texts(module))
    sentences = [row for table in TABLES.values() for row in rows(table).values()]

    assert len(sentences) > 90
    for row in sentences:
        shape = row.sentence.format(**dict.fromkeys(placeholders(row), "{}"))
        assert found[row.sentence] + (found[shape] if shape != row.sentence else 0) <= 1, row.sentence


def test_the_sentence_of_every_refusal_is_defined_in_a_table(subtests: pytest.Subtests) -> None:
    for module in [each for each in REFUSING if each not in TABLES]:
        for call in [node for node in nodes(module) if isinstance(node, ast.Call)]:
            if isinstance(call.func, ast.Name) and call.func.id in ("Refusal", "RefusalRow"):
                with subtests.test(f"{module}:{call.lineno}"):
                    given = [*call.args, *(keyword.value for keyword in call.keywords)]
                    assert not [each for each in given if isinstance(each, ast.Constant | ast.JoinedStr)]


@pytest.mark.parametrize("table", TABLES)
def test_every_refusal_is_raised_with_the_values_of_its_sentence(table: str, subtests: pytest.Subtests) -> None:
    own = rows(TABLES[table])
    for module in REFUSING:
        names = imported_as(module, table)
        called: set[int] = set()
        for call in [node for node in nodes(module) if isinstance(node, ast.Call)]:
            name = name_of(call.func, names)
            if name in own:
                called.add(id(call.func))
                with subtests.test(f"{module}:{call.lineno}"):
                    assert {each.arg for each in call.keywords} - OPTIONS == placeholders(own[name])
        for node in nodes(module):
            name = name_of(node, names)
            if name in own and id(node) not in called:  # called elsewhere, without values
                with subtests.test(f"{module}:{name}"):
                    assert placeholders(own[name]) == set()


@pytest.mark.parametrize("table", TABLES)
def test_every_refusal_is_raised_somewhere_in_the_code(table: str) -> None:
    found = [(module, node) for module in REFUSING for node in nodes(module)]
    used = {name_of(node, imported_as(module, table)) for module, node in found}
    used |= {node.id for node in nodes(table) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}

    assert rows(TABLES[table]).keys() - used == set()


@cache
def imported_as(module: str, table: str) -> frozenset[str]:
    package, _, last = table.rpartition(".")
    return frozenset(
        name.asname or name.name
        for node in nodes(module)
        if isinstance(node, ast.ImportFrom) and node.module == package
        for name in node.names
        if name.name == last
    )


def name_of(node: ast.AST, tables: frozenset[str]) -> str:
    """Return the name of the refusal in an expression such as ``refusals.STATE_USED``, or an empty string."""
    is_row = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in tables
    return node.attr if is_row and isinstance(node, ast.Attribute) else ""
