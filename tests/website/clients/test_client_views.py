"""Clients are created once and are private to their owner. They can be activated, deactivated and archived."""

import re
from dataclasses import replace
from typing import Any

import pytest

from chalicelib.openbanking.records.client_validation import InvalidClient
from chalicelib.website.clients.client_page_views import TABS
from chalicelib.website.clients.client_security_views import METHODS
from tests.causeway import Causeway
from tests.website.web_user import CALLBACK, WebUser

_CHANGES = ("deactivate", "activate", "test-event", "archive", "restore")


@pytest.fixture
def other(causeway: Causeway) -> WebUser:
    return WebUser.signed_in(causeway, "somebody@example.com")


def test_a_new_client_has_the_values_of_the_form(causeway: Causeway, user: WebUser, email: str) -> None:
    client_id = user.create_client(
        "Budget Friend",
        callback_urls="https://tpp.example/back?x=1\r\n\r\n  https://two.example/back \r\n",
        secret="yes",
        registration_number="PSDGB-FCA-1",
        events_url="https://tpp.example/events",
    )

    client = causeway.hub.openbanking.clients.get(client_id)
    assert client.owner == email
    assert client.title == "Budget Friend"
    assert client.active is True
    assert client.callback_urls == ("https://tpp.example/back?x=1", "https://two.example/back")
    assert client.events_url == "https://tpp.example/events"
    assert client.registration_number == "PSDGB-FCA-1"
    shown = re.findall(r'<code id="(client-secret|events-secret)">([^<]+)</code>', user.last.text)
    assert [name for name, _ in shown] == ["client-secret", "events-secret"]
    assert client.accepts_secret(shown[0][1], causeway.clock.time())
    assert causeway.hub.openbanking.clients.events_secrets(client) == [shown[1][1]]
    assert user.last.headers["referrer-policy"] == "no-referrer"


def test_client_secrets_are_shown_once(user: WebUser) -> None:
    client_id = user.create_client(secret="yes", events_url="https://tpp.example/events")
    shown = re.findall(r'<code id="(?:client-secret|events-secret)">([^<]+)</code>', user.last.text)
    again = user.get(f"/clients/{client_id}").text

    assert len(shown) == 2
    assert not [secret for secret in shown if secret in again]


def test_the_client_page_shows_the_rate_limit(causeway: Causeway, user: WebUser) -> None:
    client_id = user.create_client()

    user.get(f"/clients/{client_id}")
    assert "Limit of calls 60,000 a minute in each instance" in user.text
    assert "The default of the service" in user.text
    causeway.hub.openbanking.clients.update(client_id, calls_per_minute=1200)
    user.get(f"/clients/{client_id}")
    assert "Limit of calls 1,200 a minute in each instance" in user.text
    assert "The operator has set it for this client" in user.text
    user.get(f"/clients/{client_id}/history")
    assert "Calls a minute: none → 1200" in user.text


def test_an_owner_cannot_change_the_rate_limit(causeway: Causeway, user: WebUser, email: str) -> None:
    client_id = user.create_client()
    user.get(f"/clients/{client_id}/settings")

    user.post(f"/clients/{client_id}/settings", revision="0", action="general", title="New", calls_per_minute="1000000")

    client = causeway.hub.openbanking.clients.get(client_id)
    assert client.calls_per_minute is None
    with pytest.raises(InvalidClient, match="only the operator"):
        causeway.hub.openbanking.clients.update(client_id, owner=email, calls_per_minute=5)


def test_a_client_requires_only_a_title(causeway: Causeway, user: WebUser) -> None:
    client = causeway.hub.openbanking.clients.get(user.create_client())

    assert client.callback_url == CALLBACK
    assert client.registration_number == f"SANDBOX-{client.client_id[:8]}"
    assert (client.events_url, client.has_secret) == (None, False)


