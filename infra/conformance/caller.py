"""The kit's calls to the bank: signed webhooks as the hub sends them, or webhooks with one deliberate fault."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

from chalicelib.foundation import jsontext
from chalicelib.foundation.crypto.signatures import sign
from chalicelib.foundation.http.outbound import NotReached, Outbound, OutboundError, Reply, TimedOut
from chalicelib.foundation.identifiers import new_uuid
from chalicelib.openbanking.bank_client.bank_failures import TOO_MANY_REQUESTS
from chalicelib.openbanking.protocol.webhooks import Webhook
from infra.conformance.evidence import Evidence
from infra.conformance.masking import Masking

SHOWN = 4000
"""Maximum number of characters of a body that a report shows."""
HIDDEN_HEADERS = ("x-api-key", "x-auth-token", "x-signature", "authorization", "cookie", "set-cookie")
"""Headers whose values are never included in a report."""
_sign = lru_cache(1024)(sign)  # many requests have the same body, and the padding has nothing random
_RATE_TRIES, _LONGEST_PAUSE = 5, 10
"""Maximum number of attempts at a call that the bank refuses with 429, and the longest pause between attempts in
seconds.
"""
Headers = dict[str, str]
Change = Callable[[Headers], None]
"""Changes the headers of a request before it is sent."""


@dataclass(frozen=True, slots=True)
class Call:
    """A webhook that the kit sent, with the response or the failure.

    ``note`` describes how the request differs from a valid request.
    """

    path: str
    members: Mapping[str, Any]
    headers: Mapping[str, str]
    body: bytes
    reply: Reply | None
    failure: OutboundError | None
    note: str = ""

    @property
    def evidence(self) -> Evidence:
        """Return the recorded exchange as text."""
        lines = [f"POST {self.path}", *_header_lines(self.headers), "", shorten(self.body.decode("utf-8", "replace"))]
        note = [f"# {self.note}"] if self.note else []
        return Evidence("\n".join([*note, *lines]), self._received())

    def _received(self) -> str:
        if self.reply is None:
            return f"no response: {self.failure}"
        head = f"{self.reply.status} after {self.reply.seconds * 1000:.0f} ms"
        text = shorten(self.reply.body.decode("utf-8", "replace"))
        return "\n".join([head, *_header_lines(self.reply.headers), "", text])


def _header_lines(headers: Mapping[str, str]) -> list[str]:
    return [f"{name}: {'***' if name.lower() in HIDDEN_HEADERS else value}" for name, value in headers.items()]


def shorten(text: str) -> str:
    """Return the beginning of a long text."""
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}… ({len(text)} characters)"


@dataclass(slots=True)
class Caller:
    """Sends webhooks to the bank, each on a separate connection. Only calls with status 429 are retried.

    ``paused`` contains the paths whose calls timed out. These paths are not called again.
    """

    base_url: str
    api_key: str
    key: RSAPrivateKey
    masking: Masking
    outbound: Outbound
    paused: set[str] = field(default_factory=set)
    observers: list[Callable[[Call], None]] = field(default_factory=list)
    pause: Callable[[float], None] = time.sleep

    def send(
        self,
        webhook: Webhook,
        members: Mapping[str, Any],
        *,
        token: str | None,
        request_id: str | None = None,
        body: bytes | None = None,
        signed: bytes | None = None,
        key: RSAPrivateKey | None = None,
        change: Change | None = None,
        note: str = "",
    ) -> Call:
        """Send ``webhook``.

        Args:
            token: the value of the ``X-Auth-Token`` header, if any.
            body: replaces the JSON of ``members``.
            signed: the bytes to sign instead of the body.
            key: the signing key instead of the kit's key.
            change: changes the headers after all other steps.
            note: describes how the request differs from a valid request, for the report.
        """
        content = jsontext.dumps(members).encode() if body is None else body
        headers = {
            "Content-Type": "application/json",
            "X-Api-Key": self.api_key,
            "X-Request-Id": request_id or new_uuid(),
            "X-Signature": _sign(key or self.key, content if signed is None else signed),
        }
        headers |= {"X-Auth-Token": token} if token else {}
        if change is not None:
            change(headers)
        self.masking.add(*(headers.get(name, "") for name in ("X-Api-Key", "X-Auth-Token", "X-Signature")))
        return self._post(webhook.path, members, headers, content, note)

    def _post(self, path: str, members: Mapping[str, Any], headers: Headers, body: bytes, note: str) -> Call:
        reply: Reply | None = None
        failure: OutboundError | None = None
        try:
            reply = self._post_in_time(path, headers, body)
        except OutboundError as error:
            failure = error
            if isinstance(error, TimedOut | NotReached):
                self.paused.add(path)
        call = Call(path, members, headers, body, reply, failure, note)
        for observe in self.observers:
            observe(call)
        return call

    def _post_in_time(self, path: str, headers: Headers, body: bytes) -> Reply:
        for _ in range(_RATE_TRIES):
            reply = self.outbound.post(f"{self.base_url}{path}", body, headers, repeat=False, fresh=True)
            if reply.seconds > self.outbound.total_seconds:  # it arrived before anybody looked at the clock
                raise TimedOut("the response came too late")
            if reply.status != TOO_MANY_REQUESTS:
                break
            self.pause(min(reply.retry_after(int(time.time())) or 1, _LONGEST_PAUSE))
        return reply
