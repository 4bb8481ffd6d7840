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
        written = len(str(self.amount).partition(".")[2].rstrip("0"))
        most = decimals()[self.currency] if written else 0
        if written > most:
            fault("value", f"amount must have at most {most} decimal places in this currency")
        return self