def test_a_new_user_creates_a_client_and_opens_its_authorize_page_in_one_step(
    causeway: Causeway, user: WebUser, email: str
) -> None:
    user.get("/")
    fields = {name: user.hidden(name) for name in ("draft", "title", "active")}
    banks = re.findall(r'<option value="([A-Z0-9]+)">', user.last.text)
    assert "BETADEF1" in banks
    for _ in range(2):  # a second click opens the same request
        assert user.post("/clients/new", form={**fields, "authorize_at": "BETADEF1"}).status == 303
        (client,) = causeway.hub.openbanking.clients.all(email)
        assert client.active
        assert user.last.headers["location"] == f"/authorize?client_id={client.client_id}&bic=BETADEF1"
        user.follow()
        assert "Run and go to the bank" in user.text

    user.get("/")
    assert "Create a client and authorize" not in user.text


def test_secrets_are_shown_before_the_authorize_page(user: WebUser) -> None:
    user.get("/")
    answer = user.post("/clients/new", draft=user.hidden("draft"), title="Own", secret="yes", authorize_at="BETADEF1")

    assert answer.status == 201
    assert 'id="client-secret"' in answer.text


def test_a_client_created_without_the_active_checkbox_is_inactive(causeway: Causeway, user: WebUser) -> None:
    assert not causeway.hub.openbanking.clients.get(user.create_client(active=None)).active


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"title": ""}, "Title must be 1 to 128 printable characters"),
        ({"title": "\u3164\u2800"}, "Title must not have invisible characters"),
        ({"title": "x" * 129}, "Title must be 1 to 128 printable characters"),
        ({"title": "a\r\nSet-Cookie: x=y"}, "Title must be 1 to 128 printable characters"),
        ({"callback_urls": "ftp://x"}, "must begin with https://"),
        ({"callback_urls": "javascript:alert(1)"}, "must begin with https://"),
        ({"callback_urls": "https://tpp.example/\r\nLocation: https://evil.example"}, "printable ASCII"),
        ({"callback_urls": "https://user:pass@tpp.example/"}, "not contain user information"),
        ({"events_url": "//tpp.example"}, "must begin with https://"),
        ({"registration_number": "x" * 129}, "must be 1 to 128"),
    ],
)
def test_an_invalid_new_client_shows_its_error_at_the_field(
    causeway: Causeway, user: WebUser, email: str, fields: dict[str, Any], said: str
) -> None:
    user.get("/clients/new")
    answer = user.post("/clients/new", **({"draft": user.hidden("draft"), "title": "Fine"} | fields))

    assert answer.status == 400
    assert said in user.text
    assert f'id="{next(iter(fields))}-error"' in answer.text
    (focused,) = re.findall(r"<(?:input|textarea) [^>]*\bautofocus\b[^>]*>", answer.text)
    assert f'name="{next(iter(fields))}"' in focused
    assert causeway.hub.openbanking.clients.all(email) == []
    assert "location" not in answer.headers


def test_a_duplicate_form_submission_creates_one_client_and_shows_its_secrets_again(
    causeway: Causeway, user: WebUser, email: str
) -> None:
    user.get("/clients/new")
    draft, token = user.hidden("draft"), user.token
    seen = []
    for _ in range(2):
        answer = user.post(
            "/clients/new", token, draft=draft, title="Once", secret="yes", events_url="https://a.example/"
        )
        assert answer.status == 201
        seen.append(user.secrets)
        causeway.clock.advance(1)

    assert seen[0] == seen[1]
    assert "sent twice" in user.text
    assert len(seen[0]) == 3
    assert len(causeway.hub.openbanking.clients.all(email)) == 1
    causeway.clock.advance(600)
    user.post("/clients/new", token, draft=draft, title="Once", secret="yes", events_url="https://a.example/")
    user.follow()
    assert "already been created" in user.text
    assert user.secrets == {"client-id": seen[0]["client-id"]}


def test_resending_the_form_after_a_lost_response_creates_the_client(
    causeway: Causeway, user: WebUser, email: str
) -> None:
    user.get("/clients/new")
    draft, token = user.hidden("draft"), user.token
    with causeway.answer_lost("put", applied=True):
        assert user.post("/clients/new", token, draft=draft, title="Once", secret="yes").status == 503
    assert user.post("/clients/new", token, draft=draft, title="Once", secret="yes").status == 201

    (client,) = causeway.hub.openbanking.clients.all(email)
    assert client.accepts_secret(user.secrets["client-secret"], causeway.clock.time())


