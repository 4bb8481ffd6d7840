"""Commands for the service's own keys: signing keys, data keys and card data keys."""

from __future__ import annotations

from typing import Annotated, Any

from chalicelib.bootstrap import Hub
from chalicelib.foundation.clock import timestamp
from chalicelib.foundation.crypto import signatures
from infra.admin import connection, output
from infra.admin.output import Report, command, command_group, format_members, overlap_option

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

    If a key is compromised, use --overlap 0, which withdraws it immediately. Banks refuse the service's signatures
    until they have fetched the new key, and some processes may sign with the old key for up to a minute.

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

    \b
    Example:
      .venv/bin/python -m infra.admin keys rotate-data
    """
    number = connection.connect().keyring.rotate_data_key()
    return Report({"data_key": number}, f"New records are encrypted with data key {number}.")


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


def _public_keys(hub: Hub) -> dict[str, Any]:
    """``{"keys": [{"key_id", "signs", "pem"}]}``; ``signs`` is true for the key in use."""
    current = signatures.key_id(hub.keyring.signing_key().public_key())
    keys = {signatures.key_id(key): signatures.public_pem(key) for key in hub.keyring.public_keys()}
    return {"keys": [{"key_id": key_id, "signs": key_id == current, "pem": pem} for key_id, pem in keys.items()]}
