"""Tests of ``POST /api`` and ``POST /simulator`` over HTTP."""

import os
import subprocess
import sys
import uuid
from typing import Any
from unittest.mock import patch

import pytest

from chalicelib.cards.requests.dispatch import Dispatcher
from chalicelib.foundation import jsontext
from tests.cards.issuer import Issuer
from tests.causeway import Answer
from tests.kit.logs import Lines
from tests.kit.source_code import ROOT

JSON = "application/json"
PROD = {"STAGE": "prod", "PUBLIC_URL": "https://hub.example.com"}


def post(issuer: Issuer, path: str, action: str, content_type: str | None = JSON, **members: Any) -> Answer:
    headers = {} if content_type is None else {"content-type": content_type}
    return issuer.causeway.call("POST", path, jsontext.dumps(issuer.body(action, **members)).encode(), headers)


@pytest.fixture
def card_id(issuer: Issuer) -> int:
    return issuer.card_in("A").card_id


def test_a_post_request_returns_the_response_of_an_action_as_json(issuer: Issuer, card_id: int) -> None:
    answer = post(issuer, "/api", "getCardStatus", card_id=card_id)

    assert answer.status == 200
    assert answer.headers["content-type"] == JSON
    assert answer.headers["cache-control"] == "no-store"
    assert answer.text == '{"status":"success","duplicated":0,"data":{"card_status":"A"}}'


def test_the_response_contains_the_request_id_of_the_caller(issuer: Issuer, card_id: int) -> None:
    given = str(uuid.uuid4())
    body = jsontext.dumps(issuer.body("getCardStatus", card_id=card_id)).encode()

    answer = issuer.causeway.call("POST", "/api", body, {"content-type": JSON, "x-request-id": given})

    assert answer.headers["x-request-id"] == given


def test_a_response_with_an_error_code_in_the_body_has_http_status_200(issuer: Issuer) -> None:
    for members, code in (
        ({"card_id": 987654321}, 3002),
        ({"card_id": []}, 2002),
        ({"access_api_id": "0" * 32}, 1101),
        ({"api_version": "2"}, 1003),
    ):
        answer = post(issuer, "/api", "getCardStatus", **members)
        assert (answer.status, answer.body["status_code"]) == (200, code)
    for body in (b"", b"[]", b"{", b"\xff", b'{"a":"' + b"x" * 1_000_000 + b'"}'):
        answer = issuer.causeway.call("POST", "/api", body, {"content-type": JSON})
        assert (answer.status, answer.body["status_code"]) == (200, 1005 if len(body) > 1_000_000 else 1001)


@pytest.mark.parametrize(
    "content_type", ["text/plain", "application/x-www-form-urlencoded", f"{JSON}; charset=utf-8", None]
)
def test_a_body_of_any_content_type_is_accepted(issuer: Issuer, card_id: int, content_type: str | None) -> None:
    answer = post(issuer, "/api", "getCardStatus", content_type, card_id=card_id)

    assert (answer.status, answer.body["status"]) == (200, "success")


@pytest.mark.parametrize("path", ["/api", "/simulator"])
@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "PATCH"])
def test_every_method_except_post_returns_405(issuer: Issuer, path: str, method: str) -> None:
    answer = issuer.causeway.call(method, path, None, {"content-type": JSON})

    assert (answer.status, answer.headers["allow"]) == (405, "POST, OPTIONS")
    assert answer.body["status"] == "error"


def test_the_simulator_accepts_only_simulator_actions(issuer: Issuer, card_id: int) -> None:
    purchase: dict[str, Any] = {"card_id": card_id, "transaction_type": 39, "amount": 0, "currency_ison": 978}

    answer = post(issuer, "/simulator", "simulateAuthorization", **purchase)

    assert (answer.status, answer.body["data"]["response_code"]) == (200, "00")
    assert post(issuer, "/simulator", "getCardStatus", card_id=card_id).body["status_code"] == 1002
    assert post(issuer, "/api", "simulateAuthorization", **purchase).body["status_code"] == 1002


def test_production_has_no_simulator_route() -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("AWS_ENDPOINT")} | PROD
    listing = "import app; print(*sorted(app.app.routes))"

    routes = subprocess.run(
        [sys.executable, "-c", listing], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    ).stdout.split()

    assert {"/api", "/cards/{card_id}"} <= {*routes}
    assert not [route for route in routes if "simulator" in route]


def test_an_exception_in_the_dispatcher_returns_code_9001(issuer: Issuer, lines: Lines) -> None:
    with patch.object(Dispatcher, "answer", side_effect=ZeroDivisionError("secret")):
        answer = post(issuer, "/api", "getDesign", program_id=101)

    assert (answer.status, answer.body["status_code"]) == (200, 9001)
    assert "secret" not in answer.text


def test_log_lines_contain_no_credential_and_no_body(issuer: Issuer, card_id: int, lines: Lines) -> None:
    post(issuer, "/api", "changeCardStatus", card_id=card_id, status="T", note="very private")
    post(issuer, "/api", "createHolder", first_name="Very7Private")

    assert "rivate" not in lines.text
    assert not any(secret in lines.text for secret in issuer.secrets["full"].values())
