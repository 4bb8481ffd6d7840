"""Tests of the records and entries that a request names: foreign and inaccessible records are reported as missing."""

from collections.abc import Mapping
from typing import Any

import pytest

from tests.cards import request_records, whole_requests
from tests.cards.action_checks import call
from tests.cards.issuer import GERMANY, HOLDER_BLOCK, HOLDER_DETAILS, SEPA, Issuer
from tests.cards.specification import TABLES
from tests.cards.whole_requests import BY_ACTION, EVERY_ACTION, Members, Records

RECORDS = {"account_id": 3001, "card_id": 3002, "cards": 3002, "holder_id": 3003, "account_owner_id": 3003}
RECORDS |= {"auth_request_id": 3014, "record_id": 3002, "epm_address_id": 3010, "transaction_id": 3012}
RECORDS |= {"trans_link": 3012, "last_id": 3012}
RECORDS |= dict.fromkeys(("epm_transaction_id", "returned_epm_transaction_id", "epm_mandate_id"), 3011)
ENTRIES = {
    "program_id": 3004,
    "card_program_id": 3004,
    "account_program_id": 3004,
    "limit_group_id": 3005,
    "limits_group_id": 3005,
    "card_limit_group_id": 3005,
    "account_limit_group_id": 3005,
    "holder_limit_group_id": 3005,
    "fee_group_id": 3006,
    "fees_group_id": 3006,
    "card_fee_group_id": 3006,
    "card_usage_group_id": 3007,
    "usages_group_id": 3007,
    "risk_rule_group_id": 3008,
    "risk_rules_group_id": 3008,
    "card_design_id": 3009,
    "card_product_id": 3015,
    "order_shipping_method": 2005,
    "special_account_id": 3013,
}
COMPARED = ("card_request_id",)
"""Ids that are only compared with a member of a record and do not identify a record."""
OTHER_MANAGERS = {3004: (1101, 1501), 3005: (1201, 1221), 3006: (1301,), 3007: (1601,), 3008: (1401,), 3009: (1021,)}
OTHER_MANAGERS |= {3015: (1011,), 2005: (1,), 3013: (1801,)}
"""The entries that the other programme manager has."""
UNKNOWN = (987654321, "99999999999999999999", 0)

NAMED = [
    (action, name)
    for action in BY_ACTION
    for name, member in TABLES[action].request.items()
    if (member.type.endswith("ID") or name == "trans_link") and name not in COMPARED
]
OF_RECORDS = [(action, name) for action, name in NAMED if name in RECORDS]
OF_ENTRIES = [(action, name) for action, name in NAMED if name in ENTRIES]


def ids(pairs: list[tuple[str, str]]) -> list[str]:
    return [f"{action}-{name}" for action, name in pairs]


def request_with(records: Records, action: str, name: str) -> Members:
    return next(each for each in whole_requests.whole(action, records) if name in each)


@pytest.fixture(scope="module")
def standing(issuer: Issuer) -> Records:
    return request_records.create_records(issuer, "createCustomFee")


def test_the_test_cases_cover_every_member_that_refers_to_a_record_or_a_catalogue_entry() -> None:
    assert {name for _, name in NAMED} == set(RECORDS) | set(ENTRIES)


@pytest.mark.parametrize(("action", "name"), NAMED, ids=ids(NAMED))
def test_a_missing_record_or_catalogue_entry_returns_the_code_for_its_kind(
    issuer: Issuer, standing: Records, action: str, name: str
) -> None:
    request = request_with(standing, action, name)

    member = TABLES[action].request[name]
    zeros = member.shortest if member.type == "DIGITS" else 0
    unknown = [str(number).zfill(zeros) for number in UNKNOWN if len(str(number)) <= member.longest]

    found = {number: call(issuer, action, request | {name: number}) for number in unknown}

    assert {answer.status_code for answer in found.values()} == {(RECORDS | ENTRIES)[name]}
    assert not any(number in answer.message for number, answer in found.items() if int(number))


@pytest.mark.parametrize(("action", "name"), OF_ENTRIES, ids=ids(OF_ENTRIES))
def test_an_entry_of_another_programme_manager_returns_the_code_of_a_missing_entry(
    issuer: Issuer, standing: Records, action: str, name: str
) -> None:
    request = request_with(standing, action, name)

    for number in OTHER_MANAGERS[ENTRIES[name]]:
        assert call(issuer, action, request | {name: number}).status_code == ENTRIES[name]


