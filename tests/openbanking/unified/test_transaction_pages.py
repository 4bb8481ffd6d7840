"""Pages of transactions: order, filters, directions, repeats across pages, stable keys, and pages without an end."""

from typing import Any

import pytest

from chalicelib.foundation import jsontext
from chalicelib.openbanking.unified.transaction_pages import UnusablePage
from tests.openbanking.kit import VERSIONS
from tests.openbanking.unified.transaction_lists import (
    ACCOUNT_ID,
    OWN,
    SHOP,
    Reader,
    answer,
    entry,
    ids,
    ordinals,
    payment,
    read_one,
    transaction,
)

# -- order and status


@VERSIONS
def test_booked_transactions_come_first_each_kind_in_the_order_of_the_bank(version: int) -> None:
    pending = [entry(version, "P-1"), entry(version, "P-2")]
    page = answer(version, entry(version, "B-2"), entry(version, "B-1"), pending=pending)

    found = Reader(version).read(page)

    assert [(each["transaction_id"], each["status"]) for each in found] == [
        ("B-2", "booked"),
        ("B-1", "booked"),
        ("P-1", "pending"),
        ("P-2", "pending"),
    ]


@pytest.mark.parametrize("status", [4, "4", None, ..., "", " "])
def test_executed_payment_of_version_1_is_booked(status: Any) -> None:
    assert read_one(1, payment(status=status))["status"] == "booked"


@pytest.mark.parametrize("status", [2, 3, "2", "3"])
def test_failed_or_cancelled_payment_of_version_1_is_neither_listed_nor_reported(status: Any) -> None:
    reader = Reader(1)

    assert ids(reader.read(answer(1, payment("P-1", status=status), payment("P-2")))) == ["P-2"]
    assert reader.problems == []


@pytest.mark.parametrize("status", [0, 1, 5, 44, "0", "1", "04", "RCVD", -4, True, [], {}])
def test_payment_of_version_1_with_any_other_status_is_pending(status: Any) -> None:
    assert read_one(1, payment(status=status))["status"] == "pending"


@VERSIONS
@pytest.mark.parametrize(("status", "listed"), [("booked", ["B"]), ("pending", ["P"]), ("all", ["B", "P"])])
def test_transactions_of_a_status_that_was_not_asked_for_are_left_out(
    version: int, status: str, listed: list[str]
) -> None:
    page = answer(version, entry(version, "B"), pending=[entry(version, "P")])

    assert ids(Reader(version, status=status).read(page)) == listed


# -- days


@VERSIONS
@pytest.mark.parametrize(
    ("earliest", "latest", "listed"),
    [
        (None, None, ["29", "30", "31", "none"]),
        ("2026-01-30", None, ["30", "31", "none"]),
        (None, "2026-01-30", ["29", "30", "none"]),
        ("2026-01-30", "2026-01-30", ["30", "none"]),
        ("2026-02-01", None, ["none"]),
    ],
)
def test_days_are_included_and_transactions_without_a_date_stay(
    version: int, earliest: str | None, latest: str | None, listed: list[str]
) -> None:
    def dated(day: str, written: Any) -> dict[str, Any]:
        if version == 1:
            return payment(day, date_created=written)
        return transaction(
            day, transaction_amount={"amount": "1", "currency": "EUR", "booking_date": written, "value_date": None}
        )

    page = answer(
        version, *(dated(day, f"2026-01-{day}T23:59:59+01:00") for day in ("29", "30", "31")), dated("none", "x")
    )

    assert ids(Reader(version, earliest=earliest, latest=latest).read(page)) == listed


def test_value_date_counts_if_there_is_no_booking_date() -> None:
    found = read_one(2, transaction(transaction_amount={"amount": "1", "currency": "EUR", "value_date": "2026-01-31"}))

    assert (found["date"], found["booking_date"], found["value_date"]) == ("2026-01-31", None, "2026-01-31")


# -- amounts and directions


