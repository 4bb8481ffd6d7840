"""Tests of skipped checks: the reason names the failed check, and the kit does not wait for impossible calls."""

from collections.abc import Callable
from dataclasses import replace
from io import StringIO
from typing import Any

import pytest

from chalicelib.openbanking.protocol.version import Version
from chalicelib.openbanking.protocol.versions import VERSIONS
from infra.conformance.checks import checks_of
from infra.conformance.selection import select
from tests.infra.conformance.broken_banks import ReportsNothing, SignsOtherBytes, SignsWithAnotherKey
from tests.infra.conformance.kit_runs import LIMITS, dead_ends, result_of, run_checks, run_kit, session_with
from tests.infra.conformance.small_bank import OTHER_KEY, Members, SmallBank

BY_VERSION = pytest.mark.parametrize("version", VERSIONS.values(), ids=str)


class SignsReportsWithAnotherKey(SmallBank):
    """A bank that signs status reports with an unregistered key. After a rejection, the bank does not redirect the
    browser.
    """

    def call(self, path: str, **members: Any) -> Members:
        before = self.signing_key
        if path == "/payments/status":
            self.signing_key = lambda: OTHER_KEY  # type: ignore[method-assign]
        try:
            answer = super().call(path, **members)
        finally:
            self.signing_key = before  # type: ignore[method-assign]
        if "error" in str(answer).lower():
            raise ConnectionError("the hub refused the report")
        return answer


def ids(version: Version) -> set[str]:
    return {check.check_id for check in checks_of(version)}


@BY_VERSION
@pytest.mark.parametrize("bank", [SignsWithAnotherKey, SignsOtherBytes, SignsReportsWithAnotherKey, ReportsNothing])
def test_every_blocked_conformance_check_names_an_existing_check_that_did_not_pass(
    version: Version, bank: Callable[[Version], SmallBank]
) -> None:
    run = run_kit(bank(version))

    blocked = [each for each in run.results if each.skip == "blocked"]
    assert blocked
    assert dead_ends(run, ids(version)) == []
    assert [each.check.check_id for each in blocked if "see " not in each.problem] == []


def test_a_rejected_bank_call_blocks_the_acceptance_check_and_names_the_failed_check() -> None:
    run = run_kit(SignsWithAnotherKey(VERSIONS[2]), "bank-initiate,consent.saved")

    accepted = result_of(run, "bank-initiate.accepted")
    assert (accepted.outcome, accepted.skip) == ("skipped", "blocked")
    for each in (accepted, result_of(run, "consent.saved")):
        assert each.problem.endswith("see bank-initiate.signature")
    assert not run.is_good


def test_checks_blocked_by_a_rejected_status_report_name_the_signature_check() -> None:
    run = run_kit(SignsReportsWithAnotherKey(VERSIONS[2]), "payment-direct,bank-report_status")

    for name in ("refused-returned", "refused-report", "confirmed-report"):
        assert result_of(run, f"payment-direct.{name}").problem.endswith("see bank-report_status.signature")
    assert result_of(run, "bank-report_status.signature").outcome == "failed"


def waits(session: Any) -> list[float]:
    """Record each waiting time of the conformance kit that ends without the expected call."""
    agreed: list[float] = []
    before = session.hub.wait_for

    def wait_for(condition: Callable[[], bool], seconds: float) -> bool:
        came: bool = before(condition, seconds)
        if not came:
            agreed.append(seconds)
        return came

    session.hub.wait_for = wait_for
    return agreed


@BY_VERSION
def test_the_conformance_kit_waits_only_once_for_a_bank_without_status_reports(version: Version) -> None:
    chosen = select(checks_of(version), "payment-*.*-report,payment-*.final-status,bank-report_status")
    session = session_with(ReportsNothing(version))
    agreed = waits(session)
    run = run_checks(session, chosen)

    assert sum(agreed) == pytest.approx(LIMITS.report)
    results = [each for each in run.results if each.check.check_id.startswith("payment-")]
    assert [each.check.check_id for each in results if each.outcome == "failed"] == ["payment-single.confirmed-report"]
    assert {each.skip for each in results[1:]} == {"blocked"}


def test_the_final_status_check_is_skipped_without_a_status_report() -> None:
    (result,) = run_kit(ReportsNothing(VERSIONS[2]), "payment-single.final-status").results

    assert (result.outcome, result.problem) == ("skipped", "no report came: see payment-single.confirmed-report")


def test_the_conformance_kit_prints_the_expected_status_report() -> None:
    said = StringIO()
    session = session_with(ReportsNothing(VERSIONS[2]), said, replace(LIMITS, report=1.05))
    run_checks(session, select(checks_of(VERSIONS[2]), "payment-direct.confirmed-report"))

    assert said.getvalue() == "  waiting up to 1.05 s for the report of payment-direct.confirmed-report\n"


def signature_problem(bank: SmallBank) -> str:
    return result_of(run_kit(bank, "bank-initiate.signature"), "bank-initiate.signature").problem


def test_the_signature_problem_text_shows_whether_the_signed_bytes_or_the_key_are_different() -> None:
    longer = signature_problem(SignsOtherBytes(VERSIONS[2]))
    other = signature_problem(SignsWithAnotherKey(VERSIONS[2]))

    assert "the signature covers a line break at the end that the body does not have" in longer
    assert "it is by another private key" in other
