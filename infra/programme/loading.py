"""Loads a programme file into a stage: plans the changes, then writes them.

All changes of a programme manager are written in one transaction. The transaction increments the revision of the head
record, so that one of two concurrent loads is refused. If the changes do not fit into one transaction, new entries are
written first in separate transactions, because nothing refers to them yet. Changes, removals and credentials are always
written in the last transaction.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from chalicelib.bootstrap import Hub
from chalicelib.cards.events.event_secrets import create_events_secret, has_events_secret
from chalicelib.cards.programs import credentials
from chalicelib.cards.programs.catalogue import KINDS, Catalogue, Entry, members
from chalicelib.cards.programs.credentials import Credential, CredentialSecret, Rights, new_secret
from chalicelib.cards.programs.programmes import SetUp, entry_key, head_key, head_members
from chalicelib.cards.storage.record import without_none
from chalicelib.foundation.crypto import signatures
from chalicelib.foundation.dynamodb.conditions import Attr, Condition
from chalicelib.foundation.dynamodb.store import ConditionFailed, Delete, Item, Operation, Put, Update, absent
from chalicelib.foundation.parallel import pieces
from infra.programme.differences import compare_entries, compare_heads, compare_members, keep_timestamps
from infra.programme.file import WantedManager

TOGETHER = 99
"""Maximum number of changes in a transaction: DynamoDB's 100 operations minus one for the head record."""
MANAGER, CREDENTIAL, EVENTS_SECRET = "programme_manager", "credential", "events_secret"

_THERE, _UNUSED = Attr("owner").exists(), Attr("used").not_exists()
_STAYS = {"limit_group": "limit_type", "special_account": "currency"}
"""Members that cannot change while an entry is in use."""
What = Literal["add", "change", "remove"]


class EntryInUse(Exception):
    """An entry in use cannot be removed, or changed as planned. The message names the entry. The programme manager is
    unchanged.
    """


class LoadTooLarge(Exception):
    """The load contains more changes and removals than fit into one transaction."""


class LoadConflict(Exception):
    """A concurrent load of the same programme manager succeeded first."""


@dataclass(frozen=True, slots=True)
class PlannedChange:
    """An addition, change or removal. The module ``differences`` describes the format of ``differences``."""

    what: What
    kind: str
    id: int | str
    name: str
    operations: tuple[Operation, ...] = ()
    differences: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """Return a readable name of the changed record."""
        own = "" if self.name == self.id else f" ({self.name})"
        return f"{self.kind.replace('_', ' ')} {self.id}{own}"

    @property
    def needs_unused(self) -> bool:
        """Return whether the change is possible only if the entry is not in use: a removal, or a change of a member in
        ``_STAYS``.
        """
        return self.kind in KINDS and (self.what == "remove" or _STAYS.get(self.kind) in self.differences)

    @property
    def goes_before(self) -> bool:
        """Return whether the change may be written before the last transaction. This applies only to new entries,
        because nothing refers to them yet.
        """
        return self.kind in KINDS and self.what == "add"


@dataclass(frozen=True, slots=True)
class LoadPlan:
    """The planned changes of one programme manager.

    Attributes:
        found: the stored configuration.
        secrets: the secrets of new credentials, by name.
        events_secret: the new key that signs events, if this is the first Events URL.
    """

    found: SetUp
    catalogue: Catalogue
    changes: Sequence[PlannedChange]
    secrets: Mapping[str, CredentialSecret] = field(repr=False)
    events_secret: str | None = field(default=None, repr=False)

    @property
    def refused_changes(self) -> list[PlannedChange]:
        """Return the changes that are not allowed because their entries are in use."""
        return [each for each in self.changes if each.needs_unused and (each.kind, each.id) in self.found.used]

    def operations(self, *, before: bool) -> list[tuple[Operation, PlannedChange]]:
        """Return the early writes if ``before`` is true, otherwise the remaining writes."""
        wanted = [each for each in self.changes if each.goes_before == before]
        return [(operation, each) for each in wanted for operation in each.operations]


