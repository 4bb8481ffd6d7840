"""The beginning of a receiver's response body, which an attempt keeps for the owner of the client.

It is text: bytes that are no UTF-8 and control characters become U+FFFD. Values that the request's headers prove
something with are masked, since some receivers repeat what they get.
"""

from __future__ import annotations

import re

from chalicelib.delivery.recorded_headers import MASK, secret_values
from chalicelib.foundation.context import CapturedHeaders

KEPT_BYTES = 2048
"""The number of bytes of a response body that an attempt keeps."""
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


def record_answer(exchange: CapturedHeaders) -> str:
    """The beginning of the response body of an attempt, at most ``KEPT_BYTES`` in UTF-8; empty if there is none."""
    text = exchange.beginning.decode(errors="replace")
    for secret in sorted(secret_values(exchange), key=len, reverse=True):
        text = re.sub(re.escape(secret), MASK, text, flags=re.IGNORECASE)
    return _CONTROL.sub("\ufffd", text).encode()[:KEPT_BYTES].decode(errors="ignore")
