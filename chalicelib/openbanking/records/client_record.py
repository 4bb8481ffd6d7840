"""The client record, which represents a TPP, and its change history (specification, Web interface records)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, field
from typing import Any, Literal

from chalicelib.foundation.clock import timestamp
from chalicelib.foundation.crypto import event_signing
from chalicelib.foundation.crypto.event_signing import EventSecret
from chalicelib.foundation.dynamodb.store import Item
from chalicelib.foundation.identifiers import matches, new_secret, new_uuid
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.openbanking.protocol.oauth_security import AuthMethod
from chalicelib.openbanking.records.client_security import ClientSecurity

TABLE = "clients"
OPERATOR = "operator"
"""The author of changes from the command line; in the web interface the author is the user's email address."""
CLIENT_ID_LENGTH = 64

Action = Literal[
    "updated", "activated", "deactivated", "archived", "restored", "client secret rotated", "events secret rotated"
]
EventsMode = Literal["none", "url", "poll"]
"""The ways in which a client can receive events: not at all, at its Events URL, or by fetching."""
_DETAILS = ("title", "callback_urls", "registration_number", "events_url", "events", "calls_per_minute")
_UNSPECIFIED = ClientSecurity()


@dataclass(frozen=True, slots=True)
class ClientSecret:
    """A client secret. ``valid_until`` (Unix seconds) is ``None`` for the newest secret."""

    digest: str = field(repr=False)
    made_at: int
    valid_until: int | None = None

    def is_valid(self, now: int) -> bool:
        return self.valid_until is None or now < self.valid_until


@dataclass(frozen=True, slots=True)
class Client:
    """A TPP. Banks display ``registration_number`` and ``title`` to PSUs.

    The first of ``callback_urls`` is the default. ``secrets`` and ``event_secrets`` are ordered from oldest to newest,
    at most two each. A client has event secrets once an ``events_url`` has been set. ``events`` is ``poll`` for a
    client that fetches its events and has no ``events_url``. ``security`` has its authentication settings. Every change
    increments ``revision``. A client archived at ``archived_at`` (Unix seconds) is inactive and unchangeable.
    ``calls_per_minute`` is its own call limit in each process, or ``None`` for the default limit.
    """

    client_id: str
    owner: str
    title: str
    callback_urls: tuple[str, ...]
    registration_number: str
    active: bool
    events_url: str | None
    secrets: tuple[ClientSecret, ...]
    created_at: int
    event_secrets: tuple[EventSecret, ...] = ()
    security: ClientSecurity = _UNSPECIFIED
    revision: int = 0
    events: Literal["poll"] | None = None
    archived_at: int | None = None
    calls_per_minute: int | None = None

    @classmethod
    def from_item(cls, item: Item) -> Client:
        """Build a client from its item. Items of earlier versions have a single callback URL and secret, and no
        ``security``.
        """
        created_at = item["created_at"]
        secrets = item.get("secrets", ())
        if digest := item.get("secret_digest"):
            secrets = [{"digest": digest, "made_at": created_at, "valid_until": None}]
        return cls(
            client_id=item["client_id"],
            owner=item["owner"],
            title=item["title"],
            callback_urls=tuple(item["callback_urls"] if "callback_urls" in item else [item["callback_url"]]),
            registration_number=item["registration_number"],
            active=item["active"],
            events_url=item.get("events_url"),
            secrets=tuple(ClientSecret(**each) for each in secrets),
            created_at=created_at,
            event_secrets=event_signing.of_items(item["event_secrets"]) if "event_secrets" in item else (),
            security=ClientSecurity.from_item(item["security"]) if "security" in item else _UNSPECIFIED,
            revision=item.get("revision", 0),
            events=item.get("events"),
            archived_at=item.get("archived_at"),
            calls_per_minute=item.get("calls_per_minute"),
        )

    def as_item(self) -> Item:
        """Return the item to store, without empty members."""
        members = {name: getattr(self, name) for name in self.__dataclass_fields__}
        members |= {
            "callback_urls": list(self.callback_urls),
            "secrets": [asdict(secret) for secret in self.secrets],
            "event_secrets": event_signing.as_items(self.event_secrets),
            "security": self.security.as_item(),
        }
        return {name: value for name, value in members.items() if value not in (None, [], {})}

    @property
    def callback_url(self) -> str:
        """The default Callback URL."""
        return self.callback_urls[0]

    @property
    def events_mode(self) -> EventsMode:
        """The client's method of receiving events."""
        return "url" if self.events_url is not None else self.events or "none"

    @property
    def is_archived(self) -> bool:
        return self.archived_at is not None

    @property
    def has_secret(self) -> bool:
        """Whether the client has a secret."""
        return bool(self.secrets)

    @property
    def auth_method(self) -> AuthMethod:
        """The client's authentication method or, if the client may use several methods, the first of them."""
        chosen = self.security.auth_method
        return chosen or ("client_secret_basic" if self.secrets else "none")

    @property
    def is_confidential(self) -> bool:
        """Whether the client authenticates with a secret or a key (RFC 6749 §2.1)."""
        return self.auth_method != "none"

    def accepts_secret(self, secret: str | None, now: int) -> bool:
        """Whether ``secret`` is valid for this client. For a client without secrets, only ``None`` is valid."""
        if secret is None or not self.secrets:
            return secret is None and not self.secrets
        return any(matches(secret, each.digest) and each.is_valid(now) for each in self.secrets)


