"""Tests that cause every error code of both API versions with a request."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from chalicelib.foundation.http.outbound import Reply
from chalicelib.openbanking.api import bank_api
from chalicelib.openbanking.protocol.errors import ADDED_CODES, ADDITIONAL, VERSION_1, VERSION_2
from tests.causeway import Answer, Causeway
from tests.openbanking.accounts import Aisp, limit_reads
from tests.openbanking.examples import BY_WEBHOOK
from tests.openbanking.kit import TOKEN, URL
from tests.openbanking.specification import ADDITIONAL_CODES, CODES_1, CODES_2

Code = int | str
Provoke = Callable[[Causeway, int], Answer]


@dataclass(frozen=True)
class Provocation:
    code: Code
    version: int
    provoke: Provoke

    def __str__(self) -> str:
        return f"{self.code}-{self.provoke.__name__}"


PROVOCATIONS: list[Provocation] = []


def provokes(*codes: Code) -> Callable[[Provoke], Provoke]:
    """Register a request under the error codes that the request returns. Version 1 uses numbers, and version 2 uses
    names.
    """

    def register(provoke: Provoke) -> Provoke:
        PROVOCATIONS.extend(Provocation(code, 1 if isinstance(code, int) else 2, provoke) for code in codes)
        return provoke

    return register


OWN_CODES = {"ACCESS_EXCEEDED": 429}
"""Codes that this service adds to the specification's table."""


def test_error_tables_contain_the_specified_codes_and_the_documented_additional_codes() -> None:
    assert {code: row.status for code, row in VERSION_1.items()} == CODES_1
    assert {code: row.status for code, row in VERSION_2.items()} == CODES_2 | OWN_CODES
    assert set(OWN_CODES) == ADDED_CODES
    assert set(ADDITIONAL) == ADDITIONAL_CODES


def test_every_error_code_has_a_test_request() -> None:
    assert {each.code for each in PROVOCATIONS} == set(CODES_1) | set(CODES_2) | set(OWN_CODES) | ADDITIONAL_CODES


# -- bodies of banks


def consent(causeway: Causeway, version: int, **members: Any) -> Answer:
    """Save a consent with changed members. ``None`` removes a member."""
    asked = causeway.banks[version].scopes
    body = causeway.banks[version].consent_body(
        causeway.tpp.authorize(version, scopes=asked)["redirect_url"], **members
    )
    return causeway.banks[version].call("/consent", {name: value for name, value in body.items() if value is not None})


@provokes(4001, "EXTRA_FIELDS_PROVIDED")
def an_unknown_member(causeway: Causeway, version: int) -> Answer:
    return consent(causeway, version, colour="red")


@provokes(4001, "INVALID_MODEL_TYPE")
def a_member_of_another_type(causeway: Causeway, version: int) -> Answer:
    return consent(causeway, version, account_ids="A-1")


@provokes(4003, "FORMAT_ERROR")
def no_json(causeway: Causeway, version: int) -> Answer:
    return causeway.banks[version].call("/consent", raw=b'{"scopes":')


@provokes(4300, "AUTHORIZATION_REQUEST_URL_DOES_NOT_EXIST")
def no_request_url(causeway: Causeway, version: int) -> Answer:
    return causeway.banks[version].call("/init_authorization", {})


@provokes(4301, "AUTHORIZATION_REQUEST_URL_NOT_VALID")
def an_unknown_request_url(causeway: Causeway, version: int) -> Answer:
    return causeway.banks[version].call("/init_authorization", {URL[version]: "https://bank.example/authorize?state=1"})


@provokes(4302, "AUTHORIZATION_SCOPE_DOES_NOT_EXIST")
def no_scopes(causeway: Causeway, version: int) -> Answer:
    return consent(causeway, version, scopes=None)


@provokes(4303, "AUTHORIZATION_SCOPE_NOT_CORRECT")
def an_unknown_scope(causeway: Causeway, version: int) -> Answer:
    return consent(causeway, version, scopes=[*causeway.banks[version].scopes, "everything"])


