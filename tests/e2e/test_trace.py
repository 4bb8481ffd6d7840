"""The operator's trace and delivery commands on the whole stack, which read its log file."""

import json
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from chalicelib import bootstrap
from infra.admin import connection
from infra.admin.commands import program
from infra.local import stackfile
from tests.e2e.parties import Journey, Tpp
from tests.kit.time import wait_for

pytestmark = pytest.mark.e2e

Operate = Callable[..., Any]


@pytest.fixture
def operate(stack: dict[str, Any], operator: bootstrap.Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Operate:
    file = tmp_path / "stack.json"
    stackfile.write(file, stack)
    monkeypatch.setenv(stackfile.VARIABLE, str(file))
    monkeypatch.setattr(connection, "connect", lambda: operator)

    def command(*arguments: str) -> Any:
        result = CliRunner().invoke(program, [*arguments, "--json"])
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout)

    return command


def test_a_tpp_call_through_the_hub_can_be_traced(tpp: Tpp, journey: Journey, operate: Operate) -> None:
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


def test_a_consent_revocation_can_be_traced_to_the_delivery_at_the_bank(
    tpp: Tpp, journey: Journey, operate: Operate
) -> None:
    tokens, request_id = tpp.redeem(journey.code).json(), str(uuid.uuid4())
    revoked = tpp.call(
        "POST", "/tpp/token/revoke", {"token": tokens["access_token"]}, headers={"X-Request-Id": request_id}
    )
    assert revoked.status_code == 200

    traced = _arrived(operate, request_id)

    (delivery,) = traced["deliveries"]
    assert delivery["kind"] == "revoke_token"
    assert delivery["state"] == "delivered"
    assert delivery["attempts"] == 1
    functions = {line["message"]: line["function"] for line in traced["lines"]}
    assert (functions["consent ended"], functions["delivered"]) == ("api", "deliver")
    (consent,) = traced["consents"]
    assert (consent["consent_id"], consent["status"]) == (tokens["consent_id"], "revoked")
    assert operate("trace", delivery["delivery_id"])["request_id"] == request_id
    listed = operate("deliveries", "list", "--bank", journey.bank["bic"])["deliveries"]
    assert delivery["delivery_id"] in [each["delivery_id"] for each in listed]


def _arrived(operate: Operate, request_id: str) -> Any:

    def look() -> Any:
        traced = operate("trace", request_id)
        return traced if any(line["message"] == "delivered" for line in traced["lines"]) else None

    return wait_for(look, "nothing arrived")
