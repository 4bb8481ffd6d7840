"""Clients: found by filter and page, made once, shown to nobody else, switched off and on."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from chalicelib.website.pagination import PAGE
from tests.website.person import Person
from tests.world import Answer, World

CALLBACK = "http://127.0.0.1:8000/authorize/callback"


@pytest.fixture
def other(world: World) -> Person:
    """Another user."""
    return Person.signed_in(world, "somebody@example.com")


def test_a_new_client_has_what_the_form_said(world: World, user: Person, email: str) -> None:
    client_id = user.create_client(
        "Budget Friend",
        callback_urls="https://tpp.example/back?x=1\r\n\r\n  https://two.example/back \r\n",
        secret="yes",
        registration_number="PSDGB-FCA-1",
        events_url="https://tpp.example/events",
    )

    client = world.hub.openbanking.clients.get(client_id)
    assert client.owner == email
    assert client.title == "Budget Friend"
    assert client.active is True
    assert client.callback_urls == ("https://tpp.example/back?x=1", "https://two.example/back")
    assert client.events_url == "https://tpp.example/events"
    assert client.registration_number == "PSDGB-FCA-1"
    shown = re.findall(r'<code id="(client-secret|events-secret)">([^<]+)</code>', user.last.text)
    assert [name for name, _ in shown] == ["client-secret", "events-secret"]
    assert client.accepts_secret(shown[0][1], world.clock.time())
    assert world.hub.openbanking.clients.events_secrets(client) == [shown[1][1]]
    assert user.last.headers["referrer-policy"] == "no-referrer"


def test_secrets_are_shown_once(user: Person) -> None:
    client_id = user.create_client(secret="yes", events_url="https://tpp.example/events")
    shown = re.findall(r'<code id="(?:client-secret|events-secret)">([^<]+)</code>', user.last.text)
    again = user.get(f"/clients/{client_id}").text

    assert len(shown) == 2
    assert not [secret for secret in shown if secret in again]


def test_a_title_is_all_it_takes(world: World, user: Person) -> None:
    client = world.hub.openbanking.clients.get(user.create_client())

    assert client.callback_url == CALLBACK
    assert client.registration_number == f"SANDBOX-{client.client_id[:8]}"
    assert (client.events_url, client.has_secret) == (None, False)


def test_a_new_user_creates_a_client_and_opens_its_request_in_one_step(world: World, user: Person, email: str) -> None:
    user.get("/")
    fields = {name: user.hidden(name) for name in ("draft", "title", "active")}
    banks = re.findall(r'<option value="([A-Z0-9]+)">', user.last.text)
    assert "BETADEF1" in banks
    for _ in range(2):  # a second click opens the same request
        assert user.post("/clients/new", form={**fields, "authorize_at": "BETADEF1"}).status == 303
        (client,) = world.hub.openbanking.clients.all(email)
        assert client.active
        assert user.last.headers["location"] == f"/authorize?client_id={client.client_id}&bic=BETADEF1"
        user.follow()
        assert "Run and go to the bank" in user.text

    user.get("/")
    assert "Create a client and authorize" not in user.text


def test_secrets_are_shown_before_a_new_client_is_used(user: Person) -> None:
    user.get("/")
    answer = user.post("/clients/new", draft=user.hidden("draft"), title="Own", secret="yes", authorize_at="BETADEF1")

    assert answer.status == 201
    assert 'id="client-secret"' in answer.text


def test_a_client_whose_box_is_not_ticked_is_inactive(world: World, user: Person) -> None:
    assert not world.hub.openbanking.clients.get(user.create_client(active=None)).active


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"title": ""}, "Title must be 1 to 128 printable characters"),
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
def test_what_cannot_be_accepted_is_said_beside_its_field(
    world: World, user: Person, email: str, fields: dict[str, Any], said: str
) -> None:
    user.get("/clients/new")
    answer = user.post("/clients/new", **({"draft": user.hidden("draft"), "title": "Fine"} | fields))

    assert answer.status == 400
    assert said in user.text
    assert f'id="{next(iter(fields))}-error"' in answer.text
    (focused,) = re.findall(r"<(?:input|textarea) [^>]*\bautofocus\b[^>]*>", answer.text)
    assert f'name="{next(iter(fields))}"' in focused
    assert world.hub.openbanking.clients.all(email) == []
    assert "location" not in answer.headers


def secrets_of(user: Person) -> dict[str, str]:
    """The Client ID and the secrets that the page shows."""
    return dict(re.findall(r'<code id="(client-id|client-secret|events-secret)">([^<]+)</code>', user.last.text))


def test_a_form_that_is_sent_twice_makes_one_client_and_shows_its_secrets_again(
    world: World, user: Person, email: str
) -> None:
    user.get("/clients/new")
    draft, token = user.hidden("draft"), user.token
    seen = []
    for _ in range(2):
        answer = user.post(
            "/clients/new", token, draft=draft, title="Once", secret="yes", events_url="https://a.example/"
        )
        assert answer.status == 201
        seen.append(secrets_of(user))
        world.clock.advance(1)

    assert seen[0] == seen[1]
    assert "sent twice" in user.text
    assert len(seen[0]) == 3
    assert len(world.hub.openbanking.clients.all(email)) == 1
    world.clock.advance(600)
    user.post("/clients/new", token, draft=draft, title="Once", secret="yes", events_url="https://a.example/")
    user.follow()
    assert "already been created" in user.text
    assert secrets_of(user) == {"client-id": seen[0]["client-id"]}


def test_a_client_whose_answer_was_lost_is_created_by_sending_the_form_again(
    world: World, user: Person, email: str
) -> None:
    user.get("/clients/new")
    draft, token = user.hidden("draft"), user.token
    with world.answer_lost("put", applied=True):
        assert user.post("/clients/new", token, draft=draft, title="Once", secret="yes").status == 503
    assert user.post("/clients/new", token, draft=draft, title="Once", secret="yes").status == 201

    (client,) = world.hub.openbanking.clients.all(email)
    assert client.accepts_secret(secrets_of(user)["client-secret"], world.clock.time())


def test_a_form_that_is_sent_again_shows_no_secret_that_is_not_in_use_any_more(world: World, user: Person) -> None:
    user.get("/clients/new")
    token = user.token
    fields = {"draft": user.hidden("draft"), "title": "Rotated", "events_url": "https://a.example/"}
    user.post("/clients/new", token, form=fields)
    client_id = secrets_of(user)["client-id"]
    world.hub.openbanking.clients.rotate_events_secret(client_id, 0)
    user.post("/clients/new", token, form=fields)

    assert secrets_of(user) == {"client-id": client_id}


def test_no_test_event_is_sent_to_an_inactive_client(world: World, user: Person) -> None:
    client_id = user.create_client(events_url="https://a.example/", active=None)

    assert "Send a test event" not in user.get(f"/clients/{client_id}").text
    assert user.post(f"/clients/{client_id}", action="test-event").status == 400
    assert world.recorded() == []


def test_nobody_chooses_a_client_id_or_a_secret(world: World, user: Person) -> None:
    made = []
    for owner in ("one@example.com", "two@example.com"):
        person = Person.signed_in(world, owner)
        person.get("/clients/new")
        person.post("/clients/new", draft="0" * 30, title="Chosen", secret="yes", client_id="chosen")
        made.append(secrets_of(person))

    assert not set(made[0].values()) & set(made[1].values())
    version_4 = r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
    assert all(re.fullmatch(version_4, shown["client-id"]) for shown in made)


def test_markup_and_template_text_in_a_title_stay_text(user: Person) -> None:
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


def test_another_users_client_does_not_exist(world: World, user: Person, other: Person) -> None:
    client_id = user.create_client("Mine")
    other.create_client("Theirs")

    answers = [
        other.get(f"/clients/{client_id}"),
        *(other.post(f"/clients/{client_id}", action=action) for action in ("deactivate", "activate", "test-event")),
        other.get(f"/deliveries?client_id={client_id}"),
    ]
    assert [answer.status for answer in answers] == [404] * 5
    assert world.hub.openbanking.clients.get(client_id).active
    assert "Mine" not in other.get("/clients").text
    assert "Mine" not in other.get(f"/authorize?client_id={client_id}&bic=ALPHGB21").text


@pytest.mark.parametrize("client_id", ["x", "00000000-0000-0000-0000-000000000000", "%00", "x" * 500])
def test_an_unknown_client_is_not_found(user: Person, client_id: str) -> None:
    assert user.get(f"/clients/{client_id}").status == 404
    assert user.post(f"/clients/{client_id}", action="deactivate").status == 404


def test_a_client_is_switched_off_and_on(world: World, user: Person) -> None:
    world.client = world.hub.openbanking.clients.get(user.create_client())
    path = f"/clients/{world.client.client_id}"

    user.post(path, action="deactivate")
    user.follow()
    assert "no longer active" in user.text
    assert world.tpp("GET", "/tpp/banks").status == 401
    user.post(path, action="activate")
    user.follow()
    assert "active again" in user.text
    assert world.tpp("GET", "/tpp/banks").status == 200


def test_a_client_is_not_switched_off_by_one_click(world: World, user: Person) -> None:
    client_id = user.create_client("Budget Friend")
    path = f"/clients/{client_id}"
    link = f"{path}?ask=deactivate"

    assert f'href="{link}"' in user.get(path).text
    assert 'value="deactivate"' not in user.last.text
    user.get(link)
    assert "Deactivate this client?" in user.text
    assert "You can reactivate it" in user.text
    assert world.hub.openbanking.clients.get(client_id).active
    user.post(path, action=user.hidden("action"))
    assert not world.hub.openbanking.clients.get(client_id).active
    assert "Deactivate this client?" not in user.get(link).text


def test_nobody_is_asked_about_somebody_elses_client(user: Person, other: Person) -> None:
    assert other.get(f"/clients/{user.create_client()}?ask=deactivate").status == 404


def test_in_production_only_the_operator_activates_and_numbers_clients(world: World, user: Person) -> None:
    world.hub.settings = replace(world.hub.settings, stage="prod", public_url="https://hub.example")
    client_id = user.create_client(
        registration_number="PSDGB-FCA-1", callback_urls="https://tpp.example/back", active="yes"
    )

    client = world.hub.openbanking.clients.get(client_id)
    assert not client.active
    assert client.registration_number != "PSDGB-FCA-1"
    assert user.post(f"/clients/{client_id}", action="activate").status == 400
    assert not world.hub.openbanking.clients.get(client_id).active
    assert 'name="registration_number"' not in user.get("/clients/new").text


# -- the list


@pytest.fixture
def many(world: World, user: Person, email: str) -> list[str]:
    """45 clients of the user, every third of them inactive."""
    made = []
    for number in range(45):
        client = world.hub.openbanking.clients.create(
            owner=email, title=f"Client {number:02}", active=number % 3 != 0
        ).client
        made.append(client.client_id)
        world.clock.advance(1)
    return made


def titles(user: Person) -> list[str]:
    return re.findall(r">(Client \d\d)</a>", user.last.text)


def pager(user: Person) -> str:
    """How many there are, and on how many pages."""
    found = re.search(r'aria-label="Pages">\s*<span class="small">([^<]*)</span>', user.last.text)
    assert found is not None
    return found[1]


def test_45_clients_stand_on_three_pages_the_newest_first(user: Person, many: list[str]) -> None:
    found = []
    for page in (1, 2, 3):
        user.get(f"/clients?page={page}")
        found.append(titles(user))

    assert [len(page) for page in found] == [20, 20, 5]
    assert [title for page in found for title in page] == [f"Client {number:02}" for number in reversed(range(45))]
    assert "45 clients, page 3 of 3" in user.text


@pytest.mark.parametrize(("page", "shown"), [("0", 1), ("99", 3), ("x", 1), ("-1", 1), ("9" * 400, 3), ("²", 1)])
def test_a_page_that_does_not_exist_is_the_nearest(user: Person, many: list[str], page: str, shown: int) -> None:
    user.get(f"/clients?page={page}")

    assert f"page {shown} of 3" in user.text


@pytest.mark.parametrize(
    ("query", "count", "said"),
    [
        ("title=client%204", 5, "5 clients"),
        ("title=CLIENT", 45, "45 clients, page 1 of 3"),
        ("active=yes", 30, "30 clients, page 1 of 2"),
        ("active=no", 15, "15 clients"),
        ("title=zzz", 0, "0 clients"),
    ],
)
def test_clients_are_found_by_title_and_state(user: Person, many: list[str], query: str, count: int, said: str) -> None:
    user.get(f"/clients?{query}")

    assert len(titles(user)) == min(count, PAGE)
    assert pager(user) == said


def test_a_filter_is_kept_from_page_to_page(user: Person, many: list[str]) -> None:
    user.get("/clients?active=yes&title=client")
    links = re.findall(r'href="(/clients\?[^"]*page=2)"', user.last.text)
    user.get(links[0].replace("&amp;", "&"))

    assert len(titles(user)) == 10
    assert "30 clients, page 2 of 2" in user.text


def test_a_client_is_found_by_a_part_of_its_id(user: Person, many: list[str]) -> None:
    user.get(f"/clients?client_id={many[7][:13].upper()}")

    assert titles(user) == ["Client 07"]


def test_who_has_no_client_is_told_how_to_get_one(user: Person) -> None:
    user.get("/clients")

    assert "You have no clients yet" in user.text
    assert 'href="/clients/new"' in user.last.text


# -- changes


def test_a_form_that_is_sent_again_with_another_title_loses_nothing(world: World, user: Person, email: str) -> None:
    user.get("/clients/new")
    draft, token = user.hidden("draft"), user.token
    for title in ("First", "Second", "Second"):
        assert user.post("/clients/new", token, draft=draft, title=title, active="yes").status == 201
        assert f"<h1>{title}</h1>" in user.last.text

    assert sorted(client.title for client in world.hub.openbanking.clients.all(email)) == ["First", "Second"]


def change(user: Person, client_id: str, **fields: Any) -> Answer:
    """Fill in the form of the client's page, and send it."""
    user.get(f"/clients/{client_id}")
    given = {
        "title": "Budget Friend",
        "callback_urls": CALLBACK,
        "events_url": "",
        "revision": user.hidden("revision"),
        "action": "update",
    }
    return user.post(f"/clients/{client_id}", **(given | fields))


