"""The number of DynamoDB round trips is part of the design: one test per request of the table in the README."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from urllib.parse import urlencode

import pytest

from tests.world import World

VERSIONS = pytest.mark.parametrize("version", [1, 2])


@contextlib.contextmanager
def counted(world: World) -> Iterator[list[str]]:
    """The names of the DynamoDB calls made inside."""
    calls: list[str] = []
    events = world.hub.store._client.meta.events

    def note(model: object, **_: object) -> None:
        calls.append(model.name)  # type: ignore[attr-defined]

    events.register("before-call.dynamodb", note)
    try:
        yield calls
    finally:
        events.unregister("before-call.dynamodb", note)


@pytest.fixture
def warm(world: World) -> World:
    """A world whose caches hold what a running instance's would."""
    for side in world.banks.values():
        world.hub.banks.find(side.bank.bic)
    world.hub.banks.directory()
    return world


@VERSIONS
def test_a_relayed_read_takes_one_batch_get_item(warm: World, version: int) -> None:
    bearer = warm.tokens(version)["access_token"]
    path = "/accounts" if version == 1 else "/v2_accounts"
    warm.banks[version].answers[path] = lambda sent: {"status": "success", "accounts": []}

    with counted(warm) as calls:
        assert warm.tpp("GET", "/tpp/accounts", bearer=bearer).status == 200

    assert calls == ["BatchGetItem"]


@VERSIONS
def test_authorize_takes_two_round_trips(warm: World, version: int) -> None:
    with counted(warm) as calls:
        warm.authorize(version)

    assert calls == ["BatchGetItem", "PutItem"]


def test_the_front_door_takes_two_round_trips(warm: World) -> None:
    query = {
        "response_type": "code",
        "client_id": warm.client.client_id,
        "scope": "account.list",
        "state": "s",
        "bic": "ALPHGB21",
    }

    for _ in range(2):  # the second is a reload
        with counted(warm) as calls:
            assert warm.call("GET", f"/oauth/authorize?{urlencode(query)}").status == 303

        assert calls == ["BatchGetItem", "PutItem"]


@VERSIONS
def test_init_authorization_takes_two_round_trips(warm: World, version: int) -> None:
    url = warm.authorize(version)["redirect_url"]

    with counted(warm) as calls:
        name = "request_url" if version == 1 else "requestUrl"
        assert warm.bank(version, "/init_authorization", {name: url}).status == 200

    assert calls == ["BatchGetItem", "PutItem"]


@VERSIONS
def test_saving_a_consent_takes_two_round_trips(warm: World, version: int) -> None:
    url = warm.authorize(version)["redirect_url"]

    with counted(warm) as calls:
        assert warm.bank(version, "/consent", warm.consent_body(version, url)).status == 200

    assert calls == ["BatchGetItem", "TransactWriteItems"]


@VERSIONS
def test_exchanging_a_code_takes_two_round_trips(warm: World, version: int) -> None:
    code = warm.approve(version).query["code"]

    with counted(warm) as calls:
        assert warm.tpp("POST", "/tpp/token", {"code": code}).status == 200

    assert calls == ["BatchGetItem", "TransactWriteItems"]


def test_a_refresh_takes_two_round_trips_and_its_repeat_one(warm: World) -> None:
    refresh = {"refresh_token": warm.tokens(1)["refresh_token"]}

    with counted(warm) as calls:
        assert warm.tpp("POST", "/tpp/token", refresh).status == 200
    assert calls == ["BatchGetItem", "TransactWriteItems"]

    with counted(warm) as calls:
        assert warm.tpp("POST", "/tpp/token", refresh).status == 200
    assert calls == ["BatchGetItem"]


@VERSIONS
def test_revoking_takes_two_round_trips(warm: World, version: int) -> None:
    token = warm.tokens(version)["access_token"]
    consented = warm.approve(version)
    name = "access_token" if version == 1 else "accessToken"

    with counted(warm) as calls:
        assert warm.tpp("POST", "/tpp/token/revoke", {"token": token}).status == 200
    assert calls == ["BatchGetItem", "TransactWriteItems"]

    with counted(warm) as calls:
        assert warm.bank(version, "/token/revoke", {name: consented.bank_token}).status == 200
    assert calls == ["BatchGetItem", "TransactWriteItems"]


@pytest.mark.parametrize("path", ["/tpp/consent", "/tpp/banks", "/tpp/scope?bic=ALPHGB21"])
def test_a_look_at_what_is_known_takes_one_read(warm: World, path: str) -> None:
    bearer = warm.tokens(1)["access_token"]

    with counted(warm) as calls:
        assert warm.tpp("GET", path, bearer=bearer).status == 200

    assert calls == ["BatchGetItem"]


def test_a_bank_is_read_again_after_a_minute_and_not_before(warm: World) -> None:
    bearer = warm.tokens(1)["access_token"]
    warm.banks[1].answers["/accounts"] = lambda sent: {"status": "success", "accounts": []}
    seen = []

    for seconds in (59, 1, 1):
        warm.clock.advance(seconds=seconds)
        with counted(warm) as calls:
            warm.tpp("GET", "/tpp/accounts", bearer=bearer)
        seen.append(len(calls))

    assert seen == [1, 2, 1]