@VERSIONS
@pytest.mark.parametrize(
    ("written", "value", "direction"),
    [
        ('"12.50"', "12.50", "credit"),
        ('"-12.50"', "12.50", "debit"),
        ("12.50", "12.50", "credit"),
        ("-12.5", "12.5", "debit"),
        ("1E+2", "100", "credit"),
        ("-5E-3", "0.005", "debit"),
        ("0", "0", "credit"),
        ("-0", "0", "debit"),
        ('"-0.00"', "0.00", "debit"),
        ("-0.00", "0.00", "debit"),
        ('"007.10"', "007.10", "credit"),
        ("12345678901234567890.123456789", "12345678901234567890.123456789", "credit"),
        ("9" * 100, "9" * 100, "credit"),
        ("-1E+99", "1" + "0" * 99, "debit"),
    ],
)
def test_amount_keeps_its_digits_and_its_sign_is_the_direction(
    version: int, written: str, value: str, direction: str
) -> None:
    found = read_one(version, entry(version, amount=jsontext.loads(written)))

    assert (found["amount"]["value"], found["direction"]) == (value, direction)


@VERSIONS
@pytest.mark.parametrize("written", ['"+12.50"', '".50"', '"12,50"', '"1E+2"', '""', "null", "true", "1E+100", "{}"])
def test_entry_without_a_usable_amount_is_left_out_and_reported(version: int, written: str) -> None:
    reader = Reader(version)
    page = answer(
        version, entry(version, "1"), entry(version, "2", amount=jsontext.loads(written)), entry(version, "3")
    )

    assert ids(reader.read(page)) == ["1", "3"]
    name, member = ("payments", "amount") if version == 1 else ("booked", "transaction_amount.amount")
    assert reader.problems == [{"position": f"{name}[1]", "member": member, "reason": "must be a number"}]


@VERSIONS
@pytest.mark.parametrize("odd", [None, 7, "x", [], True])
def test_entry_that_is_no_object_is_left_out_and_reported(version: int, odd: Any) -> None:
    reader = Reader(version)
    page = answer(version, odd, entry(version)) if version == 2 else answer(1) | {"payments": [odd, payment()]}

    assert len(reader.read(page)) == 1
    name = "payments" if version == 1 else "booked"
    assert reader.problems == [{"position": f"{name}[0]", "member": None, "reason": "must be an object"}]


def test_position_of_a_problem_is_that_in_the_list_of_the_bank() -> None:
    reader = Reader(2)

    reader.read(answer(2, transaction(), None, pending=[transaction("P"), transaction("Q"), {}]))

    assert [each["position"] for each in reader.problems] == ["booked[1]", "pending[2]"]


@pytest.mark.parametrize(
    ("sender", "receiver", "direction", "name", "currency"),
    [
        (OWN, SHOP, "debit", "Corner Shop", "EUR"),
        (SHOP, OWN, "credit", "Corner Shop", "GBP"),
        (OWN, OWN, None, None, None),
        (SHOP, SHOP, None, None, None),
        (OWN, None, "debit", None, "EUR"),
        (None, OWN, "credit", None, "GBP"),
        (None, None, None, None, None),
        ({**OWN, "internal_account_id": 4711001}, SHOP, "debit", "Corner Shop", "EUR"),
        ({**OWN, "internal_account_id": "47110010"}, SHOP, None, None, None),
    ],
)
def test_own_side_is_the_direction_at_a_version_1_bank_with_unsigned_amounts(
    sender: Any, receiver: Any, direction: str | None, name: str | None, currency: str | None
) -> None:
    sides = {
        "sender_data": {**sender, "currency": "EUR"} if sender else None,
        "receiver_data": {**receiver, "currency": "GBP"} if receiver else None,
    }

    found = read_one(1, payment(amount="12.50", additional_data=[sides]), unsigned_amounts=True)

    assert (found["direction"], found["counterparty"]["name"], found["amount"]["currency"]) == (
        direction,
        name,
        currency,
    )
    assert (found["amount"]["value"], found["remittance"]["unstructured"]) == ("12.50", "Invoice 17")
    if direction is None:
        assert set(found["counterparty"].values()) == {None}


