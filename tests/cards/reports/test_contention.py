"""Tests of report paging during concurrent writes: the pages contain exactly the rows of the final list."""

import itertools
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pytest

from chalicelib.cards.protocol.status_codes import Status
from tests.cards.contest import at_once
from tests.cards.issuer import GBP, Issuer

pytestmark = pytest.mark.dynamodb

WRITERS, PAYMENTS, PAGE = 4, 5, 3
AHEAD = 7 / (24 * 3600)
"""The number of days by which the clock of every second process is ahead."""


def decided(issuer: Issuer, action: str, **members: Any) -> int:
    answers = (issuer.sim(action, **members) for _ in itertools.count())
    answer = next(each for each in answers if each.status_code != Status.CONFLICT)
    assert answer.status == "success", answer.raw
    return int(answer.data.get("transaction_id") or answer.data["id"])


def follow(issuer: Issuer, action: str, name: str, is_over: Callable[[], bool], **members: Any) -> list[int]:
    seen: list[int] = []
    while True:
        was_over = is_over()
        last = {"last_id": seen[-1]} if seen else {}
        answer = issuer.do(action, item_count=PAGE, **members, **last)
        assert answer.status == "success", answer.raw
        seen += [row[name] for row in answer.data]
        if was_over and answer.members["has_more_records"] == "N":
            return seen


def raced(
    issuer: Issuer, writing: Sequence[Callable[[], int]], reading: Callable[..., list[int]]
) -> tuple[set[int], list[int]]:
    written: list[int] = []

    def write(first: int) -> list[int]:
        written.extend(call() for call in writing[first::WRITERS])
        return []

    reader = partial(reading, is_over=lambda: len(written) == len(writing))
    *_, read = at_once([*(partial(write, first) for first in range(WRITERS)), reader])
    return set(written), read


@pytest.mark.parametrize("by", ["card", "account"])
def test_pages_list_concurrent_transactions_of_a_card_once(new_issuer: Issuer, by: str) -> None:
    card = new_issuer.card()
    other = new_issuer.account(holder_id=card.holder_id, cards=[card.card_id], currency_ison=GBP)
    accounts = [card.account_id, other] if by == "card" else [other]
    addresses = [new_issuer.address(account, card_id=card.card_id)["id"] for account in accounts]
    writers = [new_issuer.with_own_clock(days=AHEAD * (number % 2)) for number in range(WRITERS)]
    payment = {"amount": 100, "currency_ison": GBP, "scheme": "FPS", "sender_name": "Bob"}
    writing = [
        partial(decided, writer, "simulateInboundPayment", epm_address_id=address, **payment)
        for writer, address in zip(writers * PAYMENTS, itertools.cycle(addresses), strict=False)
    ]
    listed: dict[str, Any] = {"date_from": 0, "date_to": new_issuer.clock.time() + 3600}
    listed |= {"card_id": card.card_id} if by == "card" else {"account_id": other}

    written, read = raced(
        new_issuer, writing, partial(follow, new_issuer, "getTransactions", "transaction_id", **listed)
    )

    assert len(read) == len(written) == WRITERS * PAYMENTS
    assert set(read) == written
    [row, *_] = new_issuer.data("getTransactions", item_count=100, **listed)
    assert row["transaction_id"] == read[0]


def test_pages_list_concurrent_addendums_of_a_transaction_once(new_issuer: Issuer) -> None:
    number = new_issuer.inbound(new_issuer.address(), 100)["transaction_id"]
    writers = [new_issuer.with_own_clock(days=AHEAD * (each % 2)) for each in range(WRITERS)]
    told = {"transaction_id": number, "addendum_type": "lodging", "data": {"nights": 2}}
    writing = [partial(decided, writer, "simulateAddendum", **told) for writer in writers * PAYMENTS]
    listed = {"date_imported_from": 0, "date_imported_to": new_issuer.clock.time() + 3600, "transaction_id": number}

    written, read = raced(
        new_issuer, writing, partial(follow, new_issuer, "getFinancialDetailAddendums", "id", **listed)
    )

    assert len(read) == len(written) == WRITERS * PAYMENTS
    assert set(read) == written
