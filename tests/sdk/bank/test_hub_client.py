"""Tests of the bank's calls to the hub. Calls are signed, use the member names of the API version, and are retried with
the same X-Request-Id.
"""

import asyncio
import json
import re
from collections.abc import Iterator
from datetime import date
from typing import Any

import httpx
import pytest

from causeway.bank import ConfigurationError, ConnectionLost, HubClient, HubError, Retries, UnexpectedAnswer
from causeway.bank._generated.calls import HUB_CALLS_V1, HUB_CALLS_V2
from causeway.errors import HUB_ADVICE
from infra.render.sdk import bank
from tests.sdk.bank.full_bank import API_KEY, KEY, private_pem
from tests.sdk.bank.harness import HUB, HubDouble
from tests.sdk.scripted_hub import Clock

TOKEN = "consent1.secret1"
STATE = {
    "consent_id": None,
    "status": "unknown",
    "scopes": None,
    "valid_until": None,
    "ended_at": None,
    "ended_by": None,
}


@pytest.fixture
def hub(clock: Clock) -> HubDouble:
    return HubDouble(clock, scopes=("accounts",))


def client(hub: HubDouble, version: int, **options: Any) -> HubClient:
    transport = httpx.AsyncClient(transport=httpx.MockTransport(hub))
    settings = {"api_key": API_KEY, "private_key": private_pem(KEY), "http_client": transport, **options}
    return HubClient(HUB, version=version, **settings)


def error(status: int, version: int, code: object, **headers: str) -> httpx.Response:
    body = {"code": code, "title": "why"} if version == 2 else {"error_code": code, "message": "why"}
    return httpx.Response(status, json=body, headers={name.replace("_", "-"): text for name, text in headers.items()})


def test_every_documented_hub_call_has_a_method_that_sends_the_documented_members(hub: HubDouble, version: int) -> None:
    made = client(hub, version)
    states = {"consents": [{**STATE, "consentId": None, "validUntil": None, "endedAt": None, "endedBy": None}]}

    async def all_calls() -> None:
        asked = await made.init_authorization("https://bank.example/consent?a=b")
        assert (asked.tpp_registration_number, list(asked.scopes)) == ("PSD-1", ["accounts"])
        saved = await made.consent(request_url="https://bank.example/consent?a=b", scopes=["accounts"], ibans=["GB1"])
        assert (saved.access_token, saved.valid_until.year) == (TOKEN, 2027)
        await made.revoke_token(TOKEN)
        await made.payment_status("P1", 4)
        hub.steps = [httpx.Response(200, json=states)]
        assert (await made.consents_status(access_tokens=[TOKEN])).consents[0].status == "unknown"
        if version == 2:
            await made.daily_performance(date(2026, 11, 21), consent_duration=41250)

    asyncio.run(all_calls())

    calls = {1: HUB_CALLS_V1, 2: HUB_CALLS_V2}[version]
    assert sorted(each.url.path for each in hub.calls) == sorted(call.path for call in calls.values())
    sent = {each.url.path.rpartition("/")[2]: json.loads(each.content) for each in hub.calls}
    schemas = bank.document(str(version))["components"]["schemas"]
    for path, name, operation in bank.operations(str(version), "paths"):
        schema = schemas[bank.request_class(str(version), operation).removesuffix(f"V{version}")]
        bodies = [json.loads(each.content) for each in hub.calls if each.url.path == path]
        assert bodies, name
        assert set(schema.get("required", ())) <= set(bodies[0]) <= set(schema["properties"]), name
    assert version == 1 or sent["daily_performance"] == {"date": "2026-11-21", "consentDuration": 41250}


REPEATED = {
    "connection lost": httpx.ReadTimeout("lost"),
    "no connection": httpx.ConnectError("away"),
    "storage away, version 1": error(500, 1, 4000),
    "storage away, version 2": error(500, 2, "INTERNAL_SERVER_ERROR", Retry_After="2"),
    "a proxy failed": httpx.Response(503, text="<html>"),
    "a page in place of the answer": httpx.Response(200, text="<html>"),
    "a list in place of the answer": httpx.Response(200, json=[]),
    "too many": error(429, 2, "ACCESS_EXCEEDED", Retry_After="3"),
}
FINAL = {
    "internal error, version 1": error(500, 1, 4002),
    "internal error, version 2": error(500, 2, "INTERNAL_SERVER_ERROR"),
    "the TPP is inactive": error(502, 1, 4005),
    "refused": error(400, 2, "FORMAT_ERROR"),
    "wait too long": error(429, 2, "ACCESS_EXCEEDED", Retry_After="31"),
}


@pytest.mark.parametrize("failure", REPEATED.values(), ids=REPEATED)
def test_a_hub_call_is_retried_with_the_same_request_id_body_and_signature(
    hub: HubDouble, clock: Clock, failure: httpx.Response | Exception
) -> None:
    hub.steps = [failure]

    asyncio.run(client(hub, 2).consent(request_url="https://bank.example/consent", scopes=["accounts"]))

    first, second = hub.calls
    assert first.content == second.content
    for name in ("x-request-id", "x-signature"):
        assert first.headers[name] == second.headers[name]
    assert len(clock.slept) == 1


