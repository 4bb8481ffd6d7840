"""Fixtures for single demonstration banks with intercepted HTTP calls."""

from collections.abc import Callable, Iterator

import pytest
import responses

from chalicelib import bootstrap
from chalicelib.demo_bank.profiles import BankName
from tests.demo_bank.single_bank import SingleBank


@pytest.fixture
def outside() -> Iterator[responses.RequestsMock]:
    with responses.RequestsMock(assert_all_requests_are_fired=False) as mock:
        yield mock


@pytest.fixture
def install_bank(
    resources: None, outside: responses.RequestsMock, monkeypatch: pytest.MonkeyPatch
) -> Callable[[BankName], SingleBank]:

    def install(name: BankName) -> SingleBank:
        bank = SingleBank(name, outside)
        monkeypatch.setattr(bootstrap, "hub", lambda: bank)
        return bank

    return install


@pytest.fixture
def one(install_bank: Callable[[BankName], SingleBank]) -> SingleBank:
    return install_bank("one")


@pytest.fixture
def two(install_bank: Callable[[BankName], SingleBank]) -> SingleBank:
    return install_bank("two")


@pytest.fixture(params=["one", "two"])
def bank(request: pytest.FixtureRequest, install_bank: Callable[[BankName], SingleBank]) -> SingleBank:
    return install_bank(request.param)
