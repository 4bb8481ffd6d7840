"""Runs the tests on a mutant, those that are closest to its module first, until one fails."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from infra.repository import ROOT
from tests.mutants.drawing import Mutant

UNIT = "not faults and not pages and not year and not sdk and not rehearsal and not e2e"
SECONDS = 1200
OWN_SECONDS = 300
"""A mutant on which all tests, or those of its module, take longer has made something endless: it was noticed."""

_LEFT_OUT = shutil.ignore_patterns(".git", ".local", ".venv*", "build", "*_cache", ".hypothesis", "__pycache__")
_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a mutant: the test that failed, or ``None`` if it survived."""

    mutant: Mutant
    killed_by: str | None


class Hunt:
    """A copy of the project in ``folder``, for one mutant at a time."""

    def __init__(self, folder: Path) -> None:
        self._root = folder / "project"
        shutil.copytree(ROOT, self._root, ignore=_LEFT_OUT)

    def kill(self, mutant: Mutant) -> Outcome:
        """Run tests on ``mutant`` until one fails."""
        file = self._root / mutant.module.relative_to(ROOT)
        before = file.read_text(encoding="utf-8")
        self._write(file, mutant.code)
        try:
            rounds = (self._failure(each) for each in tests_for(mutant.module))
            return Outcome(mutant, next((failed for failed in rounds if failed), None))
        finally:
            self._write(file, before)

    def failure_without_mutant(self, processes: int) -> str | None:
        """The test that fails in the copy as it is, which would seem to kill every mutant."""
        return self._failure(["--numprocesses", str(processes), "--dist", "loadfile", "tests"])

    def _failure(self, tests: list[str]) -> str | None:
        """The first test that fails; ``None`` if all pass."""
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
        """Write a module and forget its compiled form, whose age and size could be those of another mutant."""
        file.write_text(code, encoding="utf-8")
        for compiled in file.parent.glob(f"__pycache__/{file.stem}.*"):
            compiled.unlink()


_NONE_COLLECTED = 5


def tests_for(module: Path) -> list[list[str]]:
    """The rounds of tests: the module's own, those of its package, all."""
    parts = module.relative_to(ROOT / "chalicelib").with_suffix("").parts
    folder = ROOT / "tests" / Path(*parts[:-1])
    own = sorted(str(file.relative_to(ROOT)) for file in folder.glob(f"test_{parts[-1]}*.py"))
    return [each for each in (own, [f"tests/{parts[0]}"], ["tests"]) if each]
