"""Tests of limits: permitted movements, released usage, and the results of getLimits and getLimitsStatus."""

from datetime import UTC, datetime
from typing import Any

import pytest

from tests.cards.issuer import DAY, EUR, EVERYDAY, EXTERNAL_IBANS, GBP, LEFT_OUT, PREPAID, SEPA, UK, Envelope, Issuer
from tests.cards.programmes import (
    CARD_A_DAY,
    COUNTRIES,
    EURO_WORTH,
    OUT_A_DAY,
    OUT_EACH,
    OUT_OF_HOLDER,
    SEPARATE,
    with_tariff,
)

CARD, ACCOUNT, HOLDER = 1, 2, 3


@pytest.fixture(scope="module")
def shared_tariff(issuer: Issuer) -> Issuer:
    return with_tariff(issuer)


@pytest.fixture
def tariff(shared_tariff: Issuer) -> Issuer:
    now = shared_tariff.clock.time()
    wednesday = 6 * DAY + 9 * 3600
    shared_tariff.clock.advance((wednesday - now) % (7 * DAY))
    return shared_tariff


def limited(issuer: Issuer, group: int, method: int = UK, **members: Any) -> Any:
    currency = GBP if method == UK else EUR
    address = issuer.address(issuer.account(currency_ison=currency, limit_group_id=group, **members), method)
    issuer.inbound(address, 1_000_000)
    return address


def codes(issuer: Issuer, address: Any, *amounts: int) -> list[int | None]:
    return [issuer.transfer(address, amount).status_code for amount in amounts]


def statuses(issuer: Issuer, record_id: int, limit_type: int = ACCOUNT) -> Any:
    paginator = {"item_count": 100, "offset": 0}
    return issuer.data("getLimitsStatus", record_id=record_id, limit_type=limit_type, paginator=paginator)


def left(issuer: Issuer, record_id: int, limit_type: int = ACCOUNT) -> tuple[int, int]:
    entry, *_ = statuses(issuer, record_id, limit_type)
    return entry["count"], entry["amount"]


# -- what passes


def test_a_payment_that_exceeds_the_amount_left_in_a_limit_returns_5002(tariff: Issuer) -> None:
    address = limited(tariff, OUT_A_DAY)

    assert codes(tariff, address, 1001, 600, 401, 400, 1) == [5002, None, 5002, None, 5002]


def test_a_payment_that_exceeds_the_number_of_payments_left_in_a_limit_returns_5002(tariff: Issuer) -> None:
    assert codes(tariff, limited(tariff, OUT_A_DAY), 1, 1, 1, 1) == [None, None, None, 5002]


def test_limits_are_checked_before_the_funds_and_the_error_names_the_exceeded_limit(tariff: Issuer) -> None:
    answer = tariff.transfer(limited(tariff, OUT_A_DAY), 2_000_000)

    assert (answer.status_code, '"Out a day"' in answer.message) == (5002, True)
    assert "amount of the account's limit" in answer.message


def test_a_single_payment_limit_applies_to_each_payment_separately(tariff: Issuer) -> None:
    assert codes(tariff, limited(tariff, OUT_EACH), 500, 501, 500, 500) == [None, 5002, None, None]


def test_a_daily_limit_resets_at_midnight_utc(tariff: Issuer) -> None:
    address = limited(tariff, OUT_A_DAY)
    assert codes(tariff, address, 1000) == [None]

    tariff.clock.advance(15 * 3600 - 1)
    assert codes(tariff, address, 1) == [5002]
    tariff.clock.advance(1)
    assert codes(tariff, address, 1000, 1) == [None, 5002]


def test_an_amount_is_counted_in_the_currency_of_the_limit(tariff: Issuer) -> None:
    """A limit of 12.50 EUR on payments in pounds allows 10.00 GBP. Payments in euros do not count."""
    address = limited(tariff, EURO_WORTH)
    euros = tariff.address(address["account_id"], SEPA)

    assert codes(tariff, euros, 5000) == [None]
    assert codes(tariff, address, 1001, 1000, 1) == [5002, None, 5002]


def test_a_limit_counts_each_country_once(tariff: Issuer) -> None:
    address = limited(tariff, COUNTRIES, SEPA)
    ibans = [
        EXTERNAL_IBANS[SEPA],
        EXTERNAL_IBANS[UK],
        EXTERNAL_IBANS[SEPA],
        "FR1420041010050500013M02606",
        EXTERNAL_IBANS[UK],
    ]

    found = [tariff.transfer(address, 100, destination_iban=iban).status_code for iban in ibans]

    assert found == [None, None, None, 5002, None]
    [entry] = statuses(tariff, address["account_id"])
    assert (entry["original_country_count"], entry["country_count"]) == (2, 0)


def test_fees_do_not_count_towards_limits(tariff: Issuer) -> None:
    address = limited(tariff, OUT_A_DAY)
    tariff.data("assignAccountToFeeRuleGroup", account_id=address["account_id"], fee_group_id=SEPARATE)

    assert codes(tariff, address, 1000) == [None]


