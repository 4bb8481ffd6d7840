"""Tests of every call to a bank: valid requests and responses, and every rule of every member."""

import itertools
import uuid
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from chalicelib.foundation.crypto import signatures
from chalicelib.foundation.http.outbound import Reply
from chalicelib.foundation.jsontext import Number
from chalicelib.openbanking.protocol.versions import VERSIONS
from chalicelib.openbanking.protocol.webhooks import PAYMENTS, RELAYED, STATUS_PATH, PaymentCall, RelayedCall
from infra.render.openapi.own_calls import webhooks_of
from tests.openbanking.broken_rules import longest, meaning, refused_values
from tests.openbanking.examples import BY_WEBHOOK, ROWS, Row, spelled, value_of, with_value, without
from tests.openbanking.relay import Relay, error_of, json_bytes
from tests.openbanking.specification import TABLES, Member

EVERY_ROW = pytest.mark.parametrize("row", ROWS, ids=str)
ODD = {"ownAmount": Number("0.10"), "big": 12345678901234567890, "small": Number("1e-7"), "text": "007.0"}


# -- the tables and the rows are the same


@pytest.mark.parametrize("version", [1, 2])
def test_the_webhooks_match_the_tables_of_the_specification(version: int) -> None:
    assert {webhook.path for webhook in VERSIONS[version].webhooks} == set(TABLES[version])
    assert {row.webhook for row in ROWS if row.version == version} | {"/revoke_token"} == set(TABLES[version])


def test_every_webhook_is_triggered_by_the_documented_path() -> None:
    asked = {webhook.path: webhook for webhook in VERSIONS[2].payment_status.values()}
    every: tuple[RelayedCall | PaymentCall, ...] = (*RELAYED, *PAYMENTS)
    calls = [(call.path, webhooks_of(call)) for call in every]
    served = {
        (version, webhook.path, path, webhook.scope and webhook.scope.name, webhook.sends_token)
        for path, webhooks in calls
        for version, webhook in webhooks.items()
    } | {(2, path, STATUS_PATH, None, True) for path in asked}

    assert served == {(row.version, row.webhook, row.call, row.scope, row.token) for row in ROWS}


@EVERY_ROW
def test_the_request_schema_has_exactly_the_members_of_its_table(row: Row) -> None:
    webhook = next(each for each in VERSIONS[row.version].webhooks if each.path == row.webhook)
    schema = webhook.request.model_json_schema()

    assert set(_members(schema, schema)) == {member.path for member in row.table.request}


def _members(schema: Any, part: Any, around: str = "") -> Iterator[str]:
    for each in (part, *part.get("anyOf", [])):
        if "$ref" in each:
            yield from _members(schema, schema["$defs"][each["$ref"].rpartition("/")[2]], around)
        if "items" in each:
            yield from _members(schema, each["items"], f"{around.removesuffix('.')}[].")
        for name, inner in each.get("properties", {}).items():
            yield f"{around}{name}"
            yield from _members(schema, inner, f"{around}{name}.")


# -- when all is well


@EVERY_ROW
def test_the_request_reaches_the_bank_with_all_headers(relay: Relay, row: Row) -> None:
    request_id = str(uuid.uuid4())
    address = {"x-request-id": request_id, "psu-ip-address": "2001:db8::1"}

    answer = relay.call(row, headers=address)

    assert answer.status == 200, answer
    assert answer.headers["x-request-id"] == request_id
    assert "bank;dur=" in answer.headers["server-timing"]
    (sent,) = relay.received(row)
    assert sent.path == row.webhook
    assert spelled(sent.body) == spelled(json_bytes(numbered(row.request)))
    assert signatures.verify(relay.causeway.hub.keyring.public_keys(), sent.body, sent.headers["X-Signature"])
    assert {name: value for name, value in sent.headers.items() if name != "X-Signature"} == {
        "Content-Type": "application/json",
        "X-Api-Key": relay.bank(row).api_key,
        "X-Request-Id": request_id,
        "PSU-IP-Address": "2001:db8::1",
        **({"X-Auth-Token": relay.bank_tokens[row.version]} if row.token else {}),
    }


def numbered(request: Any) -> Any:
    """Return the request with numeric page parameters, as the bank receives them."""
    counts = {"record_count", "current_page", "page_size"} & set(request)
    return request | {name: int(request[name]) for name in counts}


@EVERY_ROW
def test_a_call_without_optional_headers_gets_a_request_id_and_sends_no_psu_address(relay: Relay, row: Row) -> None:
    answer = relay.call(row)

    (sent,) = relay.received(row)
    assert sent.headers["X-Request-Id"] == answer.headers["x-request-id"]
    assert "PSU-IP-Address" not in sent.headers


@EVERY_ROW
def test_the_bank_response_reaches_the_tpp_unchanged(relay: Relay, row: Row) -> None:
    written = with_oddities(row.answer)

    answer = relay.call(row, answer=Reply(200, json_bytes(written), {}, 0.01))

    assert answer.status == 200, answer
    if row.call == "/tpp/funds_confirmations":
        assert answer.text == '{"funds_available":true}'
        return
    expected = {
        name: value for name, value in spelled(json_bytes(written)).items() if row.version == 2 or name != "status"
    }
    asked = {"payment_id": row.request["payment_id"]} if row.call == "/tpp/payment_status" else {}
    found = spelled(answer.text)
    assert found == asked | expected
    assert answer.text.count('"text":"007.0"') == json_bytes(written).count(b'"text":"007.0"') > 0