def test_an_owner_changes_a_client_and_sees_who_changed_what_when(world: World, user: Person, email: str) -> None:
    client_id = user.create_client()

    change(user, client_id, title="Money Friend", callback_urls=f"{CALLBACK}\r\nhttps://two.example/back")
    user.follow()

    client = world.hub.openbanking.clients.get(client_id)
    assert "The client has been changed." in user.text
    assert (client.title, client.callback_urls) == ("Money Friend", (CALLBACK, "https://two.example/back"))
    assert (
        f"UTC {email} Updated. Title: Money Friend. Callback URLs: {CALLBACK}, https://two.example/back." in user.text
    )
    world.hub.openbanking.clients.update(client_id, title="Changed by the operator")
    user.get(f"/clients/{client_id}")
    assert "the operator Updated. Title: Changed by the operator." in user.text


def test_a_form_that_others_have_overtaken_changes_nothing_and_keeps_what_was_entered(
    world: World, user: Person
) -> None:
    client_id = user.create_client()
    user.get(f"/clients/{client_id}")
    seen, token = user.hidden("revision"), user.token
    world.hub.openbanking.clients.update(client_id, title="Theirs")
    mine = {"title": "Mine", "callback_urls": CALLBACK, "action": "update"}

    overtaken = user.post(f"/clients/{client_id}", token, revision=seen, form=mine)
    assert overtaken.status == 409
    assert "was changed after you opened this form" in user.text
    assert 'value="Mine"' in overtaken.text
    assert world.hub.openbanking.clients.get(client_id).title == "Theirs"

    assert user.post(f"/clients/{client_id}", token, revision=user.hidden("revision"), form=mine).status == 303
    assert world.hub.openbanking.clients.get(client_id).title == "Mine"


