"""Tests of keys from a client's ``jwks_uri``: caching, rotation and concurrent requests."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pytest

from chalicelib.foundation import jsontext
from chalicelib.foundation.http.outbound import NotReached, Outbound, OutboundError, Reply, ResponseTooLarge, TimedOut
from chalicelib.openbanking.oauth.key_sets import (
    FETCH_SECONDS,
    FRESH_SECONDS,
    MAX_KEY_SET_BYTES,
    MIN_REFETCH_SECONDS,
    STALE_SECONDS,
    KeySets,
)
from tests.causeway import Causeway
from tests.kit.http import AMPLE, Connection, let_time_run_out, socket_server
from tests.kit.logs import Lines
from tests.kit.time import PATIENCE_SECONDS
from tests.openbanking.key_holder import KeyHolder, secure

URI = "http://127.0.0.1:1/jwks"


class Site:
    def __init__(self) -> None:
        self.asked = 0
        self.reply: Reply | OutboundError = NotReached("nobody is there")

    def serve(self, *holders: KeyHolder, status: int = 200) -> None:
        keys = [key for holder in holders for key in holder.jwks["keys"]]
        self.reply = Reply(status, jsontext.dumps({"keys": keys}).encode(), {}, 0.01)

    def get(self, url: str, *, largest: int, total_seconds: float) -> Reply:
        assert (url, largest, total_seconds) == (URI, MAX_KEY_SET_BYTES, FETCH_SECONDS)
        self.asked += 1
        if isinstance(self.reply, OutboundError):
            raise self.reply
        return self.reply


@pytest.fixture
def site(causeway: Causeway) -> Site:
    made = Site()
    causeway.hub.outbound.get = made.get  # type: ignore[method-assign]
    secure(causeway, KeyHolder(), jwks_uri=URI, jwks=None)
    return made


def status(causeway: Causeway, holder: KeyHolder) -> int:
    headers = {"x-client-assertion": holder.assertion(causeway)}
    return causeway.tpp.call("GET", "/tpp/banks", client_id="", headers=headers).status


def test_a_key_set_is_fetched_once_in_five_minutes(causeway: Causeway, site: Site) -> None:
    holder = KeyHolder()
    site.serve(holder)

    assert [status(causeway, holder) for _ in range(3)] == [200, 200, 200]
    assert site.asked == 1
    causeway.clock.advance(FRESH_SECONDS)
    assert status(causeway, holder) == 200
    assert site.asked == 2


def test_an_unknown_key_id_causes_another_fetch_of_the_key_set(causeway: Causeway, site: Site) -> None:
    old, new = KeyHolder(kid="old"), KeyHolder(kid="new")
    site.serve(old)
    assert status(causeway, old) == 200

    causeway.clock.advance(MIN_REFETCH_SECONDS)
    site.serve(old, new)
    assert status(causeway, new) == 200
    assert site.asked == 2


def test_a_removed_key_is_refused_after_five_minutes(causeway: Causeway, site: Site) -> None:
    old, new = KeyHolder(kid="old"), KeyHolder(kid="new")
    site.serve(old, new)
    assert status(causeway, old) == 200

    site.serve(new)
    causeway.clock.advance(FRESH_SECONDS)
    assert status(causeway, old) == 401


def test_several_unknown_key_ids_cause_one_fetch_of_the_key_set(causeway: Causeway, site: Site) -> None:
    site.serve(KeyHolder())
    stranger = KeyHolder(kid="stranger")

    assert {status(causeway, stranger) for _ in range(20)} == {401}
    assert site.asked == 1


def test_a_failed_fetch_of_a_key_set_is_retried_after_30_seconds(causeway: Causeway, site: Site) -> None:
    holder = KeyHolder()

    assert [status(causeway, holder) for _ in range(5)] == [401] * 5
    assert site.asked == 1
    site.serve(holder)
    causeway.clock.advance(MIN_REFETCH_SECONDS)
    assert status(causeway, holder) == 200


@dataclass
class ConcurrentCallers:
    """Threads that need keys concurrently. The URL responds when all other threads wait or have finished."""

    causeway: Causeway
    keys: KeySets
    fetching: Callable[..., Reply]
    waiting_or_done: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))

    def ask(self, kids: Sequence[str | None]) -> list[int]:
        client = self.causeway.hub.openbanking.clients.get(self.causeway.tpp.client_id)
        self.waiting_or_done = threading.Semaphore(0)

        def find(kid: str | None) -> int:
            found = len(self.keys.find(client, kid))
            self.waiting_or_done.release()
            return found

        with ThreadPoolExecutor(len(kids)) as threads:
            self.causeway.hub.outbound.get = partial(self.answer, len(kids) - 1)  # type: ignore[method-assign]
            return list(threads.map(find, kids))

    def answer(self, others: int, url: str, **limits: Any) -> Reply:
        for _ in range(others):
            assert self.waiting_or_done.acquire(timeout=PATIENCE_SECONDS)
        return self.fetching(url, **limits)


@pytest.fixture
def callers(causeway: Causeway, site: Site, monkeypatch: pytest.MonkeyPatch) -> ConcurrentCallers:
    callers = ConcurrentCallers(causeway, KeySets(causeway.hub.outbound, causeway.clock), causeway.hub.outbound.get)
    wait = KeySets.wait_for

    def release_and_wait(keys: KeySets, running: threading.Event) -> None:
        callers.waiting_or_done.release()
        wait(keys, running)

    monkeypatch.setattr(KeySets, "wait_for", release_and_wait)
    return callers


def test_concurrent_assertions_cause_only_one_first_fetch_of_a_key_set(callers: ConcurrentCallers, site: Site) -> None:
    site.serve(KeyHolder(kid="own"))

    assert callers.ask(["own"] * 6 + [None] * 6) == [1] * 12
    assert site.asked == 1


def test_assertions_with_a_known_key_do_not_wait_for_a_fetch(callers: ConcurrentCallers, site: Site) -> None:
    old, new = KeyHolder(kid="old"), KeyHolder(kid="new")
    site.serve(old)
    assert callers.ask(["old"]) == [1]
    callers.causeway.clock.advance(FRESH_SECONDS)
    site.serve(old, new)

    found = callers.ask(["new"] * 6 + ["old"] * 6)
    assert found[:6] == [2] * 6
    assert found[6:].count(1) >= 5, "all but the thread that fetches the set"
    assert site.asked == 2


def test_a_failed_first_fetch_releases_all_waiting_requests(callers: ConcurrentCallers, site: Site) -> None:
    assert callers.ask(["own"] * 12) == [0] * 12
    assert site.asked == 1


def test_a_key_set_is_fetched_after_the_clock_was_set_back(causeway: Causeway, site: Site) -> None:
    holder = KeyHolder()
    assert status(causeway, holder) == 401
    site.serve(holder)
    causeway.clock.advance(-3600)

    assert status(causeway, holder) == 200


def test_a_removed_key_is_refused_after_the_clock_was_set_back(causeway: Causeway, site: Site) -> None:
    old, new = KeyHolder(kid="old"), KeyHolder(kid="new")
    site.serve(old, new)
    assert status(causeway, old) == 200

    site.serve(new)
    causeway.clock.advance(-3600)
    assert status(causeway, old) == 401


@pytest.mark.parametrize("failure", [TimedOut("slow"), ResponseTooLarge("large"), NotReached("private")])
def test_cached_keys_remain_valid_for_a_day_while_fetches_of_the_key_set_fail(
    causeway: Causeway, site: Site, failure: OutboundError, lines: Lines
) -> None:
    holder = KeyHolder()
    site.serve(holder)
    assert status(causeway, holder) == 200

    site.reply = failure
    causeway.clock.advance(STALE_SECONDS - 1)
    assert status(causeway, holder) == 200
    causeway.clock.advance(MIN_REFETCH_SECONDS)
    assert status(causeway, holder) == 401
    assert any(line["message"] == "key set not fetched" for line in lines.all())


@pytest.mark.parametrize(
    "reply",
    [
        Reply(404, b"{}", {}, 0.1),
        Reply(302, b"", {"Location": "https://other.example.com"}, 0.1),
        Reply(200, b"", {}, 0.1),
        Reply(200, b"not json", {}, 0.1),
        Reply(200, b'{"keys": []}', {}, 0.1),
        Reply(200, b"[]", {}, 0.1),
    ],
    ids=str,
)
def test_a_response_without_keys_is_refused(causeway: Causeway, site: Site, reply: Reply) -> None:
    site.reply = reply

    assert status(causeway, KeyHolder()) == 401


# -- the guarded call itself


def serve_keys(connection: Connection) -> None:
    connection.request()
    body = b'{"keys": []}'
    connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))


def flood(connection: Connection) -> None:
    connection.request()
    connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: 10000000\r\n\r\n")
    for _ in range(150):
        connection.send(b" " * 65536)


def trickle(connection: Connection) -> None:
    connection.request()
    connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
    connection.trickle(b" " * 1000)


def get(url: str, *, public_only: bool = False) -> Any:
    return Outbound(public_only=public_only).get(url, largest=MAX_KEY_SET_BYTES, total_seconds=AMPLE)


def test_a_key_set_is_fetched_from_its_url() -> None:
    with socket_server(serve_keys) as server:
        assert get(server.url).body == b'{"keys": []}'


def test_a_key_set_of_10_mb_is_refused() -> None:
    with socket_server(flood) as server, pytest.raises(ResponseTooLarge, match="64 KB"):
        get(server.url)


def test_a_slow_key_set_response_times_out(monkeypatch: pytest.MonkeyPatch) -> None:
    let_time_run_out(monkeypatch)
    with socket_server(trickle) as server, pytest.raises(TimedOut):
        get(server.url)


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:1/jwks", "http://localhost/jwks", "http://169.254.169.254/", "file:///etc"]
)
def test_an_internal_key_set_url_is_refused(url: str) -> None:
    with pytest.raises(NotReached):
        get(url, public_only=True)
