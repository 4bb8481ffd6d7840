"""The authorizer: the cause of every response code, the order of checks, and the approved amount."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any
from unittest.mock import patch

import pytest

from chalicelib.cards.authorization import authorizer
from chalicelib.cards.authorization.activity_record import UNCHECKED, CardUse
from chalicelib.cards.authorization.authorizer import Decision, PresentedData, RequestedAmount
from chalicelib.cards.authorization.card_context import CardContext
from chalicelib.cards.card_data.encryption import CardData
from chalicelib.cards.ledger.usage_counters import CounterChanges
from chalicelib.cards.protocol.values import RESPONSE_CODES
from chalicelib.foundation.aws.errors import NotSent
from tests.cards.authorization.issuers import (
    ALL_AT_ONCE,
    AMERICA,
    AUTHENTICATED,
    EACH_ACCOUNT,
    EACH_CARD,
    EACH_HOLDER,
    NEVER,
    NO_CASH,
    ONE_COUNTRY,
    TWICE_A_DAY,
    TWICE_A_HOLDER,
    WATCHED,
    card_context_of,
    cardholder,
    change_card,
    code,
    other,
)
from tests.cards.authorization.shops import BLENDED, DINAR, FREE, SEPARATE, Holder
from tests.cards.field_values import RESPONSE_CODES as EVERY_CODE
from tests.cards.issuer import BRITAIN, DELIVERY, EUR, GBP, GERMANY, LEFT_OUT, PIN, Issuer


def in_status(issuer: Issuer, status: str) -> Holder:
    user = cardholder(issuer)
    issuer.data("changeCardStatus", card_id=user.card_id, status=status)
    return user


def with_account_in(issuer: Issuer, status: str) -> Holder:
    user = cardholder(issuer, 0 if status == "C" else 100_00)
    issuer.data("changeAccountStatus", account_id=user.account, account_status=status)
    return user


def by_old_number(issuer: Issuer, status: str = "A", **members: Any) -> str:
    user = in_status(issuer, status)
    new = DELIVERY | {"order_shipping_method": 1, "card_name_line_3": "ZOE ONEIL", "generate_new_pan": 1}
    issuer.data("reissueCard", card_id=user.card_id, **new)
    issuer.data("activateCard", card_id=user.card_id)
    assert code(user) == "00", "by its id the card is good"
    return code(user, card_id=LEFT_OUT, pan=user.card.pan, **members)


def expired(issuer: Issuer) -> str:
    user = cardholder(issuer, card_validity_period=1)
    return code(replace(user, issuer=issuer.with_own_clock(days=62)))


def wrong_pins(user: Holder, times: int) -> str:
    return [code(user, pin=other(PIN)) for _ in range(times)][-1]


def without_keys(user: Holder) -> str:
    gone = NotSent("no connection could be made")
    with patch.object(CardData, "open", side_effect=gone):
        return code(user, pin=PIN)


def with_wrong_cvc2(user: Holder) -> str:
    return code(user, cvc2=other(user.card.cvc2))


def broken(issuer: Issuer, **members: Any) -> str:
    user = cardholder(issuer)
    change_card(user, **members)
    return code(user, pin=PIN)


def twice(user: Holder, *more: Mapping[str, Any]) -> str:
    *before, last = [code(user, **members) for members in more]
    assert set(before) == {"00"}
    return last


WAYS: Mapping[str, Mapping[str, Callable[[Issuer], str]]] = {
    "00": {"a purchase": lambda issuer: code(cardholder(issuer))},
    "10": {"a part of a purchase": lambda issuer: code(cardholder(issuer, 9_99), partial_approval=1)},
    "14": {
        "nobody's number": lambda issuer: code(cardholder(issuer), card_id=LEFT_OUT, pan="2223000000000007"),
        "an old number": by_old_number,
    },
    "41": {
        "a lost card": lambda issuer: code(in_status(issuer, "L")),
        "the old number of a lost card": lambda issuer: by_old_number(issuer, "L"),
    },
    "43": {
        "a stolen card": lambda issuer: code(in_status(issuer, "S")),
        "the old number of a stolen card": lambda issuer: by_old_number(issuer, "S"),
    },
    "46": {
        "a blocked card": lambda issuer: code(in_status(issuer, "B")),
        "a closed account": lambda issuer: code(with_account_in(issuer, "C")),
    },
    "51": {
        "no funds": lambda issuer: code(cardholder(issuer, 9_99)),
        "a part that was not asked for": lambda issuer: code(cardholder(issuer, 9_99), partial_approval=0),
        "cashback": lambda issuer: code(cardholder(issuer, 10_00), cashback_amount=1),
        "funds that are held": lambda issuer: twice(cardholder(issuer, 19_99), {}, {}),
    },
    "54": {
        "an expired card": expired,
        "another year": lambda issuer: code(cardholder(issuer), expiry_year=2028, expiry_month=3),
        "another month": lambda issuer: code(cardholder(issuer), expiry_month=4),
    },
    "55": {"a wrong PIN": lambda issuer: wrong_pins(cardholder(issuer), 2)},
    "57": {
        "a category": lambda issuer: code(cardholder(issuer, card_usage_group_id=NO_CASH), mcc="7995"),
        "a channel": lambda issuer: code(cardholder(issuer, card_usage_group_id=NO_CASH), transaction_type=1),
        "a country": lambda issuer: code(
            cardholder(issuer, card_usage_group_id=NO_CASH), merchant_country_ison=AMERICA
        ),
        "no conversion": lambda issuer: code(cardholder(issuer, auto_conversion=0), currency=EUR),
        "no rate": lambda issuer: code(cardholder(issuer), currency=DINAR),
    },
    "59": {
        "a card at risk": lambda issuer: code(in_status(issuer, "R")),
        "a rule": lambda issuer: code(cardholder(issuer, risk_rules_group_id=WATCHED), mcc=ALL_AT_ONCE),
    },
    "61": {
        "the card's limit": lambda issuer: code(cardholder(issuer, card_limit_group_id=EACH_CARD), 50_01),
        "the account's limit": lambda issuer: code(cardholder(issuer, account_limit_group_id=EACH_ACCOUNT), 60_01),
        "the holder's limit": lambda issuer: code(cardholder(issuer, holder_limit_group_id=EACH_HOLDER), 70_01),
        "a limit in another currency": lambda issuer: code(
            cardholder(issuer, card_limit_group_id=EACH_CARD), 62_51, EUR
        ),
    },
    "62": {
        "a blocked card": lambda issuer: code(in_status(issuer, "T")),
        "a suspended account": lambda issuer: code(with_account_in(issuer, "S")),
        "a restricted account": lambda issuer: code(with_account_in(issuer, "R")),
    },
    "65": {
        "the card's limit": lambda issuer: twice(cardholder(issuer, card_limit_group_id=TWICE_A_DAY), {}, {}, {}),
        "the holder's limit": lambda issuer: twice(
            cardholder(issuer, holder_limit_group_id=TWICE_A_HOLDER), {}, {}, {}
        ),
        "countries": lambda issuer: twice(
            cardholder(issuer, card_limit_group_id=ONE_COUNTRY),
            *({"merchant_country_ison": country} for country in (BRITAIN, BRITAIN, GERMANY)),
        ),
    },
    "75": {
        "the third wrong PIN": lambda issuer: wrong_pins(cardholder(issuer), 3),
        "a blocked PIN": lambda issuer: wrong_pins(cardholder(issuer), 4),
    },
    "78": {"not activated": lambda issuer: code(Holder(issuer, issuer.card()))},
    "91": {"keys that cannot be reached": lambda issuer: without_keys(cardholder(issuer))},
    "96": {
        "a number that does not open": lambda issuer: broken(issuer, pan=b"\x01" + bytes(60)),
        "keys that are gone": lambda issuer: broken(issuer, key_version=99),
    },
    "1A": {
        "no 3-D Secure": lambda issuer: code(cardholder(issuer, card_usage_group_id=AUTHENTICATED), entry_mode_type=81),
        "failed": lambda issuer: code(
            cardholder(issuer, card_usage_group_id=AUTHENTICATED), entry_mode_type=81, eci_indicator=7
        ),
    },
    "N7": {"a wrong CVC2": lambda issuer: with_wrong_cvc2(cardholder(issuer))},
}


def test_every_response_code_of_the_network_has_a_test_case() -> None:
    assert sorted(EVERY_CODE) == sorted(RESPONSE_CODES) == sorted(WAYS)


@pytest.mark.parametrize(("expected", "way"), [(each, way) for each, ways in WAYS.items() for way in ways])
def test_each_authorization_test_case_returns_the_expected_response_code(
    strict_issuer: Issuer, expected: str, way: str
) -> None:
    assert WAYS[expected][way](strict_issuer) == expected


@pytest.mark.parametrize(
    ("members", "more"),
    [
        ({"card_limit_group_id": EACH_CARD}, {"amount": 50_00}),
        ({"account_limit_group_id": EACH_ACCOUNT}, {"amount": 60_00}),
        ({"holder_limit_group_id": EACH_HOLDER}, {"amount": 70_00}),
        ({"card_limit_group_id": EACH_CARD}, {"amount": 62_50, "currency": EUR}),
        ({"card_usage_group_id": AUTHENTICATED}, {"entry_mode_type": 81, "eci_indicator": 5}),
        ({"card_usage_group_id": NO_CASH}, {"mcc": "7994", "merchant_country_ison": BRITAIN, "cashback_amount": 100}),
        ({}, {"expiry_year": 2029, "expiry_month": "03", "pin": PIN}),
        ({}, {"amount": 100_00}),
        ({}, {"amount": 90_00, "cashback_amount": 10_00}),
        ({"auto_conversion": 0}, {}),
    ],
)
def test_a_purchase_at_the_boundary_of_a_rule_is_approved(
    strict_issuer: Issuer, members: dict[str, Any], more: dict[str, Any]
) -> None:
    assert code(cardholder(strict_issuer, **members), **more) == "00"


# -- the order of the checks


@dataclass(frozen=True)
class Attempt:
    """A purchase of 80.00 GBP with a card that has 100.00 GBP and passes every check by default."""

    card_context: CardContext
    asked: RequestedAmount
    by_number: str | None = None

    def of_card(self, **members: Any) -> Attempt:
        return replace(self, card_context=replace(self.card_context, card=replace(self.card_context.card, **members)))

    def of_account(self, **members: Any) -> Attempt:
        [account] = self.card_context.accounts
        return replace(self, card_context=replace(self.card_context, accounts=[replace(account, **members)]))

    def asking(self, **members: Any) -> Attempt:
        return replace(self, asked=replace(self.asked, **members))

    def presenting(self, **members: Any) -> Attempt:
        return self.asking(presented=replace(self.asked.presented, **members))

    def used(self, **members: Any) -> Attempt:
        return self.asking(use=replace(self.asked.use, **members))


OBSTACLES: list[tuple[str, str, Callable[[Attempt], Attempt]]] = [
    ("number", "14", lambda attempt: replace(attempt, by_number="14")),
    ("card", "62", lambda attempt: attempt.of_card(stored_status="T")),
    ("expiry", "54", lambda attempt: attempt.presenting(expiry_month=4)),
    ("PIN", "55", lambda attempt: attempt.presenting(pin=other(PIN))),
    ("CVC2", "N7", lambda attempt: attempt.presenting(cvc2=other(str(attempt.asked.presented.cvc2)))),
    ("usage", "1A", lambda attempt: attempt.of_card(usage_group_id=AUTHENTICATED).used(entry_mode=81)),
    ("choice", "57", lambda attempt: attempt.of_card(auto_conversion=0).asking(currency=DINAR)),
    ("account", "46", lambda attempt: attempt.of_account(status="C")),
    ("risk", "59", lambda attempt: attempt.of_card(risk_group_id=WATCHED).used(mcc=ALL_AT_ONCE)),
    ("rate", "57", lambda attempt: attempt.asking(currency=DINAR)),
    ("amount", "61", lambda attempt: attempt.of_account(limit_group_id=EACH_ACCOUNT)),
    ("count", "65", lambda attempt: attempt.of_card(limit_group_id=NEVER)),
    ("balance", "51", lambda attempt: attempt.of_account(settled=0)),
]
"""The reasons to decline, in the order of the checks."""


@pytest.fixture(scope="module")
def card_data(strict_issuer: Issuer) -> CardData:
    return strict_issuer.hub.cards.card_data


@pytest.fixture(scope="module")
def user(strict_issuer: Issuer) -> Holder:
    return cardholder(strict_issuer)


def attempt_of(user: Holder) -> Attempt:
    use = CardUse(transaction_type=0, mcc="5411", country=BRITAIN, checks=UNCHECKED)
    presented = PresentedData(2029, 3, PIN, user.card.cvc2)
    return Attempt(card_context_of(user), RequestedAmount(use, 80_00, GBP, presented))


def decided(card_data: CardData, attempt: Attempt, tally: CounterChanges | None = None) -> Decision:
    now = attempt.card_context.of_card.last_at // 1000 or 1_772_442_000
    tally = tally or CounterChanges()
    return authorizer.decide(attempt.card_context, attempt.asked, now, tally, attempt.by_number, card_data=card_data)


def test_the_first_failed_check_determines_the_response_code(card_data: CardData, user: Holder) -> None:
    attempt = attempt_of(user)
    assert decided(card_data, attempt).code == "00"

    for name, expected, put in reversed(OBSTACLES):
        attempt = put(attempt)
        assert decided(card_data, attempt).code == expected, name


def test_an_exceeded_limit_returns_61_instead_of_a_partial_approval(card_data: CardData, user: Holder) -> None:
    attempt = attempt_of(user).of_account(limit_group_id=EACH_ACCOUNT, settled=10_00).asking(partial=True)

    assert decided(card_data, attempt).code == "61"
    assert decided(card_data, attempt.asking(amount=60_00)).code == "10"


def test_only_approved_authorizations_count_towards_limits(card_data: CardData, user: Holder) -> None:
    attempt = attempt_of(user).of_card(limit_group_id=TWICE_A_DAY)
    for changed, counted in (
        (attempt, True),
        (attempt.of_account(settled=10_00).asking(partial=True), True),
        (attempt.of_account(settled=10_00), False),
        (attempt.of_account(limit_group_id=EACH_ACCOUNT), False),
        (attempt.of_card(risk_group_id=WATCHED).used(mcc=ALL_AT_ONCE), False),
        (attempt.used(transaction_type=39), False),
    ):
        tally = CounterChanges()
        decision = decided(card_data, changed, tally)
        assert bool(decision.counted) is counted
        assert bool(tally.current(changed.card_context.of_card).windows) is counted


def test_declines_with_code_51_59_or_61_include_the_charge(card_data: CardData, user: Holder) -> None:
    attempt = attempt_of(user).asking(currency=EUR)
    known = {
        "51": attempt.of_account(settled=0),
        "61": attempt.of_account(limit_group_id=EACH_ACCOUNT).asking(amount=75_01),
        "59": attempt.of_card(risk_group_id=WATCHED).used(mcc=ALL_AT_ONCE),
    }
    for expected, changed in known.items():
        decision = decided(card_data, changed)
        assert decision.code == expected
        assert decision.charge is not None
        assert decision.amount == 0
    assert decided(card_data, attempt.of_card(stored_status="T")).charge is None


# -- how much is approved


def total(attempt: Attempt, amount: int) -> int:
    card_context, asked = attempt.card_context, attempt.asked
    party = card_context.posting_context(card_context.accounts[0])
    facts = asked.use.attributes(asked.currency, party.holder_country)
    return party.charge(facts, amount, debit=True).total


@pytest.mark.parametrize("cashback", [0, 150])
@pytest.mark.parametrize("currency", [GBP, EUR])
@pytest.mark.parametrize("fee_group_id", [FREE, SEPARATE, BLENDED])
def test_a_partial_approval_is_the_largest_payable_amount_without_cashback(
    card_data: CardData, user: Holder, fee_group_id: int, currency: int, cashback: int
) -> None:
    attempt = attempt_of(user).of_card(fee_group_id=fee_group_id)
    attempt = attempt.asking(amount=400, currency=currency, partial=True).used(cashback_amount=cashback)
    totals = [total(attempt, amount) for amount in range(401)]

    for available in (*range(0, 60, 7), *range(60, totals[400], 37), totals[250] - 1, totals[250], totals[400] - 1):
        decision = decided(card_data, attempt.of_account(settled=available, held=0))
        largest = max((amount for amount in range(401 - cashback) if totals[amount] <= available), default=0)
        assert (decision.code, decision.amount) == (("10", largest) if largest else ("51", 0)), available
        if largest:
            assert decision.charge is not None
            assert decision.charge.total == totals[largest]
    assert decided(card_data, attempt.of_account(settled=totals[400], held=0)).amount == 400


def test_a_purchase_that_consists_only_of_cashback_is_not_partially_approved(card_data: CardData, user: Holder) -> None:
    attempt = attempt_of(user).of_account(settled=50_00, held=0).used(cashback_amount=80_00).asking(partial=True)

    assert decided(card_data, attempt).code == "51"


def test_the_available_balance_excludes_held_and_reserved_amounts(card_data: CardData, user: Holder) -> None:
    attempt = attempt_of(user).of_account(settled=100_00, held=15_00, reserved=5_00)

    assert decided(card_data, attempt).code == "00"
    assert decided(card_data, attempt.asking(amount=80_01)).code == "51"