def test_resending_the_form_does_not_show_a_rotated_secret(causeway: Causeway, user: WebUser) -> None:
    user.get("/clients/new")
    token = user.token
    fields = {"draft": user.hidden("draft"), "title": "Rotated", "events_url": "https://a.example/"}
    user.post("/clients/new", token, form=fields)
    client_id = user.secrets["client-id"]
    causeway.hub.openbanking.clients.rotate_events_secret(client_id, 0)
    user.post("/clients/new", token, form=fields)

    assert user.secrets == {"client-id": client_id}


def test_a_test_event_cannot_be_sent_to_an_inactive_client(causeway: Causeway, user: WebUser) -> None:
    client_id = user.create_client(events_url="https://a.example/", active=None)

    assert "Send a test event" not in user.get(f"/clients/{client_id}").text
    assert user.post(f"/clients/{client_id}", action="test-event").status == 400
    assert causeway.recorded() == []


def test_every_client_page_has_the_same_actions_and_labels(user: WebUser) -> None:
    client_id = user.create_client()
    for tab in TABS:
        user.get(f"/clients/{client_id}{tab}")
        header = user.last.text.partition('class="page-actions"')[2].partition("</div>")[0]
        links = re.findall(r'href="/(\w+)\?client_id=([^"]+)"', header)
        assert links == [(place, client_id) for place in ("consents", "deliveries", "authorize")]
    user.get(f"/clients/{client_id}")
    assert f"Authentication {METHODS['']}" in user.text


def test_client_id_and_secret_cannot_be_chosen_by_the_user(causeway: Causeway, user: WebUser) -> None:
    made = []
    for owner in ("one@example.com", "two@example.com"):
        person = WebUser.signed_in(causeway, owner)
        person.get("/clients/new")
        person.post("/clients/new", draft="0" * 30, title="Chosen", secret="yes", client_id="chosen")
        made.append(person.secrets)

    assert not set(made[0].values()) & set(made[1].values())
    version_4 = r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
    assert all(re.fullmatch(version_4, shown["client-id"]) for shown in made)


