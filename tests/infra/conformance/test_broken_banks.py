"""Each broken bank fails the check that detects the bank's fault, and no other mandatory check."""

from fnmatch import fnmatchcase

import pytest

from infra.conformance.checks import checks_of
from tests.infra.conformance.broken_banks import BROKEN, Broken
from tests.infra.conformance.kit_runs import dead_ends, failed_checks, result_of, run_mandatory
from tests.infra.conformance.odd_entries import ODD


@pytest.mark.parametrize(
    "broken", BROKEN + ODD, ids=lambda broken: f"{broken.bank.__name__}-{broken.version}-{broken.caught_by}"
)
def test_each_broken_bank_fails_only_the_check_that_detects_the_fault(broken: Broken) -> None:
    run = run_mandatory(broken.bank(broken.version), broken.caught_by)

    caught = result_of(run, broken.caught_by)
    assert (caught.outcome, caught.check.level) == ("failed", broken.level)
    others = [each for each in failed_checks(run) if not any(fnmatchcase(each, pattern) for pattern in broken.may_fail)]
    assert others == []
    assert dead_ends(run, {each.check_id for each in checks_of(broken.version)}) == []
