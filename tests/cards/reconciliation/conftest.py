"""A ledger to prove: two accounts and a special one that have paid each other."""

from __future__ import annotations

import pytest

from tests.cards.issuer import EUR, SPECIAL_EUR, Issuer
from tests.cards.reconciliation.proved_ledger import Ledger
from tests.causeway import Causeway


@pytest.fixture
def ledger(causeway: Causeway) -> Ledger:
    """The first account got 1000.00 EUR and paid 40.00 to the second, 5.00 to the special one; 30.00 are pending."""
    issuer = Issuer(causeway)
    first, second = issuer.account(), issuer.account()
    opening = {"epm_method_id": 2, "currency_ison": EUR}
    (home,) = issuer.data("assignExternalPaymentAddress", account_id=second, **opening)
    (special,) = issuer.data("assignExternalPaymentAddressForSpecialAccount", special_account_id=SPECIAL_EUR, **opening)
    (address,) = issuer.data("assignExternalPaymentAddress", account_id=first, **opening)
    issuer.inbound(address, 100_000)
    sent = {"epm_address_id": address["id"], "currency_ison": EUR, "destination_account_name": "Al"}
    issuer.data("transferToExternalPayment", **sent, amount=4_000, destination_iban=home["iban"])
    issuer.data("transferToExternalPayment", **sent, amount=500, destination_iban=special["iban"])
    pending = issuer.data("transferToExternalPayment", **sent, amount=3_000, destination_iban="DE89370400440532013000")
    return Ledger(issuer, first, second, int(pending["id"]))
