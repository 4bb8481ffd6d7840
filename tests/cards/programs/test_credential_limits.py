"""Tests of the rate limit of a credential, which is checked first and returns 8004 with Retry-After."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from chalicelib.cards.programs.credentials import credential_key
from chalicelib.foundation import jsontext, metrics
from chalicelib.foundation.identifiers import digest
from tests.cards.issuer import EVERYDAY, HOLDER_DETAILS, Envelope, Issuer
from tests.causeway import Answer, Causeway
from tests.kit.logs import Lines
from tests.kit.storage import record_calls

TOO_MANY = 8004
LIMITED = "limited"


@pytest.fixture
def limited(new_issuer: Issuer) -> Issuer:
    return new_issuer.with_credential(LIMITED, calls_per_minute=2)


def ask(issuer: Issuer, **members: Any) -> Envelope:
    return issuer.do("getDesign", **{"program_id": EVERYDAY} | members)


def codes(issuer: Issuer, times: int) -> list[int | None]:
    return [ask(issuer).status_code for _ in range(times)]


def post(issuer: Issuer, path: str, action: str, **members: Any) -> Answer:
    body = jsontext.dumps(issuer.body(action, **members)).encode()
    return issuer.causeway.call("POST", path, body, {"content-type": "application/json"})


def is_over(answer: Envelope) -> bool:
    return answer.status_code == TOO_MANY and answer.retry_after is not None


def test_a_call_above_the_rate_limit_returns_8004_with_the_seconds_to_wait(limited: Issuer) -> None:
    assert codes(limited, 2) == [None, None]

    refused = ask(limited)

    assert (refused.status_code, refused.retry_after, refused.duplicated) == (TOO_MANY, 30, 0)
    assert "limit of calls, 2 a minute," in refused.message
    limited.clock.advance(29)
    assert is_over(ask(limited))
    limited.clock.advance(1)
    assert codes(limited, 2) == [None, TOO_MANY]


@pytest.mark.parametrize("path", ["/api", "/simulator"])
def test_a_call_above_the_rate_limit_returns_200_with_a_retry_after_header(limited: Issuer, path: str) -> None:
    assert codes(limited, 2) == [None, None]

    answer = post(limited, path, "getDesign", program_id=EVERYDAY)

    assert (answer.status, answer.headers["retry-after"]) == (200, "30")
    assert (answer.body["status"], answer.body["status_code"]) == ("error", TOO_MANY)


def test_responses_within_the_limit_have_no_retry_after_header(limited: Issuer) -> None:
    answers = [
        post(limited, "/api", "getDesign", program_id=EVERYDAY),
        post(limited, "/api", "getHolder", holder_id=987654321),
    ]

    assert [answer.body.get("status_code") for answer in answers] == [None, 3003]
    assert not any("retry-after" in answer.headers for answer in answers)


def test_a_credential_without_a_rate_limit_has_the_rate_limit_of_the_setting(shared_causeway: Causeway) -> None:
    causeway = shared_causeway.again(replace(shared_causeway.hub.settings, credential_calls=3))
    issuer = Issuer(causeway)

    assert codes(issuer, 4) == [None, None, None, TOO_MANY]
    assert codes(issuer.with_credential("own", calls_per_minute=1), 2) == [None, TOO_MANY]


def test_a_credential_stored_by_an_earlier_version_has_no_separate_rate_limit(new_issuer: Issuer) -> None:
    key_digest = digest(new_issuer.secrets["full"]["access_key"])
    item = new_issuer.hub.store.get(*credential_key(key_digest))

    assert item is not None
    assert "calls_per_minute" not in item
    assert new_issuer.hub.cards.credentials.get(1, "full").calls_per_minute is None


def test_the_api_the_simulator_and_all_keys_of_a_credential_share_one_limit(limited: Issuer) -> None:
    secret = limited.hub.cards.credentials.rotate(1, LIMITED)
    new_key = {"access_api_id": secret.access_api_id, "access_api_key": secret.access_api_key}

    assert ask(limited).status == "success"
    assert limited.sim("simulateAuthorization").status_code == 2006
    limited.clock.advance(10)

    assert is_over(ask(limited, **new_key))


def test_each_credential_has_a_separate_rate_limit(new_issuer: Issuer, limited: Issuer) -> None:
    assert codes(limited, 3) == [None, None, TOO_MANY]

    assert codes(new_issuer, 3) == [None, None, None]


def test_each_process_counts_calls_separately(limited: Issuer) -> None:
    assert codes(limited, 3) == [None, None, TOO_MANY]

    assert codes(limited.another_process(), 3) == [None, None, TOO_MANY]


@pytest.mark.parametrize("wrong", [{"access_api_key": "0" * 64}, {"access_api_id": "0" * 32}])
def test_calls_with_wrong_credentials_do_not_count_towards_the_rate_limit(
    limited: Issuer, wrong: Mapping[str, str]
) -> None:
    assert {ask(limited, **wrong).status_code for _ in range(5)} == {1101}

    assert codes(limited, 3) == [None, None, TOO_MANY]


def test_a_call_above_the_rate_limit_makes_no_storage_call_and_stores_no_response(limited: Issuer) -> None:
    reference = limited.reference()
    codes(limited, 2)

    with record_calls(limited.causeway) as calls:
        refused = limited.do("createHolder", **HOLDER_DETAILS, request_reference_id=reference)

    assert is_over(refused)
    assert calls == []
    limited.clock.advance(30)
    done = limited.do("createHolder", **HOLDER_DETAILS, request_reference_id=reference)
    assert (done.status, done.duplicated) == ("success", 0)


def test_the_rate_limit_is_checked_before_the_action_and_the_api_version(limited: Issuer) -> None:
    codes(limited, 2)

    assert limited.do("noSuchAction").status_code == TOO_MANY
    assert ask(limited, api_version="9").status_code == TOO_MANY


def test_internal_calls_of_the_web_interface_are_not_limited(shared_causeway: Causeway) -> None:
    causeway = shared_causeway.again(replace(shared_causeway.hub.settings, credential_calls=1))
    issuer = Issuer(causeway)
    credential = issuer.hub.cards.credentials.get(1, "full")
    members = {"action": "getDesign", "api_version": "1.2", "program_id": EVERYDAY}

    answers = [issuer.hub.cards.api.answer_internally(credential, members) for _ in range(3)]

    assert [jsontext.loads(answer)["status"] for answer in answers] == ["success"] * 3


def test_a_call_above_the_rate_limit_writes_a_log_line_and_a_metric(
    limited: Issuer, lines: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[str] = []
    monkeypatch.setattr(metrics, "write_line", written.append)

    assert codes(limited, 3) == [None, None, TOO_MANY]

    (line,) = (line for line in lines.all() if line["message"] == "call limit reached")
    assert (line["credential"], line["limit"]) == ("1.limited", 2)
    (text,) = written
    assert '"CallsOverLimit":[1]' in text
    assert '"Limit":"credential"' in text
