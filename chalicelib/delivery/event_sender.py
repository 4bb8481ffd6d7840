"""Event bodies, and a single signed attempt to send an event (https://www.standardwebhooks.com)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from chalicelib.delivery.outcomes import Delivered, Dispatch, Undeliverable
from chalicelib.foundation import jsontext
from chalicelib.foundation.clock import timestamp
from chalicelib.foundation.crypto import event_signing
from chalicelib.foundation.http.outbound import Outbound, OutboundError

_GONE = 410


def body(event: str, happened_at: int, data: Mapping[str, Any]) -> str:
    """Return the body of an event of type ``event`` that occurred at a Unix second. Empty members of ``data`` are
    omitted.
    """
    present = {name: value for name, value in data.items() if value is not None and value != ""}
    return jsontext.dumps({"type": event, "timestamp": timestamp(happened_at), "data": present})


def post(outbound: Outbound, address: str, secrets: Sequence[str], dispatch: Dispatch, now: int) -> Delivered:
    """Post an event, signed with ``secrets`` (newest first). The event is delivered if the response status is 200 to
    299.

    Raises:
        Undeliverable.
    """
    sent = dispatch.body.encode()
    headers = event_signing.headers(secrets, dispatch.delivery.delivery_id, now, sent)
    try:
        reply = outbound.post(address, sent, {"Content-Type": "application/json", **headers}, repeat=True)
    except OutboundError as error:
        raise Undeliverable(str(error)) from None
    if not 200 <= reply.status < 300:
        raise Undeliverable(
            f"the receiver responded with status {reply.status}",
            final=reply.status == _GONE,
            status=reply.status,
            retry_after=reply.retry_after(now),
        )
    return Delivered(reply.status)
