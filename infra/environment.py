"""Makes the virtual environment: ``python3 infra/environment.py .venv``. Uses nothing but the standard library.

Repeating it is cheap and two of them at a time are safe: a lock is held, and a stamp says which Python, and which
requirements, the environment was made for. Other requirements are installed into it, beneath whatever runs from it.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

OLDEST = (3, 11)
ROOT = Path(__file__).resolve().parents[1]
REQUIREMENTS = (ROOT / "requirements.txt", ROOT / "requirements-dev.txt")


class EnvironmentFailed(Exception):
    """The environment cannot be made; the message says what is missing."""


def fingerprints() -> tuple[str, str]:
    """What the environment depends on: the Python, and the requirements."""
    required = b"".join(file.read_bytes() for file in REQUIREMENTS)
    return _digest(f"{sys.version} {sysconfig.get_platform()}".encode()), _digest(required)


def make(folder: Path) -> bool:
    """Make or refresh the environment; answers whether there was anything to do. Raises: EnvironmentFailed."""
    stamp = folder / "requirements.sha256"
    python, required = fingerprints()
    with _alone(folder):
        known = stamp.read_text().split() if stamp.exists() else []
        if known == [python, required]:
            return False
        if known[:1] == [python]:
            print(f"Installing other packages into {folder.name}: the requirements have changed", flush=True)
        else:
            _begin(folder)
            stamp.write_text(python)
        pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        _run([*pip, "--use-pep517", "-r", str(REQUIREMENTS[1])], "the packages could not be installed")
        stamp.write_text(f"{python} {required}")
    return True


def _begin(folder: Path) -> None:
    version = sys.version.split()[0]
    print(
        f"Making {folder.name} with Python {version} and installing the packages: about a minute, this once",
        flush=True,
    )
    shutil.rmtree(folder, ignore_errors=True)
    _run([sys.executable, "-m", "venv", str(folder)], "this Python lacks venv: install python3-venv")


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    with folder.with_name(f"{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _run(command: list[str], complaint: str) -> None:
    if subprocess.run(command, check=False).returncode:
        raise EnvironmentFailed(complaint)


def main(arguments: list[str]) -> int:
    """The command; answers its exit code."""
    if sys.version_info < OLDEST:
        print(f"causeway: Python {'.'.join(map(str, OLDEST))} or later is needed.", file=sys.stderr)
        return 1
    try:
        make(Path(arguments[0] if arguments else ".venv").absolute())
    except EnvironmentFailed as error:
        print(f"causeway: {error}.", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
