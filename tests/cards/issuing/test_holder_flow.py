"""Tests of holders: registered values, and updates that replace, keep or clear fields."""

from typing import Any

import pytest

from tests.cards import whole_requests
from tests.cards.issuer import BRITAIN, GERMANY, HOLDER_BLOCK, HOLDER_DETAILS, PREPAID, Issuer
from tests.cards.specification import TABLES
from tests.cards.whole_requests import WHOLE_BLOCK, WHOLE_HOLDER

UPDATED = {
    "business_name": "Neil Ltd",
    "title": "Prof",
    "first_name": "Zoé",
    "last_name": "Neil",
    "address_line_1": "9 Hill",
    "address_line_2": "Flat 9",
    "address_line_3": "Tower 9",
    "address_line_4": "c/o Nine",
    "zip_code": "ZE9 9ZZ",
    "city": "Lerwick",
    "state": "Shetland",
    "country_ison": GERMANY,
    "holder_limit_group_id": 221,
    "email": "neil@example.com",
    "date_of_birth": "1991-02-28",
    "industry_id": 9,
    "date_of_company_incorporation": "2016-07-31",
    "kyc_completion_level": 0,
    "kyc_document_expiration_date": "2031-01-01",
    "additional_charset_id": 9,
    "holder_locale": "de-DE",
    "phone_number": "0049301234567",
}
MANDATORY = {name: UPDATED[name] for name in HOLDER_DETAILS}
OPTIONAL = sorted(name for name, member in TABLES["updateHolder"].request.items() if member.requirement == "O")
KEPT_OPTIONAL = [name for name in OPTIONAL if name != "access_level"]


def holder_record(issuer: Issuer, holder_id: int) -> dict[str, Any]:
    return dict(issuer.data("getHolder", holder_id=holder_id))


def test_get_holder_returns_every_registered_member(issuer: Issuer) -> None:
    holder = issuer.holder(**WHOLE_HOLDER)

    assert holder_record(issuer, holder) == {**WHOLE_HOLDER, "id": holder, "access_level": 0}


def test_get_holder_omits_members_that_were_not_registered(issuer: Issuer) -> None:
    holder = issuer.holder()

    assert holder_record(issuer, holder) == {**HOLDER_DETAILS, "id": holder, "access_level": 0, "holder_type": "0"}


@pytest.mark.parametrize("given", [1, "1"])
def test_a_holder_type_sent_as_a_number_or_as_text_is_returned_as_text(issuer: Issuer, given: Any) -> None:
    holder = issuer.holder(**WHOLE_HOLDER | {"holder_type": given})
    card = issuer.card(holder_type=given, holder_business_name="Neil & Daughters Ltd")

    assert holder_record(issuer, holder)["holder_type"] == "1"
    assert issuer.data("getHolder", card_id=card.card_id)["holder_type"] == "1"


def test_an_invalid_email_of_an_older_record_is_unchanged_until_an_update(issuer: Issuer) -> None:
    """Records from earlier versions may have invalid email and IP addresses."""
    odd = {"email": "call me", "ip_address": "1234567"}
    holder = issuer.holder(**WHOLE_HOLDER)
    key = {"owner": f"holder#{holder}", "part": "holder"}
    item = issuer.hub.store.get("cards", key) or {}
    issuer.hub.store.put("cards", {**item, "details": item["details"] | odd})

    assert holder_record(issuer, holder) == {**WHOLE_HOLDER, **odd, "id": holder, "access_level": 0}
    assert issuer.do("updateHolder", holder_id=holder, business_name="Neil Ltd", **MANDATORY).id == holder
    assert holder_record(issuer, holder)["email"] == odd["email"]
    issuer.do("updateHolder", holder_id=holder, business_name="Neil Ltd", **MANDATORY, email="zoe@example.com")
    assert {name: holder_record(issuer, holder)[name] for name in odd} == odd | {"email": "zoe@example.com"}


def test_phone_numbers_are_returned_as_text_and_codes_are_returned_as_numbers(issuer: Issuer) -> None:
    found = holder_record(issuer, issuer.holder(phone_number=447700900123, country_ison="036", industry_id="0007"))

    assert found["phone_number"] == "447700900123"
    assert found["country_ison"] == 36
    assert found["industry_id"] == 7


@pytest.mark.parametrize("make", ["account", "card"])
def test_the_holder_members_of_a_card_request_create_the_same_holder_as_create_holder(
    issuer: Issuer, make: str
) -> None:
    """The holder members of createCard have different names. Missing members are not returned."""
    made = issuer.card(**WHOLE_BLOCK).holder_id if make == "card" else None
    if make == "account":
        [account] = issuer.data("getAccounts", account_id=issuer.account(**WHOLE_BLOCK))
        made = account["holder_id"]
    assert made is not None

    expected = {name: value for name, value in WHOLE_HOLDER.items() if name != "additional_charset_id"}
    assert holder_record(issuer, made) == {**expected, "id": made, "access_level": 17}


