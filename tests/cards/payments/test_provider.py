"""The placeholder for a missing provider of external payments."""

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

NO_RECORDS: Provider = NoProvider()
REASON = "no provider of external payments is connected"


def test_opening_an_address_without_a_provider_is_rejected() -> None:
    with pytest.raises(ProviderRefused, match=REASON):
        NO_RECORDS.open_address(AddressRequest(1, UK, 826, BRITAIN, "Zoë O'Neil"))


def test_an_order_without_a_provider_is_rejected_and_not_found() -> None:
    destination = BankAccount("Shop", account_number="66374958", sort_code="089999")
    order = ProviderOrder(1, "payment", UK, 826, 100, (), destination, None, None)

    assert NO_RECORDS.submit(order) == Receipt(accepted=False, reason=REASON)
    assert NO_RECORDS.find(1) is None
