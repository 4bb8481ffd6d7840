"""Consent pages, the PSU's decisions, and the revocation of consents."""

import asyncio
from collections.abc import MutableMapping
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Mount

from causeway.bank import Bank, ConfigurationError, Page
from causeway.bank.pages import render
from tests.sdk.bank.full_bank import API_KEY, IBANS, KEY, private_pem
from tests.sdk.bank.harness import BANK, HUB, BankHarness, action_of
from tests.sdk.scripted_hub import Clock


def test_a_consent_contains_only_the_chosen_accounts(harness: BankHarness) -> None:
    page = harness.open("/consent?request=1&x=a%20b")
    assert "Books &amp; Co &lt;b&gt; asks for access" in page.text
    assert all(scope in page.text for scope in harness.hub.scopes)

    back = harness.decide(page, "yes", account="1002")

    assert (back.status_code, back.headers["location"]) == (303, f"{HUB}/authorize/callback?code=1")
    (saved,) = harness.hub.bodies("/consent")
    assert saved["request_url"] == f"{BANK}/consent?request=1&x=a%20b"
    assert (saved["scopes"], saved["ibans"], saved["account_ids"]) == (list(harness.hub.scopes), [IBANS[1]], ["1002"])
    assert saved.get("account_numbers") == {1: None, 2: ["040004 01234567"]}[harness.version]
    listed = harness.webhook("accounts", token="consent1.secret1").json()["accounts"]
    assert [each["iban"] for each in listed] == [IBANS[1]]


def test_a_refusing_psu_is_redirected_to_the_cancel_url(harness: BankHarness) -> None:
    back = harness.decide(harness.open("/consent?request=1"), "no")

    assert (back.status_code, back.headers["location"]) == (303, f"{HUB}/bank/cancel/secret")
    assert harness.hub.bodies("/consent") == []


@pytest.mark.parametrize("form", [{}, {"account": "1003"}])
def test_a_consent_without_a_valid_account_shows_the_form_again(harness: BankHarness, form: dict[str, str]) -> None:
    again = harness.decide(harness.open("/consent?request=1"), "yes", **form)

    assert again.status_code == 400
    assert harness.decide(again, "yes", account="1001").status_code == 303


@pytest.mark.parametrize("form", [b"decision=no&account=\xed\xa0\x80", b"decision=no&%ED%A0%80=1"])
def test_a_form_in_invalid_utf_8_returns_400_and_is_not_processed(harness: BankHarness, form: bytes) -> None:
    action = action_of(harness.open("/consent?request=1")).removeprefix(BANK)

    assert harness.run(harness.request("POST", action, content=form)).status_code == 400
    assert harness.send(action, "yes", account="1001").status_code == 303


def test_an_unknown_decision_returns_400(harness: BankHarness) -> None:
    assert harness.decide(harness.open("/consent?request=1"), "maybe").status_code == 400


def test_a_repeated_decision_saves_one_consent_and_a_contrary_decision_returns_409(harness: BankHarness) -> None:
    page = harness.open("/consent?request=1")

    first = harness.decide(page, "yes", account="1001")
    again = harness.decide(page, "yes", account="1002")

    assert first.headers["location"] == again.headers["location"]
    assert harness.decide(page, "no").status_code == 409
    assert len(harness.hub.saved) == len(harness.run(harness.bank.consents("psu-1"))) == 1
    assert harness.hub.bodies("/consent")[0] == harness.hub.bodies("/consent")[1]


def test_submitting_a_consent_page_again_after_a_lost_response_completes_the_consent(harness: BankHarness) -> None:
    page = harness.open("/consent?request=1")
    harness.hub.steps = [httpx.ReadTimeout("lost")] * 4

    assert harness.decide(page, "yes", account="1001").status_code == 502
    assert harness.decide(page, "yes", account="1001").status_code == 303

    assert len(harness.hub.saved) == 1


