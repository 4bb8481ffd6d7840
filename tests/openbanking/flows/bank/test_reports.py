"""Tests of bank reports: formats of payment statuses and daily performance, and errors for invalid formats."""

import uuid
from datetime import date
from typing import Any

import pytest

from chalicelib.foundation.jsontext import Number
from tests.causeway import Answer, Causeway
from tests.openbanking.examples import BY_WEBHOOK, Json
from tests.openbanking.kit import VERSIONS, error_code
from tests.openbanking.relay import Relay

ID = {1: "payment_id", 2: "paymentId"}
STATUS = {1: "payment_status", 2: "paymentStatus"}
CODES = ["ACCC", "ACCP", "ACSC", "ACSP", "ACTC", "ACWC", "ACWP", "RCVD", "PDNG", "RJCT", "CANC", "ACFC", "PATC", "PART"]
NUMBERS: list[Any] = [0, 1, 2, 3, 4, "0", "1", "2", "3", "4"]


@pytest.fixture(scope="module")
def paid(relay: Relay) -> Relay:
    for version, webhook in ((1, "/payment_initiation"), (2, "/v2_payment_single")):
        row = BY_WEBHOOK[webhook]
        for status in [*NUMBERS, *(CODES if version == 2 else [])]:
            assert relay.call(row, answer=row.answer | {"payment_id": f"P-{status!r}"}).status == 200
    return relay


def report(relay: Relay, version: int, *changes: Json, payment: str = "P-0", status: Any = 0) -> Answer:
    """Send a status report with changed members. The value ``...`` removes a member."""
    body: Json = {ID[version]: payment, STATUS[version]: status}
    for change in changes:
        body |= change
    return relay.causeway.banks[version].call(
        "/payments/status", {name: value for name, value in body.items() if value is not ...}
    )


# -- payments/status


@VERSIONS
@pytest.mark.parametrize("status", NUMBERS, ids=repr)
def test_a_status_report_accepts_a_numeric_status(paid: Relay, version: int, status: Any) -> None:
    answer = report(paid, version, payment=f"P-{status!r}", status=status)

    assert (answer.status, answer.text) == (200, '{"status":"success"}')


@pytest.mark.parametrize("status", CODES)
def test_a_version_2_status_report_accepts_four_letter_codes(paid: Relay, status: str) -> None:
    answer = report(paid, 2, payment=f"P-{status!r}", status=status)

    assert (answer.status, answer.text) == (200, '{"status":"success"}')


@pytest.mark.parametrize("status", CODES)
def test_a_version_1_status_report_rejects_letter_codes(paid: Relay, status: str) -> None:
    assert error_code(report(paid, 1, status=status), 1) == (400, 4001)


NO_STATUS = [5, -1, 10, "5", "-1", "04", " 4", "4.0", Number("4.0"), Number("4e0"), True, None, [], {}, [4], ""]


@VERSIONS
@pytest.mark.parametrize("status", [*NO_STATUS, "\u0664", "acsc", "ACSCX", "Confirmed", "9" * 300], ids=repr)
def test_an_unknown_status_in_a_report_returns_400(paid: Relay, version: int, status: Any) -> None:
    answer = report(paid, version, status=status)

    assert error_code(answer, version) == (400, 4001 if version == 1 else "INVALID_PAYMENT_STATUS_FORMAT")
    assert_names(answer, version, STATUS[version])


def assert_names(answer: Answer, version: int, name: str) -> None:
    if version == 1:
        assert name in answer.body["message"]
    else:
        assert answer.body["additionalErrors"][0]["details"].startswith(f"{name} ")


@VERSIONS
@pytest.mark.parametrize("payment", ["", "p" * 1025, "a\u0000b", "a\nb", Number("7.0"), None, True, [], {}], ids=repr)
def test_an_invalid_payment_id_in_a_report_returns_400(paid: Relay, version: int, payment: Any) -> None:
    answer = report(paid, version, payment=payment)

    assert error_code(answer, version) == (400, 4001 if version == 1 else "INVALID_PAYMENT_ID_FORMAT")
    assert_names(answer, version, ID[version])


