"""``/.well-known/security.txt``: the contact for vulnerability reports, if the operator configures a contact."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from tests.causeway import Causeway
from tests.website.web_user import WebUser

PATH = "/.well-known/security.txt"


@pytest.fixture
def contact(causeway: Causeway) -> str:
    given = "mailto:security@example.com"
    causeway.hub.settings = replace(
        causeway.hub.settings, public_url="https://causeway.example.com", security_contact=given
    )
    return given


def test_security_txt_has_the_fields_of_rfc_9116_and_links_to_the_policy(causeway: Causeway, contact: str) -> None:
    answer = causeway.call("GET", PATH)
    fields = dict(line.split(": ", 1) for line in answer.text.split("\r\n") if line)

    assert (answer.status, answer.headers["content-type"]) == (200, "text/plain; charset=utf-8")
    expires = datetime.fromisoformat(fields.pop("Expires"))
    assert timedelta(days=89) < expires - causeway.clock.real.now() <= timedelta(days=90)
    assert fields == {
        "Contact": contact,
        "Preferred-Languages": "en",
        "Canonical": f"https://causeway.example.com{PATH}",
        "Policy": "https://causeway.example.com/docs/security#report-a-vulnerability",
    }


def test_the_security_policy_is_a_section_of_the_documentation(causeway: Causeway, contact: str) -> None:
    assert 'id="report-a-vulnerability"' in WebUser(causeway).get("/docs/security").text


def test_security_txt_returns_404_without_a_contact(causeway: Causeway) -> None:
    answer = causeway.call("GET", PATH)

    assert (answer.status, answer.headers["content-type"]) == (404, "text/plain; charset=utf-8")
    assert answer.text == "No contact is set (SECURITY_CONTACT).\n"
