"""Fixtures of the tools' tests: the service with its metrics, a demonstration bank, and cheap password hashes."""

from collections.abc import Iterator

import pytest
import responses

from chalicelib.foundation import parallel
from tests.causeway import Causeway
from tests.demo_bank.single_bank import SingleBank
from tests.infra.alarms import Service


@pytest.fixture(autouse=True)
def cheap_passwords(quick_hashes: None) -> None:
    """Use cheap password hashes in all tests."""


@pytest.fixture
def service(causeway: Causeway, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Service:
    monkeypatch.setattr(parallel, "WIDTH", 1)
    return Service(causeway, capsys, monkeypatch)


@pytest.fixture
def one(resources: None) -> Iterator[SingleBank]:
    """Provide a demonstration bank with a separate table."""
    with responses.RequestsMock(assert_all_requests_are_fired=False) as mock:
        yield SingleBank("one", mock)
