"""The API specification screens: the page before scripts run, and the credentials on the page."""

import html
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from causeway.tpp import Consent, NativeConsent, NativeTpp, Tpp
from chalicelib import website
from chalicelib.bootstrap import Hub
from chalicelib.demo_bank.instructions import REFERENCES
from chalicelib.foundation import jsontext
from chalicelib.foundation.identifiers import digest
from chalicelib.openbanking.records import client_list
from chalicelib.openbanking.records.client_record import Client
from chalicelib.openbanking.unified.calls import UNIFIED_PAYMENTS, UNIFIED_READS, UNIFIED_STATUS_PATH
from chalicelib.website.openapi_documents import SCREENS, load_document
from chalicelib.website.pages import COOKIE, static_files
from chalicelib.website.records.journeys import Journey
from infra.render.openapi.cards import purposes
from tests.causeway import Answer, Causeway
from tests.website.web_user import WebUser, ensure_user

ROOM = Path(str(website.__file__)).parent
MODULES = [*(ROOM / "static").glob("explorer-*.js"), ROOM / "static" / "json-view.js"]
PYTHON = ROOM / "static" / "explorer-python.js"
METHODS: Mapping[str, type[Any]] = {"tpp": Tpp, "either": Tpp, "consent": Consent}
"""The class with the methods of the Python samples, by their owner."""
NATIVE: Mapping[str, type[Any]] = {"tpp": NativeTpp, "either": NativeTpp, "consent": NativeConsent}
"""The class with the native methods, by their owner."""
OWNER = "specifications@example.com"
TOKEN = f"{'0' * 22}~{'1' * 22}~ALPHGB21XXX.{'A' * 43}"


@pytest.fixture
def cookie(causeway: Causeway) -> str:
    causeway.tpp.client = causeway.hub.openbanking.clients.create(owner=OWNER, title="Budget Friend").client
    return f"{COOKIE}={causeway.hub.website.sessions.begin(ensure_user(causeway.hub, OWNER)).cookie}"


def shown(causeway: Causeway, name: str, cookie: str = "", **query: str) -> Answer:
    asked = "?" + "&".join(f"{key}={quote(value)}" for key, value in query.items()) if query else ""
    return causeway.call("GET", f"/specifications/{name}{asked}", headers={"cookie": cookie} if cookie else None)


def journey(hub: Hub, client: Client, *, owner: str = OWNER, expires_in: int = 3600) -> Journey:
    members = {
        "client_id": client.client_id,
        "client_title": client.title,
        "bic": "ALPHGB21XXX",
        "bank_name": "Bank of version 1",
        "api_version": 1,
        "scopes": ["account.list"],
        "consent_type": "reusable",
        "callback_url": client.callback_url,
    }
    answer = {
        "access_token": TOKEN,
        "refresh_token": "refresh",
        "consent_id": "c",
        "expires_in": expires_in,
        "valid_until": "2026-08-29T09:00:00+00:00",
    }
    begun = hub.website.journeys.begin(owner, "a-state", members, None)
    return hub.website.journeys.record_exchange(hub.website.journeys.begin_exchange(begun), answer)


# -- what everybody sees


def test_each_screen_lists_only_the_operations_of_its_tag(causeway: Causeway) -> None:
    pages = {screen.name: shown(causeway, screen.name).text for screen in SCREENS}

    assert {"authorization", "account", "payments"} <= pages.keys()
    assert "List the PSU&#39;s accounts" in pages["account"]
    assert "Initiate a payment" in pages["payments"]
    assert "Start an authorization" in pages["authorization"]
    assert "Initiate a payment" not in pages["account"] + pages["authorization"]


def test_every_operation_is_on_exactly_one_screen(causeway: Causeway) -> None:
    document = load_document("tpp", causeway.hub.settings.public_url).text
    count = len(re.findall(r'"operationId"', document.partition('"webhooks"')[0]))
    pages = [shown(causeway, screen.name).text for screen in SCREENS if screen.document == "tpp"]

    assert sum(page.count("data-operation=") for page in pages) == count


def test_the_first_screen_lists_every_unified_call_in_one_group(causeway: Causeway) -> None:
    assert SCREENS[0].name == "unified"
    text = shown(causeway, "unified").text
    expected = {("GET", UNIFIED_STATUS_PATH), *((call.method, call.path) for call in UNIFIED_READS)}
    listed = re.findall(r'<span class="x-method \w+">(\w+)</span> .*? <span class="x-place">(.*?)</span></a>', text)

    assert re.findall('<div data-group="(.+?)">', text) == ["Every bank"]
    assert {(method, place.replace("<wbr>", "")) for method, place in listed} == {
        *expected,
        *(("POST", call.path) for call in UNIFIED_PAYMENTS),
    }


