"""The scopes of both versions (specification, Scopes)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Version = Literal[1, 2]
Service = Literal["AISP", "PISP", "CBPII"]


@dataclass(frozen=True, slots=True)
class Scope:
    """One right that a PSU can give: its name, the role it belongs to, and what it means."""

    name: str
    service: Service
    meaning: str

    @property
    def needs_accounts(self) -> bool:
        """Whether an approval of this scope has to name accounts."""
        return self.service == "AISP"


_ROWS: Mapping[Version, tuple[Scope, ...]] = {
    1: (
        Scope("account.list", "AISP", "account list"),
        Scope("account.balance", "AISP", "account balance"),
        Scope("account.details", "AISP", "account details"),
        Scope("account.payments", "AISP", "account payments list"),
        Scope("account.payment", "AISP", "single payment details"),
        Scope("payment.init", "PISP", "payment initiation"),
        Scope("card_based.funds_confirmations", "CBPII", "confirmation of funds"),
    ),
    2: (
        Scope("accounts", "AISP", "account list and details"),
        Scope("accounts.balances", "AISP", "balances"),
        Scope("accounts.transactions", "AISP", "transactions"),
        Scope("payments.single", "PISP", "single payment initiation"),
        Scope("payments.bulk", "PISP", "bulk payment initiation"),
        Scope("funds_confirmations", "CBPII", "confirmation of funds"),
    ),
}

SCOPES: Mapping[Version, Mapping[str, Scope]] = {
    version: {scope.name: scope for scope in rows} for version, rows in _ROWS.items()
}
