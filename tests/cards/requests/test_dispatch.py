"""Tests of the dispatch of requests: order of checks, access rights, and responses to internal failures."""

import itertools
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import pytest

from chalicelib.cards.requests import dispatch
from chalicelib.foundation import jsontext
from chalicelib.foundation.dynamodb.store import Conflict, StoreError, Throttled
from chalicelib.foundation.jsontext import Number
from tests.cards import request_records, whole_requests
from tests.cards.action_checks import call
from tests.cards.issuer import ALL_PLAIN, HOLDER_BLOCK, LEFT_OUT, Envelope, Issuer
from tests.cards.whole_requests import BY_ACTION, EVERY_ACTION, is_valid
from tests.kit.logs import Lines

EVERY = pytest.mark.parametrize("action", BY_ACTION)
CREDENTIALS = ("access_key", "access_api_id", "access_api_key")
REVEALS = {name: action.field for name, action in EVERY_ACTION.items() if action.field is not None}


def code(answer: Envelope) -> int | None:
    if answer.status == "error":
        assert list(answer.members) == ["status", "duplicated", "status_code", "message"]
        assert answer.duplicated == 0
        assert answer.message
    return answer.status_code


# -- JSON


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b'"getDesign"',
        b"null",
        b"7",
        b"[{}]",
        b"\xff\xfe",
        b'{"a": NaN}',
        b'{"action": "getDesign", "action": "getPin"}',
        b"action=getDesign&api_version=1.2",
        b'{"a":' * 101 + b"1" + b"}" * 101,
        b"[" * 100_000,
    ],
    ids=range(13),
)
def test_a_body_other_than_a_json_object_returns_code_1001(issuer: Issuer, body: bytes) -> None:
    assert code(issuer.send(body)) == 1001
    assert code(issuer.send(body, simulator=True)) == 1001


def test_a_body_of_more_than_a_megabyte_returns_code_1005(issuer: Issuer) -> None:
    body = jsontext.dumps(issuer.body("getDesign", program_id=101)).encode()

    assert issuer.send(body.ljust(1_000_000)).status == "success"
    assert code(issuer.send(body.ljust(1_000_001))) == 1005
    assert code(issuer.send(b"x" * 1_000_001)) == 1005


# -- credentials


@pytest.mark.parametrize("name", CREDENTIALS)
@pytest.mark.parametrize("wrong", ["another's", LEFT_OUT, None, "", 7, [], {}, True, "é" * 20, "x" * 100_000])
def test_a_request_with_a_wrong_part_of_a_credential_returns_code_1101(issuer: Issuer, name: str, wrong: Any) -> None:
    value = issuer.secrets["encrypted"][name] if wrong == "another's" else wrong

    assert code(issuer.do("getDesign", program_id=101, **{name: value})) == 1101


def test_mixed_parts_of_two_credentials_return_code_1101(issuer: Issuer) -> None:
    for parts in itertools.product(("full", "other"), repeat=3):
        shown = {name: issuer.secrets[who][name] for name, who in zip(CREDENTIALS, parts, strict=True)}
        assert (code(issuer.do("getDesign", program_id=101, **shown)) == 1101) is (len(set(parts)) > 1)


# -- action and version


@pytest.mark.parametrize("action", [LEFT_OUT, None, "", "getdesign", "GetDesign", "getDesign ", 7, ["getDesign"], {}])
def test_an_unknown_action_returns_code_1002(issuer: Issuer, action: Any) -> None:
    assert code(issuer.do("getDesign", program_id=101, action=action)) == 1002


@pytest.mark.parametrize(
    ("action", "message"),
    [
        ("getdesign", 'there is no action "getdesign"; the closest match is getDesign'),
        ("crateCard", 'there is no action "crateCard"; the closest match is createCard'),
        ("GET_CARD_STATUS", 'there is no action "GET_CARD_STATUS"; the closest match is getCardStatus'),
        ("abc", 'there is no action "abc"'),
        ("", 'there is no action ""'),
        ("getDesign\n\u00e9\u202e\x7f", 'there is no action "getDesign????"; the closest match is getDesign'),
        ("getDesign" + "x" * 500_000, f'there is no action "getDesign{"x" * 41}"'),
        (
            "simulateAuthorisation",
            (
                'there is no action "simulateAuthorisation"; the closest match is simulateAuthorization: '
                "call it at POST /simulator"
            ),
        ),
        ("simulateAuthorization", 'there is no action "simulateAuthorization" here: call it at POST /simulator'),
        (None, "action is missing or unknown"),
        (7, "action is missing or unknown"),
    ],
)
def test_the_message_for_an_unknown_action_names_the_closest_match(issuer: Issuer, action: Any, message: str) -> None:
    """The message quotes at most 50 characters. Characters outside printable ASCII are replaced by question marks."""
    assert issuer.do("getDesign", action=action).message == message


