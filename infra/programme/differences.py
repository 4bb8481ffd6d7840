"""What differs between a set-up as it is kept and as a file says it, as an operator reads it.

Differences are members by their names, each as it is and as it is to be; ``None`` is what is not there. An entry of a
group is a member of its own (``entries.CODE``, ``entries.ID`` or ``rules.ID``), and so is an exchange rate
(``rates.978/826``), so that the rest of them is not told again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from chalicelib.cards.programs.catalogue import ENTRIES_OF, Entry, GroupEntry, members
from infra.programme.timestamps import by_name

Differences = dict[str, tuple[Any, Any]]


def of_members(before: Mapping[str, Any], after: Mapping[str, Any]) -> Differences:
    """Those of plain data."""
    names = dict.fromkeys([*before, *after])
    pairs = {name: (before.get(name), after.get(name)) for name in names}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def of_heads(before: Mapping[str, Any], after: Mapping[str, Any]) -> Differences:
    """Those of two programme managers' heads, as ``loading.spoken_head`` gives them."""
    return of_members(_flat(before, "rates", before["rates"]), _flat(after, "rates", after["rates"]))


def of_entries(before: Entry, after: Entry) -> Differences:
    """Those of an entry; of a group, the entries too, and their order when it is another."""
    member = ENTRIES_OF.get(type(before))
    if member is None:
        return of_members(members(before), members(after))
    here, there = by_name(getattr(before, member)), by_name(getattr(after, member))
    found = of_members(
        _flat(members(before), member, {name: _told(entry) for name, entry in here.items()}),
        _flat(members(after), member, {name: _told(entry) for name, entry in there.items()}),
    )
    was, becomes = [name for name in here if name in there], [name for name in there if name in here]
    return found if was == becomes else found | {member: (was, becomes)}


def _flat(plain: Mapping[str, Any], member: str, inner: Mapping[str, Any]) -> dict[str, Any]:
    """With the parts of a member in its place."""
    return {**plain, member: None, **{f"{member}.{name}": each for name, each in inner.items()}}


def _told(entry: GroupEntry) -> dict[str, Any]:
    """What a file has to say of an entry: neither when it changed nor what holds anyway."""
    plain = members(entry)
    anyway = {each.name: each.default for each in fields(entry)} | {"updated_at": entry.updated_at}
    return {name: value for name, value in plain.items() if value != anyway[name]}
