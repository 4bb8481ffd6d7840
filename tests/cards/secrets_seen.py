"""Card data that went by in clear, and every form in which they could be read somewhere else."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import Any, Literal

Form = Literal["text", "squeezed", "upper"]
"""How what was written is looked at: as it is, without the spaces and hyphens among digits, or in capitals."""

FORMS = {
    "pan": re.compile("[0-9]{12,19}"),
    "pin": re.compile("[0-9]{4}"),
    "cvc2": re.compile("[0-9]{3}"),
    "acs_password": re.compile("(?s).{6,128}"),
    "validation_value": re.compile("[0-9]{6}"),
}
"""What the fields look like in clear; neither masked nor encrypted values do."""


@dataclass(frozen=True)
class Needle:
    """A text that must not stand anywhere; with ``apart`` it counts as a word only, not as a part of one."""

    kind: str
    text: str
    form: Form = "text"
    apart: bool = False


@dataclass
class Seen:
    """Card data by field; ``by_card`` has the numbers and PINs that belong together."""

    fields: dict[str, set[str]] = field(default_factory=lambda: {name: set() for name in FORMS})
    by_card: dict[object, tuple[set[str], set[str]]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return any(self.fields.values())

    def note(self, name: str, text: object, card: object = None) -> None:
        """``text`` is this field of a card; ``card`` says of which, where that is known."""
        if name not in FORMS or not (isinstance(text, str) and FORMS[name].fullmatch(text)):
            return
        self.fields[name].add(text)
        if name in ("pan", "pin") and card is not None:
            self.by_card.setdefault(card, (set(), set()))[name == "pin"].add(text)

    def note_members(self, value: Any) -> None:
        """Note what a decoded request or answer has, at whatever depth."""
        if isinstance(value, list):
            for inner in value:
                self.note_members(inner)
        elif isinstance(value, dict):
            for name, inner in value.items():
                self.note(name.removeprefix("card_"), inner)
                self.note_members(inner)

    def needles(self) -> Iterator[Needle]:
        """Everything that can be searched for as it stands. Short numbers cannot: three digits stand anywhere."""
        for pan in self.fields["pan"]:
            yield Needle("card number", pan, "squeezed")
            yield from _encoded("card number", pan.encode())
        for password in self.fields["acs_password"]:
            for text in {password, json.dumps(password)[1:-1]}:
                yield Needle("ACS password", text, apart=True)
            yield from _encoded("ACS password", password.encode())
        for block in self.blocks():
            yield Needle("PIN block", block, "upper")
            yield from _base64("PIN block", bytes.fromhex(block))

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Card numbers with their cards' PINs."""
        for pans, pins in self.by_card.values():
            yield from product(pans, pins)

    def blocks(self) -> Iterator[str]:
        """The PIN blocks without random digits: formats 0, 2 and 4 (the last before it is enciphered) of ISO 9564."""
        for pan, pin in self.pairs():
            yield f"{int(f'04{pin}FFFFFFFFFF', 16) ^ account_part(pan):016X}"
        for pin in self.fields["pin"]:
            yield f"24{pin}FFFFFFFFFF"
            yield f"44{pin}AAAAAAAAAA"


def account_part(pan: str) -> int:
    """What formats 0 and 3 combine the PIN with: the last twelve digits of the number before its check digit."""
    return int(pan[-13:-1], 16)


def _encoded(kind: str, raw: bytes) -> Iterator[Needle]:
    yield Needle(kind, raw.hex().upper(), "upper")
    yield from _base64(kind, raw)


def _base64(kind: str, raw: bytes) -> Iterator[Needle]:
    """What of a text's base64 is the same whatever stands before and after it, for each of three places to begin."""
    for before in range(3):
        text = base64.b64encode(bytes(before) + raw)[: (before + len(raw)) * 4 // 3].decode()
        core = text[(0, 2, 3)[before] :]
        yield Needle(kind, core)
        if (safe := core.translate({43: "-", 47: "_"})) != core:
            yield Needle(kind, safe)
