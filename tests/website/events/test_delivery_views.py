"""Event deliveries of a user's own clients: lists, pages and resending."""

import html
import re
from urllib.parse import quote, urlencode

import pytest

from chalicelib.foundation.clock import timestamp
from chalicelib.foundation.http.outbound import Reply
from chalicelib.website.events.event_inspection import DETAILED
from chalicelib.website.pages import CLIENT_COOKIE
from chalicelib.website.records.attempts import LIMITS, count_attempt
from tests.causeway import Answer, Causeway
from tests.kit.storage import record_calls
from tests.website.web_user import WebUser, attempt_due_deliveries


@pytest.fixture
def client_id(causeway: Causeway, user: WebUser) -> str:
    client_id = user.create_client("Eventful", events_url=causeway.receiver.url)
    causeway.tpp.client = causeway.hub.openbanking.clients.get(client_id)
    return client_id


def test_the_delivery_list_of_a_user_without_a_client_shows_a_message(user: WebUser) -> None:
    user.get("/deliveries")

    assert "You have no clients yet" in user.text


def test_a_test_event_is_sent_and_shown_as_delivered(causeway: Causeway, user: WebUser, client_id: str) -> None:
    path = user.send_test_event(client_id)
    user.get(f"/deliveries?client_id={client_id}")
    assert "due" in user.text
    attempt_due_deliveries(causeway)
    user.get("/deliveries")

    assert [event["type"] for event in causeway.receiver.events] == ["test"]
    assert re.search(r"test Event delivered 1 \d+ ms 204", user.text)
    user.get(path)
    assert "status 204" in user.text
    assert '"message" : "This is a test."' in user.text


def test_a_failed_attempt_shows_status_response_and_next_attempt(
    causeway: Causeway, user: WebUser, client_id: str
) -> None:
    causeway.receiver.answers = [
        Reply(503, b"<b>words of the receiver</b>", {"Set-Cookie": "secret=cookie", "Server": "nginx"}, 0.2)
    ]
    path = user.send_test_event(client_id)
    attempt_due_deliveries(causeway)
    user.get("/deliveries")

    assert re.search(r"due 1 \d+ ms 503 in \d seconds?", user.text)
    user.get(path)
    assert "The receiver responded with status 503." in user.text
    assert "server nginx" in user.text
    assert "set-cookie ***" in user.text
    assert "webhook-signature ***" in user.text
    assert f"webhook-id {path.rpartition('/')[2]}" in user.text
    assert "<b>words of the receiver</b>" in user.text
    for secret in ("secret=cookie", "<b>words", "v1,"):
        assert secret not in user.last.text


def progress(user: WebUser) -> str:
    """Check the address that the page polls. Return the state in its response, which changes only with the delivery."""
    found = re.search(r'data-live-check="([^"]+)".* data-live-state="([^"]+)"', user.last.text)
    assert found is not None
    assert user.get(html.unescape(found[1])).body == {"state": found[2]}
    return found[2]


def test_the_event_page_refreshes_until_the_delivery_state_is_final(
    causeway: Causeway, user: WebUser, client_id: str
) -> None:
    causeway.receiver.answers = [Reply(503, b"busy", {}, 0.2)]
    path = user.send_test_event(client_id)
    user.get(path)
    assert f'<noscript>, if JavaScript is enabled. <a href="{path}">Reload</a></noscript>' in user.last.text
    seen = [progress(user)]
    causeway.clock.advance(1)
    assert user.get(f"{path}?format=json").body == {"state": seen[0]}
    (delivery,) = causeway.recorded("event")
    attempt = causeway.hub.delivery.worker.begin(delivery.delivery_id)
    assert attempt is not None
    user.get(path)
    assert "An attempt is running" in user.text
    seen.append(progress(user))
    causeway.hub.delivery.worker.carry_out(attempt)
    user.get(path)
    seen.append(progress(user))
    causeway.clock.advance(60)
    attempt_due_deliveries(causeway)
    user.get(path)

    assert len(set(seen)) == 3
    assert "delivered" in user.text
    assert not re.search("data-live=|data-live-check=|live[^>]*js|Reload", user.last.text), "nothing changes any more"
    user.post(path)
    user.follow()
    assert progress(user)


