"""The cursors of transaction lists, and what they remember of the page before."""

import base64
import hashlib
import string
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.foundation.crypto.signed_cursors import InvalidCursor
from chalicelib.openbanking.unified import transaction_cursors
from chalicelib.openbanking.unified.transaction_cursors import (
    LONGEST_CURSOR,
    LONGEST_PAGE_KEY,
    MARK_BYTES,
    MOST_MARKS,
    MOST_ORDINAL,
    NO_DETAIL,
    Mark,
    PageState,
    TransactionCursors,
    cursor_reader,
    is_repeat,
    mark_of,
    page_digest,
)
from tests.causeway import Causeway

READER = cursor_reader("c1", "A-1", ["2026-01-01", "", "all", "100"])
MARK = Mark(b"\1\2\3\4", b"\5\6\7\10", 1)
STATES = {
    "first page": PageState(marks=[]),
    "page of version 1": PageState("2", b"digest-8", 1, 0, [MARK]),
    "page key": PageState("n-2/ %?#=&ü", b"digest-8", 0, 3, [MARK, Mark(bytes(4), NO_DETAIL, 7)]),
    "no digest": PageState("x", b"", 0, 19, []),
    "large ordinals": PageState("x", b"digest-8", 0, 0, [Mark(MARK.digest, NO_DETAIL, 2**each) for each in range(16)]),
}
marks = st.builds(
    Mark,
    st.binary(min_size=MARK_BYTES, max_size=MARK_BYTES),
    st.binary(min_size=MARK_BYTES, max_size=MARK_BYTES),
    st.integers(0, MOST_ORDINAL),
)
states = st.builds(
    PageState,
    st.text(max_size=60).filter(lambda text: text.isprintable()),
    st.sampled_from([b"", b"digest-8"]),
    st.integers(0, 2),
    st.integers(0, 20),
    st.lists(marks, max_size=MOST_MARKS),
)


@pytest.fixture(scope="module")
def cursors(shared_causeway: Causeway) -> TransactionCursors:
    return shared_causeway.hub.openbanking.transaction_cursors


@pytest.mark.parametrize("state", STATES.values(), ids=STATES)
def test_cursor_is_read_as_the_page_that_it_was_signed_for(cursors: TransactionCursors, state: PageState) -> None:
    assert cursors.read(READER, cursors.sign(READER, state)) == state


@given(state=states)
def test_every_page_state_survives_its_cursor(cursors: TransactionCursors, state: PageState) -> None:
    cursor = cursors.sign(READER, state)

    assert cursors.read(READER, cursor) == state
    assert set(cursor) <= {*string.ascii_letters, *string.digits, *"-_."}


