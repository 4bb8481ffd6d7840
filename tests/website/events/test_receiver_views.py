"""The built-in receiver: its address determines its response, and a button sets it as the Events URL of a client."""

import re
from collections.abc import Mapping
from dataclasses import replace

import pytest
from chalice.app import Response

from chalicelib.foundation import jsontext
from chalicelib.foundation.crypto import event_signing
from chalicelib.foundation.http.outbound import Reply
from chalicelib.foundation.http.web import BODY_BYTES, Incoming
from chalicelib.website.events.receiver_views import BEHAVIOURS, answer_event, receiver_url
from tests.causeway import Causeway
from tests.kit.storage import record_calls
from tests.website.web_user import WebUser, attempt_due_deliveries

BODY = b'{"type":"test"}'


def signed(causeway: Causeway, client_id: str, body: bytes = BODY) -> Mapping[str, str]:
    clients = causeway.hub.openbanking.clients
    secrets = clients.events_secrets(clients.get(client_id))
    headers = event_signing.headers(secrets, "an-event", causeway.clock.real.time(), body)
    return {"content-type": "application/json", **headers}


def received(
    causeway: Causeway, client_id: str, name: str, headers: Mapping[str, str], waited: list[float], body: bytes = BODY
) -> Response:
    incoming = Incoming(
        method="POST",
        route="/sandbox/receivers/{client_id}/{behaviour}",
        headers=headers,
        query=(),
        body=body,
        uri={"client_id": client_id, "behaviour": name},
        identity={},
    )
    return answer_event(causeway.hub.website, incoming, waited.append)


@pytest.fixture
def eventful(causeway: Causeway, user: WebUser, client_id: str) -> str:
    user.post(f"/sandbox/receivers/{client_id}", behaviour="ok")
    return client_id


@pytest.mark.parametrize(("name", "status", "seconds"), [("ok", 200, 0), ("failing", 500, 0), ("slow", 200, 5)])
def test_the_receiver_returns_the_status_and_delay_of_its_address(
    causeway: Causeway, eventful: str, name: str, status: int, seconds: int
) -> None:
    waited: list[float] = []
    answer = received(causeway, eventful, name, signed(causeway, eventful), waited)

    assert (answer.status_code, waited) == (status, [seconds])
    assert jsontext.loads(answer.body)["receiver"] == "built-in"


@pytest.mark.parametrize(("name", "status"), [("ok", 200), ("failing", 500)])
def test_the_receiver_accepts_http_requests_without_a_session(
    causeway: Causeway, eventful: str, name: str, status: int
) -> None:
    path = f"/sandbox/receivers/{eventful}/{name}"

    assert causeway.call("POST", path, BODY, signed(causeway, eventful)).status == status


def test_the_receiver_rejects_an_unsigned_request_or_an_invalid_request_without_a_delay(
    causeway: Causeway, user: WebUser, eventful: str
) -> None:
    waited: list[float] = []
    other, without_events = user.create_client(events_url="https://other.example/"), user.create_client()
    body = b'{"<a>":1}'
    own = signed(causeway, eventful, body)
    for client_id, name, headers, sent, status in (
        (eventful, "unknown", own, body, 404),
        ("nobody", "slow", own, body, 401),
        ("x" * 3000, "slow", own, body, 401),
        (eventful, "slow", {}, body, 401),
        (eventful, "slow", signed(causeway, other, body), body, 401),
        (eventful, "slow", own, body + b" ", 401),
        (without_events, "slow", own, body, 401),
        (eventful, "slow", own, b" " * (BODY_BYTES + 1), 413),
    ):
        answer = received(causeway, client_id, name, headers, waited, sent)
        assert (answer.status_code, answer.headers["Content-Type"]) == (status, "application/json")
        assert not re.search("<a>|unknown|nobody|xxx", answer.body)

    assert waited == []


@pytest.mark.parametrize(
    "changes", [{"webhook-timestamp": ""}, {"webhook-timestamp": "1"}, {"webhook-signature": ""}, {"webhook-id": ""}]
)
def test_a_request_with_malformed_headers_is_rejected_without_a_read(
    causeway: Causeway, eventful: str, changes: Mapping[str, str]
) -> None:
    headers = {**signed(causeway, eventful), **changes}
    with record_calls(causeway) as calls:
        answer = received(causeway, eventful, "ok", headers, [])

    assert (answer.status_code, calls) == (401, [])


