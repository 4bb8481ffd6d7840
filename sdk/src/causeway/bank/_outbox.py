"""Mandatory calls to the hub. Each call is stored before the change that it reports, and retried until the hub
responds.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from causeway import _waiting
from causeway.bank.hub import HubClient
from causeway.bank.storage import Storage, Values
from causeway.errors import CausewayError, HubError

log = logging.getLogger("causeway")
RETENTION_SECONDS = 7 * 86400.0
CORRECTABLE = frozenset(
    {
        *("4004", "4200", "4201", "4203"),
        *("SERVICE_BLOCKED", "WRONG_CREDENTIALS", "AUTHENTICATION_REQUIRED", "SSL_CREDENTIALS_NOT_FOUND"),
        "HEADERS_ERROR",
    }
)
"""Error codes of refusals that can be resolved by a correction of keys, of a certificate, or of the bank's record at
the hub.
"""


class Outbox:
    """The pending calls of a bank, one for each subject. A newer status of a payment replaces an older status."""

    def __init__(self, storage: Storage, hub: HubClient) -> None:
        self._storage = storage
        self._hub = hub

    async def put(self, call: str, subject: str, **members: Any) -> None:
        """Store a call, which ``send`` will make."""
        key, new = f"{call} {subject}", {"call": call, "request_id": str(uuid.uuid4()), "members": members}
        while not await self._storage.add("call", key, new, expires_at=_waiting.now() + RETENTION_SECONDS):
            old = await self._storage.get("call", key)
            if old is not None and await self._storage.replace("call", key, old, new):
                return

    async def pending(self, call: str) -> list[str]:
        """Return the subjects of the pending calls with a name."""
        return [
            key.partition(" ")[2] for key, value in (await self._storage.find("call")).items() if value["call"] == call
        ]

    async def members(self, call: str, subject: str) -> Mapping[str, Any] | None:
        """Return the members of a pending call. Return ``None`` if the call has been completed."""
        value = await self._storage.get("call", f"{call} {subject}")
        return value["members"] if value else None

    async def send(self, call: str = "", subject: str = "") -> None:
        """Make one pending call or all pending calls. Calls without a response remain pending."""
        pending = await self._storage.find("call")
        for key, value in pending.items():
            if not call or key == f"{call} {subject}":
                await self._make(key, value)

    async def _make(self, key: str, value: Values) -> None:
        try:
            await self._hub.call(value["call"], request_id=value["request_id"], **value["members"])
        except CausewayError as error:
            if not is_final(error):
                log.warning("%s (request %s) is still pending: %s", value["call"], value["request_id"], error)
                return
            log.warning("%s was refused, and is not made again: %s", value["call"], error)
        await self._storage.replace("call", key, value, None)


def is_final(error: CausewayError) -> bool:
    """Return whether the hub has parsed and finally refused a call. Responses without an error code of the hub may come
    from a proxy.
    """
    if not isinstance(error, HubError) or not error.code or error.code in CORRECTABLE:
        return False
    refused = error.status < HTTPStatus.INTERNAL_SERVER_ERROR and error.status != HTTPStatus.TOO_MANY_REQUESTS
    return refused and error.retry_after is None
