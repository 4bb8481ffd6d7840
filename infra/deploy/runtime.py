"""The Lambda runtime of the stages: the versions of Python and glibc, and the processors, which determine wheels and
compiled modules.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping

STAGES = ("dev", "prod")
DEMONSTRATION_STAGES = ("dev",)
"""The stages that have demonstration banks."""
PYTHON = "3.13"
"""The deployed Python version. Packaging requires this version, because compiled modules work only in the version that
compiled them.
"""
INTERPRETER = f".venv-{PYTHON}/bin/python"
"""The path, relative to the repository, of the interpreter that packages, deploys and rehearses a deployment."""
GLIBC = (2, 34)
"""The glibc version of the Lambda runtime, which is based on Amazon Linux 2023."""
MACHINES: Mapping[str, str] = {"arm64": "aarch64", "x86_64": "x86_64"}
"""Lambda's names of processors, with the names that Linux uses."""
_OLDEST_GLIBC = 17
"""The minor version of glibc 2.17, for which ``manylinux2014`` wheels are built. No supported package needs wheels for
older versions.
"""


class WrongPython(Exception):
    """The running Python version differs from the deployed version. The message contains the remedy."""


def check_python() -> None:
    """Check that the running Python version is the deployed version. Raises: WrongPython."""
    version = ".".join(map(str, sys.version_info[:2]))
    if version != PYTHON:
        raise WrongPython(
            f"stages run on Python {PYTHON}, and compiled modules run only on the version that compiled them, but this "
            f"is Python {version}: use `make package`, `make deploy` or {INTERPRETER}"
        )


def platforms(processor: str) -> list[str]:
    """Return the platform tags of wheels that run on a Lambda processor, newest first."""
    machine, (major, newest) = MACHINES[processor], GLIBC
    tags = [f"manylinux_{major}_{minor}_{machine}" for minor in range(newest, _OLDEST_GLIBC - 1, -1)]
    return [*tags, f"manylinux2014_{machine}"]


def markers(processor: str) -> dict[str, str]:
    """Return the values of environment markers in Lambda (PEP 508), independent of the packaging machine."""
    return {
        "extra": "",
        "implementation_name": "cpython",
        "os_name": "posix",
        "platform_machine": MACHINES[processor],
        "platform_python_implementation": "CPython",
        "platform_system": "Linux",
        "python_version": PYTHON,
        "python_full_version": f"{PYTHON}.0",
        "sys_platform": "linux",
    }
