"""What the documents say of calls, members, statuses, schemes and errors is what the protocol's tables have."""

from __future__ import annotations

import re
from typing import Any

import pytest

from chalicelib.foundation import jsontext
from chalicelib.foundation.fields.field_types import Message
from chalicelib.foundation.fields.problems import InvalidMessage
from chalicelib.openbanking.flows import payment_execution
from chalicelib.openbanking.protocol import own_answers, refusals
from chalicelib.openbanking.protocol.bank_calls import BANK_CALLS
from chalicelib.openbanking.protocol.errors import ADDITIONAL, VERSION_1, VERSION_2, Fault
from chalicelib.openbanking.protocol.payment_enumerations import PAYMENT_ID, SCHEME_MEANINGS
from chalicelib.openbanking.protocol.payment_statuses import CODES, NUMBERS, Status
from chalicelib.openbanking.protocol.tpp_calls import AuthorizeRequest, PaymentStatusQuery, TokenRequest
from chalicelib.openbanking.protocol.v1_messages import BULK_ITEMS
from chalicelib.openbanking.protocol.v2_messages import BALANCE_TYPES
from chalicelib.openbanking.protocol.version import Version
from chalicelib.openbanking.protocol.versions import VERSIONS
from chalicelib.openbanking.protocol.webhooks import PAYMENTS, RELAYED, STATUS_PATH, FundsConfirmation, Webhook
from chalicelib.openbanking.records.payments import EARLY_SECONDS, HISTORY
from chalicelib.statistics.day_records import OLDEST_DAYS
from infra.openapi.models import model_of
from infra.openapi.own_calls import AskedStatus, webhooks_of
from tests.documents import BANK, TPP, blocks, declared, documented, named, rows, section, tables

CALLS = [(call.method, call.path, webhooks_of(call)) for call in RELAYED] + [
    ("POST", call.path, webhooks_of(call)) for call in PAYMENTS
]
EVERY_CALL = pytest.mark.parametrize(("method", "path", "webhooks"), CALLS, ids=[path for _, path, _ in CALLS])
SENT = [(version, webhook) for version in VERSIONS.values() for webhook in version.webhooks]
EVERY_WEBHOOK = pytest.mark.parametrize(("version", "webhook"), SENT, ids=[f"{v}{w.path}" for v, w in SENT])
FIRST, SECOND = VERSIONS.values()
NONE = "\N{EN DASH}"


def of_call(method: str, path: str) -> str:
    return section(TPP, f"### `{method} {path}`")


def of_webhook(webhook: Webhook) -> str:
    return section(BANK, f"{'##' if webhook.path == '/revoke_token' else '###'} `{webhook.path}`")


def reads(models: list[type[Message]], example: Any) -> bool:
    for model in models:
        try:
            model.read(example)
        except InvalidMessage:
            continue
        return True
    return False


# -- What a bank's version changes


def test_what_differs_between_the_versions_is_what_the_protocol_says() -> None:
    about = {subject: cells for subject, *cells in rows(section(TPP, "## What a bank's version changes"))}
    calls = {call.path: webhooks_of(call) for call in RELAYED}
    single = {number: version.payments["single"] for number, version in VERSIONS.items()}

    assert [cell.split(", ") for cell in about["[Scopes](#scopes)"]] == [[*FIRST.scopes], [*SECOND.scopes]]
    for path in ("account_payments", "account_payment", "account_transactions"):
        assert [path in cell for cell in about["What was booked"]] == [v in calls[f"/tpp/{path}"] for v in VERSIONS]
    for version, subject, webhook in (
        (1, "The next page", calls["/tpp/account_payments"][1]),
        (2, "The next page", calls["/tpp/account_transactions"][2]),
        (1, "[An order](#post-tpppayment_initiation)", single[1]),
        (2, "[An order](#post-tpppayment_initiation)", single[2]),
    ):
        named_here = {word.strip("…") for word in re.findall("[a-z_]{6,}…?", about[subject][version - 1])}
        members = {*webhook.request.model_fields, *webhook.answer.model_fields}
        others = {"answer", "before"}
        assert all(any(member.startswith(name) for member in members) for name in named_here - others), named_here
    assert FIRST.schemes == tuple(name for name in SECOND.schemes if name != "SWIFT")
    assert "SWIFT" in SECOND.schemes


