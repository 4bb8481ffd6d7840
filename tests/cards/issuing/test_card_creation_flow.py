"""Tests of createCard: members of a new card, its accounts and its holder come from the request or the programme."""

import re
from typing import Any

import pytest

from chalicelib.cards.card_data import numbers, pins_and_passwords
from tests.cards.issuer import (
    BRITAIN,
    DELIVERY,
    EUR,
    EVERYDAY,
    GBP,
    GERMANY,
    HOLDER_BLOCK,
    ONLINE,
    PIN,
    PREPAID,
    USD,
    Issuer,
    NewCard,
)
from tests.cards.specification import TABLES
from tests.cards.whole_requests import NO_RECORDS, WHOLE_DELIVERY, whole

LEAST = {"card_program_id": EVERYDAY, "card_country_ison": GERMANY, "card_virtual": 1, "card_name_line_3": "ZOE ONEIL"}


def details(issuer: Issuer, card: NewCard) -> dict[str, Any]:
    return dict(issuer.data("getCardDetails", card_id=card.card_id))


def refusal(issuer: Issuer, **members: Any) -> tuple[int | None, str]:
    answer = issuer.do("createCard", **LEAST | HOLDER_BLOCK | members)
    return answer.status_code, answer.message


def test_a_new_card_has_the_requested_members(issuer: Issuer) -> None:
    physical = whole("createCard", NO_RECORDS)[0]

    card = issuer.card(**physical)

    assert details(issuer, card) == {
        "card_id": card.card_id,
        "holder_id": card.holder_id,
        "primary_account_id": card.account_id,
        "virtual": 0,
        "program_id": EVERYDAY,
        "reference_number": "Ref7",
        "invalid_pin_tries": 0,
        "invalid_pin_tries_max_limit": 3,
        "product_id": 12,
        "sub_product_id": 2,
        "status": "N",
        "pin_status": 0,
        "default_currency_ison": GBP,
        "country_ison": GERMANY,
        "service_code": 201,
        "fees_group_id": 302,
        "limits_group_id": 202,
        "usages_group_id": 602,
        "risk_group_id": 403,
        "card_design_id": 23,
        "name_line_3": "DR ZOE ONEIL",
        "name_line_4": "O'NEIL, SOEHNE",
        "expiry_month": 3,
        "expiry_year": 2028,
        "participating": 0,
    }
    assert (card.pin, card.acs_password) == (PIN, "quiet-Otter 1!")
    assert card.expiration == {"year": 2028, "month": 3}
    accounts = issuer.data("getAccounts", card_id=card.card_id)
    assert [account["currency_ison"] for account in accounts] == [GBP, EUR, USD]
    assert {account["limit_group_id"] for account in accounts} == {212}
    assert {account["holder_id"] for account in accounts} == {card.holder_id}


@pytest.mark.parametrize(
    ("programme", "expected"),
    [
        (EVERYDAY, (11, 1, 21, 301, 201, 601, 401, EUR, 201, 2029, 3, 501, 211, 301, 401)),
        (PREPAID, (13, 1, 21, 303, 203, 601, 401, EUR, 221, 2028, 3, 502, None, 303, 401)),
        (ONLINE, (11, 1, 22, 302, 203, 603, 402, GBP, 121, 2027, 3, 501, None, 301, 401)),
    ],
)
def test_a_new_card_has_the_values_of_its_programme_for_members_that_the_request_omits(
    issuer: Issuer, programme: int, expected: tuple[Any, ...]
) -> None:
    card = issuer.card(card_program_id=programme)

    found = details(issuer, card)
    [account] = issuer.data("getAccounts", card_id=card.card_id)

    names: tuple[str, ...] = (
        "product_id",
        "sub_product_id",
        "card_design_id",
        "fees_group_id",
        "limits_group_id",
        "usages_group_id",
    )
    names += ("risk_group_id", "default_currency_ison", "service_code", "expiry_year", "expiry_month")
    of_account = ("program_id", "limit_group_id", "fee_group_id", "risk_group_id")
    assert (*(found[name] for name in names), *(account[name] for name in of_account)) == expected
    assert not {"reference_number", "name_line_4", "status_change_note"} & set(found)


def test_a_card_number_is_valid_and_has_the_prefix_of_its_programme(issuer: Issuer) -> None:
    for programme, beginning, length in ((EVERYDAY, "222300", 16), (PREPAID, "40000012", 16), (ONLINE, "40000034", 19)):
        card = issuer.card(card_program_id=programme)
        assert card.pan.startswith(beginning)
        assert len(card.pan) == length
        assert numbers.is_valid(card.pan)
        assert re.fullmatch("[0-9]{3}", card.cvc2)