def make_plans(hub: Hub, wanted: Iterable[WantedManager]) -> list[LoadPlan]:
    """Plan a load. Raises: StoreError."""
    return [_make_plan(hub, each) for each in wanted]


def check_plans(made: Iterable[LoadPlan]) -> None:
    """Check that the plans can be executed. Raises: EntryInUse, LoadTooLarge."""
    for plan in made:
        if plan.refused_changes:
            raise _explain_in_use(plan, plan.refused_changes)
        if len(plan.operations(before=False)) > TOGETHER:
            raise LoadTooLarge(
                f"more than {TOGETHER} records of programme manager {plan.catalogue.manager_id} would be changed or "
                "removed at once: split the change into several loads"
            )


def carry_out(hub: Hub, plan: LoadPlan) -> None:
    """Execute a plan. An empty plan writes no data.

    Raises:
        EntryInUse: an entry was taken into use after planning. No data was changed or removed.
        LoadConflict, StoreError.
    """
    if not plan.changes:
        return
    first, last = plan.operations(before=True), plan.operations(before=False)
    if len(first) + len(last) <= TOGETHER:
        first, last = [], first + last
    revision = plan.found.revision
    for some in pieces(first, TOGETHER):
        _transact(hub, plan, revision, some, {"name": plan.catalogue.name})
        revision += 1
    _transact(hub, plan, revision, last, head_members(plan.catalogue))


def load(hub: Hub, wanted: Iterable[WantedManager]) -> list[LoadPlan]:
    """Load a file and return the plans. Raises: EntryInUse, LoadTooLarge, LoadConflict, StoreError."""
    made = make_plans(hub, wanted)
    check_plans(made)
    for plan in made:
        carry_out(hub, plan)
    return made


# -- the difference


def _make_plan(hub: Hub, wanted: WantedManager) -> LoadPlan:
    found = hub.cards.programmes.set_up(wanted.catalogue.manager_id)
    held, now = hub.cards.credentials.read(found.credentials), hub.clock.time()
    secrets = {name: new_secret(with_access_key=True) for name in wanted.rights if name not in held}
    catalogue = keep_timestamps(found.catalogue, wanted.catalogue, now)
    changes = [
        *_changes_of_head(found, catalogue),
        *_changes_of_entries(found.catalogue, catalogue),
        *_changes_of_credentials(found, held, wanted, secrets, now),
    ]
    if catalogue.events_url is None or hub.cards.call(has_events_secret, catalogue.manager_id):
        return LoadPlan(found, catalogue, changes, secrets)
    events_secret, put = hub.cards.call(create_events_secret, catalogue.manager_id)
    changes.append(PlannedChange("add", EVENTS_SECRET, catalogue.manager_id, catalogue.name, (put,)))
    return LoadPlan(found, catalogue, changes, secrets, events_secret)


def _changes_of_head(found: SetUp, wanted: Catalogue) -> Iterator[PlannedChange]:
    before, after = readable_head(found.catalogue), readable_head(wanted)
    if not found.revision:
        yield PlannedChange("add", MANAGER, wanted.manager_id, wanted.name)
    elif different := compare_heads(before, after):
        yield PlannedChange("change", MANAGER, wanted.manager_id, wanted.name, (), different)


def _changes_of_entries(found: Catalogue, wanted: Catalogue) -> Iterator[PlannedChange]:
    here = {(kind, entry.id): entry for kind, entry in found.entries()}
    there = {(kind, entry.id): entry for kind, entry in wanted.entries()}
    for (kind, number), entry in there.items():
        table, key = entry_key(wanted.manager_id, kind, number)
        before = here.get((kind, number))
        if before is None:
            put = Put(table, {**key, **members(entry)}, absent("owner"))
            yield PlannedChange("add", kind, number, entry.name, (put,))
        elif different := compare_entries(before, entry):
            changed = _update_entry(table, key, before, entry, _UNUSED if _STAYS.get(kind) in different else _THERE)
            yield PlannedChange("change", kind, number, entry.name, (changed,), different)
    for (kind, number), entry in here.items():
        if (kind, number) not in there:
            deleted = Delete(*entry_key(found.manager_id, kind, number), _UNUSED)
            yield PlannedChange("remove", kind, number, entry.name, (deleted,))


