"""Pages: what people see, and what browsers are told to forbid."""

from __future__ import annotations

import re
from dataclasses import replace
from urllib.parse import quote

import pytest

from chalicelib.foundation.outbound import TimedOut
from tests.openbanking.test_payments import Payer
from tests.world import World

CODE = f"{'0' * 22}.{'A' * 43}"


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/authorize/callback",
        f"/authorize/callback?code={CODE}&state=s",
        "/bank/cancel/x",
        "/payments/callback",
        "/payments/callback?payment_id=P-1&status=4",
    ],
)
def test_a_page_allows_neither_inline_scripts_nor_inline_styles(world: World, path: str) -> None:
    answer = world.call("GET", path)

    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe-inline" not in policy
    assert not re.search(r"<script|<style|\sstyle=|\son\w+=", answer.text)
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_the_first_page_lists_the_banks(world: World) -> None:
    text = world.call("GET", "/").text

    assert "ALPHGB21" in text
    assert "Bank of version 2" in text


def test_the_callback_page_shows_code_and_state_and_how_to_go_on(world: World) -> None:
    text = world.call("GET", f"/authorize/callback?authorization_code={CODE}&state=my%20state").text

    assert CODE in text
    assert "my state" in text
    assert "curl -s http://127.0.0.1:8000/tpp/token" in text


@pytest.mark.parametrize("code", ["'; rm -rf ~ #", "\"}'", "$(id)", "<script>", "short"])
def test_a_forged_code_never_gets_into_the_command_to_copy(world: World, code: str) -> None:
    text = world.call("GET", f"/authorize/callback?code={quote(code)}").text

    assert "curl" not in text
    assert code not in text


def test_the_callback_page_says_why_there_is_no_consent(world: World) -> None:
    text = world.call("GET", "/authorize/callback?error=access_denied&error_description=%3Cb%3ENo").text

    assert "without a consent" in text
    assert "&lt;b&gt;No" in text


def test_the_style_sheet_is_served(world: World) -> None:
    answer = world.call("GET", "/static/style.css")

    assert answer.headers["content-type"].startswith("text/css")


def test_health_tells_the_stage_and_asks_nobody(world: World) -> None:
    assert world.call("GET", "/health").body == {"status": "ok", "stage": "local"}


def test_links_keep_the_path_that_the_service_stands_under(world: World) -> None:
    world.hub.settings = replace(world.hub.settings, public_url="https://api.example.com/stage")

    text = world.call("GET", "/").text

    assert 'href="/stage/static/style.css"' in text
    assert 'href="/stage/health"' in text


# -- back from the bank after a payment


@pytest.mark.parametrize("version", [1, 2])
def test_the_payment_page_shows_what_the_bank_says_and_not_what_the_address_says(world: World, version: int) -> None:
    payer = Payer(world, version)
    payer.pay()
    payer.report(2 if version == 1 else "RJCT")
    payer.side.answers["/v2_payment_single_status"] = lambda sent: {"transaction_status": "RJCT"}
    bic = payer.side.bank.bic

    text = world.call("GET", f"/payments/callback?bic={bic}&payment_id=P-1&status=4&message=all%20is%20well").text

    assert "all is well" in text
    assert "Failed" in text if version == 1 else "Rejected" in text
    assert ("The bank reported" if version == 1 else "The bank says") in text


def test_the_payment_page_falls_back_to_what_was_reported(world: World) -> None:
    payer = Payer(world, 2, "direct")
    payer.pay()
    payer.side.answers["/v2_payment_single_status"] = lambda sent: TimedOut("late")

    text = world.call("GET", f"/payments/callback?bic={payer.side.bank.bic}&payment_id=P-1&status=ACSC").text

    assert "The bank reported" in text
    assert "Received" in text


def test_after_a_revocation_the_payment_page_does_not_ask_in_the_psus_name(world: World) -> None:
    payer = Payer(world, 2)
    payer.pay()
    world.tpp("POST", "/tpp/token/revoke", {"token": payer.bearer})

    assert "The bank reported" in world.call("GET", "/payments/callback?bic=BETADEF1&payment_id=P-1").text
    assert payer.calls == 1


def test_nothing_is_asked_with_a_consent_that_has_ended(world: World) -> None:
    payer = Payer(world, 2)
    payer.pay()
    world.clock.advance(181 * 24 * 3600)

    assert "The bank reported" in world.call("GET", "/payments/callback?bic=BETADEF1&payment_id=P-1").text
    assert payer.calls == 1


def test_the_payment_page_tells_nothing_of_clients_with_a_callback_of_their_own(world: World) -> None:
    world.client = world.hub.clients.create(
        owner="tpp@example.com", title="Own", callback_url="http://127.0.0.1:8000/elsewhere"
    ).client
    Payer(world, 1, "direct").pay()

    text = world.call("GET", "/payments/callback?bic=ALPHGB21&payment_id=P-1&status=4").text

    assert "is not confirmed" in text


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("", "no payment in this address"),
        ("payment_id=P-9", "Ask <code>GET /tpp/payment_status</code>"),
        ("payment_id=P-9&bic=ALPHGB21", "is not confirmed"),
        ("payment_id=P-9&bic=NOSUCHXX", "is not confirmed"),
        (f"payment_id=P-9&bic={'A' * 3000}", "is not confirmed"),
        ("payment_id=%3Cscript%3E&message=%3Cscript%3E&status=%3Cscript%3E", "&lt;script&gt;"),
    ],
)
def test_an_address_that_cannot_be_confirmed_says_so(world: World, query: str, said: str) -> None:
    answer = world.call("GET", f"/payments/callback?{query}")

    assert answer.status == 200
    assert said in answer.text
    assert "<script" not in answer.text
