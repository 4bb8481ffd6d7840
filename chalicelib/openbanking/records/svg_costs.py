"""The cost of drawing an SVG document, computed without drawing the document.

A document of a few kilobytes can keep a browser busy for hours. An element is drawn with everything that it refers to
(``use``, patterns, masks, clip paths, markers, filters, gradients), nested references multiply the cost, and inherited
references are drawn with every descendant. The computation follows these references, and ends when the cost exceeds the
limit. The cost of an ambiguous document is overestimated rather than underestimated.
"""

from __future__ import annotations

from collections.abc import Mapping

from chalicelib.openbanking.records.svg_scales import (
    FARTHEST_RATIO,
    Lengths,
    read_document_size,
    read_extent,
    read_scale,
    read_view_box,
)
from chalicelib.openbanking.records.svg_styles import (
    NUMBER,
    Style,
    StyleSheets,
    local_name,
    read_attributes,
    read_declarations,
    read_targets,
    unite,
)

MOST_COST = 3_000_000
"""The maximum cost of a logo. A plain element costs 100. Chromium draws 30,000 plain elements within seconds."""
MOST_DEPTH = 200
"""The maximum nesting depth of elements."""
_LEAST, _PLAIN = 10, 100
_COSTS: Mapping[str, int] = {
    **dict.fromkeys(("linearGradient", "radialGradient", "stop"), _LEAST),
    "mask": 3_000,  # a picture of its own
    "pattern": 30_000,  # a picture of its own, which can be much larger than the logo
}
_LAYER = 3_000
"""The cost of an element that is drawn as a separate layer and then blended with the background."""
_PRIMITIVE = 30_000
"""The cost of a filter primitive, which computes every pixel of the filtered element."""
_DETAIL = 20
"""The cost of each coordinate and each character."""
_RESOURCES = frozenset(
    ("defs", "symbol", "linearGradient", "radialGradient", "pattern", "clipPath", "mask", "marker", "filter")
)
"""Elements that are drawn at the position of a reference, not at their own position."""
_TEXTS = frozenset(("text", "tspan", "textPath"))
_PAINTED = _TEXTS | {"path", "rect", "circle", "ellipse", "line", "polyline", "polygon"}
"""Elements that are painted with inherited paints and markers."""


class _Element:
    """An element: its own cost, its children and its references."""

    __slots__ = (
        "children",
        "classes",
        "details",
        "extent",
        "inherited",
        "name",
        "outer",
        "scale",
        "style",
        "styles",
        "used",
        "view_box",
    )

    def __init__(self, name: str, attributes: Mapping[str, str], outer: _Element | None) -> None:
        self.name = name
        self.outer = outer
        self.children: list[_Element] = []
        self.classes = attributes.get("class", "").split()
        self.details = sum(len(NUMBER.findall(attributes.get(each, ""))) for each in ("d", "points", "style"))
        self.style = read_attributes(attributes)
        self.styles = list(read_declarations(attributes.get("style", "")))
        self.extent = read_extent([*attributes.items(), *self.styles]) if name in _PAINTED else 0.0
        self.scale = read_scale(name, attributes)
        self.view_box = read_view_box(attributes)
        self.used = frozenset[str]()
        self.inherited = frozenset[str]()
        hrefs = (read_targets(value) for key, value in attributes.items() if local_name(key) == "href")
        targets = frozenset[str]().union(*hrefs)
        if name == "use":
            self.used = targets
        else:
            self.style |= Style(applied=targets)

    @property
    def cost(self) -> int:
        own = _PRIMITIVE if self.name.startswith("fe") else _COSTS.get(self.name, _PLAIN)
        return own + _DETAIL * self.details + (_LAYER if self.style.has_layer else 0)