def test_the_state_of_an_event_is_returned_only_to_its_owner(causeway: Causeway, user: WebUser, client_id: str) -> None:
    path = user.send_test_event(client_id)

    assert WebUser.signed_in(causeway, "other@example.com").get(f"{path}?format=json").status == 404
    assert WebUser(causeway).get(f"{path}?format=json").status == 303


def test_the_owner_of_a_client_can_resend_an_event(causeway: Causeway, user: WebUser, client_id: str) -> None:
    path = user.send_test_event(client_id)
    attempt_due_deliveries(causeway)
    user.get(path)
    user.post(path)
    user.follow()
    assert "being sent again" in user.text
    attempt_due_deliveries(causeway)

    assert len(causeway.receiver.received) == 2
    assert len({sent.headers["webhook-id"] for sent in causeway.receiver.received}) == 1


def test_an_asynchronous_call_is_shown_and_cannot_be_resent(causeway: Causeway, user: WebUser, client_id: str) -> None:
    causeway.banks[1].answers["/accounts"] = lambda sent: {"status": "success", "accounts": []}
    bearer = causeway.tpp.tokens(1)["access_token"]
    accepted = causeway.tpp.call("GET", "/tpp/accounts", bearer=bearer, headers={"prefer": "respond-async"})
    attempt_due_deliveries(causeway)
    user.get("/deliveries")
    path = f"/deliveries/{accepted.body['request_id']}"

    assert accepted.status == 202
    assert re.search(r"/tpp/accounts Asynchronous call · ALPHGB21 delivered", user.text)
    user.get(path)
    assert "x-api-key ***" in user.text
    assert "Outcome status 200" in user.text
    assert '"accounts" : []' in user.text
    assert "cannot be resent" in user.text
    assert user.post(path).status == 409
    assert "its caller has already received an outcome" in user.text


@pytest.mark.parametrize("arrives", [True, False])
def test_resending_an_event_during_a_delivery_attempt_rereads_its_state(
    causeway: Causeway, user: WebUser, client_id: str, monkeypatch: pytest.MonkeyPatch, arrives: bool
) -> None:
    user.send_test_event(client_id)
    (delivery,) = causeway.recorded("event")
    user.get(f"/deliveries/{delivery.delivery_id}")
    attempt = causeway.hub.delivery.worker.begin(delivery.delivery_id)
    assert attempt is not None
    causeway.receiver.answers = [] if arrives else [Reply(503, b"", {}, 0)]
    monkeypatch.setattr(causeway.hub.store, "pause", lambda seconds: causeway.hub.delivery.worker.carry_out(attempt))

    user.get(user.post(f"/deliveries/{delivery.delivery_id}").headers["location"])

    assert ("It has just been delivered" if arrives else "It is being sent again") in user.text
    assert ('class="toast plain"' in user.last.text) is arrives, "nothing was done, so nothing succeeded"
    assert causeway.delivery(delivery.delivery_id).due_at == (None if arrives else causeway.clock.time())


def test_deliveries_are_filtered_by_state(causeway: Causeway, user: WebUser, client_id: str) -> None:
    user.send_test_event(client_id)
    attempt_due_deliveries(causeway)
    user.get(f"/deliveries?client_id={client_id}&state=delivered")
    assert "delivered 1" in user.text
    user.get(f"/deliveries?client_id={client_id}&state=failed")
    assert "There is nothing here" in user.text


def test_events_are_filtered_by_type_and_time(causeway: Causeway, user: WebUser, client_id: str) -> None:
    user.send_test_event(client_id)
    now = timestamp(causeway.clock.time())[:16]
    causeway.clock.advance(3600)
    later = timestamp(causeway.clock.time())[:16]

    def rows(**fields: str) -> int:
        user.get(f"/deliveries?{urlencode({'client_id': client_id, **fields})}")
        return user.last.text.count('data-label="Recorded"')

    assert rows() == rows(type="test") == rows(**{"from": now, "until": now}) == 1
    assert rows(type="consent.revoked") == rows(type="relay") == rows(**{"from": later}) == 0
    assert "There is nothing here" in user.text


