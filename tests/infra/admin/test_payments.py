"""The commands for payments with an unknown outcome."""

import uuid

import pytest

from chalicelib.foundation.clock import timestamp
from chalicelib.foundation.http.outbound import TimedOut
from infra.admin import connection
from tests.causeway import Causeway
from tests.infra.admin.command_line import done, refused, run
from tests.openbanking.payments import Pisp


@pytest.fixture(autouse=True)
def connected(causeway: Causeway, monkeypatch: pytest.MonkeyPatch) -> Causeway:
    monkeypatch.setattr(connection, "connect", lambda: causeway.hub)
    return causeway


def unknown(causeway: Causeway) -> Pisp:
    """Send a payment for which the call to the bank times out. Return the TPP that sent the payment."""
    pisp = Pisp.with_request_id(causeway, 2)
    pisp.bank_answers(TimedOut("late"))
    assert pisp.pay().status == 502
    return pisp


def settle(pisp: Pisp, *options: str) -> tuple[str, ...]:
    return "payments", "resolve", pisp.bank.bic, pisp.request_id or "", *options


def test_payments_unresolved_lists_an_order_with_an_unknown_outcome(causeway: Causeway) -> None:
    pisp = unknown(causeway)

    (order,) = done("payments", "unresolved")["orders"]

    assert order == {
        "since": timestamp(causeway.clock.time()),
        "bic": "BETADEF1",
        "request_id": pisp.request_id,
        "payment_id": None,
        "path": "/tpp/payment_initiation",
        "client_id": causeway.tpp.client_id,
        "consent_id": order["consent_id"],
    }


def test_payments_unresolved_reports_that_all_outcomes_are_known(causeway: Causeway) -> None:
    assert "All outcomes are known." in run("payments", "unresolved").output
    assert done("payments", "unresolved") == {"orders": []}


def test_payments_resolve_with_a_payment_id_records_that_the_order_was_accepted(causeway: Causeway) -> None:
    pisp = unknown(causeway)

    settled = done(*settle(pisp, "--payment-id", "P-7"))["order"]

    assert settled == {"bic": "BETADEF1", "request_id": pisp.request_id, "payment_id": "P-7", "outcome": "accepted"}
    assert done("payments", "unresolved") == {"orders": []}
    pisp.bank.answers["/v2_payment_single_status"] = lambda sent: {"transaction_status": "ACSC"}
    assert pisp.status_of_order().body["payment_id"] == "P-7"


def test_payments_resolve_with_the_option_not_accepted_records_the_outcome_not_accepted(causeway: Causeway) -> None:
    pisp = unknown(causeway)

    assert "does not have it" in run(*settle(pisp, "--not-accepted")).output

    assert pisp.status_of_order().body["outcome"] == "not_accepted"


@pytest.mark.parametrize("options", [(), ("--payment-id", "P-7", "--not-accepted")])
def test_payments_resolve_requires_either_a_payment_id_or_the_option_not_accepted(
    causeway: Causeway, options: tuple[str, ...]
) -> None:
    assert "either --payment-id ID or --not-accepted" in refused(*settle(unknown(causeway), *options))


def test_payments_resolve_refuses_an_unknown_bank_or_order(causeway: Causeway) -> None:
    pisp = unknown(causeway)

    assert "no order" in refused("payments", "resolve", "NOBADEF1", pisp.request_id or "", "--not-accepted")
    assert "no order" in refused("payments", "resolve", "BETADEF1", str(uuid.uuid4()), "--not-accepted")
