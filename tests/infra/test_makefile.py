"""The output of ``make help``, and the commands of the make targets."""

import os
import re
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
TARGETS = {
    "run",
    "tour",
    "test",
    "test-faults",
    "test-dynamodb",
    "chaos",
    "conformance",
    "test-openapi",
    "docs",
    "bench",
    "volume",
    "lint",
    "format",
    "package",
    "deploy",
    "clean",
    "help",
}
NOT_IN_CI = {
    "help": "tests read it",
    "run": "ends with Ctrl-C; tests start it",
    "run-environment": "make environment has its packages; a test imports them alone",
    "install-dynoxide": "builds a program for this machine",
    "localstack": "ends with Ctrl-C; installs programs",
    "chaos": "takes as long as one likes; tests have a short one",
    "fuzz": "takes as long as one likes; make test runs its corpus",
    "interleavings": "takes minutes; make test plays each pair, with one fault, and a few of the others",
    "network": "takes minutes; tests have a short one",
    "mutants": "takes hours",
    "shape": "prints figures; a test holds each below its ceiling",
    "conformance": "needs a bank; tests have several",
    "docs": "lint fails if the SDK would change; every other target renders by itself",
    "contract": "a test fails if it would change something",
    "release": "commits and tags; tests make one in a clone",
    "screenshots": "renews images of the documents",
    "bench": "needs a machine that does nothing else",
    "format": "lint fails if it would change something",
    "lock": "takes what is newest on the day",
    "package": "the rehearsal packages both stages",
    "deploy": "needs an account; the rehearsal has an emulator's",
    "clean": "removes what others need",
}
"""The targets that the merge gate does not run, each with the reason."""


def test_the_merge_gate_runs_every_checking_target() -> None:
    phony = re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    run = re.findall(r"^(?:[^#\n]* )?target ([a-z-]+)", (ROOT / ".ci" / "run").read_text(), re.MULTILINE)

    assert phony is not None
    assert {*run, *NOT_IN_CI} == set(phony[1].split())
    assert NOT_IN_CI.keys().isdisjoint(run)


def test_the_merge_gate_prints_the_seconds_of_each_target_and_the_failed_target(tmp_path: Path) -> None:
    (tmp_path / ".ci").mkdir()
    shutil.copy2(ROOT / ".ci" / "run", tmp_path / ".ci" / "run")
    (tmp_path / "bin").mkdir()
    for name in ("chromium", "curl", "openssl", "python3"):
        (tmp_path / "bin" / name).write_text("#!/bin/sh\n")
        (tmp_path / "bin" / name).chmod(0o755)
    (tmp_path / "Makefile").write_text("lint:\n\t@echo cannot; exit 1\n%:\n\t@echo done\n")
    environ = {"PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin"}

    done = subprocess.run([tmp_path / ".ci" / "run"], env=environ, capture_output=True, text=True, check=False)

    *_, first, second, whole, failed = (re.sub(r" *[0-9]+ s  ", "N s  ", line) for line in done.stdout.splitlines())
    assert done.returncode == 2
    assert [first, second, whole] == ["N s  make stage-python", "N s  make environment", "N s  in all"]
    assert failed == "failed: make lint"


def test_help_lists_every_target_on_one_line() -> None:
    said = subprocess.run(["make", "-s", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    listed = dict(line.split(maxsplit=2)[1:] for line in said.splitlines())
    phony = re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)

    assert phony is not None
    assert set(listed) == set(phony[1].split()) >= TARGETS
    assert all(len(line) <= 120 for line in said.splitlines())


def test_make_without_a_target_prints_help() -> None:
    alone = subprocess.run(["make", "-s"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert alone.startswith("  make help")


def test_every_requirement_is_pinned_exactly() -> None:
    sets = ("requirements.in", "requirements-run.in", "requirements-dev.in")
    for name in (*sets, "infra/local/localstack/requirements.txt"):
        lines = [line for line in (ROOT / name).read_text().splitlines() if line and not line.startswith("#")]
        for line in lines:
            pinned = re.fullmatch(r"[A-Za-z0-9._-]+(\[[a-z,]+\])?==[0-9][0-9a-z.]*", line)
            assert line.startswith("-r requirements") or pinned


def test_marks_by_which_targets_choose_modules_are_set_in_test_modules_only() -> None:
    chosen = re.findall(r"call MARKED,([a-z0-9|]+)", (ROOT / "Makefile").read_text())
    marks = re.compile(rf"mark[.]({'|'.join(chosen)})\b")

    assert len(chosen) == 3
    others = [file for file in (ROOT / "tests").rglob("*.py") if not file.name.startswith("test_")]
    assert [file for file in others if marks.search(file.read_text("utf-8"))] == []


def test_missing_test_paths_are_reported_before_the_start() -> None:
    done = _make("TESTS=tests/nonexistent.py::test_name tests/infra")

    assert done.returncode == 2
    assert done.stdout == ""
    assert re.fullmatch(r"Makefile:\d+: \*\*\* TESTS: tests/nonexistent\.py does not exist\.  Stop\.\n", done.stderr)


def test_the_tests_variable_accepts_paths_names_patterns_and_options() -> None:
    for tests in (
        "",
        "tests/infra tests/foundation",
        f"tests/infra/{Path(__file__).name}::test_name",
        "tests/infra/test_*.py",
        "tests/infra -k name",
    ):
        assert _make(f"TESTS={tests}").returncode == 0, tests


def _make(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = ["make", "--dry-run", "test", *arguments]
    return subprocess.run(
        command, cwd=ROOT, env={"PATH": os.environ["PATH"]}, capture_output=True, text=True, check=False
    )