@provokes(4305, "AUTHORIZATION_IBAN_NOT_VALID")
def an_iban_with_wrong_check_digits(causeway: Causeway, version: int) -> Answer:
    return consent(causeway, version, ibans=["GB34BUKB20201555555555"])


@provokes(4306, "AUTHORIZATION_SELECTED_WRONG_SCOPE")
def more_scopes_than_requested(causeway: Causeway, version: int) -> Answer:
    more = "payment.init" if version == 1 else "payments.single"
    return consent(causeway, version, scopes=[*causeway.banks[version].scopes, more])


@provokes(4307, "AUTHORIZATION_ACCOUNT_IDENTIFIERS_MISSING")
def no_account(causeway: Causeway, version: int) -> Answer:
    return consent(causeway, version, ibans=None)


@provokes(4205, "AUTHORIZATION_REQUEST_URL_NOT_VALID")
def a_second_consent(causeway: Causeway, version: int) -> Answer:
    url = causeway.psu.approve(version).request_url
    return causeway.banks[version].call("/consent", causeway.banks[version].consent_body(url))


@provokes(4001, "AUTHORIZATION_TOKEN_NOT_VALID")
def a_malformed_token(causeway: Causeway, version: int) -> Answer:
    return causeway.banks[version].call("/token/revoke", {TOKEN[version]: "nonsense"})


@provokes(4202, "RESOURCE_UNKNOWN")
def an_unknown_token(causeway: Causeway, version: int) -> Answer:
    return causeway.banks[version].call("/token/revoke", {TOKEN[version]: f"{'0' * 22}.{'A' * 43}"})


def report(causeway: Causeway, version: int, payment_id: Any, status: Any) -> Answer:
    names = ("payment_id", "payment_status") if version == 1 else ("paymentId", "paymentStatus")
    return causeway.banks[version].call("/payments/status", dict(zip(names, (payment_id, status), strict=True)))


@provokes(4001, "INVALID_PAYMENT_ID_FORMAT")
def a_report_on_no_payment(causeway: Causeway, version: int) -> Answer:
    return report(causeway, version, "", 4)


@provokes(4001, "INVALID_PAYMENT_ID_FORMAT")
def a_report_on_an_unknown_payment(causeway: Causeway, version: int) -> Answer:
    return report(causeway, version, "P-unknown", 4)


@provokes(4001, "INVALID_PAYMENT_STATUS_FORMAT")
def a_report_of_no_status(causeway: Causeway, version: int) -> Answer:
    return report(causeway, version, "P-1", 5)


@provokes("INVALID_DATE_FORMAT")
def a_day_that_does_not_exist(causeway: Causeway, version: int) -> Answer:
    return causeway.banks[version].call("/daily_performance", {"date": "2026-02-30"})


# -- who calls


@provokes(4004, "SERVICE_BLOCKED")
def a_bank_of_the_other_version(causeway: Causeway, version: int) -> Answer:
    return causeway.banks[version].call("/consent", {}, headers={"x-api-key": causeway.banks[3 - version].api_key})


@provokes(4005, "SERVICE_BLOCKED")
def a_client_that_is_gone(causeway: Causeway, version: int) -> Answer:
    url = causeway.tpp.authorize(version)["redirect_url"]
    causeway.hub.openbanking.clients.deactivate(causeway.tpp.client_id)
    return causeway.banks[version].call("/consent", causeway.banks[version].consent_body(url))


@provokes(4200, "WRONG_CREDENTIALS")
def a_wrong_key(causeway: Causeway, version: int) -> Answer:
    key = f"{causeway.banks[version].bic}.{'A' * 43}"
    return causeway.banks[version].call("/init_authorization", {}, headers={"x-api-key": key})