def test_known_and_unknown_clients_get_the_same_401_response(causeway: Causeway, eventful: str) -> None:
    unsigned = {**signed(causeway, eventful), "webhook-signature": "v1,AAAA"}
    known, unknown = (received(causeway, client_id, "ok", unsigned, []) for client_id in (eventful, "nobody"))

    assert (known.status_code, known.body) == (unknown.status_code, unknown.body)


def test_one_click_sends_a_clients_events_to_the_built_in_receiver(
    causeway: Causeway, user: WebUser, client_id: str
) -> None:
    user.get("/deliveries")
    assert "No server to receive events?" in user.text
    answer = user.post(f"/sandbox/receivers/{client_id}", behaviour="failing")
    assert answer.status == 303
    user.follow()
    assert "now go to the built-in receiver" in user.text
    assert "Answers 500 (in use)" in user.text

    url = receiver_url(causeway.hub.settings.public_url, client_id, "failing")
    client = causeway.hub.openbanking.clients.get(client_id)
    assert client.events_url == url
    made = received(causeway, client_id, "failing", signed(causeway, client_id), [])
    causeway.receiver.url = url
    causeway.receiver.answers = [Reply(made.status_code, made.body.encode(), {}, 0.1)]
    path = user.send_test_event(client_id)
    attempt_due_deliveries(causeway)
    user.get(path)
    assert "status 500" in user.text
    assert '"receiver" : "built-in"' in user.text


def test_the_built_in_receiver_can_be_chosen_on_the_settings_page(
    causeway: Causeway, user: WebUser, client_id: str
) -> None:
    user.get(f"/clients/{client_id}/settings")
    form = re.search(
        rf'action="(/sandbox/receivers/{client_id})" aria-label="Use the built-in receiver".*?</form>',
        user.last.text,
        re.DOTALL,
    )
    assert form is not None
    assert re.findall('name="behaviour" value="([^"]+)"', form[0]) == [*BEHAVIOURS]

    user.post(form[1], behaviour="slow")
    user.get(f"/clients/{client_id}/settings")
    assert "Answers 200 after 5 s (in use)" in user.text
    assert receiver_url(causeway.hub.settings.public_url, client_id, "slow") in user.last.text


def test_an_archived_client_is_not_offered_the_built_in_receiver(
    causeway: Causeway, user: WebUser, client_id: str
) -> None:
    user.post(f"/clients/{client_id}", action="archive")
    for page in (f"/clients/{client_id}/settings", f"/deliveries?client_id={client_id}"):
        assert "/sandbox/receivers/" not in user.get(page).text

    assert user.post(f"/sandbox/receivers/{client_id}", behaviour="ok").status == 400
    assert causeway.hub.openbanking.clients.get(client_id).events_url is None


def test_changing_the_receiver_behaviour_does_not_change_the_events_secret(
    causeway: Causeway, user: WebUser, client_id: str
) -> None:
    user.post(f"/sandbox/receivers/{client_id}", behaviour="ok")
    before = causeway.hub.openbanking.clients.get(client_id)
    user.post(f"/sandbox/receivers/{client_id}", behaviour="slow")
    after = causeway.hub.openbanking.clients.get(client_id)

    assert (after.events_url or "").endswith(f"/{client_id}/slow")
    assert [each.sealed for each in after.event_secrets] == [each.sealed for each in before.event_secrets]


def test_the_receiver_form_rejects_other_users_unknown_behaviours_and_forged_requests(
    causeway: Causeway, user: WebUser, client_id: str
) -> None:
    other = WebUser.signed_in(causeway, "other@example.com")

    assert other.post(f"/sandbox/receivers/{client_id}", behaviour="ok").status == 404
    assert user.post(f"/sandbox/receivers/{client_id}", behaviour="unknown").status == 400
    assert user.post(f"/sandbox/receivers/{client_id}", token="forged", behaviour="ok").status == 403
    assert causeway.hub.openbanking.clients.get(client_id).events_url is None


def test_production_pages_do_not_offer_the_built_in_receiver(causeway: Causeway, user: WebUser, client_id: str) -> None:
    causeway.hub.settings = replace(causeway.hub.settings, stage="prod")
    for page in (f"/deliveries?client_id={client_id}", f"/clients/{client_id}/settings"):
        assert "built-in receiver" not in user.get(page).text
