"""The tables in ``docs/capacity.md`` are consistent with each other and with the memory of functions."""

import re
from dataclasses import replace
from decimal import Decimal

import pytest

from chalicelib.delivery.receiver_slots import WORKERS
from infra import capacity
from infra.capacity import Figures
from infra.deploy.functions import API, BY_NAME
from infra.repository import ROOT

PAGE = capacity.PAGE.read_text(encoding="utf-8")
FIGURES = capacity.read_figures(PAGE)
READ, PAYMENT, READ_OF_ACCOUNTS = "relayed read", "payment with a key", "relayed read: accounts"
MEASURED = (ROOT / "docs" / "figures.md").read_text(encoding="utf-8")


def assuming(**values: int) -> Figures:
    named = {capacity.OPTIONS[f"--{name.replace('_', '-')}"]: Decimal(value) for name, value in values.items()}
    return replace(FIGURES, values={**FIGURES.values, **named})


def rate(figures: Figures, request: str, name: str) -> Decimal:
    return next(limit.rate for limit in capacity.limits(figures, request) if limit.name == name)


def test_the_capacity_tables_are_calculated_from_the_figures_on_the_capacity_page() -> None:
    assert capacity.replace_tables(PAGE, capacity.tables(FIGURES)) == PAGE, "`make capacity` writes them anew"


def test_the_processor_times_on_the_capacity_page_equal_the_measured_processor_times() -> None:
    """The processor time is the product of floor and ratio, expressed in multiples of the floor of a relayed read."""
    titles = {"relayed read": READ_OF_ACCOUNTS, "payment": PAYMENT, "`createCard`": "createCard for a new holder"}
    row = re.compile(r"^\| ([^|]+) \| ([\d.]+); \d+ \| [\d.; ]+ \| ([\d.]+); ", re.MULTILINE)
    measured = {
        titles.get(name, name): (Decimal(floor), Decimal(ratio)) for name, floor, ratio in row.findall(MEASURED)
    }
    floor_of_a_read, _ = measured[READ_OF_ACCOUNTS]

    assert len(measured) == 7
    for title, (floor, ratio) in measured.items():
        assert FIGURES.work[title].processor == round(floor * ratio / floor_of_a_read, 2), title
    assert FIGURES.values["processor time of the floor"] == floor_of_a_read


def test_the_capacity_page_states_the_configured_memory_of_each_function() -> None:
    assert FIGURES.values["memory of the function that answers requests"] == API.memory
    assert FIGURES.values["memory of `deliver`"] == BY_NAME["deliver"].memory


def test_the_deliveries_per_second_are_calculated_from_the_workers_and_the_duration() -> None:
    milliseconds = int(capacity.billed_milliseconds(FIGURES, FIGURES.work["delivery of an event"]))
    rate = WORKERS * 1000 // milliseconds

    assert f"| `deliver`: events to many receivers | {rate} | [{WORKERS} workers]" in PAGE
    assert f"one message of {milliseconds} ms at a time each: {WORKERS} ÷ 0.{milliseconds} s |" in PAGE
    assert f"To deliver more than {rate} events a second, raise `WORKERS`" in PAGE


@pytest.mark.parametrize(
    ("title", "service", "dollars"),
    [
        (PAYMENT, "API Gateway", "3.50"),
        (PAYMENT, "DynamoDB", "16.076"),
        (PAYMENT, "data out", "0.10503"),
        (PAYMENT, "logs", "0.67431"),
        ("delivery of an event", "API Gateway", "0"),
        ("delivery of an event", "SQS", "0.80"),
    ],
)
def test_the_documented_cost_of_a_million_requests_is_calculated_from_the_list_price(
    title: str, service: str, dollars: str
) -> None:
    parts = capacity.cost(FIGURES, FIGURES.work[title])

    assert parts[service] == Decimal(dollars)
    assert all(isinstance(part, Decimal) for part in parts.values())


def test_a_slower_bank_increases_billed_time_and_reduces_the_rate() -> None:
    slow, slower = assuming(bank_milliseconds=10_000), assuming(bank_milliseconds=20_000)
    milliseconds = [capacity.billed_milliseconds(each, FIGURES.work[PAYMENT]) for each in (slow, slower)]

    assert milliseconds[1] - milliseconds[0] == 10_000
    assert rate(slow, READ, "Lambda concurrency") / rate(slower, READ, "Lambda concurrency") == pytest.approx(2, 0.01)


def test_the_limits_of_a_request_kind_are_sorted_by_rate() -> None:
    for request in capacity.REQUESTS:
        rates = [limit.rate for limit in capacity.limits(FIGURES, request)]
        assert rates == sorted(rates)


def test_the_capacity_command_with_options_prints_tables_and_does_not_change_the_page(
    capsys: pytest.CaptureFixture[str],
) -> None:
    capacity.main(["--concurrency", "5000", "--rates", "250"])

    assert "| Lambda concurrency | 24,000 | 22,000 | 50,000 | a higher quota |" in (printed := capsys.readouterr().out)
    assert "| relayed read | 250 | 52 | 1 s | $7.02 |" in printed
    assert capacity.PAGE.read_text("utf-8") == PAGE
