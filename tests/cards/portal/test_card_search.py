"""Tests of portal searches: cards by name, number, holder and status, and activity by response, type and time."""

from typing import Any

import pytest

from chalicelib.cards.issuing.card_record import Card, put_row, update_listed
from chalicelib.cards.portal.portal import Portal
from tests.cards.issuer import (
    DAY,
    EVERYDAY,
    HOLDER_BLOCK,
    HOLDER_DETAILS,
    MANAGER,
    PREPAID,
    Issuer,
    NewCard,
    list_cards,
)


def found(portal: Portal, **wanted: Any) -> list[int]:
    return [each["card_id"] for each in list_cards(portal, **wanted)["data"]]


def test_the_search_finds_cards_by_number_holder_name_status_and_programme(portal: Portal, issuer: Issuer) -> None:
    made = issuer.card(card_name_line_3="ADA LOVELACE", card_program_id=EVERYDAY)
    other = issuer.card()

    assert made.card_id in found(portal, last_four=made.pan[-4:])
    assert found(portal, holder_id=made.holder_id) == [made.card_id]
    assert found(portal, name="lovel") == [made.card_id]
    assert found(portal, name="lovel", program_id=EVERYDAY, status="N", last_four=made.pan[-4:]) == [made.card_id]
    for wrong in ({"status": "B"}, {"program_id": PREPAID}, {"holder_id": other.holder_id}, {"name": "babbage"}):
        assert found(portal, **{"holder_id": made.holder_id, "name": "lovel"} | wrong) == []


def test_the_search_finds_cards_by_the_name_of_the_holder(portal: Portal, issuer: Issuer) -> None:
    person, firm = {"holder_first_name": "Åsa", "holder_last_name": "Lindqvist"}, {"holder_type": 1}
    made = issuer.card(**HOLDER_BLOCK | person, card_name_line_3="A L")
    shop = issuer.card(**HOLDER_BLOCK | firm, holder_business_name="Kestrel Cycles Ltd", card_name_line_3="A L")

    assert [found(portal, name=each) for each in ("asa lindq", "ÅSA", "A\u030asa")] == [[made.card_id]] * 3
    assert found(portal, name="kestrel cycles") == [shop.card_id]
    assert [each["holder_name"] for each in list_cards(portal, name="kestrel")["data"]] == ["Kestrel Cycles Ltd"]


def test_the_search_finds_a_card_by_the_holder_name_at_the_time_of_issue(portal: Portal, issuer: Issuer) -> None:
    holder = issuer.holder(last_name="Oldname")
    made = issuer.card(holder_id=holder, card_name_line_3="A L")
    issuer.data("updateHolder", holder_id=holder, **HOLDER_DETAILS | {"last_name": "Newname"})

    assert found(portal, name="oldname") == [made.card_id]
    assert issuer.card(holder_id=holder).card_id in found(portal, name="newname")


def test_the_search_finds_a_card_by_its_new_status_after_every_status_change(portal: Portal, issuer: Issuer) -> None:
    made = issuer.card()
    statuses = []
    for action, members in (
        ("activateCard", {}),
        ("changeCardStatus", {"status": "T"}),
        ("changeCardStatus", {"status": "L"}),
        ("reissueCard", {"generate_new_pan": 1, "generate_new_pin": 1, "card_name_line_3": "ZOE O"}),
    ):
        issuer.data(action, card_id=made.card_id, **members)
        statuses += [status for status in "NATRLSEB" if found(portal, status=status, holder_id=made.holder_id)]

    assert statuses == ["A", "T", "L", "N"]


def test_the_search_finds_a_card_by_the_status_that_a_risk_rule_set(portal: Portal, issuer: Issuer) -> None:
    """The transaction that changes the card also writes the card's row in the card list."""
    card = Card.from_item(issuer.hub.store.get(*Card.key(issuer.card_in("A").card_id)) or {})
    issuer.hub.store.transact(update_listed(card, "attempt", stored_status="R"))

    assert found(portal, status="R", holder_id=card.holder_id) == [card.id]


def test_the_search_finds_an_expired_card_by_status_e(portal: Portal, issuer: Issuer) -> None:
    made = issuer.card_in("E")
    later = issuer.with_own_clock(days=62)

    def statuses(issuer: Issuer) -> list[str]:
        portal = issuer.hub.cards.portal
        return [status for status in "AE" if found(portal, status=status, holder_id=made.holder_id)]

    assert (statuses(issuer), statuses(later)) == (["A"], ["E"])


