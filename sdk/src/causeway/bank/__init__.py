"""The package for banks. ``Bank`` is an ASGI application that calls functions of the bank, for example to list
accounts. ``HubClient`` sends signed calls to the hub.

Each name is imported on first use, so that the package is imported quickly.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from causeway.bank._generated.names import NAMES as _NAMES
from causeway.bank._generated.names import __all__ as __all__

if TYPE_CHECKING:
    from causeway.bank._generated.names import *

_HOMES = {name: module for module, names in _NAMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
