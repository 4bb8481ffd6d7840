"""Sessions of signed-in users: a random secret in a signed cookie, and a record on the server.

Visitors who are not signed in also have a secret, from which their form tokens are derived, but no record. Signing in
always creates a new secret, which prevents session fixation.

A session is read together with its user's record, and ends immediately when the user is deactivated or the password
changes. To read both records together, the service stores the user's email in the cookie. Cookies of earlier versions
have no email and require a second read.

For each account that signed in, the browser also stores a signed cookie, which does not sign anyone in. Failed sign-ins
from a browser with this cookie are counted separately (see ``attempts``), so that strangers who guess passwords cannot
lock the browser out.
"""

from __future__ import annotations

import base64
import hashlib
import re
from typing import TYPE_CHECKING

from chalicelib.foundation.clock import Clock
from chalicelib.foundation.crypto.keyring import Keyring
from chalicelib.foundation.dynamodb.store import Item, Store, absent
from chalicelib.foundation.identifiers import digest, new_id, new_secret
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.website.records.users import User, user_key

if TYPE_CHECKING:
    from itsdangerous import Signer


TABLE = "website"
LIFETIME = 12 * 3600
_PART = "session"
_USER, _VISITOR = "u", "v"
_EMAIL_SEPARATOR = "~"  # between a session's secret and the user's email


@dataclass(frozen=True, slots=True)
class Session:
    """The session of a browser: its cookie value, its form token, and the signed-in user."""

    cookie: str
    form_token: str
    user: User | None

    @property
    def email(self) -> str | None:
        return self.user.email if self.user else None


class Sessions:
    """Stores sessions under the digest of their secret, so the table alone does not give access to any session."""

    def __init__(self, store: Store, keyring: Keyring, clock: Clock) -> None:
        self._store = store
        self._keyring = keyring
        self._clock = clock.real

    def create_visitor_session(self) -> Session:
        """Create an anonymous session, which is not stored."""
        return self._signed_session(f"{_VISITOR}{new_secret()}", None)

    def begin(self, user: User) -> Session:
        """Start a session for ``user``. The session is invalid if the user was changed since the password check."""
        email = base64.urlsafe_b64encode(user.email.encode()).decode().rstrip("=")
        secret = f"{_USER}{new_secret()}{_EMAIL_SEPARATOR}{email}"
        now = self._clock.time()
        members = {"email": user.email, "generation": user.generation, "created_at": now, "expires_at": now + LIFETIME}
        self._store.put(TABLE, _key(secret) | members, absent("owner"))
        return self._signed_session(secret, user)

    def find(self, cookie: str) -> Session | None:
        """Return the session of a cookie, or ``None`` if the cookie is forged or the session has ended or expired."""
        from itsdangerous import BadSignature

        try:
            secret = cookie_signer(self._keyring, "session").unsign(cookie).decode()
        except BadSignature:
            return None
        if secret.startswith(_VISITOR):
            return self._signed_session(secret, None)
        _, named, hidden = secret.partition(_EMAIL_SEPARATOR)
        keys = [(TABLE, _key(secret)), *([user_key(_decode_email(hidden))] if named else [])]
        item, *owner = self._store.batch_get(keys)
        if item is None or item["expires_at"] <= self._clock.time():
            return None
        found = owner[0] if owner else self._store.get(*user_key(item["email"]))
        user = User.from_item(found) if found else None
        if user is None or not user.active or user.generation != item.get("generation", 0):
            return None
        return self._signed_session(secret, user)

    def end(self, session: Session) -> None:
        """Sign the user out and invalidate all copies of the cookie."""
        secret = cookie_signer(self._keyring, "session").unsign(session.cookie).decode()
        self._store.delete(TABLE, _key(secret))

    def accepts(self, session: Session, form_token: str) -> bool:
        """Whether ``form_token`` belongs to this session."""
        secret = cookie_signer(self._keyring, "session").unsign(session.cookie)
        return cookie_signer(self._keyring, "form").verify_signature(secret, form_token)

    def _signed_session(self, secret: str, user: User | None) -> Session:
        token = cookie_signer(self._keyring, "form").get_signature(secret).decode()
        return Session(cookie_signer(self._keyring, "session").sign(secret).decode(), token, user)


def _key(secret: str) -> Item:
    return {"owner": f"session#{digest(secret)}", "part": _PART}


def _decode_email(hidden: str) -> str:
    return base64.urlsafe_b64decode(hidden + "=" * (-len(hidden) % 4)).decode()


BROWSER_LIFETIME = 180 * 24 * 3600  # how long a browser stays known after a sign-in, in seconds
BROWSER_COOKIE = "causeway_known_"  # prefix of the cookie names, followed by a digest of the email
_VALUE = re.compile(r"([0-9a-f]{22})-([0-9]{1,12})\.([A-Za-z0-9_-]+)")


def sign_browser(email: str, browser: str | None = None, *, keyring: Keyring, clock: Clock) -> str:
    """Return the cookie value for a browser that has just signed in. A known ``browser`` id is retained."""
    browser_id = f"{browser or new_id()}-{clock.real.time()}"
    signature = cookie_signer(keyring, "known-browser").get_signature(_signed_text(browser_id, email))
    return f"{browser_id}.{signature.decode()}"


def find_browser(email: str, value: str, *, keyring: Keyring, clock: Clock) -> str | None:
    """Return the id of a browser that signed in to this account before, or ``None`` if invalid or expired."""
    found = _VALUE.fullmatch(value)
    if found is None or clock.real.time() >= int(found[2]) + BROWSER_LIFETIME:
        return None
    text = _signed_text(f"{found[1]}-{found[2]}", email)
    return found[1] if cookie_signer(keyring, "known-browser").verify_signature(text, found[3]) else None


def cookie_name(email: str) -> str:
    return f"{BROWSER_COOKIE}{digest(email)[:16]}"


def cookie_signer(keyring: Keyring, purpose: str) -> Signer:
    from itsdangerous import Signer  # imported only when needed

    keys = keyring.derived_keys(f"website/{purpose}")
    return Signer(keys, salt=f"website/{purpose}", digest_method=hashlib.sha256)


def _signed_text(browser_id: str, email: str) -> str:
    return f"{browser_id} {email}"