ACCOUNT = {"iban": "DE89370400440532013000"}


@pytest.mark.parametrize(
    ("parties", "direction", "name"),
    [
        ({"creditor_name": "Shop"}, "debit", "Shop"),
        ({"creditor_account": ACCOUNT}, "debit", None),
        ({"creditor_name": "Shop", "creditor_account": ACCOUNT}, "debit", "Shop"),
        ({"debtor_name": "Shop"}, "credit", "Shop"),
        ({"debtor_account": {"sort_code": "040004", "account_number": "31926801"}}, "credit", None),
        ({"creditor_name": "Shop", "debtor_name": "Ada"}, None, None),
        ({"creditor_name": "Shop", "debtor_account": ACCOUNT}, None, None),
        ({}, None, None),
        ({"creditor_name": "Shop", "debtor_name": " ", "debtor_account": {}}, "debit", "Shop"),
        ({"creditor_name": "Shop", "debtor_name": None, "debtor_account": {"iban": ""}}, "debit", "Shop"),
        ({"creditor_name": "", "debtor_account": [ACCOUNT]}, None, None),
        ({"creditor_name": "Shop", "debtor_account": {"currency": "EUR"}}, "debit", "Shop"),
        ({"creditor_name": "Shop", "debtor_account": {"iban": " ", "currency": "EUR"}}, "debit", "Shop"),
        ({"creditor_account": {"bban": "1"}, "debtor_account": {"currency": "EUR"}}, "debit", None),
        ({"creditor_account": {"currency": "EUR"}}, None, None),
    ],
)
def test_only_named_party_is_the_counterparty_at_a_version_2_bank_with_unsigned_amounts(
    parties: dict[str, Any], direction: str | None, name: str | None
) -> None:
    native = transaction(amount="12.50", **({"creditor_name": ..., "creditor_account": ...} | parties))

    found = read_one(2, native, unsigned_amounts=True)

    assert (found["direction"], found["counterparty"]["name"], found["amount"]["currency"]) == (direction, name, "EUR")
    if direction is None:
        assert set(found["counterparty"].values()) == {None}


@VERSIONS
def test_minus_sign_is_a_debit_also_at_a_bank_with_unsigned_amounts(version: int) -> None:
    sides = [{"sender_data": {**SHOP, "currency": "EUR"}, "receiver_data": {**OWN, "currency": "EUR"}}]
    native = (
        payment(additional_data=sides)
        if version == 1
        else transaction(debtor_name="Corner Shop", creditor_name=..., creditor_account=...)
    )

    found = read_one(version, native, unsigned_amounts=True)

    assert found["direction"] == "debit"
    assert found["counterparty"]["name"] == (OWN["account_name"] if version == 1 else None)


@VERSIONS
def test_amount_without_a_sign_is_a_credit_at_a_bank_with_signed_amounts(version: int) -> None:
    found = read_one(version, entry(version, amount="12.50"))

    assert found["direction"] == "credit"
    assert found["counterparty"]["name"] == (OWN["account_name"] if version == 1 else None)


# -- repeats of the page before


@VERSIONS
def test_entry_of_the_page_before_is_left_out_once_it_comes_again(version: int) -> None:
    """A payment arrives between two pages, so that the pages of a version 1 bank shift by one."""
    reader = Reader(version, limit=3)
    rows = [entry(version, f"E-{number}", f"-{number}.00") for number in range(7)]

    pages = [rows[1:4], rows[3:6], rows[6:]]
    found = [
        ids(reader.read(answer(version, *page, **({"page_key": f"k-{page}"} if page[-1] != rows[6] else {}))))
        for page in pages
    ]

    assert found == [["E-1", "E-2", "E-3"], ["E-4", "E-5"], ["E-6"]]