def test_an_action_of_the_wrong_interface_returns_code_1002_and_the_correct_address(issuer: Issuer) -> None:
    assert code(issuer.do("simulateAuthorization")) == 1002
    assert code(issuer.sim("getDesign", program_id=101)) == 1002
    assert "POST /simulator" in issuer.do("simulateAuthorization").message
    assert "POST /api" in issuer.sim("getDesign", program_id=101).message


def test_every_api_version_except_1_2_returns_code_1003(issuer: Issuer) -> None:
    for right in ("1.2", Number("1.2")):
        assert code(issuer.do("getDesign", program_id=101, api_version=right)) is None
    wrong: Any
    for wrong in (LEFT_OUT, None, "", "1.20", "1.1", "2", " 1.2", 1, 12, ["1.2"], {}, True):
        assert code(issuer.do("getDesign", program_id=101, api_version=wrong)) == 1003


@pytest.mark.parametrize("reference", ["0123456789", "A-z" * 85, None])
def test_a_reference_of_letters_digits_and_hyphens_is_accepted(issuer: Issuer, reference: Any) -> None:
    assert code(issuer.do("getDesign", program_id=101, request_reference_id=reference)) is None


@pytest.mark.parametrize(
    "reference",
    ["", "012345678", "x" * 256, "0123_56789", "01234 6789", "0123456789\n", "é123456789", 1234567890, ["0123456789"]],
)
@EVERY
def test_an_invalid_reference_returns_code_1004_for_every_action(issuer: Issuer, action: str, reference: Any) -> None:
    assert code(call(issuer, action, {"request_reference_id": reference})) == 1004


# -- access


@pytest.fixture(scope="module")
def idle(issuer: Issuer) -> Issuer:
    return issuer.with_credential("idle", actions=frozenset())


@EVERY
def test_an_action_that_a_credential_does_not_permit_returns_code_1103(
    issuer: Issuer, idle: Issuer, action: str
) -> None:
    assert code(call(idle, action, {})) == 1103

    allowed = issuer.with_credential(f"only-{action}", actions=frozenset((action,)))
    assert code(call(allowed, action, {})) in ((None,) if is_valid(action, {}) else (2001, 2006))
    assert all(code(call(allowed, other, {})) == 1103 for other in BY_ACTION if other != action)


@pytest.mark.parametrize("action", REVEALS)
def test_revealing_a_field_with_the_disclosure_mode_absent_returns_code_1103(issuer: Issuer, action: str) -> None:
    blind = issuer.with_credential(f"without-{action}", modes=ALL_PLAIN | {REVEALS[action]: "absent"})

    assert code(call(blind, action, {})) == 1103
    assert all(code(call(blind, other, {})) == 2001 for other in REVEALS if other != action)


def test_the_support_credential_of_the_demonstration_programme_can_only_read(issuer: Issuer) -> None:
    card, support = issuer.card(), issuer.as_caller("support")

    assert code(support.do("getCardStatus", card_id=card.card_id)) is None
    assert code(support.do("createHolder")) == 1103
    assert code(support.do("getPin", card_id=card.card_id)) == 1103


# -- the order of the checks

FAULTS: dict[int, Callable[[Issuer], dict[str, Any]]] = {
    1101: lambda issuer: {"access_api_key": "0" * 64},
    1002: lambda issuer: {"action": "getNothing"},
    1003: lambda issuer: {"api_version": "1.1"},
    1102: lambda issuer: {"access_level": 1001},
    2008: lambda issuer: {"colour_of_hair": 1},
    8002: lambda issuer: {"request_reference_id": used(issuer)},
    3005: lambda issuer: {"card_limit_group_id": 999},
    4003: lambda issuer: owned(issuer, "S"),
    5003: lambda issuer: {"card_currency_ison": 36},
}
"""Faults of a createCard request, in the order of the checks."""


def used(issuer: Issuer) -> str:
    reference = issuer.reference()
    issuer.data("getDesign", program_id=101, request_reference_id=reference)
    return reference


def owned(issuer: Issuer, status: str) -> dict[str, Any]:
    account = issuer.account_in(status)
    [row] = issuer.data("getAccounts", account_id=account)
    return {"account_id": account, "account_owner_id": row["holder_id"]}


PAIRS = [pair for pair in itertools.combinations(FAULTS, 2) if pair != (4003, 5003)]  # currencies exclude accounts


@pytest.mark.parametrize(("earlier", "later"), PAIRS)
def test_the_first_fault_in_the_order_of_checks_determines_the_code(issuer: Issuer, earlier: int, later: int) -> None:
    least = {"card_program_id": 101, "card_country_ison": 276, "card_virtual": 1, "card_name_line_3": "ZOE"}
    faults = FAULTS[earlier](issuer) | FAULTS[later](issuer)

    assert code(issuer.do("createCard", **least | HOLDER_BLOCK | faults)) == earlier


def test_the_json_format_and_the_length_are_checked_before_the_credentials(issuer: Issuer) -> None:
    assert code(issuer.send(b'{"access_key": "wrong"')) == 1001
    assert code(issuer.send(jsontext.dumps({"access_key": "x" * 1_000_000}).encode())) == 1005


