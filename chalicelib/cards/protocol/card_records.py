"""Responses of the card actions. The credential's modes determine whether card data is plain, masked, encrypted or
absent.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

from chalicelib.cards.protocol import fields
from chalicelib.cards.protocol.fields import AN, ANS, CountryIson, CurrencyIson, Flag, Id, N
from chalicelib.cards.protocol.message import Answer

CardField = Literal["pan", "pin", "cvc2", "acs_password", "expiry"]
"""Card data with a disclosure mode per credential."""
CARD_FIELDS: tuple[CardField, ...] = get_args(CardField)

PLAIN, MASKED, ENCRYPTED, ABSENT = MODES = ("plain", "masked", "encrypted", "absent")

MINIMUM_KEY_BITS = 3072
LONGEST_BYTES = MINIMUM_KEY_BITS // 8 - 2 * 32 - 2
"""UTF-8 bytes that the smallest key can encrypt (RSA-OAEP with SHA-256): 318."""

ANSWERED: Mapping[str, CardField] = {
    "pan": "pan",
    "pin": "pin",
    "cvc2": "cvc2",
    "acs_password": "acs_password",
    "expiration": "expiry",
    "expiry_year": "expiry",
}
"""Response members and their card data fields. An expiry consists of year and month."""
KEPT_SHORTLY = tuple(member for member, field in ANSWERED.items() if field != "expiry")
"""Members removed from a stored response after a day."""
EMPTY_LATER = {"acs_password": ""}
"""The mandatory ones of these members, which stay with an empty value."""


class Expiration(Answer):
    """A card's expiry month. If encrypted, year and month are encrypted separately."""

    year: int | str
    month: int | str


class CreatedCard(Answer):
    """The new card; ``account_id`` is the account in the first currency."""

    card_id: Id
    card_request_id: Id
    holder_id: Id
    account_id: Id
    pan: str | None
    pin: str | None
    cvc2: str | None
    expiration: Expiration | None
    acs_password: str


class ReissuedCard(CreatedCard):
    """The reissued card."""


class CardNumber(Answer):
    """A card's number: plain, masked or encrypted."""

    pan: str


class Cvc2(Answer):
    """The code on the card's back: plain or encrypted."""

    cvc2: str


class Pin(Answer):
    """The PIN: plain or encrypted; empty for a virtual card."""

    pin: str


class AcsPassword(Answer):
    """The 3-D Secure password: plain or encrypted."""

    acs_password: str


class CardStatusAnswer(Answer):
    """A card's status, and the reason for its last change."""

    card_status: fields.CardStatus
    reason_code: fields.ReasonCode | None
    note: ANS[1, 255] | None


class CardDetails(Answer):
    """A card without its secrets."""

    card_id: Id
    holder_id: Id
    primary_account_id: Id
    virtual: fields.KindOfCard
    program_id: Id
    reference_number: AN[1, 50] | None
    invalid_pin_tries: N[1, 2]
    invalid_pin_tries_max_limit: N[1, 2]
    product_id: Id
    sub_product_id: Id
    status: fields.CardStatus
    status_change_reason_code: fields.ReasonCode | None
    status_change_note: ANS[1, 255] | None
    pin_status: fields.PinStatus
    default_currency_ison: CurrencyIson
    country_ison: CountryIson
    service_code: N[1, 3]
    fees_group_id: Id | None
    limits_group_id: Id | None
    usages_group_id: Id | None
    risk_group_id: Id | None
    card_design_id: Id
    name_line_3: ANS[3, 26] | None
    name_line_4: ANS[2, 50] | None
    expiry_month: int | str | None
    expiry_year: int | str | None
    participating: Flag


class Design(Answer):
    """A card design, with its name under both of the specification's member names."""

    card_design_id: Id
    card_design_name: ANS[1, 100]
    name: ANS[1, 100]


class WhitelistRule(Answer):
    """The new whitelist rule."""

    rule_id: Id
