"""Tests of payment order rules across members: accounts, amounts, schemes, totals and the callback URL."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from chalicelib.foundation.fields.ibans import make_iban
from chalicelib.foundation.jsontext import Number
from tests.causeway import Answer
from tests.openbanking.examples import BY_WEBHOOK, CALLBACK, OTHER_IBAN, ROWS, Json, Row, spelled
from tests.openbanking.kit import IBAN
from tests.openbanking.relay import Relay, error_of, json_bytes

PAYMENTS = [row for row in ROWS if row.is_payment]
BULKS = [row for row in PAYMENTS if row.is_bulk]
SINGLES = [row for row in PAYMENTS if not row.is_bulk]
PLACES = {1: ("amount", "currency"), 2: ("instructed_amount",)}


def refused(relay: Relay, row: Row, order: Json, said: str = "", code: str = "FORMAT_ERROR") -> Answer:
    """Check that ``order`` is rejected without a call to the bank, and that the error title contains ``said``."""
    answer = relay.call(row, order)
    assert error_of(answer)[:2] == (400, code), answer
    assert said in answer.body["title"]
    assert relay.received(row) == []
    return answer


def accepted(relay: Relay, row: Row, order: Json) -> Any:
    """Send an order that the service accepts. Return the body that the bank received, with its numbers unchanged."""
    answer = relay.call(row, order)
    assert answer.status == 200, answer
    return spelled(relay.received(row)[0].body)


def payment(row: Row, order: Json) -> Json:
    found: Json = order["payments"][0] if row.is_bulk else order
    return found


def of(row: Row, amount: Any, currency: str = "EUR", **members: Any) -> Json:
    order = row.request
    item = payment(row, order)
    if row.version == 1:
        item |= {"amount": amount, "currency": currency}
        order |= {"totals": [{"amount": amount, "currency": currency}]} if row.is_bulk else {}
    else:
        item["instructed_amount"] = {"amount": amount, "currency": currency}
        order |= {"instructed_totals": {"amount": amount, "currency": currency}} if row.is_bulk else {}
    return order | members


# -- accounts

NAMES_1 = ("receiver_iban", "receiver_account_number", "receiver_sort_code")
ENOUGH_1: dict[str, tuple[Json, bool]] = {
    "an IBAN": ({"receiver_iban": OTHER_IBAN}, True),
    "number and sort code": ({"receiver_account_number": "12345678", "receiver_sort_code": "202015"}, True),
    "an IBAN and empty texts": (
        {"receiver_iban": OTHER_IBAN, "receiver_account_number": "", "receiver_sort_code": ""},
        True,
    ),
    "an empty IBAN and the others": (
        {"receiver_iban": "", "receiver_account_number": "12345678", "receiver_sort_code": "202015"},
        True,
    ),
    "an IBAN and a number": ({"receiver_iban": OTHER_IBAN, "receiver_account_number": "1"}, True),
    "nothing": ({}, False),
    "empty texts": ({"receiver_iban": "", "receiver_account_number": "", "receiver_sort_code": ""}, False),
    "a number alone": ({"receiver_account_number": "12345678"}, False),
    "a number and an empty sort code": ({"receiver_account_number": "12345678", "receiver_sort_code": ""}, False),
    "a sort code alone": ({"receiver_sort_code": "202015", "receiver_iban": ""}, False),
}
ENOUGH_2: dict[str, tuple[Json, bool]] = {
    "an IBAN": ({"iban": IBAN}, True),
    "a BBAN": ({"bban": "370400440532013000"}, True),
    "number and sort code": ({"account_number": "12345678", "sort_code": "202015"}, True),
    "nothing": ({}, False),
    "a number alone": ({"account_number": "12345678"}, False),
    "a sort code alone": ({"sort_code": "202015"}, False),
    "an empty IBAN": ({"iban": ""}, False),
}


@pytest.mark.parametrize("row", [row for row in PAYMENTS if row.version == 1], ids=str)
@pytest.mark.parametrize(("names", "enough"), ENOUGH_1.values(), ids=ENOUGH_1)
def test_a_version_1_payment_requires_a_receiver_account(relay: Relay, row: Row, names: Json, enough: bool) -> None:
    order = row.request
    item = payment(row, order)
    for name in NAMES_1:
        del item[name]
    item |= names

    if not enough:
        refused(relay, row, order, "receiver_iban")
        return
    sent = payment(row, accepted(relay, row, order))
    assert {name: sent[name] for name in NAMES_1 if name in sent} == {
        name: value for name, value in names.items() if value
    }


@pytest.mark.parametrize("row", [row for row in ROWS if row.version == 2 and not row.in_query], ids=str)
@pytest.mark.parametrize("holder", ["debtor_account", "creditor_account", "account"])
@pytest.mark.parametrize(("names", "enough"), ENOUGH_2.values(), ids=ENOUGH_2)
def test_a_version_2_account_requires_an_identifier(
    relay: Relay, row: Row, holder: str, names: Json, enough: bool
) -> None:
    order = row.request
    place = payment(row, order) if holder == "creditor_account" else order
    if holder not in place:
        return
    place[holder] = names

    if not enough:
        answer = refused(relay, row, order)
        assert all(holder in each["details"] for each in answer.body["additionalErrors"])
        return
    sent = accepted(relay, row, order)
    assert (payment(row, sent) if holder == "creditor_account" else sent)[holder] == names


# -- amounts

GOOD_AMOUNTS = [1, "1", 9999999999, Number("0.01"), "0.10", Number("12345678.90"), "100", Number("1.000")]


@pytest.mark.parametrize("row", PAYMENTS, ids=str)
@pytest.mark.parametrize("amount", GOOD_AMOUNTS, ids=repr)
def test_the_amount_of_a_payment_reaches_the_bank_unchanged(relay: Relay, row: Row, amount: Any) -> None:
    sent = payment(row, accepted(relay, row, of(row, amount)))

    held = sent if row.version == 1 else sent["instructed_amount"]
    assert held["amount"] == spelled(json_bytes([amount]))[0]


@pytest.mark.parametrize("row", [row for row in SINGLES if row.version == 2], ids=str)
def test_an_amount_of_70_digits_is_sent_to_the_bank_without_loss_of_digits(relay: Relay, row: Row) -> None:
    for amount in ("9" * 70, "1" + "0" * 67 + ".01", Number("0.1" + "0" * 68)):
        sent = accepted(relay, row, of(row, amount))
        assert sent["instructed_amount"]["amount"] == spelled(json_bytes([amount]))[0]
    refused(relay, row, of(row, "9" * 71), "instructed_amount.amount")


# -- the names of payees and the creditor's account


@pytest.mark.parametrize("row", [row for row in PAYMENTS if row.version == 1], ids=str)
@pytest.mark.parametrize("name", ["Company 24 Ltd", "3M", "24", "Zoë \u0663", "Studio 54 (Köln)"])
def test_the_name_of_a_payment_receiver_can_contain_digits(relay: Relay, row: Row, name: str) -> None:
    order = row.request
    payment(row, order)["receiver_name"] = name

    assert payment(row, accepted(relay, row, order))["receiver_name"] == name


@pytest.mark.parametrize("row", [row for row in PAYMENTS if row.version == 2], ids=str)
@pytest.mark.parametrize("account", [..., None, {}, {"sort_code": "202015"}, {"account_number": "12345678"}], ids=repr)
def test_a_version_2_payment_without_a_creditor_account_returns_400(relay: Relay, row: Row, account: Any) -> None:
    order = row.request
    holder = payment(row, order)
    holder["creditor_account"] = account
    if account is ...:
        del holder["creditor_account"]

    refused(relay, row, order, "creditor_account")


# -- several names of one account

BRITISH: dict[str, tuple[Json, bool]] = {
    "the same": ({"account_number": "55555555", "sort_code": "202015"}, True),
    "the same as numbers": ({"account_number": 55555555, "sort_code": 202015}, True),
    "another number": ({"account_number": "55555556", "sort_code": "202015"}, False),
    "another sort code": ({"account_number": "55555555", "sort_code": "202016"}, False),
    "another number alone": ({"account_number": "55555556"}, False),
    "another sort code alone": ({"sort_code": "202016"}, False),
    "the same number alone": ({"account_number": "55555555"}, True),
}


@pytest.mark.parametrize("row", PAYMENTS, ids=str)
@pytest.mark.parametrize(("beside", "agrees"), BRITISH.values(), ids=BRITISH)
def test_a_british_iban_must_match_the_sort_code_and_the_account_number(
    relay: Relay, row: Row, beside: Json, agrees: bool
) -> None:
    order = row.request
    if row.version == 1:
        item = {name: value for name, value in payment(row, order).items() if name not in NAMES_1}
        named = {f"receiver_{name}": str(value) if name == "sort_code" else value for name, value in beside.items()}
        changed = item | {"receiver_iban": IBAN} | named
        order = order | ({"payments": [changed]} if row.is_bulk else changed)
        order = {name: value for name, value in order.items() if row.is_bulk or name in changed}
    else:
        payment(row, order)["creditor_account"] = {"iban": IBAN, **beside}

    if agrees:
        accepted(relay, row, order)
    else:
        refused(relay, row, order, "is not the account of")


@pytest.mark.parametrize("place", ["debtor_account", "creditor_account"])
def test_an_iban_of_another_country_is_accepted_with_a_sort_code(relay: Relay, place: str) -> None:
    row = BY_WEBHOOK["/v2_payment_direct_single"]
    account = {"iban": OTHER_IBAN, "account_number": "1", "sort_code": "040004"}

    assert accepted(relay, row, row.request | {place: account})[place] == account


def test_an_account_number_without_leading_zeros_matches_its_iban(relay: Relay) -> None:
    row = BY_WEBHOOK["/v2_payment_direct_single"]
    account = {"iban": make_iban("GB", "NWBK04000401926819"), "account_number": 1926819, "sort_code": 40004}

    accepted(relay, row, row.request | {"creditor_account": account})


# -- bulks


def bulk(row: Row, amounts: list[Any], *totals: Any, currency: str = "EUR") -> Json:
    """Return a bulk order with the amounts ``amounts``. A total is either an amount, or an amount with a currency."""
    order = of(row, "1", currency)
    first = order["payments"][0]
    order["payments"] = []
    for amount in amounts:
        item = dict(first)
        item |= (
            {"amount": amount} if row.version == 1 else {"instructed_amount": {"amount": amount, "currency": currency}}
        )
        order["payments"].append(item)
    stated = [total if isinstance(total, tuple) else (total, currency) for total in totals]
    entries = [{"amount": amount, "currency": unit} for amount, unit in stated]
    return order | ({"totals": entries} if row.version == 1 else {"instructed_totals": entries[0]})


SUMS: dict[str, tuple[list[Any], Any, bool]] = {
    "tenths": ([Number("0.1"), Number("0.2")], Number("0.3"), True),
    "written otherwise": ([Number("0.1"), "0.2"], "0.30", True),
    "ten times a tenth": (["0.10"] * 10, 1, True),
    "large and small": (["99999999", "0.01", "0.01"], "99999999.02", True),
    "binary floating point's sum": ([Number("0.1"), Number("0.2")], "0.300000001", False),
    "a cent more": (["1.10", "2.20"], "3.31", False),
    "a cent less": (["1.10", "2.20"], "3.29", False),
    "one payment only": (["1.10", "2.20"], "1.10", False),
}


@pytest.mark.parametrize("row", BULKS, ids=str)
@pytest.mark.parametrize(("amounts", "total", "right"), SUMS.values(), ids=SUMS)
def test_the_totals_of_a_bulk_order_must_equal_the_exact_sum_of_its_payments(
    relay: Relay, row: Row, amounts: list[Any], total: Any, right: bool
) -> None:
    order = bulk(row, amounts, total)

    if right:
        assert accepted(relay, row, order) == spelled(json_bytes(order))
    else:
        refused(relay, row, order, "totals")


def test_the_sum_of_amounts_with_70_digits_is_calculated_exactly(relay: Relay) -> None:
    row = BY_WEBHOOK["/v2_payment_bulk"]
    zeros = "0" * 67

    accepted(relay, row, bulk(row, [f"0.05{zeros}", f"1.95{zeros}", "7"], "9.0"))
    refused(relay, row, bulk(row, [f"0.05{zeros}", f"1.96{zeros}", "7"], "9.0"), "instructed_totals")
    refused(relay, row, bulk(row, ["9" * 70, "7"], "9"), "instructed_totals")


# -- decimals of a currency

DECIMALS = {"EUR": 2, "GBP": 2, "JPY": 0, "KWD": 3, "CLF": 4}
TOO_FINE: dict[str, tuple[Any, str]] = {
    "tenths of cents": (Number("1.005"), "EUR"),
    "as text": ("1.23456", "EUR"),
    "a zero and then more": ("1.2301", "GBP"),
    "half a yen": (Number("1.5"), "JPY"),
    "a hundredth of a yen": ("100.01", "JPY"),
    "tenths of fils": ("1.0005", "KWD"),
}
AS_FINE: dict[str, tuple[Any, str]] = {
    "cents": (Number("1.05"), "EUR"),
    "zeros after the cents": ("1.050000", "EUR"),
    "zeros after a number of cents": (Number("1.0500"), "GBP"),
    "yen": (150, "JPY"),
    "yen with zeros": ("150.00", "JPY"),
    "fils": ("1.005", "KWD"),
    "more than usual": ("1.2345", "CLF"),
}
ASKING = [BY_WEBHOOK["/funds_confirmations"], BY_WEBHOOK["/v2_funds_confirmations"]]
IN_CURRENCIES = pytest.mark.parametrize("row", [*PAYMENTS, *ASKING], ids=str)


def over(row: Row, amount: Any, currency: str) -> Json:
    if row in ASKING:
        return row.request | {"instructed_amount": {"amount": amount, "currency": currency}}
    return of(row, amount, currency)


@IN_CURRENCIES
@pytest.mark.parametrize(("amount", "currency"), TOO_FINE.values(), ids=TOO_FINE)
def test_an_amount_with_more_decimals_than_its_currency_returns_400(
    relay: Relay, row: Row, amount: Any, currency: str
) -> None:
    refused(relay, row, over(row, amount, currency), f"at most {DECIMALS[currency]} decimal places")


@IN_CURRENCIES
@pytest.mark.parametrize(("amount", "currency"), AS_FINE.values(), ids=AS_FINE)
def test_trailing_zeros_of_an_amount_do_not_count_as_decimals(
    relay: Relay, row: Row, amount: Any, currency: str
) -> None:
    answer = {"status": "success", "funds_available": True} if row in ASKING else None

    assert relay.call(row, over(row, amount, currency), answer).status == 200
    assert json_bytes([amount])[1:-1] in relay.received(row)[0].body


@pytest.mark.parametrize("row", BULKS, ids=str)
def test_the_decimals_of_every_payment_and_of_the_totals_of_a_bulk_order_are_checked(relay: Relay, row: Row) -> None:
    refused(relay, row, bulk(row, ["1", "0.995", "0.005"], "2"), "payments.1")
    refused(relay, row, bulk(row, ["1"], "1.001"), "totals")


TOTALS: dict[str, tuple[Any, ...]] = {
    "none": (),
    "one currency twice": (("1", "EUR"), ("1", "EUR")),
    "a currency that has no payment": (("2", "EUR"), ("1", "GBP")),
    "another currency": (("2", "GBP"),),
}


@pytest.mark.parametrize("totals", TOTALS.values(), ids=TOTALS)
def test_the_totals_of_a_version_1_bulk_order_must_contain_each_currency_exactly_once(
    relay: Relay, totals: Any
) -> None:
    row = BY_WEBHOOK["/bulk_payment_initiation"]

    refused(relay, row, bulk(row, ["1", "1"], *totals), "totals")


@pytest.mark.parametrize("row", BULKS, ids=str)
def test_a_bulk_order_with_two_currencies_returns_400(relay: Relay, row: Row) -> None:
    order = bulk(row, ["1", "1"], "2")
    other = copy.deepcopy(order["payments"][1])
    (other if row.version == 1 else other["instructed_amount"])["currency"] = "GBP"
    order["payments"][1] = other
    if row.version == 1:
        order["totals"] = [{"amount": "1", "currency": "EUR"}, {"amount": "1", "currency": "GBP"}]

    refused(relay, row, order)


@pytest.mark.parametrize("row", BULKS, ids=str)
def test_a_bulk_order_has_1_to_1000_payments(relay: Relay, row: Row) -> None:
    assert len(accepted(relay, row, bulk(row, ["0.01"] * 1000, 10))["payments"]) == 1000
    refused(relay, row, bulk(row, ["0.01"] * 1001, "10.01"), "payments must have at most 1000 entries")
    refused(relay, row, bulk(row, [], "1"), "payments must have at least 1 entry")


@pytest.mark.parametrize("row", BULKS, ids=str)
def test_an_error_in_a_bulk_order_contains_the_position_of_the_payment(relay: Relay, row: Row) -> None:
    order = bulk(row, ["1"] * 7, "7")
    order["payments"][4] = order["payments"][4] | {"colour": "red"}

    refused(relay, row, order, "payments.4.colour")


# -- schemes


def schemes_sent(row: Row, sent: Json) -> list[str]:
    if row.webhook == "/bulk_payment_initiation":
        return [item["payment_scheme"] for item in sent["payments"]]
    return [sent["payment_scheme"]]


def with_scheme(row: Row, currency: str, scheme: Any) -> Json:
    order = of(row, "1", currency)
    holder = payment(row, order) if row.version == 1 else order
    holder["payment_scheme"] = scheme
    if scheme is None:
        del holder["payment_scheme"]
    return order


@pytest.mark.parametrize("row", PAYMENTS, ids=str)
@pytest.mark.parametrize(("currency", "scheme"), [("GBP", "FPS"), ("EUR", "SCT")])
def test_a_payment_without_a_scheme_has_the_default_scheme_of_the_currency(
    relay: Relay, row: Row, currency: str, scheme: str
) -> None:
    assert schemes_sent(row, accepted(relay, row, with_scheme(row, currency, None))) == [scheme]


@pytest.mark.parametrize("row", PAYMENTS, ids=str)
@pytest.mark.parametrize("scheme", ["FPS", "BACS", "CHAPS", "SCTI", "SCT"])
def test_the_requested_payment_scheme_is_sent_to_the_bank(relay: Relay, row: Row, scheme: str) -> None:
    assert schemes_sent(row, accepted(relay, row, with_scheme(row, "EUR", scheme))) == [scheme]


@pytest.mark.parametrize("row", PAYMENTS, ids=str)
@pytest.mark.parametrize("scheme", [None, "sct", "SEPA", "S CT", "FPSFPS"])
def test_an_unknown_scheme_returns_400(relay: Relay, row: Row, scheme: str | None) -> None:
    refused(relay, row, with_scheme(row, "USD", scheme), "payment_scheme", "PAYMENT_SCHEME_INVALID")


@pytest.mark.parametrize("row", [row for row in PAYMENTS if row.webhook != "/v2_payment_single"], ids=str)
def test_the_scheme_swift_returns_400_for_orders_other_than_single_payments_of_version_2(
    relay: Relay, row: Row
) -> None:
    refused(relay, row, with_scheme(row, "EUR", "SWIFT"), "SWIFT", "PAYMENT_SCHEME_INVALID")


def test_a_swift_payment_requires_a_creditor_bank(relay: Relay) -> None:
    row = BY_WEBHOOK["/v2_payment_single"]
    order = with_scheme(row, "USD", "SWIFT")

    assert accepted(relay, row, order)["creditor_bank"] == row.request["creditor_bank"]
    bare = {name: value for name, value in order.items() if name != "creditor_bank"}
    refused(relay, row, bare, "creditor_bank")
    assert "creditor_bank" not in accepted(relay, row, bare | {"payment_scheme": "SCT"})


def test_a_direct_payment_with_a_creditor_bank_returns_400(relay: Relay) -> None:
    row = BY_WEBHOOK["/v2_payment_direct_single"]

    refused(relay, row, row.request | {"creditor_bank": {"name": "Bank", "country": "DE"}}, "creditor_bank")


@pytest.mark.parametrize("row", PAYMENTS, ids=str)
def test_a_scheme_not_offered_by_the_bank_returns_400(relay: Relay, row: Row) -> None:
    bic = relay.bank(row).bic
    relay.causeway.hub.openbanking.banks.change(bic, schemes=["SCTI", "FPS"])
    try:
        for currency, scheme in (("EUR", "SCT"), ("EUR", None), ("GBP", "CHAPS")):
            refused(relay, row, with_scheme(row, currency, scheme), "SCTI", "PAYMENT_SCHEME_INVALID")
        assert schemes_sent(row, accepted(relay, row, with_scheme(row, "GBP", None))) == ["FPS"]
        assert schemes_sent(row, accepted(relay, row, with_scheme(row, "EUR", "SCTI"))) == ["SCTI"]
    finally:
        relay.causeway.hub.openbanking.banks.change(bic, schemes=[])


def test_one_invalid_scheme_in_a_version_1_bulk_order_returns_400(relay: Relay) -> None:
    row = BY_WEBHOOK["/bulk_payment_initiation"]
    order = bulk(row, ["1"] * 3, "3")
    order["payments"][2] = order["payments"][2] | {"payment_scheme": "SWIFT"}

    refused(relay, row, order, "SWIFT", "PAYMENT_SCHEME_INVALID")


# -- the way back

ELSEWHERE = [
    "https://127.0.0.1:8000/payments/done",
    "http://127.0.0.1:8001/payments/done",
    "http://127.0.0.1/payments/done",
    "http://localhost:8000/payments/done",
    "http://127.0.0.1.example:8000/",
    "http://127.0.0.1:8000.example/",
    "http://127.0.0.1:80000/",
]


@pytest.mark.parametrize("row", PAYMENTS, ids=str)
@pytest.mark.parametrize("address", ELSEWHERE)
def test_a_callback_url_outside_the_origin_of_the_client_returns_400(relay: Relay, row: Row, address: str) -> None:
    refused(relay, row, row.request | {"callback_url": address}, "callback_url")


@pytest.mark.parametrize("row", PAYMENTS, ids=str)
def test_a_callback_url_accepts_any_path_and_query_at_the_origin_of_the_client(relay: Relay, row: Row) -> None:
    for address in (CALLBACK, "http://127.0.0.1:8000", "http://127.0.0.1:8000/a/b?c=d&e=%20"):
        assert accepted(relay, row, row.request | {"callback_url": address})["callback_url"] == address


# -- the bank of a direct payment

DIRECT = [row for row in PAYMENTS if row.is_direct]
NO_BANK: dict[str, tuple[Any, tuple[int, str]]] = {
    "missing": (None, (400, "FORMAT_ERROR")),
    "a number": (7, (400, "FORMAT_ERROR")),
    "no BIC": ("ALPH", (400, "FORMAT_ERROR")),
    "unknown": ("NONEGB21", (404, "RESOURCE_UNKNOWN")),
}


@pytest.mark.parametrize("row", DIRECT, ids=str)
@pytest.mark.parametrize(("bic", "said"), NO_BANK.values(), ids=NO_BANK)
def test_a_direct_payment_without_a_known_bank_is_rejected(
    relay: Relay, row: Row, bic: Any, said: tuple[int, str]
) -> None:
    relay.received(row).clear()
    order = {**row.request, **({} if bic is None else {"bic": bic})}

    answer = relay.causeway.tpp.call("POST", row.call, order)

    assert error_of(answer)[:2] == said
    assert relay.received(row) == []


@pytest.mark.parametrize("row", DIRECT, ids=str)
@pytest.mark.parametrize("spell", [str.lower, lambda bic: f"{bic}XXX"])
def test_a_direct_payment_accepts_every_bic_format_and_sends_no_bic_to_the_bank(
    relay: Relay, row: Row, spell: Callable[[str], str]
) -> None:
    sent = accepted(relay, row, {"bic": spell(relay.bank(row).bic), **row.request})

    assert "bic" not in sent