def test_a_holders_accounts_share_the_holders_limit(tariff: Issuer) -> None:
    account = tariff.account(currency_ison=GBP, holder_limit_group_id=OUT_OF_HOLDER)
    [holder] = [row["holder_id"] for row in tariff.data("getAccounts", account_id=account)]
    first, second = (
        tariff.address(number) for number in (account, tariff.account(holder_id=holder, currency_ison=GBP))
    )
    for address in (first, second):
        tariff.inbound(address, 10_000)

    assert codes(tariff, first, 1000) == [None]
    assert codes(tariff, second, 501, 500, 1) == [5002, None, 5002]
    assert codes(tariff, first, 1) == [5002]
    assert left(tariff, holder, HOLDER) == (999_999_999, 0)


def test_a_transfer_between_a_holders_accounts_counts_as_one_debit_and_one_credit(tariff: Issuer) -> None:
    account = tariff.account(currency_ison=GBP, holder_limit_group_id=OUT_OF_HOLDER)
    [holder] = [row["holder_id"] for row in tariff.data("getAccounts", account_id=account)]
    source = tariff.address(account)
    target = tariff.address(tariff.account(holder_id=holder, currency_ison=GBP))
    tariff.inbound(source, 10_000)

    tariff.pending_payment(source, 1000, destination_iban=target["iban"])

    assert [entry["amount"] for entry in statuses(tariff, holder, HOLDER)] == [500, 89_000]


def test_a_card_limit_applies_only_to_the_payment_address_of_the_card(tariff: Issuer) -> None:
    card = tariff.card(card_currency_ison=[GBP], card_limit_group_id=CARD_A_DAY)
    of_card = tariff.address(card.account_id, card_id=card.card_id)
    plain = tariff.address(card.account_id)
    tariff.inbound(plain, 10_000)

    assert codes(tariff, plain, 5000) == [None]
    assert codes(tariff, of_card, 701, 700, 1) == [5002, None, 5002]
    assert left(tariff, card.card_id, CARD) == (999_999_999, 0)


# -- what is given back


def test_a_rejected_payment_restores_the_limit_once(tariff: Issuer) -> None:
    address = limited(tariff, OUT_A_DAY)
    account = address["account_id"]
    kept, rejected = tariff.pending_payment(address, 400), tariff.pending_payment(address, 600)
    assert left(tariff, account) == (1, 0)

    tariff.result(rejected, "rejected")
    tariff.result(rejected, "rejected")
    assert left(tariff, account) == (2, 600)
    tariff.result(kept, "settled")
    tariff.result(kept, "returned")
    assert left(tariff, account) == (2, 600)
    assert codes(tariff, address, 601, 600) == [5002, None]


def test_a_payment_refused_by_the_provider_restores_the_limit(tariff: Issuer) -> None:
    address = limited(tariff, OUT_A_DAY)

    assert tariff.transfer(address, 600, destination_account_name="Refuse Ltd").status_code == 7001

    assert left(tariff, address["account_id"]) == (3, 1000)


def test_a_rejected_payment_restores_only_the_limit_window_of_the_payment(tariff: Issuer) -> None:
    address = limited(tariff, OUT_A_DAY)
    account = address["account_id"]
    yesterdays = tariff.pending_payment(address, 900)
    tariff.clock.advance(DAY)
    todays = tariff.pending_payment(address, 300)

    tariff.result(yesterdays, "rejected")
    assert left(tariff, account) == (2, 700)
    tariff.result(todays, "rejected")
    assert left(tariff, account) == (3, 1000)


def test_a_limit_no_longer_counts_a_country_when_its_last_payment_is_rejected(tariff: Issuer) -> None:
    address = limited(tariff, COUNTRIES, SEPA)
    first, second = tariff.pending_payment(address, 100), tariff.pending_payment(address, 100)

    def countries() -> int:
        [entry] = statuses(tariff, address["account_id"])
        return int(entry["country_count"])

    assert countries() == 1
    tariff.result(first, "rejected")
    assert countries() == 1
    tariff.result(second, "rejected")
    assert countries() == 2


def test_a_limit_group_change_starts_new_counters_and_preserves_the_previous_counters(tariff: Issuer) -> None:
    address = limited(tariff, OUT_A_DAY)
    account = address["account_id"]
    number = tariff.pending_payment(address, 1000)
    tariff.data("assignAccountToLimitRuleGroup", account_id=account, limit_group_id=OUT_EACH)
    assert codes(tariff, address, 500) == [None]
    tariff.data("assignAccountToLimitRuleGroup", account_id=account, limit_group_id=OUT_A_DAY)

    assert left(tariff, account) == (2, 0)
    tariff.result(number, "rejected")
    assert left(tariff, account) == (3, 1000)


# -- what is shown


