"""Tests of the table of clients: credentials, concurrent changes, history and callback URLs."""

import base64
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest
from standardwebhooks import Webhook

from chalicelib.foundation.aws.calls import Call, Members, Proceed, observe
from chalicelib.foundation.aws.errors import NoAnswer
from chalicelib.foundation.clock import timestamp
from chalicelib.foundation.crypto import event_signing
from chalicelib.foundation.crypto.keyring import Unsealable
from chalicelib.foundation.dynamodb.store import ConditionFailed, Conflict
from chalicelib.foundation.identifiers import digest
from chalicelib.openbanking.protocol.oauth_security import CALLBACK_PARAMETERS
from chalicelib.openbanking.records.client_record import Registered, client_key
from chalicelib.openbanking.records.client_validation import InvalidClient
from chalicelib.openbanking.records.clients import ClientChanged, Clients, UnknownClient
from tests.causeway import Causeway
from tests.kit import inputs
from tests.kit.storage import with_new_token
from tests.openbanking.faults import FAULTS, Fault

URL = "https://tpp.example.com/events"
DAY = 24 * 3600


@pytest.fixture
def clients(causeway: Causeway) -> Clients:
    return causeway.hub.openbanking.clients


@pytest.fixture
def other(causeway: Causeway) -> Clients:
    """The table of clients in another process, used for a concurrent change by an operator."""
    return causeway.another_process().openbanking.clients


@pytest.fixture
def made(clients: Clients) -> Registered:
    return clients.create(owner="a@example.com", title="Told", events_url=URL)


@pytest.fixture
def client_id(made: Registered) -> str:
    return made.client.client_id


def signing(clients: Clients, client_id: str) -> list[str | None]:
    """Return the secrets that currently sign events of the client, newest first."""
    return [*clients.events_secrets(clients.get(client_id))]


# -- what a client gets


def test_a_client_with_an_events_url_gets_a_secret_that_verifies_its_events(clients: Clients, made: Registered) -> None:
    client = clients.get(made.client.client_id)
    signed = event_signing.headers(clients.events_secrets(client), "an-event", int(time.time()), b"{}")

    assert client == made.client
    assert made.events_secret is not None
    assert len(base64.b64decode(made.events_secret.removeprefix("whsec_"), validate=True)) == 32
    Webhook(made.events_secret).verify(b"{}", signed)


def test_a_client_without_an_events_url_gets_no_events_secret(causeway: Causeway, clients: Clients) -> None:
    made = clients.create(owner="a@example.com", title="Untold")

    assert made.events_secret is None
    assert made.client.event_secrets == ()
    assert clients.events_secrets(made.client) == []
    assert clients.get(made.client.client_id) == made.client


def test_two_clients_never_share_an_events_secret(clients: Clients, made: Registered) -> None:
    assert clients.create(owner="a@example.com", title="Told", events_url=URL).events_secret != made.events_secret


def test_client_secrets_are_neither_stored_in_plain_text_nor_included_in_repr(
    causeway: Causeway, clients: Clients, made: Registered
) -> None:
    both = clients.create(owner="a@example.com", title="Told", events_url=URL, secret=True)
    for registered in (made, both):
        item: Any = causeway.hub.store.get("clients", {"client_id": registered.client.client_id})
        texts = [repr(item), repr(registered), repr(registered.client)]
        secrets = [secret for secret in (registered.secret, registered.events_secret) if secret]
        assert not [secret for secret in secrets for text in texts if secret.removeprefix("whsec_") in text]
        assert base64.b64decode(secrets[-1].removeprefix("whsec_")) not in item["event_secrets"][0]["sealed"]


def test_an_events_secret_copied_to_another_client_cannot_be_unsealed(clients: Clients, made: Registered) -> None:
    with pytest.raises(Unsealable):
        clients.events_secrets(replace(made.client, client_id="another"))


# -- where events go


def test_setting_the_first_events_url_creates_an_events_secret(causeway: Causeway, clients: Clients) -> None:
    assert clients.update(causeway.tpp.client_id, events_url=None) == Registered(causeway.tpp.client)

    told = clients.update(causeway.tpp.client_id, events_url=URL)

    assert told.client == clients.get(causeway.tpp.client_id)
    assert told.client.events_url == URL
    assert signing(clients, causeway.tpp.client_id) == [told.events_secret]


