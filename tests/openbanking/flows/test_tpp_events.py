"""Tests of events to TPPs: recorded once in the transaction of the cause, signed and retried."""

import time
import uuid
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from standardwebhooks import Webhook, WebhookVerificationError

from chalicelib.delivery.delivery_record import Delivery
from chalicelib.foundation.clock import timestamp
from chalicelib.foundation.dynamodb.store import StoreUnavailable
from chalicelib.foundation.http.outbound import ConnectionDropped, NotReached, Reply, ResponseTooLarge, TimedOut
from chalicelib.openbanking.flows.consent.tokens import end_consent
from chalicelib.openbanking.flows.tpp_events import NoEvents
from chalicelib.openbanking.records.consents import Consent, consent_key
from infra.render.openapi.own_calls import EVENTS
from tests.causeway import Causeway
from tests.kit.logs import Lines
from tests.openbanking.faults import Fault
from tests.openbanking.kit import TOKEN, URL, VERSIONS, Consented
from tests.openbanking.payments import SCOPES, Pisp, payment_answer

BICS = {1: "ALPHGB21", 2: "BETADEF1"}
EXECUTED: dict[int, dict[str, Any]] = {
    1: {"payment_status": 4, "status": "executed", "is_final": True},
    2: {"transaction_status": "ACSC", "status": "executed", "is_final": True},
}
OVERLAP = 3600


@pytest.fixture
def listening(causeway: Causeway) -> Causeway:
    causeway.tpp.set_events_url()
    return causeway


def arrived(causeway: Causeway, event: str = "") -> list[Any]:
    """Deliver all recorded events and check the form of each event. Return the bodies of all events or of one type."""
    queued = set(causeway.queued())
    for each in causeway.recorded("event"):
        assert each.delivery_id in queued
        causeway.hub.delivery.worker.attempt(each.delivery_id)
        assert causeway.delivery(each.delivery_id).state == "delivered"
    for body in causeway.receiver.events:
        EVENTS[body["type"]].data.read(body["data"])
    return [body for body in causeway.receiver.events if event in ("", body["type"])]


def trial(causeway: Causeway) -> str:
    return causeway.hub.openbanking.tpp_events.send_test(causeway.tpp.client)


def cancelled(causeway: Causeway, version: int, **query: str) -> str:
    """Cancel a request as the PSU. Return the path of the cancel URL, which still redirects afterwards."""
    url = causeway.tpp.authorize(version, state="of-the-tpp")["redirect_url"]
    answer = causeway.banks[version].call("/init_authorization", {URL[version]: url}).body
    path = urlsplit(answer.get("cancel_url") or answer["cancelUrl"]).path
    path = f"{path}?{urlencode(query)}" if query else path
    assert causeway.call("GET", path).status == 303
    return path


def consent_of(causeway: Causeway, consented: Consented) -> Consent:
    """Return the saved consent. The first part of the authorization code is the id of the consent."""
    item = causeway.hub.store.get(*consent_key(consented.query["code"].split(".")[0]))
    assert item is not None
    return Consent.from_item(item)


# -- what is told


@pytest.mark.parametrize(("version", "consent_type"), [(1, "one_time"), (2, "reusable")])
def test_a_saved_consent_sends_an_event_with_its_scopes(listening: Causeway, version: int, consent_type: str) -> None:
    scopes = SCOPES[version]
    consented = listening.psu.approve(version, scopes=scopes, consent_type=consent_type, state="of-the-tpp")

    assert arrived(listening) == [
        {
            "type": "consent.authorised",
            "timestamp": "2026-03-02T09:00:00+00:00",
            "data": {
                "consent_id": consent_of(listening, consented).consent_id,
                "bic": BICS[version],
                "state": "of-the-tpp",
                "scopes": scopes,
                "unified_scopes": ["payments:write", "bulk_payments:write"],
                "consent_type": consent_type,
                "valid_until": consented.valid_until,
            },
        }
    ]


@pytest.mark.parametrize(
    ("version", "query"), [(1, {}), (2, {"error": "login_required", "error_description": "Too many wrong codes"})]
)
def test_a_cancelled_authorization_sends_an_event_with_the_reason(
    listening: Causeway, version: int, query: dict[str, str]
) -> None:
    path = cancelled(listening, version, **query)

    back = parse_qs(urlsplit(listening.call("GET", path).headers["location"]).query)
    assert arrived(listening) == [
        {
            "type": "consent.cancelled",
            "timestamp": "2026-03-02T09:00:00+00:00",
            "data": {
                "bic": BICS[version],
                "state": "of-the-tpp",
                "error": query.get("error", "access_denied"),
                "error_description": back["error_description"][0],
            },
        }
    ]