def test_a_change_that_is_sent_twice_is_made_once(world: World, user: Person) -> None:
    client_id = user.create_client()
    user.get(f"/clients/{client_id}")
    fields = {"title": "Twice", "callback_urls": CALLBACK, "revision": user.hidden("revision"), "action": "update"}
    token = user.token

    assert [user.post(f"/clients/{client_id}", token, form=fields).status for _ in range(2)] == [303, 303]
    assert len(world.hub.openbanking.clients.history(world.hub.openbanking.clients.get(client_id))) == 1


@pytest.mark.parametrize(
    ("fields", "member", "said"),
    [
        ({"title": ""}, "title", "Title must be 1 to 128 printable characters"),
        ({"callback_urls": "ftp://x"}, "callback_urls", "Callback URL must begin with https://"),
        ({"callback_urls": f"{CALLBACK}\n{CALLBACK}"}, "callback_urls", "must contain at most 10 different URLs"),
        ({"callback_urls": "\n".join(f"https://{n}.example/" for n in range(11))}, "callback_urls", "at most 10"),
        ({"events_url": "//x"}, "events_url", "Events URL must begin with https://"),
    ],
)
def test_a_change_that_cannot_be_accepted_is_said_beside_its_field(
    world: World, user: Person, fields: dict[str, str], member: str, said: str
) -> None:
    client_id = user.create_client()
    before = world.hub.openbanking.clients.get(client_id)

    answer = change(user, client_id, **fields)

    assert answer.status == 400
    assert f'id="{member}-error"' in answer.text
    assert said in user.text
    assert "Please correct the marked field: nothing was changed." in user.text
    (focused,) = re.findall(r"<(?:input|textarea) [^>]*\bautofocus\b[^>]*>", answer.text)
    assert f'name="{member}"' in focused
    assert world.hub.openbanking.clients.get(client_id) == before


