"""The runtime of stages: Lambda's Python, glibc and processors, which determine wheels and compiled modules."""

from __future__ import annotations

import sys
from collections.abc import Mapping

STAGES = ("dev", "prod")
DEMONSTRATION_STAGES = ("dev",)
"""The stages that have demonstration banks."""
PYTHON = "3.13"
"""The deployed Python version. Packaging requires the same version, because compiled modules belong to one version."""
INTERPRETER = f".venv-{PYTHON}/bin/python"
"""The interpreter that packages, deploys and rehearses, as a path relative to the repository."""
GLIBC = (2, 34)
"""The glibc of Lambda's runtime of that version: Amazon Linux 2023."""
MACHINES: Mapping[str, str] = {"arm64": "aarch64", "x86_64": "x86_64"}
"""Lambda's processors, and Linux's names for them."""
_OLDEST_GLIBC = 17
"""Wheels of ``manylinux2014`` are for glibc 2.17; no supported package has older ones."""


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
