"""Tests of bank responses: missing, mistyped and additional members, accepted formats, and failures."""

import codecs
import copy
import gzip
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from chalicelib.foundation.http.outbound import ConnectionDropped, NotReached, Reply, ResponseTooLarge, TimedOut
from chalicelib.foundation.jsontext import Number
from chalicelib.openbanking.protocol import refusals
from tests.causeway import Answer
from tests.kit.logs import Lines
from tests.openbanking.broken_rules import NO_LIST, NO_OBJECT, NO_TEXT
from tests.openbanking.examples import BY_WEBHOOK, ROWS, Row, spelled, with_value, without
from tests.openbanking.kit import in_camel_case
from tests.openbanking.relay import Relay, details_of, handed_on, json_bytes, logged_problems
from tests.openbanking.specification import Member

EVERY_ROW = pytest.mark.parametrize("row", ROWS, ids=str)
HELD_ROWS = [row for row in ROWS if row.webhook != "/funds_confirmations"]  # it has two ways, and tests of its own
UNKNOWN = "it is unknown whether the bank has taken the payment"
REFUSED = refusals.PAYMENT_REFUSED.sentence
NOT_SENT = "the payment was not sent"
AGAIN = "authorize again"

NO_ID: dict[str, Any] = {
    "a fraction": Number("7.5"),
    "no fraction": Number("7.0"),
    "an exponent": Number("7e2"),
    "true": True,
    "a list": [],
    "an object": {},
}
MISTYPED: dict[str, dict[str, Any]] = {
    "AN": NO_TEXT,
    "A": NO_TEXT,
    "N": {"letters": "ten", "a comma": "1,5", "empty": "", "true": True, "a list": [], "an object": {}},
    "B": {"a text": "true", "a number": 1, "a list": []},
    "LIST": NO_LIST,
    "OBJECT": NO_OBJECT,
}
ADMITTED = {("/account_balance", "accounts", "an object"), ("/v2_account", "account", "a list of one")}


def members(*, mandatory: bool) -> Iterator[tuple[Row, Member]]:
    for row in HELD_ROWS:
        for member in row.table.answer:
            if member.mandatory == mandatory:
                yield row, member


def each_member(*, mandatory: bool) -> list[Any]:
    return [pytest.param(row, each, id=f"{row}-{each.path}") for row, each in members(mandatory=mandatory)]


def mistyped(row: Row, *, mandatory: bool) -> Iterator[tuple[Member, str, Any]]:
    for member in row.table.answer:
        if member.mandatory == mandatory:
            wrong = NO_ID if member.identifies else MISTYPED[member.type]
            for label, value in {**wrong, **({"null": None} if mandatory else {})}.items():
                if (row.webhook, member.path, label) not in ADMITTED:
                    yield member, label, value


# -- every member


@pytest.mark.parametrize(("row", "member"), each_member(mandatory=True))
def test_a_bank_response_without_a_mandatory_member_returns_502(relay: Relay, row: Row, member: Member) -> None:
    answer = relay.call(row, answer=without(row.answer, member))

    assert f"{member.shown} is required" in details_of(answer)


def with_members(*, mandatory: bool) -> pytest.MarkDecorator:
    rows = [row for row in HELD_ROWS if next(mistyped(row, mandatory=mandatory), None)]
    return pytest.mark.parametrize("row", rows, ids=str)


@with_members(mandatory=True)
def test_a_bank_response_with_a_mistyped_mandatory_member_returns_502(
    relay: Relay, row: Row, subtests: pytest.Subtests
) -> None:
    for member, label, value in mistyped(row, mandatory=True):
        with subtests.test(f"{member.path}-{label}"):
            answer = relay.call(row, answer=with_value(row.answer, member, value))
            assert member.path.partition(".")[0].removesuffix("[]") in details_of(answer)


@pytest.mark.parametrize(("row", "member"), each_member(mandatory=False))
def test_a_bank_response_with_a_missing_or_null_optional_member_is_accepted(
    relay: Relay, row: Row, member: Member, lines: Lines
) -> None:
    for given in (without(row.answer, member), with_value(row.answer, member, None)):
        answer = relay.call(row, answer=given)
        assert answer.status == 200, answer
        assert spelled(answer.text) == spelled(json_bytes(handed_on(row, given)))
    assert (logged_problems(lines) != []) is (member.requirement == "M"), "mandatory in an optional object"


