"""A user who has registered."""

from __future__ import annotations

import pytest

from chalicelib.foundation.crypto import passwords
from chalicelib.website.records.users import user_key
from tests.causeway import Causeway
from tests.website.person import PASSWORD, known


@pytest.fixture
def registered(causeway: Causeway, email: str) -> str:
    """The email of a user with a password, who may be there already."""
    user = known(causeway.hub, email)
    table, key = user_key(user.email)
    causeway.hub.store.update(table, key, set={"password_hash": passwords.hash_password(PASSWORD)})
    return email
