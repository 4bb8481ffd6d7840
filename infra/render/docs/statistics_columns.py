"""Renders the page about the columns of statistics: daily records of a bank, and the overview of all banks."""

from __future__ import annotations

from chalicelib.statistics import export, overview_export
from infra.render.openapi.introduction import table

_SOURCES = (
    "A row per day and bank (ASPSP). *RTS* is Commission Delegated Regulation (EU) 2018/389; *GL* are the guidelines "
    "EBA/GL/2018/07. Unknown values are empty, `null` in JSON, never 0."
)


def render() -> str:
    days = ((f"`{each.name}`", each.meaning, each.source or "\N{EN DASH}") for each in export.COLUMNS)
    banks = ((f"`{each.name}`", each.meaning) for each in overview_export.COLUMNS)
    return "\n\n".join(
        (
            "## Days of a bank",
            _SOURCES,
            table(("Column", "Meaning", "Required by"), days),
            "## Overview of all banks",
            "A row per bank for the selected days, in the same units.",
            table(("Column", "Meaning"), banks),
        )
    )
