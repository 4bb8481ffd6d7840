"""Sessions: visitors and ended sessions have no record, and a form token is valid only in its own session."""

import json

from chalicelib.website.records.sessions import LIFETIME
from tests.causeway import Causeway
from tests.website.web_user import ensure_user


def test_a_visitor_has_a_session_without_a_record(causeway: Causeway) -> None:
    session = causeway.hub.website.sessions.create_visitor_session()

    assert causeway.hub.website.sessions.find(session.cookie) == session
    assert session.email is None
    assert [*causeway.hub.store.scan("website")] == []


def test_a_session_record_is_deleted_with_its_session(causeway: Causeway, email: str) -> None:
    session = causeway.hub.website.sessions.begin(ensure_user(causeway.hub, email))
    (record,) = causeway.hub.store.scan("website")
    assert record["expires_at"] == causeway.clock.time() + LIFETIME
    assert session.cookie.partition(".")[0] not in json.dumps(record, default=str)
    causeway.hub.website.sessions.end(session)

    assert [*causeway.hub.store.scan("website")] == []
    assert causeway.hub.website.sessions.find(session.cookie) is None


def test_a_form_token_is_valid_in_its_own_session_only(causeway: Causeway, email: str) -> None:
    sessions = causeway.hub.website.sessions
    user = ensure_user(causeway.hub, email)
    mine, other, visitor = sessions.begin(user), sessions.begin(user), sessions.create_visitor_session()

    for session in (mine, other, visitor):
        assert sessions.accepts(session, session.form_token)
    for token in (other.form_token, visitor.form_token, "", mine.cookie):
        assert not sessions.accepts(mine, token)
