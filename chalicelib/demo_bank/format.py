"""Formats: the version-specific part of a demonstration bank (``format_v1``, ``format_v2``).

The rest of the bank is the same for all versions. The protocol side is in ``Profile.protocol``, the
bank side in the format.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal

from chalicelib.demo_bank.refusals import OwnRefusal
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.openbanking.protocol.errors import Fault
from chalicelib.openbanking.protocol.payment_enumerations import Kind
from chalicelib.openbanking.protocol.payment_statuses import Status

if TYPE_CHECKING:
    from chalicelib.demo_bank.consents import DemoConsent
    from chalicelib.demo_bank.customers import Customer, CustomerAccount
    from chalicelib.demo_bank.instructions import PaymentInstruction
    from chalicelib.demo_bank.orders import DemoPaymentOrder
    from chalicelib.demo_bank.profiles import Profile
    from chalicelib.demo_bank.runtime import DemoBank

PaymentStep = Literal[
    "received",
    "checked",
    "confirmed",
    "undecided",
    "uncertain",
    "pending",
    "settled",
    "credited",
    "rejected",
    "cancelled",
]


@dataclass(frozen=True, slots=True)
class WebhookCall:
    """A validated webhook call: its parsed request, and the consent concerned with its customer, if any.

    Attributes:
        request_id: the service's X-Request-Id; a repeat has the same.
        content: digest of the body.
    """

    bank: DemoBank
    request: Any
    consent: DemoConsent | None
    customer: Customer | None
    request_id: str
    content: str

    @property
    def accounts(self) -> tuple[CustomerAccount, ...]:
        """The accounts that the PSU approved and that still exist."""
        return _open_accounts(self.consent.accounts(self.customer)) if self.consent and self.customer else ()

    @property
    def accounts_to_pay_from(self) -> tuple[CustomerAccount, ...]:
        """The accounts that payments and funds confirmations may use."""
        if self.consent is None or self.customer is None:
            return ()
        return _open_accounts(self.consent.accounts_to_pay_from(self.customer))


def _open_accounts(accounts: Iterable[CustomerAccount]) -> tuple[CustomerAccount, ...]:
    return tuple(account for account in accounts if not account.is_closed)


@dataclass(frozen=True, slots=True, eq=False)
class Format:
    """The format of one protocol version.

    Attributes:
        statuses: by payment step. ``undecided`` is a confirmed payment that may still be rejected, ``pending`` one that
            is never settled.
        answers: build the response members for a relayed request, by call name.
        instruction_readers: convert a validated payment request to the neutral form. Raise: Refusal, UnpayableAmount.
        payment_answer: builds the response to a new payment from its order and its confirmation URL.
        own_code: the code of a refusal that the protocol does not define.
        token_fault: the fault for a token that is not in force.
        reference_members: the payment members that may contain a test reference, as text.
    """

    statuses: Mapping[PaymentStep, Status]
    answers: Mapping[str, Callable[[WebhookCall], dict[str, Any]]]
    instruction_readers: Mapping[Kind, Callable[[Profile, Kind, Any], PaymentInstruction]]
    payment_answer: Callable[[DemoPaymentOrder, str], dict[str, Any]]
    own_code: Callable[[OwnRefusal], int | str]
    token_fault: Fault
    reference_members: str
