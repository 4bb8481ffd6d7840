"""The security page of a client: authentication, requirements for requests and tokens, and secret rotation."""

import json
from dataclasses import replace
from typing import Any

import pytest

from chalicelib.openbanking.records.client_security import ClientSecurity
from chalicelib.openbanking.records.clients import Clients
from tests.causeway import Answer, Causeway
from tests.openbanking.key_holder import KeyHolder
from tests.website.web_user import WebUser

JWKS = KeyHolder().jwks
BY_KEY = {"auth_method": "private_key_jwt", "jwks": json.dumps(JWKS)}


@pytest.fixture
def clients(causeway: Causeway) -> Clients:
    return causeway.hub.openbanking.clients


def authenticate(user: WebUser, client_id: str, **changes: Any) -> Answer:
    return user.save(f"/clients/{client_id}/security", "authentication", **changes)


def demand(user: WebUser, client_id: str, **changes: Any) -> Answer:
    return user.save(f"/clients/{client_id}/security", "tokens", **changes)


# -- authentication


def test_a_client_can_authenticate_by_key_set_key_url_or_secret(user: WebUser, clients: Clients) -> None:
    client_id = user.create_client(secret="yes")

    assert authenticate(user, client_id, **BY_KEY).status == 303
    client = clients.get(client_id)
    assert (client.auth_method, client.security.jwks, client.secrets) == ("private_key_jwt", JWKS, ())
    user.get(f"/clients/{client_id}/security")
    assert json.loads(user.form("authentication")[1]["jwks"]) == JWKS

    assert authenticate(user, client_id, jwks="", jwks_uri="https://tpp.example.com/jwks").status == 303
    security = clients.get(client_id).security
    assert (security.jwks, security.jwks_uri) == (None, "https://tpp.example.com/jwks")

    assert authenticate(user, client_id, auth_method="client_secret_post").status == 200
    shown, client = user.secrets["client-secret"], clients.get(client_id)
    assert user.last.headers["referrer-policy"] == "no-referrer"
    assert client.accepts_secret(shown, client.created_at)
    assert client.security == ClientSecurity(auth_method="client_secret_post")

    assert authenticate(user, client_id, auth_method="").status == 303
    assert clients.get(client_id).security == ClientSecurity()
    assert clients.get(client_id).has_secret


@pytest.mark.parametrize(
    ("fields", "member", "said"),
    [
        ({"auth_method": "private_key_jwt"}, "jwks", "needs one key set, or its URL"),
        ({**BY_KEY, "jwks_uri": "https://tpp.example.com/jwks"}, "jwks", "needs one key set, or its URL"),
        ({**BY_KEY, "jwks": "{"}, "jwks", "This is not a JSON Web Key Set"),
        ({**BY_KEY, "jwks": "[]"}, "jwks", "This is not a JSON Web Key Set"),
        ({**BY_KEY, "jwks": '{"keys": []}'}, "jwks", "A key set must have a key"),
        ({"auth_method": "private_key_jwt", "jwks_uri": "ftp://x"}, "jwks_uri", "Key set URL must begin with https"),
        ({"auth_method": "magic"}, "auth_method", "Choose one of the methods"),
        ({"auth_method": "tls_client_auth"}, "tls_client_auth_subject_dn", "needs the certificate's subject"),
        ({"organization_identifier": "PSDGB-FCA-1"}, "auth_method", "does not accept client certificates"),
    ],
)
def test_an_invalid_authentication_shows_its_error_at_the_field(
    user: WebUser, clients: Clients, fields: dict[str, str], member: str, said: str
) -> None:
    client_id = user.create_client()

    answer = authenticate(user, client_id, **fields)

    assert answer.status == 400
    assert f'id="{member}-error"' in answer.text
    assert said in user.text
    assert user.form("authentication")[1].get("jwks", "") == fields.get("jwks", "")
    assert clients.get(client_id).revision == 0


def test_values_for_an_unselected_authentication_method_are_ignored(user: WebUser, clients: Clients) -> None:
    client_id = user.create_client()

    assert authenticate(user, client_id, **(BY_KEY | {"auth_method": "none"})).status == 303
    assert clients.get(client_id).security == ClientSecurity(auth_method="none")


def test_a_private_key_is_rejected_as_a_client_key(user: WebUser, clients: Clients) -> None:
    client_id = user.create_client()
    private = {"keys": [{**JWKS["keys"][0], "d": "c2VjcmV0"}]}

    assert authenticate(user, client_id, auth_method="private_key_jwt", jwks=json.dumps(private)).status == 400
    assert "a key is private: pass public keys only" in user.text.casefold()
    assert clients.get(client_id).revision == 0


