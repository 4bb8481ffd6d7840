"""Tests of uploaded logos: the media type is detected, and unsafe or expensive files are refused."""

import zlib

import pytest

from chalicelib.openbanking.records.bank_logos import LOGO_BYTES
from chalicelib.openbanking.records.bank_record import InvalidBank
from chalicelib.openbanking.records.logo_validation import read_logo
from tests.openbanking.logos import (
    CURVES,
    IMAGE_DATA,
    JPEG,
    SVG,
    USUAL,
    WORST_ACCEPTED,
    full,
    group,
    header,
    jpeg,
    png,
    resource,
    svg,
    uses,
)


def _nested(name: str, attribute: str, outer: str = "<rect {}/>", times: int = 10) -> str:
    """Return ten levels of elements, each of which refers to the next level ``times`` times."""
    levels = [
        f'<{name} id="r{level}">{outer.format(f"{attribute}={_url(level + 1)}") * times}</{name}>'
        for level in range(10)
    ]
    return "".join(levels) + f'<{name} id="r10"><rect/></{name}>' + outer.format(f'{attribute}="url(#r0)"')


def _url(level: int) -> str:
    return f'"url(#r{level})"'


_LARGE = resource("pattern", "<path/>", 200)

TOO_EXPENSIVE = {
    "nested patterns": _nested("pattern", "fill"),
    "nested masks": _nested("mask", "mask"),
    "nested clip paths": _nested("clipPath", "clip-path"),
    "nested markers": _nested("marker", "marker-mid", f'<path d="M0 0{"h1" * 30}" {{}}/>', times=1),
    "a marker with a marker of itself": resource("marker", '<path d="M0 0h1v1" marker-end="url(#r)"/>')
    + '<path d="M0 0h1" marker-end="url(#r)"/>',
    "an inherited pattern": resource("pattern", "<path/>") + f'<g fill="url(#r)">{group("<rect/>", 100)}{uses(30)}</g>',
    "a pattern inherited by what is used": resource("pattern", "<path/>", 20)
    + group("<rect/>", 100)
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
    "filters": resource("filter", "<feGaussianBlur/>") + '<rect filter="url(#r)"/>' * 150,
    "a chain of filters": resource("filter", "<feFlood/>", 150) + '<rect filter="url(#r)"/>',
    "gradients": resource("linearGradient", "<stop/>", 2_000)
    + f'<g fill="url(#r)">{group("<rect/>", 100)}{uses(10)}</g>',
    "layers": group(full('style="mix-blend-mode:multiply"'), 100) + uses(50),
    "a long path that is used again": f'<path id="a" d="M0 0{"h1v1" * 9_000}"/>' + uses(20),
    "long texts that are used again": f'<text id="a">{"W" * 50_000}</text>' + uses(10),
}
"""Drawings that are refused because references and repetitions multiply the rendering cost."""


def _enlarged(attributes: str, element: str = "g") -> str:
    return f"<{element} {attributes}>{CURVES}</{element}>"


ENLARGED = {
    "a scale": _enlarged('transform="scale(1e6)"'),
    "scales inside each other": '<g transform="translate(1) scale(-50)">' * 3 + CURVES + "</g>" * 3,
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
    "a pattern": _enlarged('id="r" patternTransform="scale(1e6)"', "pattern") + full('fill="url(#r)"'),
    "a pattern's view box": _enlarged(
        'id="r" width="1" height="1" patternUnits="userSpaceOnUse" viewBox="0 0 .0005 .0005"', "pattern"
    )
    + full('fill="url(#r)"'),
    "a pattern's view box in bounding boxes": _enlarged('id="r" width="1" viewBox="0 0 9 9"', "pattern")
    + full('fill="url(#r)"'),
    "a mask in bounding boxes": _enlarged('id="r" maskContentUnits="objectBoundingBox"', "mask")
    + full('mask="url(#r)"'),
    "a marker's view box": _enlarged('id="r" viewBox="0 0 .001 .001"', "marker")
    + '<path d="M0 0h9" marker-end="url(#r)"/>',
    "a marker of a wide line": _enlarged('id="r"', "marker")
    + '<path d="M0 0h9" stroke-width="1000000" marker-end="url(#r)"/>',
}
"""SVG drawings whose transforms, view boxes or styles enlarge small coordinates to millions of pixels."""

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
"""Drawings with effects that have an unlimited rendering cost at any image size."""