def test_the_cancel_url_opened_after_consent_sends_no_event(listening: Causeway) -> None:
    url = listening.tpp.authorize(2)["redirect_url"]
    address = listening.banks[2].call("/init_authorization", {URL[2]: url}).body["cancelUrl"]
    assert listening.banks[2].call("/consent", listening.banks[2].consent_body(url)).status == 200

    assert listening.call("GET", urlsplit(address).path).status == 303

    assert [event["type"] for event in arrived(listening)] == ["consent.authorised"]


def revoked_by_tpp(causeway: Causeway, version: int, consented: Consented) -> None:
    tokens = causeway.tpp.call("POST", "/tpp/token", {"code": consented.query["code"]}).body
    assert causeway.tpp.call("POST", "/tpp/token/revoke", {"token": tokens["refresh_token"]}).status == 200


def revoked_by_bank(causeway: Causeway, version: int, consented: Consented) -> None:
    for _ in range(2):
        assert causeway.banks[version].call("/token/revoke", {TOKEN[version]: consented.bank_token}).status == 200


def revoked_by_operator(causeway: Causeway, version: int, consented: Consented) -> None:
    for _ in range(2):
        causeway.hub.openbanking.call(end_consent, consent_of(causeway, consented), by="operator")


def used_twice(causeway: Causeway, version: int, consented: Consented) -> None:
    used = [causeway.tpp.call("POST", "/tpp/token", {"code": consented.query["code"]}).status for _ in range(3)]
    assert used == [200, 400, 400]


def refreshed_too_late(causeway: Causeway, version: int, consented: Consented) -> None:
    first = causeway.tpp.call("POST", "/tpp/token", {"code": consented.query["code"]}).body["refresh_token"]
    second = causeway.tpp.call("POST", "/tpp/token", {"refresh_token": first}).body["refresh_token"]
    causeway.tpp.call("POST", "/tpp/token", {"refresh_token": second})
    assert [causeway.tpp.call("POST", "/tpp/token", {"refresh_token": first}).status for _ in range(2)] == [400, 400]


ENDS: dict[str, tuple[int, str, Callable[[Causeway, int, Consented], None]]] = {
    "by its TPP": (1, "tpp", revoked_by_tpp),
    "by its bank of version 1": (1, "bank", revoked_by_bank),
    "by its bank of version 2": (2, "bank", revoked_by_bank),
    "by the operator": (2, "operator", revoked_by_operator),
    "because its code was used twice": (1, "service", used_twice),
    "because a refresh token was used after its successor": (2, "service", refreshed_too_late),
}


@pytest.mark.parametrize(("version", "party", "end"), ENDS.values(), ids=ENDS)
def test_a_consent_that_ends_sends_one_event_that_names_the_party_that_ended_the_consent(
    listening: Causeway, version: int, party: str, end: Callable[[Causeway, int, Consented], None]
) -> None:
    consented = listening.psu.approve(version)
    listening.clock.advance(7)

    end(listening, version, consented)

    assert arrived(listening, "consent.revoked") == [
        {
            "type": "consent.revoked",
            "timestamp": "2026-03-02T09:00:07+00:00",
            "data": {
                "consent_id": consent_of(listening, consented).consent_id,
                "bic": BICS[version],
                "revoked_by": party,
            },
        }
    ]
    assert len(listening.recorded("revoke_token")) == (0 if party == "bank" else 1)


@pytest.mark.parametrize(("version", "kind"), [(1, "single"), (2, "bulk"), (1, "direct"), (2, "direct")])
def test_a_status_event_contains_the_status_code_type_of_the_bank_version(
    listening: Causeway, version: int, kind: str
) -> None:
    pisp = Pisp(listening, version, kind)
    pisp.pay()
    listening.clock.advance(60)

    assert pisp.report(4).status == 200  # version 2 takes the numbers as well

    told = {"bic": BICS[version], "payment_id": "P-1", **EXECUTED[version]}
    if pisp.bearer:
        told["consent_id"] = listening.tpp.call("GET", "/tpp/consent", bearer=pisp.bearer).body["consent_id"]
    assert arrived(listening, "payment.status_changed") == [
        {"type": "payment.status_changed", "timestamp": "2026-03-02T09:01:00+00:00", "data": told}
    ]


