"""Reads a request body with a size limit."""

from __future__ import annotations

from starlette.requests import ClientDisconnect, Request

from causeway.bank.refusals import BadRequest


async def read_body(request: Request, most: int) -> bytes:
    """Read the body. Raises ``BadRequest`` if the body has more than ``most`` bytes or is incomplete."""
    found = bytearray()
    try:
        async for part in request.stream():
            found += part
            if len(found) > most:
                raise BadRequest("the body is too large")
    except ClientDisconnect as error:
        raise BadRequest("the body is incomplete") from error
    return bytes(found)