def test_the_search_finds_a_reissued_card_by_its_new_number(portal: Portal, issuer: Issuer) -> None:
    made = issuer.card()
    words = {"generate_new_pan": 1, "generate_new_pin": 1, "card_name_line_3": "GRACE HOPPER"}
    again = issuer.data("reissueCard", card_id=made.card_id, **words)

    assert found(portal, holder_id=made.holder_id, last_four=again["pan"][-4:], name="hopper") == [made.card_id]
    if again["pan"][-4:] != made.pan[-4:]:
        assert found(portal, holder_id=made.holder_id, last_four=made.pan[-4:]) == []


OLDEST_ROW = {"owner", "part", "card_id", "written_by"}
SEARCHED_FIRST = {"status", "expiry", "program_id", "holder_id", "last_four"}


def write_earlier_row(issuer: Issuer, made: NewCard, kept: set[str], **members: Any) -> None:
    card = Card.from_item(issuer.hub.store.get(*Card.key(made.card_id)) or {})
    row = put_row(card, "", made.pan, "attempt").item
    issuer.hub.store.put("cards", {name: row[name] for name in kept} | members)


def test_the_search_finds_a_card_with_an_older_list_row_that_contains_only_an_id(
    portal: Portal, issuer: Issuer
) -> None:
    made = issuer.card_in("T")
    write_earlier_row(issuer, made, OLDEST_ROW)

    assert found(portal, holder_id=made.holder_id, last_four=made.pan[-4:], status="T", name="ONEIL") == [made.card_id]
    assert found(portal, holder_id=made.holder_id, name="neil-smith") == [made.card_id]
    assert found(portal, holder_id=made.holder_id, name="babbage") == []
    assert made.card_id not in found(portal, holder_id=made.holder_id, status="B")
    issuer.data("changeCardStatus", card_id=made.card_id, status="A")
    assert found(portal, holder_id=made.holder_id, status="A") == [made.card_id]


@pytest.mark.parametrize("name", ["zoë", "ZOE", "bjork"])
def test_the_search_finds_a_row_without_a_holder_name_by_the_name_on_the_card(
    portal: Portal, issuer: Issuer, name: str
) -> None:
    """The row has no holder's name. The search compares the name on the card, including diacritics."""
    person = {"holder_first_name": "Astrid", "holder_last_name": "Björk"}
    made = issuer.card(**HOLDER_BLOCK | person, card_name_line_3="ZOË A")
    write_earlier_row(issuer, made, {*OLDEST_ROW, *SEARCHED_FIRST}, name="zoë a")

    assert found(portal, holder_id=made.holder_id, name=name) == [made.card_id]
    assert found(portal, holder_id=made.holder_id, name="babbage") == []


def test_the_search_finds_a_reissued_card_of_an_earlier_version_by_its_holder(portal: Portal, issuer: Issuer) -> None:
    made = issuer.card_in("L")
    write_earlier_row(issuer, made, OLDEST_ROW)
    issuer.data("reissueCard", card_id=made.card_id, generate_new_pan=1, generate_new_pin=1, card_name_line_3="A L")

    assert found(portal, holder_id=made.holder_id, name="neil-smith") == [made.card_id]


def test_the_search_finds_activity_by_response_type_and_time(portal: Portal, issuer: Issuer) -> None:
    made = issuer.spendable(100_00)
    held = issuer.purchase(made.card_id, 25_00)
    issuer.purchase(made.card_id, 900_00)
    issuer.sim("simulateReversal", trans_link=held["trans_link"])
    issuer.clock.advance(5)
    now = issuer.clock.time()

    def messages(**wanted: Any) -> list[tuple[int, str]]:
        rows = portal.read(MANAGER, "listActivity", item_count=100, card_id=made.card_id, **wanted)["data"]
        return [(row["authorize_type"], row["response_code"]) for row in rows]

    assert messages(approved=0) == [(1, "51")]
    assert messages(approved=1) == [(4, "00"), (1, "00")]
    assert messages(approved=1, authorize_type=4) == [(4, "00")]
    assert messages(date_from=now - DAY, date_to=now) == messages()
    assert messages(date_from=now + 10) == messages(date_to=now - DAY) == []
