"""Validation of amounts in requests. An amount has at most its currency's decimals, not counting trailing zeros."""

from typing import TYPE_CHECKING, Self

from pydantic import model_validator

from chalicelib.foundation.fields.field_types import Message
from chalicelib.foundation.fields.problems import fault
from chalicelib.foundation.fields.registries import decimals


class InCurrency(Message):
    """A message with an ``amount`` and its ``currency``."""

    if TYPE_CHECKING:
        amount: object
        currency: str

    @model_validator(mode="after")
    def has_the_decimals_of_its_currency(self) -> Self:
        check_decimals("amount", self.amount, self.currency)
        return self


def check_decimals(member: str, amount: object, currency: str) -> None:
    """Reject an amount with more decimals than its currency. ``member`` is the name of the amount in its message."""
    written = len(str(amount).partition(".")[2].rstrip("0"))
    most = decimals()[currency] if written else 0
    if written > most:
        fault("value", f"{member} must have at most {most} decimal places in this currency")
