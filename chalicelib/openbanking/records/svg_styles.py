"""Finds the references in an SVG document's attributes, ``style`` attributes and style sheets."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from urllib.parse import unquote

from chalicelib.foundation.lazy_dataclasses import dataclass

NUMBER = re.compile(r"[0-9]*\.?[0-9]+(?:[eE][-+]?[0-9]+)?|[zZ]")
"""A pattern for a coordinate of a path. It also matches the command that closes a path, which adds a vertex."""
_NOT_INHERITED = frozenset(("mask", "mask-image", "-webkit-mask", "-webkit-mask-image", "clip-path", "filter"))
_UNLAYERED: Mapping[str, frozenset[str]] = {
    "opacity": frozenset(("1", "1.0", "100%")),
    "mix-blend-mode": frozenset(("normal",)),
    "isolation": frozenset(("auto",)),
}
"""Properties that draw an element as a separate layer, each with the values that do not."""
_REFERENCE = re.compile(r"url\(\s*+['\"]?\s*+#([^'\")]*)", re.IGNORECASE)
_RULE = re.compile(r"(?<![^{}@])([^{}@]++)\{([^{}]*)\}")
_CLASSES = re.compile(r"\s*\.[\w-]+\s*(?:,\s*\.[\w-]+\s*)*")
_TOKEN = re.compile(
    r"(?P<url>url\(\s*[^'\"()\s]*)|(?P<comment>/\*.*?(?:\*/|\Z))|\"[^\"\n]*\"|'[^'\n]*'", re.DOTALL | re.IGNORECASE
)
"""A pattern for text that CSS reads as a single token, whatever its content: a URL, a comment or a string."""
_PUNCTUATION = str.maketrans("{};:@", "     ")
_EVERY = "*"
_FUNCTIONS = frozenset(
    (
        *("url", "var", "calc", "min", "max", "clamp", "path", "circle", "ellipse", "inset", "polygon", "rect"),
        *("rgb", "rgba", "hsl", "hsla", "hwb", "lab", "lch", "oklab", "oklch", "color", "color-mix", "local", "format"),
        *("rotate", "translate", "translatex", "translatey", "not", "is", "where", "nth-child", "nth-of-type", "lang"),
    )
)
"""The allowed functions in styles. They do not draw, unlike filter functions and images, and do not enlarge elements.
"""
_FUNCTION = re.compile(r"(?<![\w-])([\w-]+)\(")
_SIBLINGS = re.compile(r"~(?!=)")
"""The sibling combinator, for which browsers may compare every element with every other element, repeatedly."""
_FILTERS = frozenset(("filter", "-webkit-filter", "backdrop-filter", "-webkit-backdrop-filter"))
_REFUSED: Mapping[str, str] = {
    "stroke-dasharray": "dashes",
    "text-shadow": "shadows of text",
    "box-shadow": "shadows of boxes",
    "scale": "scales in styles",
    "zoom": "scales in styles",
}
_UNSET = frozenset(("", "0", "0px", "none", "inherit", "initial", "unset"))
_FARTHEST = 1_000_000
_PLAIN_NUMBER = re.compile(r"(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
_GEOMETRY = frozenset(
    (
        *("d", "points", "x", "y", "width", "height", "r", "rx", "ry", "cx", "cy", "x1", "y1", "x2", "y2", "dx", "dy"),
        *("transform", "patternTransform", "gradientTransform", "viewBox", "stroke-width", "font-size", "textLength"),
        *("markerWidth", "markerHeight", "refX", "refY", "stdDeviation", "fx", "fy", "fr"),
    )
)
"""Attributes with coordinates and lengths."""
_NAME = re.compile(r"#[\w-]+")
"""A pattern for a colour or an id, in which digits are not coordinates."""
_FEW_OCTAVES = re.compile(r"\s*(?:[0-9]|10)\s*")


def unite(one: frozenset[str], other: frozenset[str]) -> frozenset[str]:
    """Return the union of two sets. If one set contains the other, return the larger set without a copy, because
    thousands of elements can share this set.
    """
    if one is other or other <= one:
        return one
    return one | other if one else other


@dataclass(frozen=True, slots=True)
class Style:
    """The references of style declarations.

    Attributes:
        applied: the ids of resources applied to the element itself.
        inherited: the ids of resources that paint the element and all its descendants.
        has_layer: whether the element is drawn as a separate layer.
    """

    applied: frozenset[str] = frozenset()
    inherited: frozenset[str] = frozenset()
    has_layer: bool = False

    def __or__(self, other: Style) -> Style:
        applied, inherited = unite(self.applied, other.applied), unite(self.inherited, other.inherited)
        return Style(applied, inherited, self.has_layer or other.has_layer)

    def restricted_to(self, ids: Set[str]) -> Style:
        """Return the style with only the references to ``ids``."""
        return Style(self.applied & ids, self.inherited & ids, self.has_layer)


def find_unaffordable(attributes: Mapping[str, str]) -> str | None:
    """Return the part of an element's attributes that may cost a browser unlimited time, or ``None``."""
    named = [(name, value) for name, value in attributes.items() if " " not in name]
    if any(name == "numOctaves" and not _FEW_OCTAVES.fullmatch(value) for name, value in named):
        return "more than 10 octaves of turbulence"
    if any(name in _GEOMETRY and _has_far_coordinates(value) for name, value in named):
        return f"coordinates beyond {_FARTHEST:,}"
    return _find_refused(named) or find_unaffordable_style(attributes.get("style", ""))


