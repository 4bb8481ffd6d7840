"""Commands for consents: show and revoke."""

from __future__ import annotations

from typing import Annotated

import typer

from chalicelib.openbanking.flows.consent.tokens import describe_consent, end_consent
from chalicelib.openbanking.records.consents import Consent, consent_key
from infra.admin import connection
from infra.admin.output import CommandRefused, Report, command, command_group, format_members

group = command_group("Show and revoke consents of PSUs.")

ConsentId = Annotated[str, typer.Argument(metavar="CONSENT_ID", help="The consent's id, from GET /tpp/consent.")]


@command(group, "show")
def show(consent_id: ConsentId) -> Report:
    """Show a consent with its client, scopes, accounts and state, and the day on which the TPP last got a token for it.

    \b
    Example:
      .venv/bin/python -m infra.admin consents show 0f8c27b3a1d94e6f5a7b0c
    """
    consent = _find_consent(consent_id)
    described = {**describe_consent(consent), "status": _state(consent)}
    data = {"client_id": consent.client_id, **described, "last_used_on": consent.last_used_on}
    return Report({"consent": data}, format_members(data))


@command(group, "revoke")
def revoke(consent_id: ConsentId) -> Report:
    """Revoke a consent: its tokens are refused immediately, and the bank is notified.

    A consent that is already revoked or expired does not change, and no notice is sent.

    \b
    Example:
      .venv/bin/python -m infra.admin consents revoke 0f8c27b3a1d94e6f5a7b0c
    """
    connection.connect().openbanking.call(end_consent, _find_consent(consent_id), by="operator")
    state = _state(_find_consent(consent_id))
    return Report({"consent": {"consent_id": consent_id, "status": state}}, f"{consent_id} is {state}.")


def _state(consent: Consent) -> str:
    return consent.state(connection.connect().clock.time())


def _find_consent(consent_id: str) -> Consent:
    item = connection.connect().store.get(*consent_key(consent_id))
    if item is None:
        raise CommandRefused(f"there is no consent {consent_id}")
    return Consent.from_item(item)
