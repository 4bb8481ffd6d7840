"""``make help`` and the commands behind the targets."""

from __future__ import annotations

import re
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
    "postman",
    "bench",
    "volume",
    "lint",
    "format",
    "package",
    "deploy",
    "clean",
    "help",
}


def test_help_lists_every_target_on_one_line() -> None:
    said = subprocess.run(["make", "-s", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    listed = dict(line.split(maxsplit=2)[1:] for line in said.splitlines())
    phony = re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)

    assert phony is not None
    assert set(listed) == set(phony[1].split()) >= TARGETS
    assert all(len(line) <= 120 for line in said.splitlines())


def test_make_alone_is_help() -> None:
    alone = subprocess.run(["make", "-s"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert alone.startswith("  make help")


def test_every_requirement_is_pinned_exactly() -> None:
    for name in ("requirements.in", "requirements-dev.in", "infra/localstack/requirements.txt"):
        lines = [line for line in (ROOT / name).read_text().splitlines() if line and not line.startswith("#")]
        for line in lines:
            pinned = re.fullmatch(r"[A-Za-z0-9._-]+(\[[a-z,]+\])?==[0-9][0-9a-z.]*", line)
            assert line == "-r requirements.in" or pinned
