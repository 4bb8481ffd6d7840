"""Commands for the service's own keys: signing keys, data keys and card data keys."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from chalicelib.bootstrap import Hub
from chalicelib.foundation.clock import timestamp
from chalicelib.foundation.crypto import signatures
from chalicelib.foundation.crypto.resealing import KeyStatus, ResealingProgress
from infra.admin import connection, output
from infra.admin.output import Report, command, command_group, format_members, format_table, overlap_option

group = command_group("Create, rotate and show the service's own keys.")


@command(group, "init")
def init() -> Report:
    """Create a stage's first signing key, data key and card data keys; existing keys are kept.

    \b
    Example:
      STAGE=dev PUBLIC_URL=https://dev.example.com .venv/bin/python -m infra.admin keys init
    """
    hub = connection.connect()
    made = [hub.keyring.initialise(), hub.cards.keys.initialise()]
    text = "The first keys have been created." if any(made) else "The keys already exist: nothing was changed."
    return Report({"made": any(made), **_public_keys(hub)}, text)


@command(group, "rotate-signing")
def rotate_signing(
    overlap: Annotated[
        int,
        overlap_option(
            "How long banks have to fetch the new key before it is used; 0 withdraws the old key immediately."
        ),
    ] = output.OVERLAP,
) -> Report:
    """Publish a new signing key now, and sign with it when the overlap ends.

    The old key stays published and signs until then. A new key that is not in use yet is replaced.

    If a key is compromised, use --overlap 0, which withdraws the old key immediately. Banks refuse the service's
    signatures until they have fetched the new key, and some processes may sign with the old key for up to a minute.

    \b
    Examples:
      .venv/bin/python -m infra.admin keys rotate-signing --overlap 86400
      .venv/bin/python -m infra.admin keys rotate-signing --overlap 0
    """
    hub = connection.connect()
    key_id = hub.keyring.rotate_signing_key(overlap)
    signs_from = timestamp(hub.clock.real.time() + overlap)
    text = f"The key {key_id} is published and signs from {signs_from}."
    if not overlap:
        text = f"The key {key_id} is published and signs from now on; the old key has been withdrawn."
    return Report({"key_id": key_id, "signs_from": signs_from, **_public_keys(hub)}, text)


@command(group, "rotate-data")
def rotate_data() -> Report:
    """Encrypt new records with a new data key; existing records stay readable.

    To retire the older keys, continue with `keys reseal`.

    \b
    Example:
      .venv/bin/python -m infra.admin keys rotate-data
    """
    number = connection.connect().keyring.rotate_data_key()
    return Report({"data_key": number}, f"New records are encrypted with data key {number}.")


@command(group, "reseal")
def reseal() -> Report:
    """Encrypt all existing records with the newest data key, in the background.

    The Lambda function `reseal` runs every five minutes while the service is in use, and reads all tables with
    encrypted values, page by page. It begins 16 minutes after the last rotation, and stops when a complete pass finds
    no value that is encrypted with an older key. `keys data` shows the progress. Running this command again during the
    work has no effect.

    \b
    Example:
      .venv/bin/python -m infra.admin keys reseal
    """
    hub = connection.connect()
    progress = _progress_members(hub.resealing.request())
    return Report(progress, format_members(progress))


@command(group, "data")
def data() -> Report:
    """Show the data keys, the number of values still encrypted with older keys, and the progress of `keys reseal`.

    A key can be removed 35 days after the last value encrypted with it is gone (removable_at). values_left is the
    number of values that the last complete pass found encrypted with the key. It is null if no pass has counted such
    values.

    \b
    Example:
      .venv/bin/python -m infra.admin keys data
    """
    work = connection.connect().resealing
    keys, progress = [_status_members(each) for each in work.key_statuses()], work.progress()
    members = _progress_members(progress) if progress else None
    parts = [format_table(keys, tuple(keys[0]))]
    parts.append(format_members(members) if members else "keys reseal was never requested.")
    return Report({"data_keys": keys, "reseal": members}, "\n\n".join(parts))


@command(group, "remove-data")
def remove_data(
    number: Annotated[int, typer.Argument(metavar="DATA_KEY", help="The number of the key; see keys data.")],
) -> Report:
    """Remove a data key that is no longer needed to decrypt any record.

    The command refuses to remove the newest key and any key that may still be needed to decrypt a record. It also
    refuses a key for 35 days after the last such record, because backups of the tables, messages in the queues and
    cursors may need the key until then. After the removal, values that were encrypted with the key, for example in
    older copies of the tables, can never be read again.

    \b
    Example:
      .venv/bin/python -m infra.admin keys remove-data 1
    """
    connection.connect().resealing.remove_key(number)
    return Report({"removed": number}, f"Data key {number} has been removed.")


@command(group, "rotate-card")
def rotate_card() -> Report:
    """Create new CVC2 and PIN verification keys for new cards; existing cards keep theirs.

    \b
    Example:
      .venv/bin/python -m infra.admin keys rotate-card
    """
    version = connection.connect().cards.keys.rotate()
    return Report({"card_keys": version}, f"New cards use version {version} of the card keys.")


@command(group, "show")
def show() -> Report:
    """Show the service's public signing keys, newest first.

    \b
    Example:
      .venv/bin/python -m infra.admin keys show
    """
    hub = connection.connect()
    shown = _public_keys(hub)
    parts = [
        format_members({"key_id": key["key_id"], "signs": key["signs"]}) + f"\n{key['pem']}" for key in shown["keys"]
    ]
    return Report(shown, "\n".join(parts).rstrip())


def _status_members(status: KeyStatus) -> dict[str, Any]:
    return {
        "data_key": status.number,
        "created_at": timestamp(status.created_at) if status.created_at else None,
        "encrypts_new_records": status.is_newest,
        "values_left": status.values_left,
        "unused_since": _timestamp(status.unused_since),
        "removable_at": _timestamp(status.removable_at),
    }


def _progress_members(progress: ResealingProgress) -> dict[str, Any]:
    state = "running" if progress.table else "waiting" if progress.finished_at is None else "finished"
    return {
        "data_key": progress.data_key,
        "state": state,
        "requested_at": timestamp(progress.requested_at),
        "pass_begins_at": timestamp(progress.pass_at),
        "table": progress.table,
        "items_read": progress.read,
        "values_resealed": progress.resealed,
        "values_found": dict(progress.found or {}) or None,
        "finished_at": _timestamp(progress.finished_at),
    }


def _timestamp(seconds: int | None) -> str | None:
    return None if seconds is None else timestamp(seconds)


def _public_keys(hub: Hub) -> dict[str, Any]:
    current = signatures.key_id(hub.keyring.signing_key().public_key())
    keys = {signatures.key_id(key): signatures.public_pem(key) for key in hub.keyring.public_keys()}
    return {"keys": [{"key_id": key_id, "signs": key_id == current, "pem": pem} for key_id, pem in keys.items()]}
