"""Inputs of the maximum size that would take hours if a parser needed more than linear work."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from string import ascii_letters

from chalicelib.cards.requests.envelope import BODY_BYTES as CARD_BYTES
from chalicelib.foundation.http.outbound import ANSWER_BYTES
from chalicelib.foundation.http.web import BODY_BYTES
from chalicelib.openbanking.oauth.key_sets import MAX_KEY_SET_BYTES
from chalicelib.openbanking.records.bank_logos import LOGO_BYTES

JWT_BYTES, ADDRESS_BYTES, HEADER_BYTES = 16_384, 2_048, 10_240
"""The last is API Gateway's limit of all headers together."""
_SVG = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9">'


def _fill(begin: str, piece: str, end: str, size: int) -> bytes:
    """``piece`` as often as ``size`` allows, between ``begin`` and ``end``."""
    room = size - len(begin.encode()) - len(end.encode())
    return f"{begin}{piece * (room // len(piece.encode()))}{end}".encode()


def _names(count: int) -> Iterator[str]:
    """Names of three letters."""
    return ("".join(letters) for letters, _ in zip(product(ascii_letters, repeat=3), range(count), strict=False))


def _references_of_every_element(*, known: bool) -> bytes:
    """A style sheet that refers to thousands of names, for every element of a document that has thousands.

    Elements that use each other are drawn 4,096 times.
    """
    names = list(_names(2_000))
    style = "".join(f"url(#{name})" for name in names)
    targets = "".join(f'<g id="{name}"/>' for name in names) if known else ""
    doubled = "".join(
        f'<g id="u{each}"><use href="#u{each - 1}"/><use href="#u{each - 1}"/></g>' for each in range(1, 13)
    )
    begin = f'{_SVG}<style>*{{fill:{style}}}</style><defs>{targets}</defs><g id="u0"><path/></g>{doubled}'
    return _fill(begin, "<g/>", "</svg>", LOGO_BYTES)


LOGOS: Mapping[str, bytes] = {
    "style-of-spaces": _fill(f"{_SVG}<style>", " ", "</style></svg>", LOGO_BYTES),
    "style-of-lines": _fill(f"{_SVG}<style>", "\n", "</style></svg>", LOGO_BYTES),
    "style-without-rules": _fill(f"{_SVG}<style>", "a", "</style></svg>", LOGO_BYTES),
    "style-of-open-rules": _fill(f"{_SVG}<style>", "a{", "</style></svg>", LOGO_BYTES),
    "style-of-comments": _fill(f"{_SVG}<style>", "/*", "</style></svg>", LOGO_BYTES),
    "style-of-classes": _fill(f"{_SVG}<style>", ".a{fill:url(#b)}", "</style></svg>", LOGO_BYTES),
    "address-of-spaces": _fill(f'{_SVG}<path style="fill:url(', " ", '#a)"/></svg>', LOGO_BYTES),
    "addresses": _fill(f'{_SVG}<path style="fill:', "url(", '"/></svg>', LOGO_BYTES),
    "path-of-arcs": _fill(f'{_SVG}<path d="M0 0', "a1 1 0 0", '"/></svg>', LOGO_BYTES),
    "transforms": _fill(f'{_SVG}<path transform="', "scale(1)", '"/></svg>', LOGO_BYTES),
    "number": _fill(f'{_SVG}<path width="', "1", '"/></svg>', LOGO_BYTES),
    "elements": _fill(_SVG, "<g/>", "</svg>", LOGO_BYTES),
    "unknown-references": _references_of_every_element(known=False),
    "known-references": _references_of_every_element(known=True),
}
INPUTS: Mapping[str, Mapping[str, bytes]] = {
    "logo": LOGOS,
    "json": {
        "lists": _fill("", "[", "", CARD_BYTES),
        "objects": _fill("", '{"a":', "", CARD_BYTES),
        "digits": _fill("", "1", "", CARD_BYTES),
        "fraction": _fill("0.", "1", "", CARD_BYTES),
        "numbers": _fill("[", "1" * 4_300 + ",", "1]", CARD_BYTES),
        "halves": _fill('"', "\\ud800", '"', CARD_BYTES),
    },
    "jwt": {"dots": _fill("", ".", "", JWT_BYTES), "letters": _fill("", "a", ".a.a", JWT_BYTES)},
    "key-set": {"modulus": _fill('{"keys":[{"kty":"RSA","e":"AQAB","n":"', "_", '"}]}', MAX_KEY_SET_BYTES)},
    "message": {
        "problems": _fill("InitAuthorization\n[", "1,", "1]", BODY_BYTES),
        "members": b"InitAuthorization\n{%s}" % ",".join(f'"{name}":1' for name in _names(7_000)).encode(),
    },
    "card-request": {
        "members": b'{"action":"createAccount",%s}' % ",".join(f'"{name}":1' for name in _names(90_000)).encode()
    },
    "bank-answer": {
        "accounts": _fill('/v2_accounts\n{"accounts":[', "{},", "{}]}", ANSWER_BYTES // 100),
        "lists": _fill('/v2_accounts\n{"accounts":', "[", "", ANSWER_BYTES),
    },
    "request": {
        "cookies": _fill("Cookie: ", "a=b;", "\n\n", HEADER_BYTES),
        "preferences": _fill("Prefer: ", "a,", "\n\n", HEADER_BYTES),
        "fields": _fill("\n\n", "a&", "", BODY_BYTES),
    },
    "http-response": {
        "headers": _fill("HTTP/1.1 200 OK\r\n", "a: b\r\n", "\r\n", 10 * BODY_BYTES),
        "folded": b"HTTP/1.1 200 OK\r\na: b\r\n" + 90 * (b" " + 65_000 * b"c" + b"\r\n") + b"\r\n",
        "interim": _fill("", "HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n", 10 * BODY_BYTES),
        "chunks": _fill("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "1\r\na\r\n", "", 10 * BODY_BYTES),
    },
    "retry-after": {"digits": _fill("", "1", "", BODY_BYTES), "date": _fill("Wed, ", "21 ", "", BODY_BYTES)},
    "name": {"parts": _fill("", "CN=a,", "CN=a", BODY_BYTES), "escapes": _fill("CN=", "\\", "", BODY_BYTES)},
    "address": {
        "dots": _fill("https://", "a.", "example/", ADDRESS_BYTES),
        "digits": _fill("https://", "1", "/", ADDRESS_BYTES),
        "fields": _fill("https://tpp.example/?", "a&", "", ADDRESS_BYTES),
    },
    "title": {
        "marks": _fill("a", "\u0301\u0323", "", BODY_BYTES),
        "joiners": _fill("\u0646", "\u200c", "\u0646", BODY_BYTES),
    },
    "amount": {"digits": _fill("", "1", "", BODY_BYTES), "groups": _fill("1", ",111", "", BODY_BYTES)},
    "field": {"spaces": _fill("", " ", "", BODY_BYTES), "letters": _fill("", "a", "1", BODY_BYTES)},
    "time": {"digits": _fill("", "1", "", BODY_BYTES), "duration": _fill("PT", "1", "S", BODY_BYTES)},
    "recorded-answer": {"controls": _fill("", "\0", "", 65_536)},
    "certificate": {"lines": _fill("-----BEGIN CERTIFICATE-----\n", "A\n", "", BODY_BYTES)},
    "key": {"lines": _fill("-----BEGIN PUBLIC KEY-----\n", "-----BEGIN ", "", BODY_BYTES)},
}
"""Inputs by target and name."""