def test_changing_or_removing_the_events_url_does_not_change_the_events_secret(
    clients: Clients, made: Registered, client_id: str
) -> None:
    for url in (f"{URL}/moved", None, URL):
        changed = clients.update(client_id, events_url=url)

        assert changed.events_secret is None
        assert changed.client == clients.get(client_id)
        assert changed.client.events_url == url
        assert signing(clients, client_id) == [made.events_secret]


@pytest.mark.parametrize("url", ["", "tpp.example.com", "ftp://tpp.example.com", f"{URL}#there"])
def test_an_invalid_events_url_is_rejected_and_does_not_replace_the_stored_url(
    clients: Clients, made: Registered, url: str
) -> None:
    with pytest.raises(InvalidClient, match="events_url must"):
        clients.update(made.client.client_id, events_url=url)

    assert clients.get(made.client.client_id) == made.client


@pytest.mark.parametrize("host", inputs.REFUSED_HOSTS)
def test_a_client_url_with_a_private_host_in_any_format_is_rejected(causeway: Causeway, host: str) -> None:
    clients = causeway.another_process(replace(causeway.hub.settings, stage="dev")).openbanking.clients
    url = f"https://{host}/"

    with pytest.raises(InvalidClient, match=r"callback_url (must|is not a valid URL)"):
        clients.create(owner="a@example.com", title="Lured", callback_urls=[url])
    with pytest.raises(InvalidClient, match=r"events_url (must|is not a valid URL)"):
        clients.create(owner="a@example.com", title="Lured", callback_urls=[URL], events_url=url)
    with pytest.raises(InvalidClient, match=r"events_url (must|is not a valid URL)"):
        clients.update(causeway.tpp.client_id, events_url=url)


# -- rotation


def test_events_are_signed_with_the_old_and_the_new_events_secret_until_the_overlap_ends(
    causeway: Causeway, clients: Clients, made: Registered, client_id: str
) -> None:
    rotated = clients.rotate_events_secret(client_id, DAY)

    assert rotated.client == clients.get(client_id)
    causeway.clock.advance(DAY - 1)
    assert signing(clients, client_id) == [rotated.events_secret, made.events_secret]
    causeway.clock.advance(1)
    assert signing(clients, client_id) == [rotated.events_secret]


def test_a_secret_rotation_without_overlap_invalidates_the_old_secret_immediately(
    clients: Clients, client_id: str
) -> None:
    clients.rotate_events_secret(client_id, DAY)
    rotated = clients.rotate_events_secret(client_id, 0)

    assert signing(clients, client_id) == [rotated.events_secret]
    assert len(clients.get(client_id).event_secrets) == 1


def test_a_second_rotation_during_the_overlap_ends_the_oldest_secret(clients: Clients, client_id: str) -> None:
    second, third = (clients.rotate_events_secret(client_id, DAY).events_secret for _ in range(2))

    assert signing(clients, client_id) == [third, second]


def test_rotating_an_events_secret_requires_an_events_url(causeway: Causeway, clients: Clients, client_id: str) -> None:
    clients.update(client_id, events_url=None)

    for untold in (client_id, causeway.tpp.client_id):
        with pytest.raises(InvalidClient, match="has no Events URL"):
            clients.rotate_events_secret(untold, DAY)


def test_an_unknown_client_raises_unknown_client(clients: Clients) -> None:
    with pytest.raises(UnknownClient):
        clients.update("nobody", events_url=URL)
    with pytest.raises(UnknownClient):
        clients.rotate_events_secret("nobody", 0)
    with pytest.raises(UnknownClient):
        clients.get("nobody")


# -- two operators


def test_two_concurrent_secret_rotations_store_two_new_secrets(
    causeway: Causeway, clients: Clients, other: Clients, client_id: str
) -> None:
    theirs: list[Registered] = []

    with causeway.meanwhile("transact", lambda: theirs.append(other.rotate_events_secret(client_id, DAY))):
        ours = clients.rotate_events_secret(client_id, DAY)

    assert signing(clients, client_id) == [ours.events_secret, theirs[0].events_secret]
    assert ours.client == clients.get(client_id)


