"""Unified reads: shapes, ``native``, parameters, permissions and withheld accounts."""

from typing import Any
from urllib.parse import urlencode

import pytest

from chalicelib.foundation import jsontext
from tests.kit.logs import Lines
from tests.openbanking.examples import ANSWERS, BY_WEBHOOK, OTHER_IBAN, copied
from tests.openbanking.kit import IBAN, VERSIONS
from tests.openbanking.relay import Relay
from tests.openbanking.unified_reads import ACCOUNT_ID, EVERY_READ, UNIFIED, bank_list, call, query_of, read, spread

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


def test_account_of_version_2_may_be_a_list_of_one(relay: Relay) -> None:
    answer = {"account": [ANSWERS[2]["/v2_account"]["account"]]}

    assert read(relay, 2, "account", answer)["account"] == ACCOUNTS[2]


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