def test_markup_and_template_syntax_in_a_title_are_escaped(user: WebUser) -> None:
    for title in ("<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "{{ 7 * 7 }}{% raw %}"):
        client_id = user.create_client(title)
        for page in (
            f"/clients/{client_id}",
            "/clients",
            "/authorize",
            f"/authorize?client_id={client_id}&bic=ALPHGB21",
        ):
            answer = user.get(page)
            assert answer.status == 200
            assert not re.search(r"<script>|<img src=x|49\{%", answer.text)
            assert title in user.text


def test_another_users_client_returns_404(causeway: Causeway, user: WebUser, other: WebUser) -> None:
    client_id = user.create_client("Mine")
    other.create_client("Theirs")

    answers = [
        other.get(f"/clients/{client_id}"),
        *(other.post(f"/clients/{client_id}", action=action) for action in _CHANGES),
        other.get(f"/deliveries?client_id={client_id}"),
    ]
    assert [answer.status for answer in answers] == [404] * 7
    assert causeway.hub.openbanking.clients.get(client_id).active
    assert "Mine" not in other.get("/clients").text
    assert "Mine" not in other.get(f"/authorize?client_id={client_id}&bic=ALPHGB21").text


@pytest.mark.parametrize("client_id", ["x", "00000000-0000-0000-0000-000000000000", "%00", "x" * 500])
def test_an_unknown_client_returns_404(user: WebUser, client_id: str) -> None:
    assert user.get(f"/clients/{client_id}").status == 404
    assert user.post(f"/clients/{client_id}", action="deactivate").status == 404


def test_a_client_can_be_deactivated_and_reactivated(causeway: Causeway, user: WebUser) -> None:
    causeway.tpp.client = causeway.hub.openbanking.clients.get(user.create_client())
    path = f"/clients/{causeway.tpp.client_id}"

    user.post(path, action="deactivate")
    user.follow()
    assert "no longer active" in user.text
    assert causeway.tpp.call("GET", "/tpp/banks").status == 401
    user.post(path, action="activate")
    user.follow()
    assert "active again" in user.text
    assert causeway.tpp.call("GET", "/tpp/banks").status == 200


def test_deactivating_a_client_requires_a_confirmation(causeway: Causeway, user: WebUser) -> None:
    client_id = user.create_client("Budget Friend")
    path = f"/clients/{client_id}"
    link = f"{path}?ask=deactivate"

    assert f'href="{link}"' in user.get(path).text
    assert 'value="deactivate"' not in user.last.text
    user.get(link)
    assert "Deactivate this client?" in user.text
    assert "You can reactivate it" in user.text
    assert causeway.hub.openbanking.clients.get(client_id).active
    user.post(path, action=user.hidden("action"))
    assert not causeway.hub.openbanking.clients.get(client_id).active
    assert "Deactivate this client?" not in user.get(link).text


def test_archiving_a_client_requires_a_confirmation_and_can_be_reversed(causeway: Causeway, user: WebUser) -> None:
    causeway.tpp.client = causeway.hub.openbanking.clients.get(user.create_client("Budget Friend"))
    client_id = causeway.tpp.client_id
    path = f"/clients/{client_id}"

    user.get(f"{path}?ask=archive")
    assert "Archive this client?" in user.text
    assert causeway.hub.openbanking.clients.get(client_id).active
    user.post(path, action=user.hidden("action"))
    user.follow()
    assert "The client is archived" in user.text
    assert "Archive this client?" not in user.get(f"{path}?ask=archive").text
    assert causeway.tpp.call("GET", "/tpp/banks").status == 401

    links = [path in user.get(place).text for place in ("/clients", "/clients?active=no", "/clients?active=archived")]
    assert links == [False, False, True]
    assert "Budget Friend" not in user.get("/deliveries").text
    assert "Budget Friend" in user.get(f"/deliveries?client_id={client_id}").text
    assert user.post(path, action="activate").status == 400
    assert "restore it first" in user.text

    user.get(path)
    user.post(path, action="restore")
    user.follow()
    assert "The client is restored." in user.text
    assert not causeway.hub.openbanking.clients.get(client_id).active
    user.post(path, action="activate")
    assert causeway.tpp.call("GET", "/tpp/banks").status == 200
    assert path in user.get("/clients").text


def test_in_production_the_owner_archives_clients_and_the_operator_restores_them(
    causeway: Causeway, user: WebUser
) -> None:
    client_id = user.create_client()
    causeway.hub.settings = replace(causeway.hub.settings, stage="prod", public_url="https://hub.example")
    path = f"/clients/{client_id}"

    user.post(path, action="archive")
    user.follow()
    assert f"only the operator can restore it: .venv/bin/python -m infra.admin clients restore {client_id}" in user.text
    assert user.post(path, action="restore").status == 400
    assert causeway.hub.openbanking.clients.get(client_id).is_archived


def test_the_confirmation_page_of_another_users_client_returns_404(user: WebUser, other: WebUser) -> None:
    client_id = user.create_client()

    assert [other.get(f"/clients/{client_id}?ask={what}").status for what in ("deactivate", "archive")] == [404, 404]


def test_in_production_only_the_operator_can_activate_clients_and_set_registration_numbers(
    causeway: Causeway, user: WebUser
) -> None:
    causeway.hub.settings = replace(causeway.hub.settings, stage="prod", public_url="https://hub.example")
    client_id = user.create_client(
        registration_number="PSDGB-FCA-1", callback_urls="https://tpp.example/back", active="yes"
    )

    client = causeway.hub.openbanking.clients.get(client_id)
    assert not client.active
    assert client.registration_number != "PSDGB-FCA-1"
    assert user.post(f"/clients/{client_id}", action="activate").status == 400
    assert not causeway.hub.openbanking.clients.get(client_id).active
    user.get(f"/clients/{client_id}")
    assert f"clients activate {client_id}" in user.text
    assert 'value="activate"' not in user.last.text
    assert 'name="registration_number"' not in user.get("/clients/new").text


def test_submitting_a_form_again_with_another_title_creates_a_second_client(
    causeway: Causeway, user: WebUser, email: str
) -> None:
    user.get("/clients/new")
    draft, token = user.hidden("draft"), user.token
    for title in ("First", "Second", "Second"):
        assert user.post("/clients/new", token, draft=draft, title=title, active="yes").status == 201
        assert f"<h1>{title}</h1>" in user.last.text

    assert sorted(client.title for client in causeway.hub.openbanking.clients.all(email)) == ["First", "Second"]
