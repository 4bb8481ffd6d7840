"""Parsers process long inputs in linear time.

The tests count function calls, which do not depend on the machine. Counts exclude the work inside C functions;
``test_linear_patterns`` checks the regular expressions.
"""

import gc
import signal
from collections.abc import Callable, Iterator, Mapping
from cProfile import Profile
from dataclasses import dataclass
from functools import partial
from itertools import product
from string import ascii_letters

import pytest

from chalicelib.cards.requests.envelope import BODY_BYTES as CARD_BYTES
from chalicelib.foundation.http.outbound import ANSWER_BYTES
from chalicelib.foundation.http.web import BODY_BYTES
from chalicelib.openbanking.oauth.key_sets import MAX_KEY_SET_BYTES
from chalicelib.openbanking.records import svg_logos
from chalicelib.openbanking.records.bank_logos import LOGO_BYTES
from chalicelib.openbanking.records.svg_costs import Drawing
from tests.fuzzing.parsers import TARGETS, Target
from tests.kit.time import PATIENCE_SECONDS

JWT_BYTES, ADDRESS_BYTES, HEADER_BYTES = 16_384, 2_048, 10_240
"""The maximum sizes of a JWT, of a URL, and of all headers together in API Gateway, in bytes."""
_SVG = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9">'


@dataclass(frozen=True)
class LongInput:
    """A long input for a parser.

    Attributes:
        build: returns an input of approximately the given size, which the input never exceeds.
        size: the parser's maximum, or less if the parser does much work per byte.
    """

    build: Callable[[int], bytes]
    size: int


def _repeat(begin: str, piece: str, end: str, size: int) -> LongInput:
    return LongInput(partial(_fill, begin, piece, end), size)


def _fill(begin: str, piece: str, end: str, size: int) -> bytes:
    room = size - len(begin.encode()) - len(end.encode())
    return f"{begin}{piece * (room // len(piece.encode()))}{end}".encode()


def _name_members(begin: str, end: str, size: int) -> LongInput:
    return LongInput(partial(_fill_with_members, begin, end), size)


def _fill_with_members(begin: str, end: str, size: int) -> bytes:
    count = (size - len(begin) - len(end)) // len('"abc":1,')
    members = ",".join(f'"{name}":1' for name in _names(count))
    return f"{begin}{members}{end}".encode()


def _names(count: int) -> Iterator[str]:
    return ("".join(letters) for letters, _ in zip(product(ascii_letters, repeat=3), range(count), strict=False))


def _refer_from_every_element(size: int, *, known: bool) -> bytes:
    """Return a style sheet with hundreds of references for each of a document's thousands of elements.

    The elements use each other, so a parser draws one element at least as often as the number of names.
    """
    count = size // 50
    names = list(_names(count))
    style = "".join(f"url(#{name})" for name in names)
    targets = "".join(f'<g id="{name}"/>' for name in names) if known else ""
    doubled = "".join(
        f'<g id="u{each}"><use href="#u{each - 1}"/><use href="#u{each - 1}"/></g>'
        for each in range(1, count.bit_length() + 1)
    )
    drawn = f'<g id="u0" style="fill:{style[:200]}"><path/></g>'
    begin = f"{_SVG}<style>*{{fill:{style}}}</style><defs>{targets}</defs>{drawn}{doubled}"
    return _fill(begin, "<g/>", "</svg>", size)


