"""The choice of checks."""

from __future__ import annotations

import pytest

from chalicelib.openbanking.protocol.versions import VERSIONS
from infra.conformance.checks import checks_of
from infra.conformance.selection import UnknownChecks, select
from tests.infra.conformance.playing import play
from tests.infra.conformance.small_bank import SmallBank

CHECKS = checks_of(VERSIONS[2])


def ids(only: str) -> list[str]:
    return [check.check_id for check in select(CHECKS, only)]


def test_without_a_choice_all_checks_run() -> None:
    assert select(CHECKS, "") == CHECKS


@pytest.mark.parametrize("only", [",", " , ", " "])
def test_a_choice_that_names_nothing_is_an_error(only: str) -> None:
    with pytest.raises(UnknownChecks, match=r"the choice of checks names none; the groups are .*accounts"):
        select(CHECKS, only)


def test_the_nearest_ids_and_groups_are_proposed_for_an_unknown_one() -> None:
    with pytest.raises(UnknownChecks) as found:
        select(CHECKS, "accounts.answer-fom,acounts")

    said = "no check of this version is named accounts.answer-fom (accounts.answer-form?), acounts (accounts?); "
    assert str(found.value).startswith(said)


def test_an_id_chooses_one_check() -> None:
    assert ids("accounts.answer-form") == ["accounts.answer-form"]


def test_a_group_chooses_its_checks_and_not_those_of_a_longer_name() -> None:
    assert {each.partition(".")[0] for each in ids("account")} == {"account"}


def test_a_pattern_chooses_what_matches_and_parts_are_united_in_the_order_of_the_checks() -> None:
    found = ids("payment-single.declined, *.signature-wrong")

    assert found[-1] != "payment-single.declined"
    assert {each.rpartition(".")[2] for each in found} == {"declined", "signature-wrong"}


def test_what_matches_nothing_is_an_error_that_names_it_and_the_groups() -> None:
    with pytest.raises(UnknownChecks, match=r"named acounts \(accounts\?\), x\*; the groups are .*accounts"):
        select(CHECKS, "acounts,accounts,x*")


def test_the_steps_that_a_chosen_check_needs_are_taken() -> None:
    run = play(SmallBank(VERSIONS[2]), "account_balance.token-ended, payment-direct.refused-report")

    assert [(each.check.check_id, each.outcome) for each in run.results] == [
        ("account_balance.token-ended", "passed"),
        ("payment-direct.refused-report", "passed"),
    ]


def test_consents_that_a_run_leaves_are_ended() -> None:
    bank = SmallBank(VERSIONS[2])
    play(bank, "account.answer-form,accounts.scope-not-approved,account_balance.scope-not-approved")

    assert bank.consents == {}
