"""The operator's trace and deliveries on the whole stack, from the log file that it really writes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from infra.local import stackfile
from tests.e2e.parties import Journey, Tpp

pytestmark = pytest.mark.e2e

Operate = Callable[..., Any]


@pytest.fixture
def operate(stack: dict[str, Any], tmp_path: Path) -> Operate:
    """Runs a command of the operator beside the running stack, as a person would; answers its document."""
    file = tmp_path / "stack.json"
    stackfile.write(file, stack)
    environ = {name: value for name, value in os.environ.items() if not name.startswith("AWS_") and name != "STAGE"}

    def command(*arguments: str) -> Any:
        ran = subprocess.run(
            [sys.executable, "-m", "infra.admin", *arguments, "--json"],
            cwd=stackfile.ROOT,
            env={**environ, stackfile.VARIABLE: str(file)},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert ran.returncode == 0, ran.stdout + ran.stderr
        return json.loads(ran.stdout)

    return command


def test_a_relayed_call_can_be_traced(tpp: Tpp, journey: Journey, operate: Operate) -> None:
    bearer, request_id = tpp.redeem(journey.code).json()["access_token"], str(uuid.uuid4())
    answer = tpp.call("GET", "/tpp/accounts", bearer=bearer, headers={"X-Request-Id": request_id})
    assert answer.status_code == 200

    traced = operate("trace", request_id)

    (relay,) = traced["relays"]
    assert (relay["bic"], relay["status"]) == (journey.bank["bic"], 200)
    own = [line for line in traced["lines"] if line["message"] == "request"]
    assert own[-1]["route"] == "/tpp/accounts"
    assert own[-1]["milliseconds"] >= relay["milliseconds"]
    assert bearer not in json.dumps(traced)


def test_a_revocation_can_be_traced_to_its_arrival_at_the_bank(tpp: Tpp, journey: Journey, operate: Operate) -> None:
    tokens, request_id = tpp.redeem(journey.code).json(), str(uuid.uuid4())
    revoked = tpp.call(
        "POST", "/tpp/token/revoke", {"token": tokens["access_token"]}, headers={"X-Request-Id": request_id}
    )
    assert revoked.status_code == 200

    traced = _arrived(operate, request_id)

    (delivery,) = traced["deliveries"]
    assert (delivery["kind"], delivery["state"], delivery["attempts"]) == ("revoke_token", "delivered", 1)
    functions = {line["message"]: line["function"] for line in traced["lines"]}
    assert (functions["consent ended"], functions["delivered"]) == ("api", "deliver")
    (consent,) = traced["consents"]
    assert (consent["consent_id"], consent["status"]) == (tokens["consent_id"], "revoked")
    assert operate("trace", delivery["delivery_id"])["request_id"] == request_id
    listed = operate("deliveries", "list", "--bank", journey.bank["bic"])["deliveries"]
    assert listed[0]["delivery_id"] == delivery["delivery_id"]


def _arrived(operate: Operate, request_id: str) -> Any:
    """The trace of a request once a line says that what it caused has arrived."""
    for _ in range(20):
        traced = operate("trace", request_id)
        if any(line["message"] == "delivered" for line in traced["lines"]):
            return traced
        time.sleep(0.1)
    raise AssertionError(f"nothing arrived: {traced}")
