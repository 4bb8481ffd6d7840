"""The SDK checks pages of transactions before it yields their entries: pages neither repeat nor stay empty."""

import asyncio
from collections.abc import Iterable, Sequence
from itertools import count

import httpx
import pytest

from causeway.errors import UnexpectedAnswer, UnusablePages
from causeway.tpp._pages import LAST_NUMBER, MOST_EMPTY, MOST_LEFT_OUT, PageChecker
from chalicelib.openbanking.protocol.v1_account_messages import LAST_PAGE
from chalicelib.openbanking.unified.transaction_cursors import MOST_EMPTY_PAGES
from tests.sdk.scripted_hub import RETRIEVED, ScriptedHub, answer, tokens

pytestmark = pytest.mark.usefixtures("clock")
NO_COUNTERPARTY = dict.fromkeys(("name", "iban", "bban", "sort_code", "account_number", "bic"))
ID_MEMBERS = {"unified": "stable_key", "payments": "id", "transactions": "transaction_id"}
NO_REMITTANCE = dict.fromkeys(("unstructured", "reference", "reference_type"))


def unified(*keys: str, cursor: str | None = None) -> httpx.Response:
    listed = [
        {
            **dict.fromkeys(("transaction_id", "direction", "date", "booking_date", "value_date")),
            "stable_key": key,
            "status": "booked",
            "amount": {"value": "2.50", "currency": "EUR"},
            "counterparty": NO_COUNTERPARTY,
            "remittance": NO_REMITTANCE,
        }
        for key in keys
    ]
    return answer(body={**RETRIEVED, "account_id": "1", "next_cursor": cursor, "problems": [], "transactions": listed})


def keyed(*ids: str | None, key: str | None = None, status: str = "booked") -> httpx.Response:
    listed = [{"transaction_id": each, "transaction_amount": {"amount": "-2.50", "currency": "EUR"}} for each in ids]
    return answer(body={"transactions": {status: listed}, "page_key": key})


def numbered(*ids: str, limit: int = 2, amounts: Sequence[str] = ()) -> httpx.Response:
    listed = [
        {"id": each, "reference": "r", "date_created": "2026-11-20", "amount": amount, "description": "d"}
        for each, amount in zip(ids, amounts or ["-2.50"] * len(ids), strict=True)
    ]
    return answer(body={"payments": listed, "paginator": {"limit": limit, "current_page": 1}})


def read(pages: Iterable[httpx.Response], version: int, name: str) -> tuple[list[str | None], str]:
    """Return the ids of the entries that the SDK yields, and the reason code of its error; empty without an error."""
    found: list[str | None] = []
    consent = ScriptedHub(*pages).tpp().consent(tokens(version=version))
    list_of = consent.transactions if name == "unified" else getattr(consent.native, name)
    try:
        found.extend(getattr(each, ID_MEMBERS[name]) for each in list_of("1"))
    except UnusablePages as error:
        return found, error.reason_code
    return found, ""


@pytest.mark.parametrize(
    ("pages", "yielded"),
    [
        ([unified("a", "b", cursor="2"), unified("c", cursor="2")], ["a", "b"]),
        ([unified("a", cursor="2"), unified("b", cursor="3"), unified("c", cursor="2")], ["a", "b"]),
        ([unified("a", "b", cursor="2"), unified("a", "b", cursor="3")], ["a", "b"]),
        ([unified("a", cursor="2"), unified("a")], ["a"]),
    ],
    ids=["cursor", "cycle of cursors", "page", "last page of one entry"],
)
def test_nothing_is_yielded_of_a_unified_page_that_repeats(pages: list[httpx.Response], yielded: list[str]) -> None:
    assert read(pages, 2, "unified") == (yielded, "page_repeated")


@pytest.mark.parametrize(
    ("pages", "yielded"),
    [
        ([keyed("a", "b", key="2"), keyed("c", key="2")], ["a", "b"]),
        ([keyed("a", key="2"), keyed("b", key="3"), keyed("c", key="4"), keyed("d", key="2")], ["a", "b", "c"]),
        ([keyed("a", "b", key="2"), keyed("a", "b", key="3")], ["a", "b"]),
        ([keyed("a", "b", key="2"), keyed("a", "b")], ["a", "b"]),
        ([keyed("a", None, key="2"), keyed("a", None, key="3")], ["a", None]),
        ([keyed("a", key="2"), keyed("a", key="3")], ["a"]),
    ],
    ids=["key", "cycle of keys", "page", "last page", "page of an entry without id", "page of one entry"],
)
def test_nothing_is_yielded_of_a_native_page_that_repeats(
    pages: list[httpx.Response], yielded: list[str | None]
) -> None:
    assert read(pages, 2, "transactions") == (yielded, "page_repeated")


