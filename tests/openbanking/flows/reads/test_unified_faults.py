"""Unified reads of lists and responses that cannot be used, as a whole or in part."""

from typing import Any

import pytest

from chalicelib.foundation import jsontext
from chalicelib.foundation.http.outbound import ConnectionDropped, Reply, TimedOut
from tests.openbanking.examples import BY_WEBHOOK
from tests.openbanking.kit import UNREACHABLE, VERSIONS
from tests.openbanking.relay import Relay, details_of, error_of, json_bytes
from tests.openbanking.unified_reads import EVERY_LIST, EVERY_READ, LIST, UNIFIED, bank_list, call, read, spread

# -- lists that cannot be used in part


@EVERY_LIST
@pytest.mark.parametrize("is_null", [True, False])
def test_missing_list_counts_as_empty_and_is_reported(relay: Relay, version: int, read: str, is_null: bool) -> None:
    answer, name = bank_list(version, read, None), LIST[version][read]
    if not is_null:
        del (answer["transactions"] if version == 2 and read == "transactions" else answer)[name]

    found = call(relay, version, read, answer)

    assert (found.status, found.body[read]) == (200, [])
    assert found.body["problems"] == [{"position": name, "member": None, "reason": "is missing"}]


@pytest.mark.parametrize(
    ("status", "reported"), [("booked", ["booked"]), ("pending", ["pending"]), ("all", ["booked", "pending"])]
)
def test_only_missing_lists_that_were_asked_for_are_reported(relay: Relay, status: str, reported: list[str]) -> None:
    body = read(relay, 2, "transactions", {"transactions": {}}, status=status)

    assert [each["position"] for each in body["problems"]] == reported


@EVERY_LIST
@pytest.mark.parametrize("odd", [7, "x", True, False, 0, ""])
def test_list_that_is_no_list_returns_502(relay: Relay, version: int, read: str, odd: Any) -> None:
    answer = call(relay, version, read, bank_list(version, read, odd))

    assert "must be a list" in details_of(answer)


@pytest.mark.parametrize(("version", "read"), [(1, "accounts"), (2, "accounts"), (2, "balances")])
def test_list_that_is_an_object_returns_502(relay: Relay, version: int, read: str) -> None:
    assert "must be a list" in details_of(call(relay, version, read, bank_list(version, read, {})))


@pytest.mark.parametrize("odd", [None, 7, "x", [], [{"booked": []}]])
def test_response_without_a_transactions_object_returns_502(relay: Relay, odd: Any) -> None:
    without: dict[str, Any] = {"booked": [], "pending": []}
    for answer in (without, without | {"transactions": odd}):
        assert "transactions must be an object" in details_of(call(relay, 2, "transactions", answer))


@pytest.mark.parametrize("odd", [7, "x", {}, True])
def test_list_that_was_not_asked_for_may_be_odd_as_in_the_native_call(relay: Relay, odd: Any) -> None:
    answer = {"transactions": {"booked": [], "pending": odd}}

    body = read(relay, 2, "transactions", answer, status="booked")

    assert (body["transactions"], body["problems"]) == ([], [])


@EVERY_LIST
def test_more_than_100_problems_are_counted(relay: Relay, version: int, read: str) -> None:
    answer = call(relay, version, read, bank_list(version, read, [None] * 112))

    problems = answer.body["problems"]
    assert len(problems) == 101
    assert problems[0] == {"position": f"{LIST[version][read]}[0]", "member": None, "reason": "must be an object"}
    is_of_account = version == 1 and read == "balances"  # no record is the requested one
    assert problems[-1] == {"position": None, "member": None, "reason": f"and {12 + is_of_account} more"}


@EVERY_LIST
def test_member_of_a_problem_is_in_snake_case_and_the_other_entries_are_read(
    relay: Relay, version: int, read: str
) -> None:
    answer = spread(version, read, lambda entry: entry)
    holder = answer["transactions"] if version == 2 and read == "transactions" else answer
    name = LIST[version][read]
    entries = holder[name]
    odd = jsontext.loads(jsontext.dumps(entries[0]))
    member = {"accounts": "currency", "balances": "balance", "transactions": "amount"}[read]
    if version == 2 and read != "accounts":
        amount = odd.pop({"balances": "balance_amount", "transactions": "transaction_amount"}[read])
        spelled, member = (
            {"balances": "balanceAmount", "transactions": "transactionAmount"}[read],
            {"balances": "balance_amount.amount", "transactions": "transaction_amount.amount"}[read],
        )
        odd[spelled] = {each: value for each, value in amount.items() if each != "amount"}
    else:
        del odd[member]
    holder[name] = [odd, *entries]

    body = call(relay, version, read, answer, **({} if read == "accounts" else {"account_id": "1"})).body

    assert body["problems"] == [{"position": f"{name}[0]", "member": member, "reason": "is required"}]
    assert len(body[read]) == len(entries) + (version == 2 and read == "transactions")


