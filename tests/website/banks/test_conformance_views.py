"""The public page with a bank's conformance report."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from chalicelib.openbanking.records.conformance_reports import SHOWN_CHARACTERS
from chalicelib.website.pagination import PAGE
from tests.causeway import Causeway
from tests.openbanking.conformance_reports import check, failed, report, written
from tests.website.statistics_data import BIC
from tests.website.web_user import PAGE_BYTES, WebUser

PATH = f"/banks/{BIC}/conformance"
ADVICE = failed("accounts.order", level="advice", problem="the oldest is first", received="the oldest is first\n\n200")
SKIPPED = check("consent.initiated", "skipped", problem="no such scope", received="no such scope")
Publish = Callable[[dict[str, Any]], object]


@pytest.fixture
def publish(causeway: Causeway) -> Iterator[Publish]:
    banks = causeway.hub.openbanking.banks
    yield lambda described: banks.publish_report(BIC, written(described))
    if banks.get(BIC).conformance:
        banks.unpublish_report(BIC)


def ids(visitor: WebUser) -> list[str]:
    return re.findall(r'<code class="small">([^<]+)</code>', visitor.last.text)


def test_a_bank_without_a_published_report_has_no_page(causeway: Causeway, visitor: WebUser, publish: Publish) -> None:
    assert visitor.get(PATH).status == 404
    publish(report())
    assert visitor.get(PATH.lower()).status == 200
    causeway.hub.openbanking.banks.unpublish_report(BIC)
    assert visitor.get(PATH).status == 404


def test_the_page_shows_verdict_counts_and_failures_first(visitor: WebUser, publish: Publish) -> None:
    verdict = "ALPHGB21 does not conform to version 1: 1 mandatory check failed"
    publish(report(check(), SKIPPED, ADVICE, failed(), verdict=verdict, narrowed="in the scopes accounts"))
    visitor.get(PATH)

    assert f"{verdict}. As far as the bank's file goes: in the scopes accounts." in visitor.text
    assert "checked on 27 Feb 2026" in visitor.text
    assert visitor.figures() == {"Failed": "1", "Advice": "1", "Passed": "1", "Skipped": "1"}
    assert ids(visitor) == ["accounts.signature-wrong", "accounts.order", "accounts.answer-form", "consent.initiated"]


def test_a_failed_check_shows_problem_rule_and_messages(visitor: WebUser, publish: Publish) -> None:
    publish(report(failed(), check(), SKIPPED))
    visitor.get(PATH)

    assert "The bank accepted a wrong signature." in visitor.text
    assert "Bank integration, Signatures (mandatory)" in visitor.text
    assert "Sent by the kit POST /accounts X-Api-Key: ***" in visitor.text
    assert 'Received from the bank 200 after 12 ms {"accounts": []}' in visitor.text
    assert "No such scope." in visitor.text
    assert visitor.last.text.count("<pre") == 2


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("outcome=failed", ["accounts.signature-wrong"]),
        ("outcome=advice", ["accounts.order"]),
        ("group=consent", ["consent.initiated"]),
        ("group=accounts&outcome=passed", ["accounts.answer-form"]),
        ("group=consent&outcome=passed", []),
        ("outcome=nothing", []),
    ],
)
def test_the_query_selects_checks(visitor: WebUser, publish: Publish, query: str, expected: list[str]) -> None:
    publish(report(check(), SKIPPED, ADVICE, failed()))
    visitor.get(f"{PATH}?{query}")

    assert ids(visitor) == expected
    assert ("No check matches" in visitor.text) == (not expected)


def test_a_report_of_any_size_is_shown_in_pages_within_the_size_budget(visitor: WebUser, publish: Publish) -> None:
    message = '{"name": "<value>"}' * 100
    assert len(message) > SHOWN_CHARACTERS
    made = [failed(f"accounts.{number}", sent=message, received=message) for number in range(300)]
    publish(report(*made))

    assert len(visitor.get(f"{PATH}?outcome=failed").text.encode()) <= PAGE_BYTES
    assert len(ids(visitor)) == PAGE
    assert f"300 checks, page 1 of {300 // PAGE}" in visitor.text
    assert f"{PATH}?outcome=failed&amp;group=&amp;page=2" in visitor.last.text
    assert ids_of_page(visitor, 2) == [f"accounts.{number}" for number in range(PAGE, 2 * PAGE)]


def ids_of_page(visitor: WebUser, number: int) -> list[str]:
    visitor.get(f"{PATH}?page={number}")
    return ids(visitor)


def test_every_text_of_a_report_is_escaped(visitor: WebUser, publish: Publish) -> None:
    mark = "<script>alert(1)</script>\"'"
    texts = dict.fromkeys(("title", "paragraph", "problem", "sent", "received", "expected"), mark)
    publish(report(failed("accounts.<b>", **texts), verdict=mark, narrowed=mark))
    visitor.get(f"{PATH}?group={mark}")
    visitor.get(PATH)

    assert "<script>alert" not in visitor.last.text
    assert "<b>" not in visitor.last.text
    assert not re.search(r"<style|\sstyle=|\son[a-z]+=|<script(?! src=)", visitor.last.text)
