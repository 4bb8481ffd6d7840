"""Tests of accounts: creation, display, programme changes and group assignments."""

from typing import Any

import pytest

from tests.cards.issuer import EUR, EVERYDAY_ACCOUNT, GBP, PREPAID, PREPAID_ACCOUNT, USD, Issuer

LEAST = {"currency_ison": EUR, "account_status": "A", "program_id": EVERYDAY_ACCOUNT, "skip_holder_validation": 0}


def account_record(issuer: Issuer, account_id: int) -> dict[str, Any]:
    [account] = issuer.data("getAccounts", account_id=account_id)
    return dict(account)


def test_a_new_account_has_the_requested_members(issuer: Issuer) -> None:
    account = issuer.account(
        currency_ison="826", account_status="R", fee_group_id=302, risk_rules_group_id=403, limit_group_id=212
    )

    found = account_record(issuer, account)

    assert found == {
        "id": account,
        "holder_id": found["holder_id"],
        "currency_ison": GBP,
        "available_balance": 0,
        "settled_balance": 0,
        "reserved_balance": 0,
        "account_status": "R",
        "date_updated": issuer.clock.time(),
        "program_id": EVERYDAY_ACCOUNT,
        "limit_group_id": 212,
        "fee_group_id": 302,
        "risk_group_id": 403,
    }


@pytest.mark.parametrize(("programme", "groups"), [(501, (211, 301, 401)), (502, (None, 303, 401))])
def test_a_new_account_has_the_groups_of_its_programme_if_the_request_omits_the_groups(
    issuer: Issuer, programme: int, groups: tuple[int | None, int, int]
) -> None:
    found = account_record(issuer, issuer.account(program_id=programme))

    assert (found["limit_group_id"], found["fee_group_id"], found["risk_group_id"]) == groups


def test_an_account_without_a_limit_group_returns_a_null_limit_group(issuer: Issuer) -> None:
    account = issuer.account(program_id=PREPAID_ACCOUNT)

    assert '"limit_group_id":null' in issuer.do("getAccounts", account_id=account).raw
    [row] = issuer.data("getHolderAccounts", holder_id=account_record(issuer, account)["holder_id"])
    assert row["limit_group_id"] is None


@pytest.mark.parametrize(("name", "number"), [("fee_group_id", 303), ("risk_rules_group_id", 403)])
def test_a_new_account_with_a_group_that_is_not_in_the_programme_returns_2005(
    issuer: Issuer, name: str, number: int
) -> None:
    programme = EVERYDAY_ACCOUNT if name == "fee_group_id" else PREPAID_ACCOUNT
    members = {**LEAST, "program_id": programme, "holder_id": issuer.holder(), name: number}

    answer = issuer.do("createAccount", **members)

    assert (answer.status_code, name in answer.message) == (2005, True)


def test_a_currency_that_the_programme_does_not_support_returns_5003(issuer: Issuer) -> None:
    members = LEAST | {"holder_id": issuer.holder(), "currency_ison": GBP}

    assert issuer.do("createAccount", **members).status == "success"
    assert issuer.do("createAccount", **members | {"program_id": PREPAID_ACCOUNT}).status_code == 5003
    assert issuer.do("createAccount", **members | {"currency_ison": 392}).status_code == 5003


@pytest.mark.parametrize("form", [list, lambda ids: ",".join(map(str, ids)), lambda ids: list(map(str, ids))])
def test_a_new_account_is_added_after_the_existing_accounts_of_the_cards(issuer: Issuer, form: Any) -> None:
    holder = issuer.holder()
    cards = [issuer.card(holder_id=holder), issuer.card(holder_id=holder)]

    account = issuer.account(holder_id=holder, cards=form([card.card_id for card in cards]), currency_ison=USD)

    for card in cards:
        assert [row["id"] for row in issuer.data("getAccounts", card_id=card.card_id)] == [card.account_id, account]
        details = issuer.data("getCardDetails", card_id=card.card_id)
        assert (details["primary_account_id"], details["default_currency_ison"]) == (card.account_id, EUR)


def test_a_single_card_id_is_accepted_instead_of_a_list(issuer: Issuer) -> None:
    card = issuer.card()

    account = issuer.account(holder_id=card.holder_id, cards=card.card_id)

    assert len(issuer.data("getAccounts", card_id=card.card_id)) == 2
    assert issuer.do("getAccounts", account_id=account, card_id=card.card_id).status == "success"


