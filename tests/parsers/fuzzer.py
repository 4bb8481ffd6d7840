"""Fuzzes one parser in this process, guided by coverage (atheris, libFuzzer); ``make fuzz`` starts it.

Found inputs and defects are kept in a folder: ``inputs/`` and ``crashes/``. A defect does not end the run; it is
written once for each place in the code.
"""

from __future__ import annotations

import hashlib
import random
import sys
import traceback
from pathlib import Path

import atheris

_INSTRUMENTED = ["chalicelib", "email", "http", "ipaddress", "joserfc", "urllib"]
_SLOW_SECONDS = 10
"""From here on an input is reported as slow."""
_ENDLESS_SECONDS = 300
"""From here on, on any machine, a parser is taken for one that does not end: a defect, which ends the run."""

with atheris.instrument_imports(include=_INSTRUMENTED):
    from tests.parsers.target import CORPUS, Armour, Target
    from tests.parsers.targets import TARGETS

    def _import_late_modules(target: Target, corpus: Path) -> None:
        """Run the corpus once, so that modules that are imported late are instrumented, too."""
        for file in corpus.iterdir():
            target.run(file.read_bytes())


class Recorder:
    """Runs a target and writes the input of each defect."""

    def __init__(self, target: Target, crashes: Path) -> None:
        self._target = target
        self._crashes = crashes
        self._seen: set[str] = set()

    def __call__(self, content: bytes) -> None:
        try:
            self._target.run(content)
        except Exception as error:
            self._record(content, error)

    def _record(self, content: bytes, error: Exception) -> None:
        frames = [f"{frame.filename}:{frame.lineno}" for frame in traceback.extract_tb(error.__traceback__)]
        place = f"{type(error).__name__} {frames[-1]} {frames[min(2, len(frames) - 1)]}"
        if place in self._seen:
            return
        self._seen.add(place)
        name = hashlib.sha256(content).hexdigest()[:16]
        (self._crashes / name).write_bytes(content)
        (self._crashes / f"{name}.error").write_text("".join(traceback.format_exception(error)), "utf-8")


def mutate_inside(armour: Armour) -> object:
    """A mutator that changes the bytes inside an armour, and now and then the armour itself."""

    def mutate(content: bytes, most: int, seed: int) -> bytes:
        if random.Random(seed).random() < 0.1:
            return bytes(atheris.Mutate(content, most))
        try:
            inner = armour.unwrap(content)
        except ValueError:
            inner = b""
        return armour.wrap(bytes(atheris.Mutate(inner, most * 3 // 4 - 64)))[:most]

    return mutate


def main(name: str, seconds: int, folder: Path) -> None:
    """Fuzz a target for ``seconds``; never returns, because libFuzzer ends the process."""
    target, corpus = TARGETS[name], CORPUS / name
    places = [folder / each for each in ("inputs", "crashes")]
    for each in places:
        each.mkdir(parents=True, exist_ok=True)
    with atheris.instrument_imports(include=_INSTRUMENTED):
        _import_late_modules(target, corpus)
    options = [f"-max_total_time={seconds}", f"-max_len={target.most}"]
    options += [f"-report_slow_units={_SLOW_SECONDS}", f"-timeout={_ENDLESS_SECONDS}"]
    options += [f"-artifact_prefix={places[1]}/", str(places[0]), str(corpus)]
    mutators = {"custom_mutator": mutate_inside(target.armour)} if target.armour else {}
    atheris.Setup([sys.argv[0], *options], Recorder(target, places[1]), **mutators)
    atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]))
