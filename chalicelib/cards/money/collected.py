"""What a shop has collected, and what was given back: refunds and disputes never give back more (decisions, Money)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Self

from chalicelib.cards.money.amounts import Conversion


@dataclass(frozen=True, slots=True)
class Collected:
    """What was collected in one currency of what has one ``trans_link``, in minor units.

    Attributes:
        amount: in that currency; ``given_back`` is what of it was refunded or disputed.
        debited: what it took of the account, in the account's currency: with the fee of the conversion, without others.
        credited: what of that was given back.
        rate: the base rate of its conversion; ``None`` where it was collected at several, or that is not known.
    """

    amount: int
    debited: int
    rate: Decimal | None
    given_back: int = 0
    credited: int = 0

    @classmethod
    def first(cls, taken: Conversion) -> Self:
        """What a first clearing takes."""
        return cls(taken.amount, taken.holder_amount, taken.base_rate)

    @property
    def left(self) -> int:
        """What may still be given back of the amount."""
        return self.amount - self.given_back

    def covers(self, credit: int) -> bool:
        """Whether the account may be credited so much more."""
        return self.credited + credit <= self.debited

    def more(self, taken: Conversion) -> Self:
        """It after a further clearing."""
        rate = self.rate if self.rate == taken.base_rate else None
        return replace(self, amount=self.amount + taken.amount, debited=self.debited + taken.holder_amount, rate=rate)

    def less(self, amount: int, credit: int) -> Self:
        """It after a refund or a dispute of so much, for which the account is credited; negative where one is lost."""
        return replace(self, given_back=self.given_back + amount, credited=self.credited + credit)

    def share(self, whole: int, part: int) -> int:
        """The share of ``whole`` that ``part`` is of the amount, rounded down."""
        return whole * part // self.amount

    def refund(self, amount: int, taken: Conversion, brought: Conversion) -> Conversion:
        """What a refund of ``amount`` comes to; ``taken`` and ``brought`` are what the whole would take, or bring, now.

        It is the rounded-down share of all refunds so far, so that many small ones bring no more than a large one; the
        last one brings the remainder. Nothing is credited beyond the same share of ``debited``, whatever the rates are.
        """
        if brought.currency == brought.holder_currency:
            return replace(brought, amount=amount, base_amount=amount, holder_amount=amount)
        whole = brought.holder_amount
        if self.rate == brought.base_rate:
            whole = max(0, self.debited - taken.fee - brought.fee)
        most = max(0, self.share(self.debited, self.given_back + amount) - self.credited)
        holder_amount = min(self._next(whole, amount), most)
        fee = self._next(brought.fee, amount)
        return replace(brought, amount=amount, base_amount=holder_amount + fee, holder_amount=holder_amount, fee=fee)

    def _next(self, whole: int, amount: int) -> int:
        """What of ``whole`` comes with the next ``amount``."""
        return self.share(whole, self.given_back + amount) - self.share(whole, self.given_back)
