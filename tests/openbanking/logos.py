"""Sample logos: small files of each type, typical SVG drawings, and drawings of the maximum permitted cost."""

import struct
import zlib

SVG = b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 8 8"><path d="M0 0h8v8H0z" fill="#123"/></svg>'
JPEG = bytes.fromhex("ffd8ffe000104a46494600010100000100010000ffc0000b080001000101011100ffda0008010100003f0037ffd9")


IMAGE_DATA = (b"IDAT", zlib.compress(b"\0\0"))


def header(width: int, height: int, *, depth: int = 8, colours: int = 0, interlace: int = 0) -> tuple[bytes, bytes]:
    return b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colours, 0, 0, interlace)


def jpeg(width: int, height: int, scans: bytes = b"") -> bytes:
    frame = JPEG.replace(b"\x08\x00\x01\x00\x01", struct.pack(">BHH", 8, height, width))
    return frame.replace(b"\xff\xda", scans + b"\xff\xda", 1)


def png(*chunks: tuple[bytes, bytes]) -> bytes:
    """Return a PNG file with one black pixel, or with the given chunks."""
    usual = (header(1, 1), IMAGE_DATA, (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, data) for kind, data in chunks or usual)


def svg(inside: str = "", attributes: str = "") -> bytes:
    space = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
    return f"<svg {space} {attributes}>{inside}</svg>".encode()


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def group(content: str, times: int, attributes: str = 'id="a"') -> str:
    return f"<g {attributes}>{content * times}</g>"


def uses(times: int, of: str = "a") -> str:
    return f'<use href="#{of}"/>' * times


def full(attributes: str = "") -> str:
    return f'<rect width="512" height="512" {attributes}/>'


def resource(name: str, content: str, times: int = 1, attributes: str = "") -> str:
    return f'<{name} id="r" {attributes}>{content * times}</{name}>'


_CIRCLES = '<circle r="300"/><circle r="200" cx="300"/>'
_TILE = 'width=".01" height=".01"'
_BLUR = '<feGaussianBlur stdDeviation="50"/>'
_TURBULENCE = '<feTurbulence baseFrequency=".1" numOctaves="10"/>'
_WIDE = 'fill="none" stroke="red" stroke-width="300" stroke-linejoin="round"'

CURVES = '<path d="M0 0C1000 0 0 1000 1000 1000" fill="none" stroke="red"/>' * 300

WORST_ACCEPTED = {
    "elements": group(full(), 1_000) + uses(28),
    "layers": group(full('opacity=".99" stroke="red"'), 90) + uses(9),
    "layers inside each other": group(
        '<g opacity=".999">' * 180 + full('opacity=".99"') + "</g>" * 180, 1
    ) + uses(4),
    "masks": resource("mask", full('fill="#fff"')) + full('mask="url(#r)"') * 900,
    "clip paths": resource("clipPath", _CIRCLES) + group(full('clip-path="url(#r)"'), 700) + uses(9),
    "patterns": resource("pattern", '<rect width="9" height="9"/>', attributes=_TILE)
    + full('fill="url(#r)"') * 95,
    "a chain of filters": resource("filter", _BLUR, 98) + full('filter="url(#r)"'),
    "filters": resource("filter", _BLUR, attributes='x="-50" y="-50" width="99" height="99"')
    + full('filter="url(#r)"') * 95,
    "turbulence": resource("filter", _TURBULENCE, 98) + full('filter="url(#r)"'),
    "wide lines": f'<path id="a" {_WIDE} d="M0 0{"l400 300-400-300" * 6_000}"/>' + uses(4),
    "enlarged curves": f'<g id="a" transform="scale(1000)">{CURVES}</g>' + uses(36),
    "gradients": resource("linearGradient", '<stop offset=".5"/>', 280) + group(full(), 1_000, 'fill="url(#r)"'),
    "markers": resource("marker", '<path d="M0 0h9v9z"/>')
    + f'<path marker-mid="url(#r)" d="M0 0{"h1v1" * 3_500}"/>',
    "texts": f'<text id="a" y="200" font-size="300" stroke="red" stroke-width="50">{"W" * 20_000}</text>' + uses(5),
}  # fmt: skip
"""Drawings with almost the maximum rendering cost of a logo, by the kind of content that causes the cost."""


USUAL = {
    "Illustrator": "<defs><style>.cls-1{fill:url(#a);isolation:isolate}.cls-2{clip-path:url(#c)}"
    ".cls-3{fill:none}</style>"
    '<linearGradient id="a" gradientTransform="matrix(1 0 0 -1 0 8)"><stop offset="0"/><stop offset="1"/>'
    '</linearGradient><radialGradient id="b" xlink:href="#a"/><clipPath id="c">'
    '<rect class="cls-3" width="9" height="9"/></clipPath>'
    '</defs><g class="cls-2">' + '<path class="cls-1" d="M0 0h9v9z"/>' * 500 + "</g>",
    "Figma": '<g clip-path="url(#clip0)"><g filter="url(#f0)"><path d="M0 0h9v9z"/></g></g><defs><filter id="f0" '
    'color-interpolation-filters="sRGB"><feFlood flood-opacity="0" result="a"/>'
    '<feColorMatrix in="SourceAlpha" values="0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 127 0"/>'
    '<feOffset dy="4"/><feGaussianBlur stdDeviation="2"/><feBlend in2="a" result="b"/>'
    '<feBlend in="SourceGraphic" in2="b"/></filter>'
    '<clipPath id="clip0"><rect width="9" height="9"/></clipPath></defs>',
    "Inkscape": "<g style=\"opacity:1;mix-blend-mode:normal;stroke-dasharray:none;font-family:'Sans'\">"
    '<path style="fill:#123;stroke:none;filter:none" d="m 0,0 c 1,1 2,2 3,3 z"/></g>',
    "digits that are no coordinates": '<g id="a20261231235959" style="fill:#1e9000;stroke:#12345678">'
    '<path id="b" d="M0 0h9v9z" fill="#1e900012"/></g>',
    "potrace": '<g transform="translate(0,512) scale(0.1,-0.1)" stroke="none">'
    '<path d="M2300 5090 c-900 50 -100 -4000 0 -5000z"/></g>',
    "scales that cancel each other": '<g transform="scale(.00005)"><path d="M0 0h900000v900000z"/>'
    '<g transform="matrix(0 20000 -20000 0 0 0)"><path d="M0 0h512v-512z"/></g></g>',
    "numbers with many digits": '<path d="M52.8846154-.390625012h99.12345678V512.00000001z"/>',
    "an arc that is nearly straight": '<path d="M9 9a925706.698 925706.698 0 01300.03 300.39H9z"/>',
    "CorelDRAW": '<svg viewBox="0 0 21000 21000" width="210mm" height="210mm"><path d="M0 0l20999 9v9000z"/></svg>',
    "icons": '<symbol id="i" viewBox="0 0 24 24"><path d="M0 0h24v24z"/></symbol>'
    '<g transform="matrix(1.3333 0 0 -1.3333 0 512) skewX(10)"><use href="#i" width="48" height="48"/></g>',
    "an arrow": '<marker id="m" viewBox="0 0 10 10" markerWidth="6" markerHeight="6">'
    '<path d="M0 0L10 5 0 10z"/></marker>'
    '<path d="M0 0h99" stroke-width="8" marker-end="url(#m)"/>',
    "gradients around their definition": (
        '<g fill="url(#g)"><defs><linearGradient id="g"><stop/></linearGradient></defs><path d="M0 0h9v9z"/></g>'
    ),
}