# -- Calls


@EVERY_CALL
def test_every_call_that_goes_on_to_a_bank_is_documented_with_its_webhooks_and_scopes(
    method: str, path: str, webhooks: dict[int, Webhook]
) -> None:
    row = next(row for row in rows(section(BANK, "## Webhooks to the bank")) if row[0] == f"{method} {path}")
    found = [webhooks.get(version) for version in VERSIONS]

    assert row[1:3] == [webhook.path if webhook else NONE for webhook in found]
    assert row[3:] == [str(webhook.scope) if webhook and webhook.scope else NONE for webhook in found]
    for webhook in webhooks.values():
        assert webhook.scope is None or named(of_call(method, path), webhook.scope.name)


def test_the_webhooks_that_ask_for_a_payments_status_are_documented() -> None:
    found = [row for row in rows(section(BANK, "## Webhooks to the bank")) if row[0].startswith(f"GET {STATUS_PATH}")]

    assert [row[1:] for row in found] == [
        [NONE, path, NONE, NONE] for path in dict.fromkeys(w.path for w in SECOND.payment_status.values())
    ]


@EVERY_CALL
def test_a_tpp_finds_every_member_of_a_request(method: str, path: str, webhooks: dict[int, Webhook]) -> None:
    text, models = of_call(method, path), [webhook.request for webhook in webhooks.values()]
    found = documented(text, "Request member", "Parameter")

    if path == "/tpp/direct_payment_initiation":
        singles = [version.payments["single"].request for version in VERSIONS.values()]
        pairs = zip(singles, models, strict=True)
        missing = {name for single, model in pairs for name in single.model_fields.keys() - model.model_fields}
        assert (found, missing) == ({("bic", True, "BIC")}, {"sender_iban", "creditor_bank"})
        assert all(named(text, name) for name in missing)
    elif path == "/tpp/bulk_payment_initiation":
        assert found == declared(models, above="payments")
        assert_names_of_items(text, models)
    else:
        assert found == declared(models)


def assert_names_of_items(text: str, models: list[type[Message]]) -> None:
    """The members of a bulk payment's items are named, and each is one of a single payment's."""
    for model in models:
        definitions = model.model_json_schema()["$defs"]
        items = (definitions.get("BulkItem") or definitions["Transfer"])["properties"]
        single = (FIRST if "receiver_name" in items else SECOND).payments["single"]
        assert items.keys() <= single.request.model_fields.keys()
        assert [name for name in items if not named(text, name)] == []


@EVERY_CALL
def test_a_tpp_finds_every_member_of_an_answer(method: str, path: str, webhooks: dict[int, Webhook]) -> None:
    found = documented(of_call(method, path), "Answer member")
    models = [webhook.answer for webhook in webhooks.values()]

    described_elsewhere = {
        "/tpp/accounts": "[`GET /tpp/account`]",
        "/tpp/account_payment": "as above",
        "/tpp/bulk_payment_initiation": "that of a single payment",
        "/tpp/direct_payment_initiation": "that of a single payment",
        "/tpp/funds_confirmations": "`funds_available`, true or false",
    }
    if path in described_elsewhere:
        assert (found, described_elsewhere[path] in of_call(method, path)) == (set(), True)
    else:
        assert found == declared(models)


def test_a_tpp_finds_the_parameters_of_the_status_call() -> None:
    text = of_call("GET", STATUS_PATH)

    assert documented(text, "Parameter") == declared([PaymentStatusQuery])
    assert f"the first and the last {HISTORY - 1}" in text


@pytest.mark.parametrize(
    ("heading", "model"), [("### `POST /tpp/authorize`", AuthorizeRequest), ("### `POST /tpp/token`", TokenRequest)]
)
def test_every_member_of_a_request_is_documented(heading: str, model: Any) -> None:
    text = section(TPP, heading)

    assert [name for name in model.model_fields if not named(text, name)] == []


