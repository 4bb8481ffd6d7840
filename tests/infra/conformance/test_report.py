"""Conformance reports are written as JSON, JUnit XML and HTML."""

import json
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from infra.conformance import report, report_html
from tests.infra.conformance.kit_runs import EXAMPLE_RUN, example_result


def test_the_json_report_has_the_documented_members() -> None:
    found = json.loads(report.as_json(EXAMPLE_RUN))

    assert {name: found[name] for name in ("bank", "version", "started_at")} == {
        "bank": "SMALLGB2",
        "version": 2,
        "started_at": "2026-11-25T10:00:00+00:00",
    }
    names = ["id", "title", "paragraph", "level", "outcome", "problem", "sent", "received", "expected"]
    assert list(found) == ["bank", "version", "started_at", "result", "verdict", "narrowed", "checks"]
    assert (found["result"], found["narrowed"]) == ("fails", "")
    assert found["verdict"] == "SMALLGB2 does not conform to version 2: 1 mandatory check failed"
    assert all(list(check) == names for check in found["checks"])
    assert [check["outcome"] for check in found["checks"]] == ["passed", "failed", "failed", "skipped"]
    assert found["checks"][1]["problem"] == "it is <wrong>"
    assert found["checks"][1]["received"].startswith("it is <wrong>\n\n{")
    assert found["checks"][3]["received"].startswith("not offered")


def test_the_junit_report_counts_only_failures_of_mandatory_checks_as_failures() -> None:
    root = ET.fromstring(report.as_junit(EXAMPLE_RUN))  # noqa: S314 - our own
    suite = root[0]

    assert (root.tag, suite.tag) == ("testsuites", "testsuite")
    counts: dict[str, Any] = {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")}
    assert counts == {"tests": "4", "failures": "1", "errors": "0", "skipped": "2"}
    assert [(case.get("classname"), case.get("name")) for case in suite] == [
        ("a", "a.one"),
        ("a", "a.two"),
        ("b", "b.one"),
        ("b", "b.two"),
    ]
    assert [[part.tag for part in case] for case in suite] == [[], ["failure"], ["skipped"], ["skipped"]]
    assert suite[1][0].get("message") == "it is <wrong>"
    assert "Something & more" in (suite[1][0].text or "")
    assert suite[2][0].get("message") == "advice: it could be better"


class _Texts(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.headings: list[str] = []
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1] == "h2" and data.strip():
            self.headings.append(data)


def test_the_html_report_lists_failures_first_and_loads_no_resources() -> None:
    page = report_html.render(EXAMPLE_RUN)
    texts = _Texts()
    texts.feed(page)

    assert texts.headings == ["Failed", "Advice", "a", "b"]
    assert texts.tags.count("details") == len(EXAMPLE_RUN.results)
    assert not {"script", "link", "img", "iframe"} & set(texts.tags)
    assert "A <title>" not in page
    assert "it is &lt;wrong&gt;" in page
    assert "1 mandatory check failed" in page
    assert "prefers-color-scheme: dark" in page


def test_conformance_reports_show_the_call_of_the_bank_before_the_response_of_the_kit() -> None:
    failed = replace(
        example_result("bank-initiate.key", "failed", problem="wrong"), sent="400", received="POST /x", by_bank=True
    )
    run = replace(EXAMPLE_RUN, results=(failed,))
    page = report_html.render(run)

    first, second = "<h4>The bank&#x27;s call</h4><pre>POST /x</pre>", "<h4>The kit&#x27;s answer</h4><pre>400</pre>"
    assert 0 < page.index(first) < page.index(second)
    assert "the bank's call: POST /x\n\nthe kit's answer: 400" in report.as_junit(run)
    (check,) = json.loads(report.as_json(run))["checks"]
    assert (check["sent"], check["received"]) == ("400", "wrong\n\nPOST /x")


def test_the_html_report_expands_only_the_first_of_similar_failures() -> None:
    alike = tuple(example_result(f"{group}.key-wrong", "failed", problem="accepted") for group in ("a", "b", "c"))

    assert report_html.render(replace(EXAMPLE_RUN, results=alike)).count('<details class="failed" open>') == 1
    assert report_html.render(replace(EXAMPLE_RUN, results=alike)).count('<details class="failed">') == 2


def test_a_blocked_conformance_check_is_reported_as_an_error_in_the_junit_report() -> None:
    blocked = replace(example_result("a.two", "skipped", problem="see a.one"), skip="blocked")
    run = replace(EXAMPLE_RUN, results=(EXAMPLE_RUN.results[0], blocked, EXAMPLE_RUN.results[3]))
    suite = ET.fromstring(report.as_junit(run))[0]  # noqa: S314 - our own

    assert {name: suite.get(name) for name in ("failures", "errors", "skipped")} == {
        "failures": "0",
        "errors": "1",
        "skipped": "1",
    }
    assert [part.tag for part in suite[1]] == ["error"]
    assert "could not be made" in report_html.render(run)


def test_a_run_in_which_only_advisory_checks_fail_is_successful() -> None:
    advised = replace(EXAMPLE_RUN, results=(EXAMPLE_RUN.results[0], EXAMPLE_RUN.results[2]))

    assert EXAMPLE_RUN.has_failed
    assert not advised.has_failed
    assert "SMALLGB2 conforms to version 2: no mandatory check failed" in report_html.render(advised)


def test_reports_replace_the_previous_reports(tmp_path: Path) -> None:
    report.write(EXAMPLE_RUN, tmp_path / "reports")
    files = report.write(replace(EXAMPLE_RUN, bic="OTHERGB2"), tmp_path / "reports")

    assert sorted(file.name for file in (tmp_path / "reports").iterdir()) == [
        "report.html",
        "report.json",
        "report.xml",
    ]
    assert all("OTHERGB2" in file.read_text("utf-8") for file in files)


def test_an_unwritable_report_folder_raises_oserror(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("", "ascii")

    with pytest.raises(OSError, match="taken"):
        report.write(EXAMPLE_RUN, tmp_path / "taken")