def _update_entry(table: str, key: Item, before: Entry, entry: Entry, condition: Condition) -> Update:
    """Return the update of an entry, which preserves its in-use mark."""
    different = compare_members(members(before), members(entry))
    new = {name: after for name, (_, after) in different.items() if after is not None}
    return Update(table, key, new, [name for name in different if name not in new], condition=condition)


def _changes_of_credentials(
    found: SetUp,
    held: Mapping[str, Credential],
    wanted: WantedManager,
    secrets: Mapping[str, CredentialSecret],
    now: int,
) -> Iterator[PlannedChange]:
    manager_id = wanted.catalogue.manager_id
    for name, rights in wanted.rights.items():
        if name in secrets:
            made = credentials.put_credential(manager_id, name, rights, secrets[name], now)
            yield PlannedChange("add", CREDENTIAL, name, name, tuple(made))
        elif different := compare_members(readable_rights(held[name]), readable_rights(rights)):
            changed = credentials.update_credential(found.credentials[name], rights)
            yield PlannedChange("change", CREDENTIAL, name, name, (changed,), different)
    for name, digest in sorted(found.credentials.items()):
        if name not in wanted.rights:
            ended = credentials.delete_credential(manager_id, name, digest)
            yield PlannedChange("remove", CREDENTIAL, name, name, tuple(ended))


def readable_head(catalogue: Catalogue) -> dict[str, Any]:
    """Return a programme manager's own members for display, with the fingerprint of its key."""
    return head_members(catalogue) | {
        "events_encryption_key": _short_name(catalogue.events_encryption_key),
        "delivers_validation_values": catalogue.delivers_validation_values,
    }


def readable_rights(rights: Rights) -> dict[str, Any]:
    """Return a credential's rights for display, with the fingerprint of its key."""
    return {
        "access_level": rights.access_level,
        "actions": "all" if rights.actions is None else sorted(rights.actions),
        **dict(rights.modes),
        "encryption_key": _short_name(rights.encryption_key),
        "calls_per_minute": rights.calls_per_minute,
    }


def _short_name(pem: str | None) -> str | None:
    return pem and signatures.key_id(signatures.load_public_key(pem))


# -- the writing


def _transact(
    hub: Hub, plan: LoadPlan, revision: int, writes: Sequence[tuple[Operation, PlannedChange]], head: Mapping[str, Any]
) -> None:
    """Write in one transaction and increment the head's ``revision``. Raises: EntryInUse, LoadConflict, StoreError."""
    table, key = head_key(plan.catalogue.manager_id)
    as_found = Attr("revision").eq(revision) if revision else absent("owner")
    gone = [name for name, value in head.items() if value is None]
    raised = Update(table, key, {**without_none(head), "revision": revision + 1}, gone, condition=as_found)
    try:
        hub.store.transact([raised, *(operation for operation, _ in writes)])
    except ConditionFailed as failure:
        used = [writes[position - 1][1] for position in failure.failed if position]
        if 0 in failure.failed or not all(change.needs_unused for change in used):
            raise LoadConflict("this programme manager was loaded concurrently: load again") from None
        raise _explain_in_use(plan, used) from None


def _explain_in_use(plan: LoadPlan, changes: Iterable[PlannedChange]) -> EntryInUse:
    named = ", ".join(change.title for change in changes)
    return EntryInUse(
        f"programme manager {plan.catalogue.manager_id} was not changed, because these entries are in use: {named}"
    )
