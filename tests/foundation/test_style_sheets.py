"""The style sheets use design tokens for colours, font sizes and spaces."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import chalicelib

_ROOM = Path(chalicelib.__file__).parent
SHEETS = sorted(_ROOM.rglob("static/*.css"))
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_DECLARATION = re.compile(r"(?<=[;{}])\s*(--)?([a-z-]+):\s*([^;{}]+);")
_COLOUR = re.compile(
    r"#[0-9a-f]{3,8}\b|\b(?:rgba?|hsla?|hwb|oklch|oklab|lch|lab|color|light-dark)\("
    r"|\b(?:black|white|red|green|blue|gr[ae]y|silver|orange|yellow|purple|navy|teal|maroon|olive|lime|aqua|fuchsia)\b",
    re.IGNORECASE,
)
_SIZE = re.compile(r"(?:var\(--text-[a-z0-9]+\)|inherit|clamp\(var\(--text-[a-z0-9]+\), .+, var\(--text-[a-z0-9]+\)\))")
_LENGTH = re.compile(r"(?<![\w.-])-?\d*\.?\d+(?:rem|px)\b")
_SPACES = re.compile(r"(?:margin|padding|gap|row-gap|column-gap)(?:-[a-z-]+)?")
_HAIR = 2.0
"""The largest width in pixels of a border or an outline offset that needs no design token."""


def declarations(css: str) -> Iterator[tuple[bool, str, str]]:
    for token, name, value in _DECLARATION.findall(_COMMENT.sub("", css)):
        yield bool(token), name, " ".join(value.split())


def faults(css: str) -> list[str]:
    found = []
    for is_token, name, value in declarations(css):
        if is_token:
            continue
        if _COLOUR.search(value):
            found.append(f"colour: {name}: {value}")
        if name == "font-size" and not _SIZE.fullmatch(value):
            found.append(f"size: {name}: {value}")
        if _SPACES.fullmatch(name) and any(_is_long(length) for length in _LENGTH.findall(value)):
            found.append(f"space: {name}: {value}")
    return found


def _is_long(length: str) -> bool:
    return length.endswith("rem") or abs(float(length.removesuffix("px"))) > _HAIR


@pytest.mark.parametrize("sheet", SHEETS, ids=lambda sheet: f"{sheet.parts[-3]}-{sheet.stem}")
def test_all_colours_sizes_and_spaces_in_style_sheets_are_design_tokens(sheet: Path) -> None:
    assert not faults(sheet.read_text("utf-8"))


@pytest.mark.parametrize(
    ("css", "fault"),
    [
        ("a { color: #fff; }", "colour"),
        ("a { border: 1px solid rgb(0 0 0 / 10%); }", "colour"),
        ("a { background: white; }", "colour"),
        ("@media print { a { color: Red; } }", "colour"),
        ("a { font-size: 0.9rem; }", "size"),
        ("a { padding: 0 7px; }", "space"),
        ("a { margin-top: 1rem; }", "space"),
    ],
)
def test_a_style_value_that_is_not_a_design_token_is_detected(css: str, fault: str) -> None:
    (found,) = faults(css)

    assert found.startswith(fault)


@pytest.mark.parametrize(
    "css",
    [
        ":root { --ink: #fff; --shade: rgb(0 0 0 / 10%); --text-sm: 0.875rem; }",
        "a { color: var(--ink); margin: 0 auto -1px; padding: var(--space-1) 0; white-space: pre; }",
        "/* #fff and 3rem */ a { font-size: var(--text-sm); width: 12rem; }",
    ],
)
def test_design_tokens_and_exempt_style_values_are_not_reported(css: str) -> None:
    assert faults(css) == []


def test_spaces_in_style_sheets_are_multiples_of_four_pixels() -> None:
    family = (_ROOM / "foundation" / "http" / "static" / "family.css").read_text("utf-8")
    spaces = dict(re.findall(r"--space-(\d+): ([\d.]+)rem;", family))

    assert len(spaces) == 12
    assert all(float(size) * 16 == 4 * int(step) for step, size in spaces.items())


def test_style_sheets_use_exactly_the_defined_design_tokens() -> None:
    named = {name for sheet in SHEETS for name in re.findall(r"(?<![\w-])--([\w-]+):", sheet.read_text("utf-8"))}
    used = {name for sheet in SHEETS for name in re.findall(r"var\(--([\w-]+)", sheet.read_text("utf-8"))}

    assert used <= named
    assert {name for name in named if not name.startswith("space-")} <= used
