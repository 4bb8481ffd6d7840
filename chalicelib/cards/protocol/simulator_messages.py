"""The sandbox's simulator: what a card network and an issuer's access control server would ask."""

from __future__ import annotations

from typing import Any, ClassVar

from chalicelib.cards.protocol.fields import AN, ANS, CountryIson, CurrencyIson, Digits, Flag, Id, N, Range
from chalicelib.cards.protocol.kinds import EciIndicator, EntryModeType, ResponseCode, TransactionType
from chalicelib.cards.protocol.message import Answer, Excludes, NeedsOne, Request


class AtMerchant(Request):
    """Where the card is used."""

    mcc: Digits[4] | None = None
    merchant_name: ANS[1, 100] | None = None
    merchant_id: ANS[1, 15] | None = None
    merchant_country_ison: CountryIson | None = None
    terminal_id: ANS[1, 16] | None = None


class SimulateAuthentication(AtMerchant):
    """simulateAuthentication: an online shop asks for 3-D Secure."""

    card_id: Id
    amount: N[1, 15]
    currency_ison: CurrencyIson
    acquirer_bin: Digits[4, 11] | None = None


class SimulateAuthorization(AtMerchant):
    """simulateAuthorization: the network asks whether the card may be used."""

    conditions: ClassVar = (NeedsOne(("card_id", "pan")), Excludes("pan", "card_id"))

    card_id: Id | None = None
    pan: Digits[16, 19] | None = None
    transaction_type: TransactionType
    amount: N[1, 15]
    currency_ison: CurrencyIson
    entry_mode_type: EntryModeType | None = None
    cashback_amount: N[1, 15] | None = None
    pin: Digits[4] | None = None
    cvc2: Digits[3] | None = None
    expiry_year: N[4] | None = None
    expiry_month: Range[1, 12] | None = None
    eci_indicator: EciIndicator | None = None
    partial_approval: Flag | None = None
    force_response_code: ResponseCode | None = None


class Authentication(Answer):
    """What came of it; ``validation_value`` is what a cardholder would have been sent."""

    outcome: str
    auth_request_id: Id | None = None
    validation_value: AN[1, 8] | None = None
    expires_at: N[1, 11] | None = None


class Authorization(Answer):
    """The issuer's answer; a decline is a success with another ``response_code`` than 00."""

    authorize_id: Id
    trans_link: ANS[1, 36]
    response_code: ResponseCode
    auth_code: AN[6] | None = None
    approved_amount: int
    holder_amount: int
    holder_currency_ison: CurrencyIson
    fee_amount: int
    risk_actions: list[Any]
    security_checks: list[Any]
    available_balance: int
    settled_balance: int