@with_members(mandatory=False)
def test_a_mistyped_optional_member_reaches_the_tpp_and_is_logged(
    relay: Relay, row: Row, lines: Lines, subtests: pytest.Subtests
) -> None:
    for member, label, value in mistyped(row, mandatory=False):
        with subtests.test(f"{member.path}-{label}"):
            given, before = with_value(row.answer, member, value), len(logged_problems(lines))
            answer = relay.call(row, answer=given)
            assert answer.status == 200, answer
            assert spelled(answer.text) == spelled(json_bytes(handed_on(row, given)))
            if (member.name, value) != ("additional_data", {}):  # whose form is the bank's
                assert len(logged_problems(lines)) > before


def too_long(member: Member) -> Any:
    assert member.length is not None
    return "9" * (member.length + 1) if member.type == "N" else "S" * (member.length + 1)


@pytest.mark.parametrize(
    ("row", "member"),
    [
        pytest.param(row, member, id=f"{row}-{member.path}")
        for row in HELD_ROWS
        for member in row.table.answer
        if member.length is not None
        and not (row.is_payment and member.path in ("payment_id", "status"))  # a payment is stored under and with it
    ],
)
def test_an_overlong_member_reaches_the_tpp_and_is_logged(relay: Relay, row: Row, member: Member, lines: Lines) -> None:
    given = with_value(row.answer, member, too_long(member))
    is_listed = member.path == "accounts[].iban"  # the consent of other calls names another IBAN: it would be withheld
    bearer = relay.bearer_for(row.version, account_ids=["1", "r1"]) if is_listed else None

    answer = relay.call(row, answer=given, bearer=bearer)

    assert answer.status == 200, answer
    assert spelled(answer.text) == spelled(json_bytes(handed_on(row, given)))
    (problem,) = logged_problems(lines)
    assert problem.startswith(f"{member.shown} must have at most {member.length} ")


@EVERY_ROW
def test_a_byte_order_mark_before_a_bank_response_is_ignored_and_logged(relay: Relay, row: Row, lines: Lines) -> None:
    marked = Reply(200, codecs.BOM_UTF8 + json_bytes(row.answer), {}, 0)

    assert relay.call(row, answer=marked).status == 200
    assert "the body begins with a byte order mark" in logged_problems(lines)


@EVERY_ROW
def test_a_valid_bank_response_logs_no_problem(relay: Relay, row: Row, lines: Lines) -> None:
    assert relay.call(row).status == 200
    assert logged_problems(lines) == []


@pytest.mark.parametrize(
    ("row", "member"),
    [pytest.param(row, each, id=f"{row}-{each.path}") for row, each in members(mandatory=True) if each.type == "LIST"],
)
def test_a_mandatory_list_can_be_empty_but_an_entry_that_is_not_an_object_is_rejected(
    relay: Relay, row: Row, member: Member
) -> None:
    assert relay.call(row, answer=with_value(row.answer, member, [])).status == 200
    entries: list[Any]
    for entries in (["x"], [7], [None], [[]]):
        details_of(relay.call(row, answer=with_value(row.answer, member, entries)))


LISTS = [row for row in HELD_ROWS if any("[]" in each.path and each.mandatory for each in row.table.answer)]


@pytest.mark.parametrize("row", LISTS, ids=str)
def test_one_invalid_list_entry_of_a_bank_response_returns_502(relay: Relay, row: Row) -> None:
    member = next(each for each in row.table.answer if "[]" in each.path and each.mandatory)
    given = row.answer
    entries: Any = given
    for step in member.place[: member.place.index(0)]:
        entries = entries[step]
    bad = copy.deepcopy(entries[0])
    del bad[member.name]
    entries += [copy.deepcopy(entries[0]), bad]

    assert f"2.{member.name} is required" in details_of(relay.call(row, answer=given))


# -- shapes that are admitted


@pytest.mark.parametrize("one", ["accounts", "account"])
def test_a_version_1_balance_as_an_object_or_a_list_reaches_the_tpp_as_a_list(relay: Relay, one: str) -> None:
    row = BY_WEBHOOK["/account_balance"]
    balance = row.answer["accounts"][0]

    for given in ({one: balance}, {one: [balance]}):
        answer = relay.call(row, answer={"status": "success", **given, "asOf": "today"})
        assert spelled(answer.text) == spelled(json_bytes({"accounts": [balance], "asOf": "today"}))


