"""The changelog's sections: one for the next version, and one for each release, newest first."""

from __future__ import annotations

import re
from datetime import date

NEXT = "## Next version"
EMPTY = "No changes yet."
_SECTION = re.compile(rf"^{re.escape(NEXT)}\n(?P<content>.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)


class ChangelogInvalid(Exception):
    """A changelog cannot be read; the message names the missing part."""


def next_version(text: str) -> str:
    """The content of the next version's section; empty if nothing has changed. Raises: ChangelogInvalid."""
    found = _SECTION.search(text)
    if found is None:
        raise ChangelogInvalid(f"there is no section {NEXT!r}")
    content = found["content"].strip()
    return "" if content == EMPTY else content


def notes(content: str) -> list[str]:
    """The items of a section's lists, each as one line."""
    items = re.split(r"^- ", content, flags=re.MULTILINE)[1:]
    return [" ".join(item.split()) for item in items]


def release(text: str, version: str, day: date, *, without: str = "") -> str:
    """The changelog with the next version's section turned into a release's; ``without`` is its text if empty.

    Raises:
        ChangelogInvalid: there is no such section, or it is empty.
    """
    content = next_version(text) or without
    if not content:
        raise ChangelogInvalid(f"the section {NEXT!r} is empty: say what users notice")
    released = f"{NEXT}\n\n{EMPTY}\n\n## {version} ({day.isoformat()})\n\n{content}\n\n"
    return _SECTION.sub(lambda _: released, text, count=1).rstrip() + "\n"
