"""SVG drawings for tests: as expensive as a logo may be, too expensive, and as drawing programs write them."""

from __future__ import annotations


def _group(content: str, times: int, attributes: str = 'id="a"') -> str:
    """A group of the same content again and again."""
    return f"<g {attributes}>{content * times}</g>"


def _uses(times: int, of: str = "a") -> str:
    return f'<use href="#{of}"/>' * times


def _full(attributes: str = "") -> str:
    """A rectangle over everything."""
    return f'<rect width="512" height="512" {attributes}/>'


def _resource(name: str, content: str, times: int = 1, attributes: str = "") -> str:
    """What others refer to as ``#r``."""
    return f'<{name} id="r" {attributes}>{content * times}</{name}>'


_CIRCLES = '<circle r="300"/><circle r="200" cx="300"/>'
_TILE = 'width=".01" height=".01"'
_BLUR = '<feGaussianBlur stdDeviation="50"/>'
_TURBULENCE = '<feTurbulence baseFrequency=".1" numOctaves="10"/>'
_WIDE = 'fill="none" stroke="red" stroke-width="300" stroke-linejoin="round"'

_CURVES = '<path d="M0 0C1000 0 0 1000 1000 1000" fill="none" stroke="red"/>' * 300

WORST_ACCEPTED = {
    "elements": _group(_full(), 1_000) + _uses(28),
    "layers": _group(_full('opacity=".99" stroke="red"'), 90) + _uses(9),
    "layers inside each other": _group(
        '<g opacity=".999">' * 180 + _full('opacity=".99"') + "</g>" * 180, 1
    ) + _uses(4),
    "masks": _resource("mask", _full('fill="#fff"')) + _full('mask="url(#r)"') * 900,
    "clip paths": _resource("clipPath", _CIRCLES) + _group(_full('clip-path="url(#r)"'), 700) + _uses(9),
    "patterns": _resource("pattern", '<rect width="9" height="9"/>', attributes=_TILE)
    + _full('fill="url(#r)"') * 95,
    "a chain of filters": _resource("filter", _BLUR, 98) + _full('filter="url(#r)"'),
    "filters": _resource("filter", _BLUR, attributes='x="-50" y="-50" width="99" height="99"')
    + _full('filter="url(#r)"') * 95,
    "turbulence": _resource("filter", _TURBULENCE, 98) + _full('filter="url(#r)"'),
    "wide lines": f'<path id="a" {_WIDE} d="M0 0{"l400 300-400-300" * 6_000}"/>' + _uses(4),
    "enlarged curves": f'<g id="a" transform="scale(1000)">{_CURVES}</g>' + _uses(36),
    "gradients": _resource("linearGradient", '<stop offset=".5"/>', 280) + _group(_full(), 1_000, 'fill="url(#r)"'),
    "markers": _resource("marker", '<path d="M0 0h9v9z"/>')
    + f'<path marker-mid="url(#r)" d="M0 0{"h1v1" * 3_500}"/>',
    "texts": f'<text id="a" y="200" font-size="300" stroke="red" stroke-width="50">{"W" * 20_000}</text>' + _uses(5),
}  # fmt: skip
"""Drawings that cost nearly as much as a logo may, by what costs it."""


def _nested(name: str, attribute: str, outer: str = "<rect {}/>", times: int = 10) -> str:
    """Ten levels of resources that each refer to the next several times."""
    levels = [
        f'<{name} id="r{level}">{outer.format(f"{attribute}={_url(level + 1)}") * times}</{name}>'
        for level in range(10)
    ]
    return "".join(levels) + f'<{name} id="r10"><rect/></{name}>' + outer.format(f'{attribute}="url(#r0)"')


def _url(level: int) -> str:
    return f'"url(#r{level})"'


_LARGE = _resource("pattern", "<path/>", 200)

