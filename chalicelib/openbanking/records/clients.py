"""Clients: registered TPPs (specification, Web interface records).

Every change is written together with its history entry, on condition that the revision is unchanged. After a concurrent
change, the change is applied to the new state, or refused if the caller specified a revision.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Unpack

from chalicelib.foundation.clock import Clock
from chalicelib.foundation.crypto import event_signing
from chalicelib.foundation.crypto.event_signing import EventSecret
from chalicelib.foundation.crypto.keyring import Vault
from chalicelib.foundation.crypto.sealed_places import SealedPlace
from chalicelib.foundation.dynamodb.conditions import Attr, Condition
from chalicelib.foundation.dynamodb.store import Item, Operation, Put, Store, absent
from chalicelib.foundation.identifiers import digest, matches, new_secret
from chalicelib.foundation.requests.engine import Engine, if_permitted
from chalicelib.foundation.requests.facts import Facts
from chalicelib.foundation.requests.outcome import Outcome, Proof
from chalicelib.foundation.settings import Settings
from chalicelib.openbanking.records.client_record import (
    CLIENT_ID_LENGTH,
    OPERATOR,
    TABLE,
    Action,
    Client,
    ClientChange,
    ClientSecret,
    Identity,
    Registered,
    change_key,
    client_key,
    client_of_change,
)
from chalicelib.openbanking.records.client_validation import (
    Details,
    InvalidClient,
    check_callback_urls,
    check_changeable,
    check_details,
    check_events,
    check_owner_may,
    check_registration_number,
    check_title,
    needs_first_secret,
    with_security,
)

HISTORY_LENGTH = 50
"""The number of most recent changes that a client's history shows."""
REPEATED_SECONDS = 600
"""The number of seconds within which a repeated request returns the same secrets."""


class UnknownClient(LookupError):
    """No client has this id, or the client belongs to another owner."""


class ClientExists(Exception):
    """A client with this id is already registered."""


class ClientChanged(Exception):
    """The client was changed after it was read."""