def test_the_cards_screen_lists_every_action_with_its_summary_in_groups(causeway: Causeway) -> None:
    groups = ["Accounts", "Cards", "Holders", "External payments", "Fees", "Limits", "Reports", "Simulator"]
    text = shown(causeway, "cards").text
    found = re.findall(r'data-operation="(\w+)".+?<span class="x-name">(.+?)</span>', text)

    assert [(name, html.unescape(summary)) for name, summary in found] == [
        (action.name, action.summary) for title in groups for action in purposes.group_members()[title]
    ]
    assert re.findall('<div data-group="(.+?)">', text) == groups
    assert "/openapi/cards.json" in text


def test_production_screens_do_not_mention_the_simulator(causeway: Causeway) -> None:
    causeway.hub.settings = replace(causeway.hub.settings, stage="prod")

    text = shown(causeway, "cards").text

    assert "createHolder" in text
    assert not re.search("simulate|Simulator|data-is-sandbox", text)


def test_the_cards_screen_has_empty_inputs_for_the_three_parts_of_a_credential(causeway: Causeway, cookie: str) -> None:
    for text in (shown(causeway, "cards").text, shown(causeway, "cards", cookie).text):
        inputs = re.findall(r'<input [^>]+class="mono"[^>]+>', text)

        assert [re.findall('id="(.+?)"', each)[0] for each in inputs] == [
            "access-key",
            "access-api-id",
            "access-api-key",
        ]
        assert not any("value=" in each for each in inputs)
        assert 'type="password"' in inputs[2]
        assert not re.search(r"[0-9a-f]{32}(?![0-9a-f.])", text.replace(digest(OWNER), ""))


def test_the_operations_of_each_api_screen_are_grouped(causeway: Causeway) -> None:
    groups = {
        name: re.findall('<div data-group="(.+?)">', shown(causeway, name).text) for name in ("account", "payments")
    }

    assert groups["account"] == ["Accounts", "Payments and transactions", "Funds"]
    assert groups["payments"] == ["Initiation", "Status"]


@pytest.mark.parametrize("name", [screen.name for screen in SCREENS])
def test_every_operation_links_to_its_documentation(causeway: Causeway, name: str) -> None:
    references = set(re.findall(r'data-reference="([^"#]+)#([^"]+)"', shown(causeway, name).text))

    for page, anchor in references:
        assert f'<h2 id="{anchor}">' in causeway.call("GET", page).text, anchor
    assert references


def test_an_unknown_screen_returns_404_with_a_link_to_an_existing_screen(causeway: Causeway) -> None:
    answer = shown(causeway, "nothing")

    assert answer.status == 404
    assert "/specifications/unified" in answer.text


@pytest.mark.parametrize("name", [screen.name for screen in SCREENS])
def test_an_api_screen_is_within_its_size_budget_and_allows_no_inline_script(causeway: Causeway, name: str) -> None:
    answer = shown(causeway, name)
    policy = dict(part.split(" ", 1) for part in answer.headers["content-security-policy"].split("; "))

    assert answer.status == 200
    assert len(answer.text.encode()) < 100_000
    assert not re.search(r"<script(?![^>]* src=)|<style|\sstyle=|\son\w+=", answer.text)
    assert policy["script-src"] == policy["connect-src"] == "'self'"
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["referrer-policy"] == "no-referrer"


@pytest.mark.parametrize("file", ["explorer.css", "explorer.js", *sorted(file.name for file in MODULES)])
def test_the_files_of_a_screen_are_served_locally_and_immutable(causeway: Causeway, file: str) -> None:
    name = static_files().name(file)
    answer = causeway.call("GET", f"/static/{name}")

    assert f"/static/{name}" in shown(causeway, "account").text
    assert answer.status == 200
    assert answer.headers["cache-control"].endswith("immutable")


def test_every_operation_has_a_python_method_for_its_sample() -> None:
    rows = re.findall(r'^  (\w+): \{ on: "(\w+)", method: "([\w.]+)"', PYTHON.read_text("utf-8"), re.MULTILINE)
    document = jsontext.loads(load_document("tpp", "http://hub.example").text)
    operations = [each["operationId"] for path in document["paths"].values() for each in path.values()]

    assert sorted(operation for operation, _, _ in rows) == sorted(operations)
    for operation, owner, method in rows:
        native, _, name = method.rpartition(".")
        found = NATIVE[owner] if native == "native" else METHODS[owner]
        assert hasattr(found, name), operation


def test_an_explorer_module_begins_with_a_summary_line_and_has_at_most_400_lines() -> None:
    for file in MODULES:
        lines = file.read_text("utf-8").splitlines()
        assert len(lines) <= 400
        assert lines[0].startswith("// ")


# -- whose credentials


def test_a_visitor_gets_no_client_id_suggestions(causeway: Causeway) -> None:
    text = shown(causeway, "account").text

    assert "<option" not in text
    assert 'data-user=""' in text
    assert causeway.tpp.client_id not in text


