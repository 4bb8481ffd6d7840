"""The tables of unified payments and confirmations of funds are those of their rows."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product

import pytest

from chalicelib.openbanking.protocol.payment_enumerations import Kind
from chalicelib.openbanking.protocol.payment_statuses import FINAL, UNIFIED_MEANINGS
from chalicelib.openbanking.protocol.versions import VERSIONS
from chalicelib.openbanking.unified.bank_requests import ORDER, RefusedRow, RequestRow, RequestTable
from chalicelib.openbanking.unified.payment_messages import BODIES, FundsRequest
from chalicelib.openbanking.unified.versions import UNIFIED_VERSIONS
from infra.render.docs import mapping, payment_mapping
from infra.render.docs.mapping import members_of
from infra.render.openapi.conversion_docs import describe
from tests.kit.documents import tables

KINDS: Sequence[tuple[int, Kind]] = [*product(UNIFIED_VERSIONS, BODIES)]
EVERY_KIND = pytest.mark.parametrize(("version", "kind"), KINDS)


def cells(name: str, version: int) -> dict[str, str]:
    """Return the cell of each member in a rendered table."""
    head, _, *lines = tables(payment_mapping.TABLES[f"unified {name}"]())[0]
    return {line[0]: line[head.index(f"Version {version}")] for line in lines}


def with_items(request: RequestTable) -> Iterator[RequestTable]:
    yield request
    yield from (request.payments,) if request.payments else ()


def lines_of(unified: str, rendered: dict[str, str]) -> list[str]:
    """Return the cells of a member, or of the members of an object."""
    name = unified.removeprefix(f"{ORDER}.")
    return [cell for member, cell in rendered.items() if f"{member}.".startswith(f"{name}.")]


def assert_row(row: RequestRow, request: RequestTable, rendered: dict[str, str]) -> None:
    first = next(each for each in request.rows if each.native == row.native)
    words = describe(row.convert).replace("`", "")

    found = lines_of(first.unified, rendered)
    assert found
    assert all(row.native in cell and words in cell for cell in found)


@EVERY_KIND
def test_every_row_of_a_payment_has_its_place_in_the_line_of_its_member(version: int, kind: Kind) -> None:
    rendered = cells("payments", version)

    for request in with_items(UNIFIED_VERSIONS[version].payments[kind]):
        for row in request.rows:
            assert_row(row, request, rendered)


@EVERY_KIND
def test_every_refused_or_left_out_member_of_a_payment_is_told(version: int, kind: Kind) -> None:
    rendered = cells("payments", version)

    for request in with_items(UNIFIED_VERSIONS[version].payments[kind]):
        for refused in request.refused:
            found = lines_of(refused.unified, rendered)
            assert found
            assert all(tells_refusal(refused, cell) for cell in found)
        for name in request.left_out:
            found = lines_of(name, rendered)
            assert found
            assert all("left out" in cell for cell in found)


def tells_refusal(row: RefusedRow, cell: str) -> bool:
    return "refused" in cell and all(member in cell for members in row.unless for member in members)


@EVERY_KIND
def test_every_member_of_a_payment_has_a_line(version: int, kind: Kind) -> None:
    names = {name.removeprefix("payments.") for name in members_of(BODIES[kind])}

    assert names <= cells("payments", version).keys()


@pytest.mark.parametrize(
    ("member", "version", "text"),
    [
        ("creditor.name", 1, "receiver_name, at most 40 characters"),
        ("creditor.name", 2, "creditor_name"),
        ("amount.value", 1, "amount, at most 10 digits"),
        ("remittance.reference", 1, "reference, at most 18 characters"),
        ("remittance.reference_type", 2, "remittance_information_structured.reference_type, without it SCOR"),
        ("debtor.iban", 1, "single and bulk: sender_iban; direct: refused"),
        ("debtor.bban", 1, "left out beside debtor.iban; otherwise refused"),
        ("creditor.bank.bic", 1, "refused"),
        ("creditor.bank.bic", 2, "single: creditor_bank.bic; direct and bulk: refused"),
        ("scheme", 1, "single and direct: payment_scheme; bulk: payment_scheme of each payment"),
    ],
)
def test_a_line_tells_kinds_and_lengths_that_differ(member: str, version: int, text: str) -> None:
    assert cells("payments", version)[member] == text


def test_a_member_of_a_payment_without_a_row_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    known = UNIFIED_VERSIONS[2]
    single = known.payments["single"]
    rows = [row for row in single.rows if row.unified != "debtor.name"]
    broken = replace(known, payments={**known.payments, "single": replace(single, rows=rows)})
    monkeypatch.setattr(payment_mapping, "UNIFIED_VERSIONS", {**UNIFIED_VERSIONS, 2: broken})

    with pytest.raises(LookupError, match=r"debtor\.name"):
        payment_mapping.payments()


@pytest.mark.parametrize("version", UNIFIED_VERSIONS)
def test_every_row_of_a_confirmation_of_funds_has_its_place_in_the_line_of_its_member(version: int) -> None:
    rendered, request = cells("funds", version), UNIFIED_VERSIONS[version].funds_confirmations.request

    assert [*rendered] == [*members_of(FundsRequest)]
    for row in request.rows:
        assert_row(row, request, rendered)
    for refused in request.refused:
        assert tells_refusal(refused, rendered[refused.unified])


@pytest.mark.parametrize("version", VERSIONS)
def test_the_statuses_are_those_of_the_version(version: int) -> None:
    rendered = cells("statuses", version)
    unified = VERSIONS[version].statuses.unified

    assert [*rendered] == [*UNIFIED_MEANINGS]
    for status, cell in rendered.items():
        codes = [code for code, name in unified.items() if name == status]
        assert cell == (", ".join(codes) or {"unknown": "any other"}.get(status, mapping.NONE))
    lines = tables(payment_mapping.statuses())[0][2:]
    assert {line[0] for line in lines if line[2] == "yes"} == FINAL
