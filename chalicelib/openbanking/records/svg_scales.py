"""Computes the scale at which an SVG document's transforms and view boxes enlarge its drawing.

A browser takes minutes to draw a single curve that is some million pixels wide. Nested and referenced scales multiply,
so small factors can also reach this size. Each computed factor is an upper bound. Unknown syntax counts as infinite.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping

FARTHEST_RATIO = 2_000
"""The maximum extent of a drawing as a multiple of the logo's size. A logo displayed at 1,000 pixels may extend to
2,000,000 pixels.
"""
_SIZES = frozenset(("width", "height", "inline-size", "block-size", "markerWidth", "markerHeight"))
_EXTENTS = _SIZES | {"d", "points", "x", "y", "r", "rx", "ry", "cx", "cy", "x1", "y1", "x2", "y2"}
_NUMBER = re.compile(r"[-+]?(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
_ROUND_ARC = re.compile(rf"[aA]\s*({_NUMBER.pattern})[\s,]+\1[\s,]+0[\s,]+0(?=[\s,01])")
"""The beginning of a circular arc of at most 180 degrees. Its extent depends on the distance of its ends, not on its
radius.
"""
_LENGTH = re.compile(rf"({_NUMBER.pattern})(%|[a-zA-Z]*)")
_ABSOLUTE_UNITS = frozenset(("pt", "pc", "mm", "cm", "in", "q"))
_FONT_SIZE = 10_000
"""The maximum font size in browsers, in pixels. Lengths can be relative to the font size."""
_FUNCTION = re.compile(r"(?<![\w-])([\w-]+)\s*\(([^()]*)\)")
_USUAL_NUMBER = re.compile(r"[-+]?(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][-+]?[0-9])?(?![0-9])")
"""A number that is not too large or too small for any browser."""
_VALID = r"(?:(?:scale|translate)\(n(?:[ ,]?n)?\)|rotate\(n(?:[ ,]?n[ ,]?n)?\)|skew[XY]\(n\)|matrix\(n(?:[ ,]?n){5}\))"
_VALID_TRANSFORMS = re.compile(f"{_VALID}(?:,?{_VALID})*")
_VALID_VIEW_BOX = re.compile(r"n[ ,]n[ ,]n[ ,]n")
_REDUCIBLE = frozenset(("g", "use", "path", "rect", "circle", "ellipse", "line", "polyline", "polygon", "text"))
"""Elements to which every browser applies ``transform``."""
_DEFAULT_SIZE = 150.0
"""The height in pixels of a document that does not specify a height."""


class Lengths:
    """The largest lengths of a document, which can determine the size of a view box or a marker."""

    def __init__(self) -> None:
        self._size = 2 * _DEFAULT_SIZE
        self._percent = 100.0
        self.stroke_width = 1.0
        self.styled = 0.0
        """The largest extent that a style sheet sets."""
        self.may_replace_transforms = False
        """Whether a style can replace a ``transform`` attribute that reduces an element."""

    def add(self, declarations: Iterable[tuple[str, str]]) -> None:
        """Add the lengths in attributes or in style declarations."""
        for name, value in declarations:
            if name in _SIZES:
                percent = (float(number) for number, unit in _LENGTH.findall(value) if unit == "%")
                self._size = max(self._size, _largest_length(name, value))
                self._percent = max(self._percent, *percent, 0)
            elif name == "viewBox":
                self._size = max(self._size, *map(abs, _numbers(value)), 0)
            elif name == "stroke-width":
                self.stroke_width = max(self.stroke_width, _largest_length(name, value))

    def add_styles(self, declarations: Collection[tuple[str, str]]) -> None:
        """Add the declarations of an element's ``style``."""
        self.add(declarations)
        replacing = (name == "all" or name.endswith("transform") for name, _ in declarations)
        self.may_replace_transforms = self.may_replace_transforms or any(replacing)

    def add_style_sheet(self, declarations: Collection[tuple[str, str]]) -> None:
        """Add the declarations of a style sheet, which may apply to every element."""
        self.add_styles(declarations)
        self.styled = max(self.styled, read_extent(declarations))

    def scale(self, name: str, view_box: float | None) -> float:
        """Return the factor by which an element enlarges its content: to the element's size, and for a marker also with
        the line's width.
        """
        filled = 1.0
        if view_box is not None:
            filled = max(1.0, self._size * self._percent / 100 / view_box) if view_box else math.inf
        return filled * self.stroke_width if name == "marker" else filled


