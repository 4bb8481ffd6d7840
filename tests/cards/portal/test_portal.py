"""Tests of the portal: users see their programme manager's cards without a credential, with masked numbers only."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from chalicelib.cards.ledger.account_record import Account
from chalicelib.cards.ledger.entries import movement_key
from chalicelib.cards.portal.portal import MODES, NAME, Portal
from chalicelib.cards.programs.credentials import Credential
from chalicelib.cards.protocol.card_records import CARD_FIELDS
from chalicelib.cards.protocol.status_codes import Refused, Status
from tests.cards.issuer import DAY, EUR, MANAGER, OTHER_MANAGER, USD, Issuer, NewCard, list_cards
from tests.kit.logs import Lines
from tests.kit.storage import record_calls

READS, LISTS = "BatchGetItem", ["Query"] * 16
NOWHERE = 999_999_999


@pytest.fixture(scope="module")
def card(issuer: Issuer) -> NewCard:
    return used_card(issuer)


def used_card(issuer: Issuer) -> NewCard:
    made = issuer.card_in("A", card_currency_ison=[EUR, USD], card_reference_id="REF7")
    issuer.give(made.account_id, 100_00)
    held = issuer.purchase(made.card_id, 25_00, merchant_name="Corner Shop")
    issuer.purchase(made.card_id, 900_00)
    issuer.clearing(held, 20_00, final=0)
    issuer.clock.advance(5)
    return made


def card_page(portal: Portal, card_id: int, manager_id: int = MANAGER, **counts: int) -> Mapping[str, Any]:
    found: Mapping[str, Any] = portal.read(
        manager_id, "showCard", card_id=card_id, **{"item_count": 10, "balance_count": 60} | counts
    )["data"]
    return found


def refused(call: Any, *arguments: Any, **members: Any) -> Status:
    with pytest.raises(Refused) as refusal:
        call(*arguments, **members)
    return refusal.value.status


# -- what is shown


def test_the_portal_shows_a_card_with_its_accounts_addresses_and_currencies(portal: Portal, card: NewCard) -> None:
    found = card_page(portal, card.card_id)
    euros, dollars = found["accounts"]

    assert found["card"]["card_id"] == card.card_id
    assert (found["card"]["status"], found["card"]["reference_number"]) == ("A", "REF7")
    assert (found["holder_name"], found["more_accounts"]) == ("Zoë O'Neil-Smith", 0)
    assert found["entries"]["usage_group"] == "Everything"
    assert [euros[f"{name}_balance"] for name in ("available", "settled", "held", "reserved")] == [
        75_00,
        80_00,
        5_00,
        0,
    ]
    assert dollars["currency_ison"] == USD
    assert dollars["transactions"] == []
    assert dollars["balances"] == []
    assert [address["account_id"] for address in found["addresses"]] == [card.account_id]
    assert found["currencies"] == [978, 826, 840]


def test_the_portal_shows_fees_and_credits_among_the_transactions_of_a_card(portal: Portal, issuer: Issuer) -> None:
    made = issuer.card_in("A")
    issuer.give(made.account_id, 10_00)
    fee = {"fee_group_id": 301, "fee_code": "CARDREPL", "description": "a new card", "amount": 100}
    issuer.data("createCustomFee", card_id=made.card_id, account_id=made.account_id, currency_ison=EUR, **fee)

    types = [row["transaction_type"] for row in card_page(portal, made.card_id)["accounts"][0]["transactions"]]

    assert types == [70, 60]


def test_the_lists_of_a_card_show_the_latest_rows_first(portal: Portal, card: NewCard) -> None:
    found = card_page(portal, card.card_id)
    (euros, _) = found["accounts"]
    (authorization,) = [each for each in found["authorizations"] if each["cleared"]]

    assert [row["response_code"] for row in found["activity"]] == ["51", "00"]
    assert [(row["transaction_type"], row["direction"]) for row in euros["transactions"]] == [
        (0, "debit"),
        (60, "credit"),
    ]
    assert [(row["settled"], row["held"]) for row in euros["balances"]] == [(80_00, 5_00), (100_00, 25_00), (100_00, 0)]
    assert authorization["state"] == "H"
    assert authorization["left_amount"] == 5_00
    assert authorization["merchant_name"] == "Corner Shop"
    assert len(card_page(portal, card.card_id, item_count=1)["activity"]) == 1
    assert len(card_page(portal, card.card_id, balance_count=2)["accounts"][0]["balances"]) == 2


def test_the_card_list_shows_the_newest_cards_first_in_pages(portal: Portal, issuer: Issuer, card: NewCard) -> None:
    made = [issuer.card().card_id for _ in range(3)]
    first = list_cards(portal, item_count=2)
    second = list_cards(portal, item_count=2, before=first["data"][-1]["card_id"])
    rest = list_cards(portal, before=second["data"][-1]["card_id"])
    numbers = [each["card_id"] for page in (first, second, rest) for each in page["data"]]

    assert (first["has_more_records"], rest["has_more_records"]) == ("Y", "N")
    assert numbers == sorted({*numbers, *made, card.card_id}, reverse=True)
    assert first["programme_manager"] == "Demo Programme"
    assert (first["data"][0]["holder_name"], first["data"][0]["program_name"]) == ("Zoë O'Neil-Smith", "Everyday Card")


def test_the_activity_list_shows_the_latest_rows_first_in_pages(portal: Portal, issuer: Issuer) -> None:
    card, other = used_card(issuer), issuer.card_in("A")
    for used in (card, other):
        issuer.clock.advance(1)
        issuer.purchase(used.card_id, 900_00)
    of_all = portal.read(MANAGER, "listActivity", item_count=2)
    place = {"before_at": of_all["data"][-1]["at"], "before_id": of_all["data"][-1]["authorize_id"]}
    further = portal.read(MANAGER, "listActivity", item_count=2, **place)
    of_card = portal.read(MANAGER, "listActivity", item_count=3, card_id=card.card_id)

    assert [row["card_id"] for row in of_all["data"]] == [other.card_id, card.card_id]
    shown = {row["authorize_id"] for row in of_all["data"]}
    assert further["data"]
    assert shown.isdisjoint(row["authorize_id"] for row in further["data"])
    assert [row["response_code"] for row in of_card["data"]] == ["51", "51", "00"]


def test_a_reissued_card_is_listed_once(portal: Portal, issuer: Issuer) -> None:
    made = issuer.card_in("L")
    issuer.data("reissueCard", card_id=made.card_id, generate_new_pan=1, generate_new_pin=1, card_name_line_3="ZOE O")

    assert [each["card_id"] for each in list_cards(portal)["data"]].count(made.card_id) == 1


# -- statements


def statement(portal: Portal, card_id: int, since: int, until: int, **members: Any) -> Mapping[str, Any]:
    asked = {"card_id": card_id, "date_from": since, "date_to": until, **members}
    data: Mapping[str, Any] = portal.read(MANAGER, "showStatement", **asked)["data"]
    return data


def test_statement_transactions_add_up_from_opening_to_closing_balance(portal: Portal, issuer: Issuer) -> None:
    made = issuer.spendable(500_00)
    issuer.clock.advance(DAY)
    since = issuer.clock.time()
    for amount, currency in ((20_00, EUR), (30_00, USD)):
        held = issuer.authorization(
            card_id=made.card_id, transaction_type=0, amount=amount, currency_ison=currency, merchant_name="Shop"
        )
        issuer.clearing(held, amount, currency_ison=currency)
    until = issuer.clock.time()
    issuer.clock.advance(DAY)
    issuer.give(made.account_id, 7_00)
    issuer.clock.advance(5)
    (past,) = [statement(portal, made.card_id, since, until + 60)]
    later = statement(portal, made.card_id, until + 61, issuer.clock.time())
    empty = statement(portal, made.card_id, 1, since - DAY - 3600)

    assert past["opening_balance"] == 500_00
    assert [row["settled_balance"] for row in past["transactions"]][-1] == past["closing_balance"]
    assert past["closing_balance"] == 500_00 + sum(row["settled_amount"] for row in past["transactions"])
    assert later["opening_balance"] == past["closing_balance"]
    assert later["closing_balance"] == later["account"]["settled_balance"]
    assert (empty["opening_balance"], empty["closing_balance"], empty["transactions"]) == (0, 0, [])


@pytest.mark.parametrize("many", [1, 99, 101, 250])
def test_computing_an_opening_balance_requires_at_most_4_batch_reads(portal: Portal, issuer: Issuer, many: int) -> None:
    made = issuer.card_in("A")
    account = Account.from_item(issuer.hub.store.get(*Account.key(made.account_id)) or {})
    begun = account.movements
    for number in range(1, many + 1):
        row = {"at": number * 1000, "settled": number * 10, "held": 0, "reserved": 0}
        issuer.hub.store.put("ledger", movement_key(account.owner, begun + number)[1] | row)
    moved = {"movements": begun + many, "settled": many * 10, "version": account.version + 1}
    issuer.hub.store.put("cards", (issuer.hub.store.get(*account.place) or {}) | moved)
    for second in {1, 2, many // 2 + 1, many, many + 1}:
        with record_calls(issuer.causeway) as calls:
            found = statement(portal, made.card_id, second, 10**10)
        assert found["opening_balance"] == (second - 1) * 10
        assert calls.count(READS) <= 4


def test_a_statement_of_an_account_of_another_card_is_rejected(portal: Portal, issuer: Issuer, card: NewCard) -> None:
    other = issuer.card()

    assert refused(statement, portal, card.card_id, 1, 2, account_id=other.account_id) == Status.NO_ACCOUNT
    assert refused(statement, portal, NOWHERE, 1, 2) == Status.NO_CARD


# -- what is not


def test_the_portal_shows_only_the_masked_number_of_the_card_data(portal: Portal, card: NewCard) -> None:
    text = json.dumps([card_page(portal, card.card_id), list_cards(portal)["data"]], default=str)

    assert f"{card.pan[:6]}******{card.pan[-4:]}" in text
    assert card.pan not in text
    assert card.acs_password not in text
    assert (
        not {"pin", "cvc2", "acs_password", "expiry_year", "expiry_month"}
        & card_page(portal, card.card_id)["card"].keys()
    )
    assert {field: MODES[field] for field in CARD_FIELDS if field != "pan"} == dict.fromkeys(
        ("pin", "cvc2", "acs_password", "expiry"), "absent"
    )


def test_each_displayed_number_writes_an_audit_line_with_the_credential(
    portal: Portal, card: NewCard, lines: Lines
) -> None:
    card_page(portal, card.card_id)
    (line,) = [each for each in lines.all() if each["message"] == "card data revealed"]

    assert line["credential"] == f"{MANAGER}.{NAME}"
    assert line["card_id"] == card.card_id
    assert line["field"] == "pan"
    assert line["mode"] == "masked"


def test_cards_of_another_programme_manager_return_no_card(portal: Portal, card: NewCard) -> None:
    asked = {"item_count": 10, "card_id": card.card_id}
    assert refused(card_page, portal, card.card_id, OTHER_MANAGER) is Status.NO_CARD
    assert refused(portal.read, OTHER_MANAGER, "listActivity", **asked) is Status.NO_CARD
    assert portal.read(OTHER_MANAGER, "listCards", item_count=20)["data"] == []
    assert portal.read(OTHER_MANAGER, "listActivity", item_count=20)["data"] == []
    assert refused(portal.act, OTHER_MANAGER, "activateCard", "reference-other", card_id=card.card_id) is Status.NO_CARD
    assert refused(card_page, portal, NOWHERE) is Status.NO_CARD


@pytest.mark.parametrize("action", ["getPin", "getCvc2", "getCardNumber", "updateHolder", "setPin"])
def test_the_portal_rejects_card_api_actions_that_are_not_in_its_list(
    portal: Portal, card: NewCard, action: str
) -> None:
    members = {"card_id": card.card_id}

    assert refused(portal.read, MANAGER, action, **members) is Status.UNKNOWN_ACTION
    assert refused(portal.act, MANAGER, action, "reference-portal", **members) is Status.UNKNOWN_ACTION


def test_the_card_api_rejects_the_actions_of_the_portal(issuer: Issuer, card: NewCard) -> None:
    answers = [issuer.do("showCard", card_id=card.card_id), issuer.sim("listCards", item_count=1)]

    assert [answer.status_code for answer in answers] == [1002, 1002]


def test_the_credential_of_the_portal_has_no_keys(issuer: Issuer) -> None:
    made = Credential(1000, None, MODES, manager_id=MANAGER, name=NAME, keys=())

    assert made.keys == ()
    assert NAME not in issuer.hub.cards.programmes.set_up(MANAGER).credentials


# -- what is done, and how much it takes


def test_two_calls_with_one_reference_are_executed_once(portal: Portal, issuer: Issuer) -> None:
    used = issuer.spendable(10_00)
    members = {"card_id": used.card_id, "transaction_type": 0, "amount": 6_00, "currency_ison": EUR}
    answers = [portal.act(MANAGER, "simulateAuthorization", "reference-twice", **members) for _ in range(2)]

    assert answers[0] == answers[1]
    assert issuer.balances(used.account_id)[0] == 4_00


def test_the_portal_pages_make_a_fixed_number_of_storage_calls(portal: Portal, issuer: Issuer, card: NewCard) -> None:
    with record_calls(issuer.causeway) as calls:
        list_cards(portal)
        portal.read(MANAGER, "listActivity", item_count=25)
        card_page(portal, card.card_id)

    of_card = [READS, READS, *["Query"] * 5, READS]
    assert calls == [*LISTS, READS, READS, *LISTS, *of_card]
