"""Tests of reissueCard, which replaces a card with a card that has the same or a new number and PIN."""

from typing import Any

import pytest

from tests.cards.issuer import DELIVERY, EUR, EVERYDAY, GBP, ONLINE, PIN, PREPAID, USD, Issuer, NewCard

NAME = {"card_name_line_3": "ZOE ONEIL"}
BODY = {**NAME, **DELIVERY}
OLD, NEW = 0, 1


def details(issuer: Issuer, card: NewCard) -> dict[str, Any]:
    return dict(issuer.data("getCardDetails", card_id=card.card_id))


def physical(issuer: Issuer, status: str = "A", **members: Any) -> NewCard:
    return issuer.card_in(status, card_virtual=0, card_pin=PIN, **members)


def reissued(issuer: Issuer, card: NewCard, **members: Any) -> NewCard:
    return NewCard(**issuer.data("reissueCard", card_id=card.card_id, **BODY | members))


def code(issuer: Issuer, card: NewCard, **members: Any) -> int | None:
    return issuer.do("reissueCard", card_id=card.card_id, **BODY | members).status_code


@pytest.mark.parametrize("pan", [None, OLD, NEW, "0", "1"])
@pytest.mark.parametrize("pin", [None, OLD, NEW, "0", "1"])
def test_a_reissued_card_has_the_requested_old_or_new_number_and_pin(issuer: Issuer, pan: Any, pin: Any) -> None:
    """By default, a reissued card has the same card number and a new PIN."""
    card = physical(issuer)

    new = reissued(issuer, card, generate_new_pan=pan, generate_new_pin=pin, card_pin="4826")

    assert (new.pan == card.pan) is (pan in (None, OLD, "0"))
    assert new.pin == (PIN if pin in (OLD, "0") else "4826")
    assert new.acs_password == card.acs_password
    assert issuer.data("getCardNumber", card_id=card.card_id) == {"pan": new.pan}
    assert issuer.data("getPin", card_id=card.card_id) == {"pin": new.pin}
    assert issuer.data("getCvc2", card_id=card.card_id) == {"cvc2": new.cvc2}


def test_a_reissued_card_has_the_same_ids_and_requires_activation(issuer: Issuer) -> None:
    card = physical(issuer, card_reference_id="Ref7", card_name_line_4="SOEHNE", card_validity_period=24)
    issuer.data("changeCardStatus", card_id=card.card_id, status="T", reason_code=9, note="why")
    issuer.data("changeCardSchemeAccountUpdatesStatus", card_id=card.card_id, participating=1)
    before = details(issuer, card)

    new = reissued(issuer, card, card_name_line_3="Z ONEIL", card_name_line_4="NO")

    assert new.card_id == card.card_id
    assert new.holder_id == card.holder_id
    assert new.account_id == card.account_id
    assert new.card_request_id > card.card_request_id
    changed = {"status": "N", "name_line_3": "Z ONEIL", "name_line_4": "NO", "expiry_year": 2029, "expiry_month": 3}
    kept = {name: value for name, value in before.items() if not name.startswith("status_change_")}
    assert details(issuer, card) == kept | changed
    assert new.expiration == {"year": 2029, "month": 3}
    assert issuer.do("activateCard", card_id=card.card_id, card_request_id=card.card_request_id).status_code == 6001
    issuer.data("activateCard", card_id=card.card_id, card_request_id=new.card_request_id)


def test_a_reissue_resets_the_count_of_pin_tries(issuer: Issuer) -> None:
    card = physical(issuer)
    issuer.block_pin(card.card_id)

    reissued(issuer, card, generate_new_pin=OLD)

    found = details(issuer, card)
    assert (found["invalid_pin_tries"], found["pin_status"]) == (0, 0)
    issuer.data("activateCard", card_id=card.card_id)
    assert issuer.authorization(card_id=card.card_id, pin=PIN)["response_code"] == "00"


# -- the number


def test_a_reissued_card_with_the_same_number_expires_at_least_a_month_later(issuer: Issuer) -> None:
    """An unchanged expiry would give the same CVC2."""
    card = physical(issuer)
    assert card.expiration == {"year": 2029, "month": 3}

    kept = reissued(issuer, card)
    new = reissued(issuer, card, generate_new_pan=NEW)
    later = reissued(issuer.with_own_clock(days=120), card)

    assert kept.expiration == {"year": 2029, "month": 4}
    assert new.expiration == {"year": 2029, "month": 3}
    assert later.expiration == {"year": 2029, "month": 6}