def test_two_concurrent_first_events_urls_create_one_secret(
    causeway: Causeway, clients: Clients, other: Clients
) -> None:
    client_id, theirs = causeway.tpp.client_id, list[Registered]()

    with causeway.meanwhile("transact", lambda: theirs.append(other.update(client_id, events_url=f"{URL}/theirs"))):
        ours = clients.update(client_id, events_url=URL)

    assert ours.events_secret is None
    assert signing(clients, client_id) == [theirs[0].events_secret]
    assert clients.get(client_id) == ours.client


CHANGES: dict[str, tuple[Callable[[Clients, str], object], dict[str, Any]]] = {
    "another address": (
        lambda clients, client_id: clients.update(client_id, events_url=f"{URL}/2"),
        {"events_url": f"{URL}/2"},
    ),
    "switched off": (lambda clients, client_id: clients.deactivate(client_id), {"active": False}),
}


@pytest.mark.parametrize(("change", "expected"), CHANGES.values(), ids=CHANGES)
def test_a_secret_rotation_does_not_overwrite_concurrent_client_changes(
    causeway: Causeway,
    clients: Clients,
    other: Clients,
    client_id: str,
    change: Callable[[Clients, str], object],
    expected: dict[str, Any],
) -> None:
    with causeway.meanwhile("transact", lambda: change(other, client_id)):
        rotated = clients.rotate_events_secret(client_id, 0)

    client = clients.get(client_id)
    assert {name: getattr(client, name) for name in expected} == expected
    assert signing(clients, client_id) == [rotated.events_secret]