@dataclass(frozen=True, slots=True)
class Registered:
    """A client with its new secrets in plain text, which are displayed only once.

    ``secret`` authenticates the client. ``events_secret`` verifies events (``whsec_`` and 256 random bits in base64).
    Each is ``None`` if it was not created or is no longer valid. ``repeated`` is true if an earlier request created
    them.
    """

    client: Client
    secret: str | None = field(default=None, repr=False)
    events_secret: str | None = field(default=None, repr=False)
    repeated: bool = False


@dataclass(frozen=True, slots=True)
class Identity:
    """The id and secrets for a new client. Deriving them from the request makes registration idempotent."""

    client_id: str
    secret: str = field(repr=False)
    events_secret: str = field(repr=False)

    @classmethod
    def generate(cls) -> Identity:
        """Return a random identity."""
        return cls(new_uuid(), new_secret(), event_signing.new_secret())


@dataclass(frozen=True, slots=True)
class ClientChange:
    """The change that led to ``revision``. ``at`` is in Unix seconds. ``by`` is a user's email address or ``OPERATOR``.

    ``before`` and ``after`` contain the changed members, but never secrets.
    """

    revision: int
    at: int
    by: str
    action: Action
    before: Mapping[str, Any]
    after: Mapping[str, Any]

    @classmethod
    def from_item(cls, item: Item) -> ClientChange:
        members: dict[str, Any] = {name: item[name] for name in cls.__dataclass_fields__}
        return cls(**members)

    @classmethod
    def between(cls, before: Client, after: Client, at: int, by: str, action: Action) -> ClientChange:
        """Return the change from ``before`` to ``after``."""
        old, new = _details(before), _details(after)
        changed = [name for name in new if old[name] != new[name]]
        known = {name: {each: members[each] for each in changed} for name, members in (("before", old), ("after", new))}
        if action == "client secret rotated":
            known["after"] |= _old_until(after.secrets)
        if action == "events secret rotated":
            known["after"] |= _old_until(after.event_secrets)
        return cls(after.revision, at, by, action, known["before"], known["after"])

    def as_item(self, client_id: str) -> Item:
        members = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return change_key(client_id, self.revision)[1] | members


def client_key(client_id: str) -> tuple[str, Item]:
    """Return a client's table and key, for batch reads."""
    return TABLE, {"client_id": client_id}


def change_key(client_id: str, revision: int) -> tuple[str, Item]:
    """Return the table and key of the change that led to a revision. The key is longer than any Client ID."""
    return TABLE, {"client_id": f"{client_id}/change/{revision:0{CLIENT_ID_LENGTH}}"}


def client_of_change(item: Item) -> str | None:
    """Return the Client ID of a stored change, or ``None`` for other items."""
    client_id, found, _ = str(item["client_id"]).partition("/change/")
    return client_id if found else None


def _details(client: Client) -> dict[str, Any]:
    shown = {name: getattr(client, name) for name in _DETAILS} | {"callback_urls": list(client.callback_urls)}
    return shown | {name: getattr(client.security, name) for name in ClientSecurity.__dataclass_fields__}


def _old_until(secrets: Sequence[ClientSecret | EventSecret]) -> dict[str, Any]:
    """Return the end of the previous secret's validity, if the secret is still valid."""
    ends = [timestamp(secret.valid_until) for secret in secrets if secret.valid_until is not None]
    return {"old_secret_until": ends[0]} if ends else {}
