"""People who visit the web interface."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from chalicelib.foundation.identifiers import new_id
from tests.causeway import Causeway
from tests.cheap_hashes import cheap_hashes
from tests.website.person import Person


@pytest.fixture(scope="session", autouse=True)
def rendered_pages(rendered: None) -> None:
    """The documentation, the OpenAPI documents, and the API screens, which show them."""


@pytest.fixture
def quick_hashes() -> Iterator[None]:
    """Passwords are hashed as cheaply as can be; what a hash costs otherwise is the users' own matter."""
    with cheap_hashes():
        yield


@pytest.fixture
def visitor(causeway: Causeway) -> Person:
    """Somebody who is not signed in."""
    return Person(causeway)


@pytest.fixture
def email() -> str:
    return f"{new_id()}@example.com"


@pytest.fixture
def user(causeway: Causeway, email: str) -> Person:
    """Somebody who is signed in."""
    return Person.signed_in(causeway, email)


@pytest.fixture
def client_id(user: Person) -> str:
    """A client of the user's."""
    return user.create_client()


@pytest.fixture
def secret_client(user: Person) -> tuple[str, str]:
    """A client with a secret, and that secret."""
    client_id = user.create_client("Secretive", secret="yes")
    found = re.search(r'<code id="client-secret">([^<]+)</code>', user.last.text)
    assert found is not None
    return client_id, found[1]
