"""Access tokens are refreshed before expiry, refreshed only once, and never lost."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from causeway.errors import AuthorizationEnded, ConfigurationError, ConnectionLost, UnexpectedAnswer
from causeway.tpp import Tokens
from tests.kit.time import WatchedLock
from tests.sdk.scripted_hub import (
    START,
    Clock,
    ScriptedHub,
    accounts,
    answer,
    failure,
    payment_status,
    token_answer,
    tokens,
)

pytestmark = pytest.mark.usefixtures("clock")
REFUSED = "the bearer token is not valid: refresh it, or ask the PSU to authorize again"


def bearer_refused() -> httpx.Response:
    return failure(401, "AUTHENTICATION_REQUIRED", REFUSED)


def grant_refused() -> httpx.Response:
    return failure(400, "FORMAT_ERROR", "the refresh token has been used", error="invalid_grant", error_description="…")


def test_a_valid_access_token_is_not_refreshed() -> None:
    hub = ScriptedHub(accounts())
    consent = hub.tpp().consent(tokens())

    assert list(consent.accounts()) == []
    assert hub.header("Authorization") == ["Bearer access-1"]
    assert hub.header("X-Api-Key") == ["client-1"]


def test_a_token_with_less_than_a_minute_left_is_refreshed_and_stored_before_its_use() -> None:
    stored: list[Tokens] = []
    hub = ScriptedHub(token_answer(), lambda request: accounts() if stored else bearer_refused())
    consent = hub.tpp().consent(tokens(expires_in=59), on_refresh=stored.append)

    list(consent.accounts())

    assert hub.paths == ["/tpp/token", "/tpp/unified/accounts"]
    assert hub.form(0)["refresh_token"] == "refresh-1"
    assert hub.requests[1].headers["Authorization"] == "Bearer access-2"
    assert [pair.refresh_token for pair in stored] == ["refresh-2"]
    assert consent.tokens is stored[0]


def test_50_threads_with_an_expired_token_make_one_refresh_request() -> None:
    at_once = threading.Barrier(50)
    hub = ScriptedHub(token_answer(), *(accounts() for _ in range(50)))
    stored: list[Tokens] = []
    consent = hub.tpp().consent(tokens(expires_in=-10), on_refresh=stored.append)

    def read() -> None:
        at_once.wait()
        list(consent.accounts())

    with ThreadPoolExecutor(50) as pool:
        for done in [pool.submit(read) for _ in range(50)]:
            done.result()

    assert hub.paths.count("/tpp/token") == len(stored) == 1
    assert set(hub.header("Authorization")[1:]) == {"Bearer access-2"}


def test_50_threads_with_a_rejected_token_make_one_refresh_request() -> None:
    def serve(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/tpp/token":
            return token_answer()
        return bearer_refused() if "access-1" in request.headers["Authorization"] else accounts()

    hub = ScriptedHub(*[serve] * 101)
    consent = hub.tpp().consent(tokens())
    with ThreadPoolExecutor(50) as pool:
        for done in [pool.submit(lambda: list(consent.accounts())) for _ in range(50)]:
            done.result()

    assert hub.paths.count("/tpp/token") == 1


def test_50_tasks_with_an_expired_token_make_one_refresh_request() -> None:
    hub = ScriptedHub(token_answer(), *(accounts() for _ in range(50)))
    stored: list[Tokens] = []

    async def store(pair: Tokens) -> None:
        await asyncio.sleep(0)
        stored.append(pair)

    async def run() -> None:
        consent = hub.async_tpp().consent(tokens(expires_in=-10), on_refresh=store)
        await asyncio.gather(*(consent.accounts_answer() for _ in range(50)))

    asyncio.run(run())

    assert hub.paths.count("/tpp/token") == len(stored) == 1


@pytest.mark.parametrize("lost", [httpx.ReadTimeout("silence"), httpx.ReadError("reset"), httpx.Response(502)])
def test_a_refresh_with_a_lost_response_is_retried_with_the_same_refresh_token(
    lost: httpx.Response | Exception,
) -> None:
    hub = ScriptedHub(lost, token_answer(), accounts())
    consent = hub.tpp().consent(tokens(expires_in=0))

    list(consent.accounts())

    assert [hub.form(number)["refresh_token"] for number in (0, 1)] == ["refresh-1", "refresh-1"]
    assert consent.tokens.refresh_token == "refresh-2"


def test_a_token_refresh_is_not_retried_after_a_minute(clock: Clock) -> None:
    def silence(request: httpx.Request) -> httpx.Response:
        clock.seconds += 10
        raise httpx.ReadTimeout("silence")

    hub = ScriptedHub(*[silence] * 9)
    consent = hub.tpp().consent(tokens(expires_in=0))

    with pytest.raises(ConnectionLost):
        list(consent.accounts())
    assert clock.seconds - START < 60


def test_the_next_call_stores_the_tokens_if_they_could_not_be_stored_before() -> None:
    stored: list[Tokens] = []

    def store(pair: Tokens) -> None:
        stored.append(pair)
        if len(stored) == 1:
            raise OSError("the disk is full")

    hub = ScriptedHub(token_answer(), accounts())
    consent = hub.tpp().consent(tokens(expires_in=0), on_refresh=store)

    with pytest.raises(OSError, match="disk"):
        list(consent.accounts())
    list(consent.accounts())

    assert hub.paths == ["/tpp/token", "/tpp/unified/accounts"]
    assert [pair.refresh_token for pair in stored] == ["refresh-2", "refresh-2"]


def test_tokens_refreshed_by_another_process_are_used() -> None:
    store = [tokens(3)]
    hub = ScriptedHub(accounts(), bearer_refused(), accounts())
    consent = hub.tpp().consent(tokens(expires_in=10), on_refresh=store.append, reload=lambda: store[-1])

    list(consent.accounts())
    store.append(tokens(4))
    list(consent.accounts())

    assert hub.paths == ["/tpp/unified/accounts"] * 3
    assert hub.header("Authorization") == ["Bearer access-3", "Bearer access-3", "Bearer access-4"]
    assert len(store) == 2


def test_stored_tokens_older_than_the_current_tokens_are_ignored(clock: Clock) -> None:
    """A second use of a refresh token would end the consent."""
    hub = ScriptedHub(token_answer(2), accounts(), token_answer(3), accounts())
    consent = hub.tpp().consent(tokens(1, expires_in=10), reload=lambda: tokens(1, expires_in=10))

    list(consent.accounts())
    clock.seconds += 3600
    list(consent.accounts())

    assert [hub.form(number)["refresh_token"] for number in (0, 2)] == ["refresh-1", "refresh-2"]


def test_a_reload_function_that_returns_no_tokens_raises_configuration_error() -> None:
    nothing: Any = None
    hub = ScriptedHub()

    with pytest.raises(ConfigurationError, match="reload returns the stored Tokens"):
        list(hub.tpp().consent(tokens(expires_in=-10), reload=lambda: nothing).accounts())


def test_a_coroutine_as_on_refresh_raises_configuration_error_in_the_synchronous_client() -> None:
    async def store(pair: Tokens) -> None: ...

    hub = ScriptedHub(token_answer())
    consent = hub.tpp().consent(tokens(expires_in=-10), on_refresh=store)

    with pytest.raises(ConfigurationError, match="AsyncTpp"):
        list(consent.accounts())
    assert consent.tokens.access_token == "access-1"


def test_a_token_refresh_continues_after_its_task_is_cancelled() -> None:
    stored: list[Tokens] = []

    async def run() -> None:
        asked, may_answer = asyncio.Event(), asyncio.Event()

        async def serve(request: httpx.Request) -> httpx.Response:
            response = hub(request)
            if request.url.path == "/tpp/token":
                asked.set()
                await may_answer.wait()
            return response

        client = httpx.AsyncClient(transport=httpx.MockTransport(serve))
        consent = hub.async_tpp(http_client=client).consent(tokens(expires_in=-10), on_refresh=stored.append)
        first = asyncio.create_task(consent.accounts_answer())
        await asked.wait()
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        may_answer.set()
        await consent.accounts_answer()

    hub = ScriptedHub(token_answer(), accounts())
    asyncio.run(run())

    assert hub.paths == ["/tpp/token", "/tpp/unified/accounts"]
    assert [pair.access_token for pair in stored] == ["access-2"]


def test_expired_stored_tokens_are_refreshed() -> None:
    store = [tokens(3, expires_in=30)]
    hub = ScriptedHub(token_answer(4), accounts())
    consent = hub.tpp().consent(tokens(expires_in=10), on_refresh=store.append, reload=lambda: store[-1])

    list(consent.accounts())

    assert hub.form(0)["refresh_token"] == "refresh-3"
    assert store[-1].refresh_token == "refresh-4"


def test_stored_tokens_can_be_loaded_by_a_coroutine() -> None:
    hub = ScriptedHub(accounts())

    async def load() -> Tokens:
        await asyncio.sleep(0)
        return tokens(3)

    async def run() -> None:
        await hub.async_tpp().consent(tokens(expires_in=0), reload=load).accounts_answer()

    asyncio.run(run())
    assert hub.header("Authorization") == ["Bearer access-3"]


def test_a_malformed_refresh_response_raises_the_unexpected_answer_error() -> None:
    hub = ScriptedHub(answer(body={"access_token": "access-2"}))

    with pytest.raises(UnexpectedAnswer, match="token_type"):
        list(hub.tpp().consent(tokens(expires_in=0)).accounts())


def test_an_ended_consent_raises_authorization_ended_after_one_refresh_request() -> None:
    hub = ScriptedHub(bearer_refused(), grant_refused(), bearer_refused())
    consent = hub.tpp().consent(tokens())

    for _ in range(2):
        with pytest.raises(AuthorizationEnded) as caught:
            list(consent.accounts())
        assert "authorize again" in caught.value.advice

    assert hub.paths == ["/tpp/unified/accounts", "/tpp/token", "/tpp/unified/accounts"]


def test_a_used_one_time_consent_reads_its_payment_with_the_existing_token() -> None:
    hub = ScriptedHub(grant_refused(), payment_status("executed", is_final=True))
    consent = hub.tpp().consent(tokens(expires_in=-100))

    assert consent.payment_status("p").outcome is None
    assert hub.requests[1].headers["Authorization"] == "Bearer access-1"


def test_a_token_valid_until_the_end_of_the_consent_is_not_refreshed() -> None:
    ending = Tokens.from_json(
        {**tokens(expires_in=30).to_json(), "valid_until": tokens(expires_in=30).to_json()["expires_at"]}
    )
    hub = ScriptedHub(accounts())

    list(hub.tpp().consent(ending).accounts())

    assert hub.paths == ["/tpp/unified/accounts"]


def test_a_failed_token_refresh_fails_all_waiting_calls() -> None:
    lock = WatchedLock()

    def refuse_when_all_wait(request: httpx.Request) -> httpx.Response:
        lock.wait_for_waiting(9)
        raise httpx.ConnectError("refused")

    hub = ScriptedHub(refuse_when_all_wait, *(httpx.ConnectError("refused") for _ in range(5)))
    consent = hub.tpp().consent(tokens(expires_in=-10))
    consent._session.__dict__["_lock"] = lock

    def read() -> bool:
        with pytest.raises(ConnectionLost):
            list(consent.accounts())
        return True

    with ThreadPoolExecutor(10) as pool:
        assert all(done.result() for done in [pool.submit(read) for _ in range(10)])

    assert len(hub.requests) == 6


def test_an_unexpired_token_is_used_after_a_failed_refresh(caplog: pytest.LogCaptureFixture) -> None:
    hub = ScriptedHub(*(httpx.ConnectError("refused") for _ in range(6)), accounts())
    consent = hub.tpp().consent(tokens(expires_in=50))

    list(consent.accounts())

    assert hub.requests[-1].headers["Authorization"] == "Bearer access-1"
    assert "access-1" not in caplog.text
    assert "refresh-1" not in caplog.text


def test_tokens_are_unchanged_after_json_serialization_and_hidden_in_repr() -> None:
    pair = tokens()

    assert Tokens.from_json(pair.to_json()) == pair
    assert "access-1" not in repr(pair)
    assert "refresh-1" not in repr(pair)