def test_with_its_first_events_url_the_page_shows_the_secret_of_its_events(world: World, user: Person) -> None:
    client_id = user.create_client()

    change(user, client_id, events_url="https://a.example/")
    shown = secrets_of(user)["events-secret"]
    assert user.last.headers["referrer-policy"] == "no-referrer"
    change(user, client_id, events_url="")

    assert world.hub.openbanking.clients.events_secrets(world.hub.openbanking.clients.get(client_id)) == [shown]
    assert world.hub.openbanking.clients.get(client_id).events_url is None


@pytest.mark.parametrize(("overlap", "lives"), [("0", 0), ("3600", 3600), ("86400", 86400), ("604800", 604800)])
def test_a_new_client_secret_is_shown_once_and_the_old_one_lives_on_as_chosen(
    world: World, user: Person, overlap: str, lives: int
) -> None:
    client_id = user.create_client(secret="yes")
    old = secrets_of(user)["client-secret"]
    user.get(f"/clients/{client_id}")
    fields = {"draft": user.hidden("draft"), "action": "rotate-secret", "overlap": overlap}
    token = user.token

    made = []
    for _ in range(2):  # pressed twice
        assert user.post(f"/clients/{client_id}", token, form=fields).status == 200
        made.append(secrets_of(user)["client-secret"])

    client, now = world.hub.openbanking.clients.get(client_id), world.clock.time()
    assert made[0] == made[1] != old
    assert client.accepts_secret(made[0], now + lives)
    assert client.accepts_secret(old, now + lives - 1) == (lives > 0)
    assert not client.accepts_secret(old, now + lives)
    assert made[0] not in user.get(f"/clients/{client_id}").text
    world.clock.advance(600)
    assert user.post(f"/clients/{client_id}", token, form=fields).status == 400
    assert "cannot be shown again" in user.text


