"""The PSU's headers: passed on to the bank as they were sent, whichever way the call takes."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from chalicelib.foundation import jsontext
from chalicelib.openbanking.protocol.tpp_calls import REQUEST_ID
from tests.openbanking.deferred_calls import ACCOUNTS
from tests.openbanking.payer import PATHS, SCOPES, WEBHOOKS, order, taken
from tests.world import World

VERSIONS = pytest.mark.parametrize("version", [1, 2])


# -- deliveries of earlier versions of the service


def accepted_before(world: World, version: int, kind: str, topic: str, consent_id: str, body: dict[str, Any]) -> str:
    """The id of a delivery as it was recorded when a call had an address only."""
    recorded = world.hub.delivery.outbox.record(
        kind,  # type: ignore[arg-type]
        topic,
        receiver=f"bank#{world.banks[version].bank.bic}",
        bic=world.banks[version].bank.bic,
        client_id=world.client.client_id,
        consent_id=consent_id,
        body=jsontext.dumps(body),
        request_id=str(uuid.uuid4()),
    )
    world.hub.store.transact(recorded.operations)
    assert len(recorded.delivery_ids[0]) <= REQUEST_ID
    return recorded.delivery_ids[0]


@VERSIONS
@pytest.mark.parametrize("address", ["192.0.2.7", None])
def test_a_call_that_was_accepted_with_an_address_only_is_carried_out(
    world: World, version: int, address: str | None
) -> None:
    row, tokens = ACCOUNTS[version], world.tokens(version)
    world.banks[version].answers[row.webhook] = lambda sent: row.answer
    body: dict[str, Any] = {"request": {}, "psu_address": address}

    request_id = accepted_before(world, version, "relay", row.call, tokens["consent_id"], body)
    world.hub.delivery.worker.attempt(request_id)

    (sent,) = world.banks[version].received
    assert sent.headers.get("PSU-IP-Address") == address
    assert world.delivery(request_id).state == "delivered"


@VERSIONS
def test_a_payment_that_was_accepted_with_an_address_only_is_carried_out(world: World, version: int) -> None:
    tokens = world.tokens(version, scopes=SCOPES[version])
    world.banks[version].answers[WEBHOOKS[version, "single"]] = lambda sent: taken(version)
    (access,) = [item for item in world.hub.store.scan("consents") if item["part"].startswith("access#")]
    request = order(world, version, "single", payment_scheme="SCT")
    body = {"request": request, "version": version, "attempt": "A-1", "bearer": access["part"]}

    request_id = accepted_before(
        world, version, "payment", PATHS["single"], tokens["consent_id"], body | {"psu_address": "192.0.2.7"}
    )
    world.hub.delivery.worker.attempt(request_id)

    (sent,) = world.banks[version].received
    assert sent.headers["PSU-IP-Address"] == "192.0.2.7"
    assert world.delivery(request_id).state == "delivered"