@VERSIONS
def test_every_status_change_sends_an_event_and_an_unchanged_status_sends_no_event(
    listening: Causeway, version: int
) -> None:
    pisp = Pisp(listening, version, "direct")
    pisp.pay()
    reports = [1, 0, 0, 4, 2, 4] if version == 1 else ["RCVD", "ACSP", "ACSP", "ACSC", "RJCT", "ACCC"]
    for report in reports:
        assert pisp.report(report).status == 200
        listening.clock.advance(1)

    member = "payment_status" if version == 1 else "transaction_status"
    told = [event["data"][member] for event in arrived(listening)]
    assert told == ([0, 4] if version == 1 else ["ACSP", "ACSC", "ACCC"])


def test_a_repeated_report_sends_one_event(listening: Causeway) -> None:
    pisp, request_id = Pisp(listening, 1, "direct"), str(uuid.uuid4())
    pisp.pay()

    for _ in range(2):
        assert pisp.report(4, **{"x-request-id": request_id}).status == 200

    assert len(arrived(listening)) == 1


@VERSIONS
def test_early_status_reports_send_one_event_when_the_payment_is_recorded(listening: Causeway, version: int) -> None:
    pisp = Pisp(listening, version, "direct")
    for report in (0, 4):
        assert pisp.report(report).status == 400
    assert listening.recorded("event") == []

    assert pisp.pay().status == 200

    (event,) = arrived(listening)
    assert (event["type"], event["data"]) == (
        "payment.status_changed",
        {"bic": BICS[version], "payment_id": "P-1", **EXECUTED[version]},
    )


def test_an_early_status_report_equal_to_the_bank_response_sends_no_event(listening: Causeway) -> None:
    pisp = Pisp(listening, 2, "direct")
    pisp.report("RCVD")

    assert pisp.pay().status == 200
    assert listening.recorded("event") == []


def test_a_bank_response_to_a_payment_sends_no_event(listening: Causeway) -> None:
    pisp = Pisp(listening, 1, "direct")
    pisp.bank_answers(payment_answer(1))

    assert pisp.pay().status == 200
    assert listening.recorded("event") == []


def test_an_event_of_type_test_is_delivered_like_other_events(listening: Causeway) -> None:
    delivery_id = listening.hub.openbanking.tpp_events.send_test(listening.tpp.client)

    assert arrived(listening) == [
        {"type": "test", "timestamp": "2026-03-02T09:00:00+00:00", "data": {"message": "This is a test."}}
    ]
    assert listening.receiver.received[0].headers["webhook-id"] == delivery_id


def test_sending_an_event_of_type_test_requires_an_events_url(causeway: Causeway) -> None:
    with pytest.raises(NoEvents, match=causeway.tpp.client_id):
        causeway.hub.openbanking.tpp_events.send_test(causeway.tpp.client)

    assert causeway.recorded() == []


@VERSIONS
def test_a_client_without_an_events_url_gets_no_events(causeway: Causeway, version: int) -> None:
    cancelled(causeway, version)
    pisp = Pisp(causeway, version)
    pisp.pay()
    pisp.report(4)
    direct = Pisp(causeway, version, "direct")
    direct.bank_answers(payment_answer(version, "P-2"))
    direct.report(4, "P-2")
    direct.pay()
    causeway.tpp.call("POST", "/tpp/token/revoke", {"token": pisp.bearer})

    assert [each.kind for each in causeway.recorded()] == ["revoke_token"]


def test_an_event_is_sent_to_the_client_of_its_payment_or_consent(listening: Causeway) -> None:
    pisp = Pisp(listening, 1, "direct")
    pisp.pay()
    consented = listening.psu.approve(1)
    concerned = listening.tpp.client
    listening.tpp.client = listening.hub.openbanking.clients.create(owner="x@example.com", title="Other").client
    pisp.report(4)
    listening.banks[1].call("/token/revoke", {"access_token": consented.bank_token})
    listening.psu.approve(1)

    assert [each.client_id for each in listening.recorded("event")] == [concerned.client_id] * 3
    assert {each.receiver for each in listening.recorded("event")} == {f"client#{concerned.client_id}"}


# -- in the transaction of the cause


def approved(causeway: Causeway) -> Callable[[], int]:
    url, request_id = causeway.tpp.authorize(1)["redirect_url"], str(uuid.uuid4())
    body = causeway.banks[1].consent_body(url)
    return lambda: causeway.banks[1].call("/consent", body, headers={"x-request-id": request_id}).status


