"""The concept pages agree with the protocol's tables of versions, webhooks, limits and errors."""

import json
import re
from typing import get_args

from chalicelib.openbanking.flows.payments import execution
from chalicelib.openbanking.protocol.bank_identifiers import LONGEST_PAYMENT_ID
from chalicelib.openbanking.protocol.errors import VERSION_1, VERSION_2, Fault, PaymentReason, UnifiedReason
from chalicelib.openbanking.protocol.payment_statuses import CODES
from chalicelib.openbanking.protocol.psu_context import METHODS, PSU_HEADERS
from chalicelib.openbanking.protocol.v1_payment_messages import BULK_ITEMS
from chalicelib.openbanking.protocol.v2_account_messages import Transaction
from chalicelib.openbanking.protocol.versions import VERSIONS
from chalicelib.openbanking.protocol.webhooks import PAYMENTS as PAYMENT_CALLS
from chalicelib.openbanking.protocol.webhooks import RELAYED, STATUS_PATH
from chalicelib.openbanking.records.bank_record import MOST_UNATTENDED_READS
from chalicelib.openbanking.records.payments import EARLY_SECONDS, HISTORY
from chalicelib.openbanking.unified.calls import UNIFIED_PAYMENTS, UNIFIED_READS
from chalicelib.openbanking.unified.entries import MOST_PROBLEMS, Problems, read_entries
from chalicelib.openbanking.unified.stable_keys import transaction_digest
from chalicelib.openbanking.unified.transaction_cursors import LONGEST_PAGE_KEY, MOST_EMPTY_PAGES
from chalicelib.statistics.day_records import OLDEST_DAYS
from infra.render.openapi.own_calls import webhooks_of
from tests.kit.documents import BANK, PAYMENTS, REQUESTS, rows, section, tables
from tests.kit.documents import VERSIONS as VERSIONS_PAGE

CALLS = [(call.method, call.path, webhooks_of(call)) for call in (*RELAYED, *UNIFIED_READS)] + [
    ("POST", call.path, webhooks_of(call)) for call in (*PAYMENT_CALLS, *UNIFIED_PAYMENTS)
]
NONE = "\N{EN DASH}"
_, SECOND = VERSIONS.values()


def test_docs_list_every_reason_code_of_a_failed_unified_call() -> None:
    documented = {row[0]: row[1:] for row in rows(section(VERSIONS_PAGE, "## Errors of unified calls"))}

    assert documented.keys() >= set(get_args(UnifiedReason))
    assert f"{MOST_EMPTY_PAGES} empty pages" in documented["pages_empty"][1]
    assert f"{LONGEST_PAGE_KEY} bytes" in documented["page_key_too_long"][1]
    assert f"After {MOST_PROBLEMS} problems" in " ".join(section(VERSIONS_PAGE, "## Problems").split())


def test_docs_give_the_digest_of_a_stable_key() -> None:
    ((account_id, transaction_id, digest),) = re.findall(
        r'`\["(.+?)","(.+?)"\]` has\s+`([0-9a-f]{32})`', section(VERSIONS_PAGE, "## Transactions")
    )

    assert transaction_digest(account_id, {"transaction_id": transaction_id}).hex() == digest


def test_docs_give_a_problem_like_that_of_an_unusable_entry() -> None:
    text = " ".join(section(VERSIONS_PAGE, "## Problems").split())
    (example,) = re.findall(r"`(\{.+\})`", text)
    problems = Problems()
    read_entries(
        Transaction, "booked", [(3, {"transaction_amount": {"amount": True, "currency": "EUR"}})], None, problems
    )

    assert [json.loads(example)] == problems.as_list()


def test_docs_list_every_webhook_with_its_call_and_scope() -> None:
    triggers = {name: row[1:] for row in rows(section(BANK, "## Webhooks")) for name in row[0].split(", ")}

    for method, path, webhooks in CALLS:
        found = [webhooks.get(version) for version in VERSIONS]
        assert triggers[f"{method} {path}"] == [
            *(webhook.path if webhook else NONE for webhook in found),
            *(str(webhook.scope) if webhook and webhook.scope else NONE for webhook in found),
        ]


def test_docs_list_the_webhooks_for_payment_statuses() -> None:
    found = [row for row in rows(section(BANK, "## Webhooks")) if row[0].startswith(f"GET {STATUS_PATH}")]

    assert [row[1:] for row in found] == [
        [NONE, path, NONE, NONE] for path in dict.fromkeys(w.path for w in SECOND.payment_status.values())
    ]


def test_docs_state_the_limits_of_payments() -> None:
    bulk = max(call.body_bytes for call in PAYMENT_CALLS)
    reports = section(BANK, "### Status reports")

    assert str(bulk) in REQUESTS
    assert all(str(number) in PAYMENTS for number in (bulk, BULK_ITEMS))
    assert f"the first and the last {HISTORY - 1} reports" in PAYMENTS
    assert str(execution.LONGEST_ANSWER) in BANK
    assert f"at most {LONGEST_PAYMENT_ID} characters" in " ".join(reports.split())
    assert f"Kept for {EARLY_SECONDS // 60} minutes" in reports
    assert f"the last {OLDEST_DAYS} days" in section(BANK, "## Daily performance")


def test_docs_list_the_psu_headers_with_their_formats() -> None:
    found = [row for row in rows(section(REQUESTS, "## Attended and unattended reads")) if row[0].startswith("PSU-")]
    told = {name: row[1] for row in found for name in row[0].split(", ")}

    assert [*told] == [row.name for row in PSU_HEADERS]
    for row in PSU_HEADERS:
        if "printable" in row.form:
            assert told[row.name] == row.form
    assert all(method in told["PSU-Http-Method"] for method in METHODS)
    headers = next(row for row in rows(section(BANK, "## Headers")) if "PSU-" in row[0])
    assert headers[0].split(", ") == [*told]
    assert f"1 to {MOST_UNATTENDED_READS}" in section(BANK, "## Registration")


def test_docs_list_the_numeric_codes_of_version_2_statuses() -> None:
    text = " ".join(section(BANK, "### Status reports").split())

    for number in "01234":
        assert f"{number} (`{CODES.write(CODES.read(number) or '')}`)" in text


def test_docs_list_every_reason_code_of_a_failed_payment() -> None:
    documented = [row[0] for row in tables(section(PAYMENTS, "## Failures"))[0][2:]]

    assert sorted(documented) == sorted(get_args(PaymentReason))


def documented_pair(fault: Fault) -> tuple[str, str, str, str]:
    v1, v2 = VERSION_1[fault.v1].status, VERSION_2[fault.v2].status
    status = str(v1) if v1 == v2 else f"{v1} / {v2}"
    return status, str(fault.v1), fault.v2, fault.additional or ""


def test_docs_pair_the_error_codes_of_both_versions_for_each_bank_call_fault() -> None:
    found = rows(section(VERSIONS_PAGE, "## Error codes of both versions"))
    of_tpps = {Fault.SCHEME, Fault.PARAMETER, Fault.FORBIDDEN, Fault.UNKNOWN_RESOURCE, Fault.BANK_FAILED}
    of_tpps |= {Fault.ACCESS_EXCEEDED}

    pairs = {tuple(row[1:]) for row in found if row[2].isdigit()}
    assert pairs == {documented_pair(fault) for fault in Fault if fault not in of_tpps}
    assert {str(code) for code in VERSION_1} == {pair[1] for pair in pairs}