OF_TYPE = {"limits_group_id": 1, "card_limit_group_id": 1, "account_limit_group_id": 2, "holder_limit_group_id": 3}
OF_TYPE |= {"limit_group_id": 2}
LIMITS = [(action, name) for action, name in OF_ENTRIES if name in OF_TYPE]


@pytest.mark.parametrize(("action", "name"), LIMITS, ids=ids(LIMITS))
def test_a_limit_group_of_another_type_returns_code_3005(issuer: Issuer, action: str, name: str) -> None:
    request = request_with(request_records.create_records(issuer, action), action, name)
    groups = {1: 203, 2: 211, 3: 221}

    for limit_type, number in groups.items():
        answer = call(issuer, action, request | {name: number})
        assert (answer.status_code == 3005) is (limit_type != OF_TYPE[name]), answer.raw


@pytest.fixture(scope="module")
def foreign(issuer: Issuer) -> Mapping[str, Any]:
    other = issuer.as_caller("other")
    holder = other.holder(**HOLDER_DETAILS | {"holder_limit_group_id": 1221})
    card = other.card(card_program_id=1101, holder_id=holder)
    other.data("activateCard", card_id=card.card_id)
    asked = other.authentication(card.card_id)["auth_request_id"]
    of_card = dict.fromkeys(("card_id", "cards", "record_id"), card.card_id) | {"account_id": card.account_id}
    address = other.address(card.account_id, SEPA, country_ison=GERMANY)
    came = other.inbound(address, 5000)
    of_address = {"epm_address_id": address["id"], "epm_mandate_id": other.mandate(address)}
    payments = dict.fromkeys(("epm_transaction_id", "returned_epm_transaction_id"), came["epm_transaction_id"])
    named = {"holder_id": holder, "account_owner_id": holder, "auth_request_id": asked, **of_card}
    named |= {"trans_link": other.purchase(card.card_id, 100)["trans_link"]}
    return named | of_address | payments | dict.fromkeys(("transaction_id", "last_id"), came["transaction_id"])


@pytest.mark.parametrize(("action", "name"), OF_RECORDS, ids=ids(OF_RECORDS))
def test_a_record_of_another_programme_manager_returns_the_code_of_a_missing_record(
    issuer: Issuer, standing: Records, foreign: Mapping[str, Any], action: str, name: str
) -> None:
    answer = call(issuer, action, request_with(standing, action, name) | {name: foreign[name]})

    assert answer.status_code == RECORDS[name]


# -- access levels

HIDDEN: dict[str, dict[str, Any]] = {
    "account_id": {"account_level": 500},
    "card_id": {"card_level": 500},
    "cards": {"card_level": 500},
    "holder_id": {"holder_level": 500},
    "auth_request_id": {"card_level": 500},
    "record_id": {"card_level": 500},
    "epm_address_id": {"account_level": 500},
    "epm_mandate_id": {"account_level": 500},
    "epm_transaction_id": {"account_level": 500},
    "returned_epm_transaction_id": {"account_level": 500},
    "trans_link": {"card_level": 500},
}
"""For each request member with a record id, the access level that hides this record. The records of a hidden account
are also hidden.
"""
WITH_LEVEL = [(action, name) for action, name in OF_RECORDS if name in HIDDEN]


@pytest.fixture(scope="module")
def below(issuer: Issuer) -> Issuer:
    return issuer.with_credential("below", access_level=499)


@pytest.fixture(scope="module")
def level(issuer: Issuer) -> Issuer:
    return issuer.with_credential("level", access_level=500)


@pytest.mark.parametrize(("action", "name"), WITH_LEVEL, ids=ids(WITH_LEVEL))
def test_a_record_above_the_access_level_returns_the_code_of_a_missing_record(
    issuer: Issuer, below: Issuer, level: Issuer, action: str, name: str
) -> None:
    request = request_with(request_records.create_records(issuer, action, **HIDDEN[name]), action, name)
    own_level = {"access_level": 300} if EVERY_ACTION[action].creates else {}
    without = {key: value for key, value in request.items() if key != "access_level"} | own_level

    assert call(below, action, without).status_code == RECORDS[name]
    if not own_level:
        assert call(issuer, action, request | {"access_level": 499}).status_code == RECORDS[name]
    assert call(level, action, without).status == "success"


