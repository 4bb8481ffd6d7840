"""Shared objects that say what they need, and have nothing else."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

MACHINES = {"aarch64": 183, "x86_64": 62}
WEAK = 2
_STRTAB, _DYNAMIC, _VERNEED = 3, 6, 0x6FFFFFFE
_NEEDED = 1
_HEADER, _SECTION = 64, 64


class _Strings:
    """A string table."""

    def __init__(self) -> None:
        self.content = b"\0"

    def add(self, text: str) -> int:
        """The offset of a text that is added."""
        place = len(self.content)
        self.content += text.encode() + b"\0"
        return place


def shared_object(machine: str, needed: Mapping[str, Sequence[str]], weak: Sequence[str] = ()) -> bytes:
    """An ELF file for ``machine`` (Linux's name) that needs libraries in versions; those of ``weak`` are weak."""
    strings, names = _Strings(), _Strings()
    versions = b""
    versioned = {library: wanted for library, wanted in needed.items() if wanted}
    for position, (library, wanted) in enumerate(versioned.items()):
        after = 16 + 16 * len(wanted) if position < len(versioned) - 1 else 0
        versions += struct.pack("<HHIII", 1, len(wanted), strings.add(library), 16, after)
        for index, name in enumerate(wanted):
            flags = WEAK if name in weak else 0
            last = index == len(wanted) - 1
            versions += struct.pack("<IHHII", 0, flags, index + 2, strings.add(name), 0 if last else 16)
    dynamic = b"".join(struct.pack("<QQ", _NEEDED, strings.add(library)) for library in needed) + bytes(16)
    contents = [
        (".dynstr", _STRTAB, strings.content, 0, 0),
        (".dynamic", _DYNAMIC, dynamic, 1, 16),
        (".gnu.version_r", _VERNEED, versions, 1, 0),
    ]
    headers, body = bytes(_SECTION), b""
    for name, kind, content, link, size in contents:
        count = len(versioned) if kind == _VERNEED else 0
        place = names.add(name)
        headers += struct.pack(
            "<IIQQQQIIQQ", place, kind, 0, 0, _HEADER + len(body), len(content), link, count, 1, size
        )
        body += content
    place = names.add(".shstrtab")
    headers += struct.pack("<IIQQQQIIQQ", place, _STRTAB, 0, 0, _HEADER + len(body), len(names.content), 0, 0, 1, 0)
    body += names.content
    start = _HEADER + len(body)
    identity = b"\x7fELF" + bytes([2, 1, 1]) + bytes(9)
    return (
        identity
        + struct.pack("<HHIQQQIHHHHHH", 3, MACHINES[machine], 1, 0, 0, start, 0, 64, 56, 0, 64, 5, 4)
        + body
        + headers
    )