def test_a_change_that_conflicts_on_every_attempt_raises_an_error(
    causeway: Causeway, clients: Clients, made: Registered, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = causeway.hub.store.get(*client_key(made.client.client_id))

    def overtaken(operations: object) -> None:
        raise ConditionFailed([stored], [0])

    monkeypatch.setattr(causeway.hub.store, "pause", lambda seconds: None)
    monkeypatch.setattr(causeway.hub.store, "transact", overtaken)

    with pytest.raises(Conflict):
        clients.rotate_events_secret(made.client.client_id, DAY)


# -- storage that loses answers


@pytest.mark.parametrize("kind", FAULTS)
def test_a_rotation_returns_the_signing_secret_despite_storage_faults(
    causeway: Causeway, clients: Clients, made: Registered, client_id: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(causeway.hub.store, "pause", lambda seconds: None)

    with Fault(causeway, kind, 1, operation="TransactWriteItems") as fault:
        rotated = clients.rotate_events_secret(client_id, DAY)

    assert fault.hit is not None
    assert signing(clients, client_id) == [rotated.events_secret, made.events_secret]


def test_a_retried_write_is_recognised_without_the_idempotency_token_of_dynamodb(
    clients: Clients, made: Registered, client_id: str
) -> None:
    answers = iter([NoAnswer("TransactWriteItems")])

    def lose(call: Call, proceed: Proceed) -> Members:
        answer = proceed(with_new_token(call))
        for lost in answers:
            raise lost
        return answer

    with observe(lose):
        rotated = clients.rotate_events_secret(client_id, DAY)

    assert signing(clients, client_id) == [rotated.events_secret, made.events_secret]


# -- the client's own secret


def test_the_old_client_secret_is_valid_for_the_chosen_overlap(causeway: Causeway, clients: Clients) -> None:
    made = clients.create(owner="a@example.com", title="Careful", secret=True)
    client_id = made.client.client_id

    rotated = clients.rotate_secret(client_id, DAY)

    assert rotated.client == clients.get(client_id)
    for now, accepted in ((0, [True, True]), (DAY - 1, [True, True]), (DAY, [False, True])):
        at = causeway.clock.time() + now
        assert [rotated.client.accepts_secret(secret, at) for secret in (made.secret, rotated.secret)] == accepted
        assert not rotated.client.accepts_secret(None, at)


def test_calls_accept_the_old_and_new_client_secret_until_the_old_secret_ends(
    causeway: Causeway, clients: Clients
) -> None:
    made = clients.create(owner="a@example.com", title="Careful", secret=True)
    causeway.tpp.client = made.client
    rotated = clients.rotate_secret(made.client.client_id, 3600)

    def statuses() -> list[int]:
        found = []
        for causeway.tpp.client_secret in (made.secret, rotated.secret):
            found += [
                causeway.tpp.call("GET", "/tpp/banks").status,
                causeway.tpp.call("POST", "/tpp/token", {"code": "x"}).status,
            ]
        return found

    assert statuses() == [200, 400, 200, 400]
    causeway.clock.advance(3600)
    assert statuses() == [401, 401, 200, 400]


def test_a_client_has_at_most_two_client_secrets(causeway: Causeway, clients: Clients) -> None:
    made = clients.create(owner="a@example.com", title="Careful", secret=True)
    second, third = (clients.rotate_secret(made.client.client_id, DAY).secret for _ in range(2))

    client, now = clients.get(made.client.client_id), causeway.clock.time()
    assert [client.accepts_secret(each, now) for each in (made.secret, second, third)] == [False, True, True]
    assert len(clients.rotate_secret(made.client.client_id, 0).client.secrets) == 1


def test_calls_without_a_secret_are_refused_once_a_client_has_a_secret(causeway: Causeway, clients: Clients) -> None:
    rotated = clients.rotate_secret(causeway.tpp.client_id, DAY)

    assert rotated.client.has_secret
    assert not rotated.client.accepts_secret(None, causeway.clock.time())


def test_only_digests_of_client_secrets_are_stored(causeway: Causeway, clients: Clients) -> None:
    made = clients.create(owner="a@example.com", title="Careful", secret=True)
    rotated = clients.rotate_secret(made.client.client_id, DAY)

    kept = repr(list(causeway.hub.store.scan("clients"))) + repr(rotated)
    assert not [secret for secret in (made.secret, rotated.secret) if secret and secret in kept]


# -- what can be changed, and who did


def test_updating_one_client_field_does_not_change_other_fields(
    clients: Clients, made: Registered, client_id: str
) -> None:
    updated = clients.update(client_id, callback_urls=["https://a.example/", "https://b.example/"])

    assert updated.client == clients.get(client_id)
    assert updated.client == replace(
        made.client, callback_urls=("https://a.example/", "https://b.example/"), revision=1
    )
    assert updated.client.callback_url == "https://a.example/"


def test_every_change_is_in_the_history_with_author_and_time(
    causeway: Causeway, clients: Clients, client_id: str
) -> None:
    owner, began = "a@example.com", causeway.clock.time()
    changes: list[Callable[[], object]] = [
        lambda: clients.update(client_id, owner=owner, title="Renamed", callback_urls=["https://a.example/"]),
        lambda: clients.update(client_id, events_url=None),
        lambda: clients.update(client_id, events_url=URL, owner=owner),
        lambda: clients.update(client_id, registration_number="PSDGB-FCA-1"),
        lambda: clients.rotate_secret(client_id, 0, owner=owner),
        lambda: clients.rotate_secret(client_id, DAY),
        lambda: clients.rotate_events_secret(client_id, DAY),
        lambda: clients.deactivate(client_id, owner),
        lambda: clients.activate(client_id),
    ]
    for change in changes:
        change()
        causeway.clock.advance(60)

    history = clients.history(clients.get(client_id))
    until = timestamp(began + 5 * 60 + DAY), timestamp(began + 6 * 60 + DAY)
    assert [(each.revision, each.at) for each in history] == [(n, began + (n - 1) * 60) for n in range(9, 0, -1)]
    assert [(each.by, each.action, each.after) for each in reversed(history)] == [
        (owner, "updated", {"title": "Renamed", "callback_urls": ["https://a.example/"]}),
        ("operator", "updated", {"events_url": None}),
        (owner, "updated", {"events_url": URL}),
        ("operator", "updated", {"registration_number": "PSDGB-FCA-1"}),
        (owner, "client secret rotated", {}),
        ("operator", "client secret rotated", {"old_secret_until": until[0]}),
        ("operator", "events secret rotated", {"old_secret_until": until[1]}),
        (owner, "deactivated", {}),
        ("operator", "activated", {}),
    ]
    assert history[-1].before == {"title": "Told", "callback_urls": [clients.default_callback]}


def test_a_title_is_stored_normalized_and_without_invisible_characters(clients: Clients, client_id: str) -> None:
    assert clients.update(client_id, title=" Cafe\u0301\u00a0Bud\u00adget ").client.title == "Caf\u00e9 Budget"
    for title in ("\u3164", "\u2800", "\ufe0f", "Told\u2800", "To\u200dld", "Told\ufe0f"):
        with pytest.raises(InvalidClient, match="title must"):
            clients.update(client_id, title=title)


def test_a_stored_title_with_invisible_characters_permits_other_changes(causeway: Causeway, clients: Clients) -> None:
    client_id = clients.create(owner="a@example.com", title="Old").client.client_id
    causeway.hub.store.update("clients", {"client_id": client_id}, set={"title": "Old\u3164"})

    assert clients.update(client_id, title="Old\u3164", callback_urls=[URL]).client.callback_urls == (URL,)
    assert clients.get(client_id).title == "Old\u3164"


def test_an_update_without_effect_writes_no_history(clients: Clients, made: Registered, client_id: str) -> None:
    clients.update(client_id, title=" Told ", events_url=URL)
    clients.activate(client_id)

    assert clients.get(client_id) == made.client
    assert clients.history(made.client) == []


def test_a_client_record_in_the_oldest_storage_format_can_be_read(causeway: Causeway, clients: Clients) -> None:
    """The first format has one ``callback_url``, one ``secret_digest`` and no revision."""
    client_id, secret = "a5c2a7ae-4a9c-4d94-9f9f-0d1a1e6c7f10", "s" * 43
    old = {
        "client_id": client_id,
        "owner": "a@example.com",
        "title": "Old",
        "callback_url": "https://old.example/back",
        "registration_number": "SANDBOX-a5c2a7ae",
        "active": True,
        "secret_digest": digest(secret),
        "created_at": 1700000000,
    }
    causeway.hub.store.put("clients", old)

    client = clients.get(client_id)
    assert (client.callback_urls, client.revision) == (("https://old.example/back",), 0)
    assert client.accepts_secret(secret, causeway.clock.time())
    assert client in clients.all("a@example.com")
    causeway.tpp.client, causeway.tpp.client_secret = client, secret
    assert causeway.tpp.call("GET", "/tpp/banks").status == 200

    rotated = clients.rotate_secret(client_id, DAY)
    assert rotated.client == clients.get(client_id)
    assert rotated.client.accepts_secret(secret, causeway.clock.time())
    assert [each.action for each in clients.history(rotated.client)] == ["client secret rotated"]
    assert not {"callback_url", "secret_digest"} & set(
        causeway.hub.store.get("clients", {"client_id": client_id}) or {}
    )


# -- archived clients


def test_an_archived_client_is_inactive_and_immutable_until_restored(
    causeway: Causeway, clients: Clients, client_id: str
) -> None:
    archived = clients.archive(client_id, "a@example.com")

    assert archived == clients.get(client_id)
    assert (archived.active, archived.archived_at) == (False, causeway.clock.time())
    causeway.clock.advance(60)
    assert clients.archive(client_id) == archived, "once is enough"
    changes: list[Callable[[], object]] = [
        lambda: clients.activate(client_id),
        lambda: clients.update(client_id, title="Renamed"),
        lambda: clients.rotate_secret(client_id, 0),
        lambda: clients.rotate_events_secret(client_id, 0),
    ]
    for change in changes:
        with pytest.raises(InvalidClient, match="archived: restore it first"):
            change()
    assert clients.get(client_id) == archived

    restored = clients.restore(client_id)
    assert (restored.active, restored.archived_at) == (False, None)
    assert clients.activate(client_id).active
    history = clients.history(clients.get(client_id))
    assert [(each.by, each.action) for each in history] == [
        ("operator", "activated"),
        ("operator", "restored"),
        ("a@example.com", "archived"),
    ]


def test_restoring_an_active_client_changes_nothing(clients: Clients, made: Registered) -> None:
    assert clients.restore(made.client.client_id) == made.client


def test_calls_of_an_archived_client_are_refused_until_the_client_is_restored_and_activated(causeway: Causeway) -> None:
    clients, client_id = causeway.hub.openbanking.clients, causeway.tpp.client_id
    token = causeway.tpp.tokens(1)["access_token"]
    statuses = []
    for change in (clients.archive, clients.restore, clients.activate):
        change(client_id)
        statuses.append(
            (
                causeway.tpp.call("GET", "/tpp/accounts", bearer=token).status,
                causeway.tpp.call("GET", "/tpp/banks").status,
                causeway.tpp.call("POST", "/tpp/authorize", {"bic": "BETADEF1", "scopes": ["accounts"]}).status,
                causeway.tpp.call("GET", "/tpp/events").status,
            )
        )

    assert statuses[0] == statuses[1] == (401,) * 4
    assert statuses[2][1:3] == (200, 200)


def test_a_client_stored_without_archived_at_is_not_archived(
    causeway: Causeway, clients: Clients, client_id: str
) -> None:
    item = causeway.hub.store.get("clients", {"client_id": client_id})

    assert item is not None
    assert "archived_at" not in item
    assert not clients.get(client_id).is_archived


def test_an_update_that_is_already_in_effect_is_accepted_with_an_outdated_revision(
    clients: Clients, client_id: str
) -> None:
    seen = clients.get(client_id).revision
    made = clients.update(client_id, revision=seen, title="Ours")

    assert clients.update(client_id, revision=seen, title="Ours") == Registered(made.client)
    with pytest.raises(ClientChanged):
        clients.update(client_id, revision=seen, title="Others'")


def test_an_update_of_an_outdated_client_revision_is_refused(
    causeway: Causeway, clients: Clients, other: Clients, client_id: str
) -> None:
    seen = clients.get(client_id).revision

    with causeway.meanwhile("transact", lambda: other.update(client_id, title="Theirs")), pytest.raises(ClientChanged):
        clients.update(client_id, revision=seen, title="Ours")

    assert clients.get(client_id).title == "Theirs"


def test_two_concurrent_updates_of_different_fields_are_both_stored(
    causeway: Causeway, clients: Clients, other: Clients, client_id: str
) -> None:
    with causeway.meanwhile("transact", lambda: other.update(client_id, title="Theirs")):
        clients.update(client_id, callback_urls=["https://ours.example/"])

    client = clients.get(client_id)
    assert (client.title, client.callback_urls) == ("Theirs", ("https://ours.example/",))
    assert len(clients.history(client)) == 2


def test_a_history_entry_cannot_be_used_as_a_client(causeway: Causeway, clients: Clients, client_id: str) -> None:
    clients.update(client_id, title="Renamed")
    names = [item["client_id"] for item in causeway.hub.store.scan("clients")]
    (name,) = [name for name in names if name.startswith(f"{client_id}/")]

    assert causeway.tpp.call("GET", "/tpp/banks", client_id=name).status == 401
    with pytest.raises(UnknownClient):
        clients.get(name)
    assert name not in [client.client_id for client in clients.all()]


@pytest.mark.parametrize(
    "urls", [["ftp://x"], ["https://a.example/"] * 2, [f"https://{number}.example/" for number in range(11)]]
)
def test_callback_urls_must_be_valid_different_and_at_most_ten(
    clients: Clients, client_id: str, urls: list[str]
) -> None:
    with pytest.raises(InvalidClient, match="callback_url"):
        clients.update(client_id, callback_urls=urls)


@pytest.mark.parametrize("name", CALLBACK_PARAMETERS)
@pytest.mark.parametrize("query", ["{}=1", "tenant=7&{}=1", "{}", "{}=", "tenant=7&{}&x=1"])
def test_a_callback_url_with_a_reserved_query_parameter_is_refused(
    clients: Clients, client_id: str, name: str, query: str
) -> None:
    url, before = f"{URL}?{query.format(name)}", clients.get(client_id)

    with pytest.raises(InvalidClient, match=f"^callback_url must not have {name} in its query") as refused:
        clients.update(client_id, callback_urls=[URL, url])
    assert refused.value.member == "callback_urls"
    with pytest.raises(InvalidClient, match=f"^callback_url must not have {name} in its query"):
        clients.create(owner="a@example.com", title="New", callback_urls=[url])
    assert clients.get(client_id) == before


@pytest.mark.parametrize("escaped", ["st%61te", "%69ss"])
def test_a_percent_encoded_reserved_parameter_of_a_callback_url_is_refused(
    clients: Clients, client_id: str, escaped: str
) -> None:
    with pytest.raises(InvalidClient, match=r"must not have (state|iss) in its query"):
        clients.update(client_id, callback_urls=[f"{URL}?{escaped}=1"])


@pytest.mark.parametrize("query", ["", "tenant=7", "State=1&codes=2", "x=state&y=%26code%3D1"])
def test_a_callback_url_may_have_query_parameters_that_are_not_reserved(
    clients: Clients, client_id: str, query: str
) -> None:
    url = f"{URL}?{query}"

    assert clients.update(client_id, callback_urls=[url]).client.callback_urls == (url,)


def test_stored_callback_url_with_a_reserved_parameter_is_valid_until_replaced(
    causeway: Causeway, clients: Clients, client_id: str
) -> None:
    old = f"{URL}?state=old"
    causeway.hub.store.update("clients", {"client_id": client_id}, set={"callback_urls": [old]})

    changed = clients.update(client_id, title="Renamed", callback_urls=[old, URL]).client
    assert changed.callback_urls == (old, URL)
    clients.update(client_id, callback_urls=[URL])
    with pytest.raises(InvalidClient, match="must not have state in its query"):
        clients.update(client_id, callback_urls=[old])


@pytest.mark.parametrize("version", [1, 2])
def test_a_callback_redirect_contains_every_parameter_once(causeway: Causeway, version: int) -> None:
    url = f"{URL}?tenant=7"
    causeway.tpp.client = causeway.hub.openbanking.clients.create(
        owner="a@example.com", title="Two", callback_urls=[url]
    ).client
    consented = causeway.psu.approve(version)

    names = [name for name, _ in parse_qsl(urlsplit(consented.callback_url).query)]
    assert sorted(names) == ["authorization_code", "code", "iss", "state", "tenant"]
    assert set(names) - {"tenant"} <= set(CALLBACK_PARAMETERS)


# -- several Callback URLs


@pytest.fixture
def two(causeway: Causeway) -> Causeway:
    urls = ["http://127.0.0.1:8000/one", "https://two.example:8443/back"]
    causeway.tpp.client = causeway.hub.openbanking.clients.create(
        owner="a@example.com", title="Two", callback_urls=urls
    ).client
    return causeway


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("number", [None, 0, 1])
def test_the_psu_is_redirected_to_the_requested_callback_url_or_by_default_to_the_first(
    two: Causeway, version: int, number: int | None
) -> None:
    named = {} if number is None else {"redirect_uri": two.tpp.client.callback_urls[number]}

    consented = two.psu.approve(version, **named)

    assert consented.callback_url.startswith(f"{two.tpp.client.callback_urls[number or 0]}?")
    assert two.tpp.call("POST", "/tpp/token", {"code": consented.query["code"], **named}).status == 200


@pytest.mark.parametrize(
    "uri", ["https://two.example:8443/back/", "https://two.example:8443/", "http://127.0.0.1:8000"]
)
def test_a_redirect_uri_must_equal_a_callback_url_exactly(two: Causeway, uri: str) -> None:
    request = {"bic": "BETADEF1", "scopes": ["accounts"], "redirect_uri": uri}
    query = {"response_type": "code", "client_id": two.tpp.client_id, "bic": "BETADEF1", "scope": "accounts"}

    assert two.tpp.call("POST", "/tpp/authorize", request).status == 400
    assert two.call("GET", f"/oauth/authorize?{urlencode(query | {'redirect_uri': uri})}").status == 400


def test_the_oauth_authorize_endpoint_redirects_errors_to_the_requested_callback_url(two: Causeway) -> None:
    query = {"response_type": "code", "client_id": two.tpp.client_id, "bic": "BETADEF1", "scope": "nothing"}
    named = query | {"redirect_uri": two.tpp.client.callback_urls[1]}

    back = two.call("GET", f"/oauth/authorize?{urlencode(named)}").headers["location"]

    assert back.startswith(f"{two.tpp.client.callback_urls[1]}?error=invalid_scope")


@pytest.mark.parametrize("version", [1, 2])
def test_a_request_with_a_removed_callback_url_is_not_redirected(two: Causeway, version: int) -> None:
    asked = two.tpp.authorize(version, redirect_uri=two.tpp.client.callback_urls[1])
    url = {"request_url" if version == 1 else "requestUrl": asked["redirect_url"]}
    answer = two.banks[version].call("/init_authorization", url).body
    cancel = urlsplit(answer.get("cancel_url") or answer["cancelUrl"]).path
    two.hub.openbanking.clients.update(two.tpp.client_id, callback_urls=two.tpp.client.callback_urls[:1])

    refused = two.banks[version].call("/consent", two.banks[version].consent_body(asked["redirect_url"]))
    cancelled = two.call("GET", cancel)

    assert refused.status == 400
    assert refused.body.get("error_code", refused.body.get("code")) in (4301, "FORMAT_ERROR")
    assert (cancelled.status, "location" in cancelled.headers) == (404, False)
    assert two.tpp.authorize(version)["redirect_url"]
