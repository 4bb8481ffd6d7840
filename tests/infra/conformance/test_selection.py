"""The selection of conformance checks by id, group or pattern."""

import pytest

from chalicelib.openbanking.protocol.versions import VERSIONS
from infra.conformance.checks import checks_of
from infra.conformance.selection import UnknownChecks, select
from tests.infra.conformance.kit_runs import run_kit
from tests.infra.conformance.small_bank import SmallBank

CHECKS = checks_of(VERSIONS[2])


def ids(only: str) -> list[str]:
    return [check.check_id for check in select(CHECKS, only)]


def test_all_conformance_checks_run_without_a_selection() -> None:
    assert select(CHECKS, "") == CHECKS


@pytest.mark.parametrize("only", [",", " , ", " "])
def test_an_empty_selection_of_checks_is_rejected(only: str) -> None:
    with pytest.raises(UnknownChecks, match=r"the choice of checks names none; the groups are .*accounts"):
        select(CHECKS, only)


def test_the_error_for_an_unknown_check_id_or_group_suggests_the_most_similar_name() -> None:
    with pytest.raises(UnknownChecks) as found:
        select(CHECKS, "accounts.answer-fom,acounts")

    said = "no check of this version is named accounts.answer-fom (accounts.answer-form?), acounts (accounts?); "
    assert str(found.value).startswith(said)


def test_a_check_id_selects_one_conformance_check() -> None:
    assert ids("accounts.answer-form") == ["accounts.answer-form"]


def test_a_check_group_selects_only_the_checks_of_the_group() -> None:
    assert {each.partition(".")[0] for each in ids("account")} == {"account"}


def test_a_pattern_selects_matching_checks_in_the_order_of_the_list() -> None:
    found = ids("payment-single.declined, *.signature-wrong")

    assert found[-1] != "payment-single.declined"
    assert {each.rpartition(".")[2] for each in found} == {"declined", "signature-wrong"}


def test_unknown_check_ids_and_patterns_are_rejected_with_the_known_groups() -> None:
    with pytest.raises(UnknownChecks, match=r"named acounts \(accounts\?\), x\*; the groups are .*accounts"):
        select(CHECKS, "acounts,accounts,x*")


def test_a_conformance_run_includes_the_steps_required_by_the_selected_checks() -> None:
    run = run_kit(SmallBank(VERSIONS[2]), "account_balance.token-ended, payment-direct.refused-report")

    assert [(each.check.check_id, each.outcome) for each in run.results] == [
        ("account_balance.token-ended", "passed"),
        ("payment-direct.refused-report", "passed"),
    ]


def test_a_conformance_run_revokes_all_remaining_consents_at_the_bank() -> None:
    bank = SmallBank(VERSIONS[2])
    run_kit(bank, "account.answer-form,accounts.scope-not-approved,account_balance.scope-not-approved")

    assert bank.consents == {}
