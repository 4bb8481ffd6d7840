"""Tests of 3-D Secure: whitelist rules, frictionless outcomes and the cardholder's responses."""

import uuid
from typing import Any

import pytest

from tests.cards.field_values import LISTS_LONGEST
from tests.cards.issuer import BRITAIN, EUR, GBP, Issuer

PURCHASE: dict[str, Any] = {
    "acquirer_bin": "400012",
    "merchant_id": "SHOP-1",
    "mcc": "0742",
    "merchant_country_ison": 36,
    "merchant_name": "Corner, Shop & Söhne",
}
CRITERIA: dict[str, tuple[Any, dict[str, Any]]] = {
    "acquirer_bin_merchant_id": ("123456+X, 400012+SHOP-1", {"merchant_id": "SHOP-2"}),
    "mcc": ("5411,0742", {"mcc": "7420"}),
    "merchant_country_ison": ("826, 36", {"merchant_country_ison": 360}),
    "merchant_name": (["Books", "Corner, Shop & Söhne"], {"merchant_name": "Corner"}),
}
"""The matching criteria of a whitelist rule, each with a change to the purchase that prevents a match."""


def rule(issuer: Issuer, card_id: int, **members: Any) -> int:
    return int(
        issuer.data("createCardAcsMerchantWhitelistRule", rule_name="Groceries", card_id=card_id, **members)["rule_id"]
    )


def outcome(issuer: Issuer, card_id: int, **members: Any) -> str:
    return str(issuer.authentication(card_id, **PURCHASE | members)["outcome"])


@pytest.mark.parametrize("name", CRITERIA)
def test_a_whitelist_rule_matches_if_one_entry_of_its_list_matches(issuer: Issuer, name: str) -> None:
    card = issuer.card_in("A").card_id
    entries, other = CRITERIA[name]
    assert outcome(issuer, card) == "challenge"

    rule(issuer, card, **{name: entries})

    assert outcome(issuer, card) == "frictionless"
    assert outcome(issuer, card, **other) == "challenge"
    assert outcome(issuer, card, **dict.fromkeys(other)) == "challenge"


def test_a_whitelist_rule_matches_only_if_every_criterion_matches(issuer: Issuer) -> None:
    card = issuer.card_in("A").card_id

    rule(issuer, card, **{name: entries for name, (entries, _) in CRITERIA.items()})

    assert outcome(issuer, card) == "frictionless"
    for _, other in CRITERIA.values():
        assert outcome(issuer, card, **other) == "challenge"


def test_a_matching_rule_makes_an_authentication_frictionless_only_for_the_card_of_the_rule(issuer: Issuer) -> None:
    card, other = issuer.card_in("A").card_id, issuer.card_in("A").card_id

    numbers = [rule(issuer, card, mcc="5411"), rule(issuer, card, mcc="0742")]

    assert numbers == sorted(numbers)
    assert [outcome(issuer, each) for each in (card, other)] == ["frictionless", "challenge"]


def test_a_rule_with_a_maximum_amount_matches_only_its_currency(issuer: Issuer) -> None:
    card = issuer.card_in("A").card_id

    rule(issuer, card, mcc="0742", maximum_amount=5000, maximum_amount_currency_ison=EUR)

    for amount, currency, expected in (
        (5000, EUR, "frictionless"),
        (0, EUR, "frictionless"),
        (5001, EUR, "challenge"),
        (1, GBP, "challenge"),
    ):
        assert outcome(issuer, card, amount=amount, currency_ison=currency) == expected


def test_whitelist_entries_above_the_maximum_length_return_2003(issuer: Issuer) -> None:
    card = issuer.card_in("A").card_id
    pairs = ",".join(f"4000{number:04}+S{number:05}" for number in range(4095))
    codes = ",".join(f"{number:04}" for number in range(10_000))
    lists = {
        "acquirer_bin_merchant_id": f"{pairs},400012+SHOP-1".ljust(LISTS_LONGEST),
        "mcc": codes.ljust(LISTS_LONGEST),
        "merchant_country_ison": ("276," * 16_000 + "36").ljust(LISTS_LONGEST),
        "merchant_name": [PURCHASE["merchant_name"], "東" * (LISTS_LONGEST - len(PURCHASE["merchant_name"]))],
    }
    assert {len(value) if isinstance(value, str) else sum(map(len, value)) for value in lists.values()} == {
        LISTS_LONGEST
    }

    rule(issuer, card, **lists)

    assert outcome(issuer, card) == "frictionless"
    for _, other in list(CRITERIA.values())[2:]:
        assert outcome(issuer, card, **other) == "challenge"
    for name, value in lists.items():
        longer = [*value, "x"] if isinstance(value, list) else f"{value} "
        answer = issuer.do("createCardAcsMerchantWhitelistRule", rule_name="x", card_id=card, **{name: longer})
        assert (answer.status_code, name in answer.message) == (2003, True)


