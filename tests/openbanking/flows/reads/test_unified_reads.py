"""Unified reads: shapes, ``native``, parameters, withheld accounts, and responses that cannot be used."""

from typing import Any
from urllib.parse import urlencode

import pytest

from chalicelib.foundation import jsontext
from chalicelib.foundation.http.outbound import ConnectionDropped, Reply, TimedOut
from tests.kit.logs import Lines
from tests.openbanking.examples import ANSWERS, BY_WEBHOOK, OTHER_IBAN, copied
from tests.openbanking.kit import IBAN, UNREACHABLE, VERSIONS
from tests.openbanking.relay import Relay, details_of, error_of, json_bytes
from tests.openbanking.unified_reads import (
    ACCOUNT_ID,
    EVERY_LIST,
    EVERY_READ,
    LIST,
    UNIFIED,
    bank_list,
    call,
    query_of,
    read,
)

NOW = "2026-03-02T09:00:00+00:00"
BIC = {1: "ALPHGB21", 2: "BETADEF1"}
RETRIEVED = {version: {"bic": bic, "retrieved_at": NOW} for version, bic in BIC.items()}

# -- shapes

ACCOUNTS: dict[int, dict[str, Any]] = {
    1: {
        "account_id": "1",
        "name": "Main",
        "currency": "GBP",
        "iban": IBAN,
        "bban": None,
        "sort_code": "202015",
        "account_number": "55555555",
        "payment_schemes": None,
    },
    2: {
        "account_id": "r1",
        "name": "Main account",
        "currency": "EUR",
        "iban": IBAN,
        "bban": "370400440532013000",
        "sort_code": "202015",
        "account_number": "55555555",
        "payment_schemes": ["SCT", "SCTI"],
    },
}
BALANCES: dict[int, dict[str, Any]] = {
    1: {"type": "booked", "native_type": None, "amount": {"value": "-0.10", "currency": "GBP"}},
    2: {"type": "booked", "native_type": "interimBooked", "amount": {"value": "0.10", "currency": "EUR"}},
}
PARTY = {
    1: {
        "name": "Main",
        "iban": IBAN,
        "bban": None,
        "sort_code": "202015",
        "account_number": "12345678",
        "bic": "ALPHGB21",
    },
    2: {
        "name": "Jane Doe",
        "iban": OTHER_IBAN,
        "bban": "370400440532013000",
        "sort_code": "202015",
        "account_number": "12345678",
        "bic": None,
    },
}
TRANSACTIONS: dict[int, dict[str, Any]] = {
    1: {
        "transaction_id": "P-1",
        "status": "booked",
        "direction": "credit",
        "amount": {"value": "12.50", "currency": "GBP"},
        "date": "2026-01-31",
        "booking_date": None,
        "value_date": None,
        "counterparty": PARTY[1],
        "remittance": {"unstructured": "Rent, January", "reference": "Invoice 17", "reference_type": None},
    },
    2: {
        "transaction_id": "t1",
        "status": "booked",
        "direction": "credit",
        "amount": {"value": "12345678901234567890.10", "currency": "EUR"},
        "date": "2026-01-30",
        "booking_date": "2026-01-30",
        "value_date": "2026-01-31",
        "counterparty": PARTY[2],
        "remittance": {"unstructured": "Invoice 17", "reference": "RF18 5390", "reference_type": "SCOR"},
    },
}


@VERSIONS
def test_accounts_have_one_shape(relay: Relay, version: int) -> None:
    assert read(relay, version, "accounts") == {**RETRIEVED[version], "problems": [], "accounts": [ACCOUNTS[version]]}


@VERSIONS
def test_account_has_one_shape(relay: Relay, version: int) -> None:
    assert read(relay, version, "account") == {**RETRIEVED[version], "account": ACCOUNTS[version]}


@VERSIONS
def test_balances_have_one_shape(relay: Relay, version: int) -> None:
    assert read(relay, version, "balances") == {
        **RETRIEVED[version],
        "account_id": ACCOUNT_ID,
        "problems": [],
        "balances": [BALANCES[version] | {"as_of": None, "credit_limit_included": None}],
    }


