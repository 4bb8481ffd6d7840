"""Tests of the bank client: errors returned to the TPP, and masked credentials."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from chalicelib.foundation import jsontext
from chalicelib.foundation.http.outbound import NotReached, Reply
from chalicelib.openbanking.bank_client.bank_client import PreparedRequest
from chalicelib.openbanking.bank_client.bank_failures import BankFailed
from chalicelib.openbanking.protocol.v1_version import REVOKE_TOKEN
from tests.causeway import Answer, Causeway
from tests.kit.logs import Lines
from tests.openbanking.kit import IBAN

PATH = {1: "/accounts", 2: "/v2_accounts"}


Ask = Callable[[Any], Answer]


@pytest.fixture(params=[1, 2])
def version(request: pytest.FixtureRequest) -> int:
    version: int = request.param
    return version


@pytest.fixture
def failing(causeway: Causeway, version: int) -> Ask:
    bearer = causeway.tpp.tokens(version)["access_token"]

    def ask(answer: Any) -> Answer:
        causeway.banks[version].answers[PATH[version]] = lambda sent: answer
        found = causeway.tpp.call("GET", "/tpp/accounts", bearer=bearer)
        assert (found.status, found.body["code"]) == (502, "ASPSP_UNKNOWN_ERROR")
        return found

    return ask


def error(version: int, code: Any, text: str = "no") -> dict[str, Any]:
    return {"status": "error", "error_code": code, "message": text} if version == 1 else {"code": code, "title": text}


def refusal(version: int, status: int, code: Any) -> Reply:
    return Reply(status, jsontext.dumps(error(version, code)).encode(), {}, 0)


# -- authorize again


@pytest.mark.parametrize("code", [4201, 4202, "4201", "4202", "AUTHENTICATION_REQUIRED"])
def test_a_token_error_code_of_a_bank_returns_authorize_again(version: int, failing: Ask, code: Any) -> None:
    for status in (200, 400, 401, 403):
        assert "authorize again" in failing(refusal(version, status, code)).body["title"]


def test_a_bank_status_401_without_an_error_code_returns_authorize_again(failing: Ask) -> None:
    for body in (b"", b"{}", b"<html>", b"[]", b'{"status":"error"}'):
        assert "authorize again" in failing(Reply(401, body, {}, 0)).body["title"]


@pytest.mark.parametrize(
    "code", ["RESOURCE_UNKNOWN", "WRONG_CREDENTIALS", 4200, "4200", "REQUEST_ID_NOT_UUID", 4204, "SERVICE_BLOCKED", 42]
)
def test_a_bank_error_code_other_than_a_token_error_does_not_return_authorize_again(
    version: int, failing: Ask, code: Any
) -> None:
    for status in (200, 400, 401, 404):
        answer = failing(refusal(version, status, code))

        assert "authorize again" not in answer.text
        assert answer.body["additionalErrors"][0]["details"] == f"{code}: no"


def test_a_bank_status_other_than_401_without_an_error_code_does_not_return_authorize_again(failing: Ask) -> None:
    for status in (400, 403, 404, 500, 503):
        assert "authorize again" not in failing(Reply(status, b"{}", {}, 0)).text


# -- secrets


@pytest.mark.parametrize("what", ["the token", "the token's secret", "the API key", "the API key's secret"])
def test_credentials_in_a_bank_error_reach_neither_the_tpp_nor_the_log(
    causeway: Causeway, version: int, what: str, lines: Lines
) -> None:
    side, bearer = causeway.banks[version], causeway.tpp.tokens(version)["access_token"]
    for padding in (0, 220, 440, 455, 470, 495):
        echoed: list[str] = []

        def echo(sent: Any, padding: int = padding, echoed: list[str] = echoed) -> Any:
            whole = sent.headers["X-Auth-Token" if "token" in what else "X-Api-Key"]
            echoed.append(whole.rpartition(".")[2])
            text = echoed[0] if "secret" in what else whole
            return error(version, text, f"{'x' * padding}{text} is unknown")

        side.answers[PATH[version]] = echo
        answer = causeway.tpp.call("GET", "/tpp/accounts", bearer=bearer)

        assert answer.status == 502
        assert "x" * padding in answer.text
        assert len(echoed[0]) == 43
        for place in (answer.text, lines.text):
            assert echoed[0][:20] not in place
            assert echoed[0][-20:] not in place


def test_credentials_in_a_malformed_bank_response_reach_neither_the_tpp_nor_the_log(
    causeway: Causeway, version: int, lines: Lines
) -> None:
    side, seen = causeway.banks[version], []

    def echo(sent: Any) -> Any:
        seen.append(sent.headers["X-Auth-Token"])
        return {"status": "success", "accounts": {seen[0]: seen[0]}, seen[0]: 1}

    side.answers[PATH[version]] = echo
    answer = causeway.tpp.call("GET", "/tpp/accounts", bearer=causeway.tpp.tokens(version)["access_token"])

    assert answer.status == 502
    for place in (answer.text, lines.text):
        assert seen[0].rpartition(".")[2] not in place


def test_a_long_bank_error_is_truncated(version: int, failing: Ask) -> None:
    answer = failing(error(version, "c" * 5000, "t" * 100_000))

    assert len(answer.text) < 1500


# -- a bank that wants to be left alone


def test_the_retry_after_header_of_a_429_or_5xx_response_reaches_the_tpp_up_to_one_day(failing: Ask) -> None:
    asked_for = {
        "7": "7",
        "0": "0",
        "Mon, 02 Mar 2026 09:02:00 GMT": "120",
        "Mon, 02 Mar 2026 08:00:00 GMT": "0",
        "86401": "86400",
        "Wed, 02 Mar 2033 09:00:00 GMT": "86400",
        "-1": None,
        "soon": None,
    }
    for said, told in asked_for.items():
        assert failing(Reply(429, b"", {"retry-after": said}, 0)).headers.get("retry-after") == told
    for status in (500, 502, 503, 599):
        assert failing(Reply(status, b"", {"Retry-After": "7"}, 0)).headers["retry-after"] == "7"


def test_the_retry_after_header_of_a_response_other_than_429_or_5xx_is_ignored(failing: Ask) -> None:
    for status in (200, 202, 302, 400, 404):
        assert "retry-after" not in failing(Reply(status, b"", {"Retry-After": "7"}, 0)).headers


def test_a_bank_failure_contains_the_status_of_the_bank_response(causeway: Causeway) -> None:
    side = causeway.banks[1]

    def status_after(answer: Any) -> int | None:
        side.answers[REVOKE_TOKEN.path] = lambda sent: answer
        with pytest.raises(BankFailed) as caught:
            causeway.hub.openbanking.bank_client.call(
                side.record, side.record.version, REVOKE_TOKEN, {}, request_id="1", token=None
            )
        return caught.value.status

    for status, body in ((200, b""), (201, b"{}"), (400, b'{"error_code":1}'), (404, b"[]"), (503, b"{}")):
        assert status_after(Reply(status, body, {}, 0)) == status
    assert status_after(NotReached("no connection could be made")) is None


def test_redacting_secrets_in_a_bank_failure_changes_only_the_detail(causeway: Causeway) -> None:
    failure = BankFailed("secret", "refused", authorize_again=True, status=503, retry_after=7)
    outgoing = PreparedRequest("ALPHGB21", "/a", "http://a", b"", {"X-Api-Key": "secret", "X-Auth-Token": "token"})

    clean = causeway.hub.openbanking.bank_client.redact_secrets(failure, outgoing)

    assert clean.detail == "***"
    assert clean.reach == "refused"
    assert clean.authorize_again is True
    assert (clean.status, clean.retry_after) == (503, 7)


# -- what is logged


def asked(lines: Lines) -> list[dict[str, Any]]:
    names = ("bic", "webhook", "status", "failure")
    found = [line for line in lines.all() if line["message"] == "bank called"]
    assert all(line["milliseconds"] >= 0 for line in found)
    return [{name: line[name] for name in names if name in line} for line in found]


def test_every_call_to_a_bank_writes_a_log_line(causeway: Causeway, version: int, failing: Ask, lines: Lines) -> None:
    failing(refusal(version, 404, "RESOURCE_UNKNOWN"))
    failing(Reply(500, b"", {}, 0))
    failing(NotReached("no connection could be made"))

    common = {"bic": causeway.banks[version].bic, "webhook": PATH[version]}
    assert asked(lines) == [common | {"status": 404}, common | {"status": 500}, common | {"failure": "NotReached"}]
    assert causeway.banks[version].record.domain not in lines.text


@pytest.mark.parametrize(("letter", "fits"), [("a", True), ("ж", False), ('"', False)])
def test_a_bank_response_above_the_lambda_response_limit_returns_502(
    causeway: Causeway, letter: str, fits: bool
) -> None:
    bearer = causeway.tpp.tokens(1)["access_token"]
    name = letter * (4_500_000 if fits else 1_500_000)
    accounts = [{"id": "1", "name": name, "iban": IBAN, "currency": "GBP"}]
    causeway.banks[1].answers["/accounts"] = lambda sent: {"status": "success", "accounts": accounts}

    answer = causeway.tpp.call("GET", "/tpp/accounts", bearer=bearer)
    assert answer.status == (200 if fits else 502)
    assert len(json.dumps(answer.text)) < 6_000_000
