"""Rules for a client's members, and for the permission to change them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypedDict

from chalicelib.foundation.fields.written_text import InvalidTitle, read_title
from chalicelib.foundation.http.addresses import InvalidAddress, check_address, check_query
from chalicelib.foundation.settings import MOST_CALLS_PER_MINUTE, Settings
from chalicelib.openbanking.protocol.oauth_security import CALLBACK_PARAMETERS
from chalicelib.openbanking.records.client_record import Client
from chalicelib.openbanking.records.client_security import InvalidSecurity, check_profile, check_security

TITLE_LENGTH = 128
MOST_CALLBACK_URLS = 10


class InvalidClient(ValueError):
    """A member of a client is invalid. ``member`` is its name, and the message gives the reason."""

    def __init__(self, member: str, message: str) -> None:
        self.member = member
        super().__init__(message)


class Details(TypedDict, total=False):
    """The editable members of a client.

    Setting ``events_url`` to ``None`` stops sending events. ``events`` records them for fetching (``poll``), or stops
    all events (``none``). ``security`` holds the members of ``ClientSecurity`` that change. ``calls_per_minute`` is set
    by the operator only, and ``None`` means the default limit.
    """

    title: str
    callback_urls: Sequence[str]
    registration_number: str
    events_url: str | None
    events: str
    security: Mapping[str, Any]
    calls_per_minute: int | None


def check_details(
    details: Details, settings: Settings, default_callback: str, current: Client
) -> Iterator[tuple[str, Any]]:
    """Validate and normalise members other than ``security``.

    The present title and Callback URLs of the client ``current`` are accepted unchecked, because earlier rules may have
    allowed them.

    Raises:
        InvalidClient.
    """
    if "title" in details and details["title"] != current.title:
        yield "title", check_title(details["title"])
    if "callback_urls" in details:
        yield (
            "callback_urls",
            check_callback_urls(details["callback_urls"], settings, default_callback, current.callback_urls),
        )
    if "registration_number" in details:
        yield "registration_number", check_registration_number(details["registration_number"])
    if "calls_per_minute" in details:
        yield "calls_per_minute", _check_calls_per_minute(details["calls_per_minute"])
    yield from check_events(details, settings)


def check_events(details: Details, settings: Settings) -> Iterator[tuple[str, Any]]:
    """Validate how a client receives events. A client can have an Events URL or fetch events, but not both. Raises:
    InvalidClient.
    """
    url, events = details.get("events_url"), details.get("events")
    if events is not None and events not in ("poll", "none"):
        raise InvalidClient("events", "events must be poll or none")
    if url is not None and events is not None:
        raise InvalidClient("events", f"events {events} and an Events URL exclude each other: pass one of them")
    if url is not None or events is not None or "events_url" in details:
        yield "events_url", None if url is None else check_url("events_url", url, settings)
    if url is not None or events is not None:
        yield "events", "poll" if events == "poll" else None


def check_owner_may(client: Client, updated: Client, settings: Settings) -> None:
    """Refuse an owner's changes that need the operator's approval. Raises: InvalidClient."""
    if client.calls_per_minute != updated.calls_per_minute:
        raise InvalidClient("calls_per_minute", "only the operator can change the limit of a client's calls")
    if settings.is_sandbox:
        return
    for member, name in (("registration_number", "registration number"), ("security", "authentication and security")):
        if getattr(client, member) != getattr(updated, member):
            raise InvalidClient(member, f"only the operator can change the {name} of a client")
    for member, name in (("title", "title"), ("callback_urls", "Callback URLs")):
        if client.active and getattr(client, member) != getattr(updated, member):
            raise InvalidClient(
                member,
                f"only the operator can change the {name} of an active client: ask the operator, or deactivate "
                "the client, make the change, and have the operator reactivate it",
            )


def check_changeable(client: Client, updated: Client) -> None:
    """Refuse changes to an archived client, and to a registration number that the client's certificate contains.

    Raises:
        InvalidClient.
    """
    if client.is_archived and updated.is_archived:
        raise InvalidClient("archived_at", "the client is archived: restore it first")
    certified = updated.security.organization_identifier
    if (
        certified not in (None, updated.registration_number)
        and updated.registration_number != client.registration_number
    ):
        raise InvalidClient("registration_number", "the registration number of this client is that of its certificate")


def check_callback_urls(
    urls: Sequence[str], settings: Settings, default: str, current: Collection[str] = ()
) -> tuple[str, ...]:
    """Validate Callback URLs. An empty list means the default URL.

    ``current`` are the client's present URLs, because earlier rules may have allowed parameters in their queries.

    Raises:
        InvalidClient.
    """
    checked = tuple(check_url("callback_url", url, settings, "callback_urls") for url in urls or [default])
    for url in checked:
        if url not in current:
            _check_callback_query(url)
    if len(checked) > MOST_CALLBACK_URLS or len(set(checked)) < len(checked):
        raise InvalidClient("callback_urls", f"callback_urls must contain at most {MOST_CALLBACK_URLS} different URLs")
    return checked


def _check_callback_query(url: str) -> None:
    try:
        check_query(url, CALLBACK_PARAMETERS)
    except InvalidAddress as error:
        raise InvalidClient("callback_urls", f"callback_url {error}") from None


def check_url(name: str, url: str, settings: Settings, member: str = "") -> str:
    """Validate a URL of a client. Errors are for ``member`` or, by default, for ``name``. Raises: InvalidClient."""
    try:
        return check_address(url, local=settings.is_local)
    except InvalidAddress as error:
        raise InvalidClient(member or name, f"{name} {error}") from None


def _check_calls_per_minute(value: int | None) -> int | None:
    if value is not None and not 1 <= value <= MOST_CALLS_PER_MINUTE:
        raise InvalidClient("calls_per_minute", f"calls_per_minute must be 1 to {MOST_CALLS_PER_MINUTE}")
    return value


def check_title(value: str) -> str:
    """Read a title (see ``read_title``). Raises: InvalidClient."""
    try:
        return read_title(value, TITLE_LENGTH)
    except InvalidTitle as error:
        raise InvalidClient("title", f"title {error}") from None


def check_registration_number(value: str) -> str:
    return check_text("registration_number", value, TITLE_LENGTH)


def check_text(member: str, value: str, length: int) -> str:
    """Strip text, which must be printable. Raises: InvalidClient."""
    text = value.strip()
    if not 1 <= len(text) <= length or not text.isprintable():
        raise InvalidClient(member, f"{member} must be 1 to {length} printable characters")
    return text


def with_security(settings: Settings, client: Client, changes: Mapping[str, Any]) -> Client:
    """Return the client with other security settings. A method that uses no secret ends the client's secrets.

    Banks receive the organization identifier of a PSD2 certificate as the registration number.

    Raises:
        InvalidClient.
    """
    security = client.security.with_changes(changes)
    try:
        check_profile(security, changes)
        if security == client.security:
            return client
        check_security(security, is_sandbox=settings.is_sandbox, takes_certificates=settings.mtls_url is not None)
    except InvalidSecurity as error:
        raise InvalidClient(error.member, str(error)) from None
    if security.jwks_uri is not None:
        check_url("jwks_uri", security.jwks_uri, settings)
    number = security.organization_identifier or client.registration_number
    return replace(
        client,
        security=security,
        secrets=client.secrets if security.allows_secret else (),
        registration_number=check_text("organization_identifier", number, TITLE_LENGTH),
    )


def needs_first_secret(client: Client, settings: Settings, *, wanted: bool = False) -> bool:
    """Whether a first secret must be created: because of ``wanted``, the authentication method or the stage."""
    if client.secrets or not client.security.allows_secret:
        return False
    return wanted or not settings.is_sandbox or client.security.auth_method is not None
