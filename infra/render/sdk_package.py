"""Imports modules of the SDK from this repository for the reference, even if a different version is installed."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType

from infra.repository import ROOT

SOURCE = ROOT / "sdk" / "src"
"""The folder that contains the package's source code."""


def load(name: str) -> ModuleType:
    """Import and return a module of the package. The module must not have dependencies outside the package."""
    sys.path.insert(0, str(SOURCE))
    try:
        return importlib.import_module(f"causeway.{name}")
    finally:
        sys.path.remove(str(SOURCE))
