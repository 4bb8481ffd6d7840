"""Published conformance reports: validation, what is published, and storage next to the bank."""

import json
import secrets
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from chalicelib.openbanking.records import conformance_reports
from chalicelib.openbanking.records.bank_record import InvalidBank
from chalicelib.openbanking.records.banks import Banks, UnknownBank
from chalicelib.openbanking.records.conformance_reports import SHOWN_CHARACTERS, report_key
from infra.conformance.report import as_json
from tests.causeway import Causeway
from tests.infra.conformance.kit_runs import EXAMPLE_RUN
from tests.openbanking.conformance_reports import STARTED_AT, check, failed, report, written

BIC = "ALPHGB21"


@pytest.fixture
def banks(causeway: Causeway) -> Iterator[Banks]:
    banks = causeway.hub.openbanking.banks
    yield banks
    if banks.get(BIC).conformance:
        banks.unpublish_report(BIC)


def test_a_report_is_not_shown_while_the_bank_has_another_version(banks: Banks) -> None:
    bank = banks.publish_report(BIC, written(report()))
    changed = replace(bank, api_version=2)

    assert changed.current_report is None
    assert banks.find_report(changed) is None
    assert banks.find_report(bank) is not None


def test_a_published_report_replaces_the_previous_one_and_is_summarized_in_the_record(banks: Banks) -> None:
    first = banks.publish_report("alphgb21", written(report()))
    second = banks.publish_report(BIC, written(report(failed(), check())))

    assert first.conformance == {"result": "conforms", "version": 1, "started_at": STARTED_AT}
    assert second.conformance == {"result": "fails", "version": 1, "started_at": STARTED_AT}
    found = banks.find_report(second)
    assert found is not None
    assert [each.id for each in found.checks] == ["accounts.signature-wrong", "accounts.answer-form"]
    assert banks.find(BIC) == second


def test_a_report_of_the_kit_can_be_published(banks: Banks) -> None:
    content = json.loads(as_json(EXAMPLE_RUN)) | {"bank": BIC, "version": 1}

    bank = banks.publish_report(BIC, written(content))

    found = banks.find_report(bank)
    assert found is not None
    assert found.verdict == "SMALLGB2 does not conform to version 2: 1 mandatory check failed"
    assert [(each.id, each.problem, each.sent) for each in found.checks] == [
        ("a.one", "", ""),
        ("a.two", "it is <wrong>", "POST /accounts"),
        ("b.one", "it could be better", "POST /accounts"),
        ("b.two", "not offered", ""),
    ]


def test_only_failed_checks_keep_the_beginning_of_their_messages(banks: Banks) -> None:
    skipped = check("accounts.page", "skipped", problem="no such scope", received="no such scope")
    long, problem = failed(sent="a" * (SHOWN_CHARACTERS + 1)), "b" * (SHOWN_CHARACTERS + 1)
    wordy = failed("accounts.other", problem=problem, received=f"{problem}\n\n200")
    found = banks.find_report(banks.publish_report(BIC, written(report(check(), skipped, long, wordy))))

    assert found is not None
    passed, omitted, shortened, cut = found.checks
    assert (passed.sent, passed.received, omitted.received, omitted.problem) == ("", "", "", "no such scope")
    assert shortened.sent == f"{'a' * SHOWN_CHARACTERS}\u2026"
    assert (cut.problem, cut.received) == (f"{problem[:-1]}\u2026", "200")
    assert shortened.received == '200 after 12 ms\n\n{"accounts": []}'


def test_unpublishing_removes_the_report(causeway: Causeway, banks: Banks) -> None:
    banks.publish_report(BIC, written(report()))

    bank = banks.unpublish_report(BIC)

    assert (bank.conformance, banks.find_report(bank)) == (None, None)
    assert causeway.hub.store.get(*report_key(BIC)) is None
    with pytest.raises(InvalidBank, match=f"no report about {BIC} is published"):
        banks.unpublish_report(BIC)


def test_a_report_is_not_listed_as_a_bank_and_survives_changes_of_the_bank(banks: Banks) -> None:
    published = banks.publish_report(BIC, written(report()))

    for listed in (banks.all(), banks.directory(), banks.list_registered()):
        assert [bank.bic for bank in listed] == [BIC, "BETADEF1"]
    assert banks.find(f"report/{BIC}") is None
    assert banks.change(BIC, consent_days=90).conformance == published.conformance
    banks.change(BIC, consent_days=180)


