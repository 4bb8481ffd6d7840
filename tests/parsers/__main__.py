"""Fuzz every parser of what strangers send, guided by coverage, and print what was found.

Inputs that a parser answers with an error that it does not document are kept in ``build/parsers/``. Put them into
``tests/parsers/corpus/``, where ``make test`` runs them. Slow inputs, which depend on the machine, are printed apart
and are no defects.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from infra import command
from infra.repository import ROOT
from tests.parsers.targets import TARGETS

FOLDER = ROOT / "build" / "parsers"
_FUZZER = FOLDER / "fuzzer"
"""Where the packages of ``requirements.txt`` are installed."""
_SLOW = "slow-unit-"
"""How libFuzzer begins the names of inputs that took longer than its ``-report_slow_units``."""
_COVERAGE, _RUNS = re.compile(r"cov: ([0-9]+)"), re.compile(r"^Done ([0-9]+) runs", re.MULTILINE)


def main(arguments: list[str] | None = None) -> int:
    """Fuzz the chosen targets one after the other; answers 1 if there are defects."""
    parser = command.parser("tests.parsers", __doc__)
    parser.add_argument("--seconds", type=int, default=600, help="how long each parser is fuzzed")
    parser.add_argument("--only", choices=TARGETS, metavar="NAME", help=f"one of {', '.join(TARGETS)}")
    options = parser.parse_args(arguments)
    if not _install():
        print("causeway: the fuzzer needs Linux on x86-64 and Python 3.11 to 3.13.", file=sys.stderr)
        return 2
    found = [fuzz(name, options.seconds) for name in ([options.only] if options.only else TARGETS)]
    return int(not all(found))


def _install() -> bool:
    """Install the fuzzer beside the environment, which it would make larger by a tenth."""
    requirements = Path(__file__).parent / "requirements.txt"
    install = ["uv", "pip", "install", "--quiet", "--require-hashes", "--only-binary", ":all:"]
    done = subprocess.run(
        [sys.executable, "-m", *install, "--target", str(_FUZZER), "--requirement", str(requirements)], check=False
    )
    return done.returncode == 0


def fuzz(name: str, seconds: int) -> bool:
    """Fuzz one target in a process of its own and print a line for it; whether nothing was found."""
    folder = FOLDER / name
    for old in (folder / "crashes").glob("*"):
        old.unlink()
    done = subprocess.run(
        [sys.executable, "-m", "tests.parsers.fuzzer", name, str(seconds), str(folder)],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(_FUZZER)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        check=False,
    )
    runs, coverage = _RUNS.search(done.stderr), _COVERAGE.findall(done.stderr)
    slow = sorted((folder / "crashes").glob(f"{_SLOW}*"))
    crashes = list(_crashes(folder / "crashes"))
    if runs is None and not crashes:
        crashes = [done.stderr[-2000:]]
    print(f"{name:16} {runs[1] if runs else '?':>9} runs, {coverage[-1] if coverage else '?':>5} edges", end="")
    print(f", {len(slow)} slow" if slow else "", end="")
    print(f", {len(crashes)} defects" if crashes else "", flush=True)
    for file in slow:
        print(f"  slow: {_shown(file)}")
    print(*crashes, sep="\n", end="\n" if crashes else "")
    return not crashes


def _crashes(folder: Path) -> Iterator[str]:
    """Each defect: its bytes, where they are, and its error."""
    for file in sorted(folder.glob("*")):
        if file.suffix != ".error" and not file.name.startswith(_SLOW):
            error = file.with_suffix(".error")
            what = error.read_text("utf-8") if error.exists() else "it did not end, or the process ended\n"
            yield f"  {_shown(file)}\n{what}"


def _shown(file: Path) -> str:
    """Where an input is, and how it begins."""
    return f"{file.relative_to(ROOT)}: {file.read_bytes()[:200]!r}"


if __name__ == "__main__":
    command.run(main)