HARMLESS = {
    "a gradient of its own": '<defs><linearGradient id="g"/></defs><rect fill="url(#g)"/>',
    "a reference inside": '<symbol id="a"/><use href="#a"/><use xlink:href="#a"/>',
    "a style": "<style>.a{fill:#123;clip-path:url(#c)}</style>",
    "a quoted reference in a style": '<style>.a{fill:url( "#g" )}</style>',
    "a title and a language": '<title xml:lang="de">Bank</title>',
    "a comment": "<!-- made by hand -->",
    "a drawing drawn again in a drawing drawn again": (
        '<defs><g id="a"><path d="M0 0"/></g><g id="b"><use href="#a"/><use href="#a"/></g></defs><use href="#b"/>'
    ),
    "a reference in both spellings": '<g id="a"/><use href="#a" xlink:href="#a"/>',
    "a reference to nothing": '<use href="#nothing"/>',
    "as many elements as fit": "<g/>" * 25_000,
    "Inkscape's remarks": (
        '<sodipodi:namedview xmlns:sodipodi="http://sodipodi.sourceforge.net/DTD/sodipodi-0.dtd" pagecolor="#fff">'
        '<i:grid xmlns:i="http://www.inkscape.org/namespaces/inkscape" type="xygrid"/></sodipodi:namedview>'
    ),
    "metadata": (
        '<metadata><r:RDF xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'
        '<c:Work xmlns:c="http://creativecommons.org/ns#" r:about=""><d:title xmlns:d="http://purl.org/dc/elements/1.1/">'
        'Bank</d:title><c:license r:resource="http://creativecommons.org/licenses/by/4.0/"/></c:Work></r:RDF></metadata>'
    ),
    "a remark that is called like a style": '<x:style xmlns:x="http://example.com/x">@import "x"</x:style>',
    "another program's attribute": '<g xmlns:x="http://example.com/x" x:onwards="1"/>',
}
HARMFUL = {
    "a script": ("<script>alert(1)</script>", "the element script"),
    "a script in CDATA": ("<script><![CDATA[alert(1)]]></script>", "the element script"),
    "a script of another namespace": (
        '<h:script xmlns:h="http://www.w3.org/1999/xhtml">alert(1)</h:script>',
        "the element script",
    ),
    "HTML": ('<foreignObject><b xmlns="http://www.w3.org/1999/xhtml"/></foreignObject>', "the element foreignObject"),
    "a picture from elsewhere": ('<image href="https://evil.example/x.png"/>', "the element image"),
    "a link": ('<a href="https://evil.example"/>', "the element a"),
    "an animation": ('<animate attributeName="href" to="javascript:alert(1)"/>', "the element animate"),
    "an event handler": ('<path onclick="alert(1)"/>', "the event handler onclick"),
    "an event handler in capitals": ('<path ONLOAD="alert(1)"/>', "the event handler ONLOAD"),
    "a reference to elsewhere": ('<use href="https://evil.example/a.svg#a"/>', "the attribute href"),
    "an xlink to elsewhere": ('<use xlink:href="//evil.example/a.svg#a"/>', "the attribute href"),
    "embedded data": ('<use href="data:image/svg+xml,x"/>', "the attribute href"),
    "a colour from elsewhere": ('<rect fill="url(https://evil.example/a.svg#g)"/>', "the attribute fill"),
    "a style attribute from elsewhere": ("<rect style=\"fill:url('//evil.example/a')\"/>", "the attribute style"),
    "another base": ('<g xml:base="https://evil.example/"/>', "the attribute base"),
    "an imported style": ('<style>@import "https://evil.example/a.css";</style>', "style refers"),
    "a style from elsewhere": ("<style>a{fill:URL(  https://evil.example/a)}</style>", "style refers"),
    "an escaped style": ("<style>a{fill:\\75rl(https://evil.example/a)}</style>", "style refers"),
    "a style in two pieces": ("<style>a{fill:u<!-- -->rl(https://evil.example/a)}</style>", "style refers"),
    "a long style": (f"<style>{'a' * 40000}@import 'x'</style>", "style refers"),
    "an import split by an element": (
        '<style>@imp<g/>ort "https://evil.example/a.css";</style>',
        "an element in a style",
    ),
    "a colour split by an element": ("<style>a{fill:ur<g/>l(https://evil.example/a)}</style>", "an element in a style"),
    "a remark in a style": (
        '<style>@imp<x:y xmlns:x="http://example.com/x"/>ort "https://evil.example/a.css";</style>',
        "an element in a style",
    ),
    "a source in a style": ('<style>a{fill:src("https://evil.example/a")}</style>', "style refers"),
    "an image in a style": ('<style>a{background:image("https://evil.example/a")}</style>', "style refers"),
    "an image set in a style": ('<style>a{mask:-webkit-image-set("//evil.example/a" 1x)}</style>', "style refers"),
    "a source in an attribute": ("<g style=\"mask:src('https://evil.example/a')\"/>", "the attribute style"),
    "an image in an attribute": ("<g mask=\"image('https://evil.example/a')\"/>", "the attribute mask"),
    "a style after a style": ("<style>a{}</style><style>@import 'x'</style>", "style refers"),
    "a script in metadata": ("<metadata><script>alert(1)</script></metadata>", "the element script"),
    "a script in another program's remark": (
        '<x:y xmlns:x="http://example.com/x"><script>alert(1)</script></x:y>',
        "the element script",
    ),
    "HTML in metadata": (
        '<metadata><h:script xmlns:h="http://www.w3.org/1999/xhtml">alert(1)</h:script></metadata>',
        "the element script",
    ),
    "a formula": ('<m:maction xmlns:m="http://www.w3.org/1998/Math/MathML"/>', "the element maction"),
    "an event listener": ('<e:listener xmlns:e="http://www.w3.org/2001/xml-events"/>', "the element listener"),
    "an event handler on a remark": ('<x:y xmlns:x="http://example.com/x" onload="alert(1)"/>', "handler onload"),
    "nine levels of ten references": (
        "".join(f'<g id="a{n}">{f"""<use href="#a{n - 1}"/>""" * 10}</g>' for n in range(1, 10)) + '<path id="a0"/>',
        "too long to draw",
    ),
    "references under an encoded name": (
        f'<g id="a">{"<path/>" * 5000}</g>' + '<use href="#%61"/>' * 2000,
        "too long to draw",
    ),
    "many references to a large drawing": (
        f'<g id="a">{"<path/>" * 5000}</g>' + '<use xlink:href=" #a "/>' * 1000,
        "too long to draw",
    ),
    "a reference to itself": ('<g id="a"><use href="#a"/></g>', "too long to draw"),
    "an instruction": ('<?xml-stylesheet href="https://evil.example/a.css"?>', "processing instructions"),
}


