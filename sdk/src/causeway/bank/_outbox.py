"""Calls to the hub that must be made: stored before what they tell happens, and repeated until the hub has answered."""

from __future__ import annotations

import logging
import uuid
from typing import Any

from causeway import _waiting
from causeway.bank.hub import HubClient
from causeway.bank.storage import Storage, Values
from causeway.errors import CausewayError, ConnectionLost, HubError

log = logging.getLogger("causeway")
KEPT_SECONDS = 7 * 86400.0
SERVER_ERROR = 500


class Outbox:
    """The pending calls of a bank, one for each subject: a newer status of a payment replaces an older one."""

    def __init__(self, storage: Storage, hub: HubClient) -> None:
        self._storage = storage
        self._hub = hub

    async def put(self, call: str, subject: str, **members: Any) -> None:
        """Store a call, to be made by ``send``."""
        key, new = f"{call} {subject}", {"call": call, "request_id": str(uuid.uuid4()), "members": members}
        while not await self._storage.add("call", key, new, expires_at=_waiting.now() + KEPT_SECONDS):
            old = await self._storage.get("call", key)
            if old is not None and await self._storage.replace("call", key, old, new):
                return

    async def send(self, call: str = "", subject: str = "") -> None:
        """Make one pending call, or all. Those without an answer stay pending."""
        pending = await self._storage.find("call")
        for key, value in pending.items():
            if not call or key == f"{call} {subject}":
                await self._make(key, value)

    async def _make(self, key: str, value: Values) -> None:
        try:
            await self._hub.call(value["call"], request_id=value["request_id"], **value["members"])
        except ConnectionLost as error:
            log.warning("%s (request %s) is still pending: %s", value["call"], value["request_id"], error)
            return
        except CausewayError as error:
            if isinstance(error, HubError) and (error.status >= SERVER_ERROR or error.retry_after is not None):
                log.warning("%s is still pending: %s", value["call"], error)
                return
            log.warning("%s was refused, and is not made again: %s", value["call"], error)
        await self._storage.replace("call", key, value, None)
