"""Clients: TPPs as this service knows them (specification, Web interface records; decisions: Clients, users, banks)."""

from __future__ import annotations

from dataclasses import dataclass

from boto3.dynamodb.conditions import Attr

from chalicelib.foundation.addresses import InvalidAddress, check_address
from chalicelib.foundation.clock import Clock
from chalicelib.foundation.identifiers import digest, matches, new_secret, new_uuid
from chalicelib.foundation.settings import Settings
from chalicelib.foundation.store import ConditionFailed, Item, Store, absent

TABLE = "clients"
TITLE_LENGTH = 128


class InvalidClient(ValueError):
    """A client's member that cannot be accepted; the message says which and why."""


class UnknownClient(LookupError):
    """There is no client of that id."""


@dataclass(frozen=True, slots=True)
class Client:
    """A TPP. ``registration_number`` and ``title`` are shown to PSUs at the bank."""

    client_id: str
    owner: str
    title: str
    callback_url: str
    registration_number: str
    active: bool
    events_url: str | None
    secret_digest: str | None
    created_at: int

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
        )

    def accepts_secret(self, secret: str | None) -> bool:
        """Whether ``secret`` is this client's; a client without one accepts its absence only."""
        if self.secret_digest is None:
            return secret is None
        return secret is not None and matches(secret, self.secret_digest)


def client_key(client_id: str) -> tuple[str, Item]:
    """Where a client stands, for a read of several records together."""
    return TABLE, {"client_id": client_id}


class Clients:
    """The clients' table."""

    def __init__(self, store: Store, clock: Clock, settings: Settings) -> None:
        self._store = store
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
    ) -> tuple[Client, str | None]:
        """Register a TPP; answers the client and, when it is to have one, its secret: it is not kept.

        Raises:
            InvalidClient: naming the member.
        """
        client_id = new_uuid()
        plain = new_secret() if secret or self._settings.stage == "prod" else None
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
        self._store.put(TABLE, _item(client), absent("client_id"))
        return client, plain

    def get(self, client_id: str) -> Client:
        """Raises: UnknownClient."""
        item = self._store.get(*client_key(client_id))
        if item is None:
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

    def activate(self, client_id: str) -> Client:
        return self._set_active(client_id, True)

    def deactivate(self, client_id: str) -> Client:
        """Every call of the client is refused from now on."""
        return self._set_active(client_id, False)

    def _set_active(self, client_id: str, active: bool) -> Client:
        try:
            item = self._store.update(
                TABLE, {"client_id": client_id}, set={"active": active}, condition=Attr("client_id").exists()
            )
        except ConditionFailed:
            raise UnknownClient(client_id) from None
        return Client.from_item(item)

    def _address(self, member: str, url: str) -> str:
        try:
            return check_address(url, local=self._settings.is_local)
        except InvalidAddress as error:
            raise InvalidClient(f"{member} {error}") from None


def _item(client: Client) -> Item:
    members = {name: getattr(client, name) for name in Client.__dataclass_fields__}
    return {name: value for name, value in members.items() if value is not None}


def _text(member: str, value: str, length: int) -> str:
    text = value.strip()
    if not 1 <= len(text) <= length or not text.isprintable():
        raise InvalidClient(f"{member} must be 1 to {length} printable characters")
    return text
