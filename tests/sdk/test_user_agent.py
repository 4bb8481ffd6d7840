"""Requests of the package send its name and version as User-Agent, unless the HTTP client sets a User-Agent."""

import asyncio

import httpx
import pytest

from causeway import __version__
from causeway.bank import HubClient, HubKeys
from causeway.listen import Receiver
from causeway.tpp import EventEntry
from tests.sdk.bank.full_bank import API_KEY, KEY, private_pem, public_pem
from tests.sdk.event_log import event
from tests.sdk.scripted_hub import BASE, ScriptedHub, accounts, answer, tokens

NAME = f"causeway-python/{__version__}"
NAMES = pytest.mark.parametrize(("own", "name"), [({}, NAME), ({"User-Agent": "books/2.1"}, "books/2.1")])


@NAMES
def test_calls_of_a_tpp_send_the_user_agent_of_the_package(own: dict[str, str], name: str) -> None:
    hub = ScriptedHub(accounts())
    client = httpx.Client(transport=httpx.MockTransport(hub), headers=own)

    list(hub.tpp(http_client=client).consent(tokens()).accounts())

    assert hub.header("User-Agent") == [name]


@NAMES
def test_an_asynchronous_tpp_call_contains_the_user_agent_of_the_package(own: dict[str, str], name: str) -> None:
    hub = ScriptedHub(answer(body={"keys": []}))
    client = httpx.AsyncClient(transport=httpx.MockTransport(hub.asynchronously), headers=own)

    asyncio.run(hub.async_tpp(http_client=client).keys())

    assert hub.header("User-Agent") == [name]


@NAMES
def test_a_bank_call_contains_the_user_agent_of_the_package(own: dict[str, str], name: str) -> None:
    hub = ScriptedHub(answer(body={"status": "success"}), httpx.Response(200, text=public_pem(KEY)))
    client = httpx.AsyncClient(transport=httpx.MockTransport(hub.asynchronously), headers=own)
    bank = HubClient(BASE, version=2, api_key=API_KEY, private_key=private_pem(KEY), http_client=client)

    asyncio.run(bank.revoke_token("consent.secret"))
    asyncio.run(HubKeys(client, f"{BASE}/bank/public_key").verify(b"{}", bank.signer.sign(b"{}")))

    assert hub.header("User-Agent") == [name, name]


def test_the_request_of_a_forwarded_event_contains_the_user_agent_of_the_command() -> None:
    receiver = ScriptedHub(httpx.Response(204))
    client = httpx.Client(transport=httpx.MockTransport(receiver))

    Receiver("https://books.example/events", "whsec_" + "A" * 32, client).post(EventEntry.from_json(event(1)))

    assert receiver.header("User-Agent") == [f"causeway-listen/{__version__}"]
