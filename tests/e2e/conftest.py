"""What an end-to-end test begins with: a PSU's approval on the running stack."""

from __future__ import annotations

from typing import Any

import pytest

from tests.e2e.parties import Journey, Tpp


@pytest.fixture(params=[1, 2], ids=["bank one", "bank two"])
def journey(request: pytest.FixtureRequest, stack: dict[str, Any], tpp: Tpp) -> Journey:
    """A PSU's approval at one of the demonstration banks, with the code not yet exchanged."""
    bank = next(bank for bank in stack["banks"] if bank["api_version"] == request.param)
    return tpp.journey(bank)
