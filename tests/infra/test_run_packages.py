"""``make run`` and related programs import only packages in ``requirements-run.txt``."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.utils import canonicalize_name

from infra.deploy import lock
from tests.infra.deployment import pinned_versions
from tests.kit.source_code import parse

ROOT = Path(__file__).parents[2]
STARTED = (
    *("infra/local", "infra/admin", "infra/tour", "infra/conformance", "infra/customers", "infra/programme"),
    *("infra/render", "infra/retention", "infra/yaml_file.py", "infra/deploy/functions.py", "infra/deploy/template.py"),
    *("app.py", "chalicelib", "sdk/src", "docs/guides"),
)
"""The sources of programs in the environment of ``make run``: the stack, the operator's commands, the tour and the
guides.
"""
OWN = ("app", "chalicelib", "infra", "causeway")
MOTO = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in sys.argv:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
from infra.local import emulator
emulator.load_moto()
"""
"""A script that loads the emulator and makes the modules in the arguments unavailable."""


@pytest.fixture(scope="module")
def other_modules() -> set[str]:
    locked = pinned_versions(ROOT / f"{lock.RUN}.txt")
    return {
        module
        for module, distributions in packages_distributions().items()
        if module not in OWN and not any(canonicalize_name(each) in locked for each in distributions)
    }


def statements(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield the syntax nodes of statements. Expressions are omitted, because expressions contain no imports."""
    for node in ast.iter_child_nodes(tree):
        if not isinstance(node, ast.expr):
            yield node
            yield from statements(node)


def imported(place: Path) -> Iterator[str]:
    """Yield the modules that a program imports, including in functions, by absolute name."""
    for file in place.rglob("*.py") if place.is_dir() else [place]:
        for node in statements(parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                yield from (each.name for each in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                yield node.module


def test_programs_started_by_make_run_import_only_run_packages(other_modules: set[str]) -> None:
    modules = {module.partition(".")[0] for place in STARTED for module in imported(ROOT / place)}

    assert {"starlette", "httpx", "yaml"} <= modules
    assert {"pytest", "mypy"} <= other_modules
    assert modules & other_modules == set()


def test_the_emulator_needs_only_run_packages(other_modules: set[str]) -> None:
    command = [sys.executable, "-c", MOTO, *other_modules]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")
