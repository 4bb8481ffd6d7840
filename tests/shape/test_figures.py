"""Code metrics do not exceed their maximum values. A change may only lower a maximum value."""

import re
import subprocess
import sys

import pytest

from tests.kit.source_code import ROOT
from tests.shape.__main__ import Figure, read_static

CEILINGS = {
    "store writes in flows": 0,
    "handlers of store errors": 9,
    "idempotency modules": 0,
    "modules that spell the idempotency table": 1,
    "ambient contexts": 1,
    "dataclasses of collaborators only": 4,
    "other classes of collaborators only": 21,
    "factories of collaborators only": 0,
    "lines of openbanking/container.py": 104,
    "statements of chalicelib": 32_798,
    "statements of infra": 16_777,
    "modules over 400 lines": 0,
    "functions over 40 statements": 0,
}
"""The maximum value of each metric of the source. A change that lowers a metric must also lower its maximum value."""
CEILINGS_OF_REQUESTS = {
    "relayed read: files": 40,
    "relayed read: switches of file": 99,
    "relayed read: functions": 162,
    "card authorization: files": 48,
    "card authorization: switches of file": 238,
    "card authorization: functions": 259,
}


def test_every_source_metric_is_at_most_its_maximum(subtests: pytest.Subtests) -> None:
    found = read_static()

    assert [each.title for each in found] == list(CEILINGS)
    for each in found:
        with subtests.test(each.title):
            assert each.value <= CEILINGS[each.title], "\n".join(each.names)


def test_every_request_metric_is_at_most_its_maximum() -> None:
    """A separate process measures the metrics, so that state of other tests has no effect."""
    printed = subprocess.run(
        [sys.executable, "-m", "tests.shape"], check=True, capture_output=True, text=True, cwd=ROOT
    )
    rows = re.findall(r"(?m)^(.+?) {2,}([\d,]+)", printed.stdout)
    found = {title: int(value.replace(",", "")) for title, value in rows if title in CEILINGS_OF_REQUESTS}

    assert found.keys() == CEILINGS_OF_REQUESTS.keys()
    assert {title: value for title, value in found.items() if value > CEILINGS_OF_REQUESTS[title]} == {}


def test_a_metric_row_contains_title_value_and_goal() -> None:
    code, infra = Figure("statements of chalicelib", 32_049, 30_500), Figure("statements of infra", 15_327, None)

    assert code.row.split("  ")[0] == "statements of chalicelib"
    assert code.row.endswith(" 32,049   ≤ 30,500")
    assert infra.row.endswith(" 15,327   not more")
