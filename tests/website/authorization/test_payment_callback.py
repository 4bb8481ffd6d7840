"""The payment callback page displays the status from the bank instead of the status in the query."""

import html
from typing import Any

import pytest

from chalicelib.foundation.http.outbound import TimedOut
from chalicelib.openbanking.flows.payments import callback_status
from chalicelib.openbanking.flows.payments.callback_status import StatusResult
from chalicelib.openbanking.protocol.payment_enumerations import PaymentOutcome
from tests.causeway import Causeway
from tests.openbanking.payments import Pisp


@pytest.mark.parametrize("version", [1, 2])
def test_the_payment_page_shows_the_status_from_the_bank_instead_of_the_query(causeway: Causeway, version: int) -> None:
    pisp = Pisp(causeway, version)
    pisp.pay()
    pisp.report(2 if version == 1 else "RJCT")
    pisp.bank.answers["/v2_payment_single_status"] = lambda sent: {"transaction_status": "RJCT"}
    bic = pisp.bank.bic

    text = causeway.call("GET", f"/payments/callback?bic={bic}&payment_id=P-1&status=4&message=all%20is%20well").text

    assert "all is well" in text
    assert "Failed" in text if version == 1 else "Rejected" in text
    assert ("The bank reported" if version == 1 else "The bank says") in text


@pytest.mark.parametrize(
    ("version", "status", "is_final", "headline"),
    [
        (1, 1, False, "Payment pending"),
        (1, 4, True, "Payment completed"),
        (2, "ACSP", False, "Payment pending"),
        (2, "RJCT", True, "Payment rejected"),
        (2, "CANC", True, "Payment cancelled"),
    ],
)
def test_the_payment_page_shows_the_status_and_refreshes_until_the_status_is_final(
    causeway: Causeway, version: int, status: Any, is_final: bool, headline: str
) -> None:
    pisp = Pisp(causeway, version)
    pisp.pay()
    pisp.report(status)
    pisp.bank.answers["/v2_payment_single_status"] = lambda sent: {"transaction_status": status}
    address = f"/payments/callback?bic={pisp.bank.bic}&payment_id=P-1"
    text = causeway.call("GET", address).text

    assert (f'data-live="{html.escape(address)}"' in text) is not is_final
    assert ("updates automatically" in text) is not is_final
    assert ("This status is final" in text) is is_final
    assert f"<h1>{headline}</h1>" in text


@pytest.mark.parametrize(
    ("outcome", "headline"),
    [("unknown", "Payment not confirmed by the bank"), ("not_accepted", "Payment not accepted by the bank")],
)
def test_the_payment_page_reports_a_payment_not_confirmed_by_the_bank(
    causeway: Causeway, monkeypatch: pytest.MonkeyPatch, outcome: PaymentOutcome, headline: str
) -> None:
    found = StatusResult("RCVD", from_bank=False, outcome=outcome)
    monkeypatch.setattr(callback_status, "find_payment_status", lambda *_, callback_url, address: found)

    assert f"<h1>{headline}</h1>" in causeway.call("GET", "/payments/callback?bic=BETADEF1&payment_id=P-1").text


def test_the_payment_page_does_not_refresh_for_an_unknown_payment(causeway: Causeway) -> None:
    assert "data-live=" not in causeway.call("GET", "/payments/callback?bic=ALPHGB21&payment_id=P-9&status=1").text


def test_the_payment_page_shows_the_last_reported_status_if_the_bank_times_out(causeway: Causeway) -> None:
    pisp = Pisp(causeway, 2, "direct")
    pisp.pay()
    pisp.bank.answers["/v2_payment_single_status"] = lambda sent: TimedOut("late")

    text = causeway.call("GET", f"/payments/callback?bic={pisp.bank.bic}&payment_id=P-1&status=ACSC").text

    assert "The bank reported" in text
    assert "Received" in text


def test_the_payment_page_makes_no_status_request_after_a_revocation(causeway: Causeway) -> None:
    pisp = Pisp(causeway, 2)
    pisp.pay()
    causeway.tpp.call("POST", "/tpp/token/revoke", {"token": pisp.bearer})

    assert "The bank reported" in causeway.call("GET", "/payments/callback?bic=BETADEF1&payment_id=P-1").text
    assert pisp.calls == 1


def test_the_payment_page_makes_no_status_request_with_an_expired_consent(causeway: Causeway) -> None:
    pisp = Pisp(causeway, 2)
    pisp.pay()
    causeway.clock.advance(181 * 24 * 3600)

    assert "The bank reported" in causeway.call("GET", "/payments/callback?bic=BETADEF1&payment_id=P-1").text
    assert pisp.calls == 1


def test_the_payment_page_does_not_confirm_payments_of_clients_with_their_own_callback(causeway: Causeway) -> None:
    causeway.tpp.client = causeway.hub.openbanking.clients.create(
        owner="tpp@example.com", title="Own", callback_urls=["http://127.0.0.1:8000/elsewhere"]
    ).client
    Pisp(causeway, 1, "direct").pay()

    text = causeway.call("GET", "/payments/callback?bic=ALPHGB21&payment_id=P-1&status=4").text

    assert "is not confirmed" in text


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("", "contains no payment"),
        ("payment_id=P-9", "Call <code>GET /tpp/unified/payments</code>"),
        ("payment_id=P-9&bic=ALPHGB21", "is not confirmed"),
        ("payment_id=P-9&bic=NOSUCHXX", "is not confirmed"),
        (f"payment_id=P-9&bic={'A' * 3000}", "is not confirmed"),
        ("payment_id=%3Cscript%3E&message=%3Cscript%3E&status=%3Cscript%3E", "&lt;script&gt;"),
    ],
)
def test_a_callback_without_a_status_request_shows_an_explanation(causeway: Causeway, query: str, said: str) -> None:
    answer = causeway.call("GET", f"/payments/callback?{query}")

    assert answer.status == 200
    assert said in answer.text
    assert "<script>" not in answer.text
