"""Defines the calls of the TPP API."""

from __future__ import annotations

import functools
import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from causeway._records import Record


@dataclass(frozen=True, slots=True)
class Call:
    """The definition of a call in the TPP API."""

    operation: str
    """The id of the operation in the OpenAPI document."""
    method: str
    path: str
    """The path of the call, with parameters such as ``{bic}``."""
    query: tuple[str, ...] = ()
    """The names of the query parameters."""
    answers: tuple[str, ...] = ()
    """The possible classes of a response, as ``module.Class``; at most one class for each version."""
    form: bool = False
    """Whether the call is an OAuth endpoint that accepts the client's credentials in the body."""
    bearer: bool = False
    """Whether the call can be authorized with an access token."""
    client: bool = False
    """Whether the call can be authorized with the client's credentials."""
    dpop: bool = False
    """Whether the call accepts a proof of possession of the client's key (RFC 9449)."""
    psu: bool = False
    """Whether the call accepts headers with data about the PSU."""
    deferrable: bool = False
    """Whether the call can be deferred with ``Prefer: respond-async``."""
    idempotency_key: bool = False
    """Whether the call is a payment, which has an Idempotency-Key."""

    def read(self, data: Any, version: int | None = None) -> Any:
        """Create a record from the JSON of a response.

        If there are several classes, the bank's ``version`` selects one. Without a version, the first class is used
        whose mandatory members are all present. Raises ``RecordError`` if the JSON does not match.
        """
        names = [name for name in self.answers if name.endswith(f"V{version}")] or self.answers
        classes = [load(name) for name in names]
        fitting = (found for found in classes if isinstance(data, dict) and set(found.mandatory_members()) <= set(data))
        return next(fitting, classes[0]).from_json(data)


@functools.cache
def load(name: str) -> type[Record]:
    """Import the class ``module.Class``. The module is imported only when a response needs the class."""
    module, _, attribute = name.rpartition(".")
    found: type[Record] = getattr(importlib.import_module(f"causeway.tpp._generated.{module}"), attribute)
    return found