class Drawing:
    """A document's elements and style sheets, in the order in which they are added."""

    def __init__(self) -> None:
        self.elements: list[_Element] = []
        self._open: list[_Element] = []
        self.by_id: dict[str, _Element] = {}
        self._sheets = StyleSheets()
        self._lengths = Lengths()
        self._size = 1.0
        self.has_far_coordinates = False
        """Whether ``is_affordable`` found an element that extends beyond ``FARTHEST_RATIO`` times the document's size.
        """

    def open(self, name: str, attributes: Mapping[str, str]) -> None:
        element = _Element(name, attributes, self._open[-1] if self._open else None)
        if element.outer is not None:
            element.outer.children.append(element)
        else:
            self._size, element.view_box = read_document_size(attributes), None
        self._lengths.add(attributes.items())
        self._lengths.add_styles(element.styles)
        if (identifier := attributes.get("id")) is not None:
            self.by_id.setdefault(identifier, element)
        self.elements.append(element)
        self._open.append(element)

    def close(self) -> None:
        self._open.pop()

    @property
    def depth(self) -> int:
        """The number of open elements."""
        return len(self._open)

    def add_text(self, text: str) -> None:
        """Add text to the open element."""
        if self._open and self._open[-1].name in _TEXTS:
            self._open[-1].details += len(text)

    def add_style_sheet(self, text: str) -> None:
        self._sheets.add(text)
        self._lengths.add_style_sheet(list(read_declarations(text)))

    def is_affordable(self) -> bool:
        """Whether drawing the document costs at most ``MOST_COST``. An element that refers to itself has an unlimited
        cost.
        """
        self._resolve_styles()
        cost = 0
        waiting = [(self.elements[0], frozenset[str](), 1, 1.0)]
        while waiting and cost + _LEAST * len(waiting) <= MOST_COST:
            element, inherited, times, outer_scale = waiting.pop()
            cost += times * element.cost
            scale = outer_scale * self._scale(element)
            self.has_far_coordinates = self.has_far_coordinates or self._is_far(element, scale)
            waiting += self._drawn_with(element, inherited, times, scale)
        return not waiting and cost <= MOST_COST

    def _scale(self, element: _Element) -> float:
        own = max(1.0, element.scale) if self._lengths.may_replace_transforms else element.scale
        return own * self._lengths.scale(element.name, element.view_box)

    def _is_far(self, element: _Element, scale: float) -> bool:
        """Whether an element extends beyond ``FARTHEST_RATIO`` times the document's size. ``scale`` includes the
        element's own scale.
        """
        if element.name not in _PAINTED:
            return False
        extent = max(element.extent, self._lengths.styled, self._lengths.stroke_width)
        return scale * extent > FARTHEST_RATIO * self._size

    def _resolve_styles(self) -> None:
        """Add the declarations of style sheets and the inherited declarations to each element.

        References to missing elements cost nothing and are removed, so the time for counting is limited by the cost.
        """
        ids = frozenset(self.by_id)
        self._sheets.restrict_to(ids)
        for element in self.elements:
            element.style = element.style.restricted_to(ids) | self._sheets.find(element.classes)
            if element.outer is not None:
                element.inherited = unite(element.outer.inherited, element.outer.style.inherited)

    def _drawn_with(
        self, element: _Element, inherited: frozenset[str], times: int, scale: float
    ) -> list[tuple[_Element, frozenset[str], int, float]]:
        """Return the elements that are drawn with an element: its children, the elements that it uses, and its
        references.

        A resource inherits from its own position, not from the element that refers to it.
        """
        style = element.style
        below = unite(inherited, style.inherited)
        drawn = [(child, below, times, scale) for child in element.children if child.name not in _RESOURCES]
        drawn += [(target, below, times, scale) for target in self._find(element.used)]
        followed = unite(style.applied, below) if element.name in _PAINTED else style.applied
        for target in self._find(followed):
            repeated = element.details + 2 + self._sheets.numbers if target.name == "marker" else 1
            drawn.append((target, target.inherited, times * repeated, scale))
        return drawn

    def _find(self, targets: frozenset[str]) -> list[_Element]:
        return [self.by_id[each] for each in targets if each in self.by_id]