INPUTS: Mapping[str, Mapping[str, LongInput]] = {
    "logo": {
        "style-of-spaces": _repeat(f"{_SVG}<style>", " ", "</style></svg>", LOGO_BYTES),
        "style-of-lines": _repeat(f"{_SVG}<style>", "\n", "</style></svg>", LOGO_BYTES),
        "style-without-rules": _repeat(f"{_SVG}<style>", "a", "</style></svg>", LOGO_BYTES),
        "style-of-open-rules": _repeat(f"{_SVG}<style>", "a{", "</style></svg>", LOGO_BYTES),
        "style-of-comments": _repeat(f"{_SVG}<style>", "/*", "</style></svg>", LOGO_BYTES),
        "style-of-classes": _repeat(f"{_SVG}<style>", ".a{fill:url(#b)}", "</style></svg>", LOGO_BYTES),
        "address-of-spaces": _repeat(f'{_SVG}<path style="fill:url(', " ", '#a)"/></svg>', LOGO_BYTES),
        "addresses": _repeat(f'{_SVG}<path style="fill:', "url(", '"/></svg>', LOGO_BYTES),
        "path-of-arcs": _repeat(f'{_SVG}<path d="M0 0', "a1 1 0 0", '"/></svg>', LOGO_BYTES),
        "transforms": _repeat(f'{_SVG}<path transform="', "scale(1)", '"/></svg>', LOGO_BYTES),
        "number": _repeat(f'{_SVG}<path width="', "1", '"/></svg>', LOGO_BYTES),
        "elements": _repeat(_SVG, "<g/>", "</svg>", LOGO_BYTES // 4),
        "unknown-references": LongInput(partial(_refer_from_every_element, known=False), LOGO_BYTES // 4),
        "known-references": LongInput(partial(_refer_from_every_element, known=True), LOGO_BYTES // 4),
    },
    "json": {
        "lists": _repeat("", "[", "", CARD_BYTES),
        "objects": _repeat("", '{"a":', "", CARD_BYTES),
        "digits": _repeat("", "1", "", CARD_BYTES),
        "fraction": _repeat("0.", "1", "", CARD_BYTES),
        "numbers": _repeat("[", "1" * 4_300 + ",", "1]", CARD_BYTES),
        "halves": _repeat('"', "\\ud800", '"', CARD_BYTES),
    },
    "jwt": {"dots": _repeat("", ".", "", JWT_BYTES), "letters": _repeat("", "a", ".a.a", JWT_BYTES)},
    "key-set": {"modulus": _repeat('{"keys":[{"kty":"RSA","e":"AQAB","n":"', "_", '"}]}', MAX_KEY_SET_BYTES)},
    "message": {
        "problems": _repeat("InitAuthorization\n[", "1,", "1]", BODY_BYTES),
        "members": _name_members("InitAuthorization\n{", "}", BODY_BYTES),
    },
    "card-request": {"members": _name_members('{"action":"createAccount",', "}", CARD_BYTES)},
    "bank-answer": {
        "accounts": _repeat('/v2_accounts\n{"accounts":[', "{},", "{}]}", ANSWER_BYTES // 400),
        "lists": _repeat('/v2_accounts\n{"accounts":', "[", "", ANSWER_BYTES),
    },
    "request": {
        "cookies": _repeat("Cookie: ", "a=b;", "\n\n", HEADER_BYTES),
        "preferences": _repeat("Prefer: ", "a,", "\n\n", HEADER_BYTES),
        "fields": _repeat("\n\n", "a&", "", BODY_BYTES),
    },
    "http-response": {
        "headers": _repeat("HTTP/1.1 200 OK\r\n", "a: b\r\n", "\r\n", 10 * BODY_BYTES),
        "folded": _repeat("HTTP/1.1 200 OK\r\na: b\r\n", f" {'c' * 65_000}\r\n", "\r\n", 90 * BODY_BYTES),
        "interim": _repeat("", "HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n", 10 * BODY_BYTES),
        "chunks": _repeat("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "1\r\na\r\n", "", 3 * BODY_BYTES),
    },
    "retry-after": {"digits": _repeat("", "1", "", BODY_BYTES), "date": _repeat("Wed, ", "21 ", "", BODY_BYTES)},
    "name": {"parts": _repeat("", "CN=a,", "CN=a", BODY_BYTES // 4), "escapes": _repeat("CN=", "\\", "", BODY_BYTES)},
    "address": {
        "dots": _repeat("https://", "a.", "example/", ADDRESS_BYTES),
        "digits": _repeat("https://", "1", "/", ADDRESS_BYTES),
        "fields": _repeat("https://tpp.example/?", "a&", "", ADDRESS_BYTES),
    },
    "title": {
        "marks": _repeat("a", "\u0301\u0323", "", BODY_BYTES),
        "joiners": _repeat("\u0646", "\u200c", "\u0646", BODY_BYTES),
    },
    "amount": {"digits": _repeat("", "1", "", BODY_BYTES), "groups": _repeat("1", ",111", "", BODY_BYTES)},
    "field": {"spaces": _repeat("", " ", "", BODY_BYTES), "letters": _repeat("", "a", "1", BODY_BYTES)},
    "time": {"digits": _repeat("", "1", "", BODY_BYTES), "duration": _repeat("PT", "1", "S", BODY_BYTES)},
    "recorded-answer": {"controls": _repeat("", "\0", "", 65_536)},
    "certificate": {"lines": _repeat("-----BEGIN CERTIFICATE-----\n", "A\n", "", BODY_BYTES)},
    "pasted-key": {
        "begins": _repeat("", "-----BEGIN A-----", "", BODY_BYTES),
        "lines": _repeat("-----BEGIN A-----\n", "A\n", "", BODY_BYTES),
        "keys": _repeat('{"keys":[', "{},", "{}]}", BODY_BYTES),
    },
    "signature": {
        "dashes": _repeat("", "-", "!", BODY_BYTES),
        "words": _repeat("", "a ", "!", BODY_BYTES),
        "dots": _repeat("", "a.", "!", BODY_BYTES),
        "digits": _repeat("", "0", "", BODY_BYTES),
    },
    "key": {"lines": _repeat("-----BEGIN PUBLIC KEY-----\n", "-----BEGIN ", "", BODY_BYTES)},
}
MOST_GROWTH = 2.2
"""The maximum factor by which the work may grow for an input of twice the size."""
CASES = [(target, name) for target, inputs in INPUTS.items() for name in inputs]


@pytest.fixture(autouse=True)
def time_limit() -> Iterator[None]:
    before = signal.signal(signal.SIGALRM, lambda *_: pytest.fail("the parser takes more than linear work"))
    signal.alarm(PATIENCE_SECONDS)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def count_calls(target: Target, content: bytes) -> int:
    profile = Profile()
    gc.disable()  # a collection calls finalizers of other tests' objects
    try:
        profile.runcall(target.run, content)
    finally:
        gc.enable()
    return sum(function.callcount for function in profile.getstats())


@pytest.mark.parametrize(("target", "name"), CASES, ids=[f"{target}-{name}" for target, name in CASES])
def test_parsing_an_input_of_double_size_makes_at_most_about_twice_as_many_function_calls(
    target: str, name: str
) -> None:
    parser, longest = TARGETS[target], INPUTS[target][name]
    parser.run(longest.build(longest.size // 64))  # fills caches
    half, whole = (count_calls(parser, longest.build(size)) for size in (longest.size // 2, longest.size))

    assert whole <= MOST_GROWTH * half


def read_drawing(name: str, monkeypatch: pytest.MonkeyPatch) -> Drawing:
    """Return the drawing that the logo parser builds from a long logo."""
    drawings: list[Drawing] = []

    class KeptDrawing(Drawing):
        def __init__(self) -> None:
            super().__init__()
            drawings.append(self)

    monkeypatch.setattr(svg_logos, "Drawing", KeptDrawing)
    longest = INPUTS["logo"][name]
    TARGETS["logo"].run(longest.build(longest.size))
    (drawing,) = drawings
    return drawing


def test_svg_elements_share_the_sets_of_inherited_references(monkeypatch: pytest.MonkeyPatch) -> None:
    drawing = read_drawing("known-references", monkeypatch)

    sets = {id(each.inherited): each.inherited for each in drawing.elements}
    assert len(drawing.elements) > 2_000
    assert sum(map(len, sets.values())) <= 2 * len(drawing.elements)


def test_svg_elements_store_no_references_to_unknown_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stored reference to an unknown id would be looked up for each drawn element."""
    drawing = read_drawing("unknown-references", monkeypatch)

    styles = [each.style for each in drawing.elements]
    kept = frozenset[str]().union(*(style.applied | style.inherited for style in styles))
    assert len(styles) > 2_000
    assert kept <= drawing.by_id.keys()