def test_an_unsupported_authentication_method_is_disabled(user: WebUser) -> None:
    user.get(f"/clients/{user.create_client()}/security")

    assert '<option value="tls_client_auth" disabled>' in user.last.text
    assert 'name="bound_tokens" value="certificate" disabled' in user.last.text


# -- requests and tokens


def test_the_fapi2_profile_sets_requirements_that_remain_after_the_profile_is_removed(
    user: WebUser, clients: Clients
) -> None:
    client_id = user.create_client()
    authenticate(user, client_id, **BY_KEY)

    assert demand(user, client_id, security_profile="fapi2").status == 303
    security = clients.get(client_id).security
    assert (security.is_fapi2, security.requires_pushed_requests, security.requires_proof) == (True, True, True)
    user.get(f"/clients/{client_id}/security")
    fields = user.form("tokens")[1]
    assert (fields["require_pushed_authorization_requests"], fields["bound_tokens"]) == ("yes", "dpop")

    assert demand(user, client_id, dpop_nonce_required="yes").status == 303
    assert demand(user, client_id, security_profile="").status == 303
    security = clients.get(client_id).security
    assert security.security_profile is None
    assert security.require_pushed_authorization_requests
    assert security.dpop_bound_access_tokens
    assert security.dpop_nonce_required
    loose = {"require_pushed_authorization_requests": None, "bound_tokens": "none", "dpop_nonce_required": None}
    assert demand(user, client_id, **loose).status == 303
    assert clients.get(client_id).security == ClientSecurity(auth_method="private_key_jwt", jwks=JWKS)


@pytest.mark.parametrize(
    ("fields", "member", "said"),
    [
        ({"require_pushed_authorization_requests": None}, "require_pushed_authorization_requests", "are pushed"),
        ({"bound_tokens": "none"}, "bound_tokens", "tokens are bound to a key"),
        ({"bound_tokens": "paper"}, "security_profile", "Choose one of the profiles"),
        ({"security_profile": "fapi1"}, "security_profile", "Choose one of the profiles"),
    ],
)
def test_a_requirement_of_the_fapi2_profile_cannot_be_removed(
    user: WebUser, clients: Clients, fields: dict[str, Any], member: str, said: str
) -> None:
    client_id = user.create_client()
    clients.update(client_id, security={"auth_method": "private_key_jwt", "jwks": JWKS, "security_profile": "fapi2"})
    before = clients.get(client_id)

    answer = demand(user, client_id, **fields)

    assert answer.status == 400
    assert f'id="{member}-error"' in answer.text
    assert said in user.text
    assert clients.get(client_id) == before


def test_the_fapi2_profile_requires_a_client_key(user: WebUser, clients: Clients) -> None:
    client_id = user.create_client()

    assert demand(user, client_id, security_profile="fapi2").status == 400
    assert 'id="security_profile-error"' in user.last.text
    assert clients.get(client_id).revision == 0


def test_the_history_describes_security_changes_in_words(user: WebUser) -> None:
    client_id = user.create_client()
    authenticate(user, client_id, **BY_KEY)
    demand(user, client_id, bound_tokens="dpop")
    user.get(f"/clients/{client_id}/history")

    assert "Authentication method: none → private_key_jwt" in user.text
    assert f"Key set: none → {JWKS['keys'][0]['kid']}" in user.text
    assert "Tokens bound to a DPoP key: no → yes" in user.text


def test_the_client_history_shows_the_latest_50_changes(user: WebUser, clients: Clients) -> None:
    client_id = user.create_client()
    user.get(f"/clients/{client_id}/history")
    assert "has not been changed" in user.text
    for number in range(51):
        clients.update(client_id, title=f"Title {number}")
    user.get(f"/clients/{client_id}/history")

    assert user.last.text.count("<tr>") == 51
    assert "The latest 50 of 51 changes." in user.text
    assert "→ Title 50" in user.text
    assert "→ Title 0 " not in user.text


def test_in_production_only_the_operator_can_change_authentication_and_security_settings(
    causeway: Causeway, user: WebUser
) -> None:
    causeway.hub.settings = replace(causeway.hub.settings, stage="prod", public_url="https://hub.example")
    vars(causeway.hub.openbanking).pop("clients", None)  # the next use creates it with the new settings
    clients, client_id = causeway.hub.openbanking.clients, user.create_client(callback_urls="https://tpp.example/back")
    before = clients.get(client_id)
    path = f"/clients/{client_id}/security"

    user.get(path)
    assert 'name="auth_method"' not in user.last.text
    assert f"clients update {client_id} --auth-method" in user.text
    assert "New client secret" in user.text
    for fields in (BY_KEY | {"action": "authentication"}, {"action": "tokens", "bound_tokens": "dpop"}):
        assert user.post(path, form={"revision": "0", **fields}).status == 400
        assert "Only the operator can change the authentication and security of a client." in user.text
    assert clients.get(client_id) == before