def test_the_rights_of_a_credential_are_checked_before_the_fields(idle: Issuer) -> None:
    assert code(idle.do("createHolder", colour_of_hair=1)) == 1103
    assert code(idle.do("createHolder", api_version="1.1")) == 1003


_OF_CARD = ("card_fee_group_id", "card_limit_group_id", "card_usage_group_id", "card_design_id", "risk_rules_group_id")
ENTRIES_OF = {
    "createAccount": ("fee_group_id", "risk_rules_group_id", "limit_group_id", "program_id"),
    "createCard": (*_OF_CARD, "card_product_id", "card_program_id"),
    "reissueCard": (*_OF_CARD, "card_program_id"),
    "changeAccountProgramId": ("account_program_id",),
    "assignAccountToRiskRuleGroup": ("risk_rule_group_id",),
    "assignAccountToLimitRuleGroup": ("limit_group_id",),
    "assignAccountToFeeRuleGroup": ("fee_group_id",),
    "assignCardToFeesGroup": ("fees_group_id",),
    "assignCardToLimitsGroup": ("limits_group_id",),
    "assignCardToUsageGroup": ("usages_group_id",),
    "assignCardToRiskRuleGroup": ("risk_rules_group_id",),
}


@pytest.mark.parametrize("action", ENTRIES_OF)
def test_the_existence_of_a_record_is_checked_before_its_state(issuer: Issuer, action: str) -> None:
    """The error message names the missing entries, although a card is blocked and an account is closed."""
    made = request_records.create_records(issuer, action, status="B")
    issuer.data("changeAccountStatus", account_id=made.account_id, account_status="C")
    request = whole_requests.whole(action, made)[-1]

    assert code(issuer.do(action, **request)) in (4002, 4003)
    found = {name: code(issuer.do(action, **request | {name: 999})) for name in ENTRIES_OF[action]}
    assert {name: found[name] for name in found if not 3000 < (found[name] or 0) < 4000} == {}


@pytest.mark.parametrize("name", ["fee_group_id", "risk_rules_group_id", "limit_group_id", "holder_limit_group_id"])
def test_the_existence_of_a_record_is_checked_before_the_currency_of_a_new_account(issuer: Issuer, name: str) -> None:
    least = {"currency_ison": 36, "account_status": "A", "program_id": 501, "skip_holder_validation": 0, **HOLDER_BLOCK}

    assert code(issuer.do("createAccount", **least)) == 5003
    assert 3000 < (code(issuer.do("createAccount", **least, **{name: 999})) or 0) < 4000


# -- what is told, and when the service fails


def test_an_error_message_names_members_but_not_their_values(issuer: Issuer) -> None:
    answer = issuer.do("createHolder", first_name="Z03-secret", phone_number="secret-1", city=["secret"], last_name=7)

    assert code(answer) == 2004
    assert all(name in answer.message for name in ("first_name", "phone_number", "city", "last_name", "zip_code"))
    assert "secret" not in answer.message


@pytest.mark.parametrize("call_of_store", ["batch_get", "transact"])
def test_a_storage_failure_returns_code_9001_and_a_later_retry_is_executed(issuer: Issuer, call_of_store: str) -> None:
    card, reference = issuer.card(), issuer.reference()
    request = {"card_id": card.card_id, "acs_password": "quiet-Otter 9!", "request_reference_id": reference}

    with issuer.causeway.storage_gone(call_of_store):
        answer = issuer.do("changeCardAcsPassword", **request)

    assert code(answer) == 9001
    assert "same request_reference_id" in answer.message
    again = issuer.do("changeCardAcsPassword", **request)
    assert (again.status, again.duplicated) == ("success", 0)


def test_an_exception_returns_code_9001_and_is_logged_without_the_body(issuer: Issuer, lines: Lines) -> None:
    with patch.object(dispatch.Dispatcher, "decide", side_effect=ZeroDivisionError("secret")):
        answer = issuer.do("getDesign", program_id=101)

    assert code(answer) == 9001
    assert "secret" not in answer.raw
    assert [(line["level"], line["message"]) for line in lines.all()][-2:] == [
        ("ERROR", "failed"),
        ("INFO", "error response"),
    ]
    assert issuer.secrets["full"]["access_api_key"] not in lines.text


@pytest.mark.parametrize("busy", [Conflict, Throttled])
def test_a_request_with_write_conflicts_in_every_attempt_returns_code_8003(
    issuer: Issuer, busy: type[StoreError]
) -> None:
    card = issuer.card()
    reference = issuer.reference()

    with patch.object(issuer.hub.store, "transact", side_effect=busy("busy")) as tried:
        answer = issuer.do("setPin", card_id=card.card_id, pin="7305", request_reference_id=reference)

    assert code(answer) == 8003
    assert tried.call_count > 1
    assert issuer.do("setPin", card_id=card.card_id, pin="7305", request_reference_id=reference).duplicated == 0