@pytest.mark.parametrize("ordinal", [1, 2**16 - 1, 2**16, 2**40])
@pytest.mark.parametrize("key", ["k" * LONGEST_PAGE_KEY, "ü" * (LONGEST_PAGE_KEY // 2)])
def test_longest_cursor_has_at_most_4096_characters(cursors: TransactionCursors, key: str, ordinal: int) -> None:
    state = PageState(key, b"digest-8", 255, 255, [MARK._replace(ordinal=ordinal)] * (MOST_MARKS + 50))

    cursor = cursors.sign(READER, state)

    assert len(cursor) <= LONGEST_CURSOR
    found = cursors.read(READER, cursor)
    assert (found.position, len(found.marks)) == (key, 200)
    assert found.marks[0].ordinal == min(ordinal, 65_535)


def test_cursor_remembers_the_last_200_entries_of_a_page(cursors: TransactionCursors) -> None:
    state = PageState("2", b"", 0, 0, [Mark(number.to_bytes(MARK_BYTES), NO_DETAIL, 1) for number in range(250)])

    found = cursors.read(READER, cursors.sign(READER, state))

    assert [int.from_bytes(mark.digest) for mark in found.marks] == [*range(50, 250)]


@pytest.mark.parametrize(
    "reader",
    [
        cursor_reader("c2", "A-1", ["2026-01-01", "", "all", "100"]),
        cursor_reader("c1", "A-2", ["2026-01-01", "", "all", "100"]),
        cursor_reader("c1", "A-1", ["2026-01-02", "", "all", "100"]),
        cursor_reader("c1", "A-1", ["", "2026-01-01", "all", "100"]),
        cursor_reader("c1", "A-1", ["2026-01-01", "", "booked", "100"]),
        cursor_reader("c1", "A-1", ["2026-01-01", "", "all", "10"]),
        cursor_reader("c1", "A-12026-01-01", ["", "", "all", "100"]),
    ],
)
def test_cursor_of_another_consent_account_or_query_is_invalid(cursors: TransactionCursors, reader: str) -> None:
    cursor = cursors.sign(READER, STATES["page key"])

    with pytest.raises(InvalidCursor):
        cursors.read(reader, cursor)


def test_every_altered_character_makes_a_cursor_invalid(cursors: TransactionCursors) -> None:
    cursor = cursors.sign(READER, STATES["page key"])
    for place, character in enumerate(cursor):
        other = "A" if character != "A" else "B"
        for altered in (
            cursor[:place] + other + cursor[place + 1 :],
            cursor[:place],
            cursor[:place] + cursor[place + 1 :],
        ):
            with pytest.raises(InvalidCursor):
                cursors.read(READER, altered)


@pytest.mark.parametrize("cursor", ["", ".", "a.b", "ü.ü", "a" * 4096, "n-2"])
def test_text_that_was_never_signed_is_no_cursor(cursors: TransactionCursors, cursor: str) -> None:
    with pytest.raises(InvalidCursor):
        cursors.read(READER, cursor)


def test_cursor_in_another_format_is_invalid(cursors: TransactionCursors) -> None:
    for packed in (b"\0", b"\0\0\0\0\0short", b"\0\0\0\0\0nine more", b"\0\0\0\0\1\xff"):
        signed = cursors._cursors.sign(READER, base64.urlsafe_b64encode(packed).rstrip(b"=").decode())
        with pytest.raises(InvalidCursor):
            cursors.read(READER, signed)


def test_cursor_stays_valid_after_one_rotation_of_the_data_key(causeway: Causeway) -> None:
    cursors = causeway.hub.openbanking.transaction_cursors
    cursor = cursors.sign(READER, STATES["page key"])
    causeway.hub.keyring.rotate_data_key()
    causeway.clock.advance(120)

    assert cursors.read(READER, cursor) == STATES["page key"]


# -- marks and digests


TRANSACTION = {
    "transaction_id": "T-1",
    "status": "booked",
    "direction": "debit",
    "amount": {"value": "12.50", "currency": "EUR"},
}


@pytest.mark.parametrize(
    "details",
    [
        {"status": "pending"},
        {"direction": "credit"},
        {"direction": None},
        {"amount": {"value": "12.51", "currency": "EUR"}},
        {"amount": {"value": "12.50", "currency": "GBP"}},
        {"amount": {"value": "12.50", "currency": None}},
    ],
)
def test_mark_differs_if_a_detail_of_the_entry_differs(details: dict[str, Any]) -> None:
    digest = bytes(16)

    assert mark_of(digest, TRANSACTION | details, 1) != mark_of(digest, TRANSACTION, 1)


def test_mark_of_an_entry_without_an_id_has_no_details() -> None:
    entry = TRANSACTION | {"transaction_id": None}

    assert mark_of(bytes(range(16)), entry, 2) == Mark(bytes(range(4)), NO_DETAIL, 2)


def test_mark_of_an_entry_with_an_id_has_details_even_if_their_digest_is_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    zeros = SimpleNamespace(digest=lambda: bytes(32))
    monkeypatch.setattr(transaction_cursors, "hashlib", SimpleNamespace(sha256=lambda _: zeros))

    assert mark_of(bytes(16), TRANSACTION, 1).detail == b"\1\1\1\1"


@pytest.mark.parametrize("digests", [[], [b"a"], [b"a", b"a"], [b"a"] * 100])
def test_page_of_equal_entries_has_no_digest_and_is_never_a_repeat(digests: list[bytes]) -> None:
    digest = page_digest(digests)

    assert digest == b""
    assert not is_repeat(PageState(digest=digest), digest)


def test_page_with_the_same_digests_in_the_same_order_is_a_repeat() -> None:
    one, two = (hashlib.sha256(each).digest()[:16] for each in (b"1", b"2"))
    before = PageState(digest=page_digest([one, two]))

    assert is_repeat(before, page_digest([one, two]))
    assert not is_repeat(before, page_digest([two, one]))
    assert not is_repeat(before, page_digest([one, two, two]))
    assert not is_repeat(PageState(), page_digest([one, two]))
