"""The modules of the SDK that the reference imports: those of this repository, whichever package is installed."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType

from infra.repository import ROOT

SOURCE = ROOT / "sdk" / "src"
"""Where the package is."""


def load(name: str) -> ModuleType:
    """A module of the package, which it needs no dependencies to import."""
    sys.path.insert(0, str(SOURCE))
    try:
        return importlib.import_module(f"causeway.{name}")
    finally:
        sys.path.remove(str(SOURCE))