@VERSIONS
def test_transactions_have_one_shape(relay: Relay, version: int) -> None:
    body = read(relay, version, "transactions", limit=50)

    keys = [each.pop("stable_key") for each in body["transactions"]]
    assert isinstance(body.pop("next_cursor"), str) is (version == 2)
    assert body == {
        **RETRIEVED[version],
        "account_id": ACCOUNT_ID,
        "problems": [],
        "transactions": [TRANSACTIONS[1]]
        if version == 1
        else [TRANSACTIONS[2], TRANSACTIONS[2] | {"status": "pending"}],
    }
    assert [key.partition(".")[2] for key in keys] == ["1", "2"][: len(keys)]


# -- the request to the bank

ODD_ID = "a/b%2F?c#d &e=f+g ü"


@EVERY_READ
def test_bank_receives_the_request_of_the_native_call(relay: Relay, version: int, read: str) -> None:
    row = UNIFIED[version, read]
    native: dict[str, dict[str, Any]] = {
        "accounts": {},
        "account": {"account_id": ACCOUNT_ID},
        "balances": {"account_id": ACCOUNT_ID},
    }
    page: dict[int, dict[str, Any]] = {
        1: {"record_count": 100, "current_page": 1},
        2: {"booking_status": "both", "page_size": 100},
    }

    call(relay, version, read)

    (sent,) = relay.received(row)
    assert sent.path == row.webhook
    assert jsontext.loads(sent.body) == native.get(read, {"account_id": ACCOUNT_ID, **page[version]})
    assert sent.headers["X-Auth-Token"] == relay.bank_tokens[version]


@EVERY_READ
def test_headers_of_a_unified_read_are_those_of_the_native_call(relay: Relay, version: int, read: str) -> None:
    row, request_id = UNIFIED[version, read], "0f8fad5b-d9cb-469f-a165-70867728950e"

    answer = relay.call(row, query_of(read), headers={"x-request-id": request_id, "psu-ip-address": "192.0.2.7"})

    (sent,) = relay.received(row)
    assert (sent.headers["X-Request-Id"], sent.headers["PSU-IP-Address"]) == (request_id, "192.0.2.7")
    assert answer.headers["x-request-id"] == request_id
    assert answer.headers["server-timing"].startswith("bank;dur=10.0, hub;dur=")


@VERSIONS
@pytest.mark.parametrize("name", ["account", "balances", "transactions"])
def test_account_id_of_any_characters_reaches_the_bank_and_returns(relay: Relay, version: int, name: str) -> None:
    body = read(relay, version, name, account_id=ODD_ID)

    (sent,) = relay.received(UNIFIED[version, name])
    assert jsontext.loads(sent.body)["account_id"] == ODD_ID
    assert body.get("account_id", ODD_ID) == ODD_ID


def test_account_id_and_transaction_id_of_any_characters_are_unchanged(relay: Relay) -> None:
    account = ANSWERS[2]["/v2_account"]["account"] | {"resource_id": ODD_ID}
    (found,) = read(relay, 2, "accounts", {"accounts": [account]})["accounts"]
    assert found["account_id"] == ODD_ID

    (entry,) = ANSWERS[2]["/v2_account_transactions"]["transactions"]["booked"]
    (listed,) = read(relay, 2, "transactions", bank_list(2, "transactions", [entry | {"transaction_id": ODD_ID}]))[
        "transactions"
    ]
    assert listed["transaction_id"] == ODD_ID


@pytest.mark.parametrize(("version", "longest"), [(1, 34), (2, 255)])
@pytest.mark.parametrize("name", ["account", "balances", "transactions"])
def test_account_id_is_as_long_as_the_version_takes(relay: Relay, version: int, longest: int, name: str) -> None:
    read(relay, version, name, account_id="x" * longest)

    for length in (longest + 1, 256):
        answer = call(relay, version, name, account_id="x" * length)

        assert (answer.status, answer.body["code"]) == (400, "PARAMETER_NOT_CONSISTENT")
        assert "account_id" in answer.body["title"]
        assert relay.received(UNIFIED[version, name]) == []


