"""Programme manager credentials: their keys, rights and call limits.

A credential is found by the digest of its access key. It has one or two live keys, each a pair of ``access_api_id`` and
``access_api_key``, so that a new key can be distributed before the old key is revoked. Only digests of the three parts
are stored.
"""

from __future__ import annotations

import hmac
import re
import secrets
import string
from collections.abc import Mapping, Sequence
from dataclasses import asdict, field
from functools import cached_property
from typing import Any

from chalicelib.cards.programs.programmes import TABLE, owner
from chalicelib.cards.protocol.status_codes import Refused, Status
from chalicelib.foundation import log
from chalicelib.foundation.call_limits import CallLimits, LimitReached
from chalicelib.foundation.clock import Clock
from chalicelib.foundation.dynamodb.conditions import Attr
from chalicelib.foundation.dynamodb.store import Delete, Item, Operation, Put, Store, Update, absent
from chalicelib.foundation.identifiers import digest
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.foundation.metrics import Metrics
from chalicelib.foundation.requests.engine import Engine, if_permitted

CACHED_SECONDS = 60
NEW_SECONDS = 5
"""The age of a cached credential, in seconds, after which an unknown key causes a new look-up."""
MAX_KEYS = 2

_SHAPES = (re.compile("[A-Za-z0-9]{20}"), re.compile("[0-9a-f]{32}"), re.compile("[0-9a-f]{64}"))
_NOBODY = digest("")


class UnknownCredential(LookupError):
    """The programme manager has no credential with this name. The message is a sentence."""


class CredentialChanged(Exception):
    """The credential was changed concurrently. The other change took effect."""


class NoOldKey(Exception):
    """The credential has only one live key, which cannot be revoked. The message names the command that creates a new
    key.
    """


@dataclass(frozen=True, slots=True)
class CredentialKey:
    """A live key with the digests of its two parts. ``created_at`` is in Unix seconds."""

    api_id: str = field(repr=False)
    api_key: str = field(repr=False)
    created_at: int


@dataclass(frozen=True, slots=True)
class CredentialSecret:
    """A credential's three parts in plain text, displayed once. The access key is ``None`` if it did not change."""

    access_key: str | None = field(repr=False)
    access_api_id: str = field(repr=False)
    access_api_key: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Rights:
    """A credential's rights.

    ``actions`` are the allowed actions, or ``None`` if all actions are allowed. ``modes`` has one of ``MODES`` for each
    of ``CARD_FIELDS``. ``encryption_key`` (PEM, RSA of at least 3072 bits) is set if any mode is ``encrypted``.
    ``calls_per_minute`` is the credential's own call limit in each process, or ``None`` for the default limit.
    """

    access_level: int
    actions: frozenset[str] | None
    modes: Mapping[str, str]
    encryption_key: str | None = None
    calls_per_minute: int | None = None


@dataclass(frozen=True, kw_only=True)
class Credential(Rights):
    """A programme manager's credential and its rights. ``keys`` are its live keys, newest last."""

    manager_id: int
    name: str
    keys: tuple[CredentialKey, ...]
    revision: int = 1

    @cached_property
    def identity(self) -> str:
        """A name unique across programme managers. It does not change while the credential's name is unchanged."""
        return f"{self.manager_id}.{self.name}"

    def allows(self, action: str) -> bool:
        return self.actions is None or action in self.actions