def with_oddities(value: Any) -> Any:
    if isinstance(value, dict):
        return {**{name: with_oddities(inner) for name, inner in value.items()}, "ownDetail": dict(ODD)}
    return [with_oddities(inner) for inner in value] if isinstance(value, list) else value


# -- what a caller may not do

SCOPED = [row for row in ROWS if row.scope]


@pytest.mark.parametrize("row", SCOPED, ids=str)
def test_a_call_without_its_scope_returns_403(relay: Relay, row: Row) -> None:
    answer = relay.call(row, bearer=relay.bearer(row.version, without=row.scope))

    assert error_of(answer)[:2] == (403, "SERVICE_BLOCKED")
    assert row.scope in answer.body["title"]
    assert relay.received(row) == []


@pytest.mark.parametrize("row", [row for row in ROWS if row.token], ids=str)
def test_a_call_without_a_bearer_token_returns_401(relay: Relay, row: Row) -> None:
    answer = relay.call(row, headers={"authorization": ""})

    assert error_of(answer)[:2] == (401, "AUTHENTICATION_REQUIRED")
    assert answer.headers["www-authenticate"].startswith("Bearer")
    assert relay.received(row) == []


@pytest.mark.parametrize(
    ("version", "call"), [(2, "/tpp/account_payments"), (2, "/tpp/account_payment"), (1, "/tpp/account_transactions")]
)
@pytest.mark.parametrize("query", ["", "?account_id=A-1", "?colour=red", "?a=1&a=1"])
def test_a_call_that_the_bank_version_lacks_returns_401_with_api_action_does_not_exist(
    relay: Relay, version: int, call: str, query: str
) -> None:
    answer = relay.causeway.tpp.call("GET", f"{call}{query}", bearer=relay.bearer(version))

    assert error_of(answer)[:2] == (401, "API_ACTION_DOES_NOT_EXIST")


@EVERY_ROW
@pytest.mark.parametrize(
    ("headers", "refused"),
    [
        ({"x-api-key": ""}, (401, "AUTHENTICATION_REQUIRED")),
        ({"x-api-key": "unknown"}, (401, "WRONG_CREDENTIALS")),
        ({"x-request-id": "1"}, (401, "REQUEST_ID_NOT_UUID")),
        ({"psu-ip-address": "somewhere"}, (400, "HEADERS_ERROR")),
    ],
    ids=str,
)
def test_an_invalid_request_header_is_refused(
    relay: Relay, row: Row, headers: dict[str, str], refused: tuple[int, str]
) -> None:
    answer = relay.call(row, headers=headers)

    assert error_of(answer)[:2] == refused
    assert relay.received(row) == []


# -- every member of every request


def broken(row: Row) -> Iterator[tuple[Member, str, Any]]:
    for member in row.table.request:
        for label, value in refused_values(member, in_query=row.in_query).items():
            yield member, label, value


def assert_refused(relay: Relay, row: Row, answer: Any, member: str, code: str) -> None:
    """Check that an additional error names the member and that the bank received no request."""
    status, main, additional = error_of(answer)
    assert (status, main) == (400, "PARAMETER_NOT_CONSISTENT" if row.in_query else "FORMAT_ERROR"), answer
    assert code in [
        each["code"] for each in additional if f"{each['details']} ".startswith((f"{member} ", f"{member}."))
    ]
    assert relay.received(row) == []


@pytest.mark.parametrize("row", [row for row in ROWS if row.table.request], ids=str)
def test_an_invalid_member_is_refused(relay: Relay, row: Row, subtests: pytest.Subtests) -> None:
    for member, label, value in broken(row):
        with subtests.test(f"{member.path}-{label}"):
            answer = relay.call(row, with_value(row.request, member, value))
            code = "INVALID_DATE_FORMAT" if meaning(member) == "day" else "INVALID_MODEL_TYPE"
            assert_refused(relay, row, answer, member.shown, code)


def members(*meanings: str, mandatory: bool | None = None) -> Iterable[Any]:
    """Yield the request members with one of the given meanings, or by default all members.

    If ``mandatory`` is given, yield only mandatory members (``True``) or only other members (``False``).
    """
    for row, member in itertools.chain.from_iterable(((row, each) for each in row.table.request) for row in ROWS):
        needed = member.requirement == "M" and member.name != "payment_scheme"  # which has a default
        if (not meanings or meaning(member) in meanings) and mandatory in (None, needed):
            yield pytest.param(row, member, id=f"{row}-{member.path}")


@pytest.mark.parametrize(("row", "member"), list(members(mandatory=True)))
def test_a_missing_mandatory_member_is_refused(relay: Relay, row: Row, member: Member) -> None:
    answer = relay.call(row, without(row.request, member))

    assert_refused(relay, row, answer, member.shown, "INVALID_MODEL_TYPE")


