"""The overall result of a conformance run."""

from dataclasses import replace

from infra.conformance.check import Result
from infra.conformance.terminal import summary
from infra.conformance.verdict import result_of, verdict
from tests.infra.conformance.kit_runs import EXAMPLE_RUN, example_result

PASSED = example_result("a.one", "passed")
BLOCKED = replace(example_result("b.one", "skipped", problem="see a.one"), skip="blocked")
UNPLAYED = replace(example_result("b.two", "skipped", problem="not supported"), skip="unplayed")
INAPPLICABLE = replace(example_result("b.three", "skipped", problem="no such scope"), skip="inapplicable")
ADVICE = replace(example_result("b.four", "skipped", "advice", "see a.one"), skip="blocked")


def said(*results: Result, is_full: bool = True, narrowed: str = "") -> str:
    return summary(replace(EXAMPLE_RUN, results=results, is_full=is_full, narrowed=narrowed))


def test_a_full_conformance_run_without_failures_reports_conformance() -> None:
    assert said(PASSED, INAPPLICABLE).startswith("SMALLGB2 conforms to version 2: 1 passed, ")
    assert said(PASSED, ADVICE).startswith("SMALLGB2 conforms to version 2: ")


def test_a_blocked_mandatory_check_reports_conformance_as_unknown() -> None:
    run = replace(EXAMPLE_RUN, results=(PASSED, BLOCKED))

    assert not run.is_good
    assert not run.has_failed
    assert said(PASSED, BLOCKED) == (
        "It is not known whether SMALLGB2 conforms to version 2: 1 passed, 0 failed, 0 advised, "
        "1 skipped (1 of them because a step before failed) in 1.5 s\n"
        "  1 mandatory check could not be made because a step before failed: see a.one"
    )


def test_a_step_skipped_by_the_psu_reports_conformance_as_unknown_without_a_failure() -> None:
    assert replace(EXAMPLE_RUN, results=(PASSED, UNPLAYED)).is_good
    assert verdict(replace(EXAMPLE_RUN, results=(PASSED, UNPLAYED))).startswith("It is not known")
    assert "because the PSU's part was not played: not supported" in said(PASSED, UNPLAYED)


def test_a_run_of_selected_checks_makes_no_statement_about_conformance() -> None:
    passed = said(PASSED, INAPPLICABLE, is_full=False)
    blocked = said(PASSED, BLOCKED, is_full=False)

    assert passed.startswith("SMALLGB2, version 2, 2 chosen checks: no mandatory check failed; 1 passed")
    assert blocked.startswith("SMALLGB2, version 2, 2 chosen checks: 1 mandatory check could not be made because")
    assert "conform" not in passed + blocked


def test_the_result_of_a_run_is_one_word_for_programs() -> None:
    failed = example_result("a.two", "failed", problem="wrong")

    def result(*results: Result, is_full: bool = True) -> str:
        return result_of(replace(EXAMPLE_RUN, results=results, is_full=is_full))

    assert result(PASSED, INAPPLICABLE, ADVICE) == "conforms"
    assert result(PASSED, failed, BLOCKED) == result(failed, is_full=False) == "fails"
    assert result(PASSED, BLOCKED) == result(PASSED, UNPLAYED) == "unknown"
    assert result(PASSED, BLOCKED, is_full=False) == "partial"


def test_the_conformance_result_names_the_scopes_selected_in_the_bank_file() -> None:
    assert said(PASSED, narrowed="in the scopes accounts").endswith(
        "\n  as far as the file goes: in the scopes accounts"
    )
