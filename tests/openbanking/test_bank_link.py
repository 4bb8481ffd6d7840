"""The link to a bank: what its errors tell the TPP, and what they must not repeat."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from chalicelib.foundation import jsontext
from chalicelib.foundation.outbound import Reply
from tests.conftest import Lines
from tests.world import Answer, World

PATH = {1: "/accounts", 2: "/v2_accounts"}


Ask = Callable[[Any], Answer]


@pytest.fixture(params=[1, 2])
def version(request: pytest.FixtureRequest) -> int:
    version: int = request.param
    return version


@pytest.fixture
def failing(world: World, version: int) -> Ask:
    """Asks for ``GET /tpp/accounts`` while the bank gives a wrong answer."""
    bearer = world.tokens(version)["access_token"]

    def ask(answer: Any) -> Answer:
        world.banks[version].answers[PATH[version]] = lambda sent: answer
        found = world.tpp("GET", "/tpp/accounts", bearer=bearer)
        assert (found.status, found.body["code"]) == (502, "ASPSP_UNKNOWN_ERROR")
        return found

    return ask


def error(version: int, code: Any, text: str = "no") -> dict[str, Any]:
    return {"status": "error", "error_code": code, "message": text} if version == 1 else {"code": code, "title": text}


def refusal(version: int, status: int, code: Any) -> Reply:
    return Reply(status, jsontext.dumps(error(version, code)).encode(), {}, 0)


# -- authorize again


@pytest.mark.parametrize("code", [4201, 4202, "4201", "4202", "AUTHENTICATION_REQUIRED"])
def test_a_bank_that_refuses_the_token_means_that_the_psu_must_authorize_again(
    version: int, failing: Ask, code: Any
) -> None:
    for status in (200, 400, 401, 403):
        assert "authorize again" in failing(refusal(version, status, code)).body["title"]


def test_a_bare_401_means_that_the_psu_must_authorize_again(failing: Ask) -> None:
    for body in (b"", b"{}", b"<html>", b"[]", b'{"status":"error"}'):
        assert "authorize again" in failing(Reply(401, body, {}, 0)).body["title"]


@pytest.mark.parametrize(
    "code", ["RESOURCE_UNKNOWN", "WRONG_CREDENTIALS", 4200, "4200", "REQUEST_ID_NOT_UUID", 4204, "SERVICE_BLOCKED", 42]
)
def test_other_refusals_are_no_reason_to_authorize_again(version: int, failing: Ask, code: Any) -> None:
    for status in (200, 400, 401, 404):
        answer = failing(refusal(version, status, code))

        assert "authorize again" not in answer.text
        assert answer.body["additionalErrors"][0]["details"] == f"{code}: no"


def test_another_bare_status_is_no_reason_to_authorize_again(failing: Ask) -> None:
    for status in (400, 403, 404, 500, 503):
        assert "authorize again" not in failing(Reply(status, b"{}", {}, 0)).text


# -- secrets


@pytest.mark.parametrize("what", ["the token", "the token's secret", "the API key", "the API key's secret"])
def test_a_bank_that_repeats_what_it_was_sent_does_not_get_it_to_the_tpp_or_into_logs(
    world: World, version: int, what: str, lines: Lines
) -> None:
    side, bearer = world.banks[version], world.tokens(version)["access_token"]
    for padding in (0, 220, 440, 455, 470, 495):
        echoed = []

        def echo(sent: Any, padding: int = padding, echoed: list[str] = echoed) -> Any:
            whole = sent.headers["X-Auth-Token" if "token" in what else "X-Api-Key"]
            echoed.append(whole.rpartition(".")[2])
            text = echoed[0] if "secret" in what else whole
            return error(version, text, f"{'x' * padding}{text} is unknown")

        side.answers[PATH[version]] = echo
        answer = world.tpp("GET", "/tpp/accounts", bearer=bearer)

        assert answer.status == 502
        assert "x" * padding in answer.text
        assert len(echoed[0]) == 43
        for place in (answer.text, lines.text):
            assert echoed[0][:20] not in place
            assert echoed[0][-20:] not in place


def test_a_form_that_is_wrong_is_told_without_what_the_bank_wrote(world: World, version: int, lines: Lines) -> None:
    side, seen = world.banks[version], []

    def echo(sent: Any) -> Any:
        seen.append(sent.headers["X-Auth-Token"])
        return {"status": "success", "accounts": {seen[0]: seen[0]}, seen[0]: 1}

    side.answers[PATH[version]] = echo
    answer = world.tpp("GET", "/tpp/accounts", bearer=world.tokens(version)["access_token"])

    assert answer.status == 502
    for place in (answer.text, lines.text):
        assert seen[0].rpartition(".")[2] not in place


def test_a_bank_that_writes_a_novel_is_cut_short(version: int, failing: Ask) -> None:
    answer = failing(error(version, "c" * 5000, "t" * 100_000))

    assert len(answer.text) < 1500