def turned_back(causeway: Causeway) -> Callable[[], int]:
    url = causeway.tpp.authorize(1)["redirect_url"]
    path = urlsplit(causeway.banks[1].call("/init_authorization", {"request_url": url}).body["cancel_url"]).path
    return lambda: causeway.call("GET", path).status


def ended_by_tpp(causeway: Causeway) -> Callable[[], int]:
    token = causeway.tpp.tokens(1)["access_token"]
    return lambda: causeway.tpp.call("POST", "/tpp/token/revoke", {"token": token}).status


def ended_by_bank(causeway: Causeway) -> Callable[[], int]:
    token, request_id = causeway.psu.approve(1).bank_token, str(uuid.uuid4())
    body = {"access_token": token}
    return lambda: causeway.banks[1].call("/token/revoke", body, headers={"x-request-id": request_id}).status


def reported(causeway: Causeway) -> Callable[[], int]:
    pisp, request_id = Pisp(causeway, 1, "direct"), str(uuid.uuid4())
    pisp.pay()
    return lambda: pisp.report(4, **{"x-request-id": request_id}).status


CAUSES = [approved, turned_back, ended_by_tpp, ended_by_bank, reported]


@pytest.mark.parametrize("applied", [True, False], ids=["applied", "not applied"])
@pytest.mark.parametrize("cause", CAUSES)
def test_an_event_is_recorded_exactly_once_with_its_cause(
    listening: Causeway, cause: Callable[[Causeway], Callable[[], int]], applied: bool
) -> None:
    act = cause(listening)
    before = len(listening.recorded("event"))

    with listening.answer_lost("transact", applied=applied):
        assert act() in ((200, 303) if applied else (500,))  # the service looks for what it has written
    assert len(listening.recorded("event")) - before == (1 if applied else 0)

    assert act() in (200, 303)
    assert len(listening.recorded("event")) - before == 1


def test_concurrent_revocations_send_one_event_that_names_the_party_that_revoked_first(listening: Causeway) -> None:
    consented = listening.psu.approve(1)
    body = {"access_token": consented.bank_token}

    def ended_by_the_operator() -> None:
        listening.hub.openbanking.call(end_consent, consent_of(listening, consented), by="operator")

    with listening.meanwhile("transact", ended_by_the_operator):
        assert listening.banks[1].call("/token/revoke", body).status == 200

    (ended,) = arrived(listening, "consent.revoked")
    assert ended["data"]["revoked_by"] == "operator"


# -- how it travels


def at_the_machines_time(causeway: Causeway, later: int = 0) -> None:
    """Set the clock to ``later`` seconds before the real time. Verification libraries use the real time."""
    causeway.clock.advance(time.time() - later - causeway.clock.time())


def test_the_standard_webhooks_library_verifies_an_event(causeway: Causeway) -> None:
    at_the_machines_time(causeway)
    secret = causeway.tpp.set_events_url()
    causeway.psu.approve(1)
    arrived(causeway)

    (sent,) = causeway.receiver.received
    assert dict(sent.headers) | {"webhook-signature": ""} == {
        "Content-Type": "application/json",
        "webhook-id": causeway.recorded("event")[0].delivery_id,
        "webhook-timestamp": str(causeway.clock.time()),
        "webhook-signature": "",
    }
    assert Webhook(secret).verify(sent.body, dict(sent.headers))["type"] == "consent.authorised"
    with pytest.raises(WebhookVerificationError):
        Webhook(secret).verify(sent.body.replace(b"authorised", b"revoked"), dict(sent.headers))


def rotated(causeway: Causeway, overlap: int) -> str:
    made = causeway.hub.openbanking.clients.rotate_events_secret(causeway.tpp.client_id, overlap)
    assert made.events_secret is not None
    return made.events_secret


@pytest.mark.parametrize(("elapsed", "old_counts"), [(0, True), (OVERLAP - 1, True), (OVERLAP, False)])
def test_events_are_signed_with_the_new_and_the_old_secret_until_the_overlap_ends(
    causeway: Causeway, elapsed: int, old_counts: bool
) -> None:
    at_the_machines_time(causeway, later=elapsed)
    old = causeway.tpp.set_events_url()
    delivery_id = trial(causeway)
    new = rotated(causeway, OVERLAP)
    causeway.clock.advance(elapsed)

    causeway.hub.delivery.worker.attempt(delivery_id)

    (sent,) = causeway.receiver.received
    assert Webhook(new).verify(sent.body, dict(sent.headers))
    if old_counts:
        assert Webhook(old).verify(sent.body, dict(sent.headers))
    else:
        with pytest.raises(WebhookVerificationError):
            Webhook(old).verify(sent.body, dict(sent.headers))


