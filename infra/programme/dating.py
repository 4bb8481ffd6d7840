"""Since when the entries of fee and limit groups are as they are; a load keeps the times of those that stay."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import TypeVar

from chalicelib.cards.catalogue import Catalogue, FeeEntry, FeeGroup, GroupEntry, LimitGroup, members

SomeGroup = TypeVar("SomeGroup", FeeGroup, LimitGroup)
SomeEntry = TypeVar("SomeEntry", bound=GroupEntry)


def dated(found: Catalogue, wanted: Catalogue, now: int) -> Catalogue:
    """What a file wants, with the times at which its fees and limits last changed; ``now`` in Unix seconds."""
    return replace(
        wanted,
        fee_groups={number: _dated(found.fee_groups.get(number), g, now) for number, g in wanted.fee_groups.items()},
        limit_groups={
            number: _dated(found.limit_groups.get(number), g, now) for number, g in wanted.limit_groups.items()
        },
    )


def by_name(entries: Iterable[SomeEntry]) -> dict[str, SomeEntry]:
    """Entries by what they are recognised by in the next file, in their order.

    That is a limit's id, and a fee's code; the second fee of a code is ``CODE#2``.
    """
    named: dict[str, SomeEntry] = {}
    seen: Counter[str] = Counter()
    for entry in entries:
        name = entry.code if isinstance(entry, FeeEntry) else str(entry.id)
        seen[name] += 1
        named[name if seen[name] == 1 else f"{name}#{seen[name]}"] = entry
    return named


def _dated(before: SomeGroup | None, group: SomeGroup, now: int) -> SomeGroup:
    there = by_name(before.entries) if before else {}
    entries = (_entry(there.get(name), entry, now) for name, entry in by_name(group.entries).items())
    return replace(group, entries=tuple(entries))


def _entry(before: SomeEntry | None, entry: SomeEntry, now: int) -> SomeEntry:
    """Compared as plain data, since a percentage that is written otherwise is shown otherwise, too."""
    if before is not None and members(before) == members(entry) | {"updated_at": before.updated_at}:
        return before
    return replace(entry, updated_at=now)
