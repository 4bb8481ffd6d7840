"""Tests of external payment addresses: lookup by bank-account number, and uniqueness of the numbers."""

import itertools
from dataclasses import replace
from typing import Any

import pytest

from chalicelib.cards.payments.address_record import ExternalAddress, find_key, number_keys, put_numbers
from chalicelib.cards.payments.sandbox_account_numbers import SORT_CODE, british_iban, british_number
from chalicelib.cards.protocol.payment_states import ADDRESS_RULES
from chalicelib.cards.protocol.schemes import BRITAIN, SEPA, UK
from chalicelib.cards.protocol.status_codes import Refused, Status
from chalicelib.cards.protocol.values import OF_HOLDER, SPECIAL
from chalicelib.foundation.dynamodb.store import ConditionFailed, Item
from tests.causeway import Causeway

GERMAN, BRITISH = "DE89370400440532013000", "GB29NWBK60161331926819"
_ids = itertools.count(1)


@pytest.fixture(scope="module")
def module_causeway(shared_causeway: Causeway) -> Causeway:
    return shared_causeway.again()


def address(**members: Any) -> ExternalAddress:
    least: dict[str, Any] = {
        "id": next(_ids),
        "manager_id": 1,
        "access_level": 100,
        "method": SEPA,
        "type_id": 2,
        "account_id": 17,
        "account_type": OF_HOLDER,
        "holder_id": 9,
        "currency": 978,
        "country": 276,
        "account_name": "Zoë O'Neil-Smith",
        "iban": GERMAN,
        "bic": "CSWYDE2X",
    }
    return ExternalAddress(**least | members)


def british(**members: Any) -> ExternalAddress:
    number = british_number(next(_ids))
    assert number
    numbers = {"sort_code": SORT_CODE, "account_number": number, "iban": british_iban(number), "bic": None}
    return address(**{"method": UK, "type_id": 1, "currency": 826, "country": BRITAIN} | numbers | members)


def german() -> ExternalAddress:
    return address(iban=f"DE89{next(_ids):018}")


def opened(module_causeway: Causeway, made: ExternalAddress) -> ExternalAddress:
    module_causeway.hub.store.transact([made.put("attempt"), *put_numbers(made, "attempt")])
    return made


def found(module_causeway: Causeway, **number: str) -> Item | None:
    return module_causeway.hub.store.get(*find_key(**number))


def test_an_address_record_is_unchanged_after_storing_and_reading(module_causeway: Causeway) -> None:
    made = opened(module_causeway, british(card_id=5, risk_score=3, note="n", reason_code=1, status="S"))
    table, key = made.key(made.id)

    item = module_causeway.hub.store.get(table, key)

    assert table == "external-payments"
    assert item
    assert ExternalAddress.from_item(item) == made


@pytest.mark.parametrize("action", ADDRESS_RULES)
@pytest.mark.parametrize("status", "ASB")
def test_an_address_rejects_actions_that_its_status_does_not_permit(action: str, status: str) -> None:
    refusal = ADDRESS_RULES[action][status]
    told: Status | None = None
    try:
        address(status=status).require(action)
    except Refused as refused:
        told = refused.status

    assert told == refusal


def test_a_european_address_is_found_by_its_iban(module_causeway: Causeway) -> None:
    made = opened(module_causeway, replace(german(), card_id=5))

    assert number_keys(made) == [find_key(iban=made.iban)]
    assert found(module_causeway, iban=made.iban or "") == {
        **find_key(iban=made.iban)[1],
        "address_id": made.id,
        "manager_id": 1,
        "account_id": 17,
        "account_type": OF_HOLDER,
        "holder_id": 9,
        "card_id": 5,
        "written_by": "attempt",
    }


def test_a_british_address_is_found_by_iban_and_by_sort_code_and_account_number(module_causeway: Causeway) -> None:
    made = opened(module_causeway, british())

    by_both = found(module_causeway, sort_code=made.sort_code or "", account_number=made.account_number or "")

    assert len(number_keys(made)) == 1
    assert by_both
    assert by_both == found(module_causeway, iban=made.iban or "")
    assert by_both["address_id"] == made.id


def test_a_british_iban_has_the_lookup_key_of_its_sort_code_and_account_number() -> None:
    numbers = {"sort_code": "601613", "account_number": "31926819"}
    by_iban, by_both = british(**dict.fromkeys(numbers, None), iban=BRITISH), british(**numbers, iban=None)

    assert number_keys(by_iban) == number_keys(by_both) == [find_key(**numbers)]


def test_an_address_with_two_account_numbers_has_two_lookup_keys() -> None:
    """A provider may assign a sort code and an IBAN that belong to different countries."""
    keys = number_keys(british(iban=GERMAN))

    assert len(keys) == 2
    assert keys[0] == find_key(iban=GERMAN)


def test_a_number_without_an_address_is_not_found(module_causeway: Causeway) -> None:
    assert found(module_causeway, iban=BRITISH) is None
    assert found(module_causeway, sort_code="601613", account_number="31926819") is None


def test_the_number_of_a_special_account_has_no_holder_and_no_card(module_causeway: Causeway) -> None:
    made = opened(module_causeway, replace(german(), account_type=SPECIAL, account_id=801, holder_id=None))

    item = found(module_causeway, iban=made.iban or "")

    assert item
    assert (item["account_id"], item["account_type"]) == (801, SPECIAL)
    assert not {"holder_id", "card_id"} & item.keys()


@pytest.mark.parametrize("make", [german, british])
def test_a_second_address_with_the_same_number_is_rejected(module_causeway: Causeway, make: Any) -> None:
    """The transaction also writes the record of the address, so the record is not stored."""
    first = opened(module_causeway, make())
    second = replace(first, id=next(_ids), account_id=18)

    with pytest.raises(ConditionFailed):
        opened(module_causeway, second)

    assert module_causeway.hub.store.get(*second.key(second.id)) is None
    numbers = module_causeway.hub.store.batch_get(number_keys(first))
    assert [item and item["address_id"] for item in numbers] == [first.id]
