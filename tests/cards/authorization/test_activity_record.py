"""Tests of card activity: the rows written for each message, the lists of rows, and the order of rows per card."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from chalicelib.cards.authorization import activity_record
from chalicelib.cards.authorization.activity_record import UNCHECKED, CardUse, NetworkMessage
from chalicelib.cards.authorization.group_rules import FiredRules
from chalicelib.cards.issuing.card_record import Card
from chalicelib.cards.ledger.transaction_record import timeline
from chalicelib.cards.protocol.values import ADVICE, AUTHORIZE_TYPES, RESPONSE_CODES, RISK_ACTIONS, SECURITY_CHECKS
from chalicelib.cards.storage.record import WriteStamp
from chalicelib.cards.storage.reserved_rows import ReservedRow
from chalicelib.cards.storage.time_ordered import SHARDS, Timeline, shard_of
from chalicelib.foundation.aws.calls import Call
from chalicelib.foundation.dynamodb.store import Item
from infra.admin.ledger_verification import prove_ledger
from tests.cards.authorization.issuers import complete
from tests.cards.authorization.shops import BLENDED, NOT_BLENDING, SEPARATE, Holder, new_holder, with_prices
from tests.cards.issuer import BRITAIN, DAY, EUR, GBP, PIN, Issuer
from tests.kit.storage import observe_calls
from tests.kit.tables import KILOBYTE, item_size

AUTHORIZATION, _, INCREMENT, REVERSAL, EXPIRY = AUTHORIZE_TYPES
FRANCE = 250
NOW = 1_772_442_000


@pytest.fixture(scope="module")
def issuer(issuer: Issuer) -> Iterator[Issuer]:
    yield with_prices(issuer)
    prove_ledger(issuer.hub.store)


def rows(card: Holder, of: Timeline | None = None) -> list[Item]:
    wanted = of or activity_record.of_card(card.card_id)
    found = card.issuer.hub.store.rows(wanted.table, ("owner", wanted.owner), sort_prefix=("part", f"{wanted.name}#"))
    return [complete(row) for row in found]


def members(row: Item) -> Item:
    return {name: value for name, value in row.items() if name not in ("owner", "part", "written_by")}


def advice(card: Holder, amount: int, code: str = "00") -> Any:
    use = {"card_id": card.card_id, "transaction_type": 0, "amount": amount, "currency_ison": GBP}
    return card.issuer.data("simulateAdvice", response_code=code, **use)


# -- what a row says


def test_a_purchase_writes_rows_of_less_than_a_kilobyte(issuer: Issuer) -> None:
    card = new_holder(issuer, 500_00)
    shop = {"mcc": "5411", "merchant_name": "Corner Grocer of the Town", "terminal_id": "TERM0001"}
    written: list[Item] = []

    def note(call: Call) -> None:
        puts = [each["Put"] for each in call.body.get("TransactItems", ()) if "Put" in each]
        written.extend(put["Item"] for put in puts if put["TableName"].endswith(activity_record.TABLE))

    with observe_calls(note):
        card.authorize(
            123_45, EUR, merchant_country_ison=FRANCE, merchant_id="GROCER000000001", **shop, entry_mode_type=5
        )

    assert len(written) == 4
    assert max(map(item_size, written)) < KILOBYTE


def test_a_row_of_a_purchase_with_all_details_has_every_member(issuer: Issuer) -> None:
    order: dict[str, Any] = {"card_virtual": 0, "order_shipping_method": 1, "card_pin": PIN, "access_level": 30}
    card = new_holder(issuer, 500_00, card_fee_group_id=SEPARATE, **order)
    shop = {"mcc": "0742", "merchant_name": "Vet", "merchant_id": "VET1", "terminal_id": "T1"}
    proof = {"pin": PIN, "cvc2": card.card.cvc2, "expiry_year": 2029, "eci_indicator": 5, "entry_mode_type": 5}

    asked = card.authorize(100_00, EUR, cashback_amount=20_00, merchant_country_ison=FRANCE, **shop, **proof)

    [row] = rows(card)
    number, said = asked["authorize_id"], members(row)
    checks = {"card_expiration_date_present", "online_pin", "3_d_secure", "cvv_2", "chip_data"}
    assert said == {
        "authorize_id": number,
        "authorize_type": AUTHORIZATION,
        "trans_link": f"{number:012}",
        "card_id": card.card_id,
        "card_present": 1,
        "at": row["at"],
        "manager_id": card.record(asked["trans_link"]).manager_id,
        "access_level": 30,
        "transmission_date": "2026-03-02",
        "transmission_time": NOW,
        "transaction_local_time": "260302090000",
        "retrieval_reference_number": f"606109{number:06}",
        "stan": number,
        "trace_number": f"{number:06}",
        "trace_id": f"{number:015}",
        "proc_code": 0,
        "transaction_type": 0,
        "entry_mode_type": 5,
        "pos_entry_mode": "051",
        "pos_condition_code": "00",
        "eci_indicator": 5,
        "acquirer_id": "00000100001",
        "forwarder_id": "00000200001",
        "country_ison": FRANCE,
        "mcc": 742,
        "merchant_name": "Vet",
        "merchant_id": "VET1",
        "terminal_id": "T1",
        "response_code": "00",
        "auth_code": asked["auth_code"],
        "actual": 1,
        "reversal": 0,
        "suspicious": 0,
        "risk_actions": dict.fromkeys(RISK_ACTIONS, 0),
        "security_checks": {name: int(name in checks) for name in SECURITY_CHECKS},
        "transaction_amount": 120_00,
        "transaction_currency_ison": EUR,
        "transaction_fee_amount": 0,
        "cashback_amount": 20_00,
        "billing_amount": 96_00,
        "billing_currency_ison": GBP,
        "billing_conversion_rate": "0.8",
        "base_conversion_rate": "0.8",
        "holder_conversion_rate": said["holder_conversion_rate"],
        "holder_amount": 98_40,
        "holder_currency_ison": GBP,
        "currency_conversion_fee": 2_40,
        "is_conversion_fee_blended": 1,
        "transaction_fee": 1_26,
        "blended_fee": 0,
        "date_valid": "2026-03-09",
    }
    assert Decimal(said["holder_conversion_rate"]) == Decimal("0.82")


def test_a_decline_for_card_status_records_the_converted_amounts(issuer: Issuer) -> None:
    card = Holder(issuer, issuer.card_in("T", card_country_ison=BRITAIN))

    asked = card.request_authorization(100_00, EUR)

    [row] = rows(card)
    assert row["response_code"] == "62"
    assert row["actual"] == 0
    assert row["transaction_amount"] == 100_00
    worth = ("billing_amount", "holder_amount", "transaction_fee", "currency_conversion_fee")
    assert [row[name] for name in worth] == [80_00, 82_00, 0, 2_00]
    assert [row[name] for name in ("billing_currency_ison", "holder_currency_ison")] == [GBP, GBP]
    rates = ("billing_conversion_rate", "base_conversion_rate", "holder_conversion_rate")
    assert [row[name] for name in rates] == ["0.8", "0.8", "0.8200"]
    assert row["authorize_id"] == asked["authorize_id"]
    assert row["card_present"] == 0
    assert row["pos_entry_mode"] == "002"
    absent = {"auth_code", "country_ison", "mcc", "merchant_name", "merchant_id", "terminal_id", "eci_indicator"}
    absent |= {"note", "risk_rule_ids", "cashback_amount", "date_valid", "advice_reason_code"}
    assert absent.isdisjoint(row)


def test_a_decline_for_insufficient_funds_records_the_amount_with_fees(issuer: Issuer) -> None:
    card = new_holder(issuer, 10_00, card_fee_group_id=BLENDED)

    card.request_authorization(100_00)

    [row] = rows(card)
    assert row["response_code"] == "51"
    assert row["holder_amount"] == 101_20
    assert row["transaction_fee"] == 1_20
    assert (row["blended_fee"], "date_valid" in row) == (1_20, False)


def test_a_row_lists_an_unblended_conversion_fee_separately_from_the_amount(issuer: Issuer) -> None:
    card = new_holder(issuer, card_program_id=NOT_BLENDING)

    card.authorize(100_00, EUR)

    [row] = rows(card)
    assert (row["billing_amount"], row["holder_amount"]) == (80_00, 80_00)
    assert (row["currency_conversion_fee"], row["is_conversion_fee_blended"]) == (2_00, 0)


@pytest.mark.parametrize(
    ("entry_mode", "present", "condition", "pos_entry_mode"),
    [
        (0, 0, "00", "002"),
        (1, 0, "08", "012"),
        (2, 1, "00", "022"),
        (5, 1, "00", "052"),
        (7, 1, "00", "072"),
        (10, 0, "08", "102"),
        (80, 1, "00", "802"),
        (81, 0, "59", "812"),
        (90, 1, "00", "902"),
        (91, 1, "00", "912"),
    ],
)
def test_a_row_maps_the_entry_mode_to_pos_codes(
    entry_mode: int, present: int, condition: str, pos_entry_mode: str
) -> None:
    said = message(use=CardUse(transaction_type=1, entry_mode=entry_mode, checks=UNCHECKED)).members(NOW)

    assert said["card_present"] == present
    assert said["pos_condition_code"] == condition
    assert said["pos_entry_mode"] == pos_entry_mode
    assert said["proc_code"] == 10_000
    assert said["transaction_type"] == 1
    assert said["entry_mode_type"] == entry_mode


def test_a_row_lists_the_risk_rules_that_fired(issuer: Issuer) -> None:
    said = message(fired=FiredRules(("401.7", "402.1"), (RISK_ACTIONS[0], RISK_ACTIONS[4]))).members(NOW)

    assert said["suspicious"] == 1
    assert said["risk_rule_ids"] == "401.7,402.1"
    assert said["note"] == "fired: 401.7, 402.1"
    assert [name for name, flag in said["risk_actions"].items() if flag] == [RISK_ACTIONS[0], RISK_ACTIONS[4]]
    assert message(fired=FiredRules(("1",), (RISK_ACTIONS[1],))).members(NOW)["suspicious"] == 0


@pytest.mark.parametrize("code", RESPONSE_CODES)
@pytest.mark.parametrize("kind", AUTHORIZE_TYPES)
def test_only_approvals_have_the_actual_flag_and_only_releases_have_the_reversal_flag(kind: int, code: str) -> None:
    said = message(kind=kind, code=code).members(NOW)

    assert said["actual"] == (1 if code in ("00", "10") else 0)
    assert said["reversal"] == (1 if kind in (REVERSAL, EXPIRY) else 0)
    assert said.get("advice_reason_code") == {ADVICE: 1, EXPIRY: 2}.get(kind)


def test_a_row_truncates_long_numbers_to_the_length_of_their_fields() -> None:
    said = message(number=12_345_678_901, trans_link="012345678900").members(NOW + 307 * DAY)

    assert said["stan"] == 678_901
    assert said["trace_number"] == "678901"
    assert said["trace_id"] == "000012345678900"
    assert (said["retrieval_reference_number"], said["transmission_date"]) == ("700309678901", "2027-01-03")


def message(**given: Any) -> NetworkMessage:
    least: dict[str, Any] = {
        "number": 7,
        "kind": AUTHORIZATION,
        "card": _card(),
        "trans_link": "000000000007",
        "use": CardUse(transaction_type=0, checks=UNCHECKED),
        "code": "00",
        "amount": 100,
        "currency": EUR,
        "charge": None,
        "holder_currency": GBP,
    }
    return NetworkMessage(**least | given)


def _card() -> Card:
    numbers: tuple[str, ...] = (
        "holder_id",
        "currency",
        "program_id",
        "product_id",
        "sub_product_id",
        "virtual",
        "country",
        "design_id",
    )
    numbers += ("expiry_year", "expiry_month", "request_id", "key_version", "auto_conversion")
    numbers += ("fee_group_id", "limit_group_id", "usage_group_id", "risk_group_id")
    rest: dict[str, Any] = dict.fromkeys(numbers, 1)
    rest |= {"account_ids": [1], "pan": b"", "acs_password": b"", "stored_status": "A"}
    rest |= {"service_code": "201", "name_line_3": "ZOE ONEIL"}
    return Card(id=11, manager_id=5, access_level=30, **rest)


# -- later messages


def test_the_row_of_an_increment_a_reversal_or_an_expiry_shows_the_amount_of_that_message(issuer: Issuer) -> None:
    card = new_holder(issuer, 500_00, card_fee_group_id=SEPARATE)
    link = str(card.authorize(100_00, EUR, merchant_name="Hotel")["trans_link"])
    increment = card.increment(link, 20_00)
    part = card.reverse(link, 60_00)
    rest = issuer.data("simulateExpiry", trans_link=link)

    first, *later = rows(card)
    shown = ("authorize_type", "transaction_amount", "billing_amount", "holder_amount", "transaction_fee")
    assert [[row[name] for name in shown] for row in later] == [
        [INCREMENT, 20_00, 16_00, 16_40, 16],
        [REVERSAL, 60_00, 48_00, 49_20, 63],
        [EXPIRY, 60_00, 48_00, 49_20, 63],
    ]
    assert [row["authorize_id"] for row in later] == [each["authorize_id"] for each in (increment, part, rest)]
    assert {row["trans_link"] for row in later} == {link}
    assert {row["merchant_name"] for row in later} == {"Hotel"}
    assert [(row.get("auth_code"), row.get("date_valid")) for row in later] == [
        (increment["auth_code"], "2026-03-09"),
        (None, None),
        (None, None),
    ]
    assert first["transaction_amount"] == 100_00


def test_only_the_row_of_the_authorization_shows_the_cashback(issuer: Issuer) -> None:
    card = new_holder(issuer, 500_00)
    link = str(card.authorize(50_00, cashback_amount=7_00)["trans_link"])
    card.increment(link, 10_00)
    card.reverse(link, 5)
    issuer.data("simulateExpiry", trans_link=link)

    assert [row.get("cashback_amount") for row in rows(card)] == [7_00, None, None, None]


@pytest.mark.parametrize("transaction_type", [30, 39])
def test_an_inquiry_row_has_the_requested_amount_and_no_held_amount(issuer: Issuer, transaction_type: int) -> None:
    card = new_holder(issuer, 500_00)

    answer = card.authorize(10_00, transaction_type=transaction_type)

    [row] = rows(card)
    assert row["transaction_amount"] == 10_00
    assert row["billing_amount"] == 10_00
    assert row["response_code"] == "00"
    assert answer["approved_amount"] == 0
    assert answer["holder_amount"] == 0
    assert answer["fee_amount"] == 0
    assert card.balances()[1] == 0


# -- in which lists


def test_the_activity_list_has_every_message_and_the_list_of_authorizes_only_approvals(issuer: Issuer) -> None:
    card = new_holder(issuer, 100_00)
    link = str(card.authorize(40_00)["trans_link"])
    card.request_authorization(100_00)
    advice(card, 10_00)
    advice(card, 10_00, "51")
    card.request_authorization(100_00, partial_approval=1)
    card.increment(link, 1_000_00)
    card.reverse(link, 10_00)
    card.increment(link, 5_00)
    credit = str(card.authorize(5_00, transaction_type=20)["trans_link"])
    card.reverse(credit)
    issuer.data("simulateExpiry", trans_link=link)
    card.clear(None, 1_00)
    card.refund(None, 1_00)

    found = rows(card)
    listed = rows(card, activity_record.of_card(card.card_id, activity_record.AUTHORIZES))
    kinds = [(row["authorize_type"], row["response_code"]) for row in found]
    assert kinds == [
        (1, "00"),
        (1, "51"),
        (2, "00"),
        (2, "51"),
        (1, "10"),
        (3, "51"),
        (4, "00"),
        (3, "00"),
        (1, "00"),
        (4, "00"),
        (5, "00"),
    ]
    expected = [row for row in found if row["actual"] and not row["reversal"]]
    assert [members(row) for row in listed] == [members(row) for row in expected]
    assert [row["part"].partition("#")[2] for row in listed] == [row["part"].partition("#")[2] for row in expected]


def test_the_list_of_all_cards_has_each_message_once_in_the_shard_of_the_message_number(issuer: Issuer) -> None:
    cards = [new_holder(issuer, 100_00) for _ in range(2)]
    links = [str(card.authorize(1_00)["trans_link"]) for card in cards for _ in range(10)]
    cards[0].request_authorization(500_00)
    cards[0].reverse(links[0])
    manager_id = cards[0].record(links[0]).manager_id

    shards = [
        [row for row in rows(cards[0], each) if "authorize_id" in row]
        for each in activity_record.of_manager(manager_id)
    ]

    assert len(shards) == SHARDS == 16
    of_cards = {card.card_id for card in cards}
    listed = [row for shard in shards for row in shard if row["card_id"] in of_cards]
    for number, shard in enumerate(shards):
        assert all(shard_of(manager_id, row["authorize_id"]) == f"manager#{manager_id}#{number}" for row in shard)
        assert all(row["owner"] == f"manager#{manager_id}#{number}" for row in shard)
    by_card = [row for card in cards for row in rows(card)]
    assert sorted(map(repr, map(_sorted, listed))) == sorted(map(repr, map(_sorted, by_card)))
    assert len({shard_of(manager_id, row["authorize_id"]) for row in by_card}) > 8, "they are spread"


def _sorted(row: Item) -> list[tuple[str, Any]]:
    """Return the sorted members of a row without the key, because the list of all cards may have an earlier time."""
    return sorted((name, value) for name, value in row.items() if name not in ("owner", "part"))


def test_a_row_has_the_programme_manager_and_the_access_level_of_its_card() -> None:
    reserved = ReservedRow(activity_record.shard_with(5, 7), NOW * 1000 + 1, 7, "token")
    puts = message(code="51").put_rows(WriteStamp(NOW * 1000 + 1, "attempt"), reserved)

    assert {put.table for put in puts} == {"card-activity"}
    assert [put.item["owner"] for put in puts] == [shard_of(5, 7), "card#11"]
    assert {put.item["part"] for put in puts} == {f"activity#{NOW * 1000 + 1}#{7:020}"}
    for put in puts:
        said = {name: put.item[name] for name in ("manager_id", "access_level", "at", "written_by")}
        assert said == {"manager_id": 5, "access_level": 30, "at": NOW * 1000 + 1, "written_by": "attempt"}


# -- in which order


def everything_listed(card: Holder) -> list[tuple[int, int]]:
    transactions = [(row["at"], row["id"]) for row in rows(card, timeline(None, card.card_id))]
    return sorted([*transactions, *((row["at"], row["authorize_id"]) for row in rows(card))])


def test_rows_of_a_card_have_increasing_times_while_the_clock_is_stopped(issuer: Issuer) -> None:
    card = new_holder(issuer, 100_00, euros=100_00)
    start = issuer.clock.time() * 1000
    links = [str(card.authorize(1_00, currency)["trans_link"]) for currency in (GBP, EUR, GBP, EUR)]
    credit = str(card.authorize(1_00, transaction_type=20)["trans_link"])
    bill = card.clear(links[0], 1_00)["transaction_id"]
    steps: list[Callable[[], object]] = [
        lambda: card.reverse(links[1]),
        lambda: card.clear(None, 1_00, EUR),
        lambda: card.increment(links[2], 1_00),
        lambda: card.reverse(credit),
        lambda: card.dispute(bill),
        lambda: card.dispute(bill, "lost"),
        lambda: card.refund(links[0], 1_00),
        lambda: expired(card, links[3]),
    ]
    known = everything_listed(card)
    for step in steps:
        card.request_authorization(500_00)
        card.request_authorization(500_00)
        step()
        card.request_authorization(500_00)

        now = everything_listed(card)
        assert now[: len(known)] == known, "nothing comes before what was listed"
        assert len(now) == len(known) + 4
        known = now
    times = [at for at, _ in known]
    assert times == sorted(set(times))
    assert times[0] >= start
    assert times[-1] < start + 100


def expired(card: Holder, link: str) -> object:
    return card.issuer.data("simulateExpiry", trans_link=link)


def test_cards_with_a_shared_account_have_increasing_row_times(issuer: Issuer) -> None:
    card = new_holder(issuer, 100_00, euros=100_00)
    sibling = issuer.data("createCard", **_on(card))
    issuer.data("activateCard", card_id=sibling["card_id"])
    other = Holder(issuer, replace(card.card, card_id=sibling["card_id"]))

    for _ in range(3):
        card.authorize(1_00)
        other.authorize(1_00)
        card.authorize(1_00, EUR)
        other.request_authorization(500_00)

    for each in (card, other):
        times = [row["at"] for row in rows(each)]
        assert (len(times), times) == (6, sorted(set(times)))


def _on(card: Holder) -> dict[str, Any]:
    """Return the request members that create a second card on the same account."""
    least = {"card_program_id": 101, "card_country_ison": BRITAIN, "card_virtual": 1, "card_name_line_3": "ZOE ONEIL"}
    return least | {
        "holder_id": card.card.holder_id,
        "account_id": [card.account],
        "account_owner_id": [card.card.holder_id],
    }


def test_a_slow_clock_does_not_change_the_order_of_rows(issuer: Issuer) -> None:
    card = new_holder(issuer, 100_00)
    ahead = Holder(issuer.with_own_clock(days=1), card.card)
    link = str(ahead.authorize(1_00)["trans_link"])

    card.request_authorization(500_00)
    card.reverse(link)
    answered = card.clear(None, 1_00)

    times = [row["at"] for row in rows(card)]
    assert times == [times[0], times[0] + 1, times[0] + 2]
    [booked] = card.transactions()
    assert (booked["id"], booked["at"]) == (answered["transaction_id"], times[0] + 3)
    assert rows(card)[0]["transmission_time"] == NOW + DAY