# -- secrets


@pytest.mark.parametrize(("overlap", "lives"), [("0", 0), ("3600", 3600), ("86400", 86400), ("604800", 604800)])
def test_a_new_client_secret_is_shown_once_and_the_old_secret_expires_after_the_overlap(
    causeway: Causeway, user: WebUser, overlap: str, lives: int
) -> None:
    client_id = user.create_client(secret="yes")
    old = user.secrets["client-secret"]
    user.get(f"/clients/{client_id}/security")
    fields = {"draft": user.hidden("draft"), "action": "rotate-secret", "overlap": overlap}
    token = user.token

    made = []
    for _ in range(2):  # pressed twice
        assert user.post(f"/clients/{client_id}/security", token, form=fields).status == 200
        made.append(user.secrets["client-secret"])

    client, now = causeway.hub.openbanking.clients.get(client_id), causeway.clock.time()
    assert made[0] == made[1] != old
    assert client.accepts_secret(made[0], now + lives)
    assert client.accepts_secret(old, now + lives - 1) == (lives > 0)
    assert not client.accepts_secret(old, now + lives)
    assert made[0] not in user.get(f"/clients/{client_id}/security").text
    causeway.clock.advance(600)
    assert user.post(f"/clients/{client_id}/security", token, form=fields).status == 400
    assert "cannot be shown again" in user.text


def test_the_first_client_secret_has_no_overlap_choice(causeway: Causeway, user: WebUser) -> None:
    client_id = user.create_client()
    assert "<select" not in user.get(f"/clients/{client_id}/security").text.partition("Create a new secret")[2]
    fields = {"draft": user.hidden("draft"), "action": "rotate-secret", "overlap": user.hidden("overlap")}
    token = user.token

    for _ in range(2):  # pressed twice
        assert user.post(f"/clients/{client_id}/security", token, form=fields).status == 200
        assert "The new secret is valid from now on." in user.text
        assert "The old one ends" not in user.text
    assert causeway.hub.openbanking.clients.get(client_id).accepts_secret(
        user.secrets["client-secret"], causeway.clock.time()
    )
    assert "The old secret ends" in user.get(f"/clients/{client_id}/security").text
    user.post(f"/clients/{client_id}/security", action="rotate-secret", draft=user.hidden("draft"), overlap="3600")
    assert "The old one ends in an hour." in user.text


def test_the_rotation_form_of_a_client_with_an_events_secret_has_an_overlap_choice(user: WebUser) -> None:
    client_id = user.create_client(events_url="https://a.example/")

    assert "The old events secret ends" in user.get(f"/clients/{client_id}/security").text


@pytest.mark.parametrize("overlap", ["", "60", "-1", "a week"])
def test_an_overlap_value_that_is_not_in_the_list_is_rejected(causeway: Causeway, user: WebUser, overlap: str) -> None:
    client_id = user.create_client(secret="yes")
    old = user.secrets["client-secret"]
    user.get(f"/clients/{client_id}/security")
    fields = {"draft": user.hidden("draft"), "action": "rotate-secret", "overlap": overlap}

    assert user.post(f"/clients/{client_id}/security", form=fields).status == 400
    client = causeway.hub.openbanking.clients.get(client_id)
    assert len(client.secrets) == 1
    assert client.accepts_secret(old, causeway.clock.time())


def test_a_new_events_secret_is_shown_once_and_is_the_first_to_sign_events(causeway: Causeway, user: WebUser) -> None:
    client_id = user.create_client(events_url="https://a.example/")
    old = user.secrets["events-secret"]
    user.get(f"/clients/{client_id}/security")
    fields = {"draft": user.hidden("draft"), "action": "rotate-events-secret", "overlap": "3600"}
    token = user.token

    for _ in range(2):
        assert user.post(f"/clients/{client_id}/security", token, form=fields).status == 200
        assert causeway.hub.openbanking.clients.events_secrets(causeway.hub.openbanking.clients.get(client_id)) == [
            user.secrets["events-secret"],
            old,
        ]
    causeway.clock.advance(600)
    assert user.post(f"/clients/{client_id}/security", token, form=fields).status == 400
