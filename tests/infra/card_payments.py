"""External payments of an account, for tests of what the functions may do."""

from __future__ import annotations

from typing import Any

from chalicelib.cards.payments.provider import ProviderSilent
from tests.cards.issuer import EUR, Issuer


def opened(issuer: Issuer, action: str, **account: int) -> Any:
    """A new address in SEPA."""
    (address,) = issuer.data(action, **account, epm_method_id=2, currency_ison=EUR)
    return address


def silent(*_: object) -> Any:
    raise ProviderSilent


def euros(address: int, amount: int) -> dict[str, int]:
    return {"epm_address_id": address, "amount": amount, "currency_ison": EUR}


def paying(address: Any, iban: str = "DE89370400440532013000", name: str = "Al") -> dict[str, Any]:
    """The members of a transfer of 20.00 EUR."""
    return euros(address["id"], 2_000) | {"destination_iban": iban, "destination_account_name": name}