@provokes(4201, "AUTHENTICATION_REQUIRED")
def no_key(causeway: Causeway, version: int) -> Answer:
    return causeway.banks[version].call("/init_authorization", {}, headers={"x-api-key": None})


@provokes(4202, "API_ACTION_DOES_NOT_EXIST")
def an_unknown_action(causeway: Causeway, version: int) -> Answer:
    return causeway.banks[version].call("/reconcile", {})


@provokes(4203, "SSL_CREDENTIALS_NOT_FOUND")
def no_certificate(causeway: Causeway, version: int) -> Answer:
    bic = causeway.banks[version].bic
    causeway.hub.openbanking.banks.change(bic, certificate_subject="CN=bank.example")
    try:
        return causeway.banks[version].call("/init_authorization", {})
    finally:
        causeway.hub.openbanking.banks.change(bic, certificate_subject=None)


@provokes(4204, "REQUEST_ID_NOT_UUID")
def a_request_id_that_is_no_uuid(causeway: Causeway, version: int) -> Answer:
    return causeway.banks[version].call("/init_authorization", {}, headers={"x-request-id": "17"})


@provokes(4200, "HEADERS_ERROR")
def a_signature_of_other_bytes(causeway: Causeway, version: int) -> Answer:
    return causeway.banks[version].call("/init_authorization", {}, headers={"x-signature": "QUJD"})


# -- what fails here


@provokes(4000, "INTERNAL_SERVER_ERROR")
def storage_that_does_not_answer(causeway: Causeway, version: int) -> Answer:
    url = causeway.tpp.authorize(version)["redirect_url"]
    with causeway.storage_gone("batch_get"):
        return causeway.banks[version].call("/init_authorization", {URL[version]: url})


@provokes(4002, "INTERNAL_SERVER_ERROR")
def a_defect(causeway: Causeway, version: int) -> Answer:
    def broken(name: str) -> Any:
        raise ZeroDivisionError("a defect")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bank_api, "step", broken)
        return causeway.banks[version].call("/init_authorization", {URL[version]: "x"})


# -- calls of TPPs


@provokes("PAYMENT_SCHEME_INVALID")
def a_currency_without_a_scheme(causeway: Causeway, version: int) -> Answer:
    order = BY_WEBHOOK["/v2_payment_direct_single"].request | {"bic": causeway.banks[version].bic}
    del order["payment_scheme"]
    order["instructed_amount"]["currency"] = "USD"
    return causeway.tpp.call("POST", "/tpp/direct_payment_initiation", order)


@provokes("ASPSP_UNKNOWN_ERROR", "ASPSP_ERROR_DESC")
def a_bank_that_fails(causeway: Causeway, version: int) -> Answer:
    causeway.banks[version].answers["/v2_accounts"] = lambda sent: Reply(500, b"{}", {}, 0)
    return causeway.tpp.call("GET", "/tpp/accounts", bearer=causeway.tpp.tokens(version)["access_token"])


@provokes("PARAMETER_NOT_CONSISTENT", "INVALID_MODEL_TYPE")
def a_parameter_that_is_no_bic(causeway: Causeway, version: int) -> Answer:
    return causeway.tpp.call("GET", "/tpp/scope?bic=bank")


@provokes("FORMAT_ERROR", "AUTHORIZATION_SCOPE_DOES_NOT_EXIST")
def an_authorization_without_scopes(causeway: Causeway, version: int) -> Answer:
    return causeway.tpp.call("POST", "/tpp/authorize", {"bic": causeway.banks[version].bic})


@provokes("HEADERS_ERROR")
def an_address_of_the_psu_that_is_none(causeway: Causeway, version: int) -> Answer:
    bearer = causeway.tpp.tokens(version)["access_token"]
    return causeway.tpp.call("GET", "/tpp/accounts", bearer=bearer, headers={"psu-ip-address": "home"})