class Clients:
    """The clients in DynamoDB."""

    def __init__(self, store: Store, vault: Vault, clock: Clock, settings: Settings, engine: Engine) -> None:
        self._store = store
        self._engine = engine
        self._vault = vault
        self._clock = clock
        self._settings = settings

    @property
    def default_callback(self) -> str:
        """Return the Callback URL of clients that use the web interface's own callback page."""
        return f"{self._settings.public_url}/authorize/callback"

    def web_callback(self, client: Client) -> str:
        """Return the Callback URL for the web interface's requests: the interface's own page if the client has
        registered it.
        """
        return self.default_callback if self.default_callback in client.callback_urls else client.callback_url

    def create(
        self,
        *,
        owner: str,
        title: str,
        callback_urls: Sequence[str] = (),
        secret: bool = False,
        registration_number: str | None = None,
        events_url: str | None = None,
        events: str | None = None,
        active: bool = True,
        identity: Identity | None = None,
        security: Mapping[str, Any] | None = None,
    ) -> Registered:
        """Register a TPP. A client with an Events URL gets an events secret. ``events`` is as in ``Details``.

        A client secret is created if ``secret`` is true, if the method of ``security`` needs one, and always outside
        sandboxes unless the client uses a key. A duplicate request with the same ``identity`` within ten minutes
        returns the same client and its secrets.

        Raises:
            InvalidClient: with the member's name.
            ClientExists: a client with this ``identity`` was registered more than ten minutes ago, or by another owner.
        """
        itself = identity or Identity.generate()
        client_id, now = itself.client_id, self._clock.time()
        client = Client(
            client_id=client_id,
            owner=owner,
            title=check_title(title),
            callback_urls=check_callback_urls(callback_urls, self._settings, self.default_callback),
            registration_number=check_registration_number(registration_number or f"SANDBOX-{client_id[:8]}"),
            active=active,
            events_url=None,
            secrets=(),
            created_at=now,
        )
        wanted = Details()
        if events_url:
            wanted["events_url"] = events_url
        if events is not None:
            wanted["events"] = events
        client = replace(client, **dict(check_events(wanted, self._settings)))
        client = with_security(self._settings, client, security or {})
        if secret and not client.security.allows_secret:
            raise InvalidClient("secret", f"a client of the method {client.auth_method} has no secret")
        plain = itself.secret if needs_first_secret(client, self._settings, wanted=secret) else None
        if plain:
            client = self._with_secret(client, plain)
        if client.events_url:
            client = replace(client, event_secrets=(self._seal_secret(client_id, itself.events_secret),))
        made = Registered(client, plain, itself.events_secret if client.events_url else None)
        put = Put(TABLE, client.as_item(), absent("client_id"))

        def repeat(facts: Facts) -> Registered:
            return self._made_before(Client.from_item(facts.item_of(put)), owner, itself)

        return self._engine.carry_out(if_permitted([put], made, repeat))

    def get(self, client_id: str, owner: str | None = None) -> Client:
        """Return a client, optionally restricted to ``owner``. Raises: UnknownClient."""
        return _require(self._read(client_id), client_id, owner)

    def all(self, owner: str | None = None) -> list[Client]:
        """Return all clients, or the clients of one owner."""
        if owner is None:
            return [Client.from_item(item) for item in self._store.scan(TABLE) if "owner" in item]
        return [Client.from_item(item) for item in self._store.each(TABLE, ("owner", owner), index="owner")]

    def history(self, client: Client) -> list[ClientChange]:
        """Return a client's most recent changes, newest first."""
        revisions = range(client.revision, 0, -1)[:HISTORY_LENGTH]
        keys = [change_key(client.client_id, revision) for revision in revisions]
        found = self._store.batch_get(keys) if keys else []
        return [ClientChange.from_item(item) for item in found if item]

    def all_changes(self) -> Iterator[tuple[str, ClientChange]]:
        """Return all changes of all clients with their Client IDs, unordered, for the operator's command line."""
        for item in self._store.scan(TABLE):
            if (client_id := client_of_change(item)) is not None:
                yield client_id, ClientChange.from_item(item)

    def activate(self, client_id: str, owner: str | None = None) -> Client:
        """Allow the client's calls. Raises: UnknownClient, or InvalidClient if the client is archived."""
        return self._change_members(client_id, owner, "activated", active=True)

    def deactivate(self, client_id: str, owner: str | None = None) -> Client:
        """Refuse all further calls of the client. Raises: UnknownClient."""
        return self._change_members(client_id, owner, "deactivated", active=False)

    def archive(self, client_id: str, owner: str | None = None) -> Client:
        """Deactivate the client and hide it from lists, until it is restored. Raises: UnknownClient."""

        def apply_change(client: Client) -> Registered:
            return Registered(
                client if client.is_archived else replace(client, active=False, archived_at=self._clock.time())
            )

        return self._change(client_id, owner, "archived", apply_change).client

    def restore(self, client_id: str, owner: str | None = None) -> Client:
        """Undo ``archive``. The client remains inactive. Raises: UnknownClient."""
        return self._change_members(client_id, owner, "restored", archived_at=None)

    def update(
        self, client_id: str, *, owner: str | None = None, revision: int | None = None, **details: Unpack[Details]
    ) -> Registered:
        """Change the passed members of a client. The first Events URL creates an events secret.

        The events secrets remain when the Events URL is removed, so that a later URL uses the same secrets. A method
        that needs a client secret creates the first secret. A method that needs no secret ends all secrets.

        Args:
            client_id: the client.
            owner: the user, who must own the client. Omit for the operator.
            revision: the expected revision. Omit to accept any. Changes already in effect are accepted at any revision.

        Raises:
            UnknownClient, InvalidClient.
            ClientChanged: the client is at a different revision.
        """
        new, new_of_events = new_secret(), event_signing.new_secret()

        def apply_change(client: Client) -> Registered:
            checked = dict(check_details(details, self._settings, self.default_callback, client))
            updated = with_security(self._settings, replace(client, **checked), details.get("security", {}))
            if owner is not None:
                check_owner_may(client, updated, self._settings)
            made = Registered(updated)
            if "security" in details and needs_first_secret(updated, self._settings):
                made = replace(made, client=self._with_secret(updated, new), secret=new)
            if updated.events_url is None or updated.event_secrets:
                return made
            sealed = self._seal_secret(client_id, new_of_events)
            return replace(made, client=replace(made.client, event_secrets=(sealed,)), events_secret=new_of_events)

        return self._change(client_id, owner, "updated", apply_change, revision)

    def rotate_secret(
        self, client_id: str, overlap: int, *, owner: str | None = None, secret: str | None = None
    ) -> Registered:
        """Create a new client secret. The current secret remains valid for ``overlap`` seconds.

        At most two secrets are valid. A secret still in the overlap of an earlier rotation becomes invalid immediately.
        A client without a secret gets its first secret and must then use it. A duplicate request with the same
        ``secret`` within ten minutes returns that secret again, with ``repeated`` set.

        Raises:
            UnknownClient.
            InvalidClient: ``secret`` was set more than ten minutes ago, or the client's method needs no secret.
        """
        plain = secret or new_secret()

        def apply_change(client: Client) -> Registered:
            now = self._clock.time()
            if not client.security.allows_secret:
                raise InvalidClient(
                    "secret", f"the client authenticates by the method {client.auth_method}, which needs no secret"
                )
            newest = client.secrets[-1:]
            if newest and matches(plain, newest[0].digest):
                self._check_recent(newest[0].made_at)
                return Registered(client, plain, repeated=True)
            previous = [replace(each, valid_until=now + overlap) for each in newest if overlap]
            return Registered(replace(client, secrets=(*previous, ClientSecret(digest(plain), now))), plain)

        return self._change(client_id, owner, "client secret rotated", apply_change)

    def rotate_events_secret(
        self, client_id: str, overlap: int, *, owner: str | None = None, secret: str | None = None
    ) -> Registered:
        """Create a new events secret. For ``overlap`` seconds, events are signed with both secrets.

        Without an overlap, which is meant for leaked secrets, the old secret is dropped immediately. At most two are in
        use. A secret still in the overlap of an earlier rotation is dropped. A duplicate request with the same
        ``secret`` within ten minutes returns that secret again, with ``repeated`` set.

        Raises:
            UnknownClient.
            InvalidClient: the client has no Events URL, or ``secret`` was set more than ten minutes ago.
        """
        plain = secret or event_signing.new_secret()

        def apply_change(client: Client) -> Registered:
            if client.events_url is None:
                raise InvalidClient("events_url", "the client has no Events URL")
            if secret and self.events_secrets(client)[:1] == [secret]:
                return Registered(client, events_secret=plain, repeated=True)
            entry = self._seal_secret(client_id, plain)
            secrets = event_signing.rotate_secrets(client.event_secrets, entry, self._clock.time(), overlap)
            return Registered(replace(client, event_secrets=secrets), events_secret=plain)

        made = self._change(client_id, owner, "events secret rotated", apply_change)
        if made.repeated:
            self._check_recent(self._rotated_at(made.client))
        return made

    def events_secrets(self, client: Client) -> list[str]:
        """Return the secrets that currently sign events, in plain text, newest first.

        Raises: Unsealable.
        """
        secrets, context = client.event_secrets, _context(client.client_id)
        return event_signing.in_use(self._vault, secrets, context, self._clock.time())

    def _made_before(self, client: Client, owner: str, itself: Identity) -> Registered:
        """Return the client that an earlier request created, with its secrets if still in use. Raises: ClientExists."""
        if client.owner != owner or self._clock.time() - client.created_at >= REPEATED_SECONDS:
            raise ClientExists(client.client_id)
        secret = itself.secret if client.accepts_secret(itself.secret, self._clock.time()) else None
        is_signing = self.events_secrets(client)[:1] == [itself.events_secret]
        return Registered(client, secret, itself.events_secret if is_signing else None, repeated=True)

    def _rotated_at(self, client: Client) -> int:
        """Return the time of the latest events secret rotation, or 0 if unknown."""
        return next((each.at for each in self.history(client) if each.action == "events secret rotated"), 0)

    def _check_recent(self, made_at: int) -> None:
        """Check that a secret is recent enough to be displayed again. Raises: InvalidClient."""
        if self._clock.time() - made_at >= REPEATED_SECONDS:
            raise InvalidClient("secret", "this secret has already been created and cannot be shown again")

    def _seal_secret(self, client_id: str, plain: str) -> EventSecret:
        return event_signing.new_event_secret(self._vault, plain, _context(client_id))

    def _change_members(self, client_id: str, owner: str | None, action: Action, **members: Any) -> Client:
        """Replace members of a client. Raises: UnknownClient."""
        return self._change(client_id, owner, action, lambda client: Registered(replace(client, **members))).client

    def _change(
        self,
        client_id: str,
        owner: str | None,
        action: Action,
        apply_change: Callable[[Client], Registered],
        revision: int | None = None,
    ) -> Registered:
        """Write the result of ``apply_change`` and a history entry, unless the client is unchanged.

        Raises:
            UnknownClient.
            InvalidClient: the client does not permit this change.
            ClientChanged: the client is not at the requested ``revision``.
            Conflict: concurrent changes interfered with every attempt.
        """
        key = client_key(client_id)

        def decide(facts: Facts) -> Outcome[Registered]:
            before = _require(facts.item(key), client_id, owner)
            made = apply_change(before)
            if made.client == before:
                return Outcome(made)
            if revision not in (None, before.revision):
                raise ClientChanged(client_id)
            check_changeable(before, made.client)
            after = replace(made.client, revision=before.revision + 1)
            writes = self._put_change(before, after, owner or OPERATOR, action)
            written = Proof([key], lambda item: Client.from_item(item) == after)
            return Outcome(replace(made, client=after), writes, proof=written)

        return self._engine.carry_out(decide, Facts([key], [self._read(client_id)]))

    def _put_change(self, before: Client, after: Client, by: str, action: Action) -> list[Operation]:
        """Return the write operations of a change, which fail if the client has changed since ``before``."""
        at_revision: Condition = Attr("revision").eq(before.revision)
        if not before.revision:  # clients older than revisions have none
            at_revision |= Attr("revision").not_exists()
        change = ClientChange.between(before, after, self._clock.time(), by, action)
        return [
            Put(TABLE, after.as_item(), Attr("client_id").exists() & at_revision),
            Put(TABLE, change.as_item(after.client_id), absent("client_id")),
        ]

    def _read(self, client_id: str) -> Item | None:
        return self._store.get(*client_key(client_id)) if 0 < len(client_id) <= CLIENT_ID_LENGTH else None

    def _with_secret(self, client: Client, plain: str) -> Client:
        return replace(client, secrets=(ClientSecret(digest(plain), self._clock.time()),))


def _require(item: Item | None, client_id: str, owner: str | None) -> Client:
    """Return the client of an item, which must belong to ``owner`` if passed. Raises: UnknownClient."""
    if item is None or owner not in (None, item["owner"]):
        raise UnknownClient(f"no client has the id {client_id}")
    return Client.from_item(item)


def _context(client_id: str) -> str:
    return f"{TABLE}/{client_id}/events_secret"


SEALED = (SealedPlace(TABLE, ("client_id",), "event_secrets", lambda item: _context(item["client_id"])),)
