"""The use of a card in a network message: transaction type, merchant, and security checks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from chalicelib.cards.authorization.group_rules import AUTHENTICATED
from chalicelib.cards.ledger.transaction_attributes import TransactionAttributes
from chalicelib.cards.protocol.values import CREDIT_TYPES, INQUIRY_TYPES, SECURITY_CHECKS
from chalicelib.cards.storage.record import without_none
from chalicelib.foundation.lazy_dataclasses import dataclass

ACQUIRER_ID, ACQUIRER_BIN, FORWARDER_ID = "00000100001", 400001, "00000200001"
"""The one bank of the sandbox's shops, and its network."""

_CARD_PRESENT = frozenset((2, 5, 7, 80, 90, 91))
_READ_THE_STRIPE = frozenset((2, 80, 90, 91))
_READ_THE_CHIP = frozenset((5, 7))
_ONLINE = 81
_CONDITIONS = {_ONLINE: "59", 1: "08", 10: "08"}
"""Point of service condition codes (ISO 8583, field 25) of online, mail and telephone orders, by entry mode.

All other entry modes have 00.
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class CardUse:
    """One use of a card.

    ``country`` is the merchant's, a numeric ISO 3166-1 code; ``checks`` has a flag for each of ``SECURITY_CHECKS``.
    """

    transaction_type: int
    entry_mode: int = 0
    eci_indicator: int | None = None
    cashback_amount: int | None = None
    mcc: str | None = None
    merchant_name: str | None = None
    merchant_id: str | None = None
    country: int | None = None
    terminal_id: str | None = None
    checks: Mapping[str, int]

    @classmethod
    def of_request(cls, request: Any) -> CardUse:
        return cls(
            transaction_type=request.transaction_type,
            entry_mode=request.entry_mode_type or 0,
            eci_indicator=request.eci_indicator,
            cashback_amount=request.cashback_amount,
            checks=_checks(request),
            **at_merchant(request),
        )

    @property
    def as_dict(self) -> dict[str, Any]:
        return without_none(asdict(self))

    @property
    def takes_money(self) -> bool:
        """Whether the transaction debits the holder."""
        return self.transaction_type not in CREDIT_TYPES

    @property
    def moves_money(self) -> bool:
        """Whether the transaction moves money, unlike an inquiry."""
        return self.transaction_type not in INQUIRY_TYPES

    def attributes(self, currency: int, holder_country: int | None) -> TransactionAttributes:
        """The attributes that fees, limits, usage groups and risk rules depend on."""
        mcc = None if self.mcc is None else int(self.mcc)
        return TransactionAttributes(
            self.transaction_type, currency, self.entry_mode, mcc, self.country, holder_country
        )

    def report_members(self, number: int, now: int) -> dict[str, Any]:
        """The members that card activity and transactions have in common.

        ``number`` is the id of the message or transaction, ``now`` its time in Unix seconds.
        """
        moment = datetime.fromtimestamp(now, UTC)
        shown = {
            "proc_code": self.transaction_type * 10_000,
            "transaction_type": self.transaction_type,
            "entry_mode_type": self.entry_mode,
            "mcc": None if self.mcc is None else int(self.mcc),
            "merchant_name": self.merchant_name,
            "merchant_id": self.merchant_id,
            "eci_indicator": self.eci_indicator,
            "acquirer_id": ACQUIRER_ID,
            "forwarder_id": FORWARDER_ID,
            "pos_entry_mode": f"{self.entry_mode:02}{1 if self.checks['online_pin'] else 2}",
            "transaction_local_time": f"{moment:%y%m%d%H%M%S}",
            "retrieval_reference_number": f"{moment:%y%j%H}"[1:] + f"{number % 1_000_000:06}",
            "security_checks": dict(self.checks),
        }
        return without_none(shown)

    @property
    def card_present(self) -> int:
        return int(self.entry_mode in _CARD_PRESENT)

    @property
    def condition_code(self) -> str:
        return _CONDITIONS.get(self.entry_mode, "00")


def at_merchant(request: Any) -> dict[str, Any]:
    """The ``CardUse`` members that describe the merchant."""
    return {
        "mcc": request.mcc,
        "merchant_name": request.merchant_name,
        "merchant_id": request.merchant_id,
        "country": request.merchant_country_ison,
        "terminal_id": request.terminal_id,
    }


def _checks(request: Any) -> Mapping[str, int]:
    done = {
        "card_expiration_date_present": request.expiry_year is not None or request.expiry_month is not None,
        "online_pin": request.pin is not None,
        "3_d_secure": request.eci_indicator in AUTHENTICATED,
        "cvv_2": request.cvc2 is not None,
        "magnetic_stripe": request.entry_mode_type in _READ_THE_STRIPE,
        "chip_data": request.entry_mode_type in _READ_THE_CHIP,
    }
    return {name: int(done.get(name, False)) for name in SECURITY_CHECKS}


UNCHECKED: Mapping[str, int] = dict.fromkeys(SECURITY_CHECKS, 0)
"""The security checks for a message without an authorization."""
