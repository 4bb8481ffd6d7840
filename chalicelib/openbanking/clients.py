"""Clients: TPPs as this service knows them (specification, Web interface records; decisions: Clients, users, banks)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from boto3.dynamodb.conditions import Attr, ConditionBase

from chalicelib.foundation import event_secrets, event_signing
from chalicelib.foundation.addresses import InvalidAddress, check_address
from chalicelib.foundation.clock import Clock
from chalicelib.foundation.event_secrets import EventSecret
from chalicelib.foundation.identifiers import digest, matches, new_secret, new_uuid
from chalicelib.foundation.settings import Settings
from chalicelib.foundation.store import ATTEMPTS, ConditionFailed, Conflict, Item, Store, Update, absent
from chalicelib.foundation.vault import Vault

TABLE = "clients"
TITLE_LENGTH = 128
_ID_LENGTH = 64
_REPEATED_SECONDS = 600
"""So long a request to register a client may be repeated; afterwards its secrets are not shown again."""


class InvalidClient(ValueError):
    """A client's member that cannot be accepted: ``member`` names it, the message says why."""

    def __init__(self, member: str, message: str) -> None:
        self.member = member
        super().__init__(message)


class UnknownClient(LookupError):
    """There is no client of that id, or it is not this owner's."""


class ClientExists(Exception):
    """A client of that id is registered already."""


@dataclass(frozen=True, slots=True)
class Client:
    """A TPP. ``registration_number`` and ``title`` are shown to PSUs at the bank.

    ``event_secrets`` run from oldest to newest. A client that ever had an ``events_url`` has one or two of them.
    """

    client_id: str
    owner: str
    title: str
    callback_url: str
    registration_number: str
    active: bool
    events_url: str | None
    secret_digest: str | None
    created_at: int
    event_secrets: tuple[EventSecret, ...] = ()

    @classmethod
    def from_item(cls, item: Item) -> Client:
        return cls(
            client_id=item["client_id"],
            owner=item["owner"],
            title=item["title"],
            callback_url=item["callback_url"],
            registration_number=item["registration_number"],
            active=item["active"],
            events_url=item.get("events_url"),
            secret_digest=item.get("secret_digest"),
            created_at=item["created_at"],
            event_secrets=event_secrets.of_items(item.get("event_secrets", ())),
        )

    @property
    def has_secret(self) -> bool:
        """Whether it proves itself by a secret."""
        return self.secret_digest is not None

    def accepts_secret(self, secret: str | None) -> bool:
        """Whether ``secret`` is this client's; a client without one accepts its absence only."""
        if self.secret_digest is None:
            return secret is None
        return secret is not None and matches(secret, self.secret_digest)


@dataclass(frozen=True, slots=True)
class Registered:
    """A client, with the secrets that were just made for it, in clear: neither is shown again.

    ``secret`` is what the client shows the service. ``events_secret`` is what it verifies events with (``whsec_`` and
    the base64 of 256 random bits). One that was not made, or is not in use any more, is ``None``. With ``repeated`` an
    earlier request made all of it.
    """

    client: Client
    secret: str | None = field(default=None, repr=False)
    events_secret: str | None = field(default=None, repr=False)
    repeated: bool = False


@dataclass(frozen=True, slots=True)
class Identity:
    """What makes a new client itself. Where it is worked out and not drawn, the same request makes the same client."""

    client_id: str
    secret: str = field(repr=False)
    events_secret: str = field(repr=False)

    @classmethod
    def drawn(cls) -> Identity:
        """A new one, by chance."""
        return cls(new_uuid(), new_secret(), event_signing.new_secret())


def client_key(client_id: str) -> tuple[str, Item]:
    """Where a client stands, for a read of several records together."""
    return TABLE, {"client_id": client_id}


