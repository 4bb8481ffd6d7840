"""Tests of events that a client fetches: an event is recorded once with its cause and has the form of a sent event."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from chalicelib.foundation import jsontext
from chalicelib.foundation.clock import timestamp
from chalicelib.foundation.dynamodb.store import StoreUnavailable
from chalicelib.foundation.http.outbound import Reply
from chalicelib.openbanking.flows.consent.expiry import record_due_events
from chalicelib.openbanking.flows.consent.tokens import end_consent
from chalicelib.openbanking.flows.tpp_events import NoEvents
from chalicelib.openbanking.protocol.tpp_calls import EventType
from chalicelib.openbanking.records.consents import Consent, consent_key
from infra.render.openapi.own_calls import EVENTS
from tests.causeway import Answer, Causeway
from tests.kit.certificates import Authority
from tests.kit.logs import Lines
from tests.openbanking.key_holder import ORGANIZATION, SUBJECT, KeyHolder, issue, secure, stage_with
from tests.openbanking.kit import URL, Poller, basic, event_ids
from tests.openbanking.payments import Pisp

DAY = 24 * 3600
START = "2026-03-02T09:00:00+00:00"
ITEM_BYTES, ANSWER_BYTES = 400_000, 6_000_000
"""The maximum sizes of a DynamoDB item and of a Lambda response, in bytes."""


@pytest.fixture
def poller(causeway: Causeway) -> Poller:
    return causeway.tpp.poll_events()


def refused_parameter(answer: Answer, name: str) -> bool:
    (detail,) = answer.body["additionalErrors"]
    return (answer.status, answer.body["code"]) == (400, "PARAMETER_NOT_CONSISTENT") and name in detail["details"]


# -- contents


def test_an_empty_page_of_events_has_a_next_cursor(poller: Poller) -> None:
    first, second = poller.request().body, poller.page()

    for page in (first, second, poller.page()):
        assert (page["events"], page["has_more"]) == ([], False)
        assert isinstance(page["next"], str)


def test_an_event_has_an_id_type_time_and_body(causeway: Causeway, poller: Poller) -> None:
    event_id = causeway.tpp.send_test_event()

    answer = poller.request()

    body = f'{{"type":"test","timestamp":"{START}","data":{{"message":"This is a test."}}}}'
    assert answer.body["events"] == [{"id": event_id, "type": "test", "created_at": START, "body": body}]
    assert answer.headers["cache-control"] == "no-store"


def test_a_fetched_event_has_the_body_and_id_of_a_sent_event(
    causeway: Causeway, poller: Poller, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("event_log", "outbox"):
        monkeypatch.setattr(f"chalicelib.delivery.{module}.new_id", lambda: "0123456789abcdef012345")
    data: Any = {"bic": "ALPHGB21", "state": 'ünï"code\\ud83d', "error": "access_denied", "error_description": ""}
    events = causeway.hub.openbanking.tpp_events
    causeway.hub.store.transact(events.record(causeway.tpp.client, "consent.cancelled", data).operations)
    (fetched,) = poller.fetch()

    causeway.tpp.set_events_url()
    recorded = events.record(causeway.tpp.client, "consent.cancelled", data)
    causeway.hub.store.transact(recorded.operations)
    causeway.hub.delivery.worker.attempt(recorded.delivery_ids[0])

    (sent,) = causeway.receiver.received
    assert (fetched["id"], fetched["body"].encode()) == (sent.headers["webhook-id"], sent.body)


def saved(causeway: Causeway) -> None:
    causeway.psu.approve(1, state="of-the-tpp")


def cancelled(causeway: Causeway) -> None:
    url = causeway.tpp.authorize(2, state="of-the-tpp")["redirect_url"]
    cancel_url = causeway.banks[2].call("/init_authorization", {URL[2]: url}).body["cancelUrl"]
    assert causeway.call("GET", cancel_url[cancel_url.index("/bank/") :]).status == 303


def revoked(causeway: Causeway) -> None:
    code = causeway.psu.approve(1).query["code"]
    causeway.clock.advance(1)
    causeway.hub.openbanking.call(end_consent, consent(causeway, code), by="operator")


def expired(causeway: Causeway) -> None:
    causeway.psu.approve(1)
    causeway.clock.advance(175 * DAY)
    causeway.hub.openbanking.call(record_due_events)
    causeway.clock.advance(10 * DAY)
    causeway.hub.openbanking.call(record_due_events)


def reported(causeway: Causeway) -> None:
    pisp = Pisp(causeway, 2, "direct")
    pisp.pay()
    assert pisp.report("ACSC").status == 200


def tried(causeway: Causeway) -> None:
    causeway.tpp.send_test_event()


def consent(causeway: Causeway, code: str) -> Consent:
    item = causeway.hub.store.get(*consent_key(code.partition(".")[0]))
    assert item is not None
    return Consent.from_item(item)


CAUSES: dict[str, tuple[Callable[[Causeway], None], list[str]]] = {
    "a saved consent": (saved, ["consent.authorised"]),
    "a cancellation": (cancelled, ["consent.cancelled"]),
    "a revocation": (revoked, ["consent.authorised", "consent.revoked"]),
    "an expiry": (expired, ["consent.expiring", "consent.expired"]),
    "a reported status": (reported, ["payment.status_changed"]),
    "a test": (tried, ["test"]),
}


@pytest.mark.parametrize(("cause", "types"), CAUSES.values(), ids=CAUSES)
def test_every_event_type_is_recorded_for_fetching_and_is_not_sent_to_a_polling_client(
    causeway: Causeway, poller: Poller, cause: Callable[[Causeway], None], types: list[str]
) -> None:
    cause(causeway)

    got = poller.fetch()
    assert [event["type"] for event in got] == types
    for event in got:
        body = jsontext.loads(event["body"])
        EVENTS[body["type"]].data.read(body["data"])
        assert (body["type"], body["timestamp"]) == (event["type"], event["created_at"])
    assert causeway.recorded("event") == []


def test_for_every_event_type_a_test_contains_an_action_that_causes_the_event() -> None:
    assert {name for _, types in CAUSES.values() for name in types} == set(EVENTS)


@pytest.mark.parametrize("cause", [saved, cancelled, revoked, reported], ids=lambda cause: cause.__name__)
def test_an_event_is_recorded_in_the_transaction_of_its_cause(
    causeway: Causeway, poller: Poller, cause: Callable[[Causeway], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    real, with_event = causeway.hub.store.transact, []

    def fail(operations: Any) -> None:
        if any(str(getattr(each, "item", {}).get("delivery_id", "")).startswith("events#") for each in operations):
            with_event.append([each.table for each in operations])
            raise StoreUnavailable("nothing was written")
        real(operations)

    monkeypatch.setattr(causeway.hub.store, "transact", fail)
    with pytest.raises((AssertionError, StoreUnavailable)):
        cause(causeway)

    assert with_event
    assert all(set(tables) - {"deliveries"} for tables in with_event)
    assert poller.fetch() == []


def test_the_log_line_of_a_recorded_event_has_its_id(causeway: Causeway, poller: Poller, lines: Lines) -> None:
    event_id = causeway.tpp.send_test_event()

    (line,) = [line for line in lines.all() if line["message"] == "events recorded"]
    assert line["event_ids"] == [event_id]


def test_an_event_body_is_stored_encrypted_and_not_logged(causeway: Causeway, poller: Poller, lines: Lines) -> None:
    causeway.psu.approve(1, state="tell-nobody")

    assert "tell-nobody" in poller.fetch()[0]["body"]
    assert "tell-nobody" not in repr([*causeway.hub.store.scan("deliveries")])
    assert "tell-nobody" not in lines.text


def longest(schema: Any) -> Any:
    """Return the longest value of a member, in four-byte characters."""
    schema = schema.get("anyOf", [schema])[0]
    if schema.get("type") == "array":
        return schema["items"]["enum"]
    if "enum" in schema:
        return max(schema["enum"], key=lambda value: len(str(value)))
    return schema.get("maxLength", 64) * "\U0001f600"


@pytest.mark.parametrize("event", EVENTS)
def test_longest_event_fits_into_an_item_and_100_longest_events_fit_into_a_response(
    causeway: Causeway, poller: Poller, event: EventType
) -> None:
    members = EVENTS[event].data.model_json_schema()["properties"]
    data: Any = {name: longest(schema) for name, schema in members.items()}

    (write,) = causeway.hub.openbanking.tpp_events.record(causeway.tpp.client, event, data).operations

    size = len(write.item["sealed"])
    assert size > 100
    assert size < ITEM_BYTES / 50
    assert size * 100 < ANSWER_BYTES / 2


# -- pages


@pytest.mark.dynamodb
@pytest.mark.parametrize("limit", [1, 2, 3, 7, 8])
def test_the_pages_list_each_of_several_events_of_the_same_millisecond_exactly_once(
    causeway: Causeway, limit: int
) -> None:
    poller = causeway.tpp.poll_events(limit)
    made = [causeway.tpp.send_test_event() for _ in range(7)]

    found = [event_ids(page) for page in poller.pages()]

    assert sorted(each for page in found for each in page) == sorted(made)
    assert max(map(len, found)) <= limit
    assert poller.fetch() == []


@pytest.mark.dynamodb
def test_the_pages_of_events_list_the_oldest_event_first(causeway: Causeway) -> None:
    poller, made = causeway.tpp.poll_events(3), []
    for _ in range(10):
        made.append(causeway.tpp.send_test_event())
        causeway.clock.advance(0.5)

    assert event_ids(poller.fetch()) == made


def test_a_page_of_events_has_20_events_by_default(causeway: Causeway, poller: Poller) -> None:
    for _ in range(21):
        causeway.tpp.send_test_event()

    first, second = poller.page(), poller.page()

    assert (len(first["events"]), first["has_more"]) == (20, True)
    assert (len(second["events"]), second["has_more"]) == (1, False)


def test_a_last_page_with_the_maximum_number_of_events_returns_has_more_false(causeway: Causeway) -> None:
    poller = causeway.tpp.poll_events(2)
    for _ in range(2):
        causeway.tpp.send_test_event()

    assert [poller.page()["has_more"] for _ in range(2)] == [False, False]


def test_a_new_event_is_returned_immediately_and_repeated_only_for_the_same_cursor(
    causeway: Causeway, poller: Poller
) -> None:
    poller.page()
    before = poller.after
    event_id = causeway.tpp.send_test_event()

    again = [event_ids(poller.request(after=before).body["events"]) for _ in range(2)]

    assert again == [[event_id], [event_id]]
    assert event_ids(poller.fetch()) == [event_id]
    assert poller.fetch() == []


def test_a_request_without_a_cursor_starts_with_the_oldest_event(causeway: Causeway, poller: Poller) -> None:
    made = [causeway.tpp.send_test_event()]
    poller.fetch()
    causeway.clock.advance(3600)
    made.append(causeway.tpp.send_test_event())

    assert event_ids(poller.request().body["events"]) == made


def test_an_event_expires_after_30_days(causeway: Causeway, poller: Poller) -> None:
    event_id = causeway.tpp.send_test_event()
    (item,) = causeway.hub.store.scan("deliveries")
    assert item["expires_at"] == causeway.clock.time() + 30 * DAY

    causeway.clock.advance(30 * DAY - 1)
    before = event_ids(poller.fetch())
    causeway.clock.advance(1)
    after = Poller(causeway.tpp).fetch()

    assert (before, after) == ([event_id], [])


def test_a_client_that_fetches_after_40_days_gets_the_events_that_have_not_expired(
    causeway: Causeway, poller: Poller
) -> None:
    causeway.tpp.send_test_event()
    poller.fetch()
    causeway.tpp.send_test_event()
    causeway.clock.advance(40 * DAY)
    event_id = causeway.tpp.send_test_event()

    assert event_ids(poller.fetch()) == [event_id]


def test_events_of_other_clients_are_not_returned(causeway: Causeway, poller: Poller) -> None:
    causeway.tpp.send_test_event()
    other = causeway.hub.openbanking.clients.create(owner="other@example.com", title="O", secret=True, events="poll")
    assert other.secret is not None
    own = causeway.hub.openbanking.tpp_events.send_test(other.client)

    headers = {"authorization": basic(other.client.client_id, other.secret)}
    answer = causeway.tpp.call("GET", "/tpp/events", client_id=other.client.client_id, headers=headers)

    assert event_ids(answer.body["events"]) == [own]


# -- parameters


@pytest.mark.parametrize(
    ("query", "name"),
    [("limit=0", "limit"), ("limit=101", "limit"), ("limit=ten", "limit"), ("limit=", "limit"), ("page=1", "page")],
)
def test_an_invalid_query_parameter_returns_400_with_the_name_of_the_parameter(
    causeway: Causeway, poller: Poller, query: str, name: str
) -> None:
    assert refused_parameter(causeway.tpp.call("GET", f"/tpp/events?{query}"), name)


def test_a_repeated_parameter_returns_400(causeway: Causeway, poller: Poller) -> None:
    answer = causeway.tpp.call("GET", "/tpp/events?limit=1&limit=2")

    assert (answer.status, answer.body["code"]) == (400, "PARAMETER_NOT_CONSISTENT")


def test_a_cursor_of_another_client_returns_400(causeway: Causeway, poller: Poller) -> None:
    poller.page()
    causeway.tpp.client = causeway.hub.openbanking.clients.create(owner="other@example.com", title="Other").client

    causeway.tpp.poll_events()

    assert refused_parameter(poller.request(after=poller.after), "after")


def test_a_cursor_of_the_consent_list_returns_400(causeway: Causeway, poller: Poller) -> None:
    for _ in range(2):
        causeway.psu.approve(1)
    cursor = causeway.tpp.call("GET", "/tpp/consents?limit=1").body["next"]

    assert refused_parameter(poller.request(after=cursor), "after")


FORGERIES: list[Callable[[str], str]] = [
    lambda cursor: cursor[:-1] + ("A" if cursor[-1] != "A" else "B"),
    lambda cursor: ("A" if cursor[0] != "A" else "B") + cursor[1:],
    lambda cursor: cursor.partition(".")[0],
    lambda cursor: cursor.partition(".")[2],
    lambda cursor: "." + cursor.partition(".")[2],
    lambda cursor: cursor[:-1] + "é",
    lambda cursor: "x",
    lambda cursor: "",
    lambda cursor: "1" * 4097,
    lambda cursor: cursor + "\n",
]


@pytest.mark.parametrize("alter", FORGERIES)
def test_a_forged_cursor_returns_400(causeway: Causeway, poller: Poller, alter: Callable[[str], str]) -> None:
    causeway.tpp.send_test_event()

    assert refused_parameter(poller.request(after=alter(poller.page()["next"])), "after")


def test_a_cursor_remains_valid_after_a_data_key_rotation(causeway: Causeway, poller: Poller) -> None:
    causeway.tpp.send_test_event()
    poller.page()
    causeway.hub.keyring.rotate_data_key()
    event_id = causeway.tpp.send_test_event()

    assert event_ids(poller.fetch()) == [event_id]


# -- authentication


def test_a_client_without_credentials_returns_401_with_the_reason(causeway: Causeway, lines: Lines) -> None:
    answer = Poller(causeway.tpp).request()

    assert (answer.status, answer.body["code"]) == (401, "WRONG_CREDENTIALS")
    assert "this client has no secret, key or certificate" in answer.body["title"]
    assert answer.headers["www-authenticate"].startswith("Basic")


def test_an_event_fetch_with_a_bearer_token_and_without_the_client_secret_returns_401(causeway: Causeway) -> None:
    bearer = causeway.tpp.tokens(1)["access_token"]
    assert causeway.tpp.call("GET", "/tpp/events", bearer=bearer).status == 401

    causeway.tpp.poll_events()

    assert causeway.tpp.call("GET", "/tpp/events", bearer=bearer).status == 401
    assert causeway.tpp.call("GET", "/tpp/events").status == 200


def test_an_event_fetch_with_a_wrong_client_secret_returns_401(causeway: Causeway, poller: Poller) -> None:
    headers = {"authorization": basic(causeway.tpp.client_id, "wrong")}

    assert causeway.tpp.call("GET", "/tpp/events", headers=headers).status == 401


def test_a_client_assertion_authenticates_one_fetch(causeway: Causeway) -> None:
    holder = KeyHolder()
    secure(causeway, holder)
    causeway.tpp.client = causeway.hub.openbanking.clients.update(causeway.tpp.client_id, events="poll").client
    event_id = causeway.tpp.send_test_event()

    assert causeway.tpp.call("GET", "/tpp/events").status == 401
    sent = {"x-client-assertion": holder.assertion(causeway)}
    assert event_ids(causeway.tpp.call("GET", "/tpp/events", headers=sent).body["events"]) == [event_id]
    assert causeway.tpp.call("GET", "/tpp/events", headers=sent).status == 401, "an assertion is used once"


@pytest.mark.parametrize("method", ["client_secret_basic", "client_secret_post"])
def test_a_client_with_a_secret_authenticates_by_http_basic(causeway: Causeway, method: str) -> None:
    clients, client_id = causeway.hub.openbanking.clients, causeway.tpp.client_id
    secret = clients.update(client_id, events="poll", security={"auth_method": method}).secret
    assert secret is not None

    assert causeway.tpp.call("GET", "/tpp/events").status == 401
    assert causeway.tpp.call("GET", "/tpp/events", headers={"authorization": basic(client_id, secret)}).status == 200


@pytest.mark.parametrize(
    "security",
    [
        {"auth_method": "tls_client_auth", "tls_client_auth_subject_dn": SUBJECT},
        {"organization_identifier": ORGANIZATION},
    ],
    ids=["tls_client_auth", "PSD2 certificate"],
)
def test_a_client_certificate_authenticates_a_fetch(
    shared_causeway: Causeway, tmp_path: Path, security: dict[str, str]
) -> None:
    authority = Authority()
    causeway = shared_causeway.again(stage_with(authority, tmp_path))
    with causeway.installed():
        causeway.hub.openbanking.clients.update(causeway.tpp.client_id, events="poll", security=security)

        assert causeway.tpp.call("GET", "/tpp/events").status == 401
        assert causeway.tpp.call("GET", "/tpp/events", certificate=issue(Authority())).status == 401
        assert causeway.tpp.call("GET", "/tpp/events", certificate=issue(authority)).status == 200


@pytest.mark.parametrize("client_id", ["", "unknown"])
def test_an_unknown_client_returns_401(causeway: Causeway, client_id: str) -> None:
    assert causeway.tpp.call("GET", "/tpp/events", client_id=client_id).status == 401


def test_an_inactive_client_returns_401(causeway: Causeway, poller: Poller) -> None:
    causeway.hub.openbanking.clients.deactivate(causeway.tpp.client_id)

    assert poller.request().status == 401


def test_an_invalid_request_id_returns_401(causeway: Causeway, poller: Poller) -> None:
    answer = causeway.tpp.call("GET", "/tpp/events", headers={"x-request-id": "1"})

    assert (answer.status, answer.body["code"]) == (401, "REQUEST_ID_NOT_UUID")


# -- the mode


def test_a_change_of_the_events_mode_does_not_delete_recorded_events(causeway: Causeway, poller: Poller) -> None:
    fetched = causeway.tpp.send_test_event()
    causeway.clock.advance(1)
    causeway.tpp.set_events_url()
    sent = causeway.tpp.send_test_event()
    causeway.tpp.client = causeway.hub.openbanking.clients.update(causeway.tpp.client_id, events="poll").client
    later = causeway.tpp.send_test_event()

    assert event_ids(poller.fetch()) == [fetched, later]
    assert [each.delivery_id for each in causeway.recorded("event")] == [sent]


def test_a_client_that_changes_to_another_events_mode_can_still_fetch_recorded_events(
    causeway: Causeway, poller: Poller
) -> None:
    event_id = causeway.tpp.send_test_event()
    causeway.tpp.client = causeway.hub.openbanking.clients.update(causeway.tpp.client_id, events="none").client

    with pytest.raises(NoEvents, match=causeway.tpp.client_id):
        causeway.tpp.send_test_event()
    causeway.psu.approve(1)

    assert event_ids(poller.fetch()) == [event_id]
    assert causeway.recorded("event") == []


def test_an_undelivered_event_can_be_fetched_after_the_client_changes_to_the_mode_poll(causeway: Causeway) -> None:
    causeway.tpp.set_events_url()
    sent = causeway.tpp.send_test_event()
    causeway.receiver.answers = [Reply(500, b"", {}, 0)]
    causeway.hub.delivery.worker.attempt(sent)
    poller = causeway.tpp.poll_events()
    causeway.clock.advance(10)

    for _ in range(2):
        causeway.hub.delivery.worker.attempt(sent)

    (event,) = poller.fetch()
    (attempted,) = causeway.receiver.received
    assert (event["id"], event["body"].encode()) == (attempted.headers["webhook-id"], attempted.body)
    assert event["created_at"] == timestamp(causeway.clock.time())
    assert causeway.delivery(sent).state == "delivered"
    assert poller.fetch() == []


def test_a_delivery_to_a_client_that_turned_events_off_ends_with_an_error(causeway: Causeway) -> None:
    causeway.tpp.set_events_url()
    sent = causeway.tpp.send_test_event()

    causeway.hub.openbanking.clients.update(causeway.tpp.client_id, events="none")
    causeway.hub.delivery.worker.attempt(sent)

    assert causeway.delivery(sent).last["error"] == "the client no longer has an Events URL"


def test_the_member_created_at_of_an_event_equals_the_timestamp_in_the_event_body(
    causeway: Causeway, poller: Poller
) -> None:
    causeway.clock.advance(0.999)
    causeway.tpp.send_test_event()

    (event,) = poller.fetch()

    assert event["created_at"] == jsontext.loads(event["body"])["timestamp"] == timestamp(causeway.clock.time())
