"""Every member of a bank's responses about payments and funds has its place in the unified response."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from chalicelib.openbanking.protocol.versions import VERSIONS as BY_NUMBER
from chalicelib.openbanking.protocol.webhooks import Webhook
from tests.causeway import Causeway
from tests.openbanking.kit import IBAN, always
from tests.openbanking.payments import UnifiedPisp, payment_answer
from tests.openbanking.unified.bodies import Json, funds_body
from tests.openbanking.unified.message_members import members_of

FUNDS_SCOPE = {1: "card_based.funds_confirmations", 2: "funds_confirmations"}
_INITIATION: dict[str, tuple[Any, Json]] = {
    "payment_id": ("a/b ü", {"payment_id": "a/b ü"}),
    "confirmation_url": ("https://bank.example/c?d=e", {"confirmation_url": "https://bank.example/c?d=e"}),
}
INITIATION: Mapping[int, Mapping[str, tuple[Any, Json]]] = {
    1: _INITIATION,
    2: _INITIATION | {"status": ("ACTC", {"status": "authorising", "native_status": "ACTC"})},
}
"""The members of a response to an order: another value, and the unified members that say it."""
STATUS: Mapping[int, Mapping[str, tuple[Any, Json]]] = {
    1: {},
    2: {"transaction_status": ("ACCC", {"status": "settled", "is_final": True, "native_status": "ACCC"})},
}
"""The members of a response to a status query. Banks of version 1 get none."""
REPORT: Mapping[int, tuple[Any, Json]] = {
    1: (4, {"status": "executed", "native_status": "4"}),
    2: ("ACSC", {"status": "executed", "native_status": "ACSC"}),
}
"""The status that a bank reports, and the unified entry of the history that says it."""
FUNDS: Mapping[int, Mapping[str, Json]] = {
    1: {
        "funds_available": {"funds_available": False},
        "balance": {"balance": "12.29", "currency": "EUR"},
        "currency": {"balance": "12.29", "currency": "EUR"},
    },
    2: {"funds_available": {"funds_available": False}},
}
"""A response in which each member says that the funds do not suffice; a balance needs its currency."""


def rows(table: Mapping[int, Mapping[str, Any]]) -> list[Any]:
    return [(version, name) for version, members in table.items() for name in members]


def names_of(webhook: Webhook) -> set[str]:
    return {member.name for member in members_of(webhook.answer)}


@pytest.mark.parametrize("version", BY_NUMBER)
def test_every_member_of_a_response_about_payments_or_funds_has_a_place(version: int) -> None:
    webhooks = BY_NUMBER[version]

    assert [names_of(webhook) for webhook in webhooks.payments.values()] == [INITIATION[version].keys()] * 3
    assert {name for webhook in webhooks.payment_status.values() for name in names_of(webhook)} == STATUS[
        version
    ].keys()
    assert names_of(webhooks.relayed["funds_confirmations"]) == FUNDS[version].keys()
    assert {member.name for member in members_of(webhooks.calls["report_status"])} == {"payment_id", "payment_status"}


@pytest.mark.parametrize("kind", ["single", "bulk", "direct"])
@pytest.mark.parametrize(("version", "name"), rows(INITIATION))
def test_a_member_of_a_response_to_an_order_is_in_the_unified_response(
    causeway: Causeway, version: int, name: str, kind: str
) -> None:
    pisp, (value, expected) = UnifiedPisp(causeway, version, kind), INITIATION[version][name]
    pisp.bank_answers(payment_answer(version) | {name: value})

    assert pisp.pay().body.items() >= expected.items()


@pytest.mark.parametrize("kind", ["single", "bulk", "direct"])
@pytest.mark.parametrize(("version", "name"), rows(STATUS))
def test_a_member_of_a_queried_status_is_in_the_unified_response(
    causeway: Causeway, version: int, name: str, kind: str
) -> None:
    pisp, (value, expected) = UnifiedPisp(causeway, version, kind), STATUS[version][name]
    pisp.pay()
    for webhook in BY_NUMBER[version].payment_status.values():
        pisp.bank.answers[webhook.path] = always({name: value})

    assert pisp.status().body.items() >= expected.items()


@pytest.mark.parametrize("version", REPORT)
def test_a_reported_status_is_in_the_history_of_its_payment(causeway: Causeway, version: int) -> None:
    pisp, (value, expected) = UnifiedPisp(causeway, version), REPORT[version]
    pisp.pay()
    for webhook in BY_NUMBER[version].payment_status.values():
        pisp.bank.answers[webhook.path] = always({"transaction_status": "ACSP"})
    pisp.report(value)

    body = pisp.status().body

    assert body["payment_id"] == "P-1"
    assert body["history"][-1].items() >= expected.items()


@pytest.mark.parametrize(("version", "name"), rows(FUNDS))
def test_a_member_of_a_response_about_funds_decides_the_unified_response(
    causeway: Causeway, version: int, name: str
) -> None:
    bearer = causeway.tpp.tokens(version, scopes=[FUNDS_SCOPE[version]])["access_token"]
    success = {"status": "success"} if version == 1 else {}
    body = funds_body({"account.iban": IBAN})
    webhook = BY_NUMBER[version].relayed["funds_confirmations"].path
    without = {each: value for each, value in FUNDS[version][name].items() if each != name}

    found = []
    for answer in (FUNDS[version][name], without):
        causeway.banks[version].answers[webhook] = always(success | answer)
        found.append(causeway.tpp.call("POST", "/tpp/unified/funds_confirmations", body, bearer=bearer))

    assert (found[0].status, found[0].body["funds_available"]) == (200, False)
    assert found[1].status == 502