def test_a_rotation_without_overlap_stops_signing_with_the_old_secret(causeway: Causeway) -> None:
    at_the_machines_time(causeway)
    old = causeway.tpp.set_events_url()
    delivery_id = trial(causeway)
    new = rotated(causeway, 0)

    causeway.hub.delivery.worker.attempt(delivery_id)

    (sent,) = causeway.receiver.received
    assert Webhook(new).verify(sent.body, dict(sent.headers))
    with pytest.raises(WebhookVerificationError):
        Webhook(old).verify(sent.body, dict(sent.headers))


def test_a_retry_has_the_same_id_and_body_and_a_new_signature(causeway: Causeway) -> None:
    at_the_machines_time(causeway, later=5)
    secret = causeway.tpp.set_events_url()
    delivery_id = trial(causeway)
    causeway.receiver.answers = [Reply(503, b"", {"Retry-After": "8"}, 0)]
    causeway.hub.delivery.worker.attempt(delivery_id)
    causeway.clock.advance(8)
    causeway.hub.delivery.worker.attempt(delivery_id)

    first, second = causeway.receiver.received
    assert first.body == second.body
    assert first.headers["webhook-id"] == second.headers["webhook-id"] == delivery_id
    stamps = [int(sent.headers["webhook-timestamp"]) for sent in (first, second)]
    assert stamps[1] - stamps[0] == 8
    assert first.headers["webhook-signature"] != second.headers["webhook-signature"]
    assert Webhook(secret).verify(second.body, dict(second.headers))
    assert causeway.receiver.events[1]["timestamp"] == timestamp(stamps[0])


def after_one_attempt(causeway: Causeway, answer: Reply | Exception) -> Delivery:
    delivery_id = trial(causeway)
    causeway.receiver.answers = [answer]
    causeway.hub.delivery.worker.attempt(delivery_id)
    assert len(causeway.receiver.received) == 1
    return causeway.delivery(delivery_id)


@pytest.mark.parametrize("status", [200, 202, 299])
def test_a_response_with_a_status_from_200_to_299_marks_an_event_as_delivered(listening: Causeway, status: int) -> None:
    delivery = after_one_attempt(listening, Reply(status, b"whatever", {}, 0))

    assert (delivery.state, delivery.last["status"]) == ("delivered", status)


@pytest.mark.parametrize("status", [301, 303, 308])
def test_a_redirect_response_to_an_event_is_not_followed_and_counts_as_a_failure(
    listening: Causeway, status: int
) -> None:
    elsewhere = {"Location": "http://127.0.0.1:1/elsewhere"}

    delivery = after_one_attempt(listening, Reply(status, b"", elsewhere, 0))

    assert (delivery.state, delivery.last["status"]) == ("due", status)


NOT_ARRIVED: dict[str, Reply | Exception] = {
    **{f"status {status}": Reply(status, b"", {}, 0) for status in (300, 400, 404, 429, 500)},
    "not reached": NotReached("no connection could be made"),
    "too late": TimedOut("no answer came in time"),
    "cut off": ConnectionDropped("the connection broke"),
    "too large": ResponseTooLarge("the answer is larger than 5 MB"),
}


@pytest.mark.parametrize("answer", NOT_ARRIVED.values(), ids=NOT_ARRIVED)
def test_a_failed_attempt_is_retried_after_4_to_6_seconds(listening: Causeway, answer: Reply | Exception) -> None:
    delivery = after_one_attempt(listening, answer)

    assert (delivery.state, delivery.attempts) == ("due", 1)
    assert 4 <= (delivery.due_at or 0) - listening.clock.time() <= 6
    listening.clock.advance(6)
    listening.hub.delivery.worker.attempt(delivery.delivery_id)
    assert listening.delivery(delivery.delivery_id).state == "delivered"


def test_an_event_is_not_retried_after_a_410_response(listening: Causeway) -> None:
    delivery = after_one_attempt(listening, Reply(410, b"", {}, 0))

    assert (delivery.state, delivery.last["error"]) == ("failed", "the receiver responded with status 410")