# -- native


@EVERY_READ
def test_native_is_the_entry_that_the_native_call_returns(relay: Relay, version: int, read: str) -> None:
    native_row = BY_WEBHOOK[UNIFIED[version, read].webhook]
    extra = {"ownMember": {"innerValue": jsontext.Number("1.50")}, "huge": jsontext.Number("1E+2"), "none": None}
    answer = spread(version, read, lambda entry: entry | extra)

    unified = call(relay, version, read, answer, native="1")
    native = relay.call(native_row, answer=answer)

    texts = [jsontext.dumps(each["native"]) for each in entries_of(read, unified.body)]
    assert texts == [jsontext.dumps(each) for each in native_entries(native.body)]
    assert '"ownMember":{"innerValue":1.50}' in texts[0]


@EVERY_READ
def test_unified_read_without_native_has_no_other_difference(relay: Relay, version: int, read: str) -> None:
    with_native = call(relay, version, read, native="1", **limited(read)).body
    without = call(relay, version, read, **limited(read)).body

    for each in entries_of(read, with_native):
        del each["native"]
    assert with_native == without


@EVERY_READ
@pytest.mark.parametrize("value", ["", "0", "true", "2", "01", " 1"])
def test_native_has_no_other_value_than_1(relay: Relay, version: int, read: str, value: str) -> None:
    answer = call(relay, version, read, native=value)

    assert (answer.status, answer.body["code"]) == (400, "PARAMETER_NOT_CONSISTENT")
    assert "native" in answer.body["title"]


def limited(read: str) -> dict[str, Any]:
    return {"limit": 50} if read == "transactions" else {}


def entries_of(read: str, body: Any) -> list[Any]:
    """Return the entries of a unified response."""
    return [body["account"]] if read == "account" else list(body[read])


def native_entries(body: Any) -> list[Any]:
    """Return the entries of a native response."""
    if "transactions" in body:
        return [*body["transactions"]["booked"], *body["transactions"]["pending"]]
    found = next(body[name] for name in ("account", "accounts", "balances", "payments") if name in body)
    return found if isinstance(found, list) else [found]


def spread(version: int, read: str, change: Any) -> Any:
    """Return the bank's example response with changed entries."""
    answer = UNIFIED[version, read].answer
    holder = answer["transactions"] if version == 2 and read == "transactions" else answer
    for name, value in holder.items():
        if isinstance(value, list):
            holder[name] = [change(each) for each in value]
        elif name == "account":
            holder[name] = change(value)
    return answer


# -- parameters and permissions


@EVERY_READ
@pytest.mark.parametrize(
    "query", ["colour=red", "iban=GB33BUKB20201555555555", "account_id=1&account_id=2", "native=1&native=1", "cursor="]
)
def test_unknown_repeated_and_empty_parameters_are_refused(relay: Relay, version: int, read: str, query: str) -> None:
    row = UNIFIED[version, read]

    answer = relay.call(row, raw_query=f"{urlencode(query_of(read))}&{query}")

    assert (answer.status, answer.body["code"]) == (400, "PARAMETER_NOT_CONSISTENT")
    assert relay.received(row) == []


@VERSIONS
@pytest.mark.parametrize("name", ["account", "balances", "transactions"])
def test_read_of_an_account_needs_its_account_id(relay: Relay, version: int, name: str) -> None:
    answer = relay.call(UNIFIED[version, name], {})

    assert (answer.status, answer.body["code"]) == (400, "PARAMETER_NOT_CONSISTENT")
    assert answer.body["title"] == "account_id is required"


SCOPE = {
    "accounts": ("accounts:read", "account.list", "accounts"),
    "account": ("accounts:read", "account.details", "accounts"),
    "balances": ("balances:read", "account.balance", "accounts.balances"),
    "transactions": ("transactions:read", "account.payments", "accounts.transactions"),
}


