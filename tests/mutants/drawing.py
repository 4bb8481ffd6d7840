"""Which mutants there are, and a draw of them. The operators that make them are cosmic-ray's."""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names

from infra.repository import ROOT

MODULES = (
    "chalicelib/openbanking/flows/tpp_authentication.py",
    "chalicelib/openbanking/flows/payments/*.py",
    "chalicelib/openbanking/records/payments.py",
    "chalicelib/openbanking/flows/consent/*.py",
    "chalicelib/openbanking/records/consents.py",
    "chalicelib/foundation/dynamodb/*.py",
    "chalicelib/foundation/http/outbound.py",
    "chalicelib/openbanking/bank_client/bank_circuits.py",
    "chalicelib/cards/ledger/*.py",
    "chalicelib/cards/authorization/auth*.py",
    "chalicelib/delivery/*.py",
)
"""Where mutants are made: what must not be wrong."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """A module with one defect. ``line`` is the first that differs, ``before`` and ``after`` are its texts."""

    module: Path
    operator: str
    line: int
    before: str
    after: str
    code: str

    def __str__(self) -> str:
        return f"{self.module.relative_to(ROOT)}:{self.line}\n    - {self.before}\n    + {self.after}"


@dataclass(frozen=True, slots=True)
class _Place:
    """Where an operator could change a module: the operator, and which of its occurrences."""

    module: Path
    operator: str
    occurrence: int


def modules() -> list[Path]:
    return [file for pattern in MODULES for file in sorted(ROOT.glob(pattern)) if file.name != "__init__.py"]


def draw(seed: str, count: int) -> list[Mutant]:
    """``count`` mutants that differ in what they do; the same seed draws the same of the same code.

    A line is drawn first and then one of its mutants: most operators would change the same few lines.
    """
    lines: dict[tuple[Path, int], list[_Place]] = {}
    for module in modules():
        for line, place in _places(module):
            lines.setdefault((module, line), []).append(place)
    chance = random.Random(seed)
    order = [*lines]
    chance.shuffle(order)
    drawn = (_first_that_matters(chance.sample(lines[key], len(lines[key]))) for key in order)
    return [mutant for mutant, _ in zip((each for each in drawn if each), range(count), strict=False)]


def _places(module: Path) -> Iterator[tuple[int, _Place]]:
    tree = get_ast(_source(module))
    for name in operator_names():
        operator_class = get_operator(name)
        if operator_class.arguments():
            continue
        operator = operator_class()
        positions = (start for node in ast_nodes(tree) for start, _ in operator.mutation_positions(node))
        for occurrence, (line, _) in enumerate(positions):
            yield line, _Place(module, name, occurrence)


def _first_that_matters(places: list[_Place]) -> Mutant | None:
    """The first whose code can be compiled and does something else: types and docstrings do nothing."""
    for place in places:
        source = _source(place.module)
        code = mutate_code(source, get_operator(place.operator)(), place.occurrence)
        if code and _meaning(code) not in (None, _meaning(source)):
            return _mutant(place, source, code)
    return None


def _mutant(place: _Place, source: str, code: str) -> Mutant:
    pairs = zip(source.splitlines(), code.splitlines(), strict=False)
    line, before, after = next((n, a, b) for n, (a, b) in enumerate(pairs, 1) if a != b)
    return Mutant(place.module, place.operator.rpartition("/")[2], line, before.strip(), after.strip(), code)


@cache
def _source(module: Path) -> str:
    return module.read_text(encoding="utf-8")


def _meaning(code: str) -> str | None:
    """What a module does, without its types and docstrings; ``None`` if it is not Python any more."""
    try:
        tree = ast.parse(code)
    except SyntaxError:
        return None
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef():
                node.returns = None
            case ast.arg():
                node.annotation = None
            case ast.AnnAssign():
                node.annotation = ast.Constant(None)
            case ast.Expr(ast.Constant()):
                node.value = ast.Constant(None)
    return ast.dump(tree)
