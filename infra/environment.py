"""Creates the virtual environment and installs all packages. Uses only the standard library.

Repeated runs are cheap and parallel runs are safe: the command holds a lock, and a stamp file records the Python
version and requirements of the environment. Changed requirements are installed into the existing environment, even
while programs use it.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import hashlib
import queue
import re
import shutil
import subprocess
import sys
import sysconfig
import threading
import time
from collections.abc import Iterator
from pathlib import Path

OLDEST = (3, 11)
ROOT = Path(__file__).resolve().parents[1]
INTERRUPTED = 130
REPORT_SECONDS = 10.0
"""Seconds between progress lines without a terminal; on a terminal, a single line is redrawn continuously."""
REQUIREMENTS = (ROOT / "requirements.txt", ROOT / "requirements-dev.txt")
SDK = ROOT / "sdk"
"""The Python package for TPPs and banks, installed where it stands: the tour and the guides use it."""


class EnvironmentFailed(Exception):
    """The environment could not be created; the message gives the reason."""


def compute_fingerprints() -> tuple[str, str]:
    """The fingerprints of the running Python and of the requirements."""
    required = b"".join(file.read_bytes() for file in (*REQUIREMENTS, SDK / "pyproject.toml"))
    return _digest(f"{sys.version} {sysconfig.get_platform()}".encode()), _digest(required)


def make(folder: Path) -> bool:
    """Create or update the environment. Returns whether anything was done. Raises: EnvironmentFailed."""
    stamp = folder / "requirements.sha256"
    python, required = compute_fingerprints()
    with _lock(folder):
        known = stamp.read_text().split() if stamp.exists() else []
        if known == [python, required]:
            return False
        if known[:1] == [python]:
            _say(f"Updating the packages in {folder.name}: the requirements have changed")
        else:
            _recreate(folder)
            stamp.write_text(python)
        pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--disable-pip-version-check"]
        _run(
            [*pip, "--progress-bar=off", "--use-pep517", "-r", str(REQUIREMENTS[1])],
            "the packages could not be installed",
        )
        editable = ["--no-index", "--no-deps", "--no-build-isolation", "--quiet", "--editable", str(SDK)]
        _run([*pip, *editable], f"the package in {SDK.name} could not be installed")
        stamp.write_text(f"{python} {required}")
    return True


def _recreate(folder: Path) -> None:
    version = sys.version.split()[0]
    _say(f"Creating {folder.name} with Python {version} and installing the packages: takes about a minute, only once")
    shutil.rmtree(folder, ignore_errors=True)
    package = "python{}.{}-venv".format(*sys.version_info[:2])
    _run([sys.executable, "-m", "venv", str(folder)], f"this Python lacks venv: install {package}")


def _say(text: str, end: str = "\n") -> None:
    """Print to standard error, because a program may parse the standard output of the ``make`` target."""
    print(text, end=end, file=sys.stderr, flush=True)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@contextlib.contextmanager
def _lock(folder: Path) -> Iterator[None]:
    with folder.with_name(f"{folder.name}.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            _say(f"Waiting for another process that is creating {folder.name}")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


class InstallProgress:
    """Progress of pip, read from its output: one redrawn line on a terminal, occasional lines elsewhere."""

    def __init__(self) -> None:
        self._begun = self._told = time.monotonic()
        self._collected: set[str] = set()
        self._doing = ""

    def read_line(self, line: str) -> None:
        """Parse one line of pip's output."""
        if found := re.match(r"Collecting ([\w.-]*\w)", line):
            self._collected.add(found[1])
            self._doing = f"collecting packages: {len(self._collected)}, {found[1]}"
        elif line.startswith("Installing collected packages: "):
            self._doing = f"installing {line.count(',') + 1} packages"

    def report(self) -> None:
        """Print the progress: immediately on a terminal, every ``REPORT_SECONDS`` elsewhere."""
        now = time.monotonic()
        said = f"  {now - self._begun:3.0f} s  {self._doing}"
        if self._doing and sys.stderr.isatty():
            _say(f"\r\033[K{said}", end="")
        elif self._doing and now - self._told >= REPORT_SECONDS:
            self._told = now
            _say(said)

    def end(self) -> None:
        """End the line that was being redrawn."""
        if self._doing and sys.stderr.isatty():
            _say("")


def _run(command: list[str], complaint: str) -> None:
    """Run a command and report its progress. Raises: EnvironmentFailed."""
    lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
    progress = InstallProgress()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, errors="replace") as process:
        threading.Thread(target=_read_lines, args=(process, lines), daemon=True).start()
        while (line := _next_line(lines)) is not None:
            progress.read_line(line)
            progress.report()
    progress.end()
    if process.returncode:
        raise EnvironmentFailed(complaint)


def _read_lines(process: subprocess.Popen[str], lines: queue.SimpleQueue[str | None]) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        lines.put(line)
    lines.put(None)


def _next_line(lines: queue.SimpleQueue[str | None]) -> str | None:
    """The next line; an empty string after a second without one, ``None`` at the end."""
    try:
        return lines.get(timeout=1)
    except queue.Empty:
        return ""


def main(arguments: list[str] | None = None) -> int:
    """Run the command. Returns its exit code."""
    parser = argparse.ArgumentParser(prog="python3 infra/environment.py", description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", default=Path(".venv"), help=".venv when left out")
    folder = parser.parse_args(arguments).folder
    if sys.version_info < OLDEST:
        print(f"causeway: Python {'.'.join(map(str, OLDEST))} or later is required.", file=sys.stderr)
        return 1
    try:
        make(folder.absolute())
    except EnvironmentFailed as error:
        print(f"causeway: {error}.", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("causeway: interrupted.", file=sys.stderr)
        return INTERRUPTED
    return 0


if __name__ == "__main__":
    sys.exit(main())
