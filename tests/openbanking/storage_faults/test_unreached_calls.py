"""Test that the scenarios cover every storage call of requests with every fault."""

from pathlib import Path

import pytest

from tests.openbanking.call_sites import sites_of_requests
from tests.openbanking.fault_scenarios import scenario

pytestmark = pytest.mark.faults

MODULES = {f"{__package__}.{path.stem}" for path in Path(__file__).parent.glob("test_*.py") if path != Path(__file__)}


def test_every_storage_call_of_a_request_is_tested_with_every_fault() -> None:
    missed = scenario.missed(sites_of_requests(), MODULES)
    assert missed == [], "\n".join(missed)
