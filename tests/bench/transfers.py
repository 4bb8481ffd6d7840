"""Transfers of a penny, as the service makes them."""

from __future__ import annotations

from tests.bench.against_bare import Service
from tests.bench.bare_transfer import DESTINATION
from tests.cards.issuer import EVERYDAY_ACCOUNT, GBP, HOLDER_BLOCK

_FUNDS = 1_000_000
_MEMBERS = {f"destination_{name}": value for name, value in DESTINATION.items()}


class Transfers(Service):
    """Pays a penny from an address whenever it is called."""

    def __call__(self, address_id: int) -> bool:
        paying = {"epm_address_id": address_id, "currency_ison": GBP, "amount": 1, **_MEMBERS}
        return bool(self.once("transferToExternalPayment", **paying)["status"] == "success")

    def address(self) -> int:
        """A new address in the UK, and money on its account."""
        of_account = {"currency_ison": GBP, "account_status": "A", "program_id": EVERYDAY_ACCOUNT}
        account = self.data("createAccount", **of_account, skip_holder_validation=0, **HOLDER_BLOCK)["id"]
        number = self.funded(account, _FUNDS)
        if not self(number):  # from now on there are counters of payments out, which the bare script adds to
            raise AssertionError("the first transfer failed")
        return number
