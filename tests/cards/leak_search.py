"""The search for card data in stored and logged values.

Card numbers, PIN blocks and passwords are searched in every encoding. PINs, CVC2s and 3-D Secure values have few digits
and often match by chance. The search reports a short value only in two cases: the value follows its name, or one member
contains the current values of several cards so often that chance is improbable.
"""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import product
from typing import Any, Literal

Form = Literal["text", "squeezed", "upper"]
"""The form in which text is searched: unchanged, without spaces and hyphens between digits, or in upper case."""

FORMS = {
    "pan": re.compile("[0-9]{12,19}"),
    "pin": re.compile("[0-9]{4}"),
    "cvc2": re.compile("[0-9]{3}"),
    "acs_password": re.compile("(?s).{6,128}"),
    "validation_value": re.compile("[0-9]{6}"),
}
"""The patterns of plain-text fields. Masked and encrypted values do not match."""


@dataclass(frozen=True)
class Needle:
    """A text that must not occur in written values. If ``apart`` is true, only the whole word matches."""

    kind: str
    text: str
    form: Form = "text"
    apart: bool = False


@dataclass
class Seen:
    """The recorded card data by field. ``by_card`` maps each card to its numbers and PINs."""

    fields: dict[str, set[str]] = field(default_factory=lambda: {name: set() for name in FORMS})
    by_card: dict[object, tuple[set[str], set[str]]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return any(self.fields.values())

    def note(self, name: str, text: object, card: object = None) -> None:
        if name not in FORMS or not (isinstance(text, str) and FORMS[name].fullmatch(text)):
            return
        self.fields[name].add(text)
        if name in ("pan", "pin") and card is not None:
            self.by_card.setdefault(card, (set(), set()))[name == "pin"].add(text)

    def note_members(self, value: Any) -> None:
        if isinstance(value, list):
            for inner in value:
                self.note_members(inner)
        elif isinstance(value, dict):
            for name, inner in value.items():
                self.note(name.removeprefix("card_"), inner)
                self.note_members(inner)

    def needles(self) -> Iterator[Needle]:
        """Yield every value that can be searched directly. Short numbers are excluded, because short numbers match by
        chance.
        """
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
        for pans, pins in self.by_card.values():
            yield from product(pans, pins)

    def blocks(self) -> Iterator[str]:
        """Yield the PIN blocks without random digits: ISO 9564 formats 0 and 2, and format 4 before encryption."""
        for pan, pin in self.pairs():
            yield f"{int(f'04{pin}FFFFFFFFFF', 16) ^ account_part(pan):016X}"
        for pin in self.fields["pin"]:
            yield f"24{pin}FFFFFFFFFF"
            yield f"44{pin}AAAAAAAAAA"


def account_part(pan: str) -> int:
    """Return the account part of PIN block formats 0 and 3: the last twelve digits before the check digit."""
    return int(pan[-13:-1], 16)


def _encoded(kind: str, raw: bytes) -> Iterator[Needle]:
    yield Needle(kind, raw.hex().upper(), "upper")
    yield from _base64(kind, raw)


def _base64(kind: str, raw: bytes) -> Iterator[Needle]:
    """Yield the part of a text's base64 that is independent of the surrounding bytes, for three offsets."""
    for before in range(3):
        text = base64.b64encode(bytes(before) + raw)[: (before + len(raw)) * 4 // 3].decode()
        core = text[(0, 2, 3)[before] :]
        yield Needle(kind, core)
        if (safe := core.translate({43: "-", 47: "_"})) != core:
            yield Needle(kind, safe)


_NAMES = {
    "pan": re.compile("(.*_)?pan"),
    "pin": re.compile("(.*_)?pin"),
    "cvc2": re.compile("(.*_)?(cvc|cvv)2?"),
    "validation_value": re.compile("(.*_)?validation_value"),
}
"""The names of members that must not contain plain-text digits of any card."""
SAID = re.compile(
    r"(?i)(?<![a-z])(?:pin|cvc2?|cvv2?|validation[ _]value)(?![a-z])[^A-Za-z0-9\n]{1,6}([0-9]{3,6})(?![0-9])"
)
_SHORT = re.compile(r"(?<![0-9A-Za-z])(?<![0-9]\.)[0-9]{3,6}(?![0-9A-Za-z])(?!\.[0-9])")
_ISO_1 = re.compile("(?<![0-9A-F])14([0-9]{4})[0-9A-F]{10}(?![0-9A-F])")
_ISO_3 = re.compile("(?=(34[0-9A-F]{14}))")
_FILLING = frozenset("ABCDEF")
_LENGTHS_OF = {"pin": 4, "cvc2": 3, "validation_value": 6}
_SEPARATOR = re.compile("(?<=[0-9])[ -](?=[0-9])")
_TYPES = frozenset({"S", "N", "B", "BOOL", "M", "L", "SS", "NS", "BS", "NULL"})
_SENTENCE = 200
_LONG = 12
_LENGTHS = range(12, 20)

NO_CHANCE = 1e-7
"""The probability below which repeated matches are not regarded as coincidences."""
FEW = 10
"""The number of PINs above which random digits are likely to contain a PIN."""
MANY = 100
"""The number of cards above which encoded data are not searched, because the search takes time for each card."""


@dataclass(frozen=True, order=True)
class Leak:
    """The kind and place of readable card data, without the value."""

    kind: str
    place: str

    def __str__(self) -> str:
        return f"a {self.kind} in clear at {self.place}"


class Written:
    """Written values with their places. A place is the path of member names that leads to a value."""

    def __init__(self) -> None:
        self.pieces: list[tuple[str, str]] = []
        self.named: list[Leak] = []

    def add(self, place: str, value: Any) -> None:
        if isinstance(value, str):  # the most frequent
            self._text(place, value)
        elif isinstance(value, dict):
            for name, inner in value.items():
                if name in _TYPES and len(value) == 1:
                    self.add(place, inner)
                    return
                self.add(f"{place}.{name}", inner)
                if len(name) >= _LONG:
                    self.pieces.append((place, name))
        elif isinstance(value, list | tuple | set | frozenset):
            for inner in value:
                self.add(place, inner)
        elif isinstance(value, bytes):
            self._text(place, value.decode("latin-1"))
            self.pieces.append((place, value.hex()))
        elif value is not None and not isinstance(value, bool):
            self._text(place, str(value))

    def _text(self, place: str, text: str) -> None:
        self.pieces.append((place, text))
        if text.startswith(("{", "[")):
            try:
                self.add(f"{place}{{}}", json.loads(text))
            except (ValueError, RecursionError):
                return
        elif len(text) < 20 and text.isdigit():
            kinds = _kinds_called(place.rpartition(".")[2])
            self.named += [Leak(kind, place) for kind in kinds if FORMS[kind].fullmatch(text)]

    @cached_property
    def whole(self) -> dict[Form, str]:
        text = "\n".join(text for _, text in self.pieces)
        return {form: look(text) for form, look in _LOOKS.items()}


@cache
def _kinds_called(name: str) -> list[str]:
    return [kind for kind, pattern in _NAMES.items() if pattern.fullmatch(name.lower())]


_LOOKS: dict[Form, Callable[[str], str]] = {
    "text": str,
    "squeezed": lambda text: _SEPARATOR.sub("", text),
    "upper": str.upper,
}


@dataclass
class Coincidences:
    """The actual and the expected number of current PINs or CVC2s at each place of written data."""

    _counts: dict[tuple[str, str], _Count] = field(default_factory=dict)

    def leaks(self, written: Written, seen: Seen) -> list[Leak]:
        """Add the matches of a further search. Return the places that are now certain to be leaks."""
        found = []
        for kind, length in _LENGTHS_OF.items():
            values = seen.fields[kind]
            for place, number in set(_short_numbers(written, length)) if values else ():
                count = self._counts.setdefault((kind, place), _Count())
                count.expected += len(values) / 10**length
                if number in values and number not in count.values:
                    count.values.add(number)
                    if count.chance < NO_CHANCE:
                        found.append(Leak(kind, place))
        return found


@dataclass
class _Count:
    """The expected and the actual matches at one place. ``values`` are the distinct PINs or CVC2s that were found."""

    expected: float = 0
    values: set[str] = field(default_factory=set)

    @property
    def chance(self) -> float:
        """Return an upper bound (Chernoff bound) for the probability that all matches at a place occur by chance."""
        met = len(self.values)
        if met <= self.expected:
            return 1
        return math.exp(-self.expected) * (math.e * self.expected / met) ** met


def _short_numbers(written: Written, length: int) -> Iterator[tuple[str, str]]:
    for place, text in written.pieces:
        if len(text) == length and text.isdigit():
            yield place, text
        elif length < len(text) <= _SENTENCE:
            for found in _SHORT.finditer(text):
                if found.end() - found.start() == length:
                    yield f"{place}: {_SHORT.sub('#', text[: found.end()])}", found[0]


def leaks(written: Written, seen: Seen) -> list[Leak]:
    needles = seen.needles() if len(seen.fields["pan"]) <= MANY else _likely(written, seen)
    found = {*written.named, *_said(written, seen), *_random_blocks(written, seen), *_found(written, needles)}
    return sorted(found)


def _likely(written: Written, seen: Seen) -> Iterator[Needle]:
    """Search the data of a large number of cards together. Encoded data are excluded."""
    runs = set(re.findall("[0-9]{12,}", written.whole["squeezed"]))
    numbers = {run[start : start + length] for run in runs for length in _LENGTHS for start in range(len(run))}
    words = set(re.findall(r"\w+", written.whole["text"]))
    blocks = {word[:16].upper() for word in words if len(word) >= 16}
    yield from (Needle("card number", pan, "squeezed") for pan in seen.fields["pan"] & numbers)
    yield from (Needle("PIN block", block, "upper") for block in blocks.intersection(seen.blocks()))
    for password in seen.fields["acs_password"]:
        if password in words or not password.isalnum():
            yield Needle("ACS password", password, apart=True)


def _found(written: Written, needles: Iterable[Needle]) -> Iterator[Leak]:
    for needle in needles:
        if needle.text in written.whole[needle.form]:
            yield from (Leak(needle.kind, place) for place, text in written.pieces if _stands(needle, text))


def _stands(needle: Needle, text: str) -> bool:
    looked_at = _LOOKS[needle.form](text)
    if needle.apart:
        return re.search(rf"(?<!\w){re.escape(needle.text)}(?!\w)", looked_at) is not None
    return needle.text in looked_at


def _said(written: Written, seen: Seen) -> Iterator[Leak]:
    """Find short numbers that follow a name such as PIN in a sentence."""
    for kind in _LENGTHS_OF:
        values = seen.fields[kind]
        if values and not values.isdisjoint(SAID.findall(written.whole["text"])):
            yield from (Leak(kind, place) for place, text in written.pieces if values & set(SAID.findall(text)))


def _random_blocks(written: Written, seen: Seen) -> Iterator[Leak]:
    """Find PIN blocks in the ISO 9564 formats 1 and 3, which contain random digits."""
    pins = seen.fields["pin"]
    if not pins:
        return
    found = set(_iso_3_blocks(written.whole["upper"], seen.pairs()))
    if len(pins) <= FEW:
        found |= {match[0] for match in _ISO_1.finditer(written.whole["upper"]) if match[1] in pins}
    yield from (Leak("PIN block", place) for place, text in written.pieces for block in found if block in text.upper())


def _iso_3_blocks(text: str, pairs: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Find format 3 blocks in a text. A format 3 block begins with the first two digits of the PIN in plain text."""
    cards: dict[str, list[tuple[int, str]]] = {}
    for pan, pin in pairs:
        cards.setdefault(f"34{pin[:2]}", []).append((account_part(pan), pin[2:]))
    for block in set(_ISO_3.findall(text)):
        number = int(block[4:], 16)
        for part, rest in cards.get(block[:4], ()):
            clear = f"{number ^ part:012X}"
            if clear.startswith(rest) and _FILLING.issuperset(clear[2:]):
                yield block
