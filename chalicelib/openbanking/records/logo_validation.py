"""Validation of an uploaded logo by its content: PNG, JPEG, or an SVG drawing that refers to nothing outside itself.

An SVG document can contain scripts and load other documents. Only elements that draw are accepted, and remarks of
drawing programs, which browsers ignore.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping
from urllib.parse import unquote
from xml.parsers import expat

from chalicelib.openbanking.records.bank_logos import LOGO_BYTES, Logo
from chalicelib.openbanking.records.bank_record import InvalidBank

_PNG = b"\x89PNG\r\n\x1a\n"
_JPEG = b"\xff\xd8\xff"
_JPEG_END = b"\xff\xd9"
_MARKER = re.compile(rb"\xff+([^\xff])", re.DOTALL)
_SCAN = b"\xda"
_FRAMES = (b"\xc0", b"\xc1", b"\xc2")
_SVG = "http://www.w3.org/2000/svg"
_NAMESPACES = {"", _SVG, "http://www.w3.org/1999/xlink", "http://www.w3.org/XML/1998/namespace"}
_ELEMENTS = frozenset(
    (
        *("svg", "g", "defs", "symbol", "use", "title", "desc", "style", "switch", "metadata"),
        *("path", "rect", "circle", "ellipse", "line", "polyline", "polygon", "text", "tspan", "textPath"),
        *("linearGradient", "radialGradient", "stop", "pattern", "clipPath", "mask", "marker", "filter"),
        *("feBlend", "feColorMatrix", "feComponentTransfer", "feComposite", "feDropShadow", "feFlood"),
        *("feFuncA", "feFuncB", "feFuncG", "feFuncR", "feGaussianBlur", "feMerge", "feMergeNode", "feMorphology"),
        *("feOffset", "feTile", "feTurbulence"),
    )
)
_OUTSIDE = re.compile(r"\\|@import|image-set|(?:src|image)\(|javascript:|url\(\s*['\"]?\s*(?!#|['\"\s])", re.IGNORECASE)
"""What refers to something outside, in a style or a value; a backslash could hide it."""
_RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
_ACTIVE = ("http://www.w3.org/", "http://www.mozilla.org/")
"""The beginnings of the namespaces with elements that browsers know, such as XHTML and MathML."""
_DRAWN = 30_000
"""The maximum number of elements that are drawn; more than a file of the maximum size has without references."""


def read_logo(content: bytes) -> Logo:
    """Check a logo and determine its media type. Raises: InvalidBank."""
    if not 0 < len(content) <= LOGO_BYTES:
        raise InvalidBank(f"a logo must have 1 to {LOGO_BYTES} bytes; this one has {len(content)}")
    if content.startswith(_PNG):
        _check_png(content)
        return Logo(content, "image/png")
    if content.startswith(_JPEG):
        _check_jpeg(content)
        return Logo(content, "image/jpeg")
    _check_svg(content)
    return Logo(content, "image/svg+xml")


def _check_png(content: bytes) -> None:
    """Check the chunks of a PNG file: IHDR first, IEND last, and the checksum of each."""
    place, kinds = len(_PNG), []
    while place < len(content):
        length = int.from_bytes(content[place : place + 4], "big")
        chunk, checksum = content[place + 4 : place + 8 + length], content[place + 8 + length : place + 12 + length]
        if len(checksum) != 4 or zlib.crc32(chunk) != int.from_bytes(checksum, "big"):
            raise InvalidBank("the logo is a damaged PNG file")
        kinds.append(chunk[:4])
        place += 12 + length
    if kinds[:1] != [b"IHDR"] or kinds[-1:] != [b"IEND"] or b"IDAT" not in kinds:
        raise InvalidBank("the logo is a damaged PNG file")


def _check_jpeg(content: bytes) -> None:
    """Check the segments of a JPEG file up to its scan, and that the scan ends.

    Bytes of the value 255 may fill up any marker (ITU-T T.81, B.1.1.2), and decoders ignore what follows the end.
    """
    place, has_frame = 2, False
    while marker := _MARKER.match(content, place):
        if marker[1] == _SCAN:
            break
        has_frame = has_frame or marker[1] in _FRAMES
        place = marker.end() + max(int.from_bytes(content[marker.end() : marker.end() + 2], "big"), 2)
    if marker is None or not has_frame or content.find(_JPEG_END, place) < 0:
        raise InvalidBank("the logo is a damaged JPEG file")


def _check_svg(content: bytes) -> None:
    """Check an SVG document. Expat reads no external entity; declared ones and document types are refused."""
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
    """Expat's handlers; each raises InvalidBank."""

    def __init__(self) -> None:
        self._open: list[str] = []
        self._style = ""
        self._parts = _Parts()

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
        self._parts.open(self._open[-1], attributes)

    def end_element(self, _name: str) -> None:
        if self._open.pop() == "style":
            if _OUTSIDE.search(self._style):
                raise InvalidBank("the logo's style refers to something outside the file")
            self._style = ""
        self._parts.close()

    def end(self) -> None:
        """Check the document as a whole."""
        if not self._parts.can_be_drawn():
            raise InvalidBank("the logo draws too many elements, because its use elements refer to each other")

    def text(self, text: str) -> None:
        """Collect a style, which may come in pieces."""
        self._style += text if self._open[-1:] == ["style"] else ""

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


class _Part:
    """An element with an id, or the document: how many elements it has outside its inner parts, and what it draws."""

    def __init__(self) -> None:
        self.elements = 0
        self.inner: list[_Part] = []
        self.drawn: list[str] = []


class _Parts:
    """The parts of a document, to count what its ``use`` elements draw: references to references multiply."""

    def __init__(self) -> None:
        self._document = _Part()
        self._by_id: dict[str, _Part] = {}
        self._open = [self._document]

    def open(self, name: str, attributes: Mapping[str, str]) -> None:
        part = self._open[-1]
        if (identifier := attributes.get("id")) is not None:
            outer, part = part, _Part()
            outer.inner.append(part)
            self._by_id.setdefault(identifier, part)
        part.elements += 1
        self._open.append(part)
        if name == "use":
            part.drawn += _targets(attributes)

    def close(self) -> None:
        self._open.pop()

    def can_be_drawn(self) -> bool:
        """Whether at most ``_DRAWN`` elements are drawn; a part that draws itself never ends."""
        drawn, waiting = 0, [self._document]
        while waiting and drawn + len(waiting) <= _DRAWN:
            part = waiting.pop()
            drawn += part.elements
            waiting += part.inner
            waiting += [self._by_id[each] for each in part.drawn if each in self._by_id]
        return drawn + len(waiting) <= _DRAWN


def _targets(attributes: Mapping[str, str]) -> set[str]:
    """The ids to which a ``use`` element's references can be read: as they are written, and decoded."""
    written = {value.strip()[1:] for name, value in attributes.items() if name.rpartition(" ")[2] == "href"}
    return written | set(map(unquote, written))


def _is_remark(namespace: str) -> bool:
    """Whether elements of a namespace mean nothing to browsers."""
    return namespace == _RDF or (namespace != "" and not namespace.startswith(_ACTIVE))


def _quoted(name: str) -> str:
    return name[:32] if name.isprintable() else "?"