@VERSIONS
@pytest.mark.parametrize(
    "changed",
    [
        lambda version: entry(version, "E-2"),
        lambda version: entry(version, "E-1", "-12.51"),
        lambda version: entry(version, "E-1", "12.50"),
        lambda version: entry(version, "E-1", status=1) if version == 1 else None,
        lambda version: (
            payment("E-1", additional_data=[{"sender_data": {"currency": "USD"}}])
            if version == 1
            else transaction("E-1", transaction_amount={"amount": "-12.50", "currency": "USD"})
        ),
    ],
    ids=["id", "value", "direction", "status", "currency"],
)
def test_entry_that_differs_from_the_page_before_is_listed(version: int, changed: Any) -> None:
    reader = Reader(version, limit=1)
    reader.read(answer(version, entry(version, "E-1"), **_more(version, "k-2")))
    native = changed(version)

    page = answer(2, pending=[entry(2, "E-1")]) if native is None else answer(version, native)

    assert len(reader.read(page)) == 1


@VERSIONS
def test_repeat_with_other_texts_is_left_out(version: int) -> None:
    reader = Reader(version, limit=1)
    reader.read(answer(version, entry(version, "E-1"), **_more(version, "k-2")))
    text = {"description": "other"} if version == 1 else {"remittance_information_unstructured": "other"}

    assert reader.read(answer(version, entry(version, "E-1", **text))) == []


@VERSIONS
def test_within_a_page_nothing_is_left_out(version: int) -> None:
    found = Reader(version).read(answer(version, entry(version), entry(version), entry(version)))

    assert ids(found) == ["E-1"] * 3
    assert ordinals(found) == [1, 2, 3]


@VERSIONS
def test_entries_without_an_id_are_never_left_out(version: int) -> None:
    reader = Reader(version, limit=1)
    blank = " " if version == 1 else ...

    first = reader.read(answer(version, entry(version, blank), **_more(version, "k-2")))
    second = reader.read(answer(version, entry(version, blank), **_more(version, "k-3")))

    assert ids(first) == ids(second) == [None]
    assert [*ordinals(first), *ordinals(second)] == [1, 2]
    assert first[0]["stable_key"].partition(".")[0] == second[0]["stable_key"].partition(".")[0]


@VERSIONS
def test_two_equal_coffees_with_ids_on_two_pages_have_different_keys(version: int) -> None:
    reader = Reader(version, limit=1)

    first = reader.read(answer(version, entry(version, "C-1", "-3.20"), **_more(version, "k-2")))
    second = reader.read(answer(version, entry(version, "C-2", "-3.20")))

    assert (ids(first), ids(second)) == (["C-1"], ["C-2"])
    assert [*ordinals(first), *ordinals(second)] == [1, 1]
    assert first[0]["stable_key"] != second[0]["stable_key"]


@VERSIONS
def test_ordinals_go_on_from_the_page_before_only(version: int) -> None:
    reader = Reader(version, limit=2)
    coffee, other = entry(version, ... if version == 2 else " ", "-3.20"), entry(version, "O")

    found = [
        ordinals(reader.read(answer(version, *page, **_more(version, f"k-{number}"))))
        for number, page in enumerate(
            [[coffee, coffee], [coffee, other], [other | {}, entry(version, "Q")], [coffee, coffee]]
        )
    ]

    assert found == [[1, 2], [3, 1], [1], [1, 2]]


@VERSIONS
def test_repeated_entry_keeps_its_ordinal_for_the_next_page(version: int) -> None:
    reader = Reader(version, limit=2)
    one, other = entry(version, "E-1"), entry(version, "E-2")
    reader.read(answer(version, one, one, **_more(version, "k-2")))
    reader.read(answer(version, one, other, **_more(version, "k-3")))

    assert ordinals(reader.read(answer(version, entry(version, "E-1", "-99"), entry(version, "E-3")))) == [3, 1]


@VERSIONS
def test_only_the_last_200_entries_of_the_page_before_are_remembered(version: int) -> None:
    reader = Reader(version)
    rows = [entry(version, f"E-{number}") for number in range(250)]
    reader.read(answer(version, *rows, **_more(version, "k-2")))

    assert ids(reader.read(answer(version, *rows[40:60]))) == [f"E-{number}" for number in range(40, 50)]


