"""Tests of PSU headers: immediate and deferred calls send the headers to the bank unchanged."""

import uuid
from typing import Any

import pytest

from chalicelib.foundation import jsontext
from chalicelib.openbanking.protocol.psu_context import PSU_HEADERS
from chalicelib.openbanking.protocol.tpp_calls import REQUEST_ID
from tests.causeway import Causeway
from tests.kit.logs import Lines
from tests.log_traces import TRACE
from tests.openbanking.accounts import ACCOUNTS
from tests.openbanking.examples import ROWS, Row
from tests.openbanking.kit import LATER, VERSIONS, ReceivedRequest, accepted_id
from tests.openbanking.payments import PATHS, SCOPES, WEBHOOKS, order, payment_answer
from tests.openbanking.relay import Relay

ALL = {
    "PSU-IP-Address": "192.0.2.7",
    "PSU-IP-Port": "49152",
    "PSU-Accept": "text/html, */*;q=0.8",
    "PSU-Accept-Charset": "utf-8",
    "PSU-Accept-Encoding": "gzip, br",
    "PSU-Accept-Language": "de-AT,de;q=0.8",
    "PSU-User-Agent": "Mozilla/5.0 (X11; Linux x86_64) OnlyInThisTest/7.1",
    "PSU-Http-Method": "PATCH",
    "PSU-Device-ID": "99435c7e-ad88-49ec-a2ad-99ddcb1f5555",
    "PSU-Geo-Location": "GEO:52.506931;13.144558",
}
SENT = {name.lower(): value for name, value in ALL.items()}
EVERY_ROW = pytest.mark.parametrize("row", ROWS, ids=str)


def of_psu(sent: ReceivedRequest) -> dict[str, str]:
    return {name: value for name, value in sent.headers.items() if name.startswith("PSU-")}


@EVERY_ROW
def test_all_ten_psu_headers_reach_the_bank_unchanged_in_immediate_and_deferred_calls(
    causeway: Causeway, row: Row
) -> None:
    relay = Relay(causeway)
    assert {each.name for each in PSU_HEADERS} == ALL.keys()

    assert relay.call(row, headers=SENT).status == 200
    (at_once,) = relay.received(row)
    request_id = accepted_id(relay.call(row, headers=SENT | LATER))
    assert relay.received(row) == []
    causeway.hub.delivery.worker.attempt(request_id)
    (later,) = relay.received(row)

    assert of_psu(at_once) == of_psu(later) == ALL


@EVERY_ROW
def test_a_bank_request_has_psu_headers_only_if_the_tpp_sent_psu_headers(causeway: Causeway, row: Row) -> None:
    relay = Relay(causeway)

    relay.call(row)
    (at_once,) = relay.received(row)
    request_id = accepted_id(relay.call(row, headers=LATER))
    causeway.hub.delivery.worker.attempt(request_id)
    (later,) = relay.received(row)

    assert of_psu(at_once) == of_psu(later) == {}


@EVERY_ROW
@pytest.mark.parametrize("later", [{}, LATER], ids=["at once", "later"])
def test_invalid_psu_headers_return_400_with_their_names_before_any_write(
    causeway: Causeway, row: Row, later: dict[str, str]
) -> None:
    relay, wrong = Relay(causeway), {"psu-ip-port": "99999", "psu-geo-location": "here"}
    relay.call(row)
    before = len(causeway.recorded())

    answer = relay.call(row, headers=SENT | wrong | later)

    assert (answer.status, answer.body["code"]) == (400, "HEADERS_ERROR")
    assert "PSU-IP-Port must be" in answer.body["title"]
    assert "PSU-Geo-Location must be" in answer.body["title"]
    assert not [value for value in wrong.values() if value in answer.text]
    assert "PSU-Accept" not in answer.body["title"]
    assert relay.received(row) == []
    assert len(causeway.recorded()) == before


