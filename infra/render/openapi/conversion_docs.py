"""Reads the description of each conversion in the rows of the unified API from the conversion's docstring.

The description is the first sentence without its ``Return``::

    def iban(value: object) -> str | None:
        \"\"\"Return capitals without spaces.\"\"\"
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

from chalicelib.openbanking.unified import values
from chalicelib.openbanking.unified.bank_requests import RequestRow, RequestTable, keep
from chalicelib.openbanking.unified.tables import UnifiedVersion

Conversion = Callable[..., Any]
_PLAIN = (keep, values.text, values.boolean)
"""Conversions that change nothing."""


def describe(conversion: Conversion) -> str:
    """Return the description of a conversion, empty if it changes nothing. Raises: LookupError, without a docstring."""
    if conversion in _PLAIN or isinstance(conversion, type):
        return ""
    if isinstance(conversion, values.OneOf):
        words = [f"`{code}` is `{word}`" for code, word in conversion.meanings.items()]
        return f"{', '.join(words)}, any other is `{conversion.other}`"
    text = inspect.getdoc(conversion) or ""
    found = re.match(r"Return (.+?)\.(?: |$)", " ".join(text.replace("``None``", "null").replace("``", "`").split()))
    if found is None:
        place = f"{conversion.__module__}.{conversion.__name__}"
        raise LookupError(f"{place} has no docstring that begins with Return: add it below the function's name")
    return found[1]


def conversions(version: UnifiedVersion) -> Iterator[Conversion]:
    """Yield the conversions in the rows of a version."""
    for read in (version.accounts, version.account, version.balances, version.transactions):
        yield from (row.convert for row in read.shape.rows)
        yield from (row.convert for row in read.request)
    yield from (each.status for each in version.transactions.lists)
    yield from (version.transactions.unsigned_direction, version.transactions.next_position)
    for request in (*version.payments.values(), version.funds_confirmations.request):
        yield from (row.convert for row in _rows_of(request))


def _rows_of(request: RequestTable) -> Iterator[RequestRow]:
    yield from request.rows
    yield from _rows_of(request.payments) if request.payments else ()
