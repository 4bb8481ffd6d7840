"""Picks balances of an account by their type."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from causeway.tpp._generated.literals import BalanceType
    from causeway.tpp._generated.models import Balance


class BalancesByType:
    """The methods of ``Balances``."""

    __slots__ = ()

    if TYPE_CHECKING:
        balances: tuple[Balance, ...]

    @property
    def booked(self) -> Balance | None:
        """The booked balance; ``None`` if the bank sends none."""
        return self.by_type("booked")

    @property
    def available(self) -> Balance | None:
        """The available balance; ``None`` if the bank sends none."""
        return self.by_type("available")

    def by_type(self, balance_type: BalanceType) -> Balance | None:
        """Return the first balance of a type, such as ``opening_booked``; ``None`` if the bank sends none."""
        return next((each for each in self.balances if each.type == balance_type), None)