@EVERY_READ
def test_missing_scope_is_refused_by_its_unified_and_its_native_name(relay: Relay, version: int, read: str) -> None:
    row, (unified, *native) = UNIFIED[version, read], SCOPE[read]

    answer = relay.call(row, query_of(read), bearer=relay.bearer(version, without=native[version - 1]))

    assert (answer.status, answer.body["code"]) == (403, "SERVICE_BLOCKED")
    assert f"the scope {unified}, which is {native[version - 1]} at this bank" in answer.body["title"]
    assert relay.received(row) == []


ORDER: dict[str, tuple[str, dict[str, str], tuple[int, str]]] = {
    "no client, a repeated parameter": ("a=1&a=1", {"x-api-key": ""}, (401, "AUTHENTICATION_REQUIRED")),
    "an unknown client": ("a=1&a=1", {"x-api-key": "x"}, (401, "WRONG_CREDENTIALS")),
    "a bad request id, a repeated parameter": ("a=1&a=1", {"x-request-id": "1"}, (401, "REQUEST_ID_NOT_UUID")),
    "no bearer, a repeated parameter": ("a=1&a=1", {"authorization": ""}, (401, "AUTHENTICATION_REQUIRED")),
    "another scope, an unknown parameter": ("colour=red", {}, (403, "SERVICE_BLOCKED")),
    "another scope, a bad address": ("", {"psu-ip-address": "x"}, (403, "SERVICE_BLOCKED")),
}


@EVERY_READ
@pytest.mark.parametrize(("query", "headers", "refused"), ORDER.values(), ids=ORDER)
def test_unified_read_runs_the_checks_of_the_native_call_in_order(
    relay: Relay, version: int, read: str, query: str, headers: dict[str, str], refused: tuple[int, str]
) -> None:
    row = UNIFIED[version, read]
    bearer = relay.bearer(version, without=row.scope)

    answer = relay.call(row, raw_query=query, bearer=bearer, headers=headers)

    assert (answer.status, answer.body["code"]) == refused


@VERSIONS
def test_account_that_the_psu_did_not_approve_is_refused(relay: Relay, version: int) -> None:
    bearer = relay.bearer_for(version, account_ids=["other"])
    for name in ("account", "balances", "transactions"):
        answer = call(relay, version, name, bearer=bearer)

        assert (answer.status, answer.body["code"]) == (403, "SERVICE_BLOCKED")
        assert relay.received(UNIFIED[version, name]) == []


# -- withheld accounts

ID = {1: "id", 2: "resource_id"}


@VERSIONS
def test_withheld_accounts_are_neither_listed_nor_reported(relay: Relay, version: int, lines: Lines) -> None:
    (account,) = copied(UNIFIED[version, "accounts"].answer["accounts"])
    other = account | {"iban": OTHER_IBAN}
    rows = [other, account, {name: value for name, value in other.items() if name != "currency"}, None, {"iban": IBAN}]

    body = read(relay, version, "accounts", bank_list(version, "accounts", rows))

    assert [each["iban"] for each in body["accounts"]] == [IBAN]
    assert [each["position"] for each in body["problems"]] == ["accounts[3]", "accounts[4]"]
    assert [line["accounts"] for line in lines.all() if line["message"] == "accounts withheld"] == [2]


@VERSIONS
@pytest.mark.parametrize("odd", [None, 7, True, [], ["x"], {}, {"a": 1}, "", " ", jsontext.Number("1.5")])
@pytest.mark.parametrize("member", ["iban", "id", "account_number", "sort_code"])
def test_account_with_an_odd_identifier_is_read_as_by_the_native_call(
    relay: Relay, version: int, member: str, odd: Any
) -> None:
    (account,) = copied(UNIFIED[version, "accounts"].answer["accounts"])
    bearer = approving_all(relay, version)
    answer = bank_list(version, "accounts", [account | {ID[version] if member == "id" else member: odd}])

    native = relay.call(BY_WEBHOOK[UNIFIED[version, "accounts"].webhook], answer=answer, bearer=bearer)
    body = read(relay, version, "accounts", answer, bearer)

    listed = len(native.body["accounts"]) if native.status == 200 else 0
    assert native.status in (200, 502)
    assert (len(body["accounts"]), len(body["problems"])) == (listed, int(native.status == 502))