def test_a_user_gets_suggestions_of_own_active_clients_newest_first(causeway: Causeway, cookie: str) -> None:
    clients = causeway.hub.openbanking.clients
    causeway.clock.advance(1)
    newest = clients.create(owner=OWNER, title="Newest").client
    inactive = clients.create(owner=OWNER, title="Inactive", active=False).client
    foreign = clients.create(owner="other@example.com", title="Foreign").client

    text = shown(causeway, "account", cookie).text

    found = re.findall(r'<option value="([^"]+)"', text)
    assert found[0] == newest.client_id
    assert causeway.tpp.client_id in found
    assert not {inactive.client_id, foreign.client_id} & set(found)


def test_the_number_of_suggested_clients_is_limited(
    causeway: Causeway, cookie: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_list, "CHOICES", 2)
    for number in range(3):
        causeway.hub.openbanking.clients.create(owner=OWNER, title=f"Client {number}")

    assert shown(causeway, "account", cookie).text.count("<option") == 2


def test_a_client_with_its_own_callback_is_prefilled_with_this_callback_for_payments(
    causeway: Causeway, cookie: str
) -> None:
    own = causeway.hub.openbanking.clients.create(
        owner=OWNER, title="Own", callback_urls=["https://tpp.example.com/back"]
    ).client

    options: Mapping[str, str] = dict(
        re.findall(r'<option value="([^"]+)"([^>]*)>', shown(causeway, "payments", cookie).text)
    )

    assert 'data-payment-callback="https://tpp.example.com/back"' in options[own.client_id]
    assert "data-payment-callback" not in options[causeway.tpp.client_id]


def test_the_storage_key_of_a_tab_is_a_digest_of_the_user(causeway: Causeway, cookie: str) -> None:
    text = shown(causeway, "account", cookie).text

    assert f'data-user="{digest(OWNER)}"' in text
    assert "data-client-id" not in text


def test_a_client_title_is_escaped(causeway: Causeway, cookie: str) -> None:
    causeway.hub.openbanking.clients.create(owner=OWNER, title='"><script>alert(1)</script>')

    assert "<script>alert" not in shown(causeway, "account", cookie).text


# -- from a journey


def test_a_journey_prefills_its_client_and_token(causeway: Causeway, cookie: str) -> None:
    journey(causeway.hub, causeway.tpp.client)

    text = shown(causeway, "account", cookie, state="a-state").text

    assert f'data-client-id="{causeway.tpp.client_id}" data-access-token="{TOKEN}"' in text
    assert (
        f"Locked. Client Budget Friend · access token {TOKEN[:8]}… · Bank of version 1, valid until 29 Aug 2026" in text
    )


def test_a_journey_of_another_user_prefills_nothing(causeway: Causeway, cookie: str) -> None:
    journey(causeway.hub, causeway.tpp.client, owner="other@example.com")

    for text in (
        shown(causeway, "account", cookie, state="a-state").text,
        shown(causeway, "account", state="a-state").text,
    ):
        assert TOKEN not in text
        assert "data-client-id" not in text


def test_an_expired_token_is_replaced_by_a_link_that_refreshes_the_token(causeway: Causeway, cookie: str) -> None:
    journey(causeway.hub, causeway.tpp.client, expires_in=60)
    causeway.clock.advance(61)

    text = shown(causeway, "account", cookie, state="a-state").text

    assert TOKEN not in text
    assert "no valid access token at present" in text
    assert "/authorize/callback?state=a-state" in text


def test_the_token_of_an_ended_consent_is_not_prefilled(causeway: Causeway, cookie: str) -> None:
    causeway.hub.website.journeys.record_end(journey(causeway.hub, causeway.tpp.client), "bank")

    assert TOKEN not in shown(causeway, "account", cookie, state="a-state").text


def test_page_and_scripts_contain_no_address_of_another_site(causeway: Causeway) -> None:
    own = causeway.hub.settings.public_url
    files = [file.read_text("utf-8") for file in (ROOM / "static").glob("explorer*")]

    for text in (shown(causeway, "payments").text, shown(causeway, "cards").text, *files):
        assert [url for url in re.findall(r"https?://[^\s\"'`$]+", text) if not url.startswith(own)] == []


def test_the_payments_screen_lists_every_test_reference(causeway: Causeway) -> None:
    text = shown(causeway, "payments").text

    assert re.findall(r"TEST-[A-Z-]+", text) == [reference.name for reference in REFERENCES]
    assert "confirmation_url" in text


@pytest.mark.parametrize(
    ("address", "shows"),
    [
        ("/specifications/unified?state={state}&show=balance", True),
        ("/specifications/unified?state={state}", False),
        ("/specifications/unified?show=balance", False),
        ("/specifications/account?state={state}&show=balance", False),
    ],
)
def test_a_balance_is_displayed_immediately_only_for_an_authorization_of_the_user(
    causeway: Causeway, user: WebUser, client_id: str, address: str, *, shows: bool
) -> None:
    state = user.get_tokens(client_id)
    asked = address.format(state=state)

    assert ('data-show="unified_balances"' in user.get(asked).text) is shows
    assert 'data-show="' not in WebUser.signed_in(causeway, "other@example.com").get(asked).text
