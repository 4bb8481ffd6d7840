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
"""The maximum number of UTF-8 bytes that the smallest key can encrypt (RSA-OAEP with SHA-256), which is 318."""

ANSWERED: Mapping[str, CardField] = {
    "pan": "pan",
    "pin": "pin",
    "cvc2": "cvc2",
    "acs_password": "acs_password",
    "expiration": "expiry",
    "expiry_year": "expiry",
}
"""Response members and their card data fields. An expiry consists of year and month."""
EXPIRING_MEMBERS = tuple(member for member, field in ANSWERED.items() if field != "expiry")
"""The members that are removed from a stored response after a day."""
EMPTY_LATER = {"acs_password": ""}
"""The mandatory members of ``EXPIRING_MEMBERS``, which are replaced with an empty value instead of being removed."""


class Expiration(Answer):
    """A card's expiry month. If encrypted, year and month are encrypted separately."""

    year: int | str
    """The year. Example: ``2029``."""
    month: int | str
    """The month. Example: ``11``."""


class CreatedCard(Answer):
    """The new card. ``account_id`` is the id of the account in the first currency."""

    card_id: Id
    """The card's id. Example: ``100000033``."""
    card_request_id: Id
    """The id of the card's latest order, which changes with each reissue. Example: ``100000041``."""
    holder_id: Id
    """The holder's id. Example: ``100000017``."""
    account_id: Id
    """The id of the account in the first currency. Example: ``100000025``."""
    pan: str | None
    """The card's number. Example: ``"2223000048410010"``."""
    pin: str | None
    """The PIN. Example: ``"4917"``."""
    cvc2: str | None
    """The code on the card's back. Example: ``"482"``."""
    expiration: Expiration | None
    """The month at the end of which the card expires."""
    acs_password: str
    """The 3-D Secure password. The value is empty if the credential may not read the password, and in responses to
    duplicate requests after 24 hours.
    Example: ``"Meadow-42-Lantern"``.
    """


class ReissuedCard(CreatedCard):
    """The reissued card."""


class CardNumber(Answer):
    """A card's number in plain, masked or encrypted form."""

    pan: str


class Cvc2(Answer):
    """The code on the card's back, in plain or encrypted form."""

    cvc2: str


class Pin(Answer):
    """The PIN in plain or encrypted form. The PIN is empty for a virtual card."""

    pin: str


class AcsPassword(Answer):
    """The 3-D Secure password in plain or encrypted form."""

    acs_password: str
    """The 3-D Secure password."""


class CardStatusAnswer(Answer):
    """A card's status, and the reason for the last status change."""

    card_status: fields.CardStatus
    """The card's status. Example: ``"T"``."""
    reason_code: fields.ReasonCode | None
    """The reason for the status. Example: ``2``."""
    note: ANS[1, 255] | None
    """A note on the status change. Example: ``"Requested by telephone"``."""


class CardDetails(Answer):
    """A card without its secrets."""

    card_id: Id
    holder_id: Id
    primary_account_id: Id
    """The id of the card's first account. Example: ``100000025``."""
    virtual: fields.KindOfCard
    """Whether the card is virtual."""
    program_id: Id
    """The card programme's id. Example: ``101``."""
    reference_number: AN[1, 50] | None
    """Your own reference. Example: ``"ORDER2026117"``."""
    invalid_pin_tries: N[1, 2]
    """The number of incorrect PIN entries since the last correct entry. Example: ``0``."""
    invalid_pin_tries_max_limit: N[1, 2]
    """The number of incorrect entries after which the PIN is blocked. Example: ``3``."""
    product_id: Id
    """The product's id. Example: ``11``."""
    sub_product_id: Id
    """The sub-product's id. Example: ``1``."""
    status: fields.CardStatus
    """The card's status. Example: ``"A"``."""
    status_change_reason_code: fields.ReasonCode | None
    """The reason for the last status change. Example: ``2``."""
    status_change_note: ANS[1, 255] | None
    """The note on the last status change. Example: ``"Requested by telephone"``."""
    pin_status: fields.PinStatus
    """Whether the PIN is blocked."""
    default_currency_ison: CurrencyIson
    """The currency of the card's default account. Example: ``978``."""
    country_ison: CountryIson
    """The country as a numeric ISO 3166-1 code. Example: ``276``."""
    service_code: N[1, 3]
    """The service code of the card's chip. Example: ``201``."""
    fees_group_id: Id | None
    """The card's fee group. Example: ``301``."""
    limits_group_id: Id | None
    """The card's limit group. Example: ``201``."""
    usages_group_id: Id | None
    """The card's usage group. Example: ``601``."""
    risk_group_id: Id | None
    """The risk rule group's id. Example: ``401``."""
    card_design_id: Id
    """The design's id. Example: ``21``."""
    name_line_3: ANS[3, 26] | None
    """The first embossed line. Example: ``"ADA OKAFOR"``."""
    name_line_4: ANS[2, 50] | None
    """The second embossed line."""
    expiry_month: int | str | None
    """The month of expiry, absent if the credential may not read the expiry. Example: ``11``."""
    expiry_year: int | str | None
    """The year of expiry, absent if the credential may not read the expiry. Example: ``2029``."""
    participating: Flag
    """Whether the card participates in the scheme's account updates. Example: ``1``."""


class Design(Answer):
    """A card design. The design's name is returned under two member names, as in the specification."""

    card_design_id: Id
    card_design_name: ANS[1, 100]
    """The design's name. Example: ``"Plain Blue"``."""
    name: ANS[1, 100]
    """The same value as ``card_design_name``. Example: ``"Plain Blue"``."""


class WhitelistRule(Answer):
    """The new whitelist rule."""

    rule_id: Id
    """The rule's id. Example: ``100000058``."""
