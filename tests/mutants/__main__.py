"""Put random small defects into core modules, one at a time, and check that the unit tests detect them.

The mutation operators are those of cosmic-ray. The tests closest to a module run first, until one test fails.
"""

import ast
import random
import re
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from queue import SimpleQueue

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names

from infra import command
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
"""The modules to mutate: defects in these modules would cause the most damage."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """A module with one defect, and the first changed line: its number, and its text before and after the change."""

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
    """A possible mutation of a module: the operator, and the number of the operator's occurrence in the module."""

    module: Path
    operator: str
    occurrence: int


def modules() -> list[Path]:
    return [file for pattern in MODULES for file in sorted(ROOT.glob(pattern)) if file.name != "__init__.py"]


def draw(seed: str, count: int) -> list[Mutant]:
    """Return up to ``count`` random mutants that change behaviour. The same seed and code produce the same mutants.

    The function selects a line first, and then a mutant of the line, because most operators change the same few lines.
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
    """Return the first mutant that compiles and changes behaviour. Changes to types and docstrings do not change
    behaviour.
    """
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
    """Return a module's syntax tree without types and docstrings, or ``None`` if the source has a syntax error."""
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


UNIT = "not faults and not pages and not year and not sdk and not rehearsal and not e2e"
SECONDS = 1200
OWN_SECONDS = 300
"""The time limit, in seconds, of the tests of a module. A mutant whose tests exceed the limit counts as detected."""

_LEFT_OUT = shutil.ignore_patterns(".git", ".local", ".venv*", "build", "*_cache", ".hypothesis", "__pycache__")
_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Outcome:
    mutant: Mutant
    killed_by: str | None


class Hunt:
    """A run of mutants in a copy of the project in ``folder``, one mutant at a time."""

    def __init__(self, folder: Path) -> None:
        self._root = folder / "project"
        shutil.copytree(ROOT, self._root, ignore=_LEFT_OUT)

    def kill(self, mutant: Mutant) -> Outcome:
        file = self._root / mutant.module.relative_to(ROOT)
        before = file.read_text(encoding="utf-8")
        self._write(file, mutant.code)
        try:
            rounds = (self._failure(each) for each in tests_for(mutant.module))
            return Outcome(mutant, next((failed for failed in rounds if failed), None))
        finally:
            self._write(file, before)

    def failure_without_mutant(self, processes: int) -> str | None:
        """Return a test that fails without a mutant, or ``None``. Such a test would also fail for every mutant."""
        return self._failure(["--numprocesses", str(processes), "--dist", "loadfile", "tests"])

    def _failure(self, tests: list[str]) -> str | None:
        seconds = OWN_SECONDS if all(test.endswith(".py") for test in tests) else SECONDS
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-m", UNIT, *tests]
        try:
            result = subprocess.run(
                command, cwd=self._root, capture_output=True, text=True, check=False, timeout=seconds
            )
        except subprocess.TimeoutExpired:
            return "it never ended"
        if result.returncode in (0, _NONE_COLLECTED):
            return None
        found = _FAILED.search(result.stdout)
        return found[1] if found else result.stdout.strip().rpartition("\n")[2] or "the tests could not be collected"

    def _write(self, file: Path, code: str) -> None:
        """Write a module and delete its compiled file, which could have the time and size of another mutant's file."""
        file.write_text(code, encoding="utf-8")
        for compiled in file.parent.glob(f"__pycache__/{file.stem}.*"):
            compiled.unlink()


_NONE_COLLECTED = 5


def tests_for(module: Path) -> list[list[str]]:
    """Return the tests to run, in order: tests of the module, tests of the module's package, and all tests."""
    parts = module.relative_to(ROOT / "chalicelib").with_suffix("").parts
    folder = ROOT / "tests" / Path(*parts[:-1])
    own = sorted(str(file.relative_to(ROOT)) for file in folder.glob(f"test_{parts[-1]}*.py"))
    return [each for each in (own, [f"tests/{parts[0]}"], ["tests"]) if each]


GOAL = 0.95
"""The minimum share of mutants that the tests must detect."""


def main(arguments: list[str] | None = None) -> int:
    """Generate and test mutants, print the results, and return the exit code."""
    parser = command.parser("tests.mutants", __doc__)
    parser.add_argument("--seed", default="", help="what the mutants are drawn by; one of its own when left out")
    parser.add_argument("--count", type=int, default=100, help="so many mutants")
    parser.add_argument("--processes", type=int, default=2, help="so many mutants at a time")
    parser.add_argument("--list", action="store_true", help="only list them")
    options = parser.parse_args(arguments)
    seed, begun = options.seed or secrets.token_hex(4), time.monotonic()
    mutants = draw(seed, options.count)
    print(f"SEED={seed} COUNT={len(mutants)}", flush=True)
    if options.list:
        print(*mutants, sep="\n")
        return 0
    outcomes = _hunt(mutants, options.processes)
    survivors = [each.mutant for each in outcomes if each.killed_by is None]
    died = len(outcomes) - len(survivors)
    print(f"\n{died} of {len(outcomes)} died, in {(time.monotonic() - begun) / 60:.0f} minutes. Survivors:")
    print("\n".join(map(str, survivors)) or "none")
    return 0 if died >= GOAL * len(outcomes) else 1


def _hunt(mutants: list[Mutant], processes: int) -> list[Outcome]:
    with tempfile.TemporaryDirectory(prefix="causeway-mutants-") as place, ThreadPoolExecutor(processes) as pool:
        hunts: SimpleQueue[Hunt] = SimpleQueue()
        for number in range(processes):
            hunts.put(hunt := Hunt(Path(place) / str(number)))
        if failed := hunt.failure_without_mutant(processes):
            sys.exit(f"causeway: {failed} fails without a mutant.")

        def one(mutant: Mutant) -> Outcome:
            hunt = hunts.get()
            try:
                outcome = hunt.kill(mutant)
            finally:
                hunts.put(hunt)
            print(f"{mutant}\n    {outcome.killed_by or 'SURVIVED'}", flush=True)
            return outcome

        return [*pool.map(one, mutants)]


if __name__ == "__main__":
    command.run(main)