@VERSIONS
def test_a_status_report_on_an_unknown_payment_returns_400(paid: Relay, version: int) -> None:
    only_at_the_other = BY_WEBHOOK["/payment_initiation" if version == 2 else "/v2_payment_single"]
    paid.call(only_at_the_other, answer=only_at_the_other.answer | {"payment_id": f"P-other-{version}"})

    for payment in ("P-unknown", f"P-other-{version}", "p-0", " P-0", "P" * 255):
        answer = report(paid, version, payment=payment)
        assert error_code(answer, version) == (400, 4001 if version == 1 else "INVALID_PAYMENT_ID_FORMAT")


@VERSIONS
def test_a_status_report_rejects_missing_and_unknown_members(paid: Relay, version: int) -> None:
    other = 3 - version
    for change, code in (
        ({ID[version]: ...}, "INVALID_MODEL_TYPE"),
        ({STATUS[version]: ...}, "INVALID_MODEL_TYPE"),
        ({"colour": "red"}, "EXTRA_FIELDS_PROVIDED"),
        ({ID[other]: "P-0"}, "EXTRA_FIELDS_PROVIDED"),
    ):
        answer = report(paid, version, change)
        assert error_code(answer, version) == (400, 4001 if version == 1 else code)
        assert_names(answer, version, next(iter(change)))


# -- daily_performance: the clock says 2 March 2026


def performance(causeway: Causeway, body: Any, **headers: str | None) -> Answer:
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    return causeway.banks[2].call("/daily_performance", body, headers=sent)


DAY: Json = {"date": "2026-03-01", "consentDuration": 45_000, "paymentDuration": 30_000}


@pytest.mark.parametrize("duration", [0, 1, 45_000, "45000", 9_999_999_999], ids=repr)
@pytest.mark.parametrize("name", ["consentDuration", "paymentDuration"])
def test_a_daily_performance_report_can_contain_durations_in_milliseconds(
    relay: Relay, name: str, duration: Any
) -> None:
    answer = performance(relay.causeway, DAY | {name: duration})

    assert (answer.status, answer.text) == (200, '{"status":"success"}')


@pytest.mark.parametrize("left_out", [["consentDuration"], ["paymentDuration"], ["consentDuration", "paymentDuration"]])
def test_a_daily_performance_report_without_durations_is_accepted(relay: Relay, left_out: list[str]) -> None:
    body = {name: value for name, value in DAY.items() if name not in left_out}

    assert performance(relay.causeway, body).status == 200
    assert performance(relay.causeway, DAY | dict.fromkeys(left_out)).status == 200


@pytest.mark.parametrize(
    "duration", [-1, "-1", Number("45000.5"), "ten", "", "1,5", True, [], {}, "1e3", "\u0661"], ids=repr
)
@pytest.mark.parametrize("name", ["consentDuration", "paymentDuration"])
def test_a_daily_performance_report_with_an_invalid_duration_returns_400(
    relay: Relay, name: str, duration: Any
) -> None:
    answer = performance(relay.causeway, DAY | {name: duration})

    assert error_code(answer, 2) == (400, "INVALID_MODEL_TYPE")
    assert_names(answer, 2, name)


@pytest.mark.parametrize("day", ["2026-03-01", "2026-03-02", "2026-02-28", "2026-01-26"])
def test_a_daily_performance_report_for_a_date_up_to_35_days_ago_is_accepted(relay: Relay, day: str) -> None:
    assert performance(relay.causeway, DAY | {"date": day}).status == 200


NO_DATE = ["", "2026-02-29", "2026-3-1", "01.03.2026", "20260301", "2026-03-01T00:00:00", "yesterday"]


