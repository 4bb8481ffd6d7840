"""What is needed to post a movement on an account: its balances, prices, limits and limit counters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from chalicelib.cards.ledger.account_record import LedgerAccount
from chalicelib.cards.ledger.charges import Charge, convert_movement, fees_of, fees_within
from chalicelib.cards.ledger.cleared_amounts import ClearedAmount
from chalicelib.cards.ledger.conversion import NoRate, conversion
from chalicelib.cards.ledger.transaction_attributes import TransactionAttributes
from chalicelib.cards.ledger.usage_counters import (
    Bound,
    CounterChanges,
    Counters,
    LimitExceeded,
    WindowUsage,
    count_movement,
)
from chalicelib.cards.programs.catalogue import Catalogue
from chalicelib.cards.protocol.status_codes import Refused, Status
from chalicelib.foundation.lazy_dataclasses import dataclass

_NO_RATE = "there is no exchange rate for this currency"
Usage = dict[str, list[dict[str, Any]]]
"""A movement's counts by counter owner, in the form stored in items."""


class OverLimit(Refused):
    """A movement exceeds a limit. ``bound`` is the exceeded bound: amount, count or countries."""

    def __init__(self, kept: Counters, exceeded: LimitExceeded) -> None:
        self.bound: Bound = exceeded.bound
        owner, bound = kept.owner.partition("#")[0], exceeded.bound.replace("_", " ")
        name = f' "{exceeded.entry.name}"' if exceeded.entry.name else ""
        super().__init__(Status.LIMIT_EXCEEDED, f"the {bound} of the {owner}'s limit{name} is exceeded")


@dataclass(frozen=True, slots=True)
class PostingContext:
    """An account with its limit counters and configuration, as read.

    Attributes:
        counters: those of the account, its holder and the card, as far as they are concerned.
        limit_group_ids: the limit groups of the holder and the card.
        holder_country: the holder's numeric country code.
        fee_group_id: the fee group of card use; by default, it is the account's.
    """

    catalogue: Catalogue
    account: LedgerAccount
    counters: Sequence[Counters]
    limit_group_ids: Mapping[str, int | None] = field(default_factory=dict)
    holder_country: int | None = None
    fee_group_id: int | None = None

    def attributes(self, transaction_type: int, currency: int, country: int | None) -> TransactionAttributes:
        """An external payment's attributes for fees and limits; ``country`` is that of the other bank."""
        return TransactionAttributes(transaction_type, currency, country=country, holder_country=self.holder_country)

    def charge(
        self, facts: TransactionAttributes, amount: int, *, debit: bool, cleared: ClearedAmount | None = None
    ) -> Charge:
        """The charge for ``amount`` in ``facts.currency`` on the account. Raises: Refused.

        Fees on a credit never exceed its amount. ``cleared``: the cleared amount that a refund partly or fully returns,
        if known.
        """
        catalogue, account = self.catalogue, self.account
        group = catalogue.fee_groups.get(self.fee_group_id or account.fee_group_id or 0)
        try:
            converted = convert_movement(catalogue, facts, account.currency, amount, debit=debit, cleared=cleared)
            fees = fees_of(catalogue, group, facts, amount, facts.currency, account.currency)
        except NoRate:
            raise Refused(Status.CURRENCY_NOT_SUPPORTED, _NO_RATE) from None
        programme = catalogue.account_programmes.get(account.program_id or 0)
        blends = programme is None or programme.conversion_fee_blended
        return Charge(converted, blends, fees if debit else fees_within(fees, converted.holder_amount), debit)

    def purchase_amount(self, currency: int, amount: int) -> int:
        """The amount that a purchase debits, with the conversion fee but no other fees. Raises: Refused."""
        taken = conversion(self.catalogue, amount, currency, self.account.currency, debit=True)
        if taken is None:
            raise Refused(Status.CURRENCY_NOT_SUPPORTED, _NO_RATE)
        return taken.holder_amount

    def require_funds(self, amount: int) -> None:
        """Check that ``amount`` is available. Raises: Refused."""
        if self.account.available < amount:
            raise Refused(Status.NO_FUNDS)

    def count(
        self,
        facts: TransactionAttributes,
        amount: int,
        now: int,
        tally: CounterChanges,
        *,
        forced: bool = False,
        further: int | None = None,
    ) -> Usage:
        """Count a movement in all limits and return its counts. Raises: OverLimit, Refused.

        A ``forced`` movement is never refused; ``further`` is an amount of the same transaction that was already
        counted. If the holder or card is assigned a different limit group after it was read, that group applies from
        the next movement.
        """
        usage: Usage = {}
        group_ids: dict[str, int | None] = {"account": self.account.limit_group_id, **self.limit_group_ids}
        for kept in self.counters:
            group = self.catalogue.limit_groups.get(group_ids[kept.owner.partition("#")[0]] or 0)
            windows = tally.current(kept).windows
            try:
                changed, counted = count_movement(
                    self.catalogue, group, windows, facts, amount, facts.currency, now, forced=forced, further=further
                )
            except LimitExceeded as exceeded:
                raise OverLimit(kept, exceeded) from None
            except NoRate:
                raise Refused(Status.CURRENCY_NOT_SUPPORTED, "there is no exchange rate for a limit") from None
            if counted:
                tally.change(kept, changed)
                usage[kept.owner] = [each.as_dict for each in counted]
        return usage

    def release(self, usage: Usage | None, tally: CounterChanges) -> None:
        """Subtract a movement's counts from the limits."""
        for kept in self.counters:
            if counted := (usage or {}).get(kept.owner):
                tally.give_back(kept, (WindowUsage(**each) for each in counted))

    @property
    def card_counters(self) -> list[Counters]:
        """The counters of the card whose lists contain the movement; empty without a card."""
        return [kept for kept in self.counters if kept.owner.startswith("card#")]
