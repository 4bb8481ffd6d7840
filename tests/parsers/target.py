"""A parser that takes bytes, and the errors that it documents."""

from __future__ import annotations

from base64 import b64decode, encodebytes
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

CORPUS = Path(__file__).parent / "corpus"


@dataclass(frozen=True)
class Armour:
    """How bytes are wrapped as text; the fuzzer changes the bytes inside."""

    unwrap: Callable[[bytes], bytes]
    wrap: Callable[[bytes], bytes]


@dataclass(frozen=True)
class Target:
    """A parser.

    Attributes:
        parse: takes what somebody sent.
        errors: the errors that it may raise; any other is a defect.
        most: the bytes that the fuzzer generates at most.
        armour: the wrapping of binary input.
    """

    parse: Callable[[bytes], object]
    errors: tuple[type[Exception], ...] = ()
    most: int = 2048
    armour: Armour | None = None

    def run(self, content: bytes) -> None:
        """Raises: whatever the parser does not document."""
        with suppress(*self.errors):
            self.parse(content)


def text(content: bytes) -> str:
    """The text in which API Gateway or the event passes bytes on; bytes that are not UTF-8 are replaced."""
    return content.decode(errors="replace")


def pem(label: str) -> Armour:
    """The armour of PEM (RFC 7468)."""
    begin, end = (f"-----{word} {label}-----\n".encode() for word in ("BEGIN", "END"))

    def unwrap(content: bytes) -> bytes:
        return b64decode(content.partition(begin)[2].partition(end)[0])

    def wrap(content: bytes) -> bytes:
        return begin + encodebytes(content) + end

    return Armour(unwrap, wrap)
