"""Generated tables in documents that are otherwise written by hand, each between two comments::

<!-- table: unified accounts -->
…
<!-- end of table -->
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from infra.render.docs import mapping, payment_mapping, protocol_tables
from infra.render.docs.site_pages import SOURCE
from infra.render.generated_files import update_files

TABLES: Mapping[str, Callable[[], str]] = {
    **mapping.TABLES,
    **payment_mapping.TABLES,
    "webhooks": protocol_tables.webhooks,
    "error codes": protocol_tables.error_codes,
}
"""The tables by name."""
_TABLE = re.compile(r"^(<!-- table: ([^\n]+) -->\n).*?^(<!-- end of table -->)$", re.MULTILINE | re.DOTALL)


def with_tables(text: str) -> str:
    """Return a document with its tables as generated. Raises: KeyError, if there is no table of a name."""
    return _TABLE.sub(lambda found: f"{found[1]}{TABLES[found[2]]()}\n{found[3]}", text)


def without_tables(text: str) -> str:
    """Return a document without its generated tables."""
    return _TABLE.sub("", text)


def update(*, check: bool = False) -> list[Path]:
    """Write the documents whose tables have changed, unless ``check`` is true. Return these documents."""
    sources = {file: file.read_text("utf-8") for file in sorted(SOURCE.rglob("*.md"))}
    return update_files({file: with_tables(text) for file, text in sources.items()}, check=check)
