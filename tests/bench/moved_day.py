"""A day of business time on a stack with deliveries to banks that are gone, as ``clock advance`` moves it."""

from __future__ import annotations

import contextlib
import os
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import requests

from chalicelib.bootstrap import Hub
from chalicelib.delivery.delivery_record import record_key
from chalicelib.delivery.outbox import RecordedDeliveries
from chalicelib.foundation.crypto import signatures
from chalicelib.foundation.settings import Settings
from chalicelib.openbanking.flows.bank.notifications import record_revoke_token
from chalicelib.openbanking.flows.consent.authorization import authorize
from chalicelib.openbanking.protocol.tpp_calls import AuthorizationParameters
from chalicelib.openbanking.records.bank_record import NewBank
from chalicelib.openbanking.records.client_record import Client
from chalicelib.openbanking.records.consents import Consent
from infra.local.background import run_stack
from tests.kit.http import free_port
from tests.kit.stack import wait_for_card_month

BANKS, DELIVERIES = 3, 300
GOAL = 15
"""Seconds."""
_TOGETHER = 40


@dataclass(frozen=True)
class Moved:
    """The seconds of a move by a day, and how many attempts it made in all."""

    seconds: float
    attempts: int

    def __str__(self) -> str:
        return f"{self.seconds:.1f} s, {self.attempts} attempts"


def move_a_day() -> Moved:
    """Record the deliveries, and move the clock by a day."""
    with run_stack() as stack, _hub(stack) as hub:
        ids = _record_deliveries(hub)
        wait_for_card_month(stack)
        hub.delivery.outbox.queue(ids)
        started = time.monotonic()
        _advance(stack)
        seconds = time.monotonic() - started
        return Moved(seconds, sum(_attempts(hub, each) for each in ids))


def _record_deliveries(hub: Hub) -> Sequence[str]:
    client = hub.openbanking.clients.create(owner="bench@example.com", title="Bench").client
    consents = [_consent(hub, client, number) for number in range(BANKS)]
    recorded = [record_revoke_token(hub.delivery.outbox, consents[number % BANKS]) for number in range(DELIVERIES)]
    for start in range(0, DELIVERIES, _TOGETHER):
        together = sum(recorded[start : start + _TOGETHER], RecordedDeliveries())
        hub.store.transact(together.operations)
    return [delivery_id for each in recorded for delivery_id in each.delivery_ids]


@contextlib.contextmanager
def _hub(stack: Mapping[str, Any]) -> Iterator[Hub]:
    with patch.dict(os.environ, stack["environment"]):
        yield Hub(Settings.from_environment(os.environ))


def _consent(hub: Hub, client: Client, number: int) -> Consent:
    """A consent at a bank at whose address nothing listens."""
    key = signatures.load_private_key(signatures.generate_private_pem())
    domain = f"http://127.0.0.1:{free_port()}"
    bank = NewBank(
        bic=f"GONEGB2{number}",
        name="Gone",
        country="GB",
        api_version=1,
        domain=domain,
        authorization_url=domain,
        public_keys=[signatures.public_pem(key.public_key())],
    )
    hub.openbanking.banks.add(bank)
    asked = AuthorizationParameters(bic=bank.bic, scopes=["account.list"], state=uuid.uuid4().hex)
    opened = hub.openbanking.call(authorize, client, asked)
    new = hub.openbanking.consents.new(opened, {"account_ids": ["1"]}, 180)
    hub.store.transact([*new.operations])
    return new.consent


def _advance(stack: Mapping[str, Any]) -> None:
    with requests.Session() as session:
        session.trust_env = False
        headers = {"Authorization": f"Bearer {stack['operator_key']}"}
        answer = session.post(
            f"{stack['base_url']}/sandbox/clock", json={"advance": "P1D"}, headers=headers, timeout=600
        )
    assert answer.status_code == 200, answer.text


def _attempts(hub: Hub, delivery_id: str) -> int:
    found = hub.store.get(*record_key(delivery_id))
    return int((found or {}).get("attempts", 0))
