"""Logos for tests: small files of each type."""

from __future__ import annotations

import struct
import zlib

SVG = b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 8 8"><path d="M0 0h8v8H0z" fill="#123"/></svg>'
JPEG = bytes.fromhex("ffd8ffe000104a46494600010100000100010000ffc0000b080001000101011100ffda0008010100003f0037ffd9")


def png(*chunks: tuple[bytes, bytes]) -> bytes:
    """A PNG file with one black pixel, or with these chunks instead."""
    usual = ((b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)), (b"IDAT", zlib.compress(b"\0\0")), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, data) for kind, data in chunks or usual)


def svg(inside: str = "", attributes: str = "") -> bytes:
    """An SVG document with this content."""
    space = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
    return f"<svg {space} {attributes}>{inside}</svg>".encode()


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
