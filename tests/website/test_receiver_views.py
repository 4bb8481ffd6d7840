"""The built-in receiver: it answers as its address says, and a client's owner sends its events there by a button."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chalicelib.foundation import jsontext
from chalicelib.foundation.http.outbound import Reply
from chalicelib.website.receiver_views import BEHAVIOURS, answer_event, receiver_url
from tests.website.deliveries import send, send_test_event
from tests.website.person import Person
from tests.world import World


@pytest.mark.parametrize(("name", "status", "seconds"), [("ok", 200, 0), ("failing", 500, 0), ("slow", 200, 5)])
def test_it_answers_as_its_address_says(name: str, status: int, seconds: int) -> None:
    waited: list[float] = []
    answer = answer_event(name, waited.append)

    assert (answer.status_code, waited) == (status, [seconds])
    assert jsontext.loads(answer.body)["receiver"] == "built-in"


def test_a_behaviour_that_it_does_not_have_is_not_found(world: World) -> None:
    answer = world.call("POST", "/sandbox/receivers/a-client/dancing", b"{}")

    assert answer.status == 404
    assert all(name in answer.text for name in BEHAVIOURS)


def test_it_is_reached_over_http_without_a_session(world: World) -> None:
    assert world.call("POST", "/sandbox/receivers/a-client/ok", b"{}").status == 200
    assert world.call("POST", "/sandbox/receivers/a-client/failing", b"not json").status == 500


def test_a_clients_events_go_to_it_after_one_press_and_what_it_answered_is_shown(
    world: World, user: Person, client_id: str
) -> None:
    user.get("/deliveries")
    assert "No server to receive events?" in user.text
    answer = user.post(f"/sandbox/receivers/{client_id}", behaviour="failing")
    assert answer.status == 303
    user.follow()
    assert "now go to the built-in receiver" in user.text
    assert "Answers 500 (in use)" in user.text

    url = receiver_url(world.hub.settings.public_url, client_id, "failing")
    client = world.hub.openbanking.clients.get(client_id)
    assert client.events_url == url
    made = answer_event("failing")
    world.receiver.url = url
    world.receiver.answers = [Reply(made.status_code, made.body.encode(), {}, 0.1)]
    path = send_test_event(user, client_id)
    send(world)
    user.get(path)
    assert "status 500" in user.text
    assert '"receiver" : "built-in"' in user.text


def test_another_behaviour_is_chosen_and_keeps_the_secret(world: World, user: Person, client_id: str) -> None:
    user.post(f"/sandbox/receivers/{client_id}", behaviour="ok")
    before = world.hub.openbanking.clients.get(client_id)
    user.post(f"/sandbox/receivers/{client_id}", behaviour="slow")
    after = world.hub.openbanking.clients.get(client_id)

    assert (after.events_url or "").endswith(f"/{client_id}/slow")
    assert [each.sealed for each in after.event_secrets] == [each.sealed for each in before.event_secrets]


def test_nobody_chooses_it_for_another_users_client_or_without_a_form(
    world: World, user: Person, client_id: str
) -> None:
    other = Person.signed_in(world, "other@example.com")

    assert other.post(f"/sandbox/receivers/{client_id}", behaviour="ok").status == 404
    assert user.post(f"/sandbox/receivers/{client_id}", behaviour="dancing").status == 400
    assert user.post(f"/sandbox/receivers/{client_id}", token="forged", behaviour="ok").status == 403
    assert world.hub.openbanking.clients.get(client_id).events_url is None


def test_in_production_it_is_not_offered(world: World, user: Person, client_id: str) -> None:
    world.hub.settings = replace(world.hub.settings, stage="prod")
    user.get(f"/deliveries?client_id={client_id}")

    assert "No server to receive events?" not in user.text
