"""The settings of a client: changes, rejected changes, and concurrent edits."""

import re
from dataclasses import replace

import pytest

from chalicelib.openbanking.records.clients import Clients
from tests.causeway import Causeway
from tests.website.web_user import CALLBACK, WebUser

EVENTS_URL = "https://a.example/"


@pytest.fixture
def clients(causeway: Causeway) -> Clients:
    return causeway.hub.openbanking.clients


def test_a_change_by_the_owner_of_a_client_is_recorded_with_the_author_in_the_history(
    user: WebUser, clients: Clients, email: str
) -> None:
    client_id = user.create_client()

    user.save_client(client_id, title="Money Friend", callback_urls=f"{CALLBACK}\r\nhttps://two.example/back")
    user.follow()

    client = clients.get(client_id)
    assert "The client has been changed." in user.text
    assert (client.title, client.callback_urls) == ("Money Friend", (CALLBACK, "https://two.example/back"))
    user.get(f"/clients/{client_id}/history")
    assert (
        f"UTC {email} Updated. Title: Budget Friend → Money Friend "
        f"Callback URLs: {CALLBACK} → {CALLBACK}, https://two.example/back"
    ) in user.text
    clients.update(client_id, title="Changed by the operator")
    user.get(f"/clients/{client_id}/history")
    assert "the operator Updated. Title: Money Friend → Changed by the operator" in user.text


def test_saving_an_unmodified_form_changes_nothing(user: WebUser, clients: Clients) -> None:
    client_id = user.create_client(events_url=EVENTS_URL, secret="yes")
    before = clients.get(client_id)

    for page, action in (
        ("settings", "general"),
        ("settings", "events"),
        ("security", "authentication"),
        ("security", "tokens"),
    ):
        assert user.save(f"/clients/{client_id}/{page}", action).status == 303
    assert clients.get(client_id) == before


def test_an_outdated_form_returns_409_with_the_entered_values(user: WebUser, clients: Clients) -> None:
    client_id = user.create_client()
    user.get(f"/clients/{client_id}/settings")
    address, fields = user.form("general")
    token = user.token
    clients.update(client_id, title="Theirs")

    overtaken = user.post(address, token, form=fields | {"title": "Mine"})
    assert overtaken.status == 409
    assert "was changed after you opened this form" in user.text
    address, fields = user.form("general")
    assert fields["title"] == "Mine"
    assert clients.get(client_id).title == "Theirs"

    assert user.post(address, token, form=fields).status == 303
    assert clients.get(client_id).title == "Mine"


def test_forms_without_a_validation_error_show_stored_values(user: WebUser, clients: Clients) -> None:
    client_id = user.create_client()

    assert user.save_client(client_id, title=" ").status == 400
    assert user.form("events")[1]["events"] == "none"
    assert user.save(f"/clients/{client_id}/settings", "events", events="url", events_url="//x").status == 400
    assert user.form("general")[1]["title"] == "Budget Friend"
    assert user.form("events")[1]["events_url"] == "//x"


def test_a_duplicate_change_request_is_applied_once(user: WebUser, clients: Clients) -> None:
    client_id = user.create_client()
    user.get(f"/clients/{client_id}/settings")
    address, fields = user.form("general")
    token = user.token

    sent = [user.post(address, token, form=fields | {"title": "Twice"}).status for _ in range(2)]
    assert sent == [303, 303]
    assert len(clients.history(clients.get(client_id))) == 1


@pytest.mark.parametrize(
    ("fields", "member", "said"),
    [
        ({"title": ""}, "title", "Title must be 1 to 128 printable characters"),
        ({"callback_urls": "ftp://x"}, "callback_urls", "Callback URL must begin with https://"),
        ({"callback_urls": f"{CALLBACK}\n{CALLBACK}"}, "callback_urls", "must contain at most 10 different URLs"),
        ({"callback_urls": "\n".join(f"https://{n}.example/" for n in range(11))}, "callback_urls", "at most 10"),
        ({"registration_number": ""}, "registration_number", "Registration number must be 1 to 128 printable"),
    ],
)
def test_an_invalid_setting_shows_its_error_at_the_field(
    user: WebUser, clients: Clients, fields: dict[str, str], member: str, said: str
) -> None:
    client_id = user.create_client()
    before = clients.get(client_id)

    answer = user.save_client(client_id, **fields)

    assert answer.status == 400
    assert f'id="{member}-error"' in answer.text
    assert said in user.text
    assert "Please correct the marked field: nothing was changed." in user.text
    (focused,) = re.findall(r"<(?:input|textarea) [^>]*\bautofocus\b[^>]*>", answer.text)
    assert f'name="{member}"' in focused
    assert clients.get(client_id) == before


@pytest.mark.parametrize("revision", ["", "x", "-1", "9" * 10])
def test_a_form_with_an_invalid_revision_returns_409(user: WebUser, clients: Clients, revision: str) -> None:
    client_id = user.create_client()

    assert user.save_client(client_id, title="Blind", revision=revision).status == 409
    assert clients.get(client_id).revision == 0


def test_a_sandbox_owner_sets_the_registration_number(user: WebUser, clients: Clients) -> None:
    client_id = user.create_client()

    assert user.save_client(client_id, registration_number="PSDGB-FCA-7").status == 303
    assert clients.get(client_id).registration_number == "PSDGB-FCA-7"