@pytest.mark.parametrize(
    "shape",
    [lambda page: page, lambda page: [page], lambda page: [{name: value} for name, value in page.items()]],
    ids=["an object", "a list of one", "a list of members"],
)
def test_a_version_1_paginator_as_an_object_or_a_list_reaches_the_tpp_as_an_object(
    relay: Relay, shape: Callable[[Any], Any]
) -> None:
    row = BY_WEBHOOK["/account_payments"]
    page = {"limit": 50, "current_page": Number("2.0"), "total": 3}

    answer = relay.call(row, answer=row.answer | {"paginator": shape(page)})

    assert spelled(answer.text)["paginator"] == spelled(json_bytes(page))


@pytest.mark.parametrize("paginator", [[], ["x"], [{"limit": 1}], [[{"limit": 1, "current_page": 1}]]], ids=repr)
def test_a_paginator_with_an_invalid_structure_returns_502(relay: Relay, paginator: Any) -> None:
    row = BY_WEBHOOK["/account_payments"]

    assert "paginator" in details_of(relay.call(row, answer=row.answer | {"paginator": paginator}))


def test_a_version_2_account_as_an_object_or_a_list_of_one_reaches_the_tpp_as_an_object(relay: Relay) -> None:
    row = BY_WEBHOOK["/v2_account"]
    account = row.answer["account"]

    for given in (account, [account]):
        answer = relay.call(row, answer={"account": given})
        assert spelled(answer.text) == spelled(json_bytes({"account": account}))
    for given in ([], [account, account], [[account]]):
        assert "account" in details_of(relay.call(row, answer={"account": given}))


@pytest.mark.parametrize("row", [row for row in ROWS if row.version == 2], ids=str)
def test_version_2_members_in_camel_case_reach_the_tpp_in_snake_case(relay: Relay, row: Row, lines: Lines) -> None:
    answer = relay.call(row, answer=in_camel_case(row.answer))

    assert spelled(answer.text) == spelled(json_bytes(handed_on(row, row.answer)))
    assert logged_problems(lines) == []


@pytest.mark.parametrize("row", [row for row in HELD_ROWS if row.version == 1], ids=str)
def test_a_version_1_member_names_reach_the_tpp_unchanged(relay: Relay, row: Row) -> None:
    given = row.answer | {"ownDetail": {"innerValue": 1}}

    answer = relay.call(row, answer=given)

    assert spelled(answer.text) == spelled(json_bytes(handed_on(row, given)))


@pytest.mark.parametrize("row", [row for row in ROWS if row.version == 1], ids=str)
@pytest.mark.parametrize("status", ["missing", "ok", "", None, True, 200], ids=repr)
def test_a_version_1_response_without_the_status_success_returns_502(relay: Relay, row: Row, status: Any) -> None:
    given = {name: value for name, value in row.answer.items() if name != "status"}
    given |= {} if status == "missing" else {"status": status}

    answer = relay.call(row, answer=given)

    details_of(answer)
    if row.is_payment:
        assert UNKNOWN in answer.body["title"]


@pytest.mark.parametrize(("asked", "other"), [("booked", "pending"), ("pending", "booked")])
@pytest.mark.parametrize("left_out", ["missing", "null"])
def test_a_list_of_transactions_with_an_unrequested_booking_status_is_optional(
    relay: Relay, asked: str, other: str, left_out: str, lines: Lines
) -> None:
    row = BY_WEBHOOK["/v2_account_transactions"]
    given, request = row.answer, row.request | {"booking_status": asked}
    lists = given["transactions"]
    lists[other] = None
    if left_out == "missing":
        del lists[other]

    answer = relay.call(row, request, given)

    assert (answer.status, spelled(answer.text)) == (200, spelled(json_bytes(given)))
    assert logged_problems(lines) == []


@pytest.mark.parametrize(
    ("asked", "missing"), [("booked", "booked"), ("pending", "pending"), ("both", "booked"), ("both", "pending")]
)
def test_a_list_of_transactions_of_the_requested_booking_status_is_mandatory(
    relay: Relay, asked: str, missing: str
) -> None:
    row = BY_WEBHOOK["/v2_account_transactions"]
    given, request = row.answer, row.request | {"booking_status": asked}
    first = given["transactions"][missing][0]

    del first["transaction_amount"]
    said = f"transactions.{missing}.0.transaction_amount is required"
    assert said in details_of(relay.call(row, request, given))
    del given["transactions"][missing]
    assert f"transactions.{missing} is required" in details_of(relay.call(row, request, given))


# -- misbehaviour: what it is, what is said of it, and what becomes of a payment


