"""Tests of unified payments: the same flow as native payments, with the unified body, refusals and response."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from chalicelib.foundation import jsontext
from chalicelib.foundation.http.outbound import TimedOut
from chalicelib.foundation.jsontext import Number
from tests.causeway import Answer, Causeway
from tests.openbanking.kit import IBAN, LATER, UNREACHABLE, VERSIONS
from tests.openbanking.payments import KINDS, RECEIVER, REFUSAL, WEBHOOKS, Pisp, UnifiedPisp, stored_payments

ANSWER = {"payment_id": "P-1", "confirmation_url": "https://bank.example/confirm", "status": "pending"}
ANSWERS: dict[int, dict[str, Any]] = {1: {**ANSWER, "native_status": None}, 2: {**ANSWER, "native_status": "RCVD"}}
AMOUNT = {"value": "12.30", "currency": "EUR"}
BANK = {"name": "Nordea Bank Abp", "bic": "NDEAFIHH", "country": "FI"}
CREDITOR = {"name": "Ada", "iban": RECEIVER}
ONLY_BBAN = {"name": "Ada", "bban": "370400440532013000"}
FOREIGN = "https://elsewhere.example.com/paid"


def error(answer: Answer) -> tuple[int, str, str | None]:
    return answer.status, answer.body["code"], answer.body.get("reason_code")


def sent(pisp: Pisp) -> Any:
    """Return the body of the last request that the bank received."""
    return jsontext.loads(pisp.bank.received[-1].body)


def with_members(pisp: Pisp, **members: Any) -> dict[str, Any]:
    """Return the changes of an order in which each payment has ``members``."""
    if pisp.kind != "bulk":
        return members
    return {"payments": [each | members for each in pisp.body()["payments"]]}


def with_debtor_of(version: int, kind: str) -> dict[str, Any]:
    """Return the changes that give a unified order the debtor of the native one."""
    return {"debtor": None} if (version, kind) == (2, "bulk") else {}


# -- success


@KINDS
@VERSIONS
def test_a_payment_is_sent_to_the_webhook_of_its_kind_and_answered_in_one_shape(
    causeway: Causeway, version: int, kind: str
) -> None:
    pisp = UnifiedPisp(causeway, version, kind)

    answer = pisp.pay()

    assert (answer.status, answer.body) == (200, ANSWERS[version])
    assert "server-timing" in answer.headers
    (received,) = pisp.bank.received
    assert received.path == WEBHOOKS[version, kind]
    assert received.headers["X-Request-Id"] == answer.headers["x-request-id"]
    assert ("X-Auth-Token" in received.headers) == (kind != "direct")


@KINDS
@VERSIONS
def test_the_bank_gets_the_request_that_the_native_call_sends(causeway: Causeway, version: int, kind: str) -> None:
    unified, native = UnifiedPisp(causeway, version, kind), Pisp(causeway, version, kind)
    native.pay()
    expected = jsontext.loads(jsontext.dumps(sent(native)).replace('"Ada"', '"Ada Receiver"'))

    unified.pay(**with_debtor_of(version, kind))

    assert sent(unified) == expected


@VERSIONS
@pytest.mark.parametrize("status", ["RCVD", "ACTC", "ACSP", "ACCC"])
def test_the_first_status_is_that_of_the_bank(causeway: Causeway, version: int, status: str) -> None:
    pisp = UnifiedPisp(causeway, version)
    unified = {"RCVD": "pending", "ACTC": "authorising", "ACSP": "accepted", "ACCC": "settled"}[status]
    answer = {"status": "success" if version == 1 else status, "payment_id": 4711, "extra": 1}
    pisp.bank_answers({**answer, "confirmation_url": "https://bank.example/confirm"})

    body = pisp.pay().body

    expected = ("pending", None) if version == 1 else (unified, status)
    assert (body["status"], body["native_status"], body["payment_id"]) == (*expected, "4711")
    assert body.keys() == ANSWERS[version].keys()


@VERSIONS
def test_a_bulk_payment_may_be_as_large_as_a_native_one(causeway: Causeway, version: int) -> None:
    pisp = UnifiedPisp(causeway, version, "bulk")
    payments = [{"creditor": CREDITOR, "amount": {"value": "0.10", "currency": "EUR"}}] * 1000

    answer = pisp.pay(payments=payments)

    assert (answer.status, len(sent(pisp)["payments"])) == (200, 1000)
    assert b'"100.00"' in pisp.bank.received[-1].body


# -- repeats


@KINDS
@VERSIONS
def test_a_repeat_with_the_same_key_gets_the_first_response(causeway: Causeway, version: int, kind: str) -> None:
    pisp = UnifiedPisp(causeway, version, kind)

    first, second = pisp.pay("key"), pisp.pay("key")

    assert (second.status, second.body) == (200, first.body)
    assert pisp.calls == 1


@VERSIONS
def test_a_repeat_with_the_same_key_and_another_body_is_refused(causeway: Causeway, version: int) -> None:
    pisp = UnifiedPisp(causeway, version)
    pisp.pay("key")

    repeat = pisp.pay("key", amount={"value": "12.31", "currency": "EUR"})

    assert (repeat.status, repeat.body["code"]) == (400, "HEADERS_ERROR")


@KINDS
@VERSIONS
def test_the_same_key_on_the_native_path_is_another_payment(causeway: Causeway, version: int, kind: str) -> None:
    unified, native = UnifiedPisp(causeway, version, kind), Pisp(causeway, version, kind)
    native.bearer = unified.bearer

    payment_ids = [pisp.pay("key").body["payment_id"] for pisp in (unified, native, unified, native)]

    assert payment_ids == ["P-1", "P-2", "P-1", "P-2"]
    assert unified.calls == 2


@VERSIONS
def test_the_same_request_id_on_the_native_path_is_refused(causeway: Causeway, version: int) -> None:
    unified, native = UnifiedPisp(causeway, version), Pisp(causeway, version)
    native.bearer, native.request_id = unified.bearer, str(uuid.uuid4())
    unified.request_id = native.request_id
    assert native.pay().status == 200

    refused = unified.pay()

    assert (refused.status, refused.body["code"], unified.calls) == (400, "HEADERS_ERROR", 1)


@VERSIONS
@pytest.mark.parametrize(
    ("does", "reason_code"),
    [("refuses", "refused_by_bank"), (TimedOut("late"), "outcome_unknown"), (UNREACHABLE, "not_sent")],
    ids=["refused", "late", "never reached"],
)
def test_a_failure_of_the_bank_has_the_reason_code_of_the_native_call(
    causeway: Causeway, version: int, does: Any, reason_code: str
) -> None:
    pisp = UnifiedPisp(causeway, version)
    pisp.bank_answers(REFUSAL[version] if does == "refuses" else does)

    first, second = pisp.pay("key"), pisp.pay("key")

    assert error(first) == (502, "ASPSP_UNKNOWN_ERROR", reason_code)
    assert second.text == first.text


# -- a member that the version cannot carry


@VERSIONS
@pytest.mark.parametrize("headers", [{}, LATER], ids=["at once", "deferred"])
def test_a_refused_member_sends_nothing_and_spends_nothing(
    causeway: Causeway, version: int, headers: dict[str, str]
) -> None:
    pisp = UnifiedPisp(causeway, version, consent_type="one_time")
    pisp.headers = headers
    creditor = {**CREDITOR, "sort_code": "04-00", "name": "Ada!"}

    refused = pisp.pay("key", creditor=creditor)

    assert error(refused) == (400, "FORMAT_ERROR", "not_at_this_bank")
    named = {1: "creditor.name", 2: "creditor.sort_code"}[version]
    assert [each["details"].split(" ")[0] for each in refused.body["additionalErrors"]] == [named]
    assert f"at banks of version {version}" in refused.body["title"]
    assert (pisp.calls, pisp.consent_status()) == (0, "authorised")
    assert pisp.pay("key").status in (200, 202)


def test_a_refused_member_is_named_with_what_banks_of_the_version_take(causeway: Causeway) -> None:
    pisp = UnifiedPisp(causeway, 1, "bulk")
    payments = [{"creditor": creditor, "amount": AMOUNT} for creditor in (CREDITOR, CREDITOR, CREDITOR, ONLY_BBAN)]

    refused = pisp.pay(payments=payments)

    assert error(refused) == (400, "FORMAT_ERROR", "not_at_this_bank")
    (entry,) = refused.body["additionalErrors"]
    taken = "banks of version 1 take an iban, or account_number with sort_code"
    assert entry["details"] == f"payments.3.creditor.bban cannot be sent: {taken}"


@KINDS
@VERSIONS
def test_what_is_wrong_at_every_bank_is_told_before_what_the_version_cannot_carry(
    causeway: Causeway, version: int, kind: str
) -> None:
    pisp = UnifiedPisp(causeway, version, kind)
    creditor = {"name": "Ada!", "sort_code": "04-00", "iban": RECEIVER}

    for changes in (
        with_members(pisp, creditor=creditor, amount={"value": Number("12.30"), "currency": "EUR"}),
        {**with_members(pisp, creditor=creditor), "callback_url": FOREIGN},
    ):
        refused = pisp.pay(**changes)

        assert error(refused) == (400, "FORMAT_ERROR", None)
        assert "version" not in refused.body["title"]


@KINDS
@VERSIONS
def test_an_unknown_member_is_refused(causeway: Causeway, version: int, kind: str) -> None:
    pisp = UnifiedPisp(causeway, version, kind)

    refused = pisp.pay(payment_scheme="SCT")

    assert error(refused) == (400, "FORMAT_ERROR", None)
    assert [each["code"] for each in refused.body["additionalErrors"]] == ["EXTRA_FIELDS_PROVIDED"]


# -- schemes


@KINDS
@VERSIONS
@pytest.mark.parametrize(
    ("currency", "scheme", "expected"), [("EUR", None, "SCT"), ("GBP", None, "FPS"), ("EUR", "SCTI", "SCTI")]
)
def test_a_scheme_is_sent_or_filled_in(
    causeway: Causeway, version: int, kind: str, currency: str, scheme: str | None, expected: str
) -> None:
    pisp = UnifiedPisp(causeway, version, kind)

    amount = {"value": "12.30", "currency": currency}
    assert pisp.pay(**with_members(pisp, amount=amount), scheme=scheme).status == 200

    body = sent(pisp)
    places = body["payments"] if (version, kind) == (1, "bulk") else [body]
    assert [each["payment_scheme"] for each in places] == [expected]


@KINDS
@VERSIONS
def test_a_currency_without_a_default_scheme_is_refused(causeway: Causeway, version: int, kind: str) -> None:
    pisp = UnifiedPisp(causeway, version, kind)

    refused = pisp.pay(**with_members(pisp, amount={"value": "12.30", "currency": "USD"}))

    assert error(refused) == (400, "PAYMENT_SCHEME_INVALID", None)
    assert refused.body["title"].startswith("scheme is required")


@pytest.mark.parametrize(("version", "kind"), [(1, "single"), (1, "bulk"), (1, "direct"), (2, "bulk"), (2, "direct")])
def test_swift_is_refused_except_in_single_payments_of_version_2(causeway: Causeway, version: int, kind: str) -> None:
    refused = UnifiedPisp(causeway, version, kind).pay(scheme="SWIFT")

    assert error(refused) == (400, "PAYMENT_SCHEME_INVALID", None)


@VERSIONS
def test_an_unknown_scheme_is_refused_after_what_the_version_cannot_carry(causeway: Causeway, version: int) -> None:
    pisp = UnifiedPisp(causeway, version)
    creditor = {"name": "Ada!", "sort_code": "04-00", "iban": RECEIVER}

    assert error(pisp.pay(scheme="CHEQUE")) == (400, "PAYMENT_SCHEME_INVALID", None)
    assert error(pisp.pay(scheme="CHEQUE", creditor=creditor)) == (400, "FORMAT_ERROR", "not_at_this_bank")


def test_swift_needs_the_bank_of_the_creditor(causeway: Causeway) -> None:
    pisp = UnifiedPisp(causeway, 2)

    refused = pisp.pay(scheme="SWIFT")
    paid = pisp.pay(scheme="SWIFT", creditor={**CREDITOR, "bank": BANK})

    assert error(refused) == (400, "FORMAT_ERROR", None)
    assert refused.body["title"] == "creditor.bank is required with the scheme SWIFT"
    assert (paid.status, sent(pisp)["creditor_bank"], sent(pisp)["payment_scheme"]) == (200, BANK, "SWIFT")


# -- permissions


@pytest.mark.parametrize("kind", ["single", "bulk"])
@VERSIONS
def test_an_account_that_the_psu_did_not_approve_is_refused_by_its_unified_name(
    causeway: Causeway, version: int, kind: str
) -> None:
    pisp = UnifiedPisp(causeway, version, kind)

    refused = pisp.pay(debtor={"iban": RECEIVER})

    assert (refused.status, refused.body["code"]) == (403, "SERVICE_BLOCKED")
    assert refused.body["title"] == "the PSU did not approve the account in debtor.iban"
    assert pisp.calls == 0


@pytest.mark.parametrize(("version", "status"), [(1, 200), (2, 403)])
def test_an_identifier_that_is_left_out_is_not_held_against_the_consent(
    causeway: Causeway, version: int, status: int
) -> None:
    scopes, bank = ["payment.init"] if version == 1 else ["payments.single"], causeway.banks[version]
    url = causeway.tpp.authorize(version, scopes=scopes)["redirect_url"]
    accounts = {bank.spell("account_numbers"): ["11111111"]}
    saved = bank.call("/consent", bank.consent_body(url, scopes=scopes, ibans=[IBAN]) | accounts).body
    pisp = UnifiedPisp(causeway, version)
    pisp.bearer = causeway.tpp.redeem(saved[bank.spell("callback_url")].rpartition("code=")[2].split("&")[0])[
        "access_token"
    ]

    answer = pisp.pay(debtor={"iban": IBAN, "sort_code": "202015", "account_number": "55555555"})

    assert answer.status == status
    if status == 403:
        assert answer.body["title"].endswith("debtor.account_number")


@pytest.mark.parametrize(
    ("version", "kind", "scopes", "sentence"),
    [
        (1, "single", ["account.list"], "payments:write, which is payment.init at this bank"),
        (1, "bulk", ["account.list"], "bulk_payments:write, which is payment.init at this bank"),
        (2, "single", ["payments.bulk"], "payments:write, which is payments.single at this bank"),
        (2, "bulk", ["payments.single"], "bulk_payments:write, which is payments.bulk at this bank"),
    ],
)
def test_a_missing_scope_is_named_as_unified_and_as_native(
    causeway: Causeway, version: int, kind: str, scopes: list[str], sentence: str
) -> None:
    pisp = UnifiedPisp(causeway, version, kind)
    pisp.bearer = causeway.tpp.tokens(version, scopes=scopes)["access_token"]

    refused = pisp.pay()

    assert (refused.status, refused.body["code"]) == (403, "SERVICE_BLOCKED")
    assert refused.body["title"].endswith(sentence)
    assert 'error="insufficient_scope"' in refused.headers["www-authenticate"]


@pytest.mark.parametrize("kind", ["single", "bulk"])
def test_a_payment_without_a_bearer_is_refused_with_a_bearer_challenge(causeway: Causeway, kind: str) -> None:
    pisp = UnifiedPisp(causeway, 1, kind)

    for client_id in (None, ""):
        path, body = pisp.paths[kind], pisp.body()
        refused = causeway.tpp.call("POST", path, body, client_id=client_id)

        assert refused.status == 401
        assert refused.headers["www-authenticate"].startswith("Bearer " if client_id is None else "Basic ")


@KINDS
def test_a_query_parameter_is_refused(causeway: Causeway, kind: str) -> None:
    pisp = UnifiedPisp(causeway, 2, kind)

    refused = causeway.tpp.call("POST", f"{pisp.paths[kind]}?a=b", pisp.body(), bearer=pisp.bearer)

    assert (refused.status, refused.body["code"]) == (400, "PARAMETER_NOT_CONSISTENT")


@pytest.mark.parametrize(
    ("bic", "status", "code"), [("NOSUCHXX", 404, "RESOURCE_UNKNOWN"), ("x", 400, "FORMAT_ERROR"), (None, 400, None)]
)
def test_a_direct_payment_needs_the_bic_of_a_bank(
    causeway: Causeway, bic: str | None, status: int, code: str | None
) -> None:
    pisp = UnifiedPisp(causeway, 2, "direct")

    refused = pisp.pay(bic=bic)

    assert (refused.status, refused.body["code"]) == (status, code or "FORMAT_ERROR")


# -- deferred


@KINDS
@VERSIONS
def test_a_deferred_payment_stores_the_unified_response(causeway: Causeway, version: int, kind: str) -> None:
    pisp = UnifiedPisp(causeway, version, kind, deferred=True)

    request_id = pisp.order("key")
    assert pisp.order("key") == request_id
    pisp.attempt(request_id)

    assert pisp.outcome(request_id) == {"state": "done", "status": 200, "body": ANSWERS[version]}
    (payment,) = stored_payments(causeway)
    assert (payment["kind"], pisp.calls) == (kind, 1)


def test_the_response_of_a_payment_does_not_depend_on_the_path_of_another(causeway: Causeway) -> None:
    """A native payment that was accepted in the same minute keeps the shape of the bank."""
    unified, native = UnifiedPisp(causeway, 2, deferred=True), Pisp(causeway, 2, deferred=True)
    accepted = [unified.order(), native.order()]

    for request_id in accepted:
        unified.attempt(request_id)

    bodies = [pisp.outcome(request_id)["body"] for pisp, request_id in zip((unified, native), accepted, strict=True)]
    assert [sorted(body) for body in bodies] == [
        ["confirmation_url", "native_status", "payment_id", "status"],
        ["confirmation_url", "payment_id", "status"],
    ]


@VERSIONS
def test_a_one_time_consent_pays_once_on_either_path(causeway: Causeway, version: int) -> None:
    unified, native = UnifiedPisp(causeway, version, consent_type="one_time"), Pisp(causeway, version)
    native.bearer = unified.bearer

    assert unified.pay().status == 200

    assert (native.pay().status, unified.pay().status, unified.calls) == (401, 401, 1)
    assert unified.consent_status() == "spent"


def test_each_path_refuses_the_members_of_the_other(causeway: Causeway) -> None:
    unified, native = UnifiedPisp(causeway, 2), Pisp(causeway, 2)
    swapped = {unified.paths["single"]: native.body(), native.paths["single"]: unified.body()}

    for path, body in swapped.items():
        refused = causeway.tpp.call("POST", path, body, bearer=unified.bearer)

        assert error(refused) == (400, "FORMAT_ERROR", None)
