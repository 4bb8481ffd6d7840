"""A starting stack reuses the users and credentials of an earlier start while these users and credentials are valid."""

from pathlib import Path
from typing import Any

import pytest

from chalicelib.foundation.identifiers import new_id
from chalicelib.website.accounts import account_flow
from infra.local import seed
from infra.programme import file
from tests.cards.programmes import credential, manager, written
from tests.causeway import Causeway


@pytest.fixture
def demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    made = [manager(credentials=[credential("full"), credential("support")]), manager()]
    monkeypatch.setattr(file, "DEMO", tmp_path / "demo.yaml")
    file.DEMO.write_text(written(*made))
    return made


def passes(causeway: Causeway, parts: dict[str, str]) -> bool:
    credentials = causeway.another_process().cards.credentials
    return credentials.check(parts["access_key"], parts["access_api_id"], parts["access_api_key"]) is not None


def test_the_stored_user_is_reused_with_a_confirmed_email_address(causeway: Causeway) -> None:
    """An earlier version of the stack registered the user through the registration page."""
    email = f"{new_id()}@example.com"
    causeway.hub.website.users.register(email, "correct horse battery", terms_accepted=True)
    before = {"email": email, "password": "correct horse battery"}

    assert seed.seed_user(causeway.hub, before) == before
    assert causeway.hub.website.call(account_flow.link_manager, email, 1).manager_id == 1


def test_stored_credentials_are_reused_at_the_next_start(causeway: Causeway, demo: list[dict[str, Any]]) -> None:
    first = seed.seed_programmes(causeway.hub, [{}, {}])
    assert [each["manager_id"] for each in first] == [each["id"] for each in demo]
    assert list(first[0]["credentials"]) == ["full", "support"]
    assert all(passes(causeway, parts) for each in first for parts in each["credentials"].values())
    revision = causeway.hub.cards.programmes.set_up(demo[0]["id"]).revision

    assert seed.seed_programmes(causeway.hub, first) == first
    assert causeway.hub.cards.programmes.set_up(demo[0]["id"]).revision == revision


def test_a_credential_whose_parts_are_unknown_is_created_again(causeway: Causeway, demo: list[dict[str, Any]]) -> None:
    first, _ = seed.seed_programmes(causeway.hub, [{}, {}])
    forgotten = {**first, "credentials": {"full": first["credentials"]["full"]}}

    again, _ = seed.seed_programmes(causeway.another_process(), [forgotten, {}])

    assert again["credentials"]["full"] == first["credentials"]["full"]
    assert passes(causeway, again["credentials"]["support"])
    assert not passes(causeway, first["credentials"]["support"])