@pytest.mark.parametrize(
    ("content", "media_type"),
    [
        (png(), "image/png"),
        (JPEG, "image/jpeg"),
        (SVG, "image/svg+xml"),
        (SVG.decode().encode("utf-16"), "image/svg+xml"),
    ],
    ids=["png", "jpeg", "svg", "svg in UTF-16"],
)
def test_the_media_type_is_detected_from_the_content(content: bytes, media_type: str) -> None:
    logo = read_logo(content)

    assert (logo.content, logo.media_type) == (content, media_type)
    assert len(logo.digest) == 32


@pytest.mark.parametrize("inside", HARMLESS.values(), ids=HARMLESS)
def test_a_harmless_svg_is_accepted(inside: str) -> None:
    assert read_logo(svg(inside)).media_type == "image/svg+xml"


@pytest.mark.parametrize(("inside", "reason"), HARMFUL.values(), ids=HARMFUL)
def test_an_svg_with_active_or_external_content_is_refused(inside: str, reason: str) -> None:
    with pytest.raises(InvalidBank) as refusal:
        read_logo(svg(inside))

    assert reason.removeprefix("the attribute ") in str(refusal.value)


@pytest.mark.parametrize("inside", TOO_EXPENSIVE.values(), ids=TOO_EXPENSIVE)
def test_an_svg_with_exponentially_nested_references_is_refused(inside: str) -> None:
    with pytest.raises(InvalidBank, match="repeats too much of itself by references"):
        read_logo(svg(inside))