class Credentials:
    """The store of credentials. An operator's change takes effect in all processes within a minute."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self.cache: dict[str, tuple[int, Credential]] = {}

    def check(self, access_key: object, api_id: object, api_key: object) -> Credential | None:
        """Return the credential that matches all three parts, or ``None``. The result does not indicate which part is
        wrong.

        Raises: StoreError.
        """
        shown = (access_key, api_id, api_key)
        texts = [part for part in shown if isinstance(part, str)]
        if len(texts) < len(shown) or not all(map(re.Pattern.fullmatch, _SHAPES, texts)):
            return None
        key_digest, *parts = map(digest, texts)
        credential = self._from_cache(key_digest, CACHED_SECONDS)
        if _has_key(credential, parts):
            return credential
        credential = self._from_cache(key_digest, NEW_SECONDS)  # a new key may have been added since
        return credential if _has_key(credential, parts) else None

    def current(self, digests: Sequence[str]) -> list[Credential]:
        """Return the live credentials with the given access key digests (at most 100 digests). Cached credentials are
        used, as in ``check``.
        """
        now = self._clock.time()
        cached = {each: entry for each in digests if (entry := self.cache.get(each))}
        found = {
            each: credential for each, (read_at, credential) in cached.items() if 0 <= now - read_at < CACHED_SECONDS
        }
        outdated = [each for each in digests if each not in found]
        items = self._store.batch_get([credential_key(each) for each in outdated]) if outdated else []
        for key_digest, item in zip(outdated, items, strict=True):
            self.cache.pop(key_digest, None)
            if item is not None:
                found[key_digest] = _credential(item)
                self.cache[key_digest] = (now, found[key_digest])
        return [found[each] for each in digests if each in found]

    # -- operator actions

    def get(self, manager_id: int, name: str) -> Credential:
        """Return the credential with this id. Raises: UnknownCredential."""
        return self._find(manager_id, name)[1]

    def read(self, digests: Mapping[str, str]) -> dict[str, Credential]:
        """Return the current credentials by name, from a mapping of names to access key digests."""
        items = self._store.batch_get([credential_key(each) for each in digests.values()]) if digests else []
        return {name: _credential(item) for name, item in zip(digests, items, strict=True) if item}

    def rotate(self, manager_id: int, name: str) -> CredentialSecret:
        """Create a new key, valid immediately. The previous key remains valid, and older keys are revoked.

        Raises:
            UnknownCredential, CredentialChanged.
        """
        key_digest, credential = self._find(manager_id, name)
        secret = new_secret(with_access_key=False)
        made = new_key(secret, self._clock.time())
        self._update_keys(key_digest, credential, [*credential.keys, made][-MAX_KEYS:])
        return secret

    def drop_old(self, manager_id: int, name: str) -> None:
        """Revoke the older of two live keys.

        Raises:
            UnknownCredential, NoOldKey, CredentialChanged.
        """
        key_digest, credential = self._find(manager_id, name)
        if len(credential.keys) < MAX_KEYS:
            raise NoOldKey(f"{name} has only one live key: create a new one with `programme rotate-key` first")
        self._update_keys(key_digest, credential, list(credential.keys[1:]))

    def _find(self, manager_id: int, name: str) -> tuple[str, Credential]:
        entry = self._store.get(*name_key(manager_id, name))
        item = self._store.get(*credential_key(entry["access_key"])) if entry else None
        if entry is None or item is None:
            raise UnknownCredential(f"programme manager {manager_id} has no credential {name}")
        return entry["access_key"], _credential(item)

    def _update_keys(self, key_digest: str, credential: Credential, keys: list[CredentialKey]) -> None:
        update = Update(
            *credential_key(key_digest),
            set={"keys": [asdict(each) for each in keys], "revision": credential.revision + 1},
            condition=Attr("revision").eq(credential.revision),
        )
        changed = CredentialChanged("the credential was changed concurrently: try again")
        Engine(self._store).carry_out(if_permitted([update], None, lambda _: changed))
        self.cache.pop(key_digest, None)

    def _from_cache(self, key_digest: str, seconds: int) -> Credential | None:
        """Return the credential with the given access key digest, or ``None`` if there is no such credential.

        The cached credential is returned if it was read less than ``seconds`` ago. Otherwise, the credential is read
        from the store.
        """
        read_at, credential = self.cache.get(key_digest, (0, None))
        if credential is None or not 0 <= self._clock.time() - read_at < seconds:
            self.cache.pop(key_digest, None)
            item = self._store.get(*credential_key(key_digest))
            if item is None:  # strangers' guesses must not fill the memory
                return None
            credential = _credential(item)
            self.cache[key_digest] = (self._clock.time(), credential)
        return credential


def _has_key(credential: Credential | None, parts: Sequence[str]) -> bool:
    """Whether the digests of ``access_api_id`` and ``access_api_key`` match a live key.

    All keys are compared, so that the duration does not depend on which key matches.
    """
    keys = [(key.api_id, key.api_key) for key in credential.keys] if credential else []
    keys += [(_NOBODY, _NOBODY)] * (MAX_KEYS - len(keys))
    held = [hmac.compare_digest(parts[0], one) & hmac.compare_digest(parts[1], other) for one, other in keys]
    return credential is not None and any(held)


def credential_key(key_digest: str) -> tuple[str, Item]:
    """Return the key of a credential's item. ``key_digest`` is the access key's digest."""
    return TABLE, {"owner": f"credential#{key_digest}", "part": "credential"}


def name_key(manager_id: int, name: str) -> tuple[str, Item]:
    """Return the key of the item that maps a credential's name to its access key."""
    return TABLE, {"owner": owner(manager_id), "part": f"credential#{name}"}