TOO_EXPENSIVE = {
    "nested patterns": _nested("pattern", "fill"),
    "nested masks": _nested("mask", "mask"),
    "nested clip paths": _nested("clipPath", "clip-path"),
    "nested markers": _nested("marker", "marker-mid", f'<path d="M0 0{"h1" * 30}" {{}}/>', times=1),
    "a marker with a marker of itself": _resource("marker", '<path d="M0 0h1v1" marker-end="url(#r)"/>')
    + '<path d="M0 0h1" marker-end="url(#r)"/>',
    "an inherited pattern": _resource("pattern", "<path/>")
    + f'<g fill="url(#r)">{_group("<rect/>", 100)}{_uses(30)}</g>',
    "a pattern inherited by what is used": _resource("pattern", "<path/>", 20)
    + _group("<rect/>", 100)
    + '<use href="#a" style="fill:url(#r)"/>' * 30,
    "a pattern of a style sheet": "<style>rect{fill:url( '#r' )}</style>" + _LARGE + "<rect/>" * 200,
    "a pattern of a class": "<style>/* a */.a , .b{stroke:url(#r)}</style>" + _LARGE + '<rect class="c b"/>' * 200,
    "a pattern behind strings that look like a comment": (
        """<style>x{y:"/*"}rect{fill:url(#r)}z{y:"*/{.c{"}</style>""" + _LARGE + "<rect/>" * 200
    ),
    "a pattern behind an address that looks like a comment": (
        "<style>x{fill:url(#a/*)}rect{fill:url(#r)}/**/</style>" + _LARGE + "<rect/>" * 200
    ),
    "a pattern of a rule inside a rule": (
        "<style>@media all{g{rect{fill:url(#r)}}}</style>" + _LARGE + "<rect/>" * 200
    ),
    "a pattern beside another program's attribute": (
        f'<g xmlns:x="http://example.com/x">{_LARGE}' + '<rect fill="url(#r)" x:fill="none" x:style=""/>' * 200 + "</g>"
    ),
    "a pattern of an encoded name": _LARGE + '<rect style="stroke : URL(&quot;#%72&quot;)"/>' * 200,
    "a pattern with itself as its template": '<pattern id="r" href="#r"/><rect fill="url(#r)"/>',
    "filters": _resource("filter", "<feGaussianBlur/>") + '<rect filter="url(#r)"/>' * 150,
    "a chain of filters": _resource("filter", "<feFlood/>", 150) + '<rect filter="url(#r)"/>',
    "gradients": _resource("linearGradient", "<stop/>", 2_000)
    + f'<g fill="url(#r)">{_group("<rect/>", 100)}{_uses(10)}</g>',
    "layers": _group(_full('style="mix-blend-mode:multiply"'), 100) + _uses(50),
    "a long path that is used again": f'<path id="a" d="M0 0{"h1v1" * 9_000}"/>' + _uses(20),
    "long texts that are used again": f'<text id="a">{"W" * 50_000}</text>' + _uses(10),
}
"""Drawings that are refused because of what they refer to and repeat."""


def _enlarged(attributes: str, element: str = "g") -> str:
    return f"<{element} {attributes}>{_CURVES}</{element}>"


