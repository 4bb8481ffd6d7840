"""Fixtures for users of the web interface, their clients and their cards."""

import pytest

from chalicelib.foundation.crypto import passwords
from chalicelib.foundation.identifiers import new_id
from chalicelib.website.records.users import user_key
from tests.cards.issuer import MANAGER, Issuer, NewCard
from tests.causeway import Causeway
from tests.website.web_user import PASSWORD, WebUser, ensure_user


@pytest.fixture(scope="session", autouse=True)
def rendered_pages(rendered: None) -> None:
    """Render the documentation, the OpenAPI documents and the API screens."""


@pytest.fixture
def visitor(causeway: Causeway) -> WebUser:
    return WebUser(causeway)


@pytest.fixture
def email() -> str:
    return f"{new_id()}@example.com"


@pytest.fixture
def user(causeway: Causeway, email: str) -> WebUser:
    return WebUser.signed_in(causeway, email)


@pytest.fixture
def registered(causeway: Causeway, email: str) -> str:
    user = ensure_user(causeway.hub, email)
    table, key = user_key(user.email)
    causeway.hub.store.update(table, key, set={"password_hash": passwords.hash_password(PASSWORD)})
    return email


@pytest.fixture
def client_id(user: WebUser) -> str:
    return user.create_client()


@pytest.fixture
def secret_client(user: WebUser) -> tuple[str, str]:
    return user.create_client("Secretive", secret="yes"), user.code("client-secret")


@pytest.fixture
def issuer(causeway: Causeway) -> Issuer:
    return Issuer(causeway)


@pytest.fixture
def card(issuer: Issuer) -> NewCard:
    return issuer.spendable(500_00)


@pytest.fixture
def colleague(causeway: Causeway, user: WebUser, email: str) -> WebUser:
    link(causeway, email)
    return user


def link(causeway: Causeway, email: str, manager_id: int = MANAGER) -> None:
    """Link a user to a programme manager without a registration, because a password hash takes time."""
    causeway.hub.store.put("users", {"email": email, "password_hash": "", "created_at": 0, "manager_id": manager_id})
