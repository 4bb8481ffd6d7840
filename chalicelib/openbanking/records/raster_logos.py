"""Validation of PNG and JPEG logos: complete files with a width and height of at most ``MOST_PIXELS``.

The size of a file does not limit the memory that a browser needs: a few kilobytes can decode to gigabytes of pixels or
text.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Iterator, Mapping

from chalicelib.openbanking.records.bank_record import InvalidBank

MOST_PIXELS = 2_000
"""The maximum width and height of a logo."""
PNG = b"\x89PNG\r\n\x1a\n"
JPEG = b"\xff\xd8\xff"
_NEEDED_CHUNKS = (b"IHDR", b"PLTE", b"tRNS", b"IDAT", b"IEND")
"""The PNG chunks that are stored: the chunks that a picture needs (PNG §5.6), and the chunk with its transparent
colours.
"""
_CHANNELS: Mapping[int, tuple[int, tuple[int, ...]]] = {
    0: (1, (1, 2, 4, 8, 16)),
    2: (3, (8, 16)),
    3: (1, (1, 2, 4, 8)),
    4: (2, (8, 16)),
    6: (4, (8, 16)),
}
"""The number of channels and the allowed bit depths of each colour type (PNG §11.2.1)."""
_PASSES = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2))
"""The passes of an interlaced picture (PNG §8.2): first column, first row, and the steps to the next column and row."""
_PIECE = 65_536
_JPEG_END = b"\xff\xd9"
_MARKER = re.compile(rb"\xff+([^\xff])", re.DOTALL)
_SCAN = b"\xda"
_MOST_SCANS = 64
"""The maximum number of scans of a progressive JPEG picture. Decoders process the whole picture for each scan."""
_FRAMES = (b"\xc0", b"\xc1", b"\xc2")


def clean_png(content: bytes) -> bytes:
    """Return a PNG file without ancillary chunks, such as texts. Transparency is preserved. Raises: InvalidBank."""
    chunks = [chunk for chunk in _read_chunks(content) if chunk[:4] in _NEEDED_CHUNKS or not chunk[0] & 0x20]
    kinds = [chunk[:4] for chunk in chunks]
    if kinds[:1] != [b"IHDR"] or kinds[-1:] != [b"IEND"] or not set(kinds) <= set(_NEEDED_CHUNKS):
        raise _damaged("PNG")
    size = _count_png_bytes(chunks[0][4:], has_palette=b"PLTE" in kinds)
    if not _has_inflated(b"".join(chunk[4:] for chunk in chunks if chunk[:4] == b"IDAT"), size):
        raise _damaged("PNG")
    return PNG + b"".join(map(_frame, chunks))


def check_jpeg(content: bytes) -> None:
    """Check the segments of a JPEG file up to its scan, and check that the scan ends. Raises: InvalidBank.

    Bytes of the value 255 may pad any marker (ITU-T T.81, B.1.1.2), and decoders ignore data after the end.
    """
    place, has_frame = 2, False
    while marker := _MARKER.match(content, place):
        if marker[1] == _SCAN:
            break
        if marker[1] in _FRAMES:
            has_frame = True
            _check_frame(content[marker.end() + 2 : marker.end() + 7])
        place = marker.end() + max(int.from_bytes(content[marker.end() : marker.end() + 2], "big"), 2)
    end = content.find(_JPEG_END, place)
    if marker is None or not has_frame or end < 0:
        raise _damaged("JPEG")
    if content.count(b"\xff" + _SCAN, place, end) > _MOST_SCANS:
        raise InvalidBank(f"the logo is a JPEG file of more than {_MOST_SCANS} scans")


def _damaged(kind: str) -> InvalidBank:
    return InvalidBank(f"the logo is a damaged {kind} file")


def _check_size(width: int, height: int) -> None:
    if not 0 < width <= MOST_PIXELS or not 0 < height <= MOST_PIXELS:
        raise InvalidBank(f"a logo must have 1 to {MOST_PIXELS} pixels in each direction")


def _check_frame(header: bytes) -> None:
    if len(header) != 5:
        raise _damaged("JPEG")
    _, height, width = struct.unpack(">BHH", header)
    _check_size(width, height)


def _read_chunks(content: bytes) -> Iterator[bytes]:
    """Yield the kind and data of each chunk, and verify its checksum."""
    place = len(PNG)
    while place < len(content):
        length = int.from_bytes(content[place : place + 4], "big")
        chunk, checksum = content[place + 4 : place + 8 + length], content[place + 8 + length : place + 12 + length]
        if len(checksum) != 4 or zlib.crc32(chunk) != int.from_bytes(checksum, "big"):
            raise _damaged("PNG")
        yield chunk
        place += 12 + length


def _frame(chunk: bytes) -> bytes:
    return struct.pack(">I", len(chunk) - 4) + chunk + struct.pack(">I", zlib.crc32(chunk))


def _count_png_bytes(header: bytes, *, has_palette: bool) -> int:
    """Return the number of bytes in the rows of an image, including the filter byte of each row."""
    if len(header) != 13:
        raise _damaged("PNG")
    width, height, depth, colours, compression, filters, interlace = struct.unpack(">IIBBBBB", header)
    _check_size(width, height)
    channels, depths = _CHANNELS.get(colours, (0, ()))
    if depth not in depths or (compression, filters) != (0, 0) or interlace > 1 or (colours == 3 and not has_palette):
        raise _damaged("PNG")
    passes = _PASSES if interlace else ((0, 0, 1, 1),)
    sizes = [(-(-(width - x) // across), -(-(height - y) // down)) for x, y, across, down in passes]
    return sum(rows * (1 + -(-columns * channels * depth // 8)) for columns, rows in sizes if columns > 0)


def _has_inflated(data: bytes, size: int) -> bool:
    """Whether compressed ``data`` inflate to at least ``size`` bytes. Inflation stops at this size."""
    inflating, found = zlib.decompressobj(), 0
    try:
        while found < size and (piece := inflating.decompress(data, _PIECE)):
            found, data = found + len(piece), inflating.unconsumed_tail
    except zlib.error:
        return False
    return found >= size