ENLARGED = {
    "a scale": _enlarged('transform="scale(1e6)"'),
    "scales inside each other": '<g transform="translate(1) scale(-50)">' * 3 + _CURVES + "</g>" * 3,
    "a scale of what is used": _enlarged('id="a" transform="scale(1000)"')
    + '<use href="#a" transform="scale(1,1e3)"/>',
    "a scale below one that a style replaces": (
        '<g style="transform:none" transform="scale(1e-6)">' + _enlarged('transform="scale(1e6)"') + "</g>"
    ),
    "a scale below one that browsers ignore": (
        '<g transform="scale(1e-6) none"><g transform="scale(1e-40)"><g patternTransform="scale(1e-6)">'
        + _enlarged('transform="scale(1e6)"')
        + "</g></g></g>"
    ),
    "a view box that browsers may ignore": _enlarged('viewBox="0 0 9 9 9"', "svg"),
    "a long ellipse": '<g transform="scale(9)"><path d="M0 0a9 999999 0 0 1 18 0" stroke="red"/></g>',
    "a curve with an arc's numbers": '<g transform="scale(9)"><path d="M0 0c999999 999999 0 0 1 9" stroke="red"/></g>',
    "a matrix": _enlarged('transform="matrix(1 0 1e6,1,0 0)"'),
    "a skew": _enlarged('transform="skewX(89.9999)"'),
    "an unknown transform": _enlarged('transform="scale3d(9,9,9)"'),
    "a view box": _enlarged('viewBox="0 0 .001 .001"', "svg"),
    "a size of what is used": _enlarged('id="a" viewBox="0 0 1 1"', "symbol") + '<use href="#a" width="1000000"/>',
    "a relative size": _enlarged('viewBox="0 0 1 1" width="1000000%"', "svg"),
    "a size of a style sheet": "<style>svg{width:1000000px}</style>" + _enlarged('viewBox="0 0 1 1"', "svg"),
    "a calculated size": _enlarged('viewBox="0 0 1 1" style="width:calc(1000px*1000)"', "svg"),
    "a pattern": _enlarged('id="r" patternTransform="scale(1e6)"', "pattern") + _full('fill="url(#r)"'),
    "a pattern's view box": _enlarged(
        'id="r" width="1" height="1" patternUnits="userSpaceOnUse" viewBox="0 0 .0005 .0005"', "pattern"
    )
    + _full('fill="url(#r)"'),
    "a pattern's view box in bounding boxes": _enlarged('id="r" width="1" viewBox="0 0 9 9"', "pattern")
    + _full('fill="url(#r)"'),
    "a mask in bounding boxes": _enlarged('id="r" maskContentUnits="objectBoundingBox"', "mask")
    + _full('mask="url(#r)"'),
    "a marker's view box": _enlarged('id="r" viewBox="0 0 .001 .001"', "marker")
    + '<path d="M0 0h9" marker-end="url(#r)"/>',
    "a marker of a wide line": _enlarged('id="r"', "marker")
    + '<path d="M0 0h9" stroke-width="1000000" marker-end="url(#r)"/>',
}
"""Drawings with small numbers that are drawn over millions of pixels."""

UNAFFORDABLE = {
    "dashes": '<path d="M0 0h9" stroke-dasharray=".0001"/>',
    "dashes in a style": '<g style="stroke-dasharray : 1 2"/>',
    "dashes in a style sheet": "<style>.a{stroke-dasharray:var(--a)}</style>",
    "a filter function": '<rect filter="blur(9px)"/>',
    "a filter function in a style sheet": "<style>rect{filter:url(#a) drop-shadow(0 0 9px red)}</style>",
    "an animation": "<style>@keyframes a{to{opacity:0}}</style>",
    "a gradient of CSS": "<style>svg{background:repeating-linear-gradient(red,blue)}</style>",
    "a shadow of text": '<text style="text-shadow:0 0 9px red">a</text>',
    "very fine turbulence": '<filter><feTurbulence numOctaves="255"/></filter>',
    "an inherited mask": '<g mask="url(#m)"><rect mask="inherit"/></g>',
    "a mask in a variable": '<g style="--m:url(#m)"><rect style="mask:var(--m)"/></g>',
    "far coordinates": '<path d="M0 0C1e9 0 0 1e9 1e9 1e9" stroke="red"/>',
    "a very wide line": '<path d="M0 0h9" style="stroke-width:10000000"/>',
    "a scale in a style": '<g style="transform:scale(1000000)"/>',
    "a scale as a property": "<style>g{scale:1000000}</style>",
    "selectors of siblings": "<style>rect~rect~circle{fill:red}</style>",
    "a filter function beside another program's attribute": (
        '<rect filter="blur(9px)" xmlns:x="http://example.com/x" x:filter="none"/>'
    ),
    "elements deep inside each other": "<g>" * 300 + "</g>" * 300,
}
"""Drawings with what costs a browser any amount of time for any size."""

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
"""Drawings as drawing programs write them."""
