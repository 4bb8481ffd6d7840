"""Pairs of open banking requests, each prepared in a world of its own."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from tests.interleavings.pairs import Pair, Pairs
from tests.interleavings.scheduler import Request
from tests.openbanking.circuits import Reader
from tests.openbanking.payer import Payer
from tests.openbanking.unattended import Reader as UnattendedReader
from tests.openbanking.unattended import limit_reads
from tests.world import World, always

BANK = 1
pair = Pairs()


@pair
def redeem_redeem(world: World) -> Pair:
    code = world.approve(BANK).query["code"]
    return (redeem := _redemption(world, code)), redeem


@pair
def refresh_refresh(world: World) -> Pair:
    return (refresh := _refresh(world, world.tokens(BANK))), refresh


@pair
def redeem_revoke_by_bank(world: World) -> Pair:
    consented = world.approve(BANK)
    return _redemption(world, consented.query["code"]), _revocation_by_bank(world, consented.bank_token)


@pair
def refresh_revoke_by_bank(world: World) -> Pair:
    consented = world.approve(BANK)
    tokens = _redemption(world, consented.query["code"])().body
    return _refresh(world, tokens), _revocation_by_bank(world, consented.bank_token)


@pair
def refresh_revoke(world: World) -> Pair:
    tokens = world.tokens(BANK)
    return _refresh(world, tokens), _revocation(world, tokens["access_token"])


@pair
def read_revoke_by_bank(world: World) -> Pair:
    reader = Reader(world, BANK)
    consented = world.approve(BANK)
    reader.bearer = _redemption(world, consented.query["code"])().body["access_token"]
    return reader.ask, _revocation_by_bank(world, consented.bank_token)


@pair
def read_revoke(world: World) -> Pair:
    reader = Reader(world, BANK)
    return reader.ask, _revocation(world, str(reader.bearer))


@pair
def read_deactivate_client(world: World) -> Pair:
    return Reader(world, BANK).ask, _deactivation(world)


@pair
def consent_consent(world: World) -> Pair:
    body = world.consent_body(BANK, world.authorize(BANK)["redirect_url"])
    return (consent := lambda: world.bank(BANK, "/consent", body)), consent


@pair
def consent_cancel(world: World) -> Pair:
    url = world.authorize(BANK)["redirect_url"]
    back = urlsplit(world.bank(BANK, "/init_authorization", {"request_url": url}).body["cancel_url"]).path
    body = world.consent_body(BANK, url)
    return (lambda: world.bank(BANK, "/consent", body)), lambda: world.call("GET", back).headers["location"]


@pair
def consent_drop_callback(world: World) -> Pair:
    body = world.consent_body(BANK, world.authorize(BANK)["redirect_url"])
    change = _change(world, callback_urls=["https://tpp.example/other"])
    return (lambda: world.bank(BANK, "/consent", body)), change


@pair
def pay_pay_with_one_key(world: World) -> Pair:
    payer = Payer(world, 2)
    return (pay := lambda: payer.pay("a-key")), pay


@pair
def pay_pay_with_one_request_id(world: World) -> Pair:
    payer = Payer(world, 2)
    payer.request_id = str(uuid.uuid4())
    return payer.pay, payer.pay


@pair
def pay_pay_with_a_one_time_consent(world: World) -> Pair:
    payer = Payer(world, 2, consent_type="one_time")
    return payer.pay, payer.pay


@pair
def report_report(world: World) -> Pair:
    payer = Payer(world, 2)
    payer.pay()
    return (lambda: payer.report("ACSP")), (lambda: payer.report("ACSC"))


@pair
def pay_report(world: World) -> Pair:
    payer = Payer(world, 2)
    return payer.pay, lambda: payer.report("ACSC")


@pair
def pay_revoke(world: World) -> Pair:
    payer = Payer(world, 2)
    return payer.pay, _revocation(world, str(payer.bearer))


@pair
def pay_deactivate_client(world: World) -> Pair:
    return Payer(world, 2).pay, _deactivation(world)


@pair
def report_stop_events(world: World) -> Pair:
    payer = Payer(world, 2)
    payer.pay()
    return (lambda: payer.report("ACSC")), _change(world, events_url=None)


@pair
def query_report(world: World) -> Pair:
    payer = Payer(world, 2)
    payer.pay()
    payer.side.answers["/v2_payment_single_status"] = always({"transaction_status": "ACSP"})
    return payer.status, lambda: payer.report("ACSC")


@pair
def read_read_with_one_left(world: World) -> Pair:
    limit_reads(world, limit=1)
    reader = UnattendedReader(world)
    return reader.read, reader.read


@pair
def archive_client_refresh(world: World) -> Pair:
    def archive() -> bool:
        return world.hub.openbanking.clients.archive(world.client.client_id).is_archived

    return archive, _refresh(world, world.tokens(BANK))


@pair
def rotate_secret_refresh(world: World) -> Pair:
    return _rotation(world), _refresh(world, world.tokens(BANK))


@pair
def rotate_secret_rotate_secret(world: World) -> Pair:
    return _rotation(world), _rotation(world)


@pair
def change_client_change_client_at_one_revision(world: World) -> Pair:
    revision = world.hub.openbanking.clients.get(world.client.client_id).revision
    titles = ("Budget Friend", "Budget Foe")
    first, second = (_change(world, revision=revision, title=title) for title in titles)
    return first, second


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
