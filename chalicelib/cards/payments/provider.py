"""The interface of a provider of external payments: it opens addresses and executes orders.

A provider is the bank behind the service. An operator connects their own by a class that keeps the promises of
``Provider``; until then every call is refused.
"""

from __future__ import annotations

from typing import Literal, Protocol

from chalicelib.foundation.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AddressRequest:
    """Wanted bank-account details. ``currency`` and ``country`` are ISO numbers, ``method`` as in ``schemes``."""

    address_id: int
    method: int
    currency: int
    country: int
    account_name: str


@dataclass(frozen=True, slots=True)
class OpenedAddress:
    """Bank-account details that now lead to this service, and the country of the bank that has them."""

    account_number: str | None
    sort_code: str | None
    iban: str | None
    bic: str | None
    country: int


@dataclass(frozen=True, slots=True)
class BankAccount:
    """Where an order's money goes: an IBAN, or a sort code and an account number."""

    name: str
    account_number: str | None = None
    sort_code: str | None = None
    iban: str | None = None
    bic: str | None = None


OrderKind = Literal["payment", "return", "debit return"]


@dataclass(frozen=True, slots=True)
class ProviderOrder:
    """An order: an outgoing payment, a return, or a direct-debit refund.

    A ``debit return`` takes the money from ``destination``, which collected it.

    ``amount`` is in minor units of ``currency``, an ISO number. ``schemes`` are the requested ones, the best first;
    without any the provider's own order applies. ``original_reference`` is the provider's number of the returned
    payment, ``reason`` the cause.
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
    """What a provider made of an order: its own number and the scheme of one that it took, or why it did not."""

    accepted: bool
    reference: int | None = None
    scheme: str | None = None
    reason: str | None = None


LONGEST_WORDS = 140
"""The most characters of a provider's reason that are stored and shown."""


class ProviderSilent(Exception):
    """No answer came: it is unknown whether the provider has the order."""


class ProviderRefused(Exception):
    """The provider refused to open an address; the message is for the caller."""


class Provider(Protocol):
    """A provider of external payments. Its calls may take seconds; none is made inside a transaction."""

    def open_address(self, opening: AddressRequest, /) -> OpenedAddress:
        """Unique bank-account details; the same ones for the same ``address_id``.

        Raises: ProviderRefused, ProviderSilent.
        """

    def submit(self, order: ProviderOrder, /) -> Receipt:
        """Carry an order out; a ``payment_id`` that was there before is answered alike, and nothing is done again.

        Raises: ProviderSilent.
        """

    def find(self, payment_id: int, /) -> Receipt | None:
        """What became of an order; ``None`` when the provider has never seen it. Raises: ProviderSilent."""


NOT_CONNECTED = "no provider of external payments is connected"


class NoProvider:
    """Used without a provider: every call is refused."""

    def open_address(self, _opening: AddressRequest, /) -> OpenedAddress:
        raise ProviderRefused(NOT_CONNECTED)

    def submit(self, _order: ProviderOrder, /) -> Receipt:
        return Receipt(accepted=False, reason=NOT_CONNECTED)

    def find(self, _payment_id: int, /) -> Receipt | None:
        return None
