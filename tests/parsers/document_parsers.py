"""Parsers of documents: JSON, logos, and responses of banks and receivers."""

from __future__ import annotations

import http.client
from collections.abc import Mapping
from typing import Any

from chalicelib.delivery.recorded_exchange import record_answer
from chalicelib.foundation import jsontext
from chalicelib.foundation.context import CapturedHeaders
from chalicelib.foundation.http.connection_pool import read_body
from chalicelib.foundation.http.deadline_connections import Connection, Exchange
from chalicelib.foundation.http.outbound import Reply
from chalicelib.foundation.jsontext import InvalidJson
from chalicelib.openbanking.records.bank_record import InvalidBank
from chalicelib.openbanking.records.logo_validation import read_logo
from tests.parsers import parties
from tests.parsers.target import Target, text


def read_json(content: bytes) -> None:
    """JSON, which must stay the same when it is written and read again."""
    value = jsontext.loads(content)
    assert jsontext.loads(jsontext.dumps(value)) == value


class FedSocket:
    """A socket with bytes to receive."""

    def __init__(self, content: bytes) -> None:
        self._content = memoryview(content)

    def settimeout(self, _: float) -> None: ...

    def sendall(self, _: bytes) -> None: ...

    def close(self) -> None: ...

    def makefile(self, _mode: str, buffering: int) -> FedSocket:
        return self

    def recv_into(self, buffer: Any) -> int:
        piece = self._content[: len(buffer)]
        buffer[: len(piece)] = piece
        self._content = self._content[len(piece) :]
        return len(piece)


def read_response(content: bytes) -> None:
    """A response of a bank, a receiver of events, or the host of a key set."""
    connection = Connection("bank.example")
    connection.begin_exchange(Exchange(until=float("inf"), is_captured=False))
    connection.sock = FedSocket(content)
    connection.request("POST", "/", b"{}")
    response = connection.getresponse()
    read_body(response, 5_000_000)
    Reply(response.status, b"", dict(response.headers.items()), 0).retry_after(parties.CLOCK.time())


def read_retry_after(content: bytes) -> None:
    """The header ``Retry-After``."""
    Reply(429, b"", {"Retry-After": text(content)}, 0).retry_after(parties.CLOCK.time())


def read_recorded_answer(content: bytes) -> None:
    """The part of a receiver's response that an attempt keeps."""
    captured = CapturedHeaders()
    captured.beginning = content
    record_answer(captured)


TARGETS: Mapping[str, Target] = {
    "json": Target(read_json, (InvalidJson,)),
    "logo": Target(read_logo, (InvalidBank,), most=8192),
    "http-response": Target(read_response, (OSError, ValueError, http.client.HTTPException)),
    "retry-after": Target(read_retry_after),
    "recorded-answer": Target(read_recorded_answer),
}
