"""Unified and native reads of the same response: the same entries, and the same faults where both name them."""

import re
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chalicelib.foundation.http.outbound import Reply
from tests.causeway import Answer
from tests.openbanking.examples import BY_WEBHOOK, Row
from tests.openbanking.odd_input import near_within
from tests.openbanking.relay import Relay, details_of, json_bytes
from tests.openbanking.unified.native_oracle import OTHER_ACCOUNTS, check_read
from tests.openbanking.unified_reads import ACCOUNT_ID, EVERY_LIST, EVERY_READ, LIST, UNIFIED, call

MALFORMED = "the bank's response is malformed: "
MISSING_LIST = re.compile(r"^((?:transactions\.)?[a-z]+) (?:is required|must be a list)$")
"""The fault of a list that is missing or null, as the native call names it."""
OF_PAGES = ("paginator", "page_key")
"""Members for which the native call refuses a response that a unified read takes."""


def several(answer: Any, times: int) -> Any:
    """Return an example response in which each list of entries has ``times`` as many entries."""
    if isinstance(answer, dict):
        return {name: several(value, times) for name, value in answer.items()}
    is_of_entries = (
        isinstance(answer, list) and answer and isinstance(answer[0], dict) and "sender_data" not in answer[0]
    )
    return answer * times if is_of_entries else answer


def native_faults(native: Answer) -> Sequence[str]:
    """Return the faults for which the native call refuses a response, as text; empty if it is another failure."""
    details = details_of(native)
    faults = details.removeprefix(MALFORMED).split("; ") if details.startswith(MALFORMED) else []
    return [MISSING_LIST.sub(r"\1 is missing", fault) for fault in faults]


@EVERY_READ
def test_random_response_is_read_as_by_the_native_call(relay: Relay, version: int, read: str) -> None:
    row: Row = UNIFIED[version, read]
    counts = {"read": 0, "refused": 0}

    @settings(max_examples=40)
    @given(data=st.data())
    def compare(data: st.DataObject) -> None:
        example = several(row.answer, data.draw(st.integers(1, 3)))
        account_id = data.draw(st.sampled_from([ACCOUNT_ID, "1"]))
        is_odd = data.draw(st.integers(0, 3)) > 0
        response = Reply(200, json_bytes(data.draw(near_within(example)) if is_odd else example), {}, 0)

        native = relay.call(BY_WEBHOOK[row.webhook], answer=response)
        unified = call(
            relay, version, read, response, native="1", **({} if read == "accounts" else {"account_id": account_id})
        )

        if native.status != 200:
            counts["refused"] += 1
            check_refusal(version, read, native, unified)
        elif isinstance(key := native.body.get("page_key"), str | int) and len(str(key).encode()) > 1024:
            assert unified.body["reason_code"] == "page_key_too_long"
        else:
            counts["read"] += 1
            assert unified.status == 200, unified
            check_read(version, read, native.body, unified.body, account_id)

    compare()

    assert min(counts.values()) > 0, counts


def check_refusal(version: int, read: str, native: Answer, unified: Answer) -> None:
    """Check the unified response to a response for which the native call returns an error."""
    if unified.status != 200:
        assert (unified.status, unified.body["title"]) == (native.status, native.body["title"])
        return
    faults = native_faults(native)
    assert faults != [], native
    first_faults: dict[str, str] = {}
    for fault in faults:
        if not fault.startswith(OF_PAGES):
            first_faults.setdefault(place_of(fault), fault)
    problems = [each for each in unified.body["problems"] if each != OTHER_ACCOUNTS]
    assert [spelled_natively(version, read, each) for each in problems] == [*first_faults.values()]


def place_of(fault: str) -> str:
    """Return the path of the entry or the list in which a fault is."""
    return re.split(r"(?<=\.[0-9])[. ]| ", fault, maxsplit=1)[0]


def spelled_natively(version: int, read: str, problem: dict[str, Any]) -> str:
    """Return a problem as the native call names it."""
    objects = "transactions." if (version, read) == (2, "transactions") else ""
    position = problem["position"].replace("[", ".").replace("]", "")
    member = f".{problem['member']}" if problem["member"] else ""
    return f"{objects}{position}{member} {problem['reason']}"


MANDATORY = {
    (1, "accounts"): "accounts.1.currency",
    (1, "balances"): "accounts.1.balance",
    (1, "transactions"): "payments.1.amount",
    (2, "accounts"): "accounts.1.currency",
    (2, "balances"): "balances.1.balance_amount",
    (2, "transactions"): "transactions.booked.1.transaction_amount",
}
"""A mandatory member of the second entry of each list."""


@EVERY_LIST
@pytest.mark.parametrize("is_object", [True, False])
def test_native_refusal_names_the_odd_entry_of_a_list(relay: Relay, version: int, read: str, is_object: bool) -> None:
    row, path = UNIFIED[version, read], MANDATORY[version, read]
    response = several(row.answer, 3)
    entries = (response["transactions"] if path.startswith("transactions") else response)[LIST[version][read]]
    member = path.rpartition(".")[2]
    entries[1] = {name: value for name, value in entries[1].items() if name != member} if is_object else "odd"

    native = relay.call(BY_WEBHOOK[row.webhook], answer=response)

    named = f"{path} is required" if is_object else f"{path.removesuffix(f'.{member}')} must be an object"
    assert details_of(native) == f"{MALFORMED}{named}"