@VERSIONS
@pytest.mark.parametrize("amount", ['"+12.50"', '".50"', '"12,50"', '"1E+2"', "null", "true", "1E+100", "9" * 101])
def test_native_call_refuses_the_amount_that_a_unified_read_leaves_out(relay: Relay, version: int, amount: str) -> None:
    def change(entry: dict[str, Any]) -> dict[str, Any]:
        written = jsontext.loads(amount)
        if version == 1:
            return entry | {"amount": written}
        return entry | {"transaction_amount": entry["transaction_amount"] | {"amount": written}}

    answer = spread(version, "transactions", change)

    body = read(relay, version, "transactions", answer)
    native = relay.call(BY_WEBHOOK[UNIFIED[version, "transactions"].webhook], answer=answer)

    assert body["transactions"] == []
    assert {each["reason"] for each in body["problems"]} == {"must be a number"}
    is_only_long = amount in ("1E+100", "9" * 101)
    assert native.status == (200 if is_only_long else 502)
    assert is_only_long or "amount must be a number" in details_of(native)


# -- responses that cannot be used

FAILURES: dict[str, Any] = {
    "unreachable": UNREACHABLE,
    "dropped": ConnectionDropped("the connection broke before the response was complete"),
    "timed out": TimedOut("no answer came in time"),
    "html": Reply(200, b"<html>down</html>", {}, 0),
    "empty": Reply(200, b"", {}, 0),
    "a list": Reply(200, b"[]", {}, 0),
    "null": Reply(200, b"null", {}, 0),
    "a member twice": Reply(200, b'{"status":"success","accounts":[],"accounts":[]}', {}, 0),
    "server error": Reply(500, b"{}", {}, 0),
    "redirect": Reply(302, b"", {}, 0),
    "an error": Reply(400, b'{"status":"error","error_code":1234,"message":"no","code":1234,"title":"no"}', {}, 0),
    "an error as success": Reply(200, b'{"status":"error","error_code":1,"message":"no","code":1,"title":"no"}', {}, 0),
    "an unknown account": Reply(
        404, b'{"status":"error","error_code":4001,"message":"x","code":"X","title":"x"}', {}, 0
    ),
    "a rejected token": Reply(
        401, b'{"status":"error","error_code":4202,"message":"x","code":"AUTHENTICATION_REQUIRED","title":"x"}', {}, 0
    ),
    "too many requests": Reply(429, b"{}", {"Retry-After": "7"}, 0),
}


@EVERY_READ
@pytest.mark.parametrize("failure", FAILURES.values(), ids=FAILURES)
def test_failure_of_a_bank_is_reported_as_by_the_native_call(
    relay: Relay, version: int, read: str, failure: Any
) -> None:
    unified = call(relay, version, read, failure)
    native = relay.call(BY_WEBHOOK[UNIFIED[version, read].webhook], answer=failure)

    assert error_of(unified) == error_of(native)
    assert unified.status in (404, 502)
    assert unified.body["title"] == native.body["title"]
    assert unified.headers.get("retry-after") == native.headers.get("retry-after")


@VERSIONS
@pytest.mark.parametrize("changes", [{"currency": None}, {"currency": ...}, {"id": [], "resource_id": []}])
def test_account_that_the_native_call_refuses_returns_502(relay: Relay, version: int, changes: dict[str, Any]) -> None:
    account = UNIFIED[version, "account"].answer["account"] | changes
    answer = {"status": "success", "account": {name: value for name, value in account.items() if value is not ...}}

    unified = call(relay, version, "account", answer)
    native = relay.call(BY_WEBHOOK[UNIFIED[version, "account"].webhook], answer=answer)

    assert details_of(unified) == details_of(native)


@pytest.mark.parametrize("member", ["account", "other"])
@pytest.mark.parametrize("odd", [None, 7, "x", []])
@VERSIONS
def test_response_without_an_account_returns_502(relay: Relay, version: int, member: str, odd: Any) -> None:
    details_of(call(relay, version, "account", {"status": "success", member: odd}))


@EVERY_READ
def test_response_too_large_to_be_handed_on_returns_502_with_a_hint(relay: Relay, version: int, read: str) -> None:
    answer = spread(version, read, lambda entry: entry | {"own": "x" * 5_899_900})

    assert call(relay, version, read, Reply(200, json_bytes(answer), {}, 0)).status == 200
    details = details_of(call(relay, version, read, Reply(200, json_bytes(answer), {}, 0), native="1"))

    assert "exceeds 5900000 bytes" in details
    assert "ask with a smaller limit, or without native" in details


@VERSIONS
def test_response_that_only_becomes_too_large_by_its_shape_returns_502(relay: Relay, version: int) -> None:
    entry: dict[str, Any] = {"transaction_amount": {"amount": 1, "currency": "EUR"}}
    if version == 1:
        entry = {"id": 1, "reference": "", "date_created": "", "amount": 1, "description": ""}
    answer = Reply(200, json_bytes(bank_list(version, "transactions", [entry] * 14_000)), {}, 0)

    assert len(answer.body) < 1_100_000
    assert "smaller limit" in details_of(call(relay, version, "transactions", answer))