def test_a_client_without_a_secret_is_not_asked_when_the_old_one_ends(world: World, user: Person) -> None:
    client_id = user.create_client()
    assert "<select" not in user.get(f"/clients/{client_id}").text.partition("Create a new secret")[2]
    fields = {"draft": user.hidden("draft"), "action": "rotate-secret", "overlap": user.hidden("overlap")}
    token = user.token

    for _ in range(2):  # pressed twice
        assert user.post(f"/clients/{client_id}", token, form=fields).status == 200
        assert "The new secret is valid from now on." in user.text
        assert "The old one ends" not in user.text
    assert world.hub.openbanking.clients.get(client_id).accepts_secret(
        secrets_of(user)["client-secret"], world.clock.time()
    )
    assert "The old secret ends" in user.get(f"/clients/{client_id}").text
    user.post(f"/clients/{client_id}", action="rotate-secret", draft=user.hidden("draft"), overlap="3600")
    assert "The old one ends in an hour." in user.text


def test_a_client_with_events_alone_is_asked_when_their_old_secret_ends(user: Person) -> None:
    client_id = user.create_client(events_url="https://a.example/")

    assert "The old events secret ends" in user.get(f"/clients/{client_id}").text


@pytest.mark.parametrize("overlap", ["", "60", "-1", "a week"])
def test_a_new_secret_is_not_made_with_an_overlap_that_nobody_offered(world: World, user: Person, overlap: str) -> None:
    client_id = user.create_client(secret="yes")
    old = secrets_of(user)["client-secret"]
    user.get(f"/clients/{client_id}")
    fields = {"draft": user.hidden("draft"), "action": "rotate-secret", "overlap": overlap}

    assert user.post(f"/clients/{client_id}", form=fields).status == 400
    client = world.hub.openbanking.clients.get(client_id)
    assert len(client.secrets) == 1
    assert client.accepts_secret(old, world.clock.time())


