"""Logos for tests: small files of each type."""

from __future__ import annotations

import struct
import zlib

SVG = b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 8 8"><path d="M0 0h8v8H0z" fill="#123"/></svg>'
JPEG = bytes.fromhex("ffd8ffe000104a46494600010100000100010000ffc0000b080001000101011100ffda0008010100003f0037ffd9")


IMAGE_DATA = (b"IDAT", zlib.compress(b"\0\0"))
"""The chunk of a PNG file with one black pixel."""


def header(width: int, height: int, *, depth: int = 8, colours: int = 0, interlace: int = 0) -> tuple[bytes, bytes]:
    """The first chunk of a PNG file."""
    return b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colours, 0, 0, interlace)


def jpeg(width: int, height: int, scans: bytes = b"") -> bytes:
    """A JPEG file of this size, with more scans before its only one."""
    frame = JPEG.replace(b"\x08\x00\x01\x00\x01", struct.pack(">BHH", 8, height, width))
    return frame.replace(b"\xff\xda", scans + b"\xff\xda", 1)


def png(*chunks: tuple[bytes, bytes]) -> bytes:
    """A PNG file with one black pixel, or with these chunks instead."""
    usual = (header(1, 1), IMAGE_DATA, (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, data) for kind, data in chunks or usual)


def svg(inside: str = "", attributes: str = "") -> bytes:
    """An SVG document with this content."""
    space = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
    return f"<svg {space} {attributes}>{inside}</svg>".encode()


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
