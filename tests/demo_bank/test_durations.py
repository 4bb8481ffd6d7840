"""The version 2 bank sends a daily report of its customers' confirmation times."""

from typing import Any

import pytest
import requests

from chalicelib.demo_bank import clearing, durations
from chalicelib.demo_bank.runtime import TABLE
from tests.demo_bank.single_bank import SingleBank

DAY = 86_400
PATH = "/daily_performance"


def told(bank: SingleBank) -> list[Any]:
    return [body for _, body, _ in bank.hub.received(PATH)]


def consent(bank: SingleBank, seconds: float) -> None:
    browser = bank.browser().at_confirmation("lena")
    bank.clock.advance(seconds)
    assert browser.confirm().status == 303


def payment(bank: SingleBank, seconds: float) -> None:
    answer = bank.initiate(bank.token())
    bank.clock.advance(seconds)
    assert bank.at_confirmation(answer).pay().status == 303


def test_average_confirmation_times_of_a_day_are_reported_on_the_next_day(two: SingleBank) -> None:
    for seconds in (30, 61, 62):
        consent(two, seconds)
    payment(two, 20)
    clearing.run_due_work(two)
    before = told(two)
    two.clock.advance(DAY)

    clearing.run_due_work(two)

    assert before == [{"date": "2026-03-01"}]
    assert told(two)[1:] == [{"date": "2026-03-02", "consentDuration": 51_000, "paymentDuration": 20_000}]
    path, _, headers = two.hub.received(PATH)[-1]
    assert path == "/bank/v2/daily_performance"
    assert headers["X-Signature"]


def test_the_confirmation_times_of_a_day_are_reported_only_once(two: SingleBank) -> None:
    for _ in range(3):
        clearing.run_due_work(two)
        two.clock.advance(3600)

    assert [body["date"] for body in told(two)] == ["2026-03-01"]


def test_a_daily_report_omits_averages_without_confirmations(two: SingleBank) -> None:
    consent(two, 0)
    two.clock.advance(DAY)

    clearing.run_due_work(two)

    assert told(two) == [{"date": "2026-03-02", "consentDuration": 0}]


def test_a_confirmation_counts_for_the_day_of_its_approval(two: SingleBank) -> None:
    browser = two.browser()
    two.clock.advance(14.9 * 3600)  # six minutes to midnight
    browser.at_confirmation("lena")
    two.clock.advance(600)
    assert browser.confirm().status == 303
    two.clock.advance(DAY)

    clearing.run_due_work(two)

    assert told(two) == [{"date": "2026-03-03", "consentDuration": 600_000}]


@pytest.mark.parametrize("failure", [requests.ConnectionError("away"), (401, {"code": "ERROR", "title": "no"})])
def test_a_failed_daily_report_is_retried_after_a_delay(two: SingleBank, failure: Any) -> None:
    two.hub.errors[PATH] = failure
    for _ in range(3):
        clearing.run_due_work(two)
        two.clock.advance(60)
    assert len(told(two)) == 1
    two.hub.errors.clear()
    two.clock.advance(durations.RETRY_SECONDS)

    clearing.run_due_work(two)
    clearing.run_due_work(two)

    assert [body["date"] for body in told(two)] == ["2026-03-01"] * 2


def test_a_rejected_consent_does_not_count_as_a_confirmation(two: SingleBank) -> None:
    two.hub.errors["/consent"] = (400, {"code": "FORMAT_ERROR", "title": "no"})
    browser = two.browser().at_confirmation("lena")
    browser.confirm()
    two.clock.advance(DAY)

    clearing.run_due_work(two)

    assert told(two) == [{"date": "2026-03-02"}]


def test_a_version_1_bank_reports_no_confirmation_times(one: SingleBank) -> None:
    browser = one.browser().at_confirmation("ada")
    assert browser.confirm().status == 303
    payment(one, 1)
    one.clock.advance(DAY)

    clearing.run_due_work(one)

    assert [path for path, _, _ in one.hub.received(PATH)] == ["/bank/v2/daily_performance"]  # of the other bank
    assert one.store.rows(TABLE, ("bank", "one"), sort_prefix=("id", "took#")) == []
