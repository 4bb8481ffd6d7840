"""Metrics for CloudWatch follow the specification of the embedded metric format (EMF)."""

import json
import sys
import threading
import time
from typing import Any

import pytest

from chalicelib.foundation.metrics import Metrics

MOMENT = 1_795_341_600
Captured = pytest.CaptureFixture[str]


def lines(captured: Captured) -> list[dict[str, Any]]:
    return [json.loads(line) for line in captured.readouterr().out.splitlines()]


def values(lines: list[dict[str, Any]], name: str) -> list[float]:
    return [value for line in lines for value in line.get(name, ())]


def check(line: dict[str, Any]) -> None:
    assert isinstance(line["_aws"]["Timestamp"], int)
    (directive,) = line["_aws"]["CloudWatchMetrics"]
    assert directive["Namespace"] == "Causeway"
    for dimensions in directive["Dimensions"]:
        assert len(dimensions) <= 30
        assert all(0 < len(line[name]) <= 1024 for name in dimensions)
    assert 0 < len(directive["Metrics"]) <= 100
    for metric in directive["Metrics"]:
        assert metric["Unit"] in ("Count", "Milliseconds")
        assert 0 < len(line[metric["Name"]]) <= 100
        assert all(isinstance(value, int | float) for value in line[metric["Name"]])


def test_metrics_are_written_as_one_emf_line_with_every_metric_and_dimension(capsys: Captured) -> None:
    Metrics("dev").write(
        {"Calls": 3, "Answered": 2}, {"BankTime": [250.0004, 1.5]}, at=MOMENT, Bank="ALPHGB21", Service="AISP"
    )

    (line,) = lines(capsys)
    check(line)
    assert line == {
        "_aws": {
            "Timestamp": MOMENT * 1000,
            "CloudWatchMetrics": [
                {
                    "Namespace": "Causeway",
                    "Dimensions": [["Stage"], ["Stage", "Bank", "Service"]],
                    "Metrics": [
                        {"Name": "Calls", "Unit": "Count"},
                        {"Name": "Answered", "Unit": "Count"},
                        {"Name": "BankTime", "Unit": "Milliseconds"},
                    ],
                }
            ],
        },
        "Stage": "dev",
        "Bank": "ALPHGB21",
        "Service": "AISP",
        "Calls": [3],
        "Answered": [2],
        "BankTime": [250.0, 1.5],
    }


def test_metrics_without_dimensions_have_only_the_stage_dimension(capsys: Captured) -> None:
    before = int(time.time() * 1000)

    Metrics("prod").write({"MissingReports": 2})

    (line,) = lines(capsys)
    check(line)
    assert line["_aws"]["CloudWatchMetrics"][0]["Dimensions"] == [["Stage"]]
    assert before <= line["_aws"]["Timestamp"] <= time.time() * 1000


@pytest.mark.parametrize("number", [1, 99, 100, 101, 250, 300])
def test_more_than_100_values_are_split_into_lines_without_loss_or_duplicates(capsys: Captured, number: int) -> None:
    Metrics("dev").write({"Calls": number}, {"HubTime": list(range(number)), "BankTime": [7]}, at=MOMENT, Bank="B")

    written = lines(capsys)
    for line in written:
        check(line)
        assert line["_aws"]["Timestamp"] == MOMENT * 1000
    assert len(written) == -(-number // 100)
    assert values(written, "HubTime") == list(range(number))
    assert (values(written, "Calls"), values(written, "BankTime")) == ([number], [7])


def test_writing_without_recorded_metrics_logs_no_line(capsys: Captured) -> None:
    Metrics("dev").write({}, {"HubTime": []}, Bank="ALPHGB21")

    assert lines(capsys) == []


def test_metrics_with_old_timestamps_raise_no_warning(capsys: Captured) -> None:
    """A frozen Lambda instance may write its counts days later. In tests, every warning is an error."""
    Metrics("dev").write({"Calls": 1}, at=MOMENT - 13 * 86_400)
    Metrics("dev").write({"Calls": 1}, at=1)

    assert [line["_aws"]["Timestamp"] for line in lines(capsys)] == [(MOMENT - 13 * 86_400) * 1000, 1000]


def test_metric_lines_of_parallel_threads_are_not_mixed(monkeypatch: pytest.MonkeyPatch) -> None:
    class Stream:
        def __init__(self) -> None:
            self.pieces: list[str] = []

        def write(self, text: str) -> int:
            self.pieces += [text] if text else []
            return len(text)

        def flush(self) -> None:
            pass

    stream = Stream()
    monkeypatch.setattr(sys, "stdout", stream)
    threads = [threading.Thread(target=Metrics("dev").write, args=({"Calls": number},)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert all(piece.endswith("}\n") for piece in stream.pieces)
    assert sorted(json.loads(piece)["Calls"][0] for piece in stream.pieces) == list(range(8))
