"""One call of the TPP API, as data."""

from __future__ import annotations

import functools
import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from causeway._records import Record


@dataclass(frozen=True, slots=True)
class Call:
    """How a call is made."""

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
    psu: bool = False
    """It takes the headers about the PSU."""
    deferrable: bool = False
    """It can be deferred with ``Prefer: respond-async``."""
    idempotency_key: bool = False
    """It is a payment."""

    def answer_class(self, version: int | None) -> type[Record]:
        """The class of an answer from a bank of ``version``; of a call without versions, its only one."""
        fitting = [name for name in self.answers if name.endswith(f"V{version}")] or self.answers[:1]
        return load(fitting[0])


@functools.cache
def load(name: str) -> type[Record]:
    """The class ``module.Class``; its module is imported when the first answer needs it."""
    module, _, attribute = name.rpartition(".")
    found: type[Record] = getattr(importlib.import_module(f"causeway.tpp.{module}"), attribute)
    return found