def test_a_repeated_psu_ip_address_returns_400(causeway: Causeway) -> None:
    relay, twice = Relay(causeway), ["192.0.2.7", "192.0.2.8"]

    answer = causeway.tpp.call(
        "GET",
        "/tpp/accounts",
        bearer=relay.bearer(1),
        headers={"psu-ip-address": twice[-1]},
        several={"psu-ip-address": twice},
    )

    assert (answer.status, answer.body["code"]) == (400, "HEADERS_ERROR")
    assert "PSU-IP-Address must not be repeated" in answer.body["title"]


@VERSIONS
def test_the_values_of_psu_headers_are_stored_encrypted_and_are_not_logged(
    causeway: Causeway, version: int, lines: Lines
) -> None:
    relay, row = Relay(causeway), ACCOUNTS[version]

    relay.call(row, headers=SENT)
    request_id = accepted_id(relay.call(row, headers=SENT | LATER))
    waiting = repr(list(causeway.hub.store.scan("deliveries")))
    causeway.hub.delivery.worker.attempt(request_id)
    done = repr(list(causeway.hub.store.scan("deliveries")))

    told = [value for value in ALL.values() if len(value) > 8]
    assert len(told) >= 6
    assert [value for value in told if value in waiting or value in done or value in lines.text] == []
    assert "bank called" in lines.text


# -- deliveries of earlier versions of the service


def accepted_before(
    causeway: Causeway, version: int, kind: str, topic: str, consent_id: str, body: dict[str, Any]
) -> str:
    """Record a delivery in the format of an earlier release, which stored only the address. Return its id."""
    request_id = str(uuid.uuid4())
    recorded = causeway.hub.delivery.outbox.record(
        kind,
        topic,
        receiver=f"bank#{causeway.banks[version].bic}",
        bic=causeway.banks[version].bic,
        client_id=causeway.tpp.client_id,
        consent_id=consent_id,
        body=jsontext.dumps(body),
        request_id=request_id,
    )
    TRACE.add_order(causeway.banks[version].bic, request_id)
    causeway.hub.store.transact(recorded.operations)
    assert len(recorded.delivery_ids[0]) <= REQUEST_ID
    return recorded.delivery_ids[0]


@VERSIONS
@pytest.mark.parametrize("address", ["192.0.2.7", None])
def test_a_deferred_call_of_an_earlier_version_reaches_the_bank(
    causeway: Causeway, version: int, address: str | None
) -> None:
    row, tokens = ACCOUNTS[version], causeway.tpp.tokens(version)
    causeway.banks[version].answers[row.webhook] = lambda sent: row.answer
    body: dict[str, Any] = {"request": {}, "psu_address": address}

    request_id = accepted_before(causeway, version, "relay", row.call, tokens["consent_id"], body)
    causeway.hub.delivery.worker.attempt(request_id)

    (sent,) = causeway.banks[version].received
    assert sent.headers.get("PSU-IP-Address") == address
    assert causeway.delivery(request_id).state == "delivered"


@VERSIONS
def test_a_deferred_payment_of_an_earlier_version_reaches_the_bank(causeway: Causeway, version: int) -> None:
    tokens = causeway.tpp.tokens(version, scopes=SCOPES[version])
    causeway.banks[version].answers[WEBHOOKS[version, "single"]] = lambda sent: payment_answer(version)
    (access,) = [item for item in causeway.hub.store.scan("consents") if item["part"].startswith("access#")]
    request = order(causeway, version, "single", payment_scheme="SCT")
    body = {"request": request, "version": version, "attempt": "A-1", "bearer": access["part"]}

    request_id = accepted_before(
        causeway, version, "payment", PATHS["single"], tokens["consent_id"], body | {"psu_address": "192.0.2.7"}
    )
    causeway.hub.delivery.worker.attempt(request_id)

    (sent,) = causeway.banks[version].received
    assert sent.headers["PSU-IP-Address"] == "192.0.2.7"
    assert causeway.delivery(request_id).state == "delivered"
