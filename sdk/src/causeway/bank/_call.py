"""The definitions of the hub's webhooks and of the calls to the hub."""

from __future__ import annotations

import functools
import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from causeway._records import Record


@dataclass(frozen=True, slots=True, kw_only=True)
class Webhook:
    """A webhook that the hub sends to a bank. ``request`` and ``answer`` are class names in the format
    ``module.Class``.
    """

    request: str
    answer: str
    scope: str | None
    """The scope that the consent must include."""
    token: bool
    """Whether requests to the webhook always have the ``X-Auth-Token`` header."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HubCall:
    """A call from a bank to the hub."""

    path: str
    request: str
    answer: str


@functools.cache
def load(name: str) -> type[Record]:
    """Import the class ``module.Class``."""
    module, _, attribute = name.rpartition(".")
    found: type[Record] = getattr(importlib.import_module(f"causeway.bank._generated.{module}"), attribute)
    return found
