"""Since when the entries of fee, limit and risk groups are as they are; a load keeps the times of those that stay."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, TypeVar

from chalicelib.cards.programs.catalogue import ENTRIES_OF, KINDS, Catalogue, Entry, FeeEntry, GroupEntry, members

SomeEntry = TypeVar("SomeEntry", bound=GroupEntry)


def dated(found: Catalogue, wanted: Catalogue, now: int) -> Catalogue:
    """What a file wants, with the times at which the entries of its groups last changed; ``now`` in Unix seconds."""
    changed: dict[str, Any] = {}
    for kind, made in KINDS.items():
        if member := ENTRIES_OF.get(made):
            there = found.of(kind)
            groups = wanted.of(kind).items()
            changed[f"{kind}s"] = {number: _dated(member, there.get(number), group, now) for number, group in groups}
    return replace(wanted, **changed)


def by_name(entries: Iterable[SomeEntry]) -> dict[str, SomeEntry]:
    """Entries by what they are recognised by in the next file, in their order.

    That is the id of a limit or a rule, and a fee's code; the second fee of a code is ``CODE#2``.
    """
    named: dict[str, SomeEntry] = {}
    seen: Counter[str] = Counter()
    for entry in entries:
        name = entry.code if isinstance(entry, FeeEntry) else str(entry.id)
        seen[name] += 1
        named[name if seen[name] == 1 else f"{name}#{seen[name]}"] = entry
    return named


def _dated(member: str, before: Entry | None, group: Entry, now: int) -> Entry:
    there = by_name(getattr(before, member, ()))
    entries = tuple(_entry(there.get(name), entry, now) for name, entry in by_name(getattr(group, member)).items())
    changed: dict[str, Any] = {member: entries}
    return replace(group, **changed)


def _entry(before: SomeEntry | None, entry: SomeEntry, now: int) -> SomeEntry:
    """Compared as plain data, since a percentage that is written otherwise is shown otherwise, too."""
    if before is not None and members(before) == members(entry) | {"updated_at": before.updated_at}:
        return before
    return replace(entry, updated_at=now)