def test_a_reissued_card_with_the_same_number_is_valid_for_at_most_61_months(issuer: Issuer) -> None:
    """The longest validity is 60 months, counted from today."""
    card = physical(issuer, card_validity_period=60)
    assert card.expiration == {"year": 2031, "month": 3}

    assert reissued(issuer, card).expiration == {"year": 2031, "month": 4}
    answer = issuer.do("reissueCard", card_id=card.card_id, **BODY)
    assert (answer.status_code, "generate_new_pan" in answer.message) == (2005, True)
    assert reissued(issuer.with_own_clock(days=31), card).expiration == {"year": 2031, "month": 5}
    assert reissued(issuer, card, generate_new_pan=NEW).expiration == {"year": 2029, "month": 3}


def test_a_reissue_renews_an_expired_card(issuer: Issuer) -> None:
    card = physical(issuer, card_validity_period=1)
    ahead = issuer.with_own_clock(days=62)
    assert details(ahead, card)["status"] == "E"

    new = reissued(ahead, card)

    assert (details(ahead, card)["status"], new.expiration) == ("N", {"year": 2029, "month": 5})


@pytest.mark.parametrize(("status", "old"), [("A", "14"), ("T", "14"), ("R", "14"), ("L", "41"), ("S", "43")])
def test_the_old_number_of_a_reissued_card_is_declined(issuer: Issuer, status: str, old: str) -> None:
    card = physical(issuer, status)

    new = reissued(issuer, card, generate_new_pan=NEW)
    issuer.data("activateCard", card_id=card.card_id)

    assert issuer.authorization(pan=card.pan)["response_code"] == old
    assert issuer.authorization(pan=new.pan)["response_code"] == "00"


@pytest.mark.parametrize("status", ["L", "S"])
def test_a_lost_or_stolen_card_requires_a_new_number(issuer: Issuer, status: str) -> None:
    card = physical(issuer, status)

    for members in ({}, {"generate_new_pan": 0}):
        answer = issuer.do("reissueCard", card_id=card.card_id, **BODY, **members)
        assert (answer.status_code, "generate_new_pan" in answer.message) == (2005, True)
    assert details(issuer, card)["status"] == status
    reissued(issuer, card, generate_new_pan=NEW)


# -- virtual and physical


def test_a_virtual_card_becomes_physical_with_a_new_pin(issuer: Issuer) -> None:
    card = issuer.card()
    turned = {"virtual": 0, "card_program_id": EVERYDAY}

    assert code(issuer, card, virtual=0) == 2006
    assert code(issuer, card, **turned, generate_new_pin=OLD) == 2005
    without = issuer.do("reissueCard", card_id=card.card_id, **NAME, **turned)
    assert without.status_code == 2006
    assert all(name in without.message for name in DELIVERY)
    new = reissued(issuer, card, **turned, card_pin=PIN)

    assert (new.pin, details(issuer, card)["virtual"]) == (PIN, 0)
    assert issuer.data("getPin", card_id=card.card_id) == {"pin": PIN}
    orders = [item for item in issuer.hub.store.scan("cards") if item["owner"] == f"card#{card.card_id}"]
    assert [item["delivery"] for item in orders if item["part"].startswith("order#")] == [DELIVERY]


def test_a_physical_card_becomes_virtual_and_has_no_pin(issuer: Issuer) -> None:
    card = physical(issuer)
    junk = {"card_pin": "1", "delivery_zipcode": 7, "order_delivery_code": "?", "order_shipping_method": 999}

    assert code(issuer, card, virtual=1) == 2006
    new = NewCard(
        **issuer.data("reissueCard", card_id=card.card_id, **NAME, virtual=1, card_program_id=EVERYDAY, **junk)
    )

    assert (new.pin, details(issuer, card)["virtual"]) == ("", 1)
    assert issuer.data("getPin", card_id=card.card_id) == {"pin": ""}
    back = reissued(issuer, card, virtual=0, card_program_id=EVERYDAY)
    assert back.pin not in ("", PIN)


def test_reissuing_a_virtual_card_as_a_virtual_card_needs_no_delivery(issuer: Issuer) -> None:
    card = issuer.card()

    for members in ({}, {"virtual": 1}, {"order_shipping_method": 999999}, {"virtual": "1", "card_pin": "1"}):
        answer = issuer.do("reissueCard", card_id=card.card_id, **NAME, **members)
        assert (answer.status, answer.data["pin"]) == ("success", "")


@pytest.mark.parametrize("junk", [{"delivery_zipcode": 7}, {"order_delivery_code": "BULK7"}, {"card_pin": "1"}])
def test_pin_and_delivery_members_are_validated_only_for_physical_cards(issuer: Issuer, junk: dict[str, Any]) -> None:
    virtual, plastic = issuer.card(), physical(issuer)

    assert issuer.do("reissueCard", card_id=virtual.card_id, **NAME, **junk).status == "success"
    assert issuer.do("reissueCard", card_id=987654321, **NAME, **junk).status_code == 3002
    answer = issuer.do("reissueCard", card_id=plastic.card_id, **BODY | junk)
    assert answer.status_code is not None
    assert 2002 <= answer.status_code <= 2006
    assert any(name in answer.message for name in (*junk, "bulk_city"))
    missing = issuer.do("reissueCard", card_id=virtual.card_id, **junk)
    assert (missing.status_code, "card_name_line_3" in missing.message) == (2001, True)