def test_a_new_holder_without_a_limit_group_has_the_limit_group_of_the_programme(issuer: Issuer) -> None:
    with_group, without = issuer.card(), issuer.card(card_program_id=PREPAID)

    assert holder_record(issuer, with_group.holder_id)["holder_limit_group_id"] == 221
    assert "holder_limit_group_id" not in holder_record(issuer, without.holder_id)


def test_create_holder_and_update_holder_return_the_id_and_empty_data(issuer: Issuer) -> None:
    created = issuer.do("createHolder", **HOLDER_DETAILS)
    updated = issuer.do("updateHolder", **HOLDER_DETAILS, holder_id=created.id)

    assert created.raw == f'{{"status":"success","duplicated":0,"id":{created.id},"data":[]}}'
    assert updated.raw == created.raw


# -- updateHolder


def test_a_holder_update_replaces_all_members_except_type_access_level_and_ip_address(issuer: Issuer) -> None:
    holder = issuer.holder(**WHOLE_HOLDER, access_level=5)

    answer = issuer.do("updateHolder", holder_id=str(holder), **UPDATED)

    assert answer.id == holder
    assert holder_record(issuer, holder) == {
        **UPDATED,
        "id": holder,
        "holder_type": "1",
        "access_level": 5,
        "ip_address": WHOLE_HOLDER["ip_address"],
    }


def test_a_cardholder_update_does_not_change_missing_optional_fields(issuer: Issuer) -> None:
    holder = issuer.holder(**WHOLE_HOLDER)

    issuer.do("updateHolder", holder_id=holder, **MANDATORY, business_name="Neil Ltd")

    kept = {name: WHOLE_HOLDER[name] for name in KEPT_OPTIONAL}
    assert holder_record(issuer, holder).items() >= {**kept, **MANDATORY, "business_name": "Neil Ltd"}.items()


@pytest.mark.parametrize("name", KEPT_OPTIONAL)
def test_null_deletes_the_value_of_an_optional_field(issuer: Issuer, name: str) -> None:
    holder = issuer.holder(**WHOLE_HOLDER)
    before = holder_record(issuer, holder)
    same = {key: WHOLE_HOLDER[key] for key in (*HOLDER_DETAILS, "business_name")}

    assert issuer.do("updateHolder", holder_id=holder, **same, **{name: None}).id == holder

    assert holder_record(issuer, holder) == {key: value for key, value in before.items() if key != name}
    issuer.do("updateHolder", holder_id=holder, **same, **{name: WHOLE_HOLDER[name]})
    assert holder_record(issuer, holder) == before


TODAY, YESTERDAY, TOMORROW = "2026-03-02", "2026-03-01", "2026-03-03"
WRONG_DATES = {
    "date_of_birth": (TODAY, TOMORROW),
    "date_of_company_incorporation": (TODAY, TOMORROW),
    "kyc_document_expiration_date": (TODAY, YESTERDAY),
}
"""By field, the last accepted date and the first rejected date on 2 March 2026."""


@pytest.mark.parametrize("name", WRONG_DATES)
@pytest.mark.parametrize("action", ["createHolder", "updateHolder", "createAccount", "createCard"])
def test_a_birth_date_in_the_future_or_an_expired_document_returns_2005(issuer: Issuer, action: str, name: str) -> None:
    holder = issuer.holder(**WHOLE_HOLDER)
    before = holder_record(issuer, holder)
    body = whole_requests.whole(action, whole_requests.Records(holder))[0]
    body = {key: value for key, value in body.items() if key not in ("holder_id", "cards")}
    body |= {"holder_id": holder} if action == "updateHolder" else {}
    field = name if name in body else f"holder_{name}"
    right, wrong = WRONG_DATES[name]

    assert issuer.do(action, **body | {field: right}).status == "success"
    answer = issuer.do(action, **body | {field: wrong})
    assert (answer.status_code, field in answer.message) == (2005, True)
    if action == "updateHolder":
        assert holder_record(issuer, holder)[name] == right != before[name]


def test_an_expired_stored_document_does_not_block_an_update(issuer: Issuer) -> None:
    holder = issuer.holder(**WHOLE_HOLDER | {"kyc_document_expiration_date": TODAY})
    later = issuer.with_own_clock(days=400)

    assert later.do("updateHolder", holder_id=holder, **MANDATORY, business_name="Neil Ltd").status == "success"
    answer = later.do("updateHolder", holder_id=holder, **MANDATORY | {"kyc_document_expiration_date": TODAY})
    assert answer.status_code == 2005


