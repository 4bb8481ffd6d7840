"""Deliveries on the running stack: retries of events, and outcomes of asynchronous calls."""

import json
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from standardwebhooks.webhooks import Webhook
from typer.testing import CliRunner

from chalicelib import bootstrap
from chalicelib.foundation.identifiers import new_id
from infra.admin.commands import program
from infra.psu_browser import Browser, confirm_payment
from tests.e2e.parties import Journey, Tpp
from tests.kit.http import Connection, socket_server
from tests.kit.time import wait_for

pytestmark = pytest.mark.e2e


@pytest.fixture
def installed(operator: bootstrap.Hub) -> Iterator[bootstrap.Hub]:
    bootstrap.use(operator)
    yield operator
    bootstrap.use(None)


def command(*arguments: str) -> Any:
    result = CliRunner().invoke(program, [*arguments, "--json"])
    assert result.exit_code == 0, result.output
    return json.loads(result.output)


def test_a_failed_event_is_resent_with_the_same_id(installed: bootstrap.Hub) -> None:
    def behaviour(connection: Connection) -> None:
        while connection.request():
            is_first = len(server.requests) == 1
            connection.answer(status="503 Service Unavailable" if is_first else "204 No Content", body=b"")

    with socket_server(behaviour) as server:
        made = installed.openbanking.clients.create(owner="tpp@example.com", title="Forgetful", events_url=server.url)
        client_id, secret = made.client.client_id, made.events_secret or ""
        delivery_id = command("clients", "test-event", client_id)["delivery_id"]

        def after(attempts: int) -> Any:
            """Wait until ``attempts`` delivery attempts have ended. Return the delivery from the command line."""

            def look() -> Any:
                (shown,) = command("deliveries", "list", "--client", client_id)["deliveries"]
                return shown if shown["attempts"] == attempts and not shown["attempt_under_way"] else None

            return wait_for(look, f"there were no {attempts} attempts")

        waiting = after(1)
        command("deliveries", "resend", delivery_id)  # instead of waiting for the 5 seconds of the schedule
        arrived = after(2)

    heads = [_split(request) for _, request in server.requests]
    assert [waiting["state"], arrived["state"]] == ["due", "delivered"]
    assert [headers["webhook-id"] for headers, _ in heads] == [delivery_id, delivery_id]
    for headers, body in heads:
        assert Webhook(secret).verify(body, headers)["type"] == "test"
    assert command("deliveries", "show", delivery_id)["delivery"]["state"] == "delivered"


def test_an_asynchronous_read_returns_the_same_response_as_a_synchronous_read(tpp: Tpp, journey: Journey) -> None:
    bearer = tpp.redeem(journey.code).json()["access_token"]

    outcome = tpp.later("GET", "/tpp/accounts", bearer=bearer)

    assert (outcome["state"], outcome["status"]) == ("done", 200)
    assert outcome["body"] == tpp.call("GET", "/tpp/accounts", bearer=bearer).json()


def test_an_asynchronous_payment_can_be_confirmed(tpp: Tpp, journey: Journey) -> None:
    bic, callback = journey.bank["bic"], f"{tpp.base}/payments/callback"
    key = {"Idempotency-Key": str(uuid.uuid4())}

    outcome = tpp.later("POST", "/tpp/direct_payment_initiation", tpp.direct_payment(journey.bank), headers=key)

    assert (outcome["state"], outcome["status"]) == ("done", 200)
    confirm_payment(Browser(callback, lambda *_: None), outcome["body"]["confirmation_url"])
    path = f"/tpp/payment_status?payment_id={outcome['body']['payment_id']}&bic={bic}"
    status = tpp.call("GET", path).json()
    assert status.get("payment_status", status.get("transaction_status")) in (4, "ACSC")


def test_the_outcome_of_an_asynchronous_call_is_hidden_from_other_clients(
    tpp: Tpp, journey: Journey, operator: bootstrap.Hub
) -> None:
    other = operator.openbanking.clients.create(owner="tpp@example.com", title="Curious")
    accepted = tpp.call(
        "POST", "/tpp/direct_payment_initiation", tpp.direct_payment(journey.bank), headers={"Prefer": "respond-async"}
    )
    place = accepted.headers["Location"]

    assert tpp.call("GET", place).status_code == 200
    for stranger, path in ((Tpp(tpp.base, other.client.client_id, tpp.callback), place), (tpp, f"{place}{new_id()}")):
        assert stranger.call("GET", path).json()["code"] == "RESOURCE_UNKNOWN"


def _split(request: bytes) -> tuple[dict[str, str], bytes]:
    head, _, body = request.partition(b"\r\n\r\n")
    lines = [line.partition(": ") for line in head.decode().split("\r\n")[1:]]
    return {name.lower(): value for name, _, value in lines}, body
