"""One webhook, checked: what an answer is made from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from chalicelib.demo_bank.consents import Consent
from chalicelib.demo_bank.customers import Account
from chalicelib.demo_bank.runtime import Bank


@dataclass(frozen=True, slots=True)
class Call:
    """A webhook's request by the row's model, and the consent that it concerns, if any.

    Attributes:
        request_id: the service's X-Request-Id; a repeat carries the same.
        content: digest of the body.
    """

    bank: Bank
    request: Any
    consent: Consent | None
    request_id: str
    content: str

    @property
    def accounts(self) -> tuple[Account, ...]:
        """The accounts that the PSU approved."""
        return self.consent.accounts(self.bank) if self.consent else ()

    @property
    def accounts_to_pay_from(self) -> tuple[Account, ...]:
        """The accounts that a payment, or a question about funds, may concern."""
        return self.consent.accounts_to_pay_from(self.bank) if self.consent else ()
