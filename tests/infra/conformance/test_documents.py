"""The documentation of the kit agrees with the code."""

import re
from collections.abc import Iterator
from typing import Any, get_args

from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from infra.conformance import bank_file, psu, report
from infra.conformance.__main__ import COULD_NOT_RUN, FAILED, OUTPUT
from infra.conformance.bank_file import AccountPart, BankPart
from tests.kit.documents import ROOT, rows, section, tables

TEXT = (ROOT / "docs/concepts/bank-conformance.md").read_text("utf-8")
TOGETHER = ("customer.accounts", "payment.creditor")
"""Members of the bank file that the document describes in one table row, together with their own members."""


def members(model: type[BaseModel], place: str = "") -> Iterator[tuple[str, Any]]:
    for name, described in model.model_fields.items():
        inner = next((each for each in (described.annotation, *get_args(described.annotation)) if is_part(each)), None)
        if inner is None or f"{place}{name}" in TOGETHER:
            yield f"{place}{name}", described.default
        else:
            yield from members(inner, f"{place}{name}.")


def is_part(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, bank_file.Part)


def test_the_documentation_explains_every_member_of_the_bank_file_with_its_default() -> None:
    (table,) = tables(section(TEXT, "## The file"))
    told = {name: default for name, default, _ in table[2:]}
    found = dict(members(BankPart))

    assert list(told) == list(found)
    for name, default in found.items():
        assert (told[name] == "required") == (default is PydanticUndefined), name
    for name in ("hub.listen", "payment.amount", "payment.declined_amount", "psu.mode"):
        assert told[name].strip('"') == found[name]
    assert [told[f"limits.{name}"] for name in ("psu", "report")] == ["300", "30"]


def test_the_documentation_lists_every_identifier_of_an_account() -> None:
    row = next(row for row in rows(section(TEXT, "## The file")) if row[0] == "customer.accounts")

    assert all(name in row[2] for name in AccountPart.model_fields)


def test_the_documentation_lists_the_calls_and_the_exit_codes_of_the_psu_command() -> None:
    told = section(TEXT, "## The PSU")
    calls = re.findall(r"`COMMAND ([a-z]+)(?: URL ([a-z]+))?`", told)

    assert sorted(calls) == sorted(psu.SENTENCES)
    assert [row[0] for row in rows(told) if re.match("[0-9]", row[0])] == ["0", str(psu.NOT_SUPPORTED)]


def test_the_documentation_lists_the_reports_and_the_exit_codes_of_the_conformance_kit() -> None:
    told = section(TEXT, "## Results")

    assert f"`{OUTPUT}`" in told
    assert re.findall(r"^\| `([a-z.]+)`", told, re.MULTILINE) == [f"{report.NAME}.{e}" for e in ("html", "json", "xml")]
    assert re.findall(r"^\| ([0-9]) ", told, re.MULTILINE) == ["0", str(FAILED), str(COULD_NOT_RUN)]


def test_the_documentation_has_at_most_150_characters_per_line_outside_tables() -> None:
    assert [line for line in TEXT.splitlines() if len(line) > 150 and not line.startswith("|")] == []
