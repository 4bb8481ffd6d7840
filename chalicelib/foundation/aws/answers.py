"""Responses of AWS's JSON protocols.

https://smithy.io/2.0/aws/protocols/aws-json-1_0-protocol.html; DynamoDB adds ``x-amz-crc32``, SQS
``x-amzn-query-error`` with the code of its older protocol. Gzip is decoded, although no request accepts it.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from typing import Any

from chalicelib.foundation.aws.errors import ErrorResponse, NoAnswer
from chalicelib.foundation.lazy_dataclasses import dataclass

_OK = 200
_GZIP = zlib.MAX_WBITS | 16
LARGEST = 32_000_000
"""The maximum size of a response body in bytes, before and after decompression."""
_QUOTING = {"InvalidSignatureException", "SignatureDoesNotMatch"}
"""Error codes whose messages quote the headers of the request, including the session token."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A complete HTTP response. Headers have lower-case names."""

    status: int
    headers: Mapping[str, str]
    body: bytes


def read(operation: str, answer: Answer) -> dict[str, Any]:
    """Return the members of a successful response. Raises: NoAnswer, ErrorResponse."""
    members = _members(answer)
    if answer.status == _OK:
        if members is None:
            raise NoAnswer(f"{operation}: the answer is no JSON object")
        return members
    members = members or {}
    code = _code(answer, members) or str(answer.status)
    message = "" if code in _QUOTING else str(members.get("message") or members.get("Message") or "")
    raise ErrorResponse(operation, code, message, status=answer.status, members=members, headers=answer.headers)


def _members(answer: Answer) -> dict[str, Any] | None:
    """Parse the members of a JSON response. Return ``None`` for any other body.

    Raises: NoAnswer: the checksum is wrong, or the body cannot be decompressed.
    """
    checksum, body = answer.headers.get("x-amz-crc32"), answer.body
    if checksum is not None and checksum != str(zlib.crc32(body)):
        raise NoAnswer("the answer's checksum is wrong")
    if answer.headers.get("content-encoding") == "gzip":
        body = _unzipped(body)
    try:
        members = json.loads(body or b"{}")
    except (ValueError, RecursionError):
        return None
    return members if isinstance(members, dict) else None


def _unzipped(body: bytes) -> bytes:
    unzip = zlib.decompressobj(_GZIP)
    try:
        content = unzip.decompress(body, LARGEST)
    except zlib.error as error:
        raise NoAnswer("the answer cannot be unzipped") from error
    if not unzip.eof:
        raise NoAnswer("the zipped answer is not whole, or too large")
    return content


def _code(answer: Answer, members: Mapping[str, Any]) -> str:
    older = answer.headers.get("x-amzn-query-error", "").partition(";")[0]
    named = members.get("__type") or members.get("code") or answer.headers.get("x-amzn-errortype") or ""
    return older or str(named).rpartition("#")[2].partition(":")[0]