def error(version: int, code: Any, text: Any = "No such account") -> bytes:
    own = {"status": "error", "error_code": code, "message": text} if version == 1 else {"code": code, "title": text}
    return json_bytes({name: value for name, value in own.items() if value is not None})


Made = Callable[[Row], Any]
MISBEHAVIOUR: dict[str, tuple[Made, str, str]] = {
    "never reached": (lambda row: NotReached("no connection could be made"), "no connection", NOT_SENT),
    "dropped": (lambda row: ConnectionDropped("the connection broke"), "the connection broke", UNKNOWN),
    "too late": (lambda row: TimedOut("no answer came in time"), "in time", UNKNOWN),
    "too large": (lambda row: ResponseTooLarge("the answer is larger than 5 MB"), "5 MB", UNKNOWN),
    "a page": (lambda row: Reply(200, b"<html>", {}, 0), "200 and invalid JSON", UNKNOWN),
    "nothing": (lambda row: Reply(200, b"", {}, 0), "200 and invalid JSON: it is empty", UNKNOWN),
    "Latin-1": (lambda row: Reply(200, b'{"a":"\xe9"}', {}, 0), "200 and invalid JSON: it is not UTF-8", UNKNOWN),
    "gzip": (
        lambda row: Reply(200, gzip.compress(json_bytes(row.answer)), {}, 0),
        "200 and a body that is gzip although identity was asked",
        UNKNOWN,
    ),
    "a page with a charset as its content coding": (
        lambda row: Reply(200, b"<html>", {"Content-Encoding": "utf-8"}, 0),
        "200 and invalid JSON: Expecting value at line 1 column 1",
        UNKNOWN,
    ),
    "another content coding": (
        lambda row: Reply(200, b"\x8b\x03\x80{}\x03", {"content-encoding": "BR"}, 0),
        "200 and a body that is br although identity was asked",
        UNKNOWN,
    ),
    "half an answer": (lambda row: Reply(200, json_bytes(row.answer)[:-1], {}, 0), "200 and invalid JSON", UNKNOWN),
    "a member twice": (
        lambda row: Reply(200, b'{"a":1,"a":2}', {}, 0),
        "200 and invalid JSON: it has the member a twice",
        UNKNOWN,
    ),
    "a list": (lambda row: Reply(200, b"[]", {}, 0), "200 and JSON that is not an object", UNKNOWN),
    "a text": (lambda row: Reply(200, b'"success"', {}, 0), "200 and JSON that is not an object", UNKNOWN),
    "an empty object": (lambda row: Reply(200, b"{}", {}, 0), "the bank's response", UNKNOWN),
    "a good answer with 500": (lambda row: Reply(500, json_bytes(row.answer), {}, 0), "500", UNKNOWN),
    "a redirect": (lambda row: Reply(302, b"", {"Location": "http://127.0.0.1/"}, 0), "302", UNKNOWN),
    "a bare 400": (lambda row: Reply(400, b"", {}, 0), "400", UNKNOWN),
    "a bare 503": (lambda row: Reply(503, b"<html>", {}, 0), "503", UNKNOWN),
    "an empty 404": (lambda row: Reply(404, b"{}", {}, 0), "404", UNKNOWN),
    "an error with 200": (lambda row: Reply(200, error(row.version, 1234), {}, 0), "1234: No such account", REFUSED),
    "an error with 400": (lambda row: Reply(400, error(row.version, 1234), {}, 0), "1234: No such account", REFUSED),
    "an error with 500": (lambda row: Reply(500, error(row.version, 1234), {}, 0), "1234: No such account", UNKNOWN),
    "an error without message": (
        lambda row: Reply(400, error(row.version, "X1", None), {}, 0),
        "X1: the bank responded with status 400",
        REFUSED,
    ),
}


@EVERY_ROW
def test_a_bank_failure_returns_502_with_the_reason_and_the_payment_outcome(
    relay: Relay, row: Row, subtests: pytest.Subtests
) -> None:
    for label, (made, said, outcome) in MISBEHAVIOUR.items():
        with subtests.test(label):
            answer = relay.call(row, answer=made(row))
            assert said in details_of(answer)
            assert AGAIN not in answer.body["title"]
            if row.is_payment:
                assert outcome in answer.body["title"]
                assert ("X-Request-Id" in answer.body["title"]) is (outcome == UNKNOWN)
            else:
                assert answer.body["title"] == refusals.BANK_FAILED.sentence