def test_an_invalid_time_filter_returns_400_at_its_field(user: WebUser, client_id: str) -> None:
    answer = user.get(f"/deliveries?client_id={client_id}&from=yesterday&until=2026-03-01T10:00")

    assert answer.status == 400
    assert "Enter a day and a time." in user.text
    assert 'value="2026-03-01T10:00"' in answer.text


def test_an_event_fetched_by_polling_is_listed_and_shown(causeway: Causeway, user: WebUser) -> None:
    client_id = user.create_client("Polls")
    causeway.hub.openbanking.clients.update(client_id, events="poll")
    user.post(f"/clients/{client_id}", action="test-event")
    user.get(f"/deliveries?client_id={client_id}&state=recorded")
    assert "Event for fetching" in user.text
    found = re.search(r'href="([^"]+at=\d+)"', user.last.text)
    assert found is not None
    path = html.unescape(found[1])

    user.cookies.pop(CLIENT_COOKIE)
    user.get(path)
    assert "This is a test." in user.text
    assert "GET /tpp/events" in user.text
    assert user.cookies[CLIENT_COOKIE] == client_id
    assert user.get(path.replace("at=", "at=9")).status == 404
    for at in ("x", "\u0661", "", "1-2"):
        assert user.get(re.sub("at=[0-9]+", f"at={quote(at)}", path)).status == 404
    other = WebUser.signed_in(causeway, "other@example.com")
    assert other.get(path).status == 404


# -- the rows that a script asks for


def latest(user: WebUser, client_id: str, after: str = "", **fields: str) -> Answer:
    return user.get(f"/deliveries/latest?{urlencode({'client_id': client_id, **fields, 'after': after})}")


def cursor(answer: Answer) -> str:
    found = re.search(r'data-cursor="([^"]+)"', answer.text)
    assert found is not None
    return found[1]


def test_the_latest_rows_of_the_delivery_list_are_returned_only_after_a_change(
    causeway: Causeway, user: WebUser, client_id: str
) -> None:
    first = latest(user, client_id)
    assert (first.status, "<tr" in first.text, "<html" in first.text) == (200, False, False)
    assert latest(user, client_id, cursor(first)).status == 204

    user.send_test_event(client_id)
    second = latest(user, client_id, cursor(first))
    assert "due" in user.text
    assert cursor(user.get(f"/deliveries?client_id={client_id}")) == cursor(second)
    causeway.clock.advance(1)
    assert latest(user, client_id, cursor(second)).status == 204

    attempt_due_deliveries(causeway)
    third = latest(user, client_id, cursor(second))
    assert "delivered" in user.text
    assert latest(user, client_id, cursor(third)).status == 204
    assert "<tr" not in latest(user, client_id, type="consent.revoked").text


def test_the_latest_rows_of_the_delivery_list_include_the_notice_about_the_next_page(
    user: WebUser, client_id: str
) -> None:
    path = user.send_test_event(client_id)
    latest(user, client_id)
    user.get(path)

    assert "on its way" in user.text


def test_the_latest_rows_of_the_delivery_list_are_returned_only_to_the_owner_of_the_client(
    causeway: Causeway, user: WebUser, client_id: str
) -> None:
    assert latest(WebUser.signed_in(causeway, "other@example.com"), client_id).status == 404
    assert latest(WebUser(causeway), client_id).status == 303


def test_26_deliveries_are_listed_on_two_pages(causeway: Causeway, user: WebUser, client_id: str) -> None:
    for _ in range(26):
        causeway.hub.openbanking.tpp_events.send_test(causeway.tpp.client)
    user.get("/deliveries")
    older = re.search(r'href="([^"]+)" rel="next"', user.last.text)
    assert (user.last.text.count('data-label="Recorded"'), older is not None) == (25, True)
    user.get(older[1].replace("&amp;", "&") if older else "")

    assert user.last.text.count('data-label="Recorded"') == 1
    assert 'rel="prev"' in user.last.text
    assert user.get("/deliveries?before=x").status == 200