def test_a_duplicate_rule_code_returns_2005(issuer: Issuer) -> None:
    """A rule code must be unique among all cards of a programme manager."""
    one, other = issuer.card_in("A").card_id, issuer.card_in("A").card_id
    code = str(uuid.uuid4())
    first = {"rule_name": "x", "mcc": "5411", "rule_code": code}

    rule(issuer, one, mcc="5411", rule_code=code)

    for card in (one, other):
        answer = issuer.do("createCardAcsMerchantWhitelistRule", **first, card_id=card)
        assert (answer.status_code, "rule_code" in answer.message) == (2005, True)
    foreign = issuer.as_caller("other")
    assert foreign.do(
        "createCardAcsMerchantWhitelistRule", **first, card_id=foreign.card(card_program_id=1101).card_id
    ).data["rule_id"]
    rule(issuer, one, mcc="5411", rule_code=code[::-1])
    assert rule(issuer, one, mcc="5411") < rule(issuer, one, mcc="5411")


# -- the cardholder's answer


@pytest.mark.parametrize("status", ["N", "T", "R", "L", "S", "B"])
def test_authentication_of_an_inactive_card_is_rejected(issuer: Issuer, status: str) -> None:
    card = issuer.card_in(status).card_id

    assert issuer.authentication(card) == {"outcome": "rejected"}


@pytest.mark.parametrize("answered", ["Y", "N"])
@pytest.mark.parametrize("with_value", [True, False])
def test_a_second_confirmation_of_an_authentication_returns_4008(
    issuer: Issuer, answered: str, with_value: bool
) -> None:
    card = issuer.card_in("A").card_id
    asked = issuer.authentication(card)
    value = {"validation_value": asked["validation_value"]} if with_value else {}
    answer = {"auth_request_id": asked["auth_request_id"], "oob_auth_method": "2"}

    first = issuer.do("authenticationConfirm", **answer, confirmation_status=answered, **value)
    again = issuer.do("authenticationConfirm", **answer, confirmation_status="Y", **value)

    assert first.raw == '{"status":"success","duplicated":0,"data":{}}'
    assert again.status_code == 4008


def test_a_confirmation_after_five_minutes_returns_4008(issuer: Issuer) -> None:
    card = issuer.card_in("A").card_id
    requests = [issuer.authentication(card) for _ in range(2)]
    assert {asked["expires_at"] for asked in requests} == {issuer.clock.time() + 300}

    codes = [
        issuer.with_own_clock(days=seconds / 86400)
        .do(
            "authenticationConfirm",
            auth_request_id=asked["auth_request_id"],
            confirmation_status="Y",
            oob_auth_method=1,
        )
        .status_code
        for seconds, asked in zip((299, 300), requests, strict=True)
    ]

    assert codes == [None, 4008]


def test_a_wrong_confirmation_value_returns_6004_and_the_fifth_ends_the_authentication(issuer: Issuer) -> None:
    card = issuer.card_in("A").card_id
    asked, other = issuer.authentication(card), issuer.authentication(card)
    answer = {"auth_request_id": asked["auth_request_id"], "confirmation_status": "Y", "oob_auth_method": 1}
    right, wrong = asked["validation_value"], f"{(int(asked['validation_value']) + 1) % 10**6:06}"

    for _ in range(4):
        assert issuer.do("authenticationConfirm", **answer, validation_value=wrong).status_code == 6004
    good = {**answer, "auth_request_id": other["auth_request_id"], "validation_value": other["validation_value"]}
    assert issuer.do("authenticationConfirm", **good | {"validation_value": "0"}).status_code == 6004
    assert issuer.do("authenticationConfirm", **good).status == "success"
    assert issuer.do("authenticationConfirm", **answer, validation_value=wrong).status_code == 6004
    assert issuer.do("authenticationConfirm", **answer, validation_value=right).status_code == 4008


def test_a_merchant_country_matches_with_or_without_leading_zeros(issuer: Issuer) -> None:
    card = issuer.card_in("A").card_id
    rule(issuer, card, merchant_country_ison="036")

    for country, expected in ((36, "frictionless"), ("36", "frictionless"), ("036", "frictionless")):
        assert outcome(issuer, card, merchant_country_ison=country) == expected
    assert outcome(issuer, card, merchant_country_ison=BRITAIN) == "challenge"
