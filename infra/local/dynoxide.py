"""dynoxide, a DynamoDB engine in a single program on SQLite, which is several times faster than the built-in emulator.

``make install-dynoxide`` builds the program with cargo and installs it in cargo's folder, usually ``~/.cargo/bin``.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from infra import command
from infra.local.dynamodb_engine import DynamoDBEngine, EngineFailed

VERSION = "1.5.0"
"""The tested version, in the format of ``dynoxide --version``."""
CRATE, CRATE_VERSION = "dynoxide-rs", "3.2.0"
"""The package that contains the tested version. Package versions are numbered separately from the program's versions.
"""

_PROGRAM = "dynoxide"
_FEATURES = "native-sqlite,http-server,cli"
_DATABASE = "dynoxide.sqlite3"
_INSTALL = "`make install-dynoxide` installs it"


class Dynoxide(DynamoDBEngine):
    title = "dynoxide"

    @staticmethod
    def program() -> list[str]:
        return [find_program(), "serve", "--host", "127.0.0.1", "--log", "quiet"]

    @staticmethod
    def _options(port: int, data: Path | None) -> list[str]:
        return ["--port", str(port), *(["--db-path", str(data / _DATABASE)] if data else [])]


def installed_version() -> str | None:
    """Return the version of the program on the PATH. Return ``None`` if there is no program, and ``"unknown"`` if the
    version is unreadable.
    """
    program = shutil.which(_PROGRAM)
    if program is None:
        return None
    try:
        result = subprocess.run([program, "--version"], capture_output=True, text=True, check=False, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return "unknown"
    return result.stdout.strip().removeprefix(f"{_PROGRAM} ") or "unknown"


def find_program() -> str:
    """Return the path of the program. Raises: EngineFailed, if the PATH has no program or an untested version."""
    version = installed_version()
    if version is None:
        raise EngineFailed(f"there is no {_PROGRAM} on the PATH: {_INSTALL}, with cargo")
    if version != VERSION:
        raise EngineFailed(f"the {_PROGRAM} on the PATH is version {version}, not {VERSION}: {_INSTALL}")
    return str(shutil.which(_PROGRAM))


def install() -> None:
    """Build and install the tested version. Raises: EngineFailed, if cargo is missing or fails."""
    cargo = shutil.which("cargo")
    if cargo is None:
        raise EngineFailed(
            f"{_PROGRAM} is built with cargo, Rust's package manager, but there is no cargo on this machine"
        )
    version = ["--version", CRATE_VERSION, "--locked", "--force"]
    options = ["--no-default-features", "--features", _FEATURES]
    if code := subprocess.run([cargo, "install", CRATE, *version, *options], check=False).returncode:
        raise EngineFailed(f"cargo could not build {_PROGRAM}: it ended with exit code {code}")


def main(arguments: list[str] | None = None) -> int:
    """Install dynoxide unless the tested version is on the PATH. Returns the exit code."""
    command.parser("infra.local.dynoxide", __doc__).parse_args(arguments)
    try:
        if installed_version() != VERSION:
            install()
            find_program()
    except EngineFailed as error:
        print(f"causeway: {error}.", file=sys.stderr)
        return 1
    print(f"{_PROGRAM} {VERSION} is installed: {shutil.which(_PROGRAM)}; `make run` uses it")
    return 0


if __name__ == "__main__":
    command.run(main)
