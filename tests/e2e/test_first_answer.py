"""A new process responds to its first request without loading slow libraries."""

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from tests.bench.measured_requests import http_event
from tests.cards.cases import of_new_card
from tests.cards.issuer import EUR, HOLDER_BLOCK
from tests.e2e.parties import Journey, ProgrammeManager, Tpp
from tests.kit.source_code import ROOT

pytestmark = pytest.mark.e2e

HEAVY = ("boto3", "botocore", "requests", "urllib3")
FIRST_ANSWER = """
import json, sys
import app
answer = app.app(json.load(sys.stdin), None)
print(json.dumps([answer["statusCode"], sorted(sys.modules)]), file=sys.stderr)
"""


def loaded_by(stack: dict[str, Any], request: dict[str, Any]) -> set[str]:
    """Return the slow libraries that a process loads before the process responds to ``request``."""
    environment = {**os.environ, **stack["environment"]}
    made = subprocess.run(
        [sys.executable, "-c", FIRST_ANSWER],
        cwd=ROOT,
        env=environment,
        input=json.dumps(request),
        capture_output=True,
        text=True,
        check=True,
    )
    status, modules = json.loads(made.stderr.splitlines()[-1])
    assert status == 200, made.stdout
    return {name for name in modules if name in HEAVY}


def test_a_tpp_read_through_the_hub_loads_no_slow_library(stack: dict[str, Any], tpp: Tpp, journey: Journey) -> None:
    token = tpp.redeem(journey.code).json()["access_token"]
    headers = {"x-api-key": stack["client"]["client_id"], "authorization": f"Bearer {token}"}

    assert loaded_by(stack, http_event("GET", "/tpp/accounts", headers)) == set()


def test_a_card_api_action_loads_no_slow_library(stack: dict[str, Any]) -> None:
    assert loaded_by(stack, card_call(stack, "/api", action="getAccounts")) == set()


def test_a_card_authorization_loads_no_slow_library(stack: dict[str, Any]) -> None:
    manager = ProgrammeManager(stack)
    card = manager.data("createCard", **of_new_card(**HOLDER_BLOCK))["card_id"]
    asked = {"card_id": card, "transaction_type": 39, "amount": 0, "currency_ison": EUR}

    assert loaded_by(stack, card_call(stack, "/simulator", action="simulateAuthorization", **asked)) == set()


def card_call(stack: dict[str, Any], path: str, **members: Any) -> dict[str, Any]:
    body = {**stack["programme"]["credentials"]["full"], "api_version": "1.2", **members}
    return http_event("POST", path, {"content-type": "application/json"}, body)