def test_no_log_line_contains_the_secret_of_a_page(harness: BankHarness, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG", "causeway")
    page = harness.open("/consent?request=1")
    harness.hub.steps = [httpx.Response(403, json={"code": "x"})]
    assert harness.decide(page, "yes", account=["1001"]).status_code == 400
    assert "consent failed" in caplog.text
    assert action_of(page).rpartition("/")[2] not in caplog.text


def test_an_authorization_unknown_to_the_hub_shows_an_explanation(harness: BankHarness) -> None:
    harness.hub.steps = [httpx.Response(400, json={"error_code": 4301, "message": "unknown"})]

    page = harness.open("/consent?request=1")

    assert (page.status_code, "not valid, or over" in page.text, "<form" in page.text) == (400, True, False)


def test_a_consent_page_expires_with_its_request(harness: BankHarness) -> None:
    page = harness.open("/consent?request=1")
    harness.clock.seconds += 1801

    assert harness.decide(page, "yes", account="1001").status_code == 404


def test_bank_pages_disable_caching_framing_and_referrers(harness: BankHarness) -> None:
    for page in (harness.open("/consent?request=1"), harness.open("/decide/unknown"), harness.open("/consents")):
        assert page.headers["cache-control"] == "no-store"
        assert page.headers["referrer-policy"] == "no-referrer"
        assert page.headers["x-frame-options"] == "DENY"


def test_a_psu_without_a_session_is_redirected_to_sign_in(harness: BankHarness) -> None:
    @harness.bank.psu
    async def psu(request: Request) -> Response:
        return RedirectResponse(f"/sign-in?next={request.url.path}", 303)

    assert harness.open("/consent?request=1").headers["location"] == "/sign-in?next=/consent"
    assert harness.open("/consents").headers["location"] == "/sign-in?next=/consents"
    assert harness.hub.calls == []


def test_a_consent_page_returns_500_if_the_psu_function_returns_no_id(harness: BankHarness) -> None:
    @harness.bank.psu
    async def psu(request: Request) -> str:
        return ""

    assert harness.open("/consents").status_code == 500


def test_the_psu_revokes_one_or_all_consents_and_the_hub_is_notified(harness: BankHarness) -> None:
    tokens = [harness.consent(f"request={number}") for number in range(3)]
    page = harness.open("/consents")
    assert "Your consents: 3" in page.text

    assert harness.decide(page, "consent2").headers["location"] == f"{BANK}/consents"
    assert harness.hub.bodies("/token/revoke") == [{"access_token": tokens[1]}]
    assert [harness.webhook("accounts", token=token).status_code for token in tokens] == [200, 401, 200]
    harness.decide(harness.open("/consents"), "yes")

    assert [each["access_token"] for each in harness.hub.bodies("/token/revoke")] == [tokens[1], tokens[0], tokens[2]]
    assert [each.consent_id for each in harness.full.revoked] == ["consent2", "consent1", "consent3"]
    assert "<form" not in harness.open("/consents").text


def test_a_failed_revocation_notice_is_sent_later(harness: BankHarness) -> None:
    token = harness.consent()
    harness.hub.steps = [httpx.ConnectError("away")] * 2
    harness.decide(harness.open("/consents"), "yes")
    assert harness.webhook("accounts", token=token).status_code == 401

    harness.run(harness.bank.send_pending())

    assert {each["access_token"] for each in harness.hub.bodies("/token/revoke")} == {token}
    assert len(harness.hub.bodies("/token/revoke")) == 3


def test_a_bank_program_can_revoke_only_consents_of_the_specified_psu(harness: BankHarness) -> None:
    harness.consent()

    assert not harness.run(harness.bank.end_consent("psu-2", "consent1"))
    assert harness.run(harness.bank.end_consent("psu-1", "consent1"))
    assert not harness.run(harness.bank.end_consent("psu-1", "consent1"))
    assert harness.run(harness.bank.consents("psu-1")) == []


def test_a_token_is_deleted_when_its_consent_ends(harness: BankHarness) -> None:
    token = harness.consent()

    for _ in range(2):
        assert harness.webhook("revoke", {"access_token": token}, token=token).json() == {"status": "success"}

    stored = harness.run(harness.bank.storage.find("consent", "psu-1"))
    assert token not in str(stored)
    assert len(stored) == 1
    assert harness.webhook("accounts", token=token).status_code == 401
    assert harness.webhook("revoke", {"access_token": "consent1.other"}).status_code == 404
    assert harness.hub.bodies("/token/revoke") == []


def test_a_consent_expires_at_the_end_of_its_validity(harness: BankHarness) -> None:
    token = harness.consent()
    harness.clock.seconds += 365 * 86400

    assert harness.webhook("accounts", token=token).status_code == 401
    assert harness.run(harness.bank.consents("psu-1")) == []


def test_bank_pages_are_rendered_by_a_template_or_a_function(clock: Clock) -> None:
    harness = BankHarness(2, clock, template="<i>{bank}</i>|{title}|{content}", name="Bank & Co")
    try:
        assert harness.open("/consents").text == "<i>Bank &amp; Co</i>|Your consents: 0|"

        @harness.bank.page
        def page(request: Request, page: Page) -> str:
            return f"{page.title} / {page.action}"

        assert harness.open("/consent?a=1").text.startswith("Books & Co <b> asks for access / /decide/")
        assert harness.open("/decide/x").headers["cache-control"] == "no-store"
    finally:
        harness.close()


def test_a_tpp_name_with_placeholders_is_shown_unchanged() -> None:
    page = render(Page("{title}", "{content} asks", buttons=(("yes", "Yes"),)), "<h1>{bank}: {title}</h1>{content}")

    assert bytes(page.body).startswith(b"<h1>{title}: {content} asks</h1><form")


def test_a_bank_application_can_be_mounted_in_another_application(clock: Clock) -> None:
    harness = BankHarness(2, clock)
    outer = Starlette(routes=[Mount("/bank", harness.bank)])

    async def opened() -> httpx.Response:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(outer), base_url=BANK) as browser:
            return await browser.get("/bank/consent?request=1")

    page = harness.run(opened())
    harness.close()
    assert urlsplit(action_of(page)).path.startswith("/bank/decide/")
    assert harness.hub.bodies("/init_authorization") == [{"request_url": f"{BANK}/consent?request=1"}]