@pytest.mark.parametrize("failure", FINAL.values(), ids=FINAL)
def test_a_hub_call_that_is_refused_permanently_is_not_retried(
    hub: HubDouble, clock: Clock, failure: httpx.Response
) -> None:
    hub.steps = [failure]

    with pytest.raises(HubError) as caught:
        asyncio.run(client(hub, 2).revoke_token(TOKEN, request_id="6F9619FF-8B86-4D01-B42D-00CF4FC964FF"))

    assert (caught.value.status, caught.value.title) == (failure.status_code, "why")
    assert caught.value.request_id == hub.calls[0].headers["x-request-id"] == "6f9619ff-8b86-4d01-b42d-00cf4fc964ff"
    assert clock.slept == []


def test_an_unreachable_hub_raises_an_error_after_the_last_retry(hub: HubDouble, clock: Clock) -> None:
    hub.steps = [httpx.ConnectError("away")] * 3

    with pytest.raises(ConnectionLost):
        asyncio.run(client(hub, 1, retries=Retries(waits=(1, 2))).revoke_token(TOKEN))

    assert len(hub.calls) == 3


def test_a_malformed_hub_response_raises_the_unexpected_answer_error(hub: HubDouble, clock: Clock) -> None:
    page, incomplete = httpx.Response(200, text="<html>"), httpx.Response(200, json={"tppName": "x"})
    for steps in ([page] * 4, [incomplete]):
        hub.steps = [*steps]
        with pytest.raises(UnexpectedAnswer):
            asyncio.run(client(hub, 2).init_authorization("https://bank.example/consent"))
        assert hub.steps == []


def test_the_hub_error_exception_contains_the_details_of_a_refusal(hub: HubDouble) -> None:
    details = [{"code": "INVALID_MODEL_TYPE", "title": "no scopes"}]
    hub.steps = [httpx.Response(400, json={"code": "FORMAT_ERROR", "title": "why", "additionalErrors": details})]

    with pytest.raises(HubError) as caught:
        asyncio.run(client(hub, 2).init_authorization("https://bank.example/consent"))

    assert caught.value.additional == tuple(details)


def test_no_error_and_no_repr_contains_a_secret(hub: HubDouble, caplog: pytest.LogCaptureFixture) -> None:
    made, failures = client(hub, 2), [error(500, 2, "x", Retry_After="1"), error(400, 2, "FORMAT_ERROR")]
    hub.steps = list(failures)

    with caplog.at_level("DEBUG"), pytest.raises(HubError) as caught:
        asyncio.run(made.revoke_token(TOKEN))

    shown = f"{caught.value!r} {caught.value} {made!r} {made.signer!r} {caplog.text}"
    for secret in (API_KEY, TOKEN, "secret1", "PRIVATE KEY"):
        assert secret not in shown


def test_an_invalid_bank_configuration_raises_configuration_error(hub: HubDouble) -> None:
    with pytest.raises(ConfigurationError):
        asyncio.run(client(hub, 1).daily_performance(date(2026, 11, 21)))
    for wrong in ({"version": 3}, {"version": 2, "api_key": ""}, {"version": 2, "private_key": "none"}):
        with pytest.raises(ConfigurationError):
            client(hub, **{"version": 2, **wrong})  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError):
        HubClient("hub.example", version=2, api_key=API_KEY, private_key=private_pem(KEY))
    assert hub.calls == []


def codes() -> Iterator[str]:
    for version in bank.VERSIONS:
        for _, _, operation in bank.operations(version, "paths"):
            text = json.dumps(operation["responses"])
            for found in re.findall(r'"(?:error_code|code)": \{"enum": \[([^\]]+)\]', text):
                yield from (code.strip(' "') for code in found.split(","))


def test_every_error_code_of_the_hub_has_advice() -> None:
    every = set(codes())
    assert len(every) > 20
    assert every - set(HUB_ADVICE) == set()


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_by_the_hub_is_not_followed(hub: HubDouble, status: int) -> None:
    hub.steps = [httpx.Response(status, headers={"Location": "https://elsewhere.example/bank"})]
    transport = httpx.AsyncClient(transport=httpx.MockTransport(hub), follow_redirects=True)

    with pytest.raises(HubError) as raised:
        asyncio.run(client(hub, 2, http_client=transport).revoke_token(TOKEN))
    assert raised.value.status == status
    assert [call.url.host for call in hub.calls] == ["hub.example"]


@pytest.mark.parametrize("content", [b"[" * 100_000, b'{"status": 1E9999999999999999999}', b"\xff"])
def test_an_oversized_or_undecodable_hub_response_raises_the_unexpected_answer_error(
    hub: HubDouble, content: bytes
) -> None:
    hub.steps = [httpx.Response(200, content=content) for _ in range(4)]

    with pytest.raises(UnexpectedAnswer):
        asyncio.run(client(hub, 2).revoke_token(TOKEN))


def test_a_hub_call_with_a_damaged_response_is_retried(hub: HubDouble) -> None:
    damaged = httpx.DecodingError("damaged")
    hub.steps = [damaged]

    asyncio.run(client(hub, 2).revoke_token(TOKEN))

    assert len(hub.calls) == 2


@pytest.mark.parametrize("address", ["hub.example", "https://", "https://user:password@hub.example", "https://h:99999"])
def test_an_invalid_hub_address_is_rejected(hub: HubDouble, address: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        HubClient(address, version=2, api_key=API_KEY, private_key=private_pem(KEY))
    assert "password" not in str(raised.value)