@pytest.mark.parametrize(("row", "member"), list(members(mandatory=False)))
def test_a_request_without_an_optional_member_is_accepted(relay: Relay, row: Row, member: Member) -> None:
    request = row.request
    if member.path not in ("iban", "account_id"):
        request = without(request, member)

    answer = relay.call(row, request)

    assert answer.status == 200, answer
    sent = spelled(relay.received(row)[0].body)
    if member.name not in ("payment_scheme", "record_count", "current_page", "page_size"):
        assert sent == spelled(json_bytes(numbered(request)))


@pytest.mark.parametrize(("row", "member"), list(members("amount", "digits", "name", "A", "AN")))
def test_a_member_of_maximum_length_is_accepted(relay: Relay, row: Row, member: Member) -> None:
    value = longest(member, member.length or (8 if member.name == "bic" else 30))
    request = with_value(row.request, member, value)
    if member.path == "payments[].amount":
        request["totals"][0]["amount"] = value
    if member.path == "payments[].instructed_amount.amount":
        value = request["payments"][0]["instructed_amount"]["amount"] = longest(member, 10)
        request["instructed_totals"]["amount"] = value
    if member.name == "amount" and "totals" in member.path:
        item = request["payments"][0]
        item.get("instructed_amount", item)["amount"] = value
    if row.call == "/tpp/payment_status":
        value = pay_under(relay, row, str(value))
        request = {"payment_id": value}

    answer = relay.call(row, request)

    assert answer.status == 200, answer
    assert value_of(spelled(relay.received(row)[0].body), member) == spelled(json_bytes([value]))[0]


def pay_under(relay: Relay, row: Row, payment_id: str) -> str:
    """Make a payment with the id ``payment_id``. The webhook ``row``, which requests a status, determines the payment
    kind.
    """
    paid = BY_WEBHOOK[row.webhook.removesuffix("_status")]
    assert relay.call(paid, answer=paid.answer | {"payment_id": payment_id}).status == 200
    return payment_id


def holders() -> Iterator[Any]:
    for row in ROWS:
        yield pytest.param(row, None, id=str(row))
        for member in row.table.request:
            if member.type == "OBJECT" or any(each.path.startswith(f"{member.path}[].") for each in row.table.request):
                yield pytest.param(row, member, id=f"{row}-{member.path}")


@pytest.mark.parametrize(("row", "member"), list(holders()))
def test_an_unknown_member_is_refused(relay: Relay, row: Row, member: Member | None) -> None:
    request = row.request
    holder = request if member is None else value_of(request, member)
    name = "colour" if member is None else f"{member.shown}.colour"
    if isinstance(holder, list):
        holder, name = holder[0], f"{member.shown}.0.colour" if member else name
    holder["colour"] = "red"

    assert_refused(relay, row, relay.call(row, request), name, "EXTRA_FIELDS_PROVIDED")


@pytest.mark.parametrize("row", [row for row in ROWS if row.in_query], ids=str)
@pytest.mark.parametrize("query", ["payment_id=1&payment_id=1", "account_id=1&account_id=2", "iban=1&iban=1"])
def test_a_repeated_parameter_is_refused(relay: Relay, row: Row, query: str) -> None:
    answer = relay.call(row, raw_query=query)

    assert error_of(answer)[:2] == (400, "PARAMETER_NOT_CONSISTENT")
    assert relay.received(row) == []


@pytest.mark.parametrize("row", [row for row in ROWS if not row.in_query], ids=str)
@pytest.mark.parametrize("body", [[], "text", 7, None, {}], ids=repr)
def test_a_body_that_is_not_a_payment_order_returns_400(relay: Relay, row: Row, body: Any) -> None:
    bearer = relay.bearer(row.version) if row.token else None
    relay.received(row).clear()

    answer = relay.causeway.tpp.call("POST", row.call, body, bearer=bearer)

    assert error_of(answer)[:2] == (400, "FORMAT_ERROR")
    assert relay.received(row) == []


@pytest.mark.parametrize("row", [row for row in ROWS if not row.in_query], ids=str)
def test_a_post_with_a_query_parameter_returns_400(relay: Relay, row: Row) -> None:
    body = {"bic": relay.bank(row).bic, **row.request} if row.is_direct else row.request
    bearer = relay.bearer(row.version) if row.token else None
    relay.received(row).clear()

    answer = relay.causeway.tpp.call("POST", f"{row.call}?colour=red", body, bearer=bearer)

    assert error_of(answer)[:2] == (400, "PARAMETER_NOT_CONSISTENT")
    assert relay.received(row) == []


def test_the_error_for_an_invalid_post_lists_every_problem(relay: Relay) -> None:
    row = BY_WEBHOOK["/payment_initiation"]

    answer = relay.call(row, row.request | {"amount": 0, "currency": "ZZZ", "colour": "red"})

    named = {each["details"].split()[0]: each["code"] for each in error_of(answer)[2]}
    assert named == {
        "amount": "INVALID_MODEL_TYPE",
        "currency": "INVALID_MODEL_TYPE",
        "colour": "EXTRA_FIELDS_PROVIDED",
    }
