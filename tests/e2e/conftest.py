"""What an end-to-end test begins with: a PSU's approval on the running stack."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from chalicelib import bootstrap
from chalicelib.foundation.settings import Settings
from tests.e2e import fault_plays
from tests.e2e.parties import Journey, Tpp
from tests.kit import pythons


@pytest.fixture(scope="session")
def python(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A Python that begins this repository's commands at once."""
    with pythons.installed(tmp_path_factory.mktemp("warm")) as command:
        yield command


@pytest.fixture(scope="session")
def played(shared_stack: dict[str, Any]) -> Iterator[fault_plays.Plays]:
    """What a TPP sees of each fault, all of which are played together."""
    with fault_plays.playing(shared_stack) as plays:
        yield plays


@pytest.fixture(params=[1, 2], ids=["bank one", "bank two"])
def seen(request: pytest.FixtureRequest, played: fault_plays.Plays) -> fault_plays.See:
    """The version of a fault bank, and what a TPP sees there of a fault."""
    return lambda fault: (request.param, played[fault, request.param].result())


@pytest.fixture(params=[1, 2], ids=["bank one", "bank two"])
def bank(request: pytest.FixtureRequest, stack: dict[str, Any]) -> dict[str, Any]:
    """One of the demonstration banks."""
    return next(bank for bank in stack["banks"] if bank["api_version"] == request.param)


@pytest.fixture
def journey(bank: dict[str, Any], tpp: Tpp) -> Journey:
    """A PSU's approval at one of the demonstration banks, with the code not yet exchanged."""
    return tpp.journey(bank)


@pytest.fixture
def credentials(operator: bootstrap.Hub) -> dict[str, Any]:
    """A client with a secret."""
    made = operator.openbanking.clients.create(owner="sdk@example.com", title="SDK", secret=True)
    assert made.secret is not None
    return {"client_id": made.client.client_id, "client_secret": made.secret}


@pytest.fixture(scope="module")
def lasting_operator(stack: dict[str, Any]) -> Iterator[bootstrap.Hub]:
    """As ``operator``, for what lasts as long as a module."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in stack["environment"].items():
            patch.setenv(name, value)
        yield bootstrap.Hub(Settings.from_environment(stack["environment"]))
