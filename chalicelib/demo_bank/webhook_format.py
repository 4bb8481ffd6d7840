"""Webhook calls, and the response formats of the protocol versions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from chalicelib.demo_bank.consents import DemoConsent
from chalicelib.demo_bank.customers import Customer, CustomerAccount
from chalicelib.demo_bank.instructions import PaymentInstruction
from chalicelib.demo_bank.orders import DemoPaymentOrder
from chalicelib.demo_bank.profiles import Profile
from chalicelib.demo_bank.runtime import DemoBank
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.openbanking.protocol.payment_enumerations import Kind


@dataclass(frozen=True, slots=True)
class WebhookCall:
    """A validated webhook call: its parsed request, and the consent concerned with the consent's customer, if any.

    Attributes:
        format: the webhook format of the bank's version.
        request_id: the service's X-Request-Id. A retry has the same id.
        content: digest of the body.
    """

    bank: DemoBank
    format: WebhookFormat
    request: Any
    consent: DemoConsent | None
    customer: Customer | None
    request_id: str
    content: str

    @property
    def accounts(self) -> tuple[CustomerAccount, ...]:
        """Return the accounts that the PSU approved and that still exist."""
        return _open_accounts(self.consent.accounts(self.customer)) if self.consent and self.customer else ()

    @property
    def accounts_to_pay_from(self) -> tuple[CustomerAccount, ...]:
        """Return the accounts that payments and funds confirmations may use."""
        if self.consent is None or self.customer is None:
            return ()
        return _open_accounts(self.consent.accounts_to_pay_from(self.customer))


def _open_accounts(accounts: Iterable[CustomerAccount]) -> tuple[CustomerAccount, ...]:
    return tuple(account for account in accounts if not account.is_closed)


@dataclass(frozen=True, slots=True, eq=False)
class WebhookFormat:
    """The webhooks of one protocol version.

    Attributes:
        answers: functions that build the response members for a relayed request, by call name.
        instruction_readers: functions that convert a validated payment request to a version-independent
            ``PaymentInstruction``. Raise: Refusal, UnpayableAmount.
        payment_answer: builds the response to a new payment from its order and its confirmation URL.
    """

    answers: Mapping[str, Callable[[WebhookCall], dict[str, Any]]]
    instruction_readers: Mapping[Kind, Callable[[Profile, Kind, Any], PaymentInstruction]]
    payment_answer: Callable[[DemoPaymentOrder, str], dict[str, Any]]
