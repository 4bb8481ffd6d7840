"""Validation of SVG logos: drawings without external references that browsers can draw quickly.

An SVG document can contain scripts and load other documents. Therefore only drawing elements are accepted, and metadata
of drawing programs, which browsers ignore. Features that can take unlimited drawing time at any size are refused:
filter functions, dashes, animations.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from xml.parsers import expat

from chalicelib.openbanking.records.bank_record import InvalidBank
from chalicelib.openbanking.records.svg_costs import MOST_DEPTH, Drawing
from chalicelib.openbanking.records.svg_scales import FARTHEST_RATIO
from chalicelib.openbanking.records.svg_styles import find_unaffordable, find_unaffordable_style

_SVG = "http://www.w3.org/2000/svg"
_NAMESPACES = {"", _SVG, "http://www.w3.org/1999/xlink", "http://www.w3.org/XML/1998/namespace"}
_ELEMENTS = frozenset(
    (
        *("svg", "g", "defs", "symbol", "use", "title", "desc", "style", "switch", "metadata"),
        *("path", "rect", "circle", "ellipse", "line", "polyline", "polygon", "text", "tspan", "textPath"),
        *("linearGradient", "radialGradient", "stop", "pattern", "clipPath", "mask", "marker", "filter"),
        *("feBlend", "feColorMatrix", "feComponentTransfer", "feComposite", "feDropShadow", "feFlood"),
        *("feFuncA", "feFuncB", "feFuncG", "feFuncR", "feGaussianBlur", "feMerge", "feMergeNode"),
        *("feOffset", "feTile", "feTurbulence"),
    )
)
_OUTSIDE = re.compile(
    r"\\|@import|image-set|(?:src|image)\(|javascript:|url\(\s*+['\"]?+\s*+(?!#|['\"])", re.IGNORECASE
)
"""A pattern for external references in a style or a value. It includes backslashes, which could hide a reference."""
_RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
_ACTIVE = ("http://www.w3.org/", "http://www.mozilla.org/")
"""Prefixes of the namespaces with elements that browsers process, such as XHTML and MathML."""


def check_svg(content: bytes) -> None:
    """Check an SVG document. Expat reads no external entities. Entity declarations and document types are refused.
    Raises: InvalidBank.
    """
    parser = expat.ParserCreate(namespace_separator=" ")
    checks = _SvgChecks()
    parser.StartElementHandler = checks.start_element
    parser.EndElementHandler = checks.end_element
    parser.CharacterDataHandler = checks.text
    parser.StartDoctypeDeclHandler = parser.EntityDeclHandler = checks.refuse_declaration
    parser.ProcessingInstructionHandler = checks.refuse_instruction
    try:
        parser.Parse(content, True)
        checks.end()
    except InvalidBank:
        raise
    except (expat.ExpatError, ValueError, LookupError):
        raise InvalidBank("the logo is not a PNG, JPEG or SVG file") from None


class _SvgChecks:
    """Handlers for Expat's events. Each handler raises InvalidBank for an element that is not allowed."""

    def __init__(self) -> None:
        self._open: list[str] = []
        self._style: list[str] = []
        self._drawing = Drawing()

    def start_element(self, name: str, attributes: Mapping[str, str]) -> None:
        namespace, _, local = name.rpartition(" ")
        if not self._open and (namespace, local) != (_SVG, "svg"):
            raise InvalidBank("the logo is not a PNG, JPEG or SVG file")
        if self._open[-1:] == ["style"]:
            raise InvalidBank("the logo contains an element in a style, which is not allowed")
        is_remark = _is_remark(namespace)
        if not is_remark and (namespace != _SVG or local not in _ELEMENTS):
            raise InvalidBank(
                f"the logo contains the element {_quoted(local)}, which is not allowed: only drawings are"
            )
        self._open.append("" if is_remark else local)
        for each, value in attributes.items():
            self._check_attribute(each, value, is_remark=is_remark)
        if not is_remark:
            _refuse_unaffordable(find_unaffordable(attributes))
        self._drawing.open(self._open[-1], {} if is_remark else attributes)
        if self._drawing.depth > MOST_DEPTH:
            raise InvalidBank(f"the logo has elements more than {MOST_DEPTH} levels deep")

    def end_element(self, _name: str) -> None:
        if self._open.pop() == "style":
            style = "".join(self._style)
            if _OUTSIDE.search(style):
                raise InvalidBank("the logo's style refers to something outside the file")
            _refuse_unaffordable(find_unaffordable_style(style))
            self._drawing.add_style_sheet(style)
            self._style.clear()
        self._drawing.close()

    def end(self) -> None:
        """Check the document as a whole."""
        if not self._drawing.is_affordable():
            raise InvalidBank("the logo takes browsers too long to draw: it repeats too much of itself by references")
        if self._drawing.has_far_coordinates:
            _refuse_unaffordable(f"coordinates beyond {FARTHEST_RATIO:,} times its size")

    def text(self, text: str) -> None:
        """Collect the text of a style, which may arrive in parts, and count the characters of texts that are drawn."""
        if self._open[-1:] == ["style"]:
            self._style.append(text)
        else:
            self._drawing.add_text(text)

    def refuse_declaration(self, *_: object) -> None:
        raise InvalidBank("the logo must not contain a document type or entities")

    def refuse_instruction(self, *_: object) -> None:
        raise InvalidBank("the logo must not contain processing instructions")

    @staticmethod
    def _check_attribute(name: str, value: str, *, is_remark: bool) -> None:
        namespace, _, local = name.rpartition(" ")
        if namespace not in _NAMESPACES:
            return  # another program's remarks, which no browser reads
        if local.lower().startswith("on"):
            raise InvalidBank(f"the logo contains the event handler {_quoted(local)}")
        if is_remark:
            return
        if (local in ("href", "base") and not value.strip().startswith("#")) or _OUTSIDE.search(value):
            raise InvalidBank(f"the logo's attribute {_quoted(local)} refers to something outside the file")


def _refuse_unaffordable(found: str | None) -> None:
    if found is not None:
        raise InvalidBank(f"the logo has {found}, which can take browsers too long to draw")


def _is_remark(namespace: str) -> bool:
    """Whether browsers ignore elements of a namespace."""
    return namespace == _RDF or (namespace != "" and not namespace.startswith(_ACTIVE))


def _quoted(name: str) -> str:
    return name[:32] if name.isprintable() else "?"
