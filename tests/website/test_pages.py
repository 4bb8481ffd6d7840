"""Pages: what people see, and what browsers are told to forbid."""

from __future__ import annotations

import re
from dataclasses import replace
from urllib.parse import quote

import pytest

from tests.world import World

CODE = f"{'0' * 22}.{'A' * 43}"


@pytest.mark.parametrize(
    "path", ["/", "/authorize/callback", f"/authorize/callback?code={CODE}&state=s", "/bank/cancel/x"]
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
