"""Tests of archived clients: every call is refused, also during a concurrent change."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from chalicelib.foundation.dynamodb.store import Operation, Store
from chalicelib.openbanking.api.oauth_api import oauth_routes
from chalicelib.openbanking.api.tpp_api import tpp_routes
from chalicelib.openbanking.records.clients import ClientChanged
from tests.causeway import Causeway
from tests.openbanking.kit import ReceivedRequest


@contextmanager
def another_change_first(store: Store, meanwhile: Callable[[], object]) -> Iterator[None]:
    """Run a concurrent change, ``meanwhile``, immediately before the next transaction of the store."""
    with pytest.MonkeyPatch.context() as patch:
        transact = store.transact

        def late(operations: Sequence[Operation]) -> None:
            patch.undo()
            meanwhile()
            transact(operations)

        patch.setattr(store, "transact", late)
        yield


def test_every_call_of_an_archived_client_is_refused(causeway: Causeway, subtests: pytest.Subtests) -> None:
    """The test reads the calls from the route tables, so that it includes new calls."""
    made = causeway.hub.openbanking.clients.create(owner="a@example.com", title="Gone", secret=True, events="poll")
    causeway.tpp.client, causeway.tpp.client_secret = made.client, made.secret
    tokens = causeway.tpp.tokens(2)
    bearer = tokens["access_token"]
    causeway.banks[2].answers["/v2/accounts"] = lambda sent: {"accounts": []}
    accepted = causeway.tpp.call("GET", "/tpp/accounts", bearer=bearer, headers={"prefer": "respond-async"})
    assert accepted.status == 202, accepted
    bodies: dict[str, dict[str, Any]] = {
        "/tpp/token": {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]},
        "/tpp/token/revoke": {"token": bearer},
        "/oauth/introspect": {"token": bearer},
        "/oauth/par": {"response_type": "code", "scope": "accounts", "state": "x"},
        "/tpp/authorize": {"bic": "BETADEF1", "scopes": ["accounts"]},
    }
    causeway.hub.openbanking.clients.archive(causeway.tpp.client_id)
    received = len(causeway.banks[2].received)
    pending = accepted.headers["location"].rpartition("/")[2]
    routes = [
        (method, path.format(request_id=pending, bic="BETADEF1"))
        for table in (tpp_routes, oauth_routes)
        for path, views in table.views.items()
        for method in views
        if "well-known" not in path and method in ("GET", "POST") and "{action}" not in path
    ]
    for method, path in routes:
        for shown in (None, bearer):
            with subtests.test(f"{method} {path}{' with a token' if shown else ''}"):
                body = bodies.get(path, {}) if method == "POST" else None
                answer = causeway.tpp.call(method, path, body, bearer=shown)
                assert answer.status in (400, 401) if path == "/oauth/authorize" else answer.status == 401, answer
    assert {path for _, path in routes} >= {*bodies, f"/tpp/requests/{pending}", "/tpp/events", "/tpp/accounts"}
    assert len(causeway.banks[2].received) == received
    assert causeway.hub.openbanking.consent_list.find(tokens["consent_id"]).status == "authorised"  # type: ignore[union-attr]


def test_a_running_call_completes_after_its_client_is_archived_and_later_calls_return_401(causeway: Causeway) -> None:
    bearer = causeway.tpp.tokens(1)["access_token"]

    def archive_meanwhile(sent: ReceivedRequest) -> dict[str, Any]:
        causeway.hub.openbanking.clients.archive(causeway.tpp.client_id)
        return {"status": "success", "accounts": []}

    causeway.banks[1].answers["/accounts"] = archive_meanwhile
    statuses = [causeway.tpp.call("GET", "/tpp/accounts", bearer=bearer).status for _ in range(2)]

    assert statuses == [200, 401]
    assert len([sent for sent in causeway.banks[1].received if sent.path == "/accounts"]) == 1


def test_a_second_concurrent_change_at_the_same_client_revision_is_refused(causeway: Causeway) -> None:
    """The test covers a concurrent update and a concurrent archival."""
    clients = causeway.hub.openbanking.clients
    client_id = clients.create(owner="a@example.com", title="Ours").client.client_id
    revision = clients.get(client_id).revision
    changes: dict[str, Callable[[], object]] = {
        "renamed": lambda: clients.update(client_id, title="Theirs"),
        "archived": lambda: clients.archive(client_id),
    }
    for name, refusal in (("renamed", ClientChanged), ("archived", ClientChanged)):
        with another_change_first(causeway.hub.store, changes[name]), pytest.raises(refusal):
            clients.update(client_id, revision=revision, title="Mine", callback_urls=["https://mine.example/"])
        revision = clients.get(client_id).revision
    final = clients.get(client_id)

    assert (final.title, final.is_archived) == ("Theirs", True)
    assert [each.action for each in clients.history(final)] == ["archived", "updated"]
