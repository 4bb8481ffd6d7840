"""The command line options for client authentication."""

import json
from pathlib import Path
from typing import Any

import pytest

from chalicelib.foundation.identifiers import new_id
from infra.admin import connection
from tests.causeway import Causeway
from tests.infra.admin.command_line import done, refused, run
from tests.kit.certificates import Authority
from tests.openbanking.key_holder import ORGANIZATION, SUBJECT, KeyHolder, stage_with

BY_KEY = ("--auth-method", "private_key_jwt", "--jwks")


@pytest.fixture(autouse=True)
def connected(causeway: Causeway, monkeypatch: pytest.MonkeyPatch) -> Causeway:
    monkeypatch.setattr(connection, "connect", lambda: causeway.hub)
    return causeway


def add_user() -> str:
    email = f"{new_id()}@example.com"
    done("users", "add", email, "--terms-accepted", "--password-stdin", stdin="correct horse battery\n")
    return email


@pytest.fixture
def owner() -> str:
    return add_user()


@pytest.fixture
def jwks(tmp_path: Path) -> str:
    file = tmp_path / "jwks.json"
    file.write_text(json.dumps(KeyHolder().jwks))
    return str(file)


def add(owner: str, *options: str) -> Any:
    return done("clients", "add", "--owner", owner, "--title", "TPP", *options)


def test_clients_add_registers_a_fapi2_client_with_its_keys(owner: str, jwks: str) -> None:
    made = add(owner, *BY_KEY, jwks, "--profile", "fapi2", "--dpop-nonce")

    assert made["client_secret"] is None
    client = made["client"]
    assert client["token_endpoint_auth_method"] == "private_key_jwt"
    assert client["jwks"] == ["key-1"]
    assert client["security_profile"] == "fapi2"
    assert client["dpop_nonce_required"] is True
    assert client == done("clients", "show", client["client_id"])["client"]


def test_clients_add_accepts_a_jwks_uri(owner: str) -> None:
    made = add(owner, *BY_KEY, "https://tpp.example.com/jwks.json")

    assert made["client"]["jwks_uri"] == "https://tpp.example.com/jwks.json"


def test_clients_update_changes_each_security_setting(owner: str, jwks: str) -> None:
    client_id = add(owner, *BY_KEY, jwks)["client"]["client_id"]

    for options, member, value in (
        (("--pushed-requests",), "require_pushed_authorization_requests", True),
        (("--no-pushed-requests",), "require_pushed_authorization_requests", None),
        (("--bound-tokens", "dpop"), "dpop_bound_access_tokens", True),
        (("--bound-tokens", "none"), "dpop_bound_access_tokens", None),
        (("--dpop-nonce",), "dpop_nonce_required", True),
        (("--no-dpop-nonce",), "dpop_nonce_required", None),
        (("--profile", "fapi2"), "security_profile", "fapi2"),
        (("--profile", "none"), "security_profile", None),
        (("--auth-method", "none"), "token_endpoint_auth_method", "none"),
    ):
        assert done("clients", "update", client_id, *options)["client"].get(member) == value
    changes = done("clients", "show", client_id)["history"]
    assert len(changes) == 9
    assert "security profile: fapi2" in run("clients", "show", client_id).stdout


def test_changing_the_authentication_to_client_secret_post_prints_the_secret_only_once(owner: str, jwks: str) -> None:
    client_id = add(owner, *BY_KEY, jwks)["client"]["client_id"]

    changed = done("clients", "update", client_id, "--auth-method", "client_secret_post")

    assert len(changed["client_secret"]) == 43
    assert "jwks" not in changed["client"]
    assert done("clients", "update", client_id, "--auth-method", "client_secret_post")["client_secret"] is None


def test_clients_add_accepts_certificate_authentication_and_organization_identifier(
    shared_causeway: Causeway, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    causeway = shared_causeway.again(stage_with(Authority(), tmp_path))
    monkeypatch.setattr(connection, "connect", lambda: causeway.hub)

    made = add(
        add_user(),
        *("--auth-method", "tls_client_auth", "--certificate-subject", SUBJECT),
        *("--organization-identifier", ORGANIZATION, "--bound-tokens", "certificate", "--profile", "fapi2"),
    )["client"]

    assert made["tls_client_auth_subject_dn"] == SUBJECT
    assert made["organization_identifier"] == made["registration_number"] == ORGANIZATION
    assert made["tls_client_certificate_bound_access_tokens"] is True
    without = done("clients", "update", made["client_id"], "--organization-identifier", "")["client"]
    assert "organization_identifier" not in without
    assert refused("clients", "update", made["client_id"], "--dpop-nonce").startswith("tokens that are bound")


def test_conflicting_client_security_settings_are_refused_with_the_reason(
    owner: str, jwks: str, tmp_path: Path
) -> None:
    client_id = add(owner)["client"]["client_id"]
    damaged, listed = tmp_path / "damaged.json", tmp_path / "list.json"
    damaged.write_text("{")
    listed.write_text("[]")

    def why(*options: str) -> str:
        return refused("clients", "update", client_id, *options)

    assert why("--auth-method", "private_key_jwt").startswith("the method private_key_jwt needs one key set")
    assert why("--jwks", jwks).startswith("a key set can only be used with the method private_key_jwt")
    assert why("--profile", "fapi2").startswith("the profile fapi2 needs the authentication method")
    assert why("--auth-method", "tls_client_auth", "--certificate-subject", SUBJECT).startswith(
        "this stage takes no client certificates: MTLS_URL is not set"
    )
    assert "damaged.json is not a JSON Web Key Set" in why(*BY_KEY, str(damaged))
    assert "list.json is not a JSON Web Key Set" in why(*BY_KEY, str(listed))
    assert "missing.json cannot be read" in why(*BY_KEY, "missing.json")
    assert done("clients", "show", client_id)["history"] == []
    fapi2 = add(owner, *BY_KEY, jwks, "--profile", "fapi2")["client"]["client_id"]
    assert refused("clients", "update", fapi2, "--no-pushed-requests").startswith("the profile fapi2 demands")
    assert refused("clients", "update", fapi2, "--bound-tokens", "none").startswith("the profile fapi2 demands")


def test_clients_add_refuses_a_private_key(owner: str, tmp_path: Path) -> None:
    file = tmp_path / "private.json"
    file.write_text(json.dumps({"keys": [KeyHolder().key.as_dict(private=True)]}))

    assert refused("clients", "add", "--owner", owner, "--title", "TPP", *BY_KEY, str(file)).startswith(
        "a key is private: pass public keys only"
    )
