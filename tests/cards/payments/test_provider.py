"""What stands where no provider of external payments is."""

from __future__ import annotations

import pytest

from chalicelib.cards.payments.provider import (
    AddressRequest,
    BankAccount,
    NoProvider,
    Provider,
    ProviderOrder,
    ProviderRefused,
    Receipt,
)
from chalicelib.cards.protocol.schemes import BRITAIN, UK

NOBODY: Provider = NoProvider()
REASON = "no provider of external payments is connected"


def test_without_a_provider_no_address_is_opened() -> None:
    with pytest.raises(ProviderRefused, match=REASON):
        NOBODY.open_address(AddressRequest(1, UK, 826, BRITAIN, "Zoë O'Neil"))


def test_without_a_provider_no_order_is_accepted_and_none_is_known() -> None:
    destination = BankAccount("Shop", account_number="66374958", sort_code="089999")
    order = ProviderOrder(1, "payment", UK, 826, 100, (), destination, None, None)

    assert NOBODY.submit(order) == Receipt(accepted=False, reason=REASON)
    assert NOBODY.find(1) is None
