"""Commands for programme managers: configuration and credentials."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from chalicelib.bootstrap import Hub
from chalicelib.cards.events import event_secrets
from chalicelib.cards.programs.catalogue import ENTRIES_OF, KINDS, members
from chalicelib.cards.programs.credentials import CredentialSecret
from chalicelib.cards.programs.programmes import HEAD, TABLE, SetUp
from chalicelib.foundation.clock import timestamp
from infra.admin import connection, output
from infra.admin.output import ONCE, CommandRefused, Report, command, command_group, format_members, format_table
from infra.programme import file, loading
from infra.programme.loading import LoadPlan, PlannedChange

group = command_group(
    "Manage programme managers of the card API: load their configuration from a file, show it, rotate keys and secrets."
)

ManagerArgument = Annotated[int, typer.Argument(metavar="MANAGER-ID", help="The programme manager's id.")]
NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="The credential's name.")]
_SIGNS = {"add": "+", "change": "~", "remove": "-"}
_ONCE = "These parts are shown only once and cannot be retrieved later."


@command(group, "load")
def load(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="The programme file, in YAML.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the changes without making them.")] = False,
) -> Report:
    """Load a programme file and print the entries added, changed and removed.

    Loading the same file twice changes nothing. Entries in use cannot be removed: if the file omits such an entry,
    nothing is changed for that programme manager. Credentials that the file omits are revoked. The parts of new
    credentials are printed once. When an Events URL is first set, the events secret is also printed once. Programme
    managers that are not in the file are left unchanged.

    \b
    Examples:
      .venv/bin/python -m infra.admin programme load infra/programme/demo.yaml --dry-run
      .venv/bin/python -m infra.admin programme load infra/programme/demo.yaml
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not a text file"
        raise CommandRefused(f"{path} cannot be read: {reason}") from None
    hub = connection.connect()
    plans = loading.make_plans(hub, file.read_programmes(text, hub.settings.stage))
    if dry_run:
        return _report_dry_run(plans)
    loading.check_plans(plans)
    done: list[LoadPlan] = []
    try:
        for plan in plans:
            loading.carry_out(hub, plan)
            done.append(plan)
    except Exception as error:
        if not any(plan.secrets or plan.events_secret for plan in done):
            raise
        return _report_load(done, f"the rest of the file was not loaded: {error}")  # new secrets are printed only now
    return _report_load(done)


@command(group, "show")
def show(
    manager_id: Annotated[
        int | None, typer.Argument(metavar="MANAGER-ID", help="The programme manager to show. Default: list all.")
    ] = None,
) -> Report:
    """List all programme managers, or show one programme manager with its configuration, entries in use, and
    credentials.

    --json includes every member, such as the entries of fee, limit and risk groups.

    \b
    Examples:
      .venv/bin/python -m infra.admin programme show
      .venv/bin/python -m infra.admin programme show 1 --json
    """
    hub = connection.connect()
    if manager_id is None:
        return _report_managers(hub)
    found = hub.cards.programmes.set_up(manager_id)
    if not found.revision:
        raise CommandRefused(f"there is no programme manager {manager_id}: load one with `programme load`")
    data = {"manager": _manager_members(found), "credentials": _credential_members(hub, found)}
    return Report(data, _format_manager(data))


@command(group, "rotate-key")
def rotate_key(manager_id: ManagerArgument, name: NameArgument) -> Report:
    """Create a new key for a credential and print it, once. The old key works until `programme drop-key`.

    The access key does not change. At most two keys are valid: another rotation invalidates the oldest.

    \b
    Example:
      .venv/bin/python -m infra.admin programme rotate-key 1 full
    """
    secret = connection.connect().cards.credentials.rotate(manager_id, name)
    parts = _secret_parts(secret)
    text = f"A new key of {name} is valid, and so is the previous one:\n\n{_format_credential(parts)}\n\n{_ONCE}"
    return Report({"credential": name, **parts}, text)


@command(group, "rotate-events-secret")
def rotate_events_secret(manager_id: ManagerArgument, overlap: output.EventsOverlap = output.OVERLAP) -> Report:
    """Create a new secret for a programme manager's events and print it, once.

    During the overlap every event carries two signatures, so receivers can verify it with either secret. At most two
    are in use: another rotation within the overlap invalidates the oldest. If a secret is compromised, use --overlap 0;
    receivers then cannot verify events until they have the new secret.

    \b
    Examples:
      .venv/bin/python -m infra.admin programme rotate-events-secret 1
      .venv/bin/python -m infra.admin programme rotate-events-secret 1 --overlap 0
    """
    made = connection.connect().cards.call(event_secrets.rotate_events_secret, manager_id, overlap)
    ends = None if made.old_until is None else timestamp(made.old_until)
    text = output.format_new_secret(f"the events of programme manager {manager_id}", made.secret, "signs", ends)
    return Report({"id": manager_id, "events_secret": made.secret, "old_until": ends}, text)


@command(group, "drop-key")
def drop_key(manager_id: ManagerArgument, name: NameArgument) -> Report:
    """Invalidate the older of a credential's two keys. All processes refuse the key within a minute.

    \b
    Example:
      .venv/bin/python -m infra.admin programme drop-key 1 full
    """
    connection.connect().cards.credentials.drop_old(manager_id, name)
    return Report({"credential": name, "keys": 1}, f"The older key of {name} is no longer valid; the newer one is.")