@pytest.mark.parametrize("bic", ["NONEGB21", "x"])
def test_a_report_about_an_unknown_bank_is_refused(banks: Banks, bic: str) -> None:
    with pytest.raises(UnknownBank):
        banks.publish_report(bic, written(report()))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"<html>", "the report is not JSON: "),
        (b"\xff", "the report is not JSON: it is not UTF-8"),
        (b"[]", "must be a JSON object"),
        (written({"bank": BIC}), "not a report.json of this version's conformance kit: version is required"),
        (written(report(bank="BETADEF1")), f"the report is about BETADEF1, not about {BIC}"),
        (written(report(version=2)), f"the report is about version 2; {BIC} has version 1"),
        (written(report(started_at="today")), "started_at"),
        (written(report(started_at="2026-02-30T10:00:00+00:00")), "started_at must be a time"),
        (written(report(result="good")), "result"),
        (written(report(failed(), result="conforms")), "the report's result contradicts its checks"),
        (written(report(result="fails")), "the report's result contradicts its checks"),
        (written(report(check(outcome="good"))), "checks.0.outcome"),
        (written(report(check(sent=1))), "checks.0.sent must be a string"),
        (written(report(check(more="a"))), "checks.0.more is not recognised"),
        (written(report(check(id="a\nb"))), "checks.0.id must be printable text"),
        (written(report() | {"checks": []}), "checks"),
    ],
)
def test_an_invalid_report_is_refused_with_the_reason(banks: Banks, content: bytes, reason: str) -> None:
    with pytest.raises(InvalidBank) as refused:
        banks.publish_report(BIC, content)

    assert reason in str(refused.value)
    assert banks.get(BIC).conformance is None


API_KEY = f"{BIC}.{'4RBrrvRcbFAfupt3j9NodhXe4oM1EUrGLBHekykfUCI'}"


@pytest.mark.parametrize(
    "secret",
    [
        "-----BEGIN PRIVATE KEY-----",
        "POST /accounts\nX-Api-Key: key",
        "x-auth-token:token",
        "Authorization: Bearer ***",
        "Set-Cookie: session=1",
        f'"api_key": "{API_KEY}"',
    ],
)
@pytest.mark.parametrize("member", ["sent", "received", "problem"])
def test_a_report_with_an_unmasked_secret_is_refused(banks: Banks, secret: str, member: str) -> None:
    with pytest.raises(InvalidBank, match="unmasked secret: see accounts") as refused:
        banks.publish_report(BIC, written(report(failed(**{member: secret}))))

    assert secret not in str(refused.value)


@pytest.mark.parametrize("member", ["sent", "received", "problem"])
def test_a_secret_that_the_shortening_would_cut_is_refused(banks: Banks, member: str) -> None:
    text = f"{'a' * (SHOWN_CHARACTERS - len(API_KEY))} {API_KEY}"

    with pytest.raises(InvalidBank, match="unmasked secret: see accounts"):
        banks.publish_report(BIC, written(report(failed(**{member: text}))))


def test_messages_that_are_not_published_may_have_secrets(banks: Banks) -> None:
    banks.publish_report(BIC, written(report(check(sent="X-Api-Key: key"))))


def test_a_report_above_the_size_limits_is_refused(banks: Banks, monkeypatch: pytest.MonkeyPatch) -> None:
    def random_check(number: int) -> dict[str, Any]:
        return failed(f"a.{number}", expected=secrets.token_hex(500))

    with pytest.raises(InvalidBank, match="compressed; at most 307200 are allowed"):
        banks.publish_report(BIC, written(report(*map(random_check, range(700)))))
    monkeypatch.setattr(conformance_reports, "FILE_BYTES", 10)
    with pytest.raises(InvalidBank, match="larger than 10 bytes"):
        banks.publish_report(BIC, written(report()))


def test_the_second_of_two_concurrent_publications_is_refused(causeway: Causeway, banks: Banks) -> None:
    other = causeway.another_process().openbanking.banks

    with (
        causeway.meanwhile("transact", lambda: other.publish_report(BIC, written(report()))),
        pytest.raises(InvalidBank, match="concurrently"),
    ):
        banks.publish_report(BIC, written(report(failed())))

    found = banks.find_report(banks.get(BIC))
    assert found is not None
    assert found.result == "conforms"
