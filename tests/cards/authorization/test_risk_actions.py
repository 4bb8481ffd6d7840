"""Tests of the actions that risk rules trigger when a card is used, and of the records of triggered rules."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from chalicelib.cards.protocol.values import REASONS, RISK_ACTIONS
from tests.cards.authorization.issuers import (
    ALL_AT_ONCE,
    LARGE,
    NOTIFY,
    OF_MCC,
    REJECT,
    SUSPICIOUS,
    THIRD_TIME,
    TO_RISK,
    TO_SUSPENDED,
    WATCHED,
    WATCHED_TOO,
    authorizes,
    card_item,
    cardholder,
    code,
    messages,
)
from tests.cards.authorization.shops import Holder
from tests.cards.events.event_listener import Listener
from tests.cards.issuer import DAY, EUR, GBP, PIN, Issuer

OF_RULE = 11
"""The ``reason_code`` of a status change by a risk rule."""


def watched(issuer: Issuer, funds: int = 100_00, **members: Any) -> Holder:
    return cardholder(issuer, funds, risk_rules_group_id=WATCHED, **members)


def flagged(answer: Any) -> list[str]:
    [flags] = answer["risk_actions"]
    assert list(flags) == list(RISK_ACTIONS)
    return [name for name, flag in flags.items() if flag]


def states(user: Holder) -> tuple[Any, Any]:
    card = user.issuer.data("getCardStatus", card_id=user.card_id)
    [account] = user.issuer.data("getAccounts", account_id=user.account)
    return (
        (card["card_status"], card.get("reason_code"), card.get("note")),
        (account["account_status"], account.get("status_change_reason_code"), account.get("status_change_note")),
    )


GOOD = ("A", None, None)
AFTER = {TO_RISK: (("R", OF_RULE, None), GOOD), TO_SUSPENDED: (GOOD, ("S", OF_RULE, None))}


def test_reason_code_11_has_the_text_risk_rule() -> None:
    assert REASONS[OF_RULE] == "risk rule"


@pytest.mark.parametrize(("mcc", "action"), OF_MCC.items())
def test_each_risk_action_has_only_the_documented_effect(strict_issuer: Issuer, mcc: str, action: str) -> None:
    user = watched(strict_issuer)
    rule = f"{WATCHED}.{[*OF_MCC].index(mcc) + 1}"

    answer = user.request_authorization(10_00, mcc=mcc)

    approved = action != REJECT
    assert answer["response_code"] == ("00" if approved else "59")
    assert flagged(answer) == [action]
    assert user.balances() == ((100_00, 10_00, 0, 90_00) if approved else (100_00, 0, 0, 100_00))
    assert (answer["available_balance"], answer["settled_balance"]) == (user.balances()[3], 100_00)
    assert states(user) == AFTER.get(action, (GOOD, GOOD))
    [message] = messages(user)
    assert message["risk_actions"] == answer["risk_actions"][0]
    assert (message["risk_rule_ids"], message["note"]) == (rule, f"fired: {rule}")
    assert (message["suspicious"], message["actual"]) == (int(action == SUSPICIOUS), int(approved))
    assert authorizes(user) == ([answer["authorize_id"]] if approved else [])


def test_a_cleared_transaction_shows_the_risk_rules_of_its_authorization(strict_issuer: Issuer) -> None:
    user = watched(strict_issuer)
    mcc = next(mcc for mcc, action in OF_MCC.items() if action == SUSPICIOUS)
    authorized = user.request_authorization(10_00, mcc=mcc)

    user.clear(authorized["trans_link"], 10_00)

    [row] = user.transactions()
    assert flagged({"risk_actions": [row["network"]["risk_actions"]]}) == [SUSPICIOUS]
    assert row["network"]["suspicious"] == 1
    assert row["network"]["risk_rule_ids"] == messages(user)[0]["risk_rule_ids"]


def test_a_status_set_by_a_risk_rule_declines_the_next_purchase(strict_issuer: Issuer) -> None:
    card, account = watched(strict_issuer), watched(strict_issuer)

    assert [code(card, mcc="1003"), code(card), code(account, mcc="1004"), code(account)] == ["00", "59", "00", "62"]
    assert [row.get("risk_rule_ids") for row in messages(card)] == [f"{WATCHED}.3", None]


@pytest.mark.parametrize(("mcc", "response"), [("1004", "00"), (ALL_AT_ONCE, "59")])
def test_an_account_that_a_risk_rule_suspends_sends_an_event(strict_issuer: Issuer, mcc: str, response: str) -> None:
    user = watched(strict_issuer)
    [account] = strict_issuer.data("getAccounts", account_id=user.account)
    manager_id = card_item(user)["manager_id"]
    with strict_issuer.causeway.manager_wants_events(manager_id):
        heard = Listener(strict_issuer)
        heard.forget()
        assert code(user, mcc=mcc) == response
        sent = {event["type"]: event["data"] for event in heard.events(manager_id)}
        assert code(user, mcc=mcc) in ("59", "62")
        again = [event["type"] for event in heard.events(manager_id)]

    assert sent["account.status_changed"] == {
        "account_id": user.account,
        "holder_id": account["holder_id"],
        "account_status_before": "A",
        "account_status": "S",
        "reason_code": OF_RULE,
    }
    assert again == ["card.authorization"]


def test_one_purchase_can_trigger_all_risk_actions(strict_issuer: Issuer) -> None:
    user = watched(strict_issuer)

    answer = user.request_authorization(10_00, mcc=ALL_AT_ONCE)

    assert answer["response_code"] == "59"
    assert flagged(answer) == [*RISK_ACTIONS]
    assert states(user) == (("R", OF_RULE, None), ("S", OF_RULE, None))
    assert user.balances() == (100_00, 0, 0, 100_00)
    assert strict_issuer.do("changeCardStatus", card_id=user.card_id, status="A").status == "success"
    assert strict_issuer.do("changeAccountStatus", account_id=user.account, account_status="A").status == "success"
    assert code(user) == "00"


def test_a_risk_rule_replaces_the_reason_and_note_of_a_status(strict_issuer: Issuer) -> None:
    user = watched(strict_issuer)
    why = {"reason_code": 2, "note": "is back"}
    strict_issuer.data("changeCardStatus", card_id=user.card_id, status="A", **why)
    strict_issuer.data("changeAccountStatus", account_id=user.account, account_status="A", **why)

    later = replace(user, issuer=strict_issuer.with_own_clock(days=1))
    assert code(later, mcc=ALL_AT_ONCE) == "59"

    assert states(user) == (("R", OF_RULE, None), ("S", OF_RULE, None))
    [account] = strict_issuer.data("getAccounts", account_id=user.account)
    assert account["date_updated"] == later.issuer.clock.time()


def test_a_risk_rule_applies_to_a_purchase_declined_for_insufficient_funds(strict_issuer: Issuer) -> None:
    user = watched(strict_issuer, 9_99)

    answer = user.request_authorization(10_00, mcc="1003", pin=PIN)

    assert (answer["response_code"], flagged(answer)) == ("51", [TO_RISK])
    assert states(user)[0] == ("R", OF_RULE, None)


def test_a_risk_rule_and_a_correct_pin_both_update_the_card(strict_issuer: Issuer) -> None:
    user = watched(strict_issuer)
    code(user, pin="0000")

    assert code(user, mcc="1003", pin=PIN) == "00"

    assert states(user)[0] == ("R", OF_RULE, None)
    assert strict_issuer.data("getCardDetails", card_id=user.card_id)["invalid_pin_tries"] == 0


@pytest.mark.parametrize(
    "members", [{"pin": "0000"}, {"expiry_year": 2028}, {"force_response_code": "00"}, {"force_response_code": "51"}]
)
def test_a_failed_verification_or_a_forced_response_code_triggers_no_risk_rule(
    strict_issuer: Issuer, members: dict[str, Any]
) -> None:
    user = watched(strict_issuer)

    answer = user.request_authorization(10_00, mcc=ALL_AT_ONCE, **members)

    assert flagged(answer) == []
    assert states(user) == (GOOD, GOOD)
    assert not {"risk_rule_ids", "note"} & messages(user)[0].keys()


def test_risk_rules_of_a_card_and_of_its_account_both_apply(strict_issuer: Issuer) -> None:
    user = watched(strict_issuer)
    strict_issuer.data("assignAccountToRiskRuleGroup", account_id=user.account, risk_rule_group_id=WATCHED_TOO)

    answer = user.request_authorization(10_00, mcc="1001")

    assert flagged(answer) == [SUSPICIOUS, NOTIFY]
    assert messages(user)[0]["risk_rule_ids"] == f"{WATCHED}.1,{WATCHED_TOO}.1"
    assert messages(user)[0]["note"] == f"fired: {WATCHED}.1, {WATCHED_TOO}.1"


@pytest.mark.parametrize(
    ("amount", "currency", "expected"), [(7_99, GBP, "00"), (8_00, GBP, "59"), (9_99, EUR, "00"), (10_00, EUR, "59")]
)
def test_a_risk_rule_compares_amounts_at_the_base_rate(
    strict_issuer: Issuer, amount: int, currency: int, expected: str
) -> None:
    assert code(watched(strict_issuer), amount, currency, mcc=LARGE) == expected


def tries(user: Holder, *attempts: dict[str, Any]) -> Sequence[str]:
    return [code(user, **{"mcc": THIRD_TIME} | attempt) for attempt in attempts]


def test_a_risk_rule_counts_approved_and_declined_attempts(strict_issuer: Issuer) -> None:
    user = watched(strict_issuer)

    assert tries(user, {"amount": 200_00}, {}, {}, {}) == ["51", "00", "59", "59"]
    assert tries(replace(user, issuer=strict_issuer.with_own_clock(days=1)), {}, {}, {}) == ["00", "00", "59"]


def test_a_risk_rule_ignores_attempts_with_a_wrong_pin_or_expiry(strict_issuer: Issuer) -> None:
    user = watched(strict_issuer)

    assert tries(user, {"pin": "0000"}, {"expiry_month": 4}, {}, {}, {}) == ["55", "54", "00", "00", "59"]


def test_card_rules_count_attempts_per_card_and_account_rules_count_attempts_of_all_cards(
    strict_issuer: Issuer,
) -> None:
    one = watched(strict_issuer)
    strict_issuer.data("assignAccountToRiskRuleGroup", account_id=one.account, risk_rule_group_id=WATCHED_TOO)
    shared = {"account_id": [one.account], "account_owner_id": [one.card.holder_id], "holder_id": one.card.holder_id}
    other = replace(one, card=strict_issuer.card_in("A", risk_rules_group_id=WATCHED, **shared))

    answers = [each.request_authorization(1_00, mcc=THIRD_TIME) for each in (one, other, one, other, one, other)]

    assert [answer["response_code"] for answer in answers] == ["00"] * 4 + ["59"] * 2
    assert [flagged(answer) for answer in answers] == [[], *[[SUSPICIOUS]] * 3, *[[SUSPICIOUS, REJECT]] * 2]


def test_the_time_windows_of_risk_rules_end_at_midnight(strict_issuer: Issuer) -> None:
    user = watched(strict_issuer)
    late, new = (
        replace(user, issuer=strict_issuer.with_own_clock(days=seconds / DAY)) for seconds in (15 * 3600 - 1, 15 * 3600)
    )

    assert tries(user, {}, {}) == ["00", "00"]
    assert tries(late, {}) == ["59"]
    assert tries(new, {}) == ["00"]