@EVERY_WEBHOOK
def test_a_bank_finds_every_member_of_a_webhook(version: Version, webhook: Webhook) -> None:
    text = of_webhook(webhook)
    found = documented(text, "Request member"), documented(text, "Answer member")
    request, answer = declared([webhook.request]), declared([webhook.answer])

    if webhook.path in ("/direct_payment_initiation", "/v2_payment_direct_single"):
        assert found == (set(), set())
    elif webhook.path.endswith(("bulk_payment_initiation", "payment_bulk")):
        assert found == (declared([webhook.request], above="payments"), set())
        if version is SECOND:
            assert_names_of_items(text, [webhook.request])
    elif webhook.path == "/account_payment":
        assert found == (request, set())
    else:
        assert found == (request, answer)


@pytest.mark.parametrize("call", BANK_CALLS, ids=lambda call: call.path)
def test_every_member_of_a_banks_call_is_documented(call: Any) -> None:
    text = section(BANK, f"### `{call.path[1:]}`")

    for model in [version.calls[call.name] for version in VERSIONS.values() if call.name in version.calls]:
        names = [field.alias or name for name, field in model.model_fields.items()]
        assert [name for name in names if not named(text, name)] == []


def test_both_documents_give_the_limits_of_payments() -> None:
    bulk = max(call.body_bytes for call in PAYMENTS)

    assert [str(number) in TPP for number in (bulk, BULK_ITEMS, payment_execution.LONGEST_ANSWER)] == [True] * 3
    assert [str(number) in BANK for number in (BULK_ITEMS, payment_execution.LONGEST_ANSWER)] == [True] * 2
    assert f"at most {PAYMENT_ID} characters" in section(BANK, "### `payments/status`")
    assert f"Kept for {EARLY_SECONDS // 60} minutes" in section(BANK, "### `payments/status`")
    assert f"at most {OLDEST_DAYS} days ago" in section(BANK, "### `daily_performance`")


# -- Examples


@EVERY_CALL
def test_the_examples_of_a_call_fit_its_models(method: str, path: str, webhooks: dict[int, Webhook]) -> None:
    examples = [jsontext.loads(block) for block in blocks(of_call(method, path), "json")]
    models: list[type[Message]] = [webhook.request for webhook in webhooks.values()]
    answers = [webhook.answer for webhook in webhooks.values()]
    models += [model_of(FundsConfirmation)] if path == "/tpp/funds_confirmations" else answers

    for example in examples:
        assert reads(models, {name: value for name, value in example.items() if name != "bic"}), example
    assert examples or path in ("/tpp/accounts", "/tpp/account")


@EVERY_WEBHOOK
def test_the_examples_of_a_webhook_fit_its_models(version: Version, webhook: Webhook) -> None:
    for block in blocks(of_webhook(webhook), "json"):
        example = jsontext.loads(block)
        if version is FIRST and webhook.path != "/revoke_token":
            assert example.pop("status") == "success"
        assert reads([webhook.answer], example), example


@pytest.mark.parametrize("call", BANK_CALLS, ids=lambda call: call.path)
def test_the_examples_of_a_banks_call_fit_its_models(call: Any) -> None:
    examples = [jsontext.loads(block) for block in blocks(section(BANK, f"### `{call.path[1:]}`"), "json")]

    models = [version.calls[call.name] for version in VERSIONS.values() if call.name in version.calls]
    assert [model for model in models if not any(reads([model], each) for each in examples)] == []


def test_the_examples_of_the_status_call_fit_its_models() -> None:
    for block in blocks(of_call("GET", STATUS_PATH), "json"):
        assert reads([model_of(own_answers.ReportedStatus), AskedStatus], jsontext.loads(block))


# -- Scopes, statuses, schemes, balances


def test_both_scope_tables_are_complete() -> None:
    table = [row[:4] for row in rows(section(TPP, "## Scopes")) if row[0] in ("1", "2")]

    assert table == [
        [str(version), scope.name, scope.service, scope.meaning]
        for version in VERSIONS.values()
        for scope in version.scopes.values()
    ]


def test_every_scope_says_which_calls_use_it() -> None:
    for version, scope, _, _, calls in (row for row in rows(section(TPP, "## Scopes")) if row[0] in ("1", "2")):
        using = [
            f"{method} {path}"
            for method, path, webhooks in CALLS
            if int(version) in webhooks and str(webhooks[int(version)].scope) == scope
        ]
        assert calls.split(", ") == using


