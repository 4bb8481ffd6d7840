"""Fuzz every parser of external input, guided by coverage, and print the findings.

Inputs for which a parser raises an undocumented error are stored in ``build/fuzzing/``. Copy them to
``tests/fuzzing/corpus/``, where ``make test`` runs them. Slow inputs depend on the machine. They are printed separately
and are not defects.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from infra import command
from infra.repository import ROOT
from tests.fuzzing.parsers import TARGETS

FOLDER = ROOT / "build" / "fuzzing"
_FUZZER = FOLDER / "fuzzer"
"""The folder in which the packages of ``requirements.txt`` are installed."""
_SLOW = "slow-unit-"
"""The prefix of the files in which libFuzzer stores inputs that take longer than its option ``-report_slow_units``."""


def main(arguments: list[str] | None = None) -> int:
    """Fuzz the selected parsers one after the other. Return 1 if defects are found."""
    parser = command.parser("tests.fuzzing", __doc__)
    parser.add_argument("--seconds", type=int, default=600, help="how long each parser is fuzzed")
    parser.add_argument("--only", choices=TARGETS, metavar="NAME", help=f"one of {', '.join(TARGETS)}")
    options = parser.parse_args(arguments)
    requirements = Path(__file__).parent / "requirements.txt"
    install = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--require-hashes", "--only-binary", ":all:"]
    done = subprocess.run([*install, "--target", str(_FUZZER), "--requirement", str(requirements)], check=False)
    if done.returncode:
        print("causeway: the fuzzer needs Linux on x86-64 and Python 3.11 to 3.13.", file=sys.stderr)
        return 2
    found = [fuzz(name, options.seconds) for name in ([options.only] if options.only else TARGETS)]
    return int(not all(found))


def fuzz(name: str, seconds: int) -> bool:
    folder = FOLDER / name
    for old in (folder / "crashes").glob("*"):
        old.unlink()
    done = subprocess.run(
        [sys.executable, "-m", "tests.fuzzing.fuzzer", name, str(seconds), str(folder)],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(_FUZZER)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        check=False,
    )
    runs = re.search(r"^Done ([0-9]+) runs", done.stderr, re.MULTILINE)
    coverage = re.findall(r"cov: ([0-9]+)", done.stderr)
    slow = sorted((folder / "crashes").glob(f"{_SLOW}*"))
    crashes = [*_crashes(folder / "crashes")] or ([] if runs else [done.stderr[-2000:]])
    figures = f"{name:16} {runs[1] if runs else '?':>9} runs, {coverage[-1] if coverage else '?':>5} edges"
    figures += f", {len(slow)} slow" if slow else ""
    print(figures + (f", {len(crashes)} defects" if crashes else ""), flush=True)
    for line in [*(f"  slow: {_describe(file)}" for file in slow), *crashes]:
        print(line)
    return not crashes


def _crashes(folder: Path) -> Iterator[str]:
    for file in sorted(folder.glob("*")):
        if file.suffix != ".error" and not file.name.startswith(_SLOW):
            error = file.with_suffix(".error")
            reason = error.read_text("utf-8") if error.exists() else "it did not end, or the process ended\n"
            yield f"  {_describe(file)}\n{reason}"


def _describe(file: Path) -> str:
    return f"{file.relative_to(ROOT)}: {file.read_bytes()[:200]!r}"


if __name__ == "__main__":
    command.run(main)
