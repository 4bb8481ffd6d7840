"""Tests of numeric ids from banks: a number and a text with the same digits identify the same payment or account."""

from typing import Any

import pytest

from chalicelib.foundation.jsontext import Number
from chalicelib.openbanking.records.payments import payment_key
from tests.causeway import Causeway
from tests.openbanking.fault_scenarios import attempt_all_due
from tests.openbanking.kit import VERSIONS
from tests.openbanking.payments import KINDS, Pisp, payment_answer
from tests.openbanking.relay import Relay

# -- payments


@VERSIONS
@KINDS
@pytest.mark.parametrize("reported", [4711, "4711"])
def test_a_payment_id_as_a_number_and_as_text_identifies_the_same_payment(
    causeway: Causeway, version: int, kind: str, reported: Any
) -> None:
    causeway.tpp.set_events_url()
    pisp = Pisp(causeway, version, kind)
    pisp.bank_answers(payment_answer(version) | {"payment_id": 4711})

    assert pisp.pay().body["payment_id"] == "4711"
    assert pisp.report(4, reported).status == 200
    for webhook in ("/v2_payment_single_status", "/v2_payment_bulk_status"):
        pisp.bank.answers[webhook] = lambda sent: {"transaction_status": "ACSC"}
    answer = pisp.status("4711")
    assert (answer.status, answer.body["payment_id"]) == (200, "4711")
    if version == 2:
        assert pisp.bank.received[-1].body == b'{"payment_id":"4711"}'
    else:
        assert answer.body["payment_status"] == 4


@VERSIONS
def test_an_early_status_report_with_a_numeric_payment_id_is_applied(causeway: Causeway, version: int) -> None:
    pisp = Pisp(causeway, version)
    pisp.bank_answers(payment_answer(version, "4711"))
    assert pisp.report(4, payment_id=4711).status == 400

    pisp.pay()

    item = causeway.hub.store.get(*payment_key(causeway.banks[version].bic, "4711"))
    assert item is not None
    assert item["status"] == (4 if version == 1 else "ACSC")


@VERSIONS
def test_a_deferred_payment_accepts_a_numeric_payment_id(causeway: Causeway, version: int) -> None:
    pisp = Pisp(causeway, version)
    pisp.bank_answers(payment_answer(version) | {"payment_id": 4711})

    accepted = pisp.pay_later()
    attempt_all_due(causeway)

    assert pisp.outcome(accepted.body["request_id"])["body"]["payment_id"] == "4711"
    assert pisp.report(4, payment_id=4711).status == 200


@VERSIONS
@pytest.mark.parametrize("payment_id", [Number("4711.0"), Number("4711e0"), True, None, [4711], ""], ids=repr)
def test_an_invalid_payment_id_returns_502_with_an_unknown_outcome(
    causeway: Causeway, version: int, payment_id: Any
) -> None:
    pisp = Pisp(causeway, version)
    pisp.bank_answers(payment_answer(version) | {"payment_id": payment_id})

    answer = pisp.pay()

    assert answer.status == 502
    assert "unknown" in answer.body["title"]


# -- consents


@VERSIONS
def test_a_consent_accepts_numeric_account_ids(causeway: Causeway, version: int) -> None:
    bearer = Relay(causeway).bearer_for(version, account_ids=[77, "78"])
    account = {"id": 77, "name": "Main", "iban": "GB33BUKB20201555555555", "resource_id": 77, "currency": "GBP"}
    for webhook in ("/account", "/v2_account"):
        causeway.banks[version].answers[webhook] = lambda sent: {"status": "success", "account": account}

    assert causeway.tpp.call("GET", "/tpp/consent", bearer=bearer).body["account_ids"] == ["77", "78"]
    asked = [causeway.tpp.call("GET", f"/tpp/account?account_id={name}", bearer=bearer).status for name in (77, 78, 79)]
    assert asked == [200, 200, 403]
