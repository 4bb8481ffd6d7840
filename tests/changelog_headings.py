"""The headings of a changelog's releases."""

from __future__ import annotations

import re
from datetime import date

_HEADING = re.compile(r"^## (?P<version>\d+\.\d+\.\d+) \((?P<day>\d{4}-\d{2}-\d{2})\)$", re.MULTILINE)


def releases(text: str) -> list[tuple[str, date]]:
    """Versions and days of all releases, as the changelog has them."""
    return [(found["version"], date.fromisoformat(found["day"])) for found in _HEADING.finditer(text)]