@pytest.mark.parametrize(
    ("asked", "waits"), [("9", 9), ("3600", 10), ("Mon, 02 Mar 2026 09:00:08 GMT", 8), ("-5", None), ("soon", None)]
)
def test_the_retry_after_header_delays_a_retry_to_at_most_twice_the_planned_delay(
    listening: Causeway, asked: str, waits: int | None
) -> None:
    delivery = after_one_attempt(listening, Reply(503, b"", {"retry-after": asked}, 0))

    waited = (delivery.due_at or 0) - listening.clock.time()
    assert waited == waits if waits else 4 <= waited <= 6


# -- what has changed before the attempt


def test_an_event_is_sent_to_the_current_events_url(listening: Causeway) -> None:
    delivery_id = trial(listening)
    listening.receiver.url = "http://127.0.0.1:1/moved"
    listening.hub.openbanking.clients.update(listening.tpp.client_id, events_url=listening.receiver.url)

    listening.hub.delivery.worker.attempt(delivery_id)

    assert listening.delivery(delivery_id).state == "delivered"


def test_a_pending_event_fails_after_the_events_url_is_removed(listening: Causeway) -> None:
    delivery_id = trial(listening)
    listening.hub.openbanking.clients.update(listening.tpp.client_id, events_url=None)

    listening.hub.delivery.worker.attempt(delivery_id)

    delivery = listening.delivery(delivery_id)
    assert (delivery.state, delivery.last["error"]) == ("failed", "the client no longer has an Events URL")
    assert listening.receiver.received == []


def test_an_event_of_an_inactive_client_is_sent_after_its_activation(listening: Causeway) -> None:
    delivery_id = trial(listening)
    listening.hub.openbanking.clients.deactivate(listening.tpp.client_id)
    listening.hub.delivery.worker.attempt(delivery_id)

    delivery = listening.delivery(delivery_id)
    assert (delivery.state, delivery.last["error"]) == ("due", "the client is inactive")
    assert listening.receiver.received == []
    listening.hub.openbanking.clients.activate(listening.tpp.client_id)
    listening.clock.advance(6)
    listening.hub.delivery.worker.attempt(delivery_id)
    assert listening.delivery(delivery_id).state == "delivered"


def test_an_event_of_a_deleted_client_fails(listening: Causeway) -> None:
    delivery_id = trial(listening)
    listening.hub.store.delete("clients", {"client_id": listening.tpp.client_id})

    listening.hub.delivery.worker.attempt(delivery_id)

    delivery = listening.delivery(delivery_id)
    assert (delivery.state, delivery.last["error"]) == ("failed", "the client no longer exists")


# -- what nobody else may see


def test_event_secrets_and_event_bodies_are_stored_encrypted_and_are_not_logged(
    causeway: Causeway, lines: Lines
) -> None:
    secrets = [causeway.tpp.set_events_url(), rotated(causeway, OVERLAP)]
    consented = causeway.psu.approve(1, state="tell-nobody")
    delivery_id = causeway.recorded("event")[0].delivery_id
    causeway.receiver.answers = [Reply(400, b'{"error":"tell-nobody"}', {}, 0)]
    causeway.hub.delivery.worker.attempt(delivery_id)
    causeway.clock.advance(10)
    causeway.hub.delivery.worker.attempt(delivery_id)

    (signature,) = {sent.headers["webhook-signature"] for sent in causeway.receiver.received[1:]}
    hidden = [*(secret.removeprefix("whsec_") for secret in secrets), *signature.split(), "tell-nobody"]
    stored = repr(list(causeway.hub.store.scan("deliveries")) + list(causeway.hub.store.scan("clients")))
    assert causeway.receiver.events[1]["data"]["state"] == "tell-nobody"
    for text in (*hidden, consented.valid_until):
        assert text not in lines.text
        assert text not in stored


# -- the way on after a fault


@pytest.mark.parametrize("applied", [True, False], ids=["applied", "not applied"])
def test_an_event_is_sent_again_only_if_its_outcome_was_not_written(listening: Causeway, applied: bool) -> None:
    delivery_id = trial(listening)
    fault = Fault(listening, "after" if applied else "before", 2, lasting=True, operation="TransactWriteItems")

    with fault, pytest.raises(StoreUnavailable):
        listening.hub.delivery.worker.attempt(delivery_id)
    listening.clock.advance(60)
    listening.hub.delivery.worker.attempt(delivery_id)

    assert listening.delivery(delivery_id).state == "delivered"
    ids = [sent.headers["webhook-id"] for sent in listening.receiver.received]
    assert ids == [delivery_id] * (1 if applied else 2)
