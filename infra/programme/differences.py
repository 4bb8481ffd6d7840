"""Compares a stored configuration with a programme file, and preserves the timestamps of unchanged group entries.

Differences map member names to pairs of the old and the new value; ``None`` means that the member is absent. Each entry
of a group is a separate member (``entries.CODE``, ``entries.ID`` or ``rules.ID``), and each exchange rate is a separate
member (``rates.978/826``), so that only changed entries and rates are listed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from typing import Any, TypeVar

from chalicelib.cards.programs.catalogue import ENTRIES_OF, KINDS, Catalogue, Entry, FeeEntry, GroupEntry, members

Differences = dict[str, tuple[Any, Any]]


def compare_members(before: Mapping[str, Any], after: Mapping[str, Any]) -> Differences:
    """Return the differences between two mappings."""
    names = dict.fromkeys([*before, *after])
    pairs = {name: (before.get(name), after.get(name)) for name in names}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def compare_heads(before: Mapping[str, Any], after: Mapping[str, Any]) -> Differences:
    """Return the differences between two programme managers' own members, as built by ``loading.readable_head``."""
    return compare_members(_flatten(before, "rates", before["rates"]), _flatten(after, "rates", after["rates"]))


def compare_entries(before: Entry, after: Entry) -> Differences:
    """Return the differences between two versions of an entry. For a group, include the entries and their order."""
    member = ENTRIES_OF.get(type(before))
    if member is None:
        return compare_members(members(before), members(after))
    here, there = by_name(getattr(before, member)), by_name(getattr(after, member))
    found = compare_members(
        _flatten(members(before), member, {name: _entry_members(entry) for name, entry in here.items()}),
        _flatten(members(after), member, {name: _entry_members(entry) for name, entry in there.items()}),
    )
    was, becomes = [name for name in here if name in there], [name for name in there if name in here]
    return found if was == becomes else found | {member: (was, becomes)}


def _flatten(plain: Mapping[str, Any], member: str, inner: Mapping[str, Any]) -> dict[str, Any]:
    return {**plain, member: None, **{f"{member}.{name}": each for name, each in inner.items()}}


def _entry_members(entry: GroupEntry) -> dict[str, Any]:
    plain = members(entry)
    anyway = {each.name: each.default for each in fields(entry)} | {"updated_at": entry.updated_at}
    return {name: value for name, value in plain.items() if value != anyway[name]}


SomeEntry = TypeVar("SomeEntry", bound=GroupEntry)


def keep_timestamps(found: Catalogue, wanted: Catalogue, now: int) -> Catalogue:
    """Return the file's configuration with timestamps. Changed group entries get ``now`` (Unix seconds)."""
    changed: dict[str, Any] = {}
    for kind, made in KINDS.items():
        if member := ENTRIES_OF.get(made):
            there = found.of(kind)
            groups = wanted.of(kind).items()
            changed[f"{kind}s"] = {
                number: _keep_timestamps_of_group(member, there.get(number), group, now) for number, group in groups
            }
    return replace(wanted, **changed)


def by_name(entries: Iterable[SomeEntry]) -> dict[str, SomeEntry]:
    """Map entries, in order, to names that identify them across files.

    The name is the id of a limit or rule, or the code of a fee; the second fee with the same code is ``CODE#2``.
    """
    named: dict[str, SomeEntry] = {}
    seen: Counter[str] = Counter()
    for entry in entries:
        name = entry.code if isinstance(entry, FeeEntry) else str(entry.id)
        seen[name] += 1
        named[name if seen[name] == 1 else f"{name}#{seen[name]}"] = entry
    return named


def _keep_timestamps_of_group(member: str, before: Entry | None, group: Entry, now: int) -> Entry:
    there = by_name(getattr(before, member, ()))
    entries = tuple(
        _keep_timestamp(there.get(name), entry, now) for name, entry in by_name(getattr(group, member)).items()
    )
    changed: dict[str, Any] = {member: entries}
    return replace(group, **changed)


def _keep_timestamp(before: SomeEntry | None, entry: SomeEntry, now: int) -> SomeEntry:
    """Return the old entry with its timestamp if the new entry has the same values. Otherwise, return the new entry
    with the timestamp ``now``.

    The serialised values are compared, so a percentage in a different notation counts as a change.
    """
    if before is not None and members(before) == members(entry) | {"updated_at": before.updated_at}:
        return before
    return replace(entry, updated_at=now)
