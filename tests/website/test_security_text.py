"""``/.well-known/security.txt``: where to report a vulnerability, if the operator says so."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from tests.website.person import Person
from tests.world import World

PATH = "/.well-known/security.txt"


@pytest.fixture
def contact(world: World) -> str:
    """The contact of a stage."""
    given = "mailto:security@example.com"
    world.hub.settings = replace(world.hub.settings, public_url="https://causeway.example.com", security_contact=given)
    return given


def test_security_txt_has_the_fields_of_rfc_9116_and_links_to_the_policy(world: World, contact: str) -> None:
    answer = world.call("GET", PATH)
    fields = dict(line.split(": ", 1) for line in answer.text.split("\r\n") if line)

    assert (answer.status, answer.headers["content-type"]) == (200, "text/plain; charset=utf-8")
    expires = datetime.fromisoformat(fields.pop("Expires"))
    assert timedelta(days=89) < expires - world.clock.real.now() <= timedelta(days=90)
    assert fields == {
        "Contact": contact,
        "Preferred-Languages": "en",
        "Canonical": f"https://causeway.example.com{PATH}",
        "Policy": "https://causeway.example.com/docs/security#report-a-vulnerability",
    }


def test_the_security_policy_is_a_section_of_the_documentation(world: World, contact: str) -> None:
    assert 'id="report-a-vulnerability"' in Person(world).get("/docs/security").text


def test_security_txt_returns_404_without_a_contact(world: World) -> None:
    answer = world.call("GET", PATH)

    assert (answer.status, answer.headers["content-type"]) == (404, "text/plain; charset=utf-8")
    assert answer.text == "No contact is set (SECURITY_CONTACT).\n"
