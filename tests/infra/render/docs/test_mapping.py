"""The tables of the unified API are those of its rows."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import pytest

from chalicelib.openbanking.unified import values
from chalicelib.openbanking.unified.bank_requests import RequestRow
from chalicelib.openbanking.unified.calls import (
    UNIFIED_PAYMENTS,
    UNIFIED_READS,
    UNIFIED_STATUS_PATH,
    UnifiedCall,
    UnifiedPaymentCall,
)
from chalicelib.openbanking.unified.rows import BANK, Row, Shape
from chalicelib.openbanking.unified.versions import UNIFIED_VERSIONS
from infra.render.docs import mapping
from infra.render.openapi.conversion_docs import describe
from infra.render.openapi.descriptions import missing
from infra.render.openapi.own_calls import webhooks_of
from tests.kit.documents import tables

READS = ("accounts", "balances", "transactions")


def cells(name: str, version: int) -> dict[str, str]:
    """Return the cell of each member in a rendered table."""
    (head, _, *lines) = tables(mapping.TABLES[name]())[0]
    column = head.index(f"Version {version}")
    return {line[0]: line[column] for line in lines}


def rows_by_member(rows: Sequence[Any]) -> Iterator[tuple[str, list[Any]]]:
    for name in dict.fromkeys(row.unified for row in rows):
        yield name, [row for row in rows if row.unified == name]


@pytest.mark.parametrize(("name", "version"), list(product(READS, UNIFIED_VERSIONS)))
def test_every_row_of_a_read_has_its_place_in_the_line_of_its_member(name: str, version: int) -> None:
    rendered = cells(f"unified {name}", version)
    shape: Shape = getattr(UNIFIED_VERSIONS[version], name).shape

    for member, rows in rows_by_member(shape.rows):
        assert rendered[member] == "; else ".join(filter(None, map(written, rows))) or rendered[member] == "null"
        assert (rendered[member] == "null") == all(row.native is None for row in rows)


def written(row: Row | RequestRow) -> str:
    """Return a row as its table writes it."""
    native = row.native or ""
    place = f"{native.removeprefix(BANK + '.')} of the bank's record" if native.startswith(BANK) else native
    return ": ".join(filter(None, (place, describe(row.convert).replace("`", ""))))


@pytest.mark.parametrize("version", UNIFIED_VERSIONS)
def test_the_account_of_a_list_and_a_single_one_have_the_same_rows(version: int) -> None:
    tables_of = UNIFIED_VERSIONS[version]

    assert tables_of.account.shape is tables_of.accounts.shape


@pytest.mark.parametrize("version", UNIFIED_VERSIONS)
def test_every_request_row_of_transactions_has_its_place_in_the_line_of_its_parameter(version: int) -> None:
    rendered, table = cells("unified parameters", version), UNIFIED_VERSIONS[version].transactions
    sent = {"cursor" if row.unified == "position" else row.unified: row for row in table.request}

    assert {name for name, cell in rendered.items() if cell != "compared by the hub"} == set(sent)
    assert all(rendered[name].startswith(written(row)) for name, row in sent.items())
    assert f"at most {table.longest_account_id} characters" in rendered["account_id"]
    assert describe(table.next_position).replace("`", "") in rendered["cursor"]


@pytest.mark.parametrize("version", UNIFIED_VERSIONS)
def test_the_line_of_a_status_has_the_conversion_of_each_list(version: int) -> None:
    rendered, table = cells("unified transactions", version), UNIFIED_VERSIONS[version].transactions

    for each in table.lists:
        assert f"{each.path}: {describe(each.status).replace('`', '')}" in rendered["status"]
    assert table.amount in rendered["direction"]
    assert describe(table.unsigned_direction).replace("`", "") in rendered["direction"]


def test_the_calls_have_the_webhook_and_the_scope_of_each_version() -> None:
    lines = {line[0]: line[1:] for line in tables(mapping.calls_table())[0][2:]}
    calls: list[tuple[str, UnifiedCall | UnifiedPaymentCall]] = [(each.method, each) for each in UNIFIED_READS]

    for method, call in [*calls, *(("POST", each) for each in UNIFIED_PAYMENTS)]:
        webhooks = [f"{each.path}, {each.scope}".removesuffix(", None") for each in webhooks_of(call).values()]
        assert lines[f"{method} {call.path}"] == [call.scope or mapping.NONE, *webhooks]
    assert lines[f"GET {UNIFIED_STATUS_PATH}"][2] == "/v2_payment_single_status, /v2_payment_bulk_status"


@pytest.mark.parametrize("version", UNIFIED_VERSIONS)
def test_the_scope_of_every_call_stands_for_its_native_scope(version: int) -> None:
    rendered = cells("unified scopes", version)

    for call in UNIFIED_READS:
        assert str(webhooks_of(call)[version].scope) in rendered[call.scope].split()


@pytest.mark.parametrize("lost", ["iban", "sort_code", "payment_schemes"])
def test_a_member_without_a_row_is_reported(monkeypatch: pytest.MonkeyPatch, lost: str) -> None:
    known = UNIFIED_VERSIONS[2]
    shape = Shape([row for row in known.accounts.shape.rows if row.unified != lost])
    broken = replace(known, accounts=replace(known.accounts, shape=shape))
    monkeypatch.setattr(mapping, "UNIFIED_VERSIONS", {**UNIFIED_VERSIONS, 2: broken})

    with pytest.raises(LookupError, match=lost):
        mapping.accounts()


def test_a_row_without_a_member_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    known = UNIFIED_VERSIONS[1]
    shape = Shape([*known.balances.shape.rows, Row("colour", "colour")])
    broken = replace(known, balances=replace(known.balances, shape=shape))
    monkeypatch.setattr(mapping, "UNIFIED_VERSIONS", {**UNIFIED_VERSIONS, 1: broken})

    with pytest.raises(LookupError, match="colour"):
        mapping.balances()


@pytest.mark.parametrize("doc", [None, "The IBAN.", "Returns capitals."])
def test_a_conversion_without_a_sentence_is_reported(monkeypatch: pytest.MonkeyPatch, doc: str | None) -> None:
    monkeypatch.setattr(values.iban, "__doc__", doc)

    reported = "chalicelib.openbanking.unified.values.iban has no docstring that begins with Return: "
    assert set(missing()) == {f"{reported}add it below the function's name"}


@pytest.mark.parametrize(
    ("conversion", "words"),
    [
        (values.text, ""),
        (int, ""),
        (values.iban, "capitals without spaces"),
        (values.OneOf({"A": "first"}, "other"), "`A` is `first`, any other is `other`"),
    ],
)
def test_a_conversion_is_described_by_the_first_sentence_of_its_docstring(
    conversion: Callable[..., Any], words: str
) -> None:
    assert describe(conversion) == words