def test_get_limits_status_returns_original_and_remaining_values_and_the_validity(tariff: Issuer) -> None:
    address = limited(tariff, OUT_A_DAY)
    today = datetime.fromtimestamp(tariff.clock.time(), UTC).replace(hour=0)
    tariff.pending_payment(address, 250)

    [entry] = statuses(tariff, address["account_id"])

    assert entry == {
        "name": "Out a day",
        "original_count": 3,
        "count": 2,
        "original_amount": 1000,
        "amount": 750,
        "country_count": 999,
        "amount_currency_ison": GBP,
        "duration": 1,
        "transaction_type_id": 99,
        "entry_mode_type_id": 99,
        "limits_tx_type_id": 3,
        "limits_group_id": OUT_A_DAY,
        "holder_country_ison": 0,
        "holder_region_id": 0,
        "transaction_region_id": 0,
        "region_type_id": 0,
        "currency_ison": 0,
        "mcc_low": 0,
        "mcc_high": 9999,
        "date_updated": entry["date_updated"],
        "date_valid": int(today.timestamp()) + DAY,
    }
    paginator = {"item_count": 1, "offset": 0}
    [shown] = tariff.data("getLimits", record_id=address["account_id"], limit_type=ACCOUNT, paginator=paginator)
    changing = ("date_valid", "original_count", "original_amount", "count", "amount", "country_count")
    same = {name: value for name, value in entry.items() if name not in changing}
    assert shown == same | {"count": 3, "amount": 1000}


def test_the_status_of_a_single_payment_limit_is_valid_until_the_current_time(tariff: Issuer) -> None:
    [entry] = statuses(tariff, limited(tariff, OUT_EACH)["account_id"])

    assert entry["amount"] == 500
    assert entry["count"] == 999_999_999
    assert entry["date_valid"] == tariff.clock.time()


def test_each_page_of_limits_contains_the_total_number_of_limits(issuer: Issuer) -> None:
    account = issuer.account()

    def page(action: str, item_count: int, offset: int) -> Envelope:
        paginator = {"item_count": item_count, "offset": offset}
        return issuer.do(action, record_id=account, limit_type=ACCOUNT, paginator=paginator)

    for action in ("getLimits", "getLimitsStatus"):
        whole = page(action, 100, 0)
        assert whole.members["paginator"] == {"total_items_count": 4}
        assert page(action, 3, 0).data + page(action, 3, 3).data == whole.data
        assert (page(action, 3, 4).data, page(action, 101, 0).status_code) == ([], 2005)


@pytest.mark.parametrize(("limit_type", "code"), [(CARD, 3002), (ACCOUNT, 3001), (HOLDER, 3003)])
@pytest.mark.parametrize("action", ["getLimits", "getLimitsStatus"])
def test_limits_of_a_record_above_the_access_level_are_not_found(
    issuer: Issuer, action: str, limit_type: int, code: int
) -> None:
    card = issuer.card(access_level=500, holder_access_level=500)
    number = {CARD: card.card_id, ACCOUNT: card.account_id, HOLDER: card.holder_id}[limit_type]
    members = {"record_id": number, "limit_type": limit_type, "paginator": {"item_count": 1, "offset": 0}}

    assert issuer.do(action, **members, access_level=500).status == "success"
    assert issuer.do(action, **members, access_level=499).status_code == code
    assert issuer.as_caller("other").do(action, **members).status_code == code
    assert issuer.do(action, **members | {"record_id": 999_999_999}).status_code == code


def test_a_record_without_a_limit_group_has_no_limits(issuer: Issuer) -> None:
    account = issuer.account(program_id=502)

    assert statuses(issuer, account) == []


@pytest.mark.parametrize(
    ("limit_type", "programme", "groups"),
    [
        (CARD, LEFT_OUT, [201, 202, 203]),
        (ACCOUNT, LEFT_OUT, [211, 212]),
        (HOLDER, LEFT_OUT, [221, 222]),
        (CARD, EVERYDAY, [201, 202, 203]),
        (CARD, PREPAID, [201, 203]),
        (ACCOUNT, EVERYDAY, [211, 212]),
        (ACCOUNT, 501, [211, 212]),
        (ACCOUNT, 502, [211, 212]),
        (HOLDER, EVERYDAY, [221]),
        (CARD, 501, []),
    ],
)
def test_get_limits_groups_returns_the_groups_of_a_type_and_programme(
    issuer: Issuer, limit_type: int, programme: int, groups: list[int]
) -> None:
    found = issuer.data("getLimitsGroups", limit_type=limit_type, program_id=programme)

    assert [group["id"] for group in found] == groups
    assert all(set(group) == {"id", "name"} for group in found)


def test_limit_groups_of_an_unknown_programme_or_type_are_rejected(issuer: Issuer) -> None:
    assert issuer.do("getLimitsGroups", limit_type=CARD, program_id=1101).status_code == 3004
    assert issuer.do("getLimitsGroups", limit_type=4).status_code == 2005
    assert [group["id"] for group in issuer.as_caller("other").data("getLimitsGroups", limit_type=CARD)] == [1201]
