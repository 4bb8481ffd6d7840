"""Scenes of open banking, each prepared in a world of its own."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from tests.interleavings.scenes import Requests, Scenes
from tests.interleavings.scheduler import Request
from tests.openbanking.circuits import Reader
from tests.openbanking.payer import Payer
from tests.openbanking.unattended import Reader as UnattendedReader
from tests.openbanking.unattended import limit_reads
from tests.world import World, always

BANK = 1
scene = Scenes()


@scene("redeem, redeem", "redeem, revoke by bank")
def code(world: World) -> Requests:
    consented = world.approve(BANK)
    return Requests(
        {
            "redeem": _redemption(world, consented.query["code"]),
            "revoke by bank": _revocation_by_bank(world, consented.bank_token),
            "deactivate client": _deactivation(world),
        }
    )


@scene(
    "refresh, refresh",
    "refresh, revoke by bank",
    "refresh, revoke",
    "read, revoke by bank",
    "read, revoke",
    "read, deactivate client",
    "archive client, refresh",
    "rotate secret, refresh",
)
def tokens(world: World) -> Requests:
    consented, reader = world.approve(BANK), Reader(world, BANK)
    tokens = _redemption(world, consented.query["code"])().body
    reader.bearer = tokens["access_token"]
    return Requests(
        {
            "refresh": _refresh(world, tokens),
            "read": reader.ask,
            "revoke": _revocation(world, tokens["access_token"]),
            "revoke by bank": _revocation_by_bank(world, consented.bank_token),
            "deactivate client": _deactivation(world),
            "archive client": lambda: world.hub.openbanking.clients.archive(world.client.client_id).is_archived,
            "rotate secret": _rotation(world),
        }
    )


@scene("consent, consent", "consent, cancel", "consent, drop callback")
def authorization(world: World) -> Requests:
    url = world.authorize(BANK)["redirect_url"]
    back = urlsplit(world.bank(BANK, "/init_authorization", {"request_url": url}).body["cancel_url"]).path
    body = world.consent_body(BANK, url)
    return Requests(
        {
            "consent": lambda: world.bank(BANK, "/consent", body),
            "cancel": lambda: world.call("GET", back).headers["location"],
            "drop callback": _change(world, callback_urls=["https://tpp.example/other"]),
        }
    )


@scene("pay with a key, pay with a key", "pay, report", "pay, revoke", "pay, deactivate client")
def order(world: World) -> Requests:
    payer = Payer(world, 2)
    return Requests(
        {
            "pay": payer.pay,
            "pay with a key": lambda: payer.pay("a-key"),
            "report": lambda: payer.report("ACSC"),
            "revoke": _revocation(world, str(payer.bearer)),
            "deactivate client": _deactivation(world),
        }
    )


@scene("pay, pay")
def order_with_a_request_id(world: World) -> Requests:
    payer = Payer(world, 2)
    payer.request_id = str(uuid.uuid4())
    return Requests({"pay": payer.pay, "report": lambda: payer.report("ACSC")})


@scene("pay, pay")
def one_time_consent(world: World) -> Requests:
    payer = Payer(world, 2, consent_type="one_time")
    return Requests({"pay": payer.pay, "revoke": _revocation(world, str(payer.bearer))})


@scene("report a step, report the end", "report the end, stop events", "query, report the end")
def payment(world: World) -> Requests:
    payer = Payer(world, 2)
    payer.pay()
    payer.side.answers["/v2_payment_single_status"] = always({"transaction_status": "ACSP"})
    return Requests(
        {
            "report a step": lambda: payer.report("ACSP"),
            "report the end": lambda: payer.report("ACSC"),
            "query": payer.status,
            "stop events": _change(world, events_url=None),
        }
    )


@scene("read, read")
def last_unattended_read(world: World) -> Requests:
    limit_reads(world, limit=1)
    reader = UnattendedReader(world)
    return Requests({"read": reader.read})


@scene("rotate secret, rotate secret", "change title, change it otherwise")
def client(world: World) -> Requests:
    """The changes name the revision that they have read."""
    revision = world.hub.openbanking.clients.get(world.client.client_id).revision
    return Requests(
        {
            "rotate secret": _rotation(world),
            "change title": _change(world, revision=revision, title="Budget Friend"),
            "change it otherwise": _change(world, revision=revision, title="Budget Foe"),
        }
    )


def _rotation(world: World) -> Request:
    """A new secret for a client that has none; the number of its secrets afterwards."""
    return lambda: len(world.hub.openbanking.clients.rotate_secret(world.client.client_id, 60).client.secrets)


def _change(world: World, **details: Any) -> Request:
    """An operator's change of the client; its revision afterwards."""
    return lambda: world.hub.openbanking.clients.update(world.client.client_id, **details).client.revision


def _deactivation(world: World) -> Request:
    return lambda: world.hub.openbanking.clients.deactivate(world.client.client_id).active


def _redemption(world: World, code: str) -> Request:
    return lambda: world.tpp("POST", "/tpp/token", {"code": code})


def _refresh(world: World, tokens: Mapping[str, Any]) -> Request:
    body = {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]}
    return lambda: world.tpp("POST", "/tpp/token", body)


def _revocation(world: World, access_token: str) -> Request:
    return lambda: world.tpp("POST", "/tpp/token/revoke", {"token": access_token})


def _revocation_by_bank(world: World, bank_token: str) -> Request:
    return lambda: world.bank(BANK, "/token/revoke", {"access_token": bank_token})
