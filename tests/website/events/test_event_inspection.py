"""The delivery page displays bodies unchanged, truncates long bodies, and omits deleted bodies."""

from chalicelib.bootstrap import PLANS
from chalicelib.delivery.delivery_record import BODY, part_key
from chalicelib.foundation import jsontext
from chalicelib.foundation.http.outbound import Reply
from chalicelib.openbanking.flows.deferred_calls import request_text
from chalicelib.website.events.event_inspection import (
    FOLDED_VALUES,
    SHOWN_CHARACTERS,
    Inspection,
    inspect_delivery,
    show_body,
)
from tests.causeway import Causeway
from tests.website.web_user import WebUser, attempt_due_deliveries


def inspected(causeway: Causeway, delivery_id: str) -> Inspection:
    delivery = causeway.delivery(delivery_id)
    return inspect_delivery(causeway.hub.delivery.bodies, delivery, PLANS[delivery.kind], request_text)


def sent_test_event(causeway: Causeway, *answers: Reply) -> str:
    delivery_id = causeway.hub.openbanking.tpp_events.send_test(causeway.tpp.client)
    causeway.receiver.answers = [*answers]
    attempt_due_deliveries(causeway)
    return delivery_id


def test_a_json_body_of_moderate_size_is_foldable_and_its_number_formats_are_preserved() -> None:
    shown = show_body('{"amount": 1.50, "on": null, "rows": [1]}')

    assert (shown.is_folded, shown.is_whole) == (True, True)
    assert jsontext.dumps(shown.value) == '{"amount":1.50,"on":null,"rows":[1]}'
    assert show_body(jsontext.dumps([0] * (FOLDED_VALUES - 1))).is_folded
    assert not show_body(jsontext.dumps([0] * FOLDED_VALUES)).is_folded


def test_a_body_other_than_a_json_object_is_shown_as_text() -> None:
    for text in ("<html>Bad Gateway</html>", "", "ok", "3", '{"a":1,"a":2}', "{"):
        shown = show_body(text)
        assert (shown.text, shown.is_folded, shown.is_whole) == (text, False, True)


def test_a_long_event_body_is_truncated() -> None:
    shown = show_body("[" * (SHOWN_CHARACTERS + 7))

    assert (len(shown.text), shown.size, shown.is_whole) == (SHOWN_CHARACTERS, SHOWN_CHARACTERS + 7, False)


def test_an_event_page_shows_the_payload_and_the_receivers_responses_newest_first(causeway: Causeway) -> None:
    causeway.tpp.set_events_url()
    delivery_id = sent_test_event(causeway, Reply(503, b"busy", {}, 0.1))
    causeway.clock.advance(60)
    attempt_due_deliveries(causeway)
    found = inspected(causeway, delivery_id)

    assert found.payload is not None
    assert found.payload.value["data"] == {"message": "This is a test."}
    assert found.outcome is None
    assert [each.reply.text if each.reply else None for each in found.attempts] == [None, "busy"]


def test_an_asynchronous_call_page_shows_request_and_outcome_without_psu_headers(causeway: Causeway) -> None:
    causeway.banks[1].answers["/accounts"] = lambda sent: {"status": "success", "accounts": []}
    headers = {"prefer": "respond-async", "psu-ip-address": "192.0.2.7"}
    accepted = causeway.tpp.call("GET", "/tpp/accounts", bearer=causeway.tpp.tokens(1)["access_token"], headers=headers)
    attempt_due_deliveries(causeway)
    found = inspected(causeway, accepted.body["request_id"])

    assert found.payload is not None
    assert found.payload.value == {}
    assert "192.0.2.7" not in found.payload.text
    assert found.outcome is not None
    assert found.outcome.value["accounts"] == []
    (attempt,) = found.attempts
    assert attempt.reply is not None
    assert attempt.reply.value == {"status": "success", "accounts": []}


def test_a_delivery_with_deleted_bodies_is_shown_without_bodies(causeway: Causeway, user: WebUser) -> None:
    client_id = user.create_client("Eventful", events_url=causeway.receiver.url)
    causeway.tpp.client = causeway.hub.openbanking.clients.get(client_id)
    delivery_id = sent_test_event(causeway, Reply(500, b"busy", {}, 0.1))
    (entry,) = causeway.delivery(delivery_id).history
    for name in (BODY, entry["reply"]):
        causeway.hub.store.delete(*part_key(delivery_id, name))

    assert user.get(f"/deliveries/{delivery_id}").status == 200
    assert "It is no longer stored" in user.text
    assert "status 500" in user.text
    assert "busy" not in user.text


def test_a_delivery_of_an_earlier_version_is_shown(causeway: Causeway, user: WebUser) -> None:
    client_id = user.create_client("Eventful", events_url=causeway.receiver.url)
    causeway.tpp.client = causeway.hub.openbanking.clients.get(client_id)
    delivery_id = sent_test_event(causeway)
    before = {"at": 1, "milliseconds": 250, "status": 503, "error": "it answered with status 503"}
    key = {"delivery_id": delivery_id, "part": "record"}
    causeway.hub.store.update("deliveries", key, set={"history": [before]})

    user.get(f"/deliveries/{delivery_id}")
    assert "It answered with status 503." in user.text