@pytest.mark.parametrize("action", BY_ACTION)
def test_an_access_level_above_the_credentials_level_returns_code_1102(below: Issuer, action: str) -> None:
    for asked in (500, "500", 1001, "00500", "9" * 30):
        assert call(below, action, {"access_level": asked}).status_code == 1102
    assert call(below, action, {"access_level": 499, "colour_of_hair": 1}).status_code in (2001, 2006, 2008)


def test_the_access_level_of_a_create_request_applies_only_to_the_new_record(issuer: Issuer, below: Issuer) -> None:
    """createAccount and createCard with access_level 0 find the caller's holder, which has level 400."""
    holder = below.holder(access_level=400)

    account = below.account(holder_id=holder, access_level=0)
    card = below.card(holder_id=holder, account_id=account, account_owner_id=holder, access_level=100)

    assert issuer.do("getAccounts", account_id=account, access_level=0).status == "success"
    assert issuer.do("getCardStatus", card_id=card.card_id, access_level=99).status_code == 3002
    assert issuer.do("getCardStatus", card_id=card.card_id, access_level=100).status == "success"


@pytest.mark.parametrize("action", ["createAccount", "createCard"])
def test_a_holder_access_level_above_the_credentials_level_returns_code_1102(below: Issuer, action: str) -> None:
    whole, with_holder = whole_requests.whole(action)
    own = {"access_level": 300}

    for asked in (500, "500", 1000):
        assert call(below, action, whole | own | {"holder_access_level": asked}).status_code == 1102
    ignored = call(below, action, with_holder | own | {"holder_access_level": 9999})
    assert ignored.status_code in (3001, 3003), "beside a holder it is not looked at"
    assert below.do("getHolder", holder_id=1, holder_access_level=9999).status_code == 2008


def seen_from(issuer: Issuer, action: str, **members: Any) -> int:
    return next(level for level in (0, 400, 500, 1000) if issuer.do(action, **members, access_level=level).data)


def test_the_default_access_level_is_the_programmes_level_and_0_for_a_separate_holder(issuer: Issuer) -> None:
    plain = issuer.card()
    online = issuer.card(card_program_id=103)
    chosen = issuer.card(card_program_id=103, access_level=0, holder_access_level=400)

    for card, expected in ((plain, (0, 0, 0)), (online, (500, 500, 500)), (chosen, (0, 0, 400))):
        assert (
            seen_from(issuer, "getCardStatus", card_id=card.card_id),
            seen_from(issuer, "getAccounts", account_id=card.account_id),
            seen_from(issuer, "getHolder", holder_id=card.holder_id),
        ) == expected
    assert issuer.data("getHolder", holder_id=issuer.holder())["access_level"] == 0
    assert issuer.data("getHolder", holder_id=issuer.holder(access_level=7))["access_level"] == 7
    assert issuer.data("getHolder", holder_id=online.holder_id)["access_level"] == 500


def test_lists_omit_accounts_above_the_access_level(issuer: Issuer) -> None:
    holder = issuer.holder()
    low, high = issuer.account(holder_id=holder), issuer.account(holder_id=holder, access_level=600)
    card = issuer.card(holder_id=holder, account_id=[high, low], account_owner_id=[holder, holder])

    for action, members in (("getHolderAccounts", {"holder_id": holder}), ("getAccounts", {"card_id": card.card_id})):
        at_level = {
            level: {row["id"] for row in issuer.data(action, **members, access_level=level)} for level in (0, 599, 600)
        }
        assert at_level == {0: {low}, 599: {low}, 600: {low, high}}


def test_a_transaction_of_an_account_above_the_access_level_returns_code_3012(
    issuer: Issuer, below: Issuer, level: Issuer
) -> None:
    card = issuer.card()
    hidden = issuer.account(access_level=500, holder_id=card.holder_id, cards=[card.card_id])
    came = issuer.inbound(issuer.address(hidden), 5000)
    fee = {"card_id": card.card_id, "transaction_id": came["transaction_id"], "fee_group_id": 301}
    fee |= {"fee_code": "CARDREPL", "description": "New card"}

    assert below.do("createCustomFee", **fee).status_code == 3012
    assert issuer.do("createCustomFee", **fee, access_level=499).status_code == 3012
    assert level.do("createCustomFee", **fee).status == "success"