def test_get_accounts_returns_a_list_for_a_card_id_for_an_account_id_and_for_both_ids(issuer: Issuer) -> None:
    card = issuer.card(card_currency_ison=[GBP, EUR])

    by_card = issuer.data("getAccounts", card_id=card.card_id)
    by_account = issuer.data("getAccounts", account_id=card.account_id)
    by_both = issuer.data("getAccounts", account_id=card.account_id, card_id=card.card_id)

    assert [account["currency_ison"] for account in by_card] == [GBP, EUR]
    assert by_account == by_both == by_card[:1]


# -- changes


def test_the_reason_and_note_of_an_account_status_are_stored_until_the_next_status_change(issuer: Issuer) -> None:
    account = issuer.account()

    issuer.clock.advance(60)
    issuer.data("changeAccountStatus", account_id=account, account_status="S", reason_code="09", note="Zoë's call")
    changed = account_record(issuer, account)
    issuer.data("changeAccountStatus", account_id=account, account_status="S")
    again = account_record(issuer, account)

    assert (changed["status_change_reason_code"], changed["status_change_note"]) == (9, "Zoë's call")
    assert changed["date_updated"] == issuer.clock.time()
    assert not {name for name in again if name.startswith("status_change_")}


def test_an_account_can_move_only_to_a_programme_with_the_account_currency(issuer: Issuer) -> None:
    account, pounds = issuer.account(), issuer.account(currency_ison=GBP)

    issuer.data("changeAccountProgramId", account_id=account, account_program_id=str(PREPAID_ACCOUNT))

    assert account_record(issuer, account)["program_id"] == PREPAID_ACCOUNT
    refused = issuer.do("changeAccountProgramId", account_id=pounds, account_program_id=PREPAID_ACCOUNT)
    assert refused.status_code == 5003
    assert issuer.do("changeAccountProgramId", account_id=account, account_program_id=PREPAID).status_code == 3004
    assert account_record(issuer, pounds)["program_id"] == EVERYDAY_ACCOUNT


def test_a_programme_change_replaces_groups_that_the_new_programme_does_not_have(issuer: Issuer) -> None:
    account = issuer.account(fee_group_id=302, risk_rules_group_id=402)
    other = issuer.account(risk_rules_group_id=403)

    for each in (account, other):
        issuer.data("changeAccountProgramId", account_id=each, account_program_id=PREPAID_ACCOUNT)

    assert (account_record(issuer, account)["fee_group_id"], account_record(issuer, account)["risk_group_id"]) == (
        303,
        402,
    )
    assert account_record(issuer, other)["risk_group_id"] == 401


@pytest.mark.parametrize(
    ("action", "name", "number", "member"),
    [
        ("assignAccountToRiskRuleGroup", "risk_rule_group_id", 403, "risk_group_id"),
        ("assignAccountToLimitRuleGroup", "limit_group_id", 212, "limit_group_id"),
        ("assignAccountToFeeRuleGroup", "fee_group_id", 302, "fee_group_id"),
    ],
)
def test_an_account_is_assigned_to_a_group(issuer: Issuer, action: str, name: str, number: int, member: str) -> None:
    account = issuer.account()
    before = account_record(issuer, account)
    issuer.clock.advance(60)

    issuer.data(action, account_id=account, **{name: number})

    assert account_record(issuer, account) == before | {member: number, "date_updated": issuer.clock.time()}


@pytest.mark.parametrize(
    ("action", "members"),
    [
        ("assignAccountToRiskRuleGroup", {"risk_rule_group_id": 403}),
        ("assignAccountToFeeRuleGroup", {"fee_group_id": 301}),
    ],
)
def test_assigning_a_group_that_is_not_in_the_programme_returns_2005(
    issuer: Issuer, action: str, members: dict[str, int]
) -> None:
    account = issuer.account(program_id=PREPAID_ACCOUNT)

    answer = issuer.do(action, account_id=account, **members)

    assert (answer.status_code, next(iter(members)) in answer.message) == (2005, True)


def test_more_than_ten_cards_return_2003_and_repeated_cards_return_2005(issuer: Issuer) -> None:
    cards = list(range(1, 12))

    assert issuer.do("createAccount", **LEAST, holder_id=1, cards=cards).status_code == 2003
    assert issuer.do("createAccount", **LEAST, holder_id=1, cards=[1, 1]).status_code == 2005


def test_a_new_suspended_account_with_cards_returns_4003(issuer: Issuer) -> None:
    card = issuer.card()
    asked = LEAST | {"account_status": "S", "holder_id": card.holder_id, "cards": card.card_id}

    assert issuer.do("createAccount", **asked).status_code == 4003
    assert issuer.do("createAccount", **asked | {"account_status": "R"}).status == "success"
