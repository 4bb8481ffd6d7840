"""The tables of the unified API, from the rows of its mapping: calls, and members with those of each version."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, get_args

from chalicelib.openbanking.protocol.errors import UnifiedReason
from chalicelib.openbanking.protocol.version import Version
from chalicelib.openbanking.protocol.versions import VERSIONS
from chalicelib.openbanking.protocol.webhooks import Webhook
from chalicelib.openbanking.unified import answers, calls, messages
from chalicelib.openbanking.unified.bank_requests import RequestRow
from chalicelib.openbanking.unified.calls import UnifiedCall, UnifiedPaymentCall
from chalicelib.openbanking.unified.rows import BANK, Row, Shape
from chalicelib.openbanking.unified.tables import TransactionTable, UnifiedVersion
from chalicelib.openbanking.unified.versions import UNIFIED_VERSIONS
from infra.render.openapi.conversion_docs import describe
from infra.render.openapi.introduction import table, unified_scopes_table
from infra.render.openapi.models import Model, alias, model_of, models_in
from infra.render.openapi.own_calls import webhooks_of
from infra.render.openapi.refusal_cases import CASES, Case

Cells = Mapping[str, str]
"""The description of each unified member, in one version."""
HEADINGS = [f"Version {number}" for number in UNIFIED_VERSIONS]
"""The headings of the columns of the versions."""
NONE = "\N{EN DASH}"
"""The cell of what does not exist."""
_NULL = "null"
_BY_HUB = "compared by the hub"
_NOT_MAPPED = frozenset({"stable_key", "native"})
"""Members that the hub makes, in every version."""
_POSITION = "position"
"""The parameter of rows that is ``cursor`` in requests of TPPs."""


# -- tables


def calls_table() -> str:
    """Return the unified calls with the webhook and the scope of each version."""
    rows = [(f"`{call.method} {call.path}`", *_call_cells(call)) for call in calls.UNIFIED_READS]
    rows += [(f"`POST {call.path}`", *_call_cells(call)) for call in calls.UNIFIED_PAYMENTS]
    asked = [_status_cell(VERSIONS[number]) for number in UNIFIED_VERSIONS]
    return table(("Call", "Scope", *HEADINGS), [*rows, (f"`GET {calls.UNIFIED_STATUS_PATH}`", NONE, *asked)])


def scopes() -> str:
    return unified_scopes_table(*VERSIONS.values())


def accounts() -> str:
    return _members_table(answers.UnifiedAccount, [_shape_cells(each.accounts.shape) for each in _versions()])


def balances() -> str:
    return _members_table(answers.UnifiedBalance, [_shape_cells(each.balances.shape) for each in _versions()])


def transactions() -> str:
    """Return the members of transactions, and the sides that paths of the versions name in braces."""
    found = [_transaction_cells(each.transactions) for each in _versions()]
    return _members_table(answers.UnifiedTransaction, found, more=("{own}", "{other}"))


def parameters() -> str:
    """Return the parameters of transactions with those of each version."""
    found = [_parameter_cells(each.transactions) for each in _versions()]
    return _members_table(messages.TransactionsQuery, found, "Parameter")


def errors() -> str:
    """Return the reason codes of unified calls with the status and the cause of each."""
    found = {case.refusal.reason_code: case for case in CASES.values()}
    return table(
        ("`reason_code`", "Status", "Cause"), [_error_row(code, found[code]) for code in get_args(UnifiedReason)]
    )


TABLES: Mapping[str, Callable[[], str]] = {
    "unified calls": calls_table,
    "unified scopes": scopes,
    "unified accounts": accounts,
    "unified balances": balances,
    "unified transactions": transactions,
    "unified parameters": parameters,
    "unified errors": errors,
}
"""The tables by name."""


# -- internals


def _versions() -> Iterable[UnifiedVersion]:
    return UNIFIED_VERSIONS.values()


def _error_row(code: UnifiedReason, case: Case) -> tuple[str, ...]:
    fault = case.refusal.fault
    return f"`{code}`", f"{fault.status} `{fault.v2}`", case.when().removesuffix(f" (`{code}`)")


def _call_cells(call: UnifiedCall | UnifiedPaymentCall) -> Iterator[str]:
    webhooks = webhooks_of(call)
    yield f"`{call.scope}`" if call.scope else NONE
    yield from (_webhook_cell(webhooks.get(number)) for number in UNIFIED_VERSIONS)


def _status_cell(version: Version) -> str:
    paths = dict.fromkeys(f"`{webhook.path}`" for webhook in version.payment_status.values())
    return ", ".join(paths) or "none: the last report counts"


def _webhook_cell(webhook: Webhook | None) -> str:
    if webhook is None:
        return NONE
    return f"`{webhook.path}`, `{webhook.scope}`" if webhook.scope else f"`{webhook.path}`"


def _members_table(shape: type[Any], cells: Sequence[Cells], heading: str = "Member", more: Sequence[str] = ()) -> str:
    """Return a table of all members of a shape, and of ``more``. Raises: LookupError, if a version lacks a member."""
    names = [*(name for name in members_of(model_of(shape)) if name not in _NOT_MAPPED), *more]
    for found in cells:
        if missing := set(names) ^ found.keys():
            raise LookupError(f"{shape.__name__} and the rows of a version differ: {sorted(missing)}")
    return table((heading, *HEADINGS), [(f"`{name}`", *(each[name] for each in cells)) for name in names])


def members_of(model: Model) -> Iterator[str]:
    """Yield the paths of a model's members; those of an object inside instead of the object."""
    for name, field in model.model_fields.items():
        inner = next(models_in(field.annotation), None)
        if inner is None:
            yield alias(model, name)
        else:
            yield from (f"{alias(model, name)}.{each}" for each in members_of(inner))


