"""Makes the virtual environment: ``python3 infra/environment.py .venv``. Uses nothing but the standard library.

Repeating it is cheap and two of them at a time are safe: a lock is held, and a stamp says which requirements, and which
Python, the environment was made for.
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


def fingerprint() -> str:
    """What the environment depends on."""
    digest = hashlib.sha256(f"{sys.version} {sysconfig.get_platform()}".encode())
    for file in REQUIREMENTS:
        digest.update(file.read_bytes())
    return digest.hexdigest()


def make(folder: Path) -> bool:
    """Make or refresh the environment; answers whether there was anything to do. Raises: EnvironmentFailed."""
    stamp, wanted = folder / "requirements.sha256", fingerprint()
    with _alone(folder):
        if stamp.exists() and stamp.read_text() == wanted:
            return False
        version = sys.version.split()[0]
        print(
            f"Making {folder.name} with Python {version} and installing the packages: about a minute, this once",
            flush=True,
        )
        shutil.rmtree(folder, ignore_errors=True)
        _run([sys.executable, "-m", "venv", str(folder)], "this Python lacks venv: install python3-venv")
        python = str(folder / "bin" / "python")
        install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        _run([*install, "-r", str(REQUIREMENTS[1])], "the packages could not be installed")
        stamp.write_text(wanted)
    return True


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