@provokes("SERVICE_BLOCKED")
def a_call_outside_the_scopes(causeway: Causeway, version: int) -> Answer:
    return causeway.tpp.call(
        "GET", "/tpp/account_balance?account_id=1", bearer=causeway.tpp.tokens(version)["access_token"]
    )


@provokes("RESOURCE_UNKNOWN")
def an_unknown_bank(causeway: Causeway, version: int) -> Answer:
    return causeway.tpp.call("GET", "/tpp/scope?bic=NONEGB21")


@provokes("RESOURCE_UNKNOWN")
def an_unknown_accepted_request(causeway: Causeway, version: int) -> Answer:
    return causeway.tpp.call("GET", "/tpp/requests/nothing", bearer=causeway.tpp.tokens(version)["access_token"])


@provokes("WRONG_CREDENTIALS")
def an_unknown_client(causeway: Causeway, version: int) -> Answer:
    return causeway.tpp.call("GET", "/tpp/banks", client_id="nobody")


@provokes("AUTHENTICATION_REQUIRED")
def no_bearer(causeway: Causeway, version: int) -> Answer:
    return causeway.tpp.call("GET", "/tpp/accounts")


@provokes("API_ACTION_DOES_NOT_EXIST")
def a_call_of_the_other_version(causeway: Causeway, version: int) -> Answer:
    return causeway.tpp.call("GET", "/tpp/account_payments", bearer=causeway.tpp.tokens(version)["access_token"])


@provokes("REQUEST_ID_NOT_UUID")
def a_tpps_request_id_that_is_no_uuid(causeway: Causeway, version: int) -> Answer:
    return causeway.tpp.call("GET", "/tpp/banks", headers={"x-request-id": "17"})


@provokes("INTERNAL_SERVER_ERROR")
def storage_that_does_not_answer_a_tpp(causeway: Causeway, version: int) -> Answer:
    with causeway.storage_gone("batch_get"):
        return causeway.tpp.call("GET", "/tpp/banks")


@provokes("ACCESS_EXCEEDED")
def one_unattended_read_too_many(causeway: Causeway, version: int) -> Answer:
    limit_reads(causeway, version, 1)
    aisp = Aisp(causeway, version)
    aisp.use_up(times=1)
    return aisp.read()


@provokes("ACCESS_EXCEEDED")
def one_call_too_many(causeway: Causeway, version: int) -> Answer:
    causeway.hub.openbanking.clients.update(causeway.tpp.client_id, calls_per_minute=1)
    causeway.tpp.call("GET", "/tpp/banks")
    return causeway.tpp.call("GET", "/tpp/banks")


@provokes("INVALID_DATE_FORMAT", "PARAMETER_NOT_CONSISTENT")
def a_period_from_a_day_that_does_not_exist(causeway: Causeway, version: int) -> Answer:
    bearer = causeway.tpp.tokens(version, scopes=["accounts.transactions"])["access_token"]
    query = "account_id=1&booking_status=both&date_from=2026-02-30"
    return causeway.tpp.call("GET", f"/tpp/account_transactions?{query}", bearer=bearer)


# -- each has its status, its code and its form


@pytest.mark.parametrize("each", PROVOCATIONS, ids=str)
def test_each_invalid_request_returns_its_error_code(causeway: Causeway, each: Provocation) -> None:
    answer = each.provoke(causeway, each.version)

    body = answer.body
    if isinstance(each.code, int):
        assert (answer.status, body["error_code"]) == (CODES_1[each.code], each.code)
        assert set(body) == {"error_code", "message"}
        assert body["message"].startswith(VERSION_1[each.code].meaning)
        return
    assert set(body) - {"additionalErrors"} == {"code", "title", "timestamp", "requestId"}
    codes = CODES_2 | OWN_CODES
    assert answer.status == codes[body["code"]]
    if each.code in codes:
        assert body["code"] == each.code
        return
    found = next(other for other in body["additionalErrors"] if other["code"] == each.code)
    assert found["title"] == ADDITIONAL[each.code]
    assert found["details"]