def test_a_new_events_secret_is_shown_once_and_signs(world: World, user: Person) -> None:
    client_id = user.create_client(events_url="https://a.example/")
    old = secrets_of(user)["events-secret"]
    user.get(f"/clients/{client_id}")
    fields = {"draft": user.hidden("draft"), "action": "rotate-events-secret", "overlap": "3600"}
    token = user.token

    for _ in range(2):
        assert user.post(f"/clients/{client_id}", token, form=fields).status == 200
        assert world.hub.openbanking.clients.events_secrets(world.hub.openbanking.clients.get(client_id)) == [
            secrets_of(user)["events-secret"],
            old,
        ]
    world.clock.advance(600)
    assert user.post(f"/clients/{client_id}", token, form=fields).status == 400


def test_another_users_client_is_not_changed(world: World, user: Person, other: Person) -> None:
    client_id = user.create_client()
    before = world.hub.openbanking.clients.get(client_id)
    other.create_client()

    for action in ("update", "rotate-secret", "rotate-events-secret"):
        assert other.post(f"/clients/{client_id}", action=action, title="Stolen", revision="0").status == 404
    assert world.hub.openbanking.clients.get(client_id) == before


def test_in_production_what_people_at_the_bank_see_of_an_active_client_is_the_operators(
    world: World, user: Person
) -> None:
    world.hub.settings = world.hub.openbanking.clients._settings = replace(
        world.hub.settings, stage="prod", public_url="https://hub.example"
    )
    urls = "https://tpp.example/back"
    client_id = user.create_client(callback_urls=urls)
    same = {"title": "Budget Friend", "callback_urls": urls}
    assert change(user, client_id, **(same | {"title": "Before"})).status == 303
    assert change(user, client_id, **same).status == 303
    world.hub.openbanking.clients.activate(client_id)

    for fields in ({"title": "Bank of England"}, {"callback_urls": "https://other.example/"}):
        assert change(user, client_id, **(same | fields)).status == 400
        assert "nly the operator can change the" in user.text
    assert change(user, client_id, **same, events_url="https://tpp.example/events").status == 200

    client = world.hub.openbanking.clients.get(client_id)
    assert client.title == "Budget Friend"
    assert client.callback_urls == (urls,)
    assert client.active is True
    user.post(f"/clients/{client_id}", action="deactivate")
    assert change(user, client_id, **(same | {"title": "Renamed"}), events_url=client.events_url).status == 303
    assert not world.hub.openbanking.clients.get(client_id).active
