"""Tests of unified confirmations of funds: the bank's request, the response, and the refusals."""

from __future__ import annotations

from typing import Any

import pytest

from chalicelib.foundation import jsontext
from chalicelib.foundation.http.outbound import TimedOut
from tests.causeway import Answer, Causeway
from tests.openbanking.kit import IBAN, LATER, VERSIONS, Bank, accepted_id
from tests.openbanking.unified.bodies import RECEIVER, funds_body

PATH = "/tpp/unified/funds_confirmations"
SCOPES = {1: "card_based.funds_confirmations", 2: "funds_confirmations"}
WEBHOOKS = {1: "/funds_confirmations", 2: "/v2_funds_confirmations"}
RETRIEVED = "2026-03-02T09:00:00+00:00"


class Cbpii:
    """A TPP with a consent to confirm the availability of funds, at a bank that confirms them."""

    def __init__(self, causeway: Causeway, version: int) -> None:
        self.causeway, self.version = causeway, version
        self.bank: Bank = causeway.banks[version]
        self.bearer = causeway.tpp.tokens(version, scopes=[SCOPES[version]])["access_token"]
        self.bank_answers({"funds_available": True})

    def bank_answers(self, answer: Any) -> None:
        if isinstance(answer, dict) and self.version == 1:
            answer = {"status": "success", **answer}
        self.bank.answers[WEBHOOKS[self.version]] = lambda sent: answer

    def confirm(self, headers: dict[str, str] | None = None, query: str = "", **changes: Any) -> Answer:
        body = funds_body({"account": {"iban": IBAN}, **changes})
        return self.causeway.tpp.call("POST", f"{PATH}{query}", body, bearer=self.bearer, headers=headers)

    def answer(self, *, funds_available: bool) -> dict[str, Any]:
        return {"bic": self.bank.bic, "retrieved_at": RETRIEVED, "funds_available": funds_available}


@VERSIONS
@pytest.mark.parametrize("available", [True, False])
def test_funds_are_confirmed_in_one_shape(causeway: Causeway, version: int, available: bool) -> None:
    cbpii = Cbpii(causeway, version)
    cbpii.bank_answers({"funds_available": available, "extra": 1})

    answer = cbpii.confirm()

    assert (answer.status, answer.body) == (200, cbpii.answer(funds_available=available))
    assert "server-timing" in answer.headers
    (sent,) = cbpii.bank.received
    assert sent.path == WEBHOOKS[version]
    assert jsontext.loads(sent.body) == {
        "account": {"iban": IBAN},
        "instructed_amount": {"amount": "12.30", "currency": "EUR"},
    }


@pytest.mark.parametrize(("balance", "available"), [("12.30", True), ("12.29", False)])
def test_a_balance_of_a_version_1_bank_is_compared(causeway: Causeway, balance: str, available: bool) -> None:
    cbpii = Cbpii(causeway, 1)
    cbpii.bank_answers({"balance": balance, "currency": "EUR"})

    assert cbpii.confirm().body == cbpii.answer(funds_available=available)


@pytest.mark.parametrize(("version", "account"), [(1, {"bban": "1"}), (2, {"account_id": "4711001"})])
@pytest.mark.parametrize("headers", [{}, LATER], ids=["at once", "deferred"])
def test_an_account_without_an_identifier_for_the_version_is_refused_and_not_sent(
    causeway: Causeway, version: int, account: dict[str, str], headers: dict[str, str]
) -> None:
    cbpii = Cbpii(causeway, version)

    refused = cbpii.confirm(headers, account=account)

    body = refused.body
    assert (refused.status, body["code"], body["reason_code"]) == (400, "FORMAT_ERROR", "not_at_this_bank")
    (entry,) = body["additionalErrors"]
    assert entry["details"].startswith(f"account.{next(iter(account))} ")
    assert f"banks of version {version} take" in entry["details"]
    assert cbpii.bank.received == []


@pytest.mark.parametrize(
    ("version", "sent"), [(1, {"account_id": "4711001"}), (2, {"sort_code": "202015", "account_number": "55555555"})]
)
@pytest.mark.parametrize("headers", [{}, LATER], ids=["at once", "deferred"])
def test_identifiers_in_the_form_of_the_bank_are_accepted(
    causeway: Causeway, version: int, sent: dict[str, str], headers: dict[str, str]
) -> None:
    cbpii = Cbpii(causeway, version)
    identifiers = {"bban": "1" * 31, "sort_code": "20-20-15", "account_number": "5555 5555"}

    answer = cbpii.confirm(headers, account={"account_id": "4711001", "iban": IBAN, **identifiers})
    if headers:
        causeway.hub.delivery.worker.attempt(accepted_id(answer))

    (received,) = cbpii.bank.received
    assert jsontext.loads(received.body)["account"] == {"iban": IBAN, **sent}