def find_unaffordable_style(text: str) -> str | None:
    """Return the part of a style sheet or ``style`` that may cost a browser unlimited time, or ``None``."""
    text = _TOKEN.sub(_simplify, text)
    if "keyframes" in text.lower():
        return "animations"
    if _SIBLINGS.search(text):
        return "selectors of siblings"
    if _has_far_coordinates(text):
        return f"coordinates beyond {_FARTHEST:,}"
    unknown = {name.lower() for name in _FUNCTION.findall(text)} - _FUNCTIONS
    return f"the function {min(unknown)[:32]}" if unknown else _find_refused(_split(text))


def _has_far_coordinates(text: str) -> bool:
    """Whether a number in ``text`` is so large that browsers draw a single curve for a long time."""
    return any(float(each) > _FARTHEST for each in _PLAIN_NUMBER.findall(_NAME.sub("", text)))


def _find_refused(declarations: Iterable[tuple[str, str]]) -> str | None:
    for name, value in declarations:
        if name in _REFUSED and value.lower().replace("!important", "").strip() not in _UNSET:
            return _REFUSED[name]
        if name in _FILTERS and _FUNCTION.search(_REFERENCE.sub("", value)):
            return "filter functions"
        if (name in _NOT_INHERITED or name == "all") and "inherit" in value.lower():
            return f"an inherited {name}"
        if name.startswith("--") and "url(" in value.lower():
            return "references in variables"
    return None


class StyleSheets:
    """The rules of a document's style sheets, by the classes to which they apply."""

    def __init__(self) -> None:
        self._by_class: dict[str, Style] = {}
        self.numbers = 0
        """The number of coordinates of paths in the style sheets."""

    def add(self, text: str) -> None:
        """Add a style sheet. A rule applies to every element unless all selectors of the rule are classes."""
        text = _TOKEN.sub(_simplify, text)
        if "path(" in text.lower():
            self.numbers += len(NUMBER.findall(text))
        self._add_declarations([_EVERY], _RULE.sub(self._add_rule, text))

    def restrict_to(self, ids: Set[str]) -> None:
        """Remove all references except those to ``ids``."""
        self._by_class = {name: style.restricted_to(ids) for name, style in self._by_class.items()}

    def find(self, classes: Sequence[str]) -> Style:
        """Return the references in the rules for an element with these classes."""
        found = Style()
        for name in (_EVERY, *classes) if self._by_class else ():
            found |= self._by_class.get(name, Style())
        return found

    def _add_rule(self, rule: re.Match[str]) -> str:
        selectors, declarations = rule.groups()
        names = re.findall(r"[\w-]+", selectors) if _CLASSES.fullmatch(selectors) else [_EVERY]
        self._add_declarations(names, declarations)
        return " "

    def _add_declarations(self, names: Iterable[str], text: str) -> None:
        style = _read_style(_split(text))
        for name in names if style != Style() else ():
            self._by_class[name] = self._by_class.get(name, Style()) | style


def read_attributes(attributes: Mapping[str, str]) -> Style:
    """Return the references in an element's attributes, except ``href``."""
    named = [(name, value) for name, value in attributes.items() if " " not in name]
    return _read_style([*named, *read_declarations(attributes.get("style", ""))])


def read_declarations(text: str) -> Iterator[tuple[str, str]]:
    """Return the declarations in a style sheet or a ``style``, by lower-case name."""
    return _split(_TOKEN.sub(_simplify, text))


def read_targets(reference: str) -> frozenset[str]:
    """Return the ids to which ``#id`` may refer: the literal id and the decoded id."""
    written = reference.strip()[1:]
    return frozenset((written, unquote(written)))


def local_name(name: str) -> str:
    """Return a name without its namespace. In ``name``, a space follows the namespace."""
    return name.rpartition(" ")[2]


def _simplify(token: re.Match[str]) -> str:
    """Remove comments. From strings, remove the quotation marks and the characters that would end a declaration or
    rule.
    """
    if token["url"]:
        return token[0]
    return " " if token["comment"] else token[0][1:-1].translate(_PUNCTUATION)


def _split(text: str) -> Iterator[tuple[str, str]]:
    """Return the declarations in CSS text, or in the part of a style sheet that is outside its rules."""
    for declaration in re.split("[;{}]", text):
        name, _, value = declaration.partition(":")
        yield name.strip().lower(), value


def _read_style(declarations: Iterable[tuple[str, str]]) -> Style:
    applied, inherited, has_layer = set[str](), set[str](), False
    for name, value in declarations:
        targets = {target for found in _REFERENCE.findall(value) for target in read_targets(f"#{found}")}
        (applied if name in _NOT_INHERITED else inherited).update(targets)
        plain = _UNLAYERED.get(name)
        has_layer = has_layer or (plain is not None and value.strip().lower() not in plain)
    return Style(frozenset(applied), frozenset(inherited), has_layer)