def test_a_missing_pin_and_acs_password_are_generated(issuer: Issuer) -> None:
    cards = [issuer.card(card_virtual=0) for _ in range(3)]

    assert all(re.fullmatch("[0-9]{4}", card.pin) and not pins_and_passwords.is_simple(card.pin) for card in cards)
    assert len({card.acs_password for card in cards}) == 3
    assert all(6 <= len(card.acs_password) <= 128 for card in cards)


def test_a_virtual_card_has_no_pin_and_no_delivery_order(issuer: Issuer) -> None:
    ignored = {"card_pin": "1", "order_shipping_method": 999, "delivery_zipcode": "x" * 99, "order_delivery_code": "?"}

    card = issuer.card(**ignored)

    assert card.pin == ""
    assert issuer.data("getPin", card_id=card.card_id) == {"pin": ""}
    assert not [item for item in issuer.hub.store.scan("cards") if item["owner"] == f"card#{card.card_id}"][1:]


def test_the_order_of_a_physical_card_has_every_delivery_member(issuer: Issuer) -> None:
    card = issuer.card(card_virtual=0, **WHOLE_DELIVERY)

    items = [item for item in issuer.hub.store.scan("cards") if item["owner"] == f"card#{card.card_id}"]
    [order] = [item for item in items if item["part"].startswith("order#")]
    assert order["delivery"] == WHOLE_DELIVERY
    assert order["part"].endswith(str(card.card_request_id))


# -- accounts


@pytest.mark.parametrize("form", [[GBP, EUR], "826,978", ["826", EUR], "826 , 978"])
def test_a_new_card_has_one_account_per_currency_and_the_first_account_is_the_default(
    issuer: Issuer, form: Any
) -> None:
    card = issuer.card(card_currency_ison=form)

    accounts = issuer.data("getAccounts", card_id=card.card_id)
    assert [account["currency_ison"] for account in accounts] == [GBP, EUR]
    assert accounts[0]["id"] == card.account_id
    assert details(issuer, card)["default_currency_ison"] == GBP


def test_a_single_currency_is_accepted_and_the_default_is_the_currency_of_the_programme(issuer: Issuer) -> None:
    for form, expected in ((USD, USD), ("840", USD), ("", EUR), ([], EUR), (None, EUR)):
        assert details(issuer, issuer.card(card_currency_ison=form))["default_currency_ison"] == expected


def test_unsupported_repeated_or_more_than_ten_currencies_are_rejected(issuer: Issuer) -> None:
    assert refusal(issuer, card_currency_ison=[EUR, 36])[0] == 5003
    assert refusal(issuer, card_program_id=PREPAID, card_currency_ison=GBP)[0] == 5003
    assert refusal(issuer, card_currency_ison="978,978")[0] == 2005
    assert refusal(issuer, card_currency_ison="978,826,840,36,124,208,392,578,752,756,985")[0] == 2003


def test_a_card_is_created_on_existing_accounts(issuer: Issuer) -> None:
    owner, holder = issuer.holder(), issuer.holder()
    accounts = [issuer.account(holder_id=owner, currency_ison=USD), issuer.account(holder_id=owner)]

    card = issuer.card(holder_id=holder, account_id=accounts, account_owner_id=[owner, owner])

    assert (card.holder_id, card.account_id) == (holder, accounts[0])
    assert [row["id"] for row in issuer.data("getAccounts", card_id=card.card_id)] == accounts
    assert details(issuer, card)["default_currency_ison"] == USD
    assert issuer.data("getHolderAccounts", holder_id=holder) == []


def test_invalid_lists_of_existing_accounts_are_rejected(issuer: Issuer) -> None:
    eleven = list(range(1, 12))

    assert refusal(issuer, account_id=eleven, account_owner_id=eleven)[0] == 2003
    assert refusal(issuer, account_id=[5, 5], account_owner_id=[1, 1])[0] == 2005
    assert refusal(issuer, account_id=[5, 6])[0] == 2006
    assert refusal(issuer, account_id=[5, 6], account_owner_id=[1])[0] == 2003
    assert refusal(issuer, account_id=5, account_owner_id=1, card_currency_ison=EUR)[0] == 2007


# -- what the programme allows