def approving_all(relay: Relay, version: int) -> str:
    """Return a bearer of a consent with identifiers of every kind."""
    approved: dict[str, Any] = {"ibans": [IBAN], "account_ids": ["1", "r1"], "account_numbers": ["20201555555555"]}
    return relay.bearer_for(version, **approved)


# -- version 1: one balance of several records


def record(account_id: Any, balance: str = "1.00", **members: Any) -> dict[str, Any]:
    return {"id": account_id, "name": "Main", "balance": balance, "currency": "GBP", **members}


RECORDS: dict[str, tuple[Any, list[str]]] = {
    "the requested one": ([record("70", "0"), record("77", "1"), record("9", "2")], ["1"]),
    "two of the account": ([record("77", "1"), record("9", "2"), record("77", "3")], ["1", "3"]),
    "the only one, with another id": ([record("9", "2")], ["2"]),
    "an object": (record("9", "2"), ["2"]),
    "none": ([], []),
}
NOT_FOUND = {"position": "accounts", "member": "id", "reason": "is the requested account in no entry"}


@pytest.mark.parametrize(("accounts", "balances"), RECORDS.values(), ids=RECORDS)
def test_balance_of_version_1_is_that_of_the_requested_account(
    relay: Relay, accounts: Any, balances: list[str]
) -> None:
    body = read(relay, 1, "balances", {"status": "success", "accounts": accounts}, account_id="77")

    assert [each["amount"]["value"] for each in body["balances"]] == balances
    assert body["problems"] == []


def test_balance_of_version_1_may_be_an_account(relay: Relay) -> None:
    body = read(relay, 1, "balances", {"status": "success", "account": record("9", "2")})

    assert [each["amount"]["value"] for each in body["balances"]] == ["2"]


def test_id_of_a_balance_may_be_a_number(relay: Relay) -> None:
    answer = bank_list(1, "balances", [record(77, "1"), record(770, "2")])

    assert [each["amount"]["value"] for each in read(relay, 1, "balances", answer, account_id="770")["balances"]] == [
        "2"
    ]


@pytest.mark.parametrize("other", [record("0077"), record(31926801)])
def test_several_records_of_other_accounts_are_reported_as_a_problem(relay: Relay, other: Any) -> None:
    body = read(relay, 1, "balances", bank_list(1, "balances", [record("9"), other]), account_id="77")

    assert (body["balances"], body["problems"]) == ([], [NOT_FOUND])


def test_unusable_record_of_version_1_is_reported_beside_that_of_the_account(relay: Relay) -> None:
    odd = record("9", "12,50")

    body = read(relay, 1, "balances", bank_list(1, "balances", [odd, record("77", "1"), None]), account_id="77")

    assert [each["amount"]["value"] for each in body["balances"]] == ["1"]
    assert body["problems"] == [
        {"position": "accounts[0]", "member": "balance", "reason": "must be a number"},
        {"position": "accounts[2]", "member": None, "reason": "must be an object"},
    ]


def test_unusable_record_of_the_account_is_not_replaced_by_another(relay: Relay) -> None:
    body = read(relay, 1, "balances", bank_list(1, "balances", [record("9"), record("77", "12,50")]), account_id="77")

    assert body["balances"] == []
    assert body["problems"] == [{"position": "accounts[1]", "member": "balance", "reason": "must be a number"}]


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


def test_account_of_version_2_may_be_a_list_of_one(relay: Relay) -> None:
    answer = {"account": [ANSWERS[2]["/v2_account"]["account"]]}

    assert read(relay, 2, "account", answer)["account"] == ACCOUNTS[2]


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
