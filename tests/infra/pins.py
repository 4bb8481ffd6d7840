"""Pins without hashes, and uv's options that install them with the hashes of the development lock."""

from __future__ import annotations

import re
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PACKAGES = "--require-hashes --requirement requirements-{set}.txt --constraint requirements-dev.txt"
"""The options with which ``infra/environment.sh`` installs a set of packages."""


def versions(file: Path) -> dict[str, str]:
    """The pins of a file by normalised name; files that it includes are left out."""
    lines = [line for line in file.read_text("utf-8").splitlines() if re.match(r"\w", line)]
    return {canonicalize_name(each.name): str(each.specifier)[2:] for each in map(Requirement, lines)}