# -- events


def test_event_delivery_can_be_set_to_push_poll_or_none(user: WebUser, clients: Clients) -> None:
    client_id = user.create_client()
    path, modes = f"/clients/{client_id}/settings", []

    user.save(path, "events", events="url", events_url=EVENTS_URL)
    shown = user.secrets["events-secret"]
    assert user.last.headers["referrer-policy"] == "no-referrer"
    modes.append(clients.get(client_id).events_mode)
    for mode in ("poll", "none"):
        assert user.save(path, "events", events=mode).status == 303
        client = clients.get(client_id)
        modes.append(client.events_mode)
        assert client.events_url is None

    assert modes == ["url", "poll", "none"]
    assert clients.events_secrets(clients.get(client_id)) == [shown]
    assert shown not in user.get(path).text


@pytest.mark.parametrize(
    ("events", "url", "member", "said"),
    [
        ("url", "", "events_url", "2048 printable ASCII characters"),
        ("url", "//x", "events_url", "Events URL must begin with"),
        ("sometimes", "", "events", "Events must be poll or none"),
        ("", "", "events", "Events must be poll or none"),
    ],
)
def test_an_invalid_events_setting_shows_its_error_at_the_field(
    user: WebUser, clients: Clients, events: str, url: str, member: str, said: str
) -> None:
    client_id = user.create_client()

    answer = user.save(f"/clients/{client_id}/settings", "events", events=events, events_url=url)

    assert answer.status == 400
    assert f'id="{member}-error"' in answer.text
    assert said in user.text
    assert clients.get(client_id).revision == 0


# -- who may change what


@pytest.mark.parametrize("page", ["settings", "security", "history"])
def test_pages_of_another_users_client_return_404(
    causeway: Causeway, user: WebUser, clients: Clients, page: str
) -> None:
    client_id, other = user.create_client(), WebUser.signed_in(causeway, "somebody@example.com")
    before = clients.get(client_id)

    assert other.get(f"/clients/{client_id}/{page}").status == 404
    for action in ("general", "events", "authentication", "tokens", "rotate-secret", "rotate-events-secret"):
        fields = {"action": action, "revision": "0", "title": "Stolen", "overlap": "0"}
        assert other.post(f"/clients/{client_id}/{page}", form=fields).status in (404, 405)
    assert clients.get(client_id) == before


@pytest.mark.parametrize("page", ["settings", "security"])
def test_an_unknown_client_action_changes_nothing(user: WebUser, page: str) -> None:
    client_id = user.create_client()

    assert user.post(f"/clients/{client_id}/{page}", action="destroy", revision="0").status == 400
    assert "Nothing was changed." in user.text


def test_an_archived_client_shows_its_settings_without_forms(user: WebUser, clients: Clients) -> None:
    client_id = user.create_client(secret="yes", events_url=EVENTS_URL)
    archived = clients.archive(client_id)

    for page, action in (("settings", "general"), ("security", "tokens"), ("security", "rotate-secret")):
        user.get(f"/clients/{client_id}/{page}")
        assert 'name="revision"' not in user.last.text
        assert "This client is archived." in user.text
        refused = user.post(
            f"/clients/{client_id}/{page}",
            form={
                "action": action,
                "revision": str(archived.revision),
                "title": "Renamed",
                "registration_number": "7",
                "bound_tokens": "dpop",
                "overlap": "0",
            },
        )
        assert refused.status == 400
        assert "The client is archived: restore it first." in user.text
    assert clients.get(client_id) == archived


def test_in_production_only_the_operator_can_change_title_and_callback_of_an_active_client(
    causeway: Causeway, user: WebUser
) -> None:
    causeway.hub.settings = replace(causeway.hub.settings, stage="prod", public_url="https://hub.example")
    vars(causeway.hub.openbanking).pop("clients", None)  # the next use creates it with the new settings
    clients, urls = causeway.hub.openbanking.clients, "https://tpp.example/back"
    client_id = user.create_client(callback_urls=urls)
    path = f"/clients/{client_id}/settings"
    assert user.save_client(client_id, title="Before").status == 303
    assert user.save_client(client_id, title="Budget Friend").status == 303
    assert 'name="registration_number"' not in user.get(path).text
    assert f"clients registration-number {client_id} NUMBER" in user.text
    clients.activate(client_id)

    user.get(path)
    assert f"clients update {client_id} --title TEXT" in user.text
    revision = str(clients.get(client_id).revision)
    same = {"title": "Budget Friend", "callback_urls": urls, "action": "general", "revision": revision}
    for fields in ({"title": "Bank of England"}, {"callback_urls": "https://other.example/"}):
        assert user.post(path, form=same | fields).status == 400
        assert "nly the operator can change the" in user.text
    assert user.save(path, "events", events="url", events_url="https://tpp.example/events").status == 200

    client = clients.get(client_id)
    assert (client.title, client.callback_urls, client.active) == ("Budget Friend", (urls,), True)
    user.post(f"/clients/{client_id}", action="deactivate")
    assert user.save_client(client_id, title="Renamed").status == 303
    assert not clients.get(client_id).active
