"""The processor time of pages in this process, the emulator's of their storage calls included."""

from __future__ import annotations

import os
from collections.abc import Iterator
from unittest.mock import patch

from moto import mock_aws

from chalicelib.demo_bank.faults import MANY_ACCOUNTS
from chalicelib.website.openapi_documents import SCREENS
from chalicelib.website.page_links import PAGES
from infra.local.resources import create_resources
from tests.bench.measures import processor_time
from tests.causeway import Causeway
from tests.demo_bank.connected_banks import Psu, authorize, connect_banks
from tests.kit import emulator
from tests.website.web_user import WebUser

GOAL = 0.1
"""Seconds for a page."""
PLACES = [
    *(place for place, methods in PAGES.items() if "GET" in methods and "{" not in place and "callback" not in place),
    *(f"/specifications/{screen.name}" for screen in SCREENS),
]
"""Every page that needs no record."""
FOR_VISITORS = ("/register", "/sign-in")
"""Pages from which a signed-in user is sent on."""


def measured() -> Iterator[tuple[str, float]]:
    """Each page's path, and the least of five."""
    emulator.install()
    emulator.answer_calls()
    with patch.dict(os.environ, emulator.ENVIRONMENT), mock_aws():
        create_resources(emulated=True, dynamodb_apart=False)
        causeway = Causeway.first().again()
        with causeway.installed():
            visitor, user = WebUser(causeway), WebUser.signed_in(causeway, "bench@example.com")
            for place in PLACES:
                person = visitor if place in FOR_VISITORS else user
                yield place, _least(person, place)
            yield f"a demonstration bank's choice of {MANY_ACCOUNTS} accounts", _choice_of_accounts(causeway)


def _least(person: WebUser, place: str) -> float:
    if person.get(place).status != 200:
        raise AssertionError(place)
    return min(processor_time(lambda: person.get(place), 1) for _ in range(5))


def _choice_of_accounts(causeway: Causeway) -> float:
    with connect_banks(causeway):
        psu = Psu(causeway, "faults-one", "many")
        psu.arrive(authorize(causeway, "faults-one")["redirect_url"])
        return processor_time(lambda: psu.look(psu.post("/sign-in", username="many", password="sandbox-many")), 1)