@pytest.mark.parametrize("inside", UNAFFORDABLE.values(), ids=UNAFFORDABLE)
def test_an_svg_with_expensive_effects_is_refused(inside: str) -> None:
    with pytest.raises(InvalidBank, match=r"take browsers too long to draw|levels deep"):
        read_logo(svg(inside))


@pytest.mark.parametrize("inside", ENLARGED.values(), ids=ENLARGED)
def test_an_svg_enlarged_to_distant_coordinates_is_refused(inside: str) -> None:
    with pytest.raises(InvalidBank, match="coordinates beyond 2,000 times its size"):
        read_logo(svg(inside, 'viewBox="0 0 512 512"'))


@pytest.mark.parametrize(
    "attributes",
    [
        'viewBox="0 0 .0005 .0005"',
        'viewBox="0 0 512 .001"',
        'viewBox="0 0 512 512 0" width=".0005" height=".0005"',
        'width=".0005" height=".0005"',
        'width="1em" height="1em" font-size=".0005"',
    ],
)
def test_an_svg_whose_drawing_far_exceeds_its_size_is_refused(attributes: str) -> None:
    with pytest.raises(InvalidBank, match="coordinates beyond 2,000 times its size"):
        read_logo(svg('<path d="M0 0h9"/>', attributes))


@pytest.mark.parametrize("inside", [*USUAL.values(), *WORST_ACCEPTED.values()], ids=[*USUAL, *WORST_ACCEPTED])
def test_an_svg_with_a_low_rendering_cost_is_accepted(inside: str) -> None:
    logo = svg(inside, 'viewBox="0 0 512 512"')

    assert read_logo(logo).content == logo


@pytest.mark.parametrize("attributes", ['onload="alert(1)"', 'xml:base="https://evil.example/"'])
def test_attributes_of_the_root_element_are_checked(attributes: str) -> None:
    with pytest.raises(InvalidBank):
        read_logo(svg(attributes=attributes))


@pytest.mark.parametrize(
    "declaration",
    [
        "<!DOCTYPE svg>",
        '<!DOCTYPE svg SYSTEM "file:///etc/passwd">',
        '<!DOCTYPE svg [<!ENTITY a "aaaaaaaaaa">]>',
        '<!DOCTYPE svg [<!ENTITY a SYSTEM "file:///etc/passwd">]>',
    ],
)
def test_an_svg_with_a_document_type_is_refused(declaration: str) -> None:
    with pytest.raises(InvalidBank, match="document type or entities"):
        read_logo(declaration.encode() + SVG)


@pytest.mark.parametrize(
    "content",
    [
        b"text",
        b"GIF89a",
        b"<html/>",
        b"<svg/>",
        SVG[:-1],
        SVG + b"<svg/>",
        b"<!-- " + SVG,
        b'<?xml version="1.0" encoding="nothing"?>' + SVG,
        b"\xff\xfe" + SVG,
        b"\0" * 100,
        svg("&undeclared;"),
        f"<a>{'<b>' * 20000}".encode(),
    ],
    ids=lambda content: repr(content[:20]),
)
def test_a_file_that_is_not_png_jpeg_or_svg_is_refused(content: bytes) -> None:
    with pytest.raises(InvalidBank, match="not a PNG, JPEG or SVG file"):
        read_logo(content)


@pytest.mark.parametrize(
    "content",
    [
        png()[:-1],
        png()[:-12],
        png().replace(b"IDAT", b"IDOT"),
        png((b"IHDR", b""), (b"IEND", b"")),
        png((b"IDAT", b""), (b"IHDR", b""), (b"IEND", b"")),
        png() + b"<script>alert(1)</script>",
        b"\x89PNG\r\n\x1a\n",
        b"\x89PNG\r\n\x1a\n" + b"\xff" * 50,
        png(header(2, 2), IMAGE_DATA, (b"IEND", b"")),
        png(header(1, 1, colours=3), IMAGE_DATA, (b"IEND", b"")),
        png(header(1, 1, depth=5), IMAGE_DATA, (b"IEND", b"")),
        png(header(1, 1), (b"CgBI", b""), IMAGE_DATA, (b"IEND", b"")),
        png(header(1, 1), (b"IDAT", b"no zlib"), (b"IEND", b"")),
    ],
)
def test_a_damaged_png_file_is_refused(content: bytes) -> None:
    with pytest.raises(InvalidBank, match="damaged PNG"):
        read_logo(content)