@pytest.mark.parametrize(
    ("programme", "members"),
    [
        (PREPAID, {"card_product_id": 11}),
        (PREPAID, {"card_design_id": 22}),
        (PREPAID, {"card_fee_group_id": 302}),
        (PREPAID, {"card_limit_group_id": 202}),
        (PREPAID, {"card_usage_group_id": 603}),
        (PREPAID, {"risk_rules_group_id": 403}),
        (PREPAID, {"auto_conversion": 1}),
        (PREPAID, {"card_country_ison": 840}),
        (PREPAID, {"card_validity_period": 37}),
        (EVERYDAY, {"card_validity_period": 61}),
        (ONLINE, {"card_virtual": 0, **DELIVERY}),
        (PREPAID, {"card_virtual": 0, **DELIVERY, "order_shipping_method": 702}),
    ],
)
def test_a_member_that_the_programme_does_not_allow_returns_2005(
    issuer: Issuer, programme: int, members: dict[str, Any]
) -> None:
    code, message = refusal(issuer, card_program_id=programme, **members)

    assert code == 2005
    assert any(name in message for name in members)


def test_auto_conversion_defaults_to_the_setting_of_the_programme(issuer: Issuer) -> None:
    """With auto conversion, a card pays foreign currencies from its default account.

    Without auto conversion, a foreign purchase is declined with code 57.
    """
    for members, expected in (
        ({}, "00"),
        ({"auto_conversion": 1}, "00"),
        ({"auto_conversion": "0"}, "57"),
        ({"card_program_id": PREPAID}, "57"),
    ):
        card = issuer.card_in("A", **members)
        for currency, code in ((EUR, "00"), (USD, expected)):
            assert issuer.authorization(card_id=card.card_id, currency_ison=currency)["response_code"] == code


@pytest.mark.parametrize(("months", "expiry"), [(1, (2026, 4)), ("10", (2027, 1)), (60, (2031, 3)), (None, (2029, 3))])
def test_a_card_expires_after_the_requested_months(issuer: Issuer, months: Any, expiry: tuple[int, int]) -> None:
    card = issuer.card(card_validity_period=months)

    found = details(issuer, card)
    assert (found["expiry_year"], found["expiry_month"]) == expiry
    assert card.expiration == {"year": expiry[0], "month": expiry[1]}


def test_the_ids_of_new_cards_are_in_ascending_order(issuer: Issuer) -> None:
    cards = [issuer.card() for _ in range(3)]

    for name in ("card_id", "card_request_id", "holder_id", "account_id"):
        numbers = [getattr(card, name) for card in cards]
        assert numbers == sorted(set(numbers))


def test_a_card_country_is_accepted_as_a_number_or_as_text(issuer: Issuer) -> None:
    for country, meant in ((BRITAIN, BRITAIN), ("826", BRITAIN), ("036", 36), (36, 36)):
        assert details(issuer, issuer.card(card_country_ison=country))["country_ison"] == meant


EMBOSSED = (
    *("card_name_line_3", "card_name_line_4", "track_data_first_name", "track_data_last_name"),
    *("card_thermal_line_1", "card_thermal_line_2"),
)


@pytest.mark.parametrize("action", ["createCard", "reissueCard"])
@pytest.mark.parametrize("text", ["ZOE^ONEIL", "ZOE/ONEIL", "ZOE \U0001f600", "Ζωή Νιλ"])
@pytest.mark.parametrize("virtual", [0, 1])
def test_unprintable_embossing_text_returns_2004(issuer: Issuer, action: str, text: str, virtual: int) -> None:
    card = issuer.card(card_virtual=virtual)
    least = LEAST | {"card_virtual": virtual} if action == "createCard" else {"card_id": card.card_id}
    common = least | HOLDER_BLOCK if action == "createCard" else least
    common |= DELIVERY | {"card_name_line_3": "Zoë O\u2019Neil"}
    names = [name for name in EMBOSSED if name in TABLES[action].request]

    for name in names:
        answer = issuer.do(action, **common | {name: text})
        assert (answer.status_code, name in answer.message, text in answer.message) == (2004, True, False)
    answer = issuer.do(action, **common | dict.fromkeys(names, text))
    assert (answer.status_code, all(name in answer.message for name in names)) == (2004, True)
    assert issuer.data("getCardDetails", card_id=card.card_id)["name_line_3"] == "ZOE ONEIL"
    assert issuer.do(action, **common).status == "success"