def _report_dry_run(plans: list[LoadPlan]) -> Report:
    refused = [change.title for plan in plans for change in plan.refused_changes]
    text = "\n\n".join(map(_format_plan, plans)) + "\n\nNothing was changed: this was a dry run."
    if refused:
        text += f"\nLoading it would be refused, because these entries are in use: {', '.join(refused)}."
    return Report(_plan_members(plans, done=False) | {"in_use": refused}, text, good=not refused)


def _report_load(plans: list[LoadPlan], error: str | None = None) -> Report:
    """Report the changes made and the secrets of new credentials. With ``error``, the file was loaded only in part."""
    data = _plan_members(plans, done=True) | ({"error": error} if error else {})
    texts = [_format_plan(plan) + _format_secrets(plan) for plan in plans] + ([f"Error: {error}"] if error else [])
    return Report(data, "\n\n".join(texts), good=error is None)


def _plan_members(plans: list[LoadPlan], *, done: bool) -> dict[str, Any]:
    managers = [
        {
            "id": plan.catalogue.manager_id,
            "name": plan.catalogue.name,
            "changes": [_change_members(change) for change in plan.changes],
            "credentials": {name: _secret_parts(secret) for name, secret in plan.secrets.items()} if done else {},
            "events_secret": plan.events_secret if done else None,
        }
        for plan in plans
    ]
    return {"managers": managers, "changed": done and any(plan.changes for plan in plans)}


def _change_members(change: PlannedChange) -> dict[str, Any]:
    differences = {name: {"from": before, "to": after} for name, (before, after) in change.differences.items()}
    named = {name: getattr(change, name) for name in ("what", "kind", "id", "name")}
    return {**named, "members": differences}


def _format_plan(plan: LoadPlan) -> str:
    lines = [f"Programme manager {plan.catalogue.manager_id}, {plan.catalogue.name}:"]
    for change in plan.changes:
        lines.append(f"  {_SIGNS[change.what]} {change.title}")
        pairs = change.differences.items()
        lines += [f"      {name}: {_format_value(was)} -> {_format_value(new)}" for name, (was, new) in pairs]
    return "\n".join(lines if plan.changes else [*lines, "  nothing to change"])


def _format_value(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {each}" for name, each in value.items())
    return "nothing" if value is None else str(value)


def _format_secrets(plan: LoadPlan) -> str:
    made = [f"Credential {name}:\n{_format_credential(_secret_parts(secret))}" for name, secret in plan.secrets.items()]
    parts = [*made, _ONCE] if made else []
    parts += [f"The secret of its events: {plan.events_secret}\n{ONCE}"] if plan.events_secret else []
    return "".join(f"\n\n{part}" for part in parts)


def _secret_parts(secret: CredentialSecret) -> dict[str, str]:
    parts = {"access_api_id": secret.access_api_id, "access_api_key": secret.access_api_key}
    return ({"access_key": secret.access_key} if secret.access_key else {}) | parts


def _format_credential(parts: dict[str, str]) -> str:
    return "\n".join(f"  {name:<15} {value}" for name, value in parts.items())


def _report_managers(hub: Hub) -> Report:
    heads = [item for item in hub.store.scan(TABLE) if item["part"] == HEAD]
    rows = [{"id": int(item["owner"].partition("#")[2]), "name": item["name"]} for item in heads]
    rows.sort(key=lambda row: row["id"])
    nobody = "There are no programme managers: load some with `programme load`."
    return Report({"managers": rows}, format_table(rows, ("id", "name")) if rows else nobody)


def _manager_members(found: SetUp) -> dict[str, Any]:
    entries: dict[str, list[dict[str, Any]]] = {}
    for kind, entry in found.catalogue.entries():
        used = (kind, entry.id) in found.used
        entries.setdefault(f"{kind}s", []).append({**members(entry), "in_use": used})
    return {"id": found.catalogue.manager_id, **loading.readable_head(found.catalogue), **entries}


def _credential_members(hub: Hub, found: SetUp) -> list[dict[str, Any]]:
    held = hub.cards.credentials.read(found.credentials)
    return [
        {
            "name": name,
            **loading.readable_rights(credential),
            "keys_made_at": [timestamp(key.created_at) for key in credential.keys],
        }
        for name, credential in sorted(held.items())
    ]


def _format_manager(data: dict[str, Any]) -> str:
    manager = dict(data["manager"])
    entries = {kind: manager.pop(f"{kind}s", []) for kind in KINDS}
    rates = [f"{pair} {_format_value(rate)}" for pair, rate in manager["rates"].items()]
    parts = [format_members(manager | {"rates": rates})]
    for kind, rows in entries.items():
        if rows:
            inner = [ENTRIES_OF[KINDS[kind]]] if KINDS[kind] in ENTRIES_OF else []
            counted = [row | {name: len(row[name]) for name in inner} for row in rows]
            title = f"{kind.replace('_', ' ').capitalize()}s"
            parts.append(f"{title}\n{format_table(counted, ('id', 'name', *inner, 'in_use'))}")
    parts += [f"Credential\n{format_members(each)}" for each in data["credentials"]]
    return "\n\n".join(parts)