def _shape_cells(shape: Shape) -> dict[str, str]:
    rows: dict[str, list[str]] = {}
    for row in shape.rows:
        rows.setdefault(row.unified, []).extend(_source(row))
    return {name: "; else ".join(sources) or _NULL for name, sources in rows.items()}


def _source(row: Row) -> Iterator[str]:
    if row.native is not None:
        switch = row.native.removeprefix(f"{BANK}.")
        place = f"`{row.native}`" if switch == row.native else f"`{switch}` of the bank's record"
        yield described(place, row.convert)


def described(place: str, convert: Callable[..., Any]) -> str:
    """Return a place with the description of its conversion."""
    words = describe(convert)
    return f"{place}: {words}" if words else place


def _transaction_cells(found: TransactionTable) -> Cells:
    cells = _shape_cells(found.shape)
    cells["status"] = "; ".join(f"`{each.path}`: {describe(each.status)}" for each in found.lists)
    cells["direction"] = (
        f"`debit` if `{found.amount}` has a minus sign, else `credit`; "
        f"with `unsigned_amounts`: {describe(found.unsigned_direction)}"
    )
    sides = found.shape.sides
    assert sides is not None, "transactions have two sides"
    cells |= {
        side: _side_cell(*(sides.at(side, each) for each in ("debit", "credit"))) for side in ("{own}", "{other}")
    }
    return cells


def _side_cell(of_debit: str, of_credit: str) -> str:
    return f"`{of_debit}` of a debit, `{of_credit}` of a credit"


def _parameter_cells(found: TransactionTable) -> Cells:
    rows = {"cursor" if row.unified == _POSITION else row.unified: row for row in found.request}
    names = [name for name in members_of(messages.TransactionsQuery) if name not in _NOT_MAPPED]
    cells = {name: _request_cell(rows[name]) if name in rows else _BY_HUB for name in names}
    cells["account_id"] += f", at most {found.longest_account_id} characters"
    cells["cursor"] += f"; the next one is {describe(found.next_position)}"
    return cells


def _request_cell(row: RequestRow) -> str:
    return described(f"`{row.native}`", row.convert)
