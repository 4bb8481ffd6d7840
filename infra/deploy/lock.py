"""The lock of requirements: every distribution with its version and the hashes of its files.

uv writes ``requirements.txt`` (the service), ``requirements-run.txt`` (``make run``) and ``requirements-dev.txt`` from
the ``.in`` files, for all supported Python versions. This command updates these files. ``requirements-run.txt``
contains only versions: uv takes the hashes from ``requirements-dev.txt``, which contains all distributions of
``requirements-run.txt``.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from packaging.markers import Marker
from packaging.utils import canonicalize_name

from infra import command, pip_settings
from infra.pip_settings import SettingsInvalid
from infra.repository import ROOT

RUNTIME = "requirements"
RUN = "requirements-run"
DEVELOPMENT = "requirements-dev"
LOCKS = (RUNTIME, RUN, DEVELOPMENT)
"""The lock files. Each file includes the distributions of all previous files."""
OLDEST = "3.11"
"""The oldest supported Python version. The lock is valid for this version and all later versions."""
_PIN = re.compile(r"^([\w.-]+)(?:\[[\w,-]+\])?==([^\s;]+)(?: ; ([^\\]+?))?((?: \\\n    --hash=\S+)+)", re.MULTILINE)


class LockFailed(Exception):
    """The lock cannot be read or written. The message contains the remedy."""


@dataclass(frozen=True)
class Pin:
    """One locked distribution. ``hashes`` are the SHA-256 digests of its files in hexadecimal."""

    name: str
    version: str
    marker: Marker | None
    hashes: frozenset[str]


def read(file: Path, markers: Mapping[str, str] | None = None) -> dict[str, Pin]:
    """Read the pins of a lock by normalised name. If a distribution has several pins, ``markers`` selects one.

    Args:
        markers: values of environment markers (PEP 508). Missing values default to the values of the running Python.

    Raises:
        LockFailed: a line lacks a version or hashes.
    """
    text = file.read_text(encoding="utf-8")
    pins = list(_pins(text))
    lines = [line for line in text.splitlines() if line and not line.startswith((" ", "#"))]
    if len(lines) != len(pins):
        raise LockFailed(f"{file.name} has lines without a version and hashes: run `make lock`")
    values = dict(markers or {})
    return {pin.name: pin for pin in sorted(pins, key=lambda pin: not pin.marker or pin.marker.evaluate(values))}


def _pins(text: str) -> Iterator[Pin]:
    for name, version, marker, hashes in _PIN.findall(text):
        digests = frozenset(re.findall("--hash=sha256:([0-9a-f]{64})", hashes))
        yield Pin(canonicalize_name(name), version, Marker(marker) if marker else None, digests)


def write(folder: Path = ROOT) -> None:
    """Write all locks with the newest versions that the ``.in`` files allow. After a failure, no lock is changed.

    The development lock is solved first, because its requirements include the requirements of all other locks. The
    deployed versions are therefore equal to the tested versions.

    Raises:
        LockFailed: uv found no solution, or pip's configuration cannot be read. All locks are unchanged.
    """
    with tempfile.TemporaryDirectory(dir=folder, prefix=".lock-") as name:
        place = Path(name)
        for each in LOCKS:
            shutil.copy(folder / f"{each}.in", place)
        _compile(place, DEVELOPMENT)
        tested = ("--constraints", f"{DEVELOPMENT}.txt")
        _compile(place, RUNTIME, *tested)
        _compile(place, RUN, *tested, hashes=False)
        for each in LOCKS:
            (place / f"{each}.txt").replace(folder / f"{each}.txt")


def _compile(folder: Path, name: str, *options: str, hashes: bool = True) -> None:
    target = ["--output-file", f"{name}.txt", "--custom-compile-command", "make lock", "--quiet"]
    rules = [*(["--generate-hashes"] if hashes else []), "--no-annotate", "--universal", "--python-version", OLDEST]
    try:
        variables, of_pip = pip_settings.uv_variables(os.environ), pip_settings.uv_options(os.environ)
    except SettingsInvalid as invalid:
        raise LockFailed(f"pip's configuration cannot be read: {invalid}") from None
    done = subprocess.run(
        [sys.executable, "-m", "uv", "pip", "compile", *rules, *target, *options, *of_pip, f"{name}.in"],
        cwd=folder,
        env=os.environ | variables,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise LockFailed(f"uv could not lock {name}.in\n{pip_settings.mask(done.stderr.strip())}")


def main(arguments: list[str] | None = None) -> int:
    """Run the command. Returns its exit code."""
    command.parser("infra.deploy.lock", __doc__).parse_args(arguments)
    try:
        write()
    except LockFailed as error:
        print(f"causeway: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    command.run(main)