def test_a_bank_without_its_mandatory_functions_fails_to_start() -> None:
    bank = Bank(version=2, hub=HUB, api_key=API_KEY, private_key=private_pem(KEY), base_url=BANK)

    async def opened() -> None:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(bank), base_url=BANK) as browser:
            await browser.get("/consents")

    with pytest.raises(ConfigurationError, match="psu"):
        asyncio.run(opened())
    told: list[str] = []
    with pytest.raises(ConfigurationError, match="psu"):
        asyncio.run(started(bank, told))
    assert told == ["lifespan.startup.failed"]


async def started(bank: Bank, told: list[str]) -> None:
    events = iter(["lifespan.startup", "lifespan.shutdown"])

    async def receive() -> dict[str, str]:
        await asyncio.sleep(0)
        return {"type": next(events)}

    async def send(message: MutableMapping[str, Any]) -> None:
        told.append(message["type"])

    await bank({"type": "lifespan"}, receive, send)


def test_a_restarted_bank_sends_its_pending_calls_to_the_hub(harness: BankHarness) -> None:
    token = harness.consent()
    harness.hub.steps = [httpx.ConnectError("away")] * 2
    harness.decide(harness.open("/consents"), "yes")
    told: list[str] = []

    harness.run(started(harness.bank, told))

    assert told == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
    assert harness.hub.bodies("/token/revoke")[-1] == {"access_token": token}
    assert len(harness.hub.bodies("/token/revoke")) == 3
