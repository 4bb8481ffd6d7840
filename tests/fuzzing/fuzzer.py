"""Coverage-guided fuzzing of one parser in this process (atheris, libFuzzer); ``make fuzz`` starts the process.

Inputs and defects are stored in the folders ``inputs/`` and ``crashes/``. The run continues after a defect. For each
place in the code, only one defect is written.
"""

import hashlib
import random
import sys
import traceback
from pathlib import Path

import atheris

_INSTRUMENTED = ["chalicelib", "email", "http", "ipaddress", "joserfc", "urllib"]
_SLOW_SECONDS = 10
"""The number of seconds after which an input is reported as slow."""
_ENDLESS_SECONDS = 300
"""The number of seconds after which a parser is considered endless on any machine, which is a defect and ends the run.
"""

with atheris.instrument_imports(include=_INSTRUMENTED):
    from tests.fuzzing.credential_parsers import CORPUS
    from tests.fuzzing.parsers import TARGETS, Armour, Target


class Recorder:
    """A wrapper that runs a target and writes the input of each defect to a file."""

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
    """Return a mutator that changes the encoded bytes, and sometimes the surrounding text encoding (such as PEM)."""

    def mutate(content: bytes, max_bytes: int, seed: int) -> bytes:
        if random.Random(seed).random() < 0.1:
            return bytes(atheris.Mutate(content, max_bytes))
        try:
            inner = armour.unwrap(content)
        except ValueError:
            inner = b""
        return armour.wrap(bytes(atheris.Mutate(inner, max_bytes * 3 // 4 - 64)))[:max_bytes]

    return mutate


def main(name: str, seconds: int, folder: Path) -> None:
    """Fuzz a target for ``seconds``. libFuzzer then ends the process, so this function never returns."""
    target, corpus = TARGETS[name], CORPUS / name
    inputs, crashes = folder / "inputs", folder / "crashes"
    for each in (inputs, crashes):
        each.mkdir(parents=True, exist_ok=True)
    with atheris.instrument_imports(include=_INSTRUMENTED):
        for file in corpus.iterdir():  # modules that a parser imports late are instrumented, too
            target.run(file.read_bytes())
    options = [f"-max_total_time={seconds}", f"-max_len={target.max_bytes}"]
    options += [f"-report_slow_units={_SLOW_SECONDS}", f"-timeout={_ENDLESS_SECONDS}"]
    options += [f"-artifact_prefix={crashes}/", str(inputs), str(corpus)]
    mutators = {"custom_mutator": mutate_inside(target.armour)} if target.armour else {}
    atheris.Setup([sys.argv[0], *options], Recorder(target, crashes), **mutators)
    atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]))
