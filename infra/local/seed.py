"""Seeds a new stack: the service's keys, a user, a client, and the demonstration banks and programmes."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from infra.local import first_data

if TYPE_CHECKING:
    from chalicelib.bootstrap import Hub

EMAIL = "tpp@example.com"
TITLE = "Example TPP"
BANK_MEMBERS = ("bic", "name", "api_version", "domain", "authorization_url")
REUSED = ("user", "client", "programme", "other_programme", "first_data")
"""The members of the stack's file that cannot be restored from the stored data: members with secrets, and the state of
the initial data.
"""


def seed_stack(hub: Hub, previous: Mapping[str, Any] | None) -> dict[str, Any]:
    """Create missing data. Returns the members of the stack's file that describe this data, from ``user`` on.

    Args:
        hub: the wired service.
        previous: the ``REUSED`` members of an earlier stack on the same data. Its user, client and credentials
            are reused if they still exist. ``None`` means a new stack, which gets initial data.
    """
    from chalicelib.demo_bank.profiles import PROFILES
    from chalicelib.demo_bank.setup import install
    from chalicelib.website.accounts.account_flow import link_manager

    before = previous or {}
    hub.keyring.initialise()
    hub.cards.keys.initialise()
    user = seed_user(hub, before.get("user") or {})
    client = _seed_client(hub, user["email"], before.get("client") or {})
    banks = {
        bank.bic: {name: getattr(bank, name) for name in BANK_MEMBERS} for bank in install(hub, hub.openbanking.banks)
    }
    fault_bics = {profile.bic for profile in PROFILES if profile.plays_faults}
    programme, other = seed_programmes(hub, [before.get(name) or {} for name in ("programme", "other_programme")])
    hub.website.call(link_manager, user["email"], programme["manager_id"])
    return {
        "user": user,
        "client": client,
        "banks": [bank for bic, bank in banks.items() if bic not in fault_bics],
        "fault_banks": [bank for bic, bank in banks.items() if bic in fault_bics],
        "programme": programme,
        "other_programme": other,
        "first_data": first_data.begin(hub, previous),
    }


def seed_user(hub: Hub, before: Mapping[str, Any]) -> dict[str, str]:
    """Return the previous user, or create a user with a known password and an unused email address."""
    from chalicelib.website.records.users import UserExists

    if before and hub.website.users.find(before["email"]):
        hub.website.users.mark_identified(before["email"])  # earlier versions registered the user instead
        return {"email": before["email"], "password": before["password"]}
    password = secrets.token_urlsafe(12)
    name, _, domain = EMAIL.partition("@")
    for email in (EMAIL, f"{name}+{secrets.token_hex(4)}@{domain}"):
        try:
            hub.website.users.add(email, password, terms_accepted=True)
        except UserExists:
            continue
        return {"email": email, "password": password}
    raise UserExists(EMAIL)


def _seed_client(hub: Hub, owner: str, before: Mapping[str, Any]) -> dict[str, Any]:
    """Return the previous client if its Callback URL still belongs to this service. Otherwise, create a client."""
    from chalicelib.openbanking.records.clients import UnknownClient

    if before:
        try:
            found = hub.openbanking.clients.get(before["client_id"])
        except UnknownClient:
            found = None
        if found and found.active and found.callback_url == hub.openbanking.clients.default_callback:
            return dict(before)
    made = hub.openbanking.clients.create(owner=owner, title=TITLE)
    return {
        "client_id": made.client.client_id,
        "client_secret": made.secret,
        "title": made.client.title,
        "callback_url": made.client.callback_url,
    }


def seed_programmes(hub: Hub, before: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Create the two programme managers of the demonstration file, with known credentials.

    Credentials with unknown secrets are replaced.
    """
    from chalicelib.cards.programs import credentials
    from infra.programme import file, loading

    wanted = file.read_programmes(file.DEMO.read_text(encoding="utf-8"), hub.settings.stage)
    known = [_keep_known_credentials(hub, previous.get("credentials") or {}) for previous in before]
    for each, held in zip(wanted, known, strict=True):
        manager_id = each.catalogue.manager_id
        for name, found in hub.cards.programmes.set_up(manager_id).credentials.items():
            if name not in held:
                hub.store.transact(credentials.delete_credential(manager_id, name, found))
    plans = loading.load(hub, wanted)
    return [
        {
            "manager_id": plan.catalogue.manager_id,
            "name": plan.catalogue.name,
            "credentials": held | {name: asdict(secret) for name, secret in plan.secrets.items()},
        }
        for plan, held in zip(plans, known, strict=True)
    ]


def _keep_known_credentials(hub: Hub, before: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: dict(parts)
        for name, parts in before.items()
        if hub.cards.credentials.check(*(parts[part] for part in ("access_key", "access_api_id", "access_api_key")))
    }
