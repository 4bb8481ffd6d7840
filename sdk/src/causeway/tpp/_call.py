"""The definition of one call of the TPP API."""

from __future__ import annotations

import functools
import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from causeway._records import Record


@dataclass(frozen=True, slots=True)
class Call:
    """The definition of a call."""

    operation: str
    """The document's name of the call."""
    method: str
    path: str
    """The path, with members such as ``{bic}``."""
    query: tuple[str, ...] = ()
    """The names of its query parameters."""
    answers: tuple[str, ...] = ()
    """The classes that an answer can have, as ``module.Class``; at most one for each version."""
    form: bool = False
    """An OAuth endpoint: the client's credentials may stand in the body."""
    bearer: bool = False
    """An access token can authorize it."""
    client: bool = False
    """The client's own credentials can authorize it."""
    dpop: bool = False
    """It takes a proof of possession of the client's key (RFC 9449)."""
    psu: bool = False
    """It takes the headers about the PSU."""
    deferrable: bool = False
    """It can be deferred with ``Prefer: respond-async``."""
    idempotency_key: bool = False
    """It is a payment."""

    def read(self, data: Any, version: int | None = None) -> Any:
        """Create the record of a response's JSON.

        If there are several classes, the bank's ``version`` selects one. Without a version, the first class is used
        whose mandatory members are all present. Raises ``RecordError`` if the JSON does not match.
        """
        names = [name for name in self.answers if name.endswith(f"V{version}")] or self.answers
        classes = [load(name) for name in names]
        fitting = (found for found in classes if isinstance(data, dict) and set(found.mandatory_members()) <= set(data))
        return next(fitting, classes[0]).from_json(data)


@functools.cache
def load(name: str) -> type[Record]:
    """Import the class ``module.Class``. Its module is imported when the first answer needs it."""
    module, _, attribute = name.rpartition(".")
    found: type[Record] = getattr(importlib.import_module(f"causeway.tpp._generated.{module}"), attribute)
    return found
