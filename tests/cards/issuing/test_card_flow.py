"""Tests of cards: activation checks, groups, account-updater participation, designs, PIN and password."""

from typing import Any

import pytest

from tests.cards.issuer import DAY, EVERYDAY, ONLINE, PREPAID, Issuer, NewCard


def known(card: NewCard) -> dict[str, Any]:
    assert card.expiration is not None
    return {
        "card_request_id": card.card_request_id,
        "card_pan": card.pan,
        "card_cvc2": card.cvc2,
        "card_expiration_year": card.expiration["year"],
        "card_expiration_month": card.expiration["month"],
    }


def wrong(name: str, value: Any) -> Any:
    if name == "card_cvc2":
        return f"{(int(value) + 1) % 1000:03}"
    if name == "card_expiration_month":
        return value % 12 + 1
    return str(int(value) + 1) if name == "card_pan" else value + 1


FIELDS = ("card_request_id", "card_pan", "card_cvc2", "card_expiration_year", "card_expiration_month")


@pytest.mark.parametrize("name", FIELDS)
def test_an_activation_with_a_wrong_field_returns_6001(issuer: Issuer, name: str) -> None:
    card = issuer.card()
    right = known(card)

    alone = issuer.do("activateCard", card_id=card.card_id, **{name: wrong(name, right[name])})
    among = issuer.do("activateCard", card_id=card.card_id, **right | {name: wrong(name, right[name])})
    answers = [alone.status_code, among.status_code]

    assert answers == [6001, 6001]
    assert issuer.data("getCardStatus", card_id=card.card_id) == {"card_status": "N"}
    assert issuer.do("activateCard", card_id=card.card_id, **{name: str(right[name])}).status == "success"
    assert issuer.data("getCardStatus", card_id=card.card_id) == {"card_status": "A"}


def test_five_failed_activations_block_the_activation_until_midnight(issuer: Issuer) -> None:
    """The block applies to one card until midnight UTC. During the block, even correct data are rejected."""
    card, other = issuer.card(), issuer.card()
    right = known(card)

    for _ in range(5):
        assert issuer.do("activateCard", card_id=card.card_id, card_request_id=987).status_code == 6001
    assert issuer.do("activateCard", card_id=card.card_id, card_request_id=987).status_code == 8004
    assert issuer.do("activateCard", card_id=card.card_id, **right).status_code == 8004
    assert issuer.do("activateCard", card_id=other.card_id, **known(other)).status == "success"
    before_midnight = issuer.with_own_clock(days=(15 * 3600 - 1) / DAY)
    assert before_midnight.do("activateCard", card_id=card.card_id, **right).status_code == 8004
    tomorrow = issuer.with_own_clock(days=15 / 24)
    assert tomorrow.do("activateCard", card_id=card.card_id, card_request_id=987).status_code == 6001
    assert tomorrow.do("activateCard", card_id=card.card_id, **right).status == "success"


@pytest.mark.parametrize(
    ("action", "name", "number", "member"),
    [
        ("assignCardToFeesGroup", "fees_group_id", 302, "fees_group_id"),
        ("assignCardToLimitsGroup", "limits_group_id", 203, "limits_group_id"),
        ("assignCardToUsageGroup", "usages_group_id", 603, "usages_group_id"),
        ("assignCardToRiskRuleGroup", "risk_rules_group_id", 403, "risk_group_id"),
        ("changeCardSchemeAccountUpdatesStatus", "participating", 1, "participating"),
    ],
)
def test_a_card_is_assigned_to_a_group(issuer: Issuer, action: str, name: str, number: int, member: str) -> None:
    card = issuer.card()
    before = issuer.data("getCardDetails", card_id=card.card_id)

    issuer.data(action, card_id=card.card_id, **{name: number})

    assert issuer.data("getCardDetails", card_id=card.card_id) == before | {member: number}


def test_the_participation_of_a_card_in_scheme_account_updates_is_switched_on_and_off(issuer: Issuer) -> None:
    card = issuer.card().card_id

    for flag, shown in ((1, 1), ("0", 0), ("1", 1), (0, 0)):
        issuer.data("changeCardSchemeAccountUpdatesStatus", card_id=card, participating=flag)
        assert issuer.data("getCardDetails", card_id=card)["participating"] == shown


@pytest.mark.parametrize(
    ("programme", "designs"),
    [
        (EVERYDAY, {21: "Plain Blue", 22: "Night", 23: "Meadow"}),
        (PREPAID, {21: "Plain Blue", 24: "Gift Ribbon"}),
        (ONLINE, {22: "Night"}),
    ],
)
def test_get_design_returns_each_design_name_in_two_response_members(
    issuer: Issuer, programme: int, designs: dict[int, str]
) -> None:
    assert issuer.data("getDesign", program_id=programme) == [
        {"card_design_id": number, "card_design_name": name, "name": name} for number, name in designs.items()
    ]


def test_requesting_the_designs_of_an_account_programme_returns_3004(issuer: Issuer) -> None:
    assert issuer.do("getDesign", program_id=501).status_code == 3004


def test_a_new_acs_password_replaces_the_previous_password(issuer: Issuer) -> None:
    card = issuer.card(acs_password="quiet-Otter 1!")

    for password in ("sixsix", "Łódź, 東京 & more", "x" * 128):
        issuer.data("changeCardAcsPassword", card_id=card.card_id, acs_password=password)
        assert issuer.data("getCardAcsPassword", card_id=card.card_id) == {"acs_password": password}


def test_a_pin_is_stored_with_leading_zeros(issuer: Issuer) -> None:
    card = issuer.card_in("A", card_virtual=0, card_pin="0071")

    assert (card.pin, issuer.data("getPin", card_id=card.card_id)) == ("0071", {"pin": "0071"})
    assert issuer.authorization(card_id=card.card_id, pin="0071")["response_code"] == "00"
    assert issuer.do("setPin", card_id=card.card_id, pin=71).status_code == 2003