def test_a_retry_after_the_document_expired_returns_the_first_response(issuer: Issuer) -> None:
    body = WHOLE_HOLDER | {"kyc_document_expiration_date": TODAY, "request_reference_id": issuer.reference()}
    first = issuer.do("createHolder", **body)

    again = issuer.with_own_clock(days=2).do("createHolder", **body)
    assert (again.duplicated, again.id) == (1, first.id)


def test_null_in_a_mandatory_field_returns_2001_and_changes_nothing(issuer: Issuer) -> None:
    holder = issuer.holder(**WHOLE_HOLDER)
    before = holder_record(issuer, holder)

    for name in HOLDER_DETAILS:
        answer = issuer.do("updateHolder", holder_id=holder, **UPDATED | {name: None})
        assert (answer.status_code, name in answer.message) == (2001, True)
    assert holder_record(issuer, holder) == before


def test_updating_a_business_without_a_name_returns_2006(issuer: Issuer) -> None:
    business, person = issuer.holder(**WHOLE_HOLDER), issuer.holder()
    unnamed = {name: value for name, value in UPDATED.items() if name != "business_name"}

    for absent in ({}, {"business_name": None}):
        answer = issuer.do("updateHolder", holder_id=business, **unnamed, **absent)
        assert (answer.status_code, "business_name" in answer.message) == (2006, True)
    assert issuer.do("updateHolder", holder_id=person, **unnamed).id == person


@pytest.mark.parametrize("name", ["holder_type", "ip_address"])
def test_updating_the_type_or_ip_address_returns_2008(issuer: Issuer, name: str) -> None:
    answer = issuer.do("updateHolder", holder_id=issuer.holder(), **HOLDER_DETAILS, **{name: WHOLE_HOLDER[name]})

    assert (answer.status_code, name in answer.message) == (2008, True)


@pytest.mark.parametrize(("programme", "changes"), [(101, True), (102, False), (103, True)])
def test_a_country_changes_only_if_the_programme_allows_country_changes(
    issuer: Issuer, programme: int, changes: bool
) -> None:
    """If the programme does not allow country changes, an update ignores the country and changes the other members."""
    holder = issuer.card(card_program_id=programme, **WHOLE_BLOCK | {"holder_access_level": 0}).holder_id

    for country, expected in ((GERMANY, GERMANY), (None, None)):
        answer = issuer.do("updateHolder", holder_id=holder, **UPDATED | {"country_ison": country})
        found = holder_record(issuer, holder)
        assert answer.id == holder
        assert found.get("country_ison") == (expected if changes else BRITAIN)
        assert found["city"] == "Lerwick"


@pytest.mark.parametrize(("programme", "changes"), [(501, True), (502, False)])
def test_the_account_programme_determines_whether_a_holder_can_change_country(
    issuer: Issuer, programme: int, changes: bool
) -> None:
    [account] = issuer.data("getAccounts", account_id=issuer.account(program_id=programme))
    holder = account["holder_id"]

    issuer.do("updateHolder", holder_id=holder, **HOLDER_DETAILS, country_ison=GERMANY)

    assert holder_record(issuer, holder)["country_ison"] == (
        GERMANY if changes else HOLDER_BLOCK["holder_country_ison"]
    )


# -- lists


def test_get_holder_accounts_omits_status_reasons(issuer: Issuer) -> None:
    holder = issuer.holder()
    accounts = [issuer.account(holder_id=holder), issuer.account(holder_id=holder, currency_ison=826)]
    issuer.data("changeAccountStatus", account_id=accounts[0], account_status="R", reason_code=9, note="why")

    listed = issuer.data("getHolderAccounts", holder_id=holder)

    assert [account["id"] for account in listed] == accounts
    for row in listed:
        [alone] = issuer.data("getAccounts", account_id=row["id"])
        expected = {name: value for name, value in alone.items() if not name.startswith("status_change_")}
        assert row == expected


def test_a_holder_without_accounts_returns_an_empty_list(issuer: Issuer) -> None:
    assert issuer.data("getHolderAccounts", holder_id=issuer.holder()) == []


def test_a_holder_has_at_most_100_accounts(issuer: Issuer) -> None:
    holder = issuer.holder()
    for _ in range(33):
        issuer.card(holder_id=holder, card_currency_ison="978,826,840")
    least = {"currency_ison": 978, "account_status": "A", "program_id": 501, "skip_holder_validation": 0}

    card = {"card_program_id": 101, "card_country_ison": 276, "card_virtual": 1, "card_name_line_3": "ZOE"}
    assert issuer.do("createCard", **card, holder_id=holder, card_currency_ison="978,826").status_code == 2003
    assert issuer.do("createAccount", holder_id=holder, **least).status == "success"
    assert issuer.do("createAccount", holder_id=holder, **least).status_code == 2003
    assert len(issuer.data("getHolderAccounts", holder_id=holder)) == 100
