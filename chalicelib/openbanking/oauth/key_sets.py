"""The public keys of clients, from their records or from their ``jwks_uri``.

A fetched set is used for five minutes. An unknown ``kid`` triggers another fetch, at most once in 30 seconds, so that
clients can rotate keys. While the URL fails, the last set is used for a day. One thread fetches a set. Meanwhile,
threads with an unknown key wait for the fetch, and other threads use the last set.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
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
"""The maximum size of a key set, in bytes."""


@dataclass(frozen=True, slots=True)
class _Fetched:
    """A client's fetched keys, the time of the fetch, and the time of the last attempt (Unix seconds)."""

    keys: Sequence[Key]
    fetched_at: int
    tried_at: int

    def is_younger_than(self, seconds: int, now: int) -> bool:
        return now - self.fetched_at < seconds

    def serves(self, kid: str | None, now: int, seconds: int) -> bool:
        """Whether the key set has the key and is younger than ``seconds``. A fetch time in the future, after a clock
        was set back, does not count.
        """
        has_key = kid is None or any(key.kid == kid for key in self.keys)
        return has_key and self.fetched_at <= now and self.is_younger_than(seconds, now)


class KeySets:
    """Finds the keys of clients. Fetched sets are cached in this process."""

    def __init__(self, outbound: Outbound, clock: Clock) -> None:
        self._outbound = outbound
        self._clock = clock
        self._fetched: dict[str, _Fetched] = {}
        self._fetching: dict[str, threading.Event] = {}
        """The fetches in progress, by address. The event of a fetch is set when the fetch ends."""
        self._lock = threading.Lock()

    def find(self, client: Client, kid: str | None) -> Sequence[Key]:
        """Return the keys of ``client`` that may have signed a token with this ``kid``. The result is empty if no key
        is available.
        """
        if client.security.jwks is not None:
            return import_key_set(client.security.jwks)
        if client.security.jwks_uri is None:
            return ()
        return self._find_fetched(client.security.jwks_uri, kid)

    def _find_fetched(self, uri: str, kid: str | None) -> Sequence[Key]:
        known = self._fetched.get(uri, _NOTHING)
        if not known.serves(kid, self._clock.time(), FRESH_SECONDS):
            known = self._fetch_once(uri, kid)
        return known.keys if known.is_younger_than(STALE_SECONDS, self._clock.time()) else ()

    def _fetch_once(self, uri: str, kid: str | None) -> _Fetched:
        """Return the key set after a fetch by any thread, or the last key set if it is too early for another fetch."""
        with self._lock:
            known, running, now = self._fetched.get(uri, _NOTHING), self._fetching.get(uri), self._clock.time()
            if running is None:
                if 0 <= now - known.tried_at < MIN_REFETCH_SECONDS:
                    return known
                self._fetching[uri] = threading.Event()
        if running is None:
            return self._fetch_for_all(uri, known)
        if not known.serves(kid, now, STALE_SECONDS):
            self.wait_for(running)
        return self._fetched.get(uri, _NOTHING)

    def _fetch_for_all(self, uri: str, known: _Fetched) -> _Fetched:
        """Fetch a set, then release the threads that wait for it."""
        try:
            fetched = self._fetched[uri] = self._fetch(uri, known)
        finally:
            with self._lock:
                self._fetching.pop(uri).set()
        return fetched

    def wait_for(self, running: threading.Event) -> None:
        running.wait(FETCH_SECONDS)

    def _fetch(self, uri: str, known: _Fetched) -> _Fetched:
        now = self._clock.time()
        try:
            reply = self._outbound.get(uri, largest=MAX_KEY_SET_BYTES, total_seconds=FETCH_SECONDS)
            return _Fetched(_read_reply(reply), now, now)
        except (OutboundError, InvalidKeySet, jsontext.InvalidJson) as error:
            log.warning("key set not fetched", jwks_uri=uri, reason=str(error))
            return _Fetched(known.keys, known.fetched_at, now)


def _read_reply(reply: Reply) -> Sequence[Key]:
    """Return the keys in a response. Raises: InvalidKeySet, InvalidJson."""
    if reply.status != 200:
        raise InvalidKeySet(f"the status is {reply.status}")
    return import_key_set(jsontext.loads(reply.body))


_NOTHING = _Fetched((), -STALE_SECONDS, -STALE_SECONDS)
