"""The interface of an external payment provider, which opens addresses and executes orders.

A provider is the bank that the service uses. Operators connect a provider with a class that implements ``Provider``.
Without a provider, every call is refused.
"""

from __future__ import annotations

from typing import Literal, Protocol

from chalicelib.foundation.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AddressRequest:
    """A request to open a bank account. ``currency`` and ``country`` are numeric ISO codes. ``method`` is a payment
    method, UK or SEPA, from the module ``schemes``.
    """

    address_id: int
    method: int
    currency: int
    country: int
    account_name: str


@dataclass(frozen=True, slots=True)
class OpenedAddress:
    """The details of the opened bank account, and the country of its bank."""

    account_number: str | None
    sort_code: str | None
    iban: str | None
    bic: str | None
    country: int


@dataclass(frozen=True, slots=True)
class BankAccount:
    """An order's destination: an IBAN, or a sort code and an account number."""

    name: str
    account_number: str | None = None
    sort_code: str | None = None
    iban: str | None = None
    bic: str | None = None


OrderKind = Literal["payment", "return", "debit return"]


@dataclass(frozen=True, slots=True)
class ProviderOrder:
    """An order: an outgoing payment, a return, or a direct debit refund.

    A ``debit return`` reclaims the money from ``destination``, the account that collected the money.

    ``amount`` is in minor units of ``currency``, a numeric ISO code. ``schemes`` are the requested schemes in order of
    preference. If ``schemes`` is empty, the provider chooses a scheme. ``original_reference`` is the provider's
    reference of the returned payment. ``reason`` is the reason for the return.
    """

    payment_id: int
    kind: OrderKind
    method: int
    currency: int
    amount: int
    schemes: tuple[str, ...]
    destination: BankAccount
    reference: str | None
    original_reference: int | None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Receipt:
    """A provider's response to an order. An accepted order has a reference and a scheme. A refused order has a
    reason.
    """

    accepted: bool
    reference: int | None = None
    scheme: str | None = None
    reason: str | None = None


LONGEST_WORDS = 140
"""The maximum length of a provider's reason in storage and in responses."""


class ProviderSilent(Exception):
    """The provider did not respond. Whether the provider received the order is unknown."""


class ProviderRefused(Exception):
    """The provider refused to open an address. The message is intended for the caller."""


class Provider(Protocol):
    """An external payment provider. Calls may take seconds and are never made inside a transaction."""

    def open_address(self, opening: AddressRequest, /) -> OpenedAddress:
        """Open a bank account with unique numbers. The same ``address_id`` always returns the same account.

        Raises: ProviderRefused, ProviderSilent.
        """

    def submit(self, order: ProviderOrder, /) -> Receipt:
        """Execute an order. A retry with the same ``payment_id`` returns the same receipt and has no other effect.

        Raises: ProviderSilent.
        """

    def find(self, payment_id: int, /) -> Receipt | None:
        """Return the receipt of an earlier order, or ``None`` if the provider did not receive the order.

        Raises: ProviderSilent.
        """


NOT_CONNECTED = "no provider of external payments is connected"


class NoProvider:
    """The implementation that is used if no provider is configured. Every call is refused."""

    def open_address(self, _opening: AddressRequest, /) -> OpenedAddress:
        raise ProviderRefused(NOT_CONNECTED)

    def submit(self, _order: ProviderOrder, /) -> Receipt:
        return Receipt(accepted=False, reason=NOT_CONNECTED)

    def find(self, _payment_id: int, /) -> Receipt | None:
        return None
