"""The initial data of a new stack: synthetic bank statistics, which exports omit, and a month of card activity."""

import csv
import io
import json
import re
from datetime import timedelta
from typing import Any

import pytest
import requests
from typer.testing import CliRunner

from chalicelib import bootstrap
from infra.admin import connection
from infra.admin.commands import program
from infra.local.bank_days import DAYS
from tests.kit.time import PATIENCE_SECONDS

pytestmark = pytest.mark.e2e


@pytest.fixture
def operator_at_work(operator: bootstrap.Hub, monkeypatch: pytest.MonkeyPatch) -> bootstrap.Hub:
    monkeypatch.setattr(connection, "connect", lambda: operator)
    return operator


def run(*arguments: str) -> str:
    result = CliRunner().invoke(program, [*arguments])
    assert result.exit_code == 0, result.output
    return result.stdout


def days_shown(stack: dict[str, Any], bank: dict[str, Any], operator: bootstrap.Hub, **options: str) -> str:
    latest = operator.clock.now().date() - timedelta(days=1)
    asked = {"bic": bank["bic"], "from": str(latest - timedelta(days=DAYS - 1)), "to": str(latest), **options}
    answer = requests.get(f"{stack['base_url']}/performance", params=asked, timeout=PATIENCE_SECONDS)
    assert answer.status_code == 200
    return answer.text


def test_a_new_stack_shows_ninety_synthetic_days_of_statistics_for_each_bank(
    stack: dict[str, Any], operator: bootstrap.Hub
) -> None:
    for bank in (stack["banks"][1], *stack["fault_banks"]):  # others replace those of the first bank by their own
        text = days_shown(stack, bank, operator)

        (table, *_) = re.findall('aria-label="Availability by day">.*?<tbody>(.*?)</tbody>', text, re.DOTALL)
        assert table.count("made up") == table.count("</tr>") == DAYS
        assert "All of these days are made up." in text


def test_synthetic_statistics_are_not_exported(stack: dict[str, Any], operator_at_work: bootstrap.Hub) -> None:
    bank = stack["banks"][1]
    latest = operator_at_work.clock.now().date() - timedelta(days=1)
    days = "--from", str(latest - timedelta(days=DAYS - 1)), "--to", str(latest), "--bank", bank["bic"]

    assert list(csv.DictReader(io.StringIO(run("statistics", "export", *days)))) == []
    assert json.loads(days_shown(stack, bank, operator_at_work, format="json")) == {"days": []}
    shown = json.loads(run("statistics", "show", *days, "--json"))["days"]
    assert [row["made_up"] for row in shown] == [True] * DAYS


def test_synthetic_statistics_do_not_count_for_the_average_response_time(
    stack: dict[str, Any], operator: bootstrap.Hub
) -> None:
    bank = stack["banks"][1]

    assert operator.statistics.response_times.of_banks([bank["bic"]]) == {bank["bic"]: None}


def test_a_new_stack_has_a_month_of_card_activity_and_a_valid_ledger(
    stack: dict[str, Any], operator_at_work: bootstrap.Hub
) -> None:
    body = {**stack["programme"]["credentials"]["full"], "api_version": "1.2", "action": "getCardsActivity"}
    now = operator_at_work.clock.time()
    body |= {"date_from": now - 31 * 86_400, "date_to": now - 86_400, "item_count": 100}

    answer = requests.post(f"{stack['base_url']}/api", json=body, timeout=PATIENCE_SECONDS).json()

    assert answer["status"] == "success"
    assert len(answer["data"]) > 40
    assert json.loads(run("ledger", "verify", "--json"))["good"] is True