@VERSIONS
def test_entries_that_a_filter_leaves_out_are_remembered(version: int) -> None:
    reader = Reader(version, limit=1, earliest="2026-02-01")
    assert reader.read(answer(version, entry(version), **_more(version, "k-2"))) == []
    reader.earliest = None

    assert reader.read(answer(version, entry(version))) == []


# -- the next page


NO_KEYS: list[Any] = [None, "", " ", True, [], {}, ["n-2"]]


@pytest.mark.parametrize("key", ["n-2", "a/b %?#=&", "ü" * 512, "k" * 1024, 7, "0"])
def test_page_key_of_version_2_leads_to_the_next_page(key: Any) -> None:
    reader = Reader(2)
    reader.read(answer(2, transaction(), page_key=key))

    assert reader.page is not None
    assert reader.page.position == str(key)


@pytest.mark.parametrize("members", [{}, *({"page_key": key} for key in NO_KEYS)])
def test_version_2_list_ends_without_a_page_key(members: dict[str, Any]) -> None:
    reader = Reader(2, limit=1)
    reader.read(answer(2, transaction(), transaction("T-2"), **members))

    assert reader.page is None


ODD_LIMITS: list[Any] = [None, 0, "0", -2, "-2", "2.0", "x", "", True, [], {}, "2 ", "9" * 5000]


@pytest.mark.parametrize(
    ("limit", "paginator", "count", "is_last"),
    [
        (3, {"limit": 100}, 3, False),
        (3, {"limit": 100}, 2, True),
        (3, {"limit": 100}, 5, False),
        (3, {"limit": "100"}, 3, False),
        (100, {"limit": 2}, 2, False),
        (100, {"limit": "2"}, 2, False),
        (100, {"limit": 2}, 1, True),
        (100, {"limit": 2}, 0, True),
        (1, {"limit": 2}, 0, True),
        (3, None, 3, False),
        (3, None, 2, True),
        *((3, {"limit": odd}, 2, True) for odd in ODD_LIMITS),
        *((3, {"limit": odd}, 3, False) for odd in ODD_LIMITS),
        (3, [], 3, False),
        (3, "x", 2, True),
    ],
)
def test_version_1_list_ends_with_a_page_that_is_not_full(
    limit: int, paginator: Any, count: int, is_last: bool
) -> None:
    reader = Reader(1, limit=limit)
    page = answer(1, *(payment(f"P-{number}") for number in range(count)), paginator=paginator)
    if paginator is None:
        del page["paginator"]

    reader.read(page)

    assert (reader.page is None) is is_last
    assert reader.page is None or reader.page.position == "2"


def test_entries_that_are_not_listed_fill_a_page_of_version_1() -> None:
    reader = Reader(1, limit=3)

    assert reader.read(answer(1, payment(status=2), payment(amount="x"), payment(date_created=...))) == []
    assert reader.page is not None


# -- pages without an end


def _more(version: int, key: str) -> dict[str, Any]:
    """Return the members that lead to a next page."""
    return {} if version == 1 else {"page_key": key}


def refusal(reader: Reader, page: dict[str, Any]) -> str:
    with pytest.raises(UnusablePage) as refused:
        reader.read(page)
    return refused.value.reason_code


def test_page_key_that_was_just_used_is_refused() -> None:
    reader = Reader(2)
    reader.read(answer(2, transaction("1"), page_key="n-2"))

    assert refusal(reader, answer(2, transaction("2"), page_key="n-2")) == "page_repeated"


def test_page_key_of_an_earlier_page_is_accepted() -> None:
    reader = Reader(2)
    for number, key in enumerate(("n-2", "n-3", "n-2")):
        reader.read(answer(2, transaction(f"T-{number}"), page_key=key))


@pytest.mark.parametrize("more", [{"page_key": "n-3"}, {}])
def test_second_of_two_equal_pages_of_version_2_is_refused(more: dict[str, Any]) -> None:
    reader, rows = Reader(2), [transaction("1"), transaction("2")]
    reader.read(answer(2, *rows, page_key="n-2"))

    assert refusal(reader, answer(2, *rows, **more)) == "page_repeated"


