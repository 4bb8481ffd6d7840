"""Calls that the web interface makes to banks are measured like the calls of any TPP."""

from tests.causeway import Causeway
from tests.openbanking.call_measurements import measure_counts
from tests.openbanking.payments import Pisp
from tests.website.web_user import WebUser


def test_a_complete_authorization_journey_is_counted_as_four_authorization_calls(
    causeway: Causeway, user: WebUser, client_id: str
) -> None:
    """The four calls are the authorization request, the code exchange, the refresh and the revocation."""
    state = ""

    def journey() -> None:
        nonlocal state
        state = user.get_tokens(client_id)
        user.post("/authorize/callback", state=state, action="refresh")
        user.post("/authorize/callback", state=state, action="end")
        user.get(f"/authorize/callback?state={state}")

    assert measure_counts(causeway, journey) == {"ALPHGB21 authorization": {"calls": 4}}
    assert "ended" in user.text


def test_a_request_rejected_by_the_page_counts_as_a_caller_failure(
    causeway: Causeway, user: WebUser, client_id: str
) -> None:
    user.open_request(client_id)

    assert measure_counts(causeway, lambda: user.run_request(client_id, scope=["no.such"])) == {
        "ALPHGB21 authorization": {"calls": 1, "caller_failures": 1}
    }
    assert user.last.status == 400


def test_a_failed_code_exchange_counts_as_a_caller_failure_although_its_page_returns_200(
    causeway: Causeway, user: WebUser, client_id: str
) -> None:
    back = user.request_consent(client_id)
    causeway.clock.advance(causeway.hub.settings.code_lifetime + 1)

    assert measure_counts(causeway, lambda: user.get(back)) == {
        "ALPHGB21 authorization": {"calls": 1, "caller_failures": 1}
    }
    assert user.last.status == 200


def test_viewing_a_page_that_only_reads_data_is_not_counted_as_a_call(
    causeway: Causeway, user: WebUser, client_id: str
) -> None:
    def look() -> None:
        user.open_request(client_id)
        user.get("/authorize")
        user.get("/authorize/callback?error=access_denied&state=unknown")
        user.get("/clients")

    assert measure_counts(causeway, look) == {}


def test_the_payment_callback_counts_its_status_requests_as_pisp_calls(causeway: Causeway, visitor: WebUser) -> None:
    pisp = Pisp(causeway, 2)
    pisp.pay()
    pisp.bank.answers["/v2_payment_single_status"] = lambda sent: {"transaction_status": "ACSC"}
    page = "/payments/callback?bic=BETADEF1&payment_id="

    assert measure_counts(causeway, lambda: visitor.get(f"{page}P-1")) == {"BETADEF1 PISP": {"calls": 1, "answered": 1}}
    assert measure_counts(causeway, lambda: visitor.get(f"{page}P-2")) == {}
    pisp.bank.answers["/v2_payment_single_status"] = lambda sent: {"nonsense": 1}
    assert measure_counts(causeway, lambda: visitor.get(f"{page}P-1")) == {"BETADEF1 PISP": {"calls": 1}}, (
        "not asked so soon"
    )
    causeway.clock.advance(10)
    assert measure_counts(causeway, lambda: visitor.get(f"{page}P-1")) == {
        "BETADEF1 PISP": {"calls": 1, "answered": 1, "bank_failures": 1}
    }