TOKEN_REFUSED: dict[str, Made] = {
    "a bare 401": lambda row: Reply(401, b"", {}, 0),
    "an empty 401": lambda row: Reply(401, b"{}", {}, 0),
    "authentication required": lambda row: Reply(
        401, error(row.version, 4201 if row.version == 1 else "AUTHENTICATION_REQUIRED"), {}, 0
    ),
    "token not found": lambda row: Reply(200, error(row.version, 4202), {}, 0),
    "token not found, in words": lambda row: Reply(403, error(row.version, "4202"), {}, 0),
}
GOOD_TOKEN: dict[str, Made] = {
    "our key is wrong": lambda row: Reply(
        401, error(row.version, 4200 if row.version == 1 else "WRONG_CREDENTIALS"), {}, 0
    ),
    "our request id is wrong": lambda row: Reply(
        401, error(row.version, 4204 if row.version == 1 else "REQUEST_ID_NOT_UUID"), {}, 0
    ),
    "forbidden": lambda row: Reply(403, b"{}", {}, 0),
}


@EVERY_ROW
@pytest.mark.parametrize("made", TOKEN_REFUSED.values(), ids=TOKEN_REFUSED)
def test_a_rejected_bank_token_returns_502_with_authorize_again(relay: Relay, row: Row, made: Made) -> None:
    answer = relay.call(row, answer=made(row))

    details_of(answer)
    assert (AGAIN in answer.body["title"]) is row.token, "where no token was sent, none was refused"


def test_a_direct_payment_status_without_a_token_never_returns_authorize_again(relay: Relay) -> None:
    direct, status = BY_WEBHOOK["/v2_payment_direct_single"], BY_WEBHOOK["/v2_payment_single_status"]
    assert relay.call(direct).status == 200
    relay.bank_answers(status, Reply(401, b"", {}, 0))

    answer = relay.causeway.tpp.call("GET", f"/tpp/payment_status?payment_id=P-direct&bic={relay.bank(direct).bic}")

    assert "401" in details_of(answer)
    assert AGAIN not in answer.body["title"]
    assert "X-Auth-Token" not in relay.received(status)[-1].headers


@EVERY_ROW
@pytest.mark.parametrize("made", GOOD_TOKEN.values(), ids=GOOD_TOKEN)
def test_a_bank_refusal_without_a_token_error_returns_502_without_authorize_again(
    relay: Relay, row: Row, made: Made
) -> None:
    answer = relay.call(row, answer=made(row))

    details_of(answer)
    assert AGAIN not in answer.body["title"]


@pytest.mark.parametrize("row", [row for row in ROWS if row.is_payment], ids=str)
def test_a_payment_response_without_a_mandatory_member_leaves_the_outcome_unknown(relay: Relay, row: Row) -> None:
    for member in row.table.answer:
        answer = relay.call(row, answer=without(row.answer, member))
        assert UNKNOWN in answer.body["title"]


@EVERY_ROW
def test_credentials_in_a_bank_error_are_masked_in_the_response_and_in_the_log(
    relay: Relay, row: Row, lines: Lines
) -> None:
    token, key = relay.bank_tokens[row.version], relay.bank(row).api_key
    secrets = [key, key.rpartition(".")[2], *([token, token.rpartition(".")[2]] if row.token else [])]

    for secret in secrets:
        for text in (f"bad credential {secret} ({secret})", "x" * 490 + secret):
            answer = relay.call(row, answer=Reply(400, error(row.version, 1, text), {}, 0))
            assert "***" in details_of(answer)
            assert not any(secret[start : start + 12] in answer.text for start in range(len(secret) - 12))
    assert not any(secret in lines.text for secret in secrets)


@EVERY_ROW
@pytest.mark.parametrize("text", ["a\u0000b\r\nX: y\u202e", "x" * 100_000, ["a", "list"], {"an": "object"}, 7, True])
def test_the_text_of_a_bank_error_is_printable_and_has_at_most_512_characters(
    relay: Relay, row: Row, text: Any
) -> None:
    details = details_of(relay.call(row, answer=Reply(400, error(row.version, 1, text), {}, 0)))

    assert details.isprintable()
    assert details.startswith("1: ")
    assert len(details) <= 512


@EVERY_ROW
def test_the_next_call_after_a_bank_failure_succeeds(relay: Relay, row: Row) -> None:
    failed: Answer = relay.call(row, answer=Reply(500, b"{}", {}, 0))

    assert failed.status == 502
    assert relay.call(row).status == 200
    assert len(relay.received(row)) == 1