def test_a_logo_has_at_most_2000_pixels_in_each_direction() -> None:
    largest = png(header(2_000, 2_000), (b"IDAT", zlib.compress(bytes(2_001 * 2_000))), (b"IEND", b""))

    assert read_logo(largest).content == largest
    assert read_logo(jpeg(2_000, 2_000)).media_type == "image/jpeg"
    for width, height in ((2_001, 1), (1, 2_001), (0, 1), (1, 0), (25_000, 25_000)):
        for content in (png(header(width, height), IMAGE_DATA, (b"IEND", b"")), jpeg(width, height)):
            with pytest.raises(InvalidBank, match="1 to 2000 pixels in each direction"):
                read_logo(content)
    with pytest.raises(InvalidBank, match="1 to 2000 pixels in each direction"):
        read_logo(png(header(2**31 - 1, 2**31 - 1), IMAGE_DATA, (b"IEND", b"")))


def test_a_png_file_is_stored_without_ancillary_chunks() -> None:
    text = (b"zTXt", b"Comment\0\0" + zlib.compress(bytes(40_000_000)))
    palette, clear = (b"PLTE", b"\0\0\0"), (b"tRNS", b"\0")
    frames = (b"acTL", bytes(8))
    end = (b"IEND", b"")

    stored = read_logo(png(header(1, 1, colours=3), text, palette, clear, frames, IMAGE_DATA, text, end)).content

    assert stored == png(header(1, 1, colours=3), palette, clear, IMAGE_DATA, end)
    assert read_logo(stored).content == stored


@pytest.mark.parametrize(("width", "height", "size"), [(1, 1, 2), (5, 3, 22), (8, 8, 79)])
def test_an_interlaced_png_file_must_be_complete(width: int, height: int, size: int) -> None:
    def interlaced(count: int) -> bytes:
        return png(header(width, height, interlace=1), (b"IDAT", zlib.compress(bytes(count))), (b"IEND", b""))

    assert read_logo(interlaced(size)).media_type == "image/png"
    with pytest.raises(InvalidBank, match="damaged PNG"):
        read_logo(interlaced(size - 1))


def test_a_jpeg_file_has_at_most_64_scans() -> None:
    scan = b"\xff\xda\x00\x08\x01\x01\x00\x00\x3f\x00\x37"

    assert read_logo(jpeg(1, 1, scan * 63)).media_type == "image/jpeg"
    with pytest.raises(InvalidBank, match="more than 64 scans"):
        read_logo(jpeg(1, 1, scan * 64))


@pytest.mark.parametrize(
    "content",
    [
        JPEG.replace(b"\xff\xe0", b"\xff\xff\xff\xe0"),
        JPEG.replace(b"\xff\xc0", b"\xff\xff\xc0").replace(b"\xff\xda", b"\xff\xff\xda"),
        JPEG + b"\r\n",
        JPEG + b"\0" * 512,
        JPEG + JPEG,
    ],
    ids=["filled up", "filled up before frame and scan", "an end of line", "zeros", "a preview behind it"],
)
def test_a_jpeg_file_may_have_fill_bytes_and_trailing_data(content: bytes) -> None:
    assert read_logo(content).media_type == "image/jpeg"


@pytest.mark.parametrize(
    "content",
    [
        JPEG[:-2],
        JPEG[:20],
        b"\xff\xd8\xff",
        b"\xff\xd8" + b"\xff" * 5000,
        b"\xff\xd8\xff\xd9",
        JPEG.replace(b"\xff\xc0", b"\xff\xe1"),
        JPEG.replace(b"\xff\xda", b"\x00\xda"),
    ],
)
def test_a_damaged_jpeg_file_is_refused(content: bytes) -> None:
    with pytest.raises(InvalidBank, match="damaged JPEG"):
        read_logo(content)


def test_a_logo_has_at_most_100_kilobytes() -> None:
    largest = svg(f"<!--{'x' * (LOGO_BYTES - len(svg('<!---->')))}-->")

    assert len(read_logo(largest).content) == LOGO_BYTES
    for content in (largest.replace(b"x", b"xx", 1), b""):
        with pytest.raises(InvalidBank, match=f"must have 1 to {LOGO_BYTES} bytes"):
            read_logo(content)
