"""The tables of unified payments and confirmations of funds: members of their bodies with those of each version."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from chalicelib.openbanking.protocol.payment_enumerations import Kind
from chalicelib.openbanking.protocol.payment_statuses import FINAL, UNIFIED_MEANINGS, UnifiedStatus
from chalicelib.openbanking.protocol.version import Version
from chalicelib.openbanking.protocol.versions import VERSIONS
from chalicelib.openbanking.unified.bank_requests import ORDER, RefusedRow, RequestRow, RequestTable
from chalicelib.openbanking.unified.payment_messages import BODIES, FundsRequest
from chalicelib.openbanking.unified.versions import UNIFIED_VERSIONS
from infra.render.docs.mapping import HEADINGS, NONE, described, members_of
from infra.render.openapi.conversion_docs import describe
from infra.render.openapi.introduction import table
from infra.render.openapi.models import Model, models_in, schema_of

_ITEMS = "payments."
"""The begin of the members of each payment of a bulk payment."""


def payments() -> str:
    """Return the members of all kinds of payments. Those of a bulk payment's items are members like the others."""
    names = dict.fromkeys(name.removeprefix(_ITEMS) for model in BODIES.values() for name in members_of(model))
    return _table(names, [_payment_cells(number) for number in UNIFIED_VERSIONS])


def funds() -> str:
    """Return the members of a confirmation of funds."""
    return _table(members_of(FundsRequest), [_funds_cells(number) for number in UNIFIED_VERSIONS])


def statuses() -> str:
    """Return the unified statuses with those of each version."""
    rows = [
        (f"`{name}`", meaning, "yes" if name in FINAL else "no", *(_codes(each, name) for each in VERSIONS.values()))
        for name, meaning in UNIFIED_MEANINGS.items()
    ]
    return table(("Status", "Meaning", "Final", *HEADINGS), rows)


TABLES: Mapping[str, Callable[[], str]] = {
    "unified payments": payments,
    "unified funds": funds,
    "unified statuses": statuses,
}
"""The tables by name."""


# -- internals


def _table(names: Iterator[str] | Mapping[str, None], columns: Sequence[Mapping[str, str]]) -> str:
    return table(("Member", *HEADINGS), [(f"`{name}`", *(cells[name] for cells in columns)) for name in names])


def _funds_cells(version: int) -> dict[str, str]:
    found = UNIFIED_VERSIONS[version].funds_confirmations
    return _cells(FundsRequest, found.request, VERSIONS[version].webhook_by_call[found.native].request)


def _payment_cells(version: int) -> dict[str, str]:
    """Return the cell of each member. One that depends on the kind of payment says so."""
    found: dict[str, dict[str, list[Kind]]] = {}
    for kind, request in UNIFIED_VERSIONS[version].payments.items():
        for name, cell in _cells(BODIES[kind], request, VERSIONS[version].payments[kind].request).items():
            found.setdefault(name, {}).setdefault(cell, []).append(kind)
    return {name: _join_kinds(cells) for name, cells in found.items()}


def _join_kinds(cells: Mapping[str, Sequence[Kind]]) -> str:
    if len(cells) == 1:
        return next(iter(cells))
    return "; ".join(f"{' and '.join(kinds)}: {cell}" for cell, kinds in cells.items())


def _cells(body: Model, request: RequestTable, native: Model) -> dict[str, str]:
    """Return the cell of each member of a body. Raises: LookupError, if no row has a member."""
    found = {name: _cell(name, _limit(body, name), request, native) for name in members_of(body)}
    return {name.removeprefix(_ITEMS): cell for name, cell in found.items()}


def _cell(name: str, limit: _Limit, request: RequestTable, native: Model) -> str:
    items = request.payments
    if items is not None and name.startswith(_ITEMS):
        return _cell(name.removeprefix(_ITEMS), limit, items, _inner(native, "payments"))
    refused = next((row for row in request.refused if _has(row.unified, name)), None)
    if refused is not None:
        return _describe_refusal(refused)
    if name in request.left_out:
        return "left out"
    found = [_describe_row(row, limit, native) for row in _own_rows(request) if _has(row.unified, name)]
    found += [f"without it {_source(row)}" for row in _default_rows(request, name)]
    of_items = items.rows if items else ()
    found += [f"`{row.native}` of each payment" for row in of_items if row.unified == f"{ORDER}.{name}"]
    if not found:
        raise LookupError(f"no row of the mapping has {name}")
    return ", ".join(found)


def _own_rows(request: RequestTable) -> list[RequestRow]:
    """Return the first row of each native member."""
    first: dict[str, RequestRow] = {}
    for row in request.rows:
        first.setdefault(row.native, row)
    return [*first.values()]


def _default_rows(request: RequestTable, name: str) -> list[RequestRow]:
    """Return the rows that set the native member of a unified member that is absent."""
    own = _own_rows(request)
    natives = {row.native for row in own if row.unified == name}
    return [row for row in request.rows if row.native in natives and row not in own]


def _has(unified: str, name: str) -> bool:
    """Whether a row is about a member, or about an object that contains it."""
    return f"{name}.".startswith(f"{unified}.")


def _describe_refusal(row: RefusedRow) -> str:
    if not row.unless:
        return "refused"
    beside = ", or ".join(" and ".join(f"`{member}`" for member in members) for members in row.unless)
    return f"left out beside {beside}; otherwise refused"


def _source(row: RequestRow) -> str:
    return describe(row.convert) or f"`{row.unified}`"


def _describe_row(row: RequestRow, unified: _Limit, native: Model) -> str:
    """Return the native member, its conversion and, if it is shorter than the unified member, its length."""
    limit = _Limit(row.longest, "characters") if row.longest else _limit(native, row.native)
    is_shorter = limit.most is not None and unified.most is not None and limit.most < unified.most
    return described(f"`{row.native}`", row.convert) + (f", at most {limit.most} {limit.unit}" if is_shorter else "")


class _Limit(NamedTuple):
    """The maximum length of a text, or of an amount in digits; ``None`` if there is none."""

    most: int | None
    unit: str


def _limit(model: Model, path: str) -> _Limit:
    *objects, name = path.split(".")
    for each in objects:
        model = _inner(model, each)
    schema = schema_of(model)["properties"][name]
    for each in (schema, *schema.get("anyOf", ())):
        if amount := re.match(r"An amount of money of at most (\d+) digits", each.get("description", "")):
            return _Limit(int(amount[1]), "digits")
        if "maxLength" in each:
            return _Limit(each["maxLength"], "characters")
    return _Limit(None, "")


def _inner(model: Model, member: str) -> Model:
    return next(models_in(model.model_fields[member].annotation))


def _codes(version: Version, status: UnifiedStatus) -> str:
    """Return a version's statuses that are a unified status."""
    codes = [f"`{code}`" for code, unified in version.statuses.unified.items() if unified == status]
    return ", ".join(codes) or ("any other" if status == "unknown" else NONE)