@pytest.mark.parametrize("action", ["getLimits", "getLimitsStatus"])
def test_an_unknown_record_id_returns_the_code_for_the_requested_limit_type(
    issuer: Issuer, foreign: Mapping[str, Any], action: str
) -> None:
    page = {"paginator": {"item_count": 1, "offset": 0}}
    theirs = {1: (3002, "card_id"), 2: (3001, "account_id"), 3: (3003, "holder_id")}

    for limit_type, (code, name) in theirs.items():
        for number in (*UNKNOWN, foreign[name]):
            asked = {"record_id": number, "limit_type": limit_type, **page}
            assert issuer.do(action, **asked).status_code == code


# -- what belongs together


def test_a_card_of_another_holder_or_account_returns_code_3002(issuer: Issuer) -> None:
    one, other = issuer.card(), issuer.card()

    assert issuer.do("getHolder", holder_id=one.holder_id, card_id=one.card_id).data["id"] == one.holder_id
    assert issuer.do("getHolder", holder_id=one.holder_id, card_id=other.card_id).status_code == 3002
    assert issuer.do("getHolder", card_id=other.card_id).data["id"] == other.holder_id
    [account] = issuer.data("getAccounts", account_id=one.account_id, card_id=one.card_id)
    assert account["id"] == one.account_id
    assert issuer.do("getAccounts", account_id=one.account_id, card_id=other.card_id).status_code == 3002


def test_a_new_account_accepts_cards_of_other_holders_only_with_skip_holder_validation(issuer: Issuer) -> None:
    own, strangers = issuer.card(), issuer.card()
    opened = {"holder_id": own.holder_id, "cards": [own.card_id, strangers.card_id]}
    least = {"currency_ison": 978, "account_status": "A", "program_id": 501}

    assert issuer.do("createAccount", **least, **opened, skip_holder_validation=0).status_code == 3002
    new_holder = {**least, **HOLDER_BLOCK, "cards": own.card_id}
    assert issuer.do("createAccount", **new_holder, skip_holder_validation=0).status_code == 3002
    account = issuer.data("createAccount", **least, **opened, skip_holder_validation=1)["id"]
    for card in (own, strangers):
        assert [row["id"] for row in issuer.data("getAccounts", card_id=card.card_id)] == [card.account_id, account]


@pytest.mark.parametrize("action", ["assignExternalPaymentAddress", "createCustomFee"])
def test_an_account_with_a_card_of_another_account_returns_code_3002(issuer: Issuer, action: str) -> None:
    one, other = issuer.card(), issuer.card()
    whole = whole_requests.whole(action)[0] | {"account_id": one.account_id, "transaction_id": None}
    whole = {name: value for name, value in whole.items() if value is not None}

    assert issuer.do(action, **whole | {"card_id": other.card_id}).status_code == 3002
    assert issuer.do(action, **whole | {"card_id": one.card_id}).status_code in (None, 5001)


def test_a_fee_for_a_transaction_of_another_account_returns_code_3012(issuer: Issuer) -> None:
    one, other = issuer.card(), issuer.card()
    theirs = issuer.inbound(issuer.address(other.account_id), 5000)["transaction_id"]
    fee = {"transaction_id": theirs, "fee_group_id": 301, "fee_code": "CARDREPL", "description": "New card"}

    assert issuer.do("createCustomFee", account_id=one.account_id, **fee).status_code == 3012
    assert issuer.do("createCustomFee", account_id=other.account_id, **fee).status == "success"


def test_account_owners_in_a_different_order_than_the_accounts_return_code_3003(issuer: Issuer) -> None:
    one, other = issuer.card(), issuer.card()
    least = {"card_program_id": 101, "card_country_ison": GERMANY, "card_virtual": 1, "card_name_line_3": "ZOE ONEIL"}
    accounts = {"holder_id": one.holder_id, "account_id": [one.account_id, other.account_id]}

    wrong = issuer.do("createCard", **least, **accounts, account_owner_id=[other.holder_id, one.holder_id])
    right = issuer.do("createCard", **least, **accounts, account_owner_id=[one.holder_id, other.holder_id])

    assert wrong.status_code == 3003
    assert right.data["account_id"] == one.account_id
