"""Renders the page about the checks after a restore, with inconsistencies and remedies."""

from __future__ import annotations

from infra.render.openapi.introduction import table
from infra.restore.checks import CHECKS, LEDGER

_HEADING = ("Check", "Tables", "Inconsistency", "With `--mend`", "What you do")


def render() -> str:
    rows: dict[str, tuple[str, ...]] = {}
    for check in (*CHECKS, LEDGER):
        tables = dict.fromkeys(
            (*rows.get(check.name, ("", ""))[1].split(", "), *(f"`{name}`" for name in check.tables))
        )
        remedies = (check.remedy, "-") if check.mends else ("-", check.remedy)
        rows[check.name] = (f"`{check.name}`", ", ".join(filter(None, tables)), check.wrong, *remedies)
    return table(_HEADING, rows.values())
