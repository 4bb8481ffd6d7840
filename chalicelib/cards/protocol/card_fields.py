"""The data of a card that a credential is shown in modes of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

CardField = Literal["pan", "pin", "cvc2", "acs_password", "expiry"]
CARD_FIELDS: tuple[CardField, ...] = get_args(CardField)

PLAIN, MASKED, ENCRYPTED, ABSENT = MODES = ("plain", "masked", "encrypted", "absent")

MINIMUM_KEY_BITS = 3072
LONGEST_BYTES = MINIMUM_KEY_BITS // 8 - 2 * 32 - 2
"""So many bytes of UTF-8 the shortest key can encrypt (RSA-OAEP with SHA-256): 318."""

ANSWERED: Mapping[str, CardField] = {
    "pan": "pan",
    "pin": "pin",
    "cvc2": "cvc2",
    "acs_password": "acs_password",
    "expiration": "expiry",
    "expiry_year": "expiry",
}
"""The members of answers that tell each; an expiry is told by a year and a month together."""
KEPT_SHORTLY = tuple(member for member, field in ANSWERED.items() if field != "expiry")
"""The members that an answer loses after a day."""