class Clients:
    """The clients' table."""

    def __init__(self, store: Store, vault: Vault, clock: Clock, settings: Settings) -> None:
        self._store = store
        self._vault = vault
        self._clock = clock
        self._settings = settings

    @property
    def default_callback(self) -> str:
        """The callback of clients that use the web interface as their own."""
        return f"{self._settings.public_url}/authorize/callback"

    def create(
        self,
        *,
        owner: str,
        title: str,
        callback_url: str | None = None,
        secret: bool = False,
        registration_number: str | None = None,
        events_url: str | None = None,
        active: bool = True,
        identity: Identity | None = None,
    ) -> Registered:
        """Register a TPP, with a secret when it is to have one, and with an events secret when it has an Events URL.

        With the ``identity`` of before, the client of before is answered for ten minutes, with its secrets.

        Raises:
            InvalidClient: naming the member.
            ClientExists: the client of this ``identity`` is older.
        """
        itself = identity or Identity.drawn()
        client_id = itself.client_id
        plain = itself.secret if secret or not self._settings.is_sandbox else None
        client = Client(
            client_id=client_id,
            owner=owner,
            title=_text("title", title, TITLE_LENGTH),
            callback_url=self._address("callback_url", callback_url or self.default_callback),
            registration_number=_text(
                "registration_number", registration_number or f"SANDBOX-{client_id[:8]}", TITLE_LENGTH
            ),
            active=active,
            events_url=self._address("events_url", events_url) if events_url else None,
            secret_digest=digest(plain) if plain else None,
            created_at=self._clock.time(),
        )
        if client.events_url:
            client = replace(client, event_secrets=(self._sealed(client_id, itself.events_secret),))
        try:
            self._store.put(TABLE, _item(client), absent("client_id"))
        except ConditionFailed as failure:
            assert failure.item is not None, "something stands there"
            return self._made_before(Client.from_item(failure.item), owner, itself)
        return Registered(client, plain, itself.events_secret if client.events_url else None)

    def get(self, client_id: str, owner: str | None = None) -> Client:
        """A client, of ``owner`` if one is named. Raises: UnknownClient."""
        item = self._store.get(*client_key(client_id)) if 0 < len(client_id) <= _ID_LENGTH else None
        if item is None or owner not in (None, item["owner"]):
            raise UnknownClient(client_id)
        return Client.from_item(item)

    def all(self, owner: str | None = None) -> list[Client]:
        """All clients of one user, or (for the operator) of everybody."""
        if owner is None:
            return [Client.from_item(item) for item in self._store.scan(TABLE)]
        clients: list[Client] = []
        after: Item | None = None
        while True:
            page = self._store.query(TABLE, ("owner", owner), index="owner", after=after)
            clients += [Client.from_item(item) for item in page.items]
            after = page.next
            if after is None:
                return clients

    def activate(self, client_id: str, owner: str | None = None) -> Client:
        """Raises: UnknownClient."""
        return self._set_active(client_id, True, owner)

    def deactivate(self, client_id: str, owner: str | None = None) -> Client:
        """Every call of the client is refused from now on. Raises: UnknownClient."""
        return self._set_active(client_id, False, owner)

    def set_registration_number(self, client_id: str, number: str) -> Client:
        """Say what banks show as the TPP's number. Raises: UnknownClient, InvalidClient."""
        checked = _text("registration_number", number, TITLE_LENGTH)
        return self._set(client_id, {"registration_number": checked}, Attr("client_id").exists())

    def set_events_url(self, client_id: str, url: str | None) -> Registered:
        """Say where a client's events go, with an events secret if it never had one; ``None`` ends them.

        The secrets stay without an address, so that events which start again are verified as before.

        Raises:
            UnknownClient, InvalidClient.
        """
        address = None if url is None else self._address("events_url", url)

        def changed(client: Client) -> Registered:
            moved = replace(client, events_url=address)
            if address is None or client.event_secrets:
                return Registered(moved)
            plain, entry = self._new_events_secret(client_id)
            return Registered(replace(moved, event_secrets=(entry,)), events_secret=plain)

        return self._change_events(client_id, changed)

    def rotate_events_secret(self, client_id: str, overlap: int) -> Registered:
        """Make a new events secret; for ``overlap`` seconds events are signed with the one before it, too.

        Without an overlap the old secret ends at once: that is for one in wrong hands. At most two are in use: one that
        was still ending because of an earlier rotation ends now.

        Raises:
            UnknownClient.
            InvalidClient: it has no Events URL.
        """

        def changed(client: Client) -> Registered:
            if client.events_url is None:
                raise InvalidClient("events_url", "the client has no Events URL")
            plain, entry = self._new_events_secret(client_id)
            secrets = event_secrets.renewed(client.event_secrets, entry, self._clock.time(), overlap)
            return Registered(replace(client, event_secrets=secrets), events_secret=plain)

        return self._change_events(client_id, changed)

    def events_secrets(self, client: Client) -> list[str]:
        """The secrets that an event of this moment is signed with, in clear, newest first.

        Raises: Unsealable.
        """
        secrets, context = client.event_secrets, _context(client.client_id)
        return event_secrets.in_use(self._vault, secrets, context, self._clock.time())

    def _made_before(self, client: Client, owner: str, itself: Identity) -> Registered:
        """What an earlier request made of it, with those of the secrets that are in use. Raises: ClientExists."""
        if client.owner != owner or self._clock.time() - client.created_at >= _REPEATED_SECONDS:
            raise ClientExists(client.client_id)
        secret = itself.secret if client.accepts_secret(itself.secret) else None
        is_signing = self.events_secrets(client)[:1] == [itself.events_secret]
        return Registered(client, secret, itself.events_secret if is_signing else None, repeated=True)

    def _new_events_secret(self, client_id: str) -> tuple[str, EventSecret]:
        """A secret of Standard Webhooks' form: in clear, and as it is kept."""
        plain = event_signing.new_secret()
        return plain, self._sealed(client_id, plain)

    def _sealed(self, client_id: str, plain: str) -> EventSecret:
        return event_secrets.sealed(self._vault, plain, _context(client_id))

    def _change_events(self, client_id: str, changed: Callable[[Client], Registered]) -> Registered:
        """Write where events go and what signs them, as ``changed`` makes it of the client that was read.

        Nobody's secret is lost: what another operator changes meanwhile is read and changed in turn, and after a lost
        answer the transaction is repeated. Where the repeat is refused, what it made stands there already: no other
        secret has the same ciphertext.

        Raises:
            UnknownClient.
            Conflict: others were in the way at every attempt.
        """
        for attempt in range(ATTEMPTS):
            before = self.get(client_id)
            made = changed(before)
            try:
                self._store.transact([_events_update(before, made.client)])
                return made
            except ConditionFailed as failure:
                if failure.item and _events(Client.from_item(failure.item)) == _events(made.client):
                    return made
                self._store.wait(attempt)
        raise Conflict("other operators changed the client at every attempt")

    def _set_active(self, client_id: str, active: bool, owner: str | None) -> Client:
        condition = Attr("client_id").exists() if owner is None else Attr("owner").eq(owner)
        return self._set(client_id, {"active": active}, condition)

    def _set(self, client_id: str, changes: Item, condition: ConditionBase) -> Client:
        """Raises: UnknownClient, unless the condition holds."""
        if not 0 < len(client_id) <= _ID_LENGTH:
            raise UnknownClient(client_id)
        try:
            item = self._store.update(TABLE, {"client_id": client_id}, set=changes, condition=condition)
        except ConditionFailed:
            raise UnknownClient(client_id) from None
        return Client.from_item(item)

    def _address(self, member: str, url: str) -> str:
        try:
            return check_address(url, local=self._settings.is_local)
        except InvalidAddress as error:
            raise InvalidClient(member, f"{member} {error}") from None


def _item(client: Client) -> Item:
    members = {name: getattr(client, name) for name in Client.__dataclass_fields__}
    return {name: value for name, value in (members | _events(client)).items() if value is not None}


def _events(client: Client) -> Item:
    """The attributes that say where events go and what signs them; ``None`` for one that is absent."""
    return {"events_url": client.events_url, "event_secrets": event_secrets.as_items(client.event_secrets) or None}


def _events_update(before: Client, after: Client) -> Update:
    """The change of a client's events, unless somebody else has changed them since ``before`` was read."""
    condition: ConditionBase = Attr("client_id").exists()
    for name, value in _events(before).items():
        condition &= Attr(name).not_exists() if value is None else Attr(name).eq(value)
    members = _events(after)
    return Update(
        TABLE,
        {"client_id": before.client_id},
        set={name: value for name, value in members.items() if value is not None},
        remove=[name for name, value in members.items() if value is None],
        condition=condition,
    )


def _context(client_id: str) -> str:
    return f"{TABLE}/{client_id}/events_secret"


def _text(member: str, value: str, length: int) -> str:
    text = value.strip()
    if not 1 <= len(text) <= length or not text.isprintable():
        raise InvalidClient(member, f"{member} must be 1 to {length} printable characters")
    return text