def test_third_of_three_equal_pages_of_version_1_is_refused() -> None:
    reader, rows = Reader(1, limit=2), [payment("1"), payment("2")]

    assert ids(reader.read(answer(1, *rows))) == ["1", "2"]
    assert ids(reader.read(answer(1, *rows))) == []
    assert refusal(reader, answer(1, *rows)) == "page_repeated"


def test_equal_pages_of_version_1_that_do_not_follow_each_other_are_accepted() -> None:
    reader, rows, others = Reader(1, limit=2), [payment("1"), payment("2")], [payment("3"), payment("4")]
    for page in (rows, rows, others, others, rows, rows):
        reader.read(answer(1, *page))


@VERSIONS
def test_pages_of_equal_entries_are_never_repeats(version: int) -> None:
    reader, blank = Reader(version, limit=2), " " if version == 1 else ...
    for number in range(5):
        assert len(reader.read(answer(version, *[entry(version, blank)] * 2, **_more(version, f"k-{number}")))) == 2


@VERSIONS
def test_pages_of_one_entry_are_never_repeats(version: int) -> None:
    reader = Reader(version, limit=1)
    for number in range(5):
        reader.read(answer(version, entry(version), **_more(version, f"k-{number}")))


@VERSIONS
def test_same_entries_in_another_order_are_no_repeated_page(version: int) -> None:
    reader, rows = Reader(version, limit=2), [entry(version, "1"), entry(version, "2")]
    for number in range(6):
        reader.read(answer(version, *rows, **_more(version, f"k-{number}")))
        rows.reverse()


def test_repeated_page_of_unusable_entries_is_refused() -> None:
    reader = Reader(2)
    reader.read(answer(2, None, {}, page_key="n-2"))

    assert refusal(reader, answer(2, None, {}, page_key="n-3")) == "page_repeated"


def test_twentieth_empty_page_in_a_row_is_refused() -> None:
    reader = Reader(2)
    for number in range(19):
        assert reader.read(answer(2, page_key=f"n-{number}")) == []

    assert refusal(reader, answer(2, page_key="n-19")) == "pages_empty"


def test_twentieth_empty_page_may_be_the_last() -> None:
    reader = Reader(2)
    for number in range(19):
        reader.read(answer(2, page_key=f"n-{number}"))

    assert reader.read(answer(2)) == []
    assert reader.page is None


def test_entry_of_any_kind_ends_a_row_of_empty_pages() -> None:
    reader = Reader(2, status="booked")
    for number in range(100):
        reader.read(answer(2, pending=[None] if number % 19 == 0 else [], page_key=f"n-{number}"))


def test_page_key_of_more_than_1024_bytes_is_refused() -> None:
    assert refusal(Reader(2), answer(2, transaction(), page_key="k" * 1025)) == "page_key_too_long"
    assert refusal(Reader(2), answer(2, transaction(), page_key="ü" * 513)) == "page_key_too_long"


# -- the whole entry


@VERSIONS
def test_native_is_the_entry_unchanged_and_only_if_asked_for(version: int) -> None:
    native = entry(version, extra={"own": [jsontext.Number("1.50"), None]}, amount=jsontext.Number("-1E+2"))

    found = read_one(version, native, with_native=True)

    assert jsontext.dumps(found["native"]) == jsontext.dumps(native)
    assert "native" not in read_one(version, native)
    assert {name: value for name, value in found.items() if name != "native"} == read_one(version, native)


@VERSIONS
def test_transaction_has_its_members_in_the_documented_order(version: int) -> None:
    assert [*read_one(version, entry(version))] == [
        *("stable_key", "transaction_id", "status", "direction", "amount", "date", "booking_date", "value_date"),
        *("counterparty", "remittance"),
    ]


@VERSIONS
def test_stable_key_is_over_the_account_id_of_the_request(version: int) -> None:
    one = read_one(version, entry(version))["stable_key"]

    assert one == read_one(version, entry(version), account_id=ACCOUNT_ID)["stable_key"]
    assert one != read_one(version, entry(version), account_id="4711002")["stable_key"]
