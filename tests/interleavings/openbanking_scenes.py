"""Scenes of open banking, each prepared in a service of its own."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from tests.causeway import Causeway
from tests.interleavings.scenes import Requests, Scenes
from tests.interleavings.scheduler import Request
from tests.openbanking.circuits import Reader
from tests.openbanking.kit import always
from tests.openbanking.payer import Payer
from tests.openbanking.unattended import Reader as UnattendedReader
from tests.openbanking.unattended import limit_reads

BANK = 1
scene = Scenes()


@scene("redeem, redeem", "redeem, revoke by bank")
def code(causeway: Causeway) -> Requests:
    consented = causeway.psu.approve(BANK)
    return Requests(
        {
            "redeem": _redemption(causeway, consented.query["code"]),
            "revoke by bank": _revocation_by_bank(causeway, consented.bank_token),
            "deactivate client": _deactivation(causeway),
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
def tokens(causeway: Causeway) -> Requests:
    consented, reader = causeway.psu.approve(BANK), Reader(causeway, BANK)
    tokens = _redemption(causeway, consented.query["code"])().body
    reader.bearer = tokens["access_token"]
    return Requests(
        {
            "refresh": _refresh(causeway, tokens),
            "read": reader.ask,
            "revoke": _revocation(causeway, tokens["access_token"]),
            "revoke by bank": _revocation_by_bank(causeway, consented.bank_token),
            "deactivate client": _deactivation(causeway),
            "archive client": lambda: causeway.hub.openbanking.clients.archive(causeway.tpp.client_id).is_archived,
            "rotate secret": _rotation(causeway),
        }
    )


@scene("consent, consent", "consent, cancel", "consent, drop callback")
def authorization(causeway: Causeway) -> Requests:
    url = causeway.tpp.authorize(BANK)["redirect_url"]
    back = urlsplit(causeway.banks[BANK].call("/init_authorization", {"request_url": url}).body["cancel_url"]).path
    body = causeway.banks[BANK].consent_body(url)
    return Requests(
        {
            "consent": lambda: causeway.banks[BANK].call("/consent", body),
            "cancel": lambda: causeway.call("GET", back).headers["location"],
            "drop callback": _change(causeway, callback_urls=["https://tpp.example/other"]),
        }
    )


@scene("pay with a key, pay with a key", "pay, report", "pay, revoke", "pay, deactivate client")
def order(causeway: Causeway) -> Requests:
    payer = Payer(causeway, 2)
    return Requests(
        {
            "pay": payer.pay,
            "pay with a key": lambda: payer.pay("a-key"),
            "report": lambda: payer.report("ACSC"),
            "revoke": _revocation(causeway, str(payer.bearer)),
            "deactivate client": _deactivation(causeway),
        }
    )


@scene("pay, pay")
def order_with_a_request_id(causeway: Causeway) -> Requests:
    payer = Payer(causeway, 2)
    payer.request_id = str(uuid.uuid4())
    return Requests({"pay": payer.pay, "report": lambda: payer.report("ACSC")})


@scene("pay, pay")
def one_time_consent(causeway: Causeway) -> Requests:
    payer = Payer(causeway, 2, consent_type="one_time")
    return Requests({"pay": payer.pay, "revoke": _revocation(causeway, str(payer.bearer))})


@scene("report a step, report the end", "report the end, stop events", "query, report the end")
def payment(causeway: Causeway) -> Requests:
    payer = Payer(causeway, 2)
    payer.pay()
    payer.side.answers["/v2_payment_single_status"] = always({"transaction_status": "ACSP"})
    return Requests(
        {
            "report a step": lambda: payer.report("ACSP"),
            "report the end": lambda: payer.report("ACSC"),
            "query": payer.status,
            "stop events": _change(causeway, events_url=None),
        }
    )


@scene("read, read")
def last_unattended_read(causeway: Causeway) -> Requests:
    limit_reads(causeway, limit=1)
    reader = UnattendedReader(causeway)
    return Requests({"read": reader.read})


@scene("rotate secret, rotate secret", "change title, change it otherwise")
def client(causeway: Causeway) -> Requests:
    """The changes name the revision that they have read."""
    revision = causeway.hub.openbanking.clients.get(causeway.tpp.client_id).revision
    return Requests(
        {
            "rotate secret": _rotation(causeway),
            "change title": _change(causeway, revision=revision, title="Budget Friend"),
            "change it otherwise": _change(causeway, revision=revision, title="Budget Foe"),
        }
    )


def _rotation(causeway: Causeway) -> Request:
    """A new secret for a client that has none; the number of its secrets afterwards."""
    return lambda: len(causeway.hub.openbanking.clients.rotate_secret(causeway.tpp.client_id, 60).client.secrets)


def _change(causeway: Causeway, **details: Any) -> Request:
    """An operator's change of the client; its revision afterwards."""
    return lambda: causeway.hub.openbanking.clients.update(causeway.tpp.client_id, **details).client.revision


def _deactivation(causeway: Causeway) -> Request:
    return lambda: causeway.hub.openbanking.clients.deactivate(causeway.tpp.client_id).active


def _redemption(causeway: Causeway, code: str) -> Request:
    return lambda: causeway.tpp.call("POST", "/tpp/token", {"code": code})


def _refresh(causeway: Causeway, tokens: Mapping[str, Any]) -> Request:
    body = {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]}
    return lambda: causeway.tpp.call("POST", "/tpp/token", body)


def _revocation(causeway: Causeway, access_token: str) -> Request:
    return lambda: causeway.tpp.call("POST", "/tpp/token/revoke", {"token": access_token})


def _revocation_by_bank(causeway: Causeway, bank_token: str) -> Request:
    return lambda: causeway.banks[BANK].call("/token/revoke", {"access_token": bank_token})
