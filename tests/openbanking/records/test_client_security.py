"""Tests of a client's security settings: valid combinations, replaced settings and old records."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from chalicelib.foundation.settings import Settings
from chalicelib.openbanking.records.client_record import Client, client_key
from chalicelib.openbanking.records.client_security import ClientSecurity
from chalicelib.openbanking.records.client_validation import InvalidClient
from chalicelib.openbanking.records.clients import Clients
from tests.causeway import Causeway
from tests.openbanking.key_holder import KeyHolder

JWKS = KeyHolder().jwks
BY_KEY: Mapping[str, Any] = {"auth_method": "private_key_jwt", "jwks": JWKS}
SUBJECT = "CN=tpp.example.com,O=TPP,C=GB"
BY_CERTIFICATE: Mapping[str, Any] = {"auth_method": "tls_client_auth", "tls_client_auth_subject_dn": SUBJECT}


@pytest.fixture
def clients(causeway: Causeway) -> Clients:
    return causeway.hub.openbanking.clients


@pytest.fixture
def mutual(shared_causeway: Causeway) -> Iterator[Clients]:
    settings = Settings.from_environment({"STAGE": "local", "MTLS_URL": "https://127.0.0.1:8443", "TPP_CA_BUNDLE": "x"})
    causeway = shared_causeway.again(settings)
    with causeway.installed():
        yield causeway.hub.openbanking.clients


def create(clients: Clients, **security: Any) -> Client:
    return clients.create(owner="a@example.com", title="TPP", security=security).client


def refused(clients: Clients, **security: Any) -> str:
    with pytest.raises(InvalidClient) as caught:
        create(clients, **security)
    return f"{caught.value.member}: {caught.value}"


def test_a_record_without_security_has_the_default_settings(causeway: Causeway, clients: Clients) -> None:
    item = causeway.hub.store.get(*client_key(causeway.tpp.client_id))

    assert item is not None
    assert "security" not in item
    assert Client.from_item(item).security == ClientSecurity()
    assert clients.get(causeway.tpp.client_id).auth_method == "none"


def test_an_unknown_setting_of_a_newer_release_is_ignored(clients: Clients) -> None:
    """The setting is ignored so that a stage can be rolled back to this release."""
    assert ClientSecurity.from_item({"security_profile": "fapi2", "unheard_of": 1}).is_fapi2


def test_security_settings_are_stored_and_read_back(clients: Clients) -> None:
    made = create(clients, **BY_KEY, security_profile="fapi2", dpop_nonce_required=True)

    kept = clients.get(made.client_id)
    assert kept == made
    assert kept.security.jwks == JWKS
    assert kept.is_confidential
    assert kept.security.requires_pushed_requests
    assert kept.security.requires_bound_tokens


@pytest.mark.parametrize(
    ("security", "reason"),
    [
        ({"auth_method": "private_key_jwt"}, "jwks: the method private_key_jwt needs one key set"),
        ({**BY_KEY, "jwks_uri": "https://tpp.example.com/jwks"}, "jwks: the method private_key_jwt needs one key set"),
        ({"jwks": JWKS}, "jwks: a key set can only be used"),
        ({"jwks_uri": "https://tpp.example.com/jwks"}, "jwks_uri: a key set can only be used"),
        ({"auth_method": "private_key_jwt", "jwks": {"keys": []}}, "jwks: a key set must have a key"),
        ({"auth_method": "private_key_jwt", "jwks_uri": "ftp://x"}, "jwks_uri: jwks_uri must begin with https"),
        ({"security_profile": "fapi2"}, "security_profile: the profile fapi2 needs"),
        ({"security_profile": "fapi2", "auth_method": "client_secret_basic"}, "security_profile: the profile fapi2"),
        (BY_CERTIFICATE, "auth_method: this stage takes no client certificates"),
        ({"organization_identifier": "PSDGB-FCA-1"}, "auth_method: this stage takes no client certificates"),
        ({"tls_client_certificate_bound_access_tokens": True}, "auth_method: this stage takes no client certificates"),
        (
            {**BY_KEY, "security_profile": "fapi2", "require_pushed_authorization_requests": False},
            "require_pushed_authorization_requests: the profile fapi2 demands that requests are pushed",
        ),
        (
            {
                **BY_KEY,
                "security_profile": "fapi2",
                "dpop_bound_access_tokens": False,
                "tls_client_certificate_bound_access_tokens": False,
            },
            "dpop_bound_access_tokens: the profile fapi2 demands that tokens are bound",
        ),
    ],
)
def test_contradictory_settings_are_refused_with_the_reason(
    clients: Clients, security: Mapping[str, Any], reason: str
) -> None:
    assert refused(clients, **security).startswith(reason)


@pytest.mark.parametrize(
    ("security", "reason"),
    [
        ({"auth_method": "tls_client_auth"}, "tls_client_auth_subject_dn: the method tls_client_auth needs"),
        ({"tls_client_auth_subject_dn": SUBJECT}, "tls_client_auth_subject_dn: a certificate's subject"),
        (
            {"tls_client_certificate_bound_access_tokens": True, "dpop_bound_access_tokens": True},
            "dpop_bound_access_tokens: tokens are bound to a DPoP key or to a certificate",
        ),
        (
            {"tls_client_certificate_bound_access_tokens": True, "dpop_nonce_required": True},
            "dpop_nonce_required: tokens that are bound to a certificate need no proofs",
        ),
        (
            {**BY_CERTIFICATE, "organization_identifier": "GB123"},
            "organization_identifier: the organization identifier",
        ),
        (
            {**BY_CERTIFICATE, "tls_client_auth_subject_dn": "tpp.example.com"},
            "tls_client_auth_subject_dn: the certificate's subject must be a name",
        ),
    ],
)
def test_contradictory_certificate_settings_are_refused_with_the_reason(
    mutual: Clients, security: Mapping[str, Any], reason: str
) -> None:
    assert refused(mutual, **security).startswith(reason)


def test_certificate_settings_bind_tokens_and_set_the_registration_number_of_the_client(mutual: Clients) -> None:
    made = create(
        mutual,
        **BY_CERTIFICATE,
        organization_identifier="PSDGB-FCA-123456",
        tls_client_certificate_bound_access_tokens=True,
        security_profile="fapi2",
    )

    assert made.registration_number == "PSDGB-FCA-123456"
    assert not made.security.requires_proof
    assert made.security.requires_bound_tokens
    with pytest.raises(InvalidClient, match="that of its certificate"):
        mutual.update(made.client_id, registration_number="PSDGB-FCA-999999")


def test_setting_a_public_key_removes_the_client_secret(clients: Clients) -> None:
    made = clients.create(owner="a@example.com", title="TPP", secret=True)
    with pytest.raises(InvalidClient, match="method private_key_jwt has no secret"):
        clients.create(owner="a@example.com", title="TPP", secret=True, security=BY_KEY)

    changed = clients.update(made.client.client_id, security=BY_KEY)

    assert changed.client.secrets == ()
    assert changed.secret is None
    with pytest.raises(InvalidClient, match="method private_key_jwt, which needs no secret"):
        clients.rotate_secret(made.client.client_id, 0)


@pytest.mark.parametrize("method", ["client_secret_basic", "client_secret_post"])
def test_changing_to_a_secret_authentication_method_creates_a_secret(
    causeway: Causeway, clients: Clients, method: str
) -> None:
    made = create(clients, **BY_KEY)

    changed = clients.update(made.client_id, security={"auth_method": method})

    assert changed.secret is not None
    assert changed.client.accepts_secret(changed.secret, causeway.clock.time())
    assert changed.client.security == ClientSecurity(auth_method=method)  # type: ignore[arg-type]
    assert clients.update(made.client_id, security={"auth_method": method}).secret is None


def test_setting_jwks_uri_removes_jwks_and_setting_jwks_removes_jwks_uri(clients: Clients) -> None:
    made = create(clients, **BY_KEY)

    changed = clients.update(made.client_id, security={"jwks_uri": "https://tpp.example.com/jwks"}).client

    assert (changed.security.jwks, changed.security.jwks_uri) == (None, "https://tpp.example.com/jwks")
    again = clients.update(made.client_id, security={"jwks": JWKS}).client
    assert (again.security.jwks, again.security.jwks_uri) == (JWKS, None)


def test_a_security_changes_are_recorded_in_the_history(clients: Clients) -> None:
    made = create(clients)

    clients.update(made.client_id, security={**BY_KEY, "dpop_bound_access_tokens": True})

    (change,) = clients.history(clients.get(made.client_id))
    assert change.before == {"auth_method": None, "jwks": None, "dpop_bound_access_tokens": False}
    assert change.after == {"auth_method": "private_key_jwt", "jwks": JWKS, "dpop_bound_access_tokens": True}


@pytest.fixture
def production(shared_causeway: Causeway) -> Clients:
    settings = Settings.from_environment(
        {
            "STAGE": "prod",
            "PUBLIC_URL": "https://hub.example.com",
            "RESOURCE_PREFIX": shared_causeway.hub.settings.prefix,
        }
    )
    return shared_causeway.again(settings).hub.openbanking.clients


@pytest.mark.parametrize("active", [True, False])
@pytest.mark.parametrize(
    ("details", "member"),
    [({"registration_number": "PSDGB-FCA-1"}, "registration_number"), ({"security": BY_KEY}, "security")],
)
def test_in_production_only_the_operator_can_change_security_and_the_registration_number(
    production: Clients, details: Any, member: str, active: bool
) -> None:
    client_id = production.create(owner="a@example.com", title="TPP", active=active).client.client_id

    with pytest.raises(InvalidClient, match="only the operator can change the") as caught:
        production.update(client_id, owner="a@example.com", **details)

    assert caught.value.member == member
    assert production.get(client_id).revision == 0
    assert production.update(client_id, **details).client.revision == 1


def test_in_production_a_client_needs_a_secret_or_a_key(production: Clients) -> None:
    clients = production

    assert refused(clients, auth_method="none").startswith("auth_method: the method none is available in sandbox")
    assert not create(clients, **BY_KEY).has_secret
    assert create(clients).has_secret
    assert refused(clients, auth_method="private_key_jwt", jwks_uri="https://10.0.0.1/jwks").startswith("jwks_uri")
