"""Journeys are stored encrypted and expire."""

import json
import re

from tests.causeway import Causeway
from tests.website.web_user import WebUser


def test_a_journey_is_stored_without_plain_text_secrets(causeway: Causeway, user: WebUser, client_id: str) -> None:
    user.get_tokens(client_id)
    stored = json.dumps([*causeway.hub.store.scan("website")], default=str)

    for name in ("access-token", "refresh-token"):
        assert user.code(name).partition(".")[2] not in stored
    for name in ("authorization_code", "code_verifier"):
        found = re.search(rf'"{name}" ?: ?"([^"]+)"', user.text)
        assert found is not None
        assert found[1] not in stored


def test_a_journey_expires_after_30_days(causeway: Causeway, user: WebUser, client_id: str, email: str) -> None:
    state = user.get_tokens(client_id)
    for seconds, is_there in ((30 * 24 * 3600 - 1, True), (1, False)):
        causeway.clock.advance(seconds)
        user = WebUser.signed_in(causeway, email)
        user.get(f"/authorize/callback?state={state}")
        assert ("You have tokens" in user.text) is is_there
        assert bool(causeway.hub.website.journeys.list_latest(email)) is is_there