def test_a_reissued_physical_card_requires_a_delivery(issuer: Issuer) -> None:
    card = physical(issuer)

    answer = issuer.do("reissueCard", card_id=card.card_id, **NAME)

    assert answer.status_code == 2006
    assert all(name in answer.message for name in DELIVERY)
    assert code(issuer, card, order_shipping_method=999) == 2005
    assert code(issuer, card) is None


def test_a_physical_reissue_in_a_virtual_programme_returns_2005(issuer: Issuer) -> None:
    card = physical(issuer, card_currency_ison=[EUR, GBP])

    for virtual in ({}, {"virtual": 0}):
        answer = issuer.do(
            "reissueCard", card_id=card.card_id, **BODY, **virtual, card_program_id=ONLINE, generate_new_pan=NEW
        )
        assert answer.status_code == 2005
    assert code(issuer, card, virtual=1, card_program_id=ONLINE, generate_new_pan=NEW) is None


# -- programmes


def test_a_programme_change_replaces_groups_that_the_new_programme_does_not_have(issuer: Issuer) -> None:
    card = physical(issuer, auto_conversion=0, card_fee_group_id=301, card_limit_group_id=201, card_usage_group_id=603)

    new = reissued(issuer, card, card_program_id=PREPAID, generate_new_pan=NEW)

    found = details(issuer, card)
    assert new.pan.startswith("40000012")
    assert found["program_id"] == PREPAID
    assert found["fees_group_id"] == 301
    assert found["limits_group_id"] == 201
    assert found["risk_group_id"] == 401
    assert found["usages_group_id"] == 601
    assert found["card_design_id"] == 21
    assert found["service_code"] == 221
    assert found["product_id"] == 13
    assert new.expiration == {"year": 2028, "month": 3}


def test_a_card_reissue_changes_only_the_requested_groups(issuer: Issuer) -> None:
    card = physical(issuer, card_design_id=22)

    reissued(issuer, card, card_fee_group_id=302, risk_rules_group_id="402")

    found = details(issuer, card)
    assert found["fees_group_id"] == 302
    assert found["risk_group_id"] == 402
    assert found["card_design_id"] == 22
    assert (
        code(issuer, card, card_program_id=PREPAID, generate_new_pan=NEW, auto_conversion=0, card_design_id=22) == 2005
    )


def test_a_reissue_to_a_programme_with_another_prefix_requires_a_new_number(issuer: Issuer) -> None:
    card = physical(issuer, auto_conversion=0)

    answer = issuer.do("reissueCard", card_id=card.card_id, **BODY, card_program_id=PREPAID)

    assert (answer.status_code, "generate_new_pan" in answer.message) == (2005, True)


def test_a_reissue_to_a_programme_without_the_cards_currency_or_country_is_rejected(issuer: Issuer) -> None:
    dollars = physical(issuer, auto_conversion=0, card_currency_ison=USD)
    abroad = physical(issuer, auto_conversion=0, card_country_ison=840)

    assert code(issuer, dollars, card_program_id=PREPAID, generate_new_pan=NEW) == 5003
    assert code(issuer, abroad, card_program_id=PREPAID, generate_new_pan=NEW) == 2005


@pytest.mark.parametrize(
    ("had", "members", "expected"),
    [
        (1, {}, 1),
        (0, {}, 0),
        (1, {"auto_conversion": 0}, 0),
        (0, {"auto_conversion": "1"}, 1),
        (0, {"card_program_id": EVERYDAY}, 0),
        (1, {"card_program_id": EVERYDAY}, 1),
        (0, {"card_program_id": PREPAID, "generate_new_pan": 1}, 0),
        (1, {"card_program_id": PREPAID, "generate_new_pan": 1}, 2005),
        (1, {"card_program_id": PREPAID, "generate_new_pan": 1, "auto_conversion": 0}, 0),
        (0, {"card_program_id": PREPAID, "generate_new_pan": 1, "auto_conversion": 1}, 2005),
    ],
)
def test_a_reissue_changes_auto_conversion_only_as_requested_and_as_the_programme_permits(
    issuer: Issuer, had: int, members: dict[str, Any], expected: int
) -> None:
    card = physical(issuer, auto_conversion=had)

    answer = issuer.do("reissueCard", card_id=card.card_id, **BODY, **members)

    if expected == 2005:
        assert (answer.status_code, "auto_conversion" in answer.message) == (2005, True)
        return
    issuer.data("activateCard", card_id=card.card_id)
    code = issuer.authorization(card_id=card.card_id, currency_ison=USD)["response_code"]
    assert code == ("00" if expected else "57")
