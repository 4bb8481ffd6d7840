"""Sessions of signed-in users: a random secret in a signed cookie, and a record that ends on the server.

A browser that is not signed in has a secret, too, without a record: its forms carry a token that is made of it. Signing
in always takes a new secret, so that one which somebody else has put into the browser is worth nothing.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from chalicelib.foundation.clock import Clock
from chalicelib.foundation.identifiers import digest, new_secret
from chalicelib.foundation.keyring import Keyring
from chalicelib.foundation.store import Item, Store, absent

if TYPE_CHECKING:
    from itsdangerous import Signer

TABLE = "website"
LIFETIME = 12 * 3600
_PART = "session"
_USER, _VISITOR = "u", "v"


@dataclass(frozen=True, slots=True)
class Session:
    """One browser: the value of its cookie, the token of its forms, and the email of the user who is signed in."""

    cookie: str
    form_token: str
    email: str | None


class Sessions:
    """The sessions, kept under the digest of their secret; nothing in the table opens one."""

    def __init__(self, store: Store, keyring: Keyring, clock: Clock) -> None:
        self._store = store
        self._keyring = keyring
        self._clock = clock

    def visitor(self) -> Session:
        """A new session that nobody is signed in to; nothing is stored."""
        return self._made(f"{_VISITOR}{new_secret()}", None)

    def begin(self, email: str) -> Session:
        """Sign a user in."""
        secret = f"{_USER}{new_secret()}"
        now = self._clock.time()
        members = {"email": email, "created_at": now, "expires_at": now + LIFETIME}
        self._store.put(TABLE, _key(secret) | members, absent("owner"))
        return self._made(secret, email)

    def find(self, cookie: str) -> Session | None:
        """The session of a cookie; ``None`` for one that is not ours, has ended or expired."""
        from itsdangerous import BadSignature

        try:
            secret = self._signer("session").unsign(cookie).decode()
        except BadSignature:
            return None
        if secret.startswith(_VISITOR):
            return self._made(secret, None)
        item = self._store.get(TABLE, _key(secret))
        if item is None or item["expires_at"] <= self._clock.time():
            return None
        return self._made(secret, item["email"])

    def end(self, session: Session) -> None:
        """Sign the user out; the cookie is worth nothing any more, wherever it is."""
        secret = self._signer("session").unsign(session.cookie).decode()
        self._store.delete(TABLE, _key(secret))

    def accepts(self, session: Session, form_token: str) -> bool:
        """Whether a form that was sent is one of this session."""
        secret = self._signer("session").unsign(session.cookie)
        return self._signer("form").verify_signature(secret, form_token)

    def _made(self, secret: str, email: str | None) -> Session:
        token = self._signer("form").get_signature(secret).decode()
        return Session(self._signer("session").sign(secret).decode(), token, email)

    def _signer(self, purpose: str) -> Signer:
        from itsdangerous import Signer  # few requests need it

        keys = self._keyring.derived_keys(f"website/{purpose}")
        return Signer(keys, salt=f"website/{purpose}", digest_method=hashlib.sha256)


def _key(secret: str) -> Item:
    return {"owner": f"session#{digest(secret)}", "part": _PART}