@VERSIONS
def test_a_fault_at_every_bank_is_refused_without_a_reason_code(causeway: Causeway, version: int) -> None:
    cbpii = Cbpii(causeway, version)

    refused = cbpii.confirm(account={"account_id": "x" * 256}, amount={"value": 12, "currency": "EUR"})

    assert (refused.status, refused.body["code"]) == (400, "FORMAT_ERROR")
    assert "reason_code" not in refused.body
    named = [each["details"].split(" ")[0] for each in refused.body["additionalErrors"]]
    assert named == ["account.account_id", "amount.value"]


@VERSIONS
def test_funds_of_an_account_that_the_psu_did_not_approve_are_refused(causeway: Causeway, version: int) -> None:
    refused = Cbpii(causeway, version).confirm(account={"iban": RECEIVER})

    assert (refused.status, refused.body["code"]) == (403, "SERVICE_BLOCKED")
    assert refused.body["title"] == "the PSU did not approve the account in account.iban"


@pytest.mark.parametrize(("version", "status"), [(1, 200), (2, 403)])
def test_an_identifier_of_funds_that_is_left_out_is_not_held_against_the_consent(
    causeway: Causeway, version: int, status: int
) -> None:
    cbpii, bank = Cbpii(causeway, version), causeway.banks[version]
    url = causeway.tpp.authorize(version, scopes=[SCOPES[version]])["redirect_url"]
    accounts = {bank.spell("account_numbers"): ["11111111"]}
    saved = bank.call("/consent", bank.consent_body(url, scopes=[SCOPES[version]], ibans=[IBAN]) | accounts).body
    code = saved[bank.spell("callback_url")].rpartition("code=")[2].split("&")[0]
    cbpii.bearer = causeway.tpp.redeem(code)["access_token"]

    answer = cbpii.confirm(account={"iban": IBAN, "account_number": "55555555", "sort_code": "202015"})

    assert answer.status == status


@VERSIONS
def test_a_missing_scope_of_funds_is_named_as_unified_and_as_native(causeway: Causeway, version: int) -> None:
    cbpii = Cbpii(causeway, version)
    cbpii.bearer = causeway.tpp.tokens(version)["access_token"]

    refused = cbpii.confirm()

    assert (refused.status, refused.body["code"]) == (403, "SERVICE_BLOCKED")
    assert refused.body["title"].endswith(f"funds:read, which is {SCOPES[version]} at this bank")


@VERSIONS
def test_a_deferred_confirmation_of_funds_stores_the_unified_response(causeway: Causeway, version: int) -> None:
    cbpii = Cbpii(causeway, version)

    request_id = accepted_id(cbpii.confirm(LATER))
    causeway.hub.delivery.worker.attempt(request_id)

    outcome = causeway.tpp.outcome(request_id, cbpii.bearer)
    assert outcome == {"state": "done", "status": 200, "body": cbpii.answer(funds_available=True)}


@VERSIONS
@pytest.mark.parametrize("answer", [{}, {"funds_available": "yes"}, TimedOut("late")], ids=["none", "text", "late"])
def test_an_unusable_response_about_funds_returns_502(causeway: Causeway, version: int, answer: Any) -> None:
    cbpii = Cbpii(causeway, version)
    cbpii.bank_answers(answer)

    refused = cbpii.confirm()

    assert (refused.status, refused.body["code"]) == (502, "ASPSP_UNKNOWN_ERROR")


@VERSIONS
def test_a_query_parameter_of_funds_is_refused(causeway: Causeway, version: int) -> None:
    refused = Cbpii(causeway, version).confirm(query="?native=1")

    assert (refused.status, refused.body["code"]) == (400, "PARAMETER_NOT_CONSISTENT")


def test_funds_without_a_bearer_are_refused_with_a_bearer_challenge(causeway: Causeway) -> None:
    refused = causeway.tpp.call("POST", PATH, funds_body())

    assert (refused.status, refused.headers["www-authenticate"]) == (401, 'Bearer realm="causeway"')
