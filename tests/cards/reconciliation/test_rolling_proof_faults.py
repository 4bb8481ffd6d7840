"""Tests of storage faults during the ledger check: no mismatch is reported wrongly, and the result of the round is
unchanged.
"""

import contextlib
from collections.abc import Callable

import pytest

from chalicelib.cards.reconciliation.progress_record import Progress
from chalicelib.foundation.dynamodb.store import StoreError
from tests.cards.fault_runs import PROVING, Targets
from tests.cards.reconciliation.conftest import Ledger
from tests.causeway import Causeway
from tests.kit.source_code import within
from tests.openbanking.call_sites import CARDS, STORE, call_sites
from tests.openbanking.faults import Fault, Snapshot

pytestmark = pytest.mark.faults

TARGETS = Targets()
_TABLES = ("cards", "ledger", "external-payments")


@pytest.fixture(autouse=True)
def one_after_the_other(causeway: Causeway, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(causeway.hub.store, "pause", lambda seconds: None)
    monkeypatch.setattr("chalicelib.foundation.parallel.WIDTH", 1)


def everything_holds(ledger: Ledger) -> None:
    """Leave the ledger consistent before the first check. This preparation changes nothing."""


def one_is_broken(ledger: Ledger) -> None:
    ledger.account(ledger.first, settled=1)


def one_was_broken(ledger: Ledger) -> None:
    """Make an account inconsistent, run the check and repair the account. The next round checks its shared movements
    again.
    """
    settled = ledger.account(ledger.first, settled=1)["settled"]
    ledger.go_on()
    ledger.account(ledger.first, settled=settled)


def one_lacks_a_row(ledger: Ledger) -> None:
    ledger.forget_payments_to(ledger.second)


PREPARATIONS: tuple[Callable[[Ledger], None], ...] = (everything_holds, one_is_broken, one_was_broken, one_lacks_a_row)


class Run:
    def __init__(self, ledger: Ledger, prepare: Callable[[Ledger], None]) -> None:
        self._ledger, self._prepare = ledger, prepare
        prepare(ledger)
        self._beginning = Snapshot(ledger.issuer.causeway, _TABLES)
        self.untouched = Fault(ledger.issuer.causeway)
        with self.untouched:
            self._after = _end(ledger.go_on())

    def with_fault(self, fault: Fault) -> None:
        self._beginning.restore()
        with contextlib.suppress(StoreError) if fault.lasting else contextlib.nullcontext(), fault:
            self._ledger.go_on()
        end = self._ledger.go_on()
        if self._prepare is one_lacks_a_row:  # what a run had still to compare is forgotten with it
            end = self._ledger.next_round()
        assert _end(end) == self._after


def _end(progress: Progress) -> tuple[bool, int, tuple[str, ...]]:
    return progress.is_over, progress.proved, progress.broken


@pytest.mark.parametrize("prepare", PREPARATIONS)
def test_a_storage_fault_does_not_change_the_result_of_a_ledger_check_round(
    ledger: Ledger, prepare: Callable[[Ledger], None]
) -> None:
    TARGETS.run(prepare.__name__, Run(ledger, prepare), ledger.issuer.causeway)


def test_every_storage_call_of_the_ledger_check_is_tested_with_every_fault() -> None:
    if len(TARGETS.runs) < len(PREPARATIONS):
        pytest.skip("not every preparation ran here")

    missed = TARGETS.missed(site for site in call_sites(STORE, (CARDS,)) if within(site.module, PROVING))
    assert missed == [], "\n".join(missed)