def read_extent(declarations: Iterable[tuple[str, str]]) -> float:
    """Return the largest coordinate or length in an element's attributes or styles."""
    return max((_largest_length(name, value) for name, value in declarations if name in _EXTENTS), default=0.0)


def read_view_box(attributes: Mapping[str, str]) -> float | None:
    """Return the smaller side of an element's view box, 0 for a possibly invalid view box, or ``None`` without one."""
    text = attributes.get("viewBox", "").strip()
    if not text:
        return None
    is_valid = _VALID_VIEW_BOX.fullmatch(_normalize(text))
    return max(0.0, min(_numbers(text)[2:])) if is_valid else 0.0


def read_document_size(attributes: Mapping[str, str]) -> float:
    """Return the smaller side of the document, or 0 if its unit is relative to a font."""
    if (view_box := read_view_box(attributes)) is not None:
        return view_box
    found = [length for name in ("width", "height") for length in _LENGTH.findall(attributes.get(name, ""))]
    sides = (float(number) if _pixels(unit) < _FONT_SIZE else 0.0 for number, unit in found)
    return min(sides, default=_DEFAULT_SIZE)


def read_scale(name: str, attributes: Mapping[str, str]) -> float:
    """Return the factor by which an element's transforms and units enlarge or reduce its content."""
    if _in_bounding_boxes(name, attributes):
        return math.inf
    pattern = _stretches(attributes.get("patternTransform", ""))
    transform = attributes.get("transform", "")
    is_certain = name in _REDUCIBLE and _VALID_TRANSFORMS.fullmatch(_normalize(transform))
    least = 0.0 if is_certain else 1.0
    return math.prod(max(least, each) for each in _stretches(transform)) * math.prod(max(1.0, each) for each in pattern)


def _stretches(transform: str) -> list[float]:
    return [_stretch(*function) for function in _FUNCTION.findall(transform)]


def _stretch(name: str, arguments: str) -> float:
    """Return the largest factor by which a transform changes a distance: the largest singular value of the transform's
    matrix.
    """
    numbers = _numbers(arguments)
    if name in ("translate", "rotate"):
        return 1.0
    if name == "scale" and numbers:
        return max(map(abs, numbers))
    if name in ("skewX", "skewY") and len(numbers) == 1:
        return 1 + abs(math.tan(math.radians(numbers[0])))
    if name == "matrix" and len(numbers) == 6:
        a, b, c, d, _, _ = numbers
        return (math.hypot(a + d, b - c) + math.hypot(a - d, b + c)) / 2
    return math.inf


def _in_bounding_boxes(name: str, attributes: Mapping[str, str]) -> bool:
    """Whether the content is scaled to the size of the element that refers to it."""
    units = [attributes.get(each) for each in ("patternUnits", "patternContentUnits", "maskContentUnits")]
    is_relative = name == "pattern" and "viewBox" in attributes and units[0] != "userSpaceOnUse"
    return is_relative or "objectBoundingBox" in units


def _normalize(text: str) -> str:
    """Return ``text`` with ``n`` for each number, and without unnecessary white space."""
    spaced = re.sub(r"[ \t\r\n]+", " ", _USUAL_NUMBER.sub("n", text.strip()))
    return re.sub(" ?([(),]) ?", r"\1", spaced)


def _largest_length(name: str, value: str) -> float:
    """Return the largest length in pixels. A percentage counts as its number without the sign, and a function as
    infinite.
    """
    if "(" in value:
        return math.inf
    if name in ("d", "points"):
        return max(map(abs, _numbers(_ROUND_ARC.sub(" ", value))), default=0.0)
    return max((abs(float(number)) * _pixels(unit) for number, unit in _LENGTH.findall(value)), default=0.0)


def _pixels(unit: str) -> float:
    if unit.lower() in ("", "px", "%"):
        return 1
    return 96 if unit.lower() in _ABSOLUTE_UNITS else _FONT_SIZE


def _numbers(text: str) -> list[float]:
    return [float(each) for each in _NUMBER.findall(text)]
