"""Cleared amounts: the limit for their refunds and disputes (``docs/concepts/card-network.md``)."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Self

from chalicelib.cards.ledger.conversion import Conversion
from chalicelib.foundation.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ClearedAmount:
    """The clearings of one ``trans_link`` in one currency, in minor units.

    Attributes:
        amount: the cleared amount in that currency; ``given_back``: the part that was refunded or disputed.
        debited: the amount debited from the account, in its currency, with the conversion fee but no other fees.
        credited: the part of ``debited`` that was returned to the account.
        rate: the base rate of all conversions; ``None`` if the rates differ or are unknown.
    """

    amount: int
    debited: int
    rate: Decimal | None
    given_back: int = 0
    credited: int = 0

    @classmethod
    def of_clearing(cls, conversion: Conversion) -> Self:
        return cls(conversion.amount, conversion.holder_amount, conversion.base_rate)

    @property
    def left(self) -> int:
        """The amount that can still be refunded."""
        return self.amount - self.given_back

    def covers(self, credit: int) -> bool:
        """Whether ``credit`` can be returned to the account without exceeding ``debited``."""
        return self.credited + credit <= self.debited

    def add_clearing(self, conversion: Conversion) -> Self:
        return replace(
            self,
            amount=self.amount + conversion.amount,
            debited=self.debited + conversion.holder_amount,
            rate=self._common_rate(conversion),
        )

    def add_refund(self, conversion: Conversion) -> Self:
        after = self.give_back(conversion.amount, conversion.holder_amount)
        return replace(after, rate=self._common_rate(conversion))

    def give_back(self, amount: int, credit: int) -> Self:
        """The amounts after a dispute credit. To reverse it when the dispute is lost, pass negative ``amount`` and
        ``credit``.
        """
        return replace(self, given_back=self.given_back + amount, credited=self.credited + credit)

    def share(self, whole: int, part: int) -> int:
        """``whole`` times the ratio of ``part`` to the cleared amount, rounded down."""
        return whole * part // self.amount

    def convert_refund(self, amount: int, debit: Conversion, credit: Conversion) -> Conversion:
        """The refund of ``amount``; ``debit`` and ``credit`` convert the whole cleared amount at today's rates.

        A refund credits the rounded-down share of all refunds so far, minus the amount already credited: many small
        refunds credit no more than a large one, and the last one credits the remainder. If the rate has changed, a
        refund credits its own share at today's rate. In total, refunds never credit more than their share of
        ``debited``.
        """
        if credit.currency == credit.holder_currency:
            return replace(credit, amount=amount, base_amount=amount, holder_amount=amount)
        whole, given_back = credit.holder_amount, self.given_back + amount
        before = self.share(whole, self.given_back)
        if self.rate == credit.base_rate:
            whole = max(0, self.debited - debit.fee - credit.fee)
            before = min(self.share(whole, self.given_back), self.credited)
        most = max(0, self.share(self.debited, given_back) - self.credited)
        holder_amount = min(self.share(whole, given_back) - before, most)
        fee = self.share(credit.fee, given_back) - self.share(credit.fee, self.given_back)
        return replace(credit, amount=amount, base_amount=holder_amount + fee, holder_amount=holder_amount, fee=fee)

    def _common_rate(self, conversion: Conversion) -> Decimal | None:
        return self.rate if self.rate == conversion.base_rate else None
