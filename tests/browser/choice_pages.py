"""The page on which a user chooses the bank: as the stack shows it, and with more or fewer banks than it has."""

from __future__ import annotations

import os
from collections.abc import Sequence
from unittest.mock import patch
from urllib.parse import urlencode

from chalicelib.bootstrap import Hub
from chalicelib.foundation.identifiers import new_id
from chalicelib.foundation.settings import Settings
from chalicelib.openbanking.flows.bank.choice import BankChoice, BankSearch, OfferedBank
from chalicelib.openbanking.protocol.versions import VERSIONS
from chalicelib.openbanking.records.bank_logos import logo_path
from tests.browser import psu
from tests.browser.visitor import Visitor
from tests.browser.walks import Step, Walk

_COUNTRIES = ("AT", "DE", "FR", "NL", "GB", "CZ")
_LONG = "Genossenschaftliche Zentral- und Handelsbank für Landwirtschaft, Handwerk und Gewerbe"


def walks() -> tuple[Walk, ...]:
    """Plain and pushed requests, searches, many banks, banks that are down, and none."""
    return (
        Walk(
            "bank-choice",
            (
                ("plain", lambda visitor: visitor.open(request(visitor))),
                ("no-result", lambda visitor: visitor.open(request(visitor, q="nothing"))),
                ("impossible", lambda visitor: visitor.open(request(visitor, q="x" * 65, country="Germany", page="0"))),
                ("found", lambda visitor: visitor.open(request(visitor, q="demo", country="DE"))),
                ("pushed", lambda visitor: visitor.open(pushed(visitor))),
                ("one-payment", lambda visitor: visitor.open(request(visitor, scope="payments.single", **_ONE_TIME))),
                ("many", _shows(45)),
                ("second-page", _shows(45, BankSearch.read({"page": "2"}))),
                ("few", _shows(3, BankSearch.read({"q": "bank", "country": "FR"}))),
                ("none-offers", _shows(0)),
            ),
            (),
        ),
    )


_ONE_TIME = {"consent_type": "one_time"}


def request(visitor: Visitor, **more: str) -> str:
    """The address of an authorization request that names no bank."""
    query = {"response_type": "code", "client_id": visitor.tpp.client_id, "scope": "accounts accounts.balances"}
    return f"/oauth/authorize?{urlencode(query | more)}"


def pushed(visitor: Visitor) -> str:
    """The address at which a pushed request that names no bank is opened."""
    members = {"response_type": "code", "scope": "accounts accounts.transactions", "state": new_id()}
    answer = visitor.tpp.send_form("/oauth/par", members)
    assert answer.status_code == 201, answer.text
    query = {"client_id": visitor.tpp.client_id, "request_uri": answer.json()["request_uri"]}
    return f"/oauth/authorize?{urlencode(query)}"


def chooses(visitor: Visitor, version: int) -> None:
    """Follow the link of a demonstration bank, to where it asks who one is."""
    with visitor.page.expect_navigation():
        visitor.page.locator("a.choice", has_text=visitor.bank(version)["name"]).click()
    assert visitor.page.get_by_role("button", name=f"Sign in as {psu.PERSON[version]}").is_visible()


def _shows(count: int, search: BankSearch | None = None) -> Step:
    """The page with so many made-up banks, as the stack's own code renders it."""

    def step(visitor: Visitor) -> None:
        with patch.dict(os.environ, visitor.stack["environment"]):
            hub = Hub(Settings.from_environment(visitor.stack["environment"]))
            bank = hub.openbanking.banks.get(visitor.bank(2)["bic"])
            choice = _choice(_banks(count, logo_path(bank.bic, bank.logo_digest)), search or BankSearch())
            answer = hub.openbanking.bank_choice_page(choice)
        address = f"{visitor.stack['base_url']}/oauth/authorize?made-up={count}"
        headers = {name: str(value) for name, value in answer.headers.items()}
        visitor.page.route(address, lambda route: route.fulfill(status=200, headers=headers, body=answer.body))
        visitor.page.goto(address)

    return step


def _banks(count: int, logo: str | None) -> list[OfferedBank]:
    """Some with a logo, some that are down, and one with a long name."""
    return [
        OfferedBank(
            f"BANK{_COUNTRIES[number % 6]}{number:02}",
            _LONG if number == 1 else f"Bank {number + 1}",
            _COUNTRIES[number % 6],
            logo if number % 3 else None,
            number % 7 != 1,
        )
        for number in range(count)
    ]


def _choice(banks: Sequence[OfferedBank], search: BankSearch) -> BankChoice:
    scopes = [VERSIONS[2].scopes[name] for name in ("accounts", "accounts.balances", "accounts.transactions")]
    return BankChoice(
        client_title="Budget Friend",
        scopes=scopes,
        is_one_time=False,
        parameters={"client_id": "made-up", "scope": " ".join(scope.name for scope in scopes)},
        cancel_url="/",
        search=search,
        countries=sorted({bank.country for bank in banks}),
        banks=banks,
    )