def finality(version: Version, status: Status) -> str:
    """How the documents say whether anything may come after a status."""
    statuses = version.statuses
    later = [str(other) for other in statuses.meanings if statuses.may_follow(status, other)]
    if len(later) == len(statuses.meanings) - 1:
        return "no"
    return f"but for {', '.join(later)}" if later else "yes"


def test_both_documents_have_the_status_tables() -> None:
    numbers = {CODES.write(CODES.read(number) or ""): str(number) for number in NUMBERS.meanings}
    first, second = (
        [[str(status), meaning, finality(version, status)] for status, meaning in version.statuses.meanings.items()]
        for version in VERSIONS.values()
    )
    of_tpps, of_banks = (
        [table[2:] for table in tables(text) if table[0][0] == "Status"]
        for text in (section(TPP, "### Status values"), section(BANK, "### `payments/status`"))
    )

    assert of_tpps == [first, second]
    assert of_banks == [first, [[row[0], numbers.get(row[0], NONE), *row[1:]] for row in second]]


def test_the_scheme_table_is_complete() -> None:
    assert rows(section(TPP, "### Payment schemes"))[2:] == [
        [name, ", ".join(str(version) for version in VERSIONS.values() if name in version.schemes), meaning]
        for name, meaning in SCHEME_MEANINGS.items()
    ]


def test_the_balance_types_are_complete() -> None:
    (table,) = [table for table in tables(of_call("GET", "/tpp/account_balance")) if table[0][0] == "Balance type"]

    assert {row[0]: row[1] for row in table[2:]} == BALANCE_TYPES
    assert all(named(section(BANK, "### `/v2_account_balances`"), name) for name in BALANCE_TYPES)


# -- Errors


def test_what_a_failed_payment_is_told_begins_as_documented() -> None:
    beginnings = [row[0] for row in tables(section(TPP, "### When a payment fails"))[0][2:]]
    told = (refusals.PAYMENT_NOT_SENT, refusals.PAYMENT_REFUSED, refusals.PAYMENT_OUTCOME_UNKNOWN)

    assert [row.sentence.startswith(beginning) for row, beginning in zip(told, beginnings, strict=True)] == [True] * 3


def test_the_banks_document_has_the_error_table_of_version_1() -> None:
    table = {row[0]: row[1] for row in rows(section(BANK, "### Version 1")) if row[0].isdigit()}

    assert table == {str(code): str(row.status) for code, row in VERSION_1.items()}


def test_the_banks_document_has_the_error_tables_of_version_2() -> None:
    found = rows(section(BANK, "### Version 2"))

    assert {row[0]: row[1] for row in found if len(row) == 3 and row[1].isdigit()} == {
        code: str(row.status) for code, row in VERSION_2.items()
    }
    assert {row[0] for row in found if len(row) == 2 and row[0].isupper()} == ADDITIONAL.keys()


def test_the_tpps_document_gives_its_codes_the_right_status() -> None:
    found = rows(section(TPP, "## Errors"))
    table = {row[0]: row[1] for row in found if row[0] in VERSION_2}

    assert table == {code: str(row.status) for code, row in VERSION_2.items() if code != "SSL_CREDENTIALS_NOT_FOUND"}
    assert {row[0] for row in found if len(row) == 2 and re.fullmatch("[A-Z_]+", row[0])} <= ADDITIONAL.keys()


def codes(fault: Fault) -> tuple[str, str, str]:
    return str(fault.value.v1), fault.value.v2, fault.value.additional or ""


def test_every_fault_that_a_bank_can_meet_is_paired_and_no_other() -> None:
    pairs = {tuple(row[1:]) for row in rows(section(BANK, "### Pairing of the two versions")) if row[1].isdigit()}
    of_tpps = {Fault.SCHEME, Fault.PARAMETER, Fault.FORBIDDEN, Fault.UNKNOWN_RESOURCE, Fault.BANK_FAILED}

    assert pairs == {codes(fault) for fault in Fault if fault not in of_tpps}
    assert {str(code) for code in VERSION_1} == {pair[0] for pair in pairs}