def test_equal_entries_without_ids_are_yielded_from_each_page() -> None:
    one, two = [keyed(None, key="2"), keyed(None)], [keyed(" ", " ", key="2"), keyed(" ", " ")]

    assert read(one, 2, "transactions") == ([None] * 2, "")
    assert read(two, 2, "transactions") == ([" "] * 4, "")


def test_equal_pages_without_ids_end_after_20_repeats() -> None:
    pages = (keyed(None, key=str(number)) for number in range(MOST_EMPTY + 1))

    assert read(pages, 2, "transactions") == ([None] * MOST_EMPTY, "page_repeated")


def test_a_numbered_page_that_repeats_once_is_left_out_because_pages_shift() -> None:
    pages = [numbered("3", "2"), numbered("3", "2"), numbered("1")]

    assert read(pages, 1, "payments") == (["3", "2", "1"], "")


@pytest.mark.parametrize("ids", [("2", "1"), ("2", " ")])
def test_a_numbered_page_that_repeats_twice_raises_unusable_pages(ids: tuple[str, str]) -> None:
    pages = [numbered(*ids, amounts=["1", "2"])] * 3

    assert read(pages, 1, "payments") == ([*ids], "page_repeated")


def test_numbered_pages_end_with_the_last_number_of_the_version() -> None:
    pages = (numbered(str(number), limit=1) for number in count())

    found, reason = read([next(pages) for _ in range(LAST_NUMBER)], 1, "payments")

    assert (len(found), reason) == (LAST_NUMBER, "pages_too_many")
    assert LAST_NUMBER == LAST_PAGE


def test_the_twentieth_empty_page_of_a_bank_raises_unusable_pages_as_at_the_hub() -> None:
    few = [keyed("a", key="k"), *(keyed(key=str(number)) for number in range(MOST_EMPTY - 1)), keyed("b")]
    many = [keyed("a", key="k"), *(keyed(key=str(number)) for number in range(MOST_EMPTY))]

    assert read(few, 2, "transactions") == (["a", "b"], "")
    assert read(many, 2, "transactions") == (["a"], "pages_empty")
    assert MOST_EMPTY == MOST_EMPTY_PAGES


def test_unified_pages_may_be_empty_for_all_pages_of_a_version_1_bank() -> None:
    empty = [unified(cursor=str(number)) for number in range(LAST_PAGE)]
    endless = [*empty, unified(cursor="one more")]

    assert read([*empty, unified("a")], 2, "unified") == (["a"], "")
    assert read(endless, 2, "unified") == ([], "pages_empty")
    assert len(endless) == MOST_LEFT_OUT


def test_an_empty_page_key_ends_a_list() -> None:
    assert read([keyed("a", key="")], 2, "transactions") == (["a"], "")


def test_unusable_pages_name_their_reason_and_are_unexpected_answers() -> None:
    hub = ScriptedHub(keyed("a", "b", key="2"), keyed("a", "b", key="3"))

    with pytest.raises(UnexpectedAnswer, match=r"^page_repeated: the bank's response repeats") as raised:
        list(hub.tpp().consent(tokens()).native.transactions_pages("1"))

    assert "fewer days" in raised.value.advice


def test_the_asynchronous_client_checks_pages_too() -> None:
    hub = ScriptedHub(unified("a", cursor="2"), unified("b", cursor="2"))

    async def keys() -> list[str]:
        async with hub.async_tpp() as tpp:
            return [each.stable_key async for each in tpp.consent(tokens()).transactions("1")]

    with pytest.raises(UnusablePages):
        asyncio.run(keys())


@pytest.mark.parametrize(
    ("pages", "allowed", "new"),
    [("ab", 0, [True, True]), ("aa", 1, [True, False]), ("aaba", 1, [True, False, True, True])],
)
def test_a_page_checker_tells_which_pages_are_new(pages: str, allowed: int, new: list[bool]) -> None:
    checker = PageChecker(repeats_allowed=allowed)

    assert [checker.check([page], [page]) for page in pages] == new