@pytest.mark.parametrize("day", [*NO_DATE, "2026-03-03", "2026-03-04", "9999-12-31", "2026-01-25", "0001-01-01"])
def test_a_daily_performance_report_with_an_invalid_future_or_too_old_date_returns_400(relay: Relay, day: str) -> None:
    answer = performance(relay.causeway, DAY | {"date": day})

    assert error_code(answer, 2) == (400, "INVALID_DATE_FORMAT")
    assert "date" in answer.body["additionalErrors"][0]["details"]


@pytest.mark.parametrize("day", [20260301, None, [], True], ids=repr)
def test_a_daily_performance_report_whose_date_is_not_a_string_returns_400(relay: Relay, day: Any) -> None:
    answer = performance(relay.causeway, DAY | {"date": day})

    assert error_code(answer, 2)[0] == 400
    assert error_code(answer, 2)[1] in ("INVALID_MODEL_TYPE", "INVALID_DATE_FORMAT")


def test_a_daily_performance_report_requires_a_date_and_member_names_in_camel_case(relay: Relay) -> None:
    for body, code, name in (
        ({}, "INVALID_MODEL_TYPE", "date"),
        ({"consentDuration": 1}, "INVALID_MODEL_TYPE", "date"),
        (DAY | {"consent_duration": 1}, "EXTRA_FIELDS_PROVIDED", "consent_duration"),
        (DAY | {"colour": "red"}, "EXTRA_FIELDS_PROVIDED", "colour"),
    ):
        answer = performance(relay.causeway, body)
        assert error_code(answer, 2) == (400, code)
        assert_names(answer, 2, name)


def test_the_last_performance_report_for_a_day_replaces_earlier_reports_for_the_day(relay: Relay) -> None:
    def kept() -> list[tuple[str, int | None, int | None]]:
        reports = relay.causeway.hub.statistics.reports.of_bank("BETADEF1", date(2026, 2, 10), date(2026, 2, 12))
        return [(str(each.day), each.consent_duration, each.payment_duration) for each in reports]

    for body in (
        {"date": "2026-02-11", "consentDuration": "0041", "paymentDuration": 7},
        {"date": "2026-02-12", "consentDuration": 1, "paymentDuration": 2},
        {"date": "2026-02-11", "paymentDuration": 0},
    ):
        assert performance(relay.causeway, body).status == 200

    assert kept() == [("2026-02-11", None, 0), ("2026-02-12", 1, 2)]


def test_a_rejected_daily_report_does_not_replace_the_earlier_report(relay: Relay) -> None:
    def kept() -> Any:
        return relay.causeway.hub.statistics.reports.of_bank("BETADEF1", date(2026, 2, 20), date(2026, 2, 20))

    assert performance(relay.causeway, {"date": "2026-02-20", "consentDuration": 3}).status == 200
    before = kept()
    refused = performance(relay.causeway, {"date": "2026-02-20", "consentDuration": -3})

    assert refused.status == 400
    assert kept() == before != []


def test_a_retried_report_returns_200_and_a_changed_report_with_its_request_id_returns_400(relay: Relay) -> None:
    request_id = str(uuid.uuid4())

    first = performance(relay.causeway, DAY, x_request_id=request_id)
    again = performance(relay.causeway, DAY, x_request_id=request_id)
    other = performance(relay.causeway, DAY | {"consentDuration": 1}, x_request_id=request_id)

    assert first.text == again.text == '{"status":"success"}'
    assert error_code(other, 2) == (400, "HEADERS_ERROR")


def test_a_daily_performance_report_requires_a_signature_and_a_version_2_bank(relay: Relay) -> None:
    unsigned = performance(relay.causeway, DAY, x_signature=None)
    of_another = performance(relay.causeway, DAY, x_api_key=relay.causeway.banks[1].api_key)

    assert error_code(unsigned, 2) == (400, "HEADERS_ERROR")
    assert error_code(of_another, 2) == (403, "SERVICE_BLOCKED")


def test_a_daily_performance_call_in_version_1_returns_an_unknown_action_error(relay: Relay) -> None:
    assert error_code(relay.causeway.banks[1].call("/daily_performance", DAY), 1) == (401, 4202)