def test_deliveries_of_another_users_client_return_404(causeway: Causeway, user: WebUser, client_id: str) -> None:
    path = user.send_test_event(client_id)
    other = WebUser.signed_in(causeway, "other@example.com")
    other.create_client()

    assert other.get(f"/deliveries?client_id={client_id}").status == 404
    assert other.get(path).status == 404
    assert other.post(path).status == 404
    assert causeway.delivery(path.rpartition("/")[2]).attempts == 0


def test_revocation_notices_to_the_bank_are_hidden_from_the_owner_of_the_client(
    causeway: Causeway, user: WebUser, client_id: str
) -> None:
    bearer = causeway.tpp.tokens(1)["access_token"]
    causeway.tpp.call("POST", "/tpp/token/revoke", {"token": bearer})
    (notice,) = causeway.recorded("revoke_token")
    user.get("/deliveries")

    assert "consent.revoked" in user.text
    assert "revoke_token" not in user.text
    assert user.get(f"/deliveries/{notice.delivery_id}").status == 404
    assert user.post(f"/deliveries/{notice.delivery_id}").status == 404


def test_a_test_event_cannot_be_sent_to_a_client_without_an_events_url(user: WebUser) -> None:
    client_id = user.create_client("Deaf")
    answer = user.post(f"/clients/{client_id}", action="test-event")

    assert (answer.status, "no Events URL" in user.text) == (400, True)
    user.get("/deliveries")
    assert "The client has no Events URL" in user.text


def test_a_polling_client_gets_a_test_event_and_still_polls_after_a_change(causeway: Causeway, user: WebUser) -> None:
    client_id = user.create_client("Polls")
    clients = causeway.hub.openbanking.clients
    clients.update(client_id, events="poll")

    user.get(f"/clients/{client_id}")
    assert "The client fetches them from GET /tpp/events" in user.text
    assert "Send a test event" in user.text
    answer = user.post(f"/clients/{client_id}", action="test-event")
    assert (answer.status, answer.headers["location"]) == (303, f"/clients/{client_id}")
    user.follow()
    assert "the client can fetch it" in user.text
    user.get("/deliveries")
    assert "Event for fetching" in user.text
    user.save_client(client_id, title="Renamed")

    changed = clients.get(client_id)
    page = causeway.hub.delivery.event_log.page(f"client#{client_id}", None, 20)
    assert (changed.title, changed.events_mode) == ("Renamed", "poll")
    assert [event.type for event in page.events] == ["test"]


def test_test_events_and_resends_are_limited(causeway: Causeway, user: WebUser, client_id: str) -> None:
    path = user.send_test_event(client_id)
    for _ in range(LIMITS["events"].attempts - 1):
        causeway.hub.website.call(count_attempt, [("events", causeway.tpp.client.owner)])

    assert user.post(f"/clients/{client_id}", action="test-event").status == 429
    assert user.post(path).status == 429
    assert "Too many attempts" in user.text
    assert len(causeway.recorded()) == 1


def test_a_malformed_delivery_id_returns_404_without_a_read(causeway: Causeway, user: WebUser, client_id: str) -> None:
    assert user.get(f"/deliveries/{'x' * 3000}").status == 404
    with record_calls(causeway) as calls:
        assert user.get(f"/deliveries/{'x' * 3000}?client_id={client_id}&at=1").status == 404
    assert len(calls) == 1, "the session"


def test_the_page_of_a_delivery_with_many_attempts_is_within_its_size_budget(
    causeway: Causeway, user: WebUser, email: str, client_id: str
) -> None:
    path = user.send_test_event(client_id)
    headers = {f"X-Header-{number:02}-{'n' * 48}": "v" * 200 for number in range(40)}
    for _ in range(10):
        causeway.receiver.answers = [Reply(503, b'"' * 3000, {**headers, "Server": "s" * 200}, 0.1)]
        attempt_due_deliveries(causeway)
        causeway.clock.advance(30 * 3600)
    user = WebUser.signed_in(causeway, email)
    answer = user.get(path)

    assert user.text.count("status 503") == 20  # the tag and the sentence
    assert answer.text.count("<summary>Headers</summary>") == DETAILED
    assert answer.text.count("<summary>Beginning of the answer</summary>") == DETAILED
    assert len(answer.text.encode()) < 100_000