def new_secret(*, with_access_key: bool) -> CredentialSecret:
    """Generate a new key, either with a new access key or for an existing access key."""
    drawn = "".join(secrets.choice(string.ascii_letters + string.digits) for _ in range(20))
    return CredentialSecret(drawn if with_access_key else None, secrets.token_hex(16), secrets.token_hex(32))


def new_key(secret: CredentialSecret, now: int) -> CredentialKey:
    """Return the stored form of a key, which contains only digests."""
    return CredentialKey(digest(secret.access_api_id), digest(secret.access_api_key), now)


def put_credential(manager_id: int, name: str, rights: Rights, secret: CredentialSecret, now: int) -> list[Operation]:
    """Return the write operations that create a credential with a new secret. Any earlier credential with this name
    must have been deleted.
    """
    assert secret.access_key is not None
    key_digest = digest(secret.access_key)
    table, key = credential_key(key_digest)
    keys = [asdict(new_key(secret, now))]
    item = {**key, "manager_id": manager_id, "name": name, **_rights_members(rights), "keys": keys, "revision": 1}
    return [Put(table, item, absent("owner")), Put(table, {**name_key(manager_id, name)[1], "access_key": key_digest})]


def update_credential(key_digest: str, rights: Rights) -> Operation:
    """Return the write operation that changes a credential's rights. The credential's keys are unchanged."""
    table, key = credential_key(key_digest)
    made = _rights_members(rights)
    removed = [name for name in ("actions", "encryption_key", "calls_per_minute") if name not in made]
    return Update(table, key, set=made, remove=removed, condition=Attr("owner").exists())


def delete_credential(manager_id: int, name: str, key_digest: str) -> list[Operation]:
    """Return the write operations that delete a credential and revoke all its keys."""
    return [Delete(*credential_key(key_digest)), Delete(*name_key(manager_id, name))]


def _credential(item: Item) -> Credential:
    actions = item.get("actions")
    return Credential(
        item["access_level"],
        None if actions is None else frozenset(actions),
        item["modes"],
        item.get("encryption_key"),
        item.get("calls_per_minute"),
        manager_id=item["manager_id"],
        name=item["name"],
        keys=tuple(CredentialKey(**key) for key in item["keys"]),
        revision=item["revision"],
    )


def _rights_members(rights: Rights) -> Item:
    members: dict[str, Any] = {"access_level": rights.access_level, "modes": dict(rights.modes)}
    members |= {} if rights.actions is None else {"actions": sorted(rights.actions)}
    optional = {"encryption_key": rights.encryption_key, "calls_per_minute": rights.calls_per_minute}
    return members | {name: value for name, value in optional.items() if value is not None}


class CredentialLimits:
    """The call limits of credentials in one process. Calls are counted before the action is checked.

    ``credential_calls`` is the default limit, in calls per minute, for credentials without their own limit.
    """

    def __init__(self, clock: Clock, credential_calls: int, metrics: Metrics) -> None:
        self._limits = CallLimits(clock)
        self._default = credential_calls
        self._metrics = metrics

    def limit_of(self, credential: Credential) -> int:
        """Return the credential's own call limit, or the default limit."""
        return credential.calls_per_minute or self._default

    def admit(self, credential: Credential) -> None:
        """Count a call made with any key of the credential. Raises: Refused."""
        limit = self.limit_of(credential)
        try:
            self._limits.admit(credential.identity, limit)
        except LimitReached as reached:
            log.warning("call limit reached", credential=credential.identity, limit=limit)
            self._metrics.write({"CallsOverLimit": 1}, Limit="credential")
            raise refuse_call(reached) from None


def refuse_call(reached: LimitReached) -> Refused:
    """Return the refusal of a call that exceeds its credential's limit."""
    return Refused(
        Status.TOO_MANY_ATTEMPTS,
        f"the credential's limit of calls, {reached.limit} a minute, is reached: repeat the request after the seconds "
        "in the header Retry-After",
        retry_after=reached.retry_after,
    )
