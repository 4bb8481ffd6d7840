"""The public keys of clients, from their records or from their ``jwks_uri``.

A fetched set is used for five minutes. An unknown ``kid`` fetches it again, at most once in 30 seconds, so that clients
can rotate keys. While the address fails, the last set is used for a day.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from chalicelib.foundation import jsontext, log
from chalicelib.foundation.clock import Clock
from chalicelib.foundation.crypto.signed_jwts import InvalidKeySet, import_key_set
from chalicelib.foundation.http.outbound import Outbound, OutboundError, Reply
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.openbanking.records.client_record import Client

if TYPE_CHECKING:
    from joserfc.jwk import Key

FRESH_SECONDS = 300
MIN_REFETCH_SECONDS = 30
STALE_SECONDS = 24 * 3600
FETCH_SECONDS = 5.0
MAX_KEY_SET_BYTES = 65_536
"""The bytes of a key set that are read."""


@dataclass(frozen=True, slots=True)
class _Fetched:
    """A client's keys, when they were fetched, and when the last attempt was made (Unix seconds)."""

    keys: Sequence[Key]
    fetched_at: int
    tried_at: int


class KeySets:
    """Finds the keys of clients; fetched sets are kept in this process."""

    def __init__(self, outbound: Outbound, clock: Clock) -> None:
        self._outbound = outbound
        self._clock = clock
        self._fetched: dict[str, _Fetched] = {}

    def find(self, client: Client, kid: str | None) -> Sequence[Key]:
        """The keys of ``client`` that may have signed a token with this ``kid``; empty if none can be had."""
        if client.security.jwks is not None:
            return import_key_set(client.security.jwks)
        if client.security.jwks_uri is None:
            return ()
        return self._find_fetched(client.security.jwks_uri, kid)

    def _find_fetched(self, uri: str, kid: str | None) -> Sequence[Key]:
        known, now = self._fetched.get(uri, _NOTHING), self._clock.time()
        has_key = kid is None or any(key.kid == kid for key in known.keys)
        is_fresh = now - known.fetched_at < FRESH_SECONDS and has_key
        if not is_fresh and now - known.tried_at >= MIN_REFETCH_SECONDS:
            self._fetched[uri] = replace(known, tried_at=now)  # other threads do not fetch it meanwhile
            known = self._fetched[uri] = self._fetch(uri, known)
        return known.keys if now - known.fetched_at < STALE_SECONDS else ()

    def _fetch(self, uri: str, known: _Fetched) -> _Fetched:
        now = self._clock.time()
        try:
            reply = self._outbound.get(uri, largest=MAX_KEY_SET_BYTES, total_seconds=FETCH_SECONDS)
            return _Fetched(_read_reply(reply), now, now)
        except (OutboundError, InvalidKeySet, jsontext.InvalidJson) as error:
            log.warning("key set not fetched", jwks_uri=uri, reason=str(error))
            return _Fetched(known.keys, known.fetched_at, now)


def _read_reply(reply: Reply) -> Sequence[Key]:
    """The keys in a response. Raises: InvalidKeySet, InvalidJson."""
    if reply.status != 200:
        raise InvalidKeySet(f"the status is {reply.status}")
    return import_key_set(jsontext.loads(reply.body))


_NOTHING = _Fetched((), -STALE_SECONDS, -STALE_SECONDS)
