"""The colours of the style sheets have sufficient contrast in light and dark mode."""

import re
from itertools import product
from pathlib import Path

import pytest

import chalicelib

_ROOM = Path(chalicelib.__file__).parent
_FAMILY = _ROOM / "foundation" / "http" / "static" / "family.css"
_SITES = {name: _ROOM / "demo_bank" / "static" / f"{name}.css" for name in ("one", "two")}
_PAIR = re.compile(r"--([a-z-]+): light-dark\((#[0-9a-f]+), (#[0-9a-f]+)\);")

TEXT, SHAPE = 4.5, 3.0
"""The minimum contrast of text and of shapes (WCAG 2.2, 1.4.3 and 1.4.11)."""
_GROUNDS = ("page", "surface", "sunken", "brand-tint", "note-tint")
PAIRS = (
    *product(("ink", "muted", "brand", "brand-strong"), _GROUNDS, (TEXT,)),
    *product(("good", "bad"), ("page", "surface", "sunken"), (TEXT,)),
    ("good", "good-tint", TEXT),
    ("bad", "bad-tint", TEXT),
    ("note", "note-tint", TEXT),
    ("on-brand", "brand", TEXT),
    ("on-brand", "brand-strong", TEXT),
    *product(("edge",), _GROUNDS, (SHAPE,)),
)
"""Tuples of a colour name, the name of the background colour, and the minimum contrast. Focus rings have the brand
colour.
"""


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("site", ["causeway", *_SITES])
def test_text_and_input_borders_have_sufficient_contrast(site: str, scheme: int) -> None:
    colours = _colours(_FAMILY) | (_colours(_SITES[site]) if site in _SITES else {})

    weak = [
        (name, ground)
        for name, ground, least in PAIRS
        if _contrast(colours[name][scheme], colours[ground][scheme]) < least
    ]

    assert not weak


def _colours(sheet: Path) -> dict[str, tuple[str, str]]:
    return {name: (light, dark) for name, light, dark in _PAIR.findall(sheet.read_text(encoding="utf-8"))}


def _contrast(one: str, other: str) -> float:
    darker, lighter = sorted((_luminance(one), _luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: str) -> float:
    """Return the relative luminance of ``#rgb`` or ``#rrggbb``, as WCAG 2.2 defines it."""
    digits = colour[1:] if len(colour) == 7 else "".join(digit * 2 for digit in colour[1:])
    red, green, blue = (int(digits[place : place + 2], 16) / 255 for place in (0, 2, 4))
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in (red, green, blue)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
