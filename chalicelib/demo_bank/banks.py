"""The demonstration banks of the process, each with the format of its version."""

from __future__ import annotations

from collections.abc import Mapping

from chalicelib.demo_bank import format_v1, format_v2
from chalicelib.demo_bank.format import Format
from chalicelib.demo_bank.profiles import BY_NAME, BankName
from chalicelib.demo_bank.runtime import DemoBank, Services

FORMATS: Mapping[int, Format] = {1: format_v1.FORMAT, 2: format_v2.FORMAT}
"""The formats by the versions' numbers."""


class _BankCache:
    """The banks; made anew when the process is wired anew."""

    def __init__(self) -> None:
        self._services: Services | None = None
        self._banks: dict[str, DemoBank] = {}

    def get(self, name: BankName, services: Services) -> DemoBank:
        if self._services is not services:
            self._services = services
            self._banks = {
                key: DemoBank(profile, FORMATS[profile.version], services) for key, profile in BY_NAME.items()
            }
        return self._banks[name]


_banks = _BankCache()


def get_bank(name: BankName, host: Services) -> DemoBank:
    """The bank of that name, on what ``host`` shares with it."""
    return _banks.get(name, host)
