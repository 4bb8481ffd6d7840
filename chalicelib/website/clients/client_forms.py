"""The forms of a client's settings: what they show of a client, what they change, and who may use them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.openbanking.records.client_record import Client
from chalicelib.openbanking.records.client_validation import Details
from chalicelib.website.form_fields import read_lines

Values = Mapping[str, str]
"""The values of a form by field; of a box that is ticked ``yes``."""

SETTINGS = "/settings"
EVENTS_MODES: Mapping[str, str] = {"none": "No events", "url": "Sent to an Events URL", "poll": "Fetched by the client"}
"""How a client gets events, as the form says it."""


@dataclass(frozen=True, slots=True)
class ClientForm:
    """A form of one subject. ``is_sandbox`` says that the owner may do what is the operator's elsewhere.

    Attributes:
        tab: the page on which it stands, as it follows the client's address.
        action: its name, which its button sends as ``action``.
        show: the values of its fields for a client.
        read: the changes that the values of a submitted form mean. Raises: InvalidClient.
        is_open: whether the page has the form, or only the values.
    """

    tab: str
    action: str
    show: Callable[[Client], Values]
    read: Callable[[Client, Values, bool], Details]
    is_open: Callable[[Client, bool], bool]


def _show_general(client: Client) -> Values:
    values = {"title": client.title, "callback_urls": "\n".join(client.callback_urls)}
    return values | {"registration_number": client.registration_number}


def _read_general(client: Client, values: Values, is_sandbox: bool) -> Details:
    details = Details(title=values["title"], callback_urls=read_lines(values["callback_urls"]))
    if may_number(client, is_sandbox):
        details["registration_number"] = values["registration_number"]
    return details


def may_number(client: Client, is_sandbox: bool) -> bool:
    """Whether the owner may set the Registration number, which is otherwise the operator's or the certificate's."""
    return is_sandbox and client.security.organization_identifier is None


def _may_rename(client: Client, is_sandbox: bool) -> bool:
    """Whether the owner may change what people see at their bank."""
    return not client.is_archived and (is_sandbox or not client.active)


def _show_events(client: Client) -> Values:
    return {"events": client.events_mode, "events_url": client.events_url or ""}


def _read_events(client: Client, values: Values, is_sandbox: bool) -> Details:
    """The way that was chosen; an Events URL that was entered beside another way does not count."""
    return Details(events_url=values["events_url"]) if values["events"] == "url" else Details(events=values["events"])


GENERAL = ClientForm(SETTINGS, "general", _show_general, _read_general, _may_rename)
EVENTS = ClientForm(SETTINGS, "events", _show_events, _read_events, lambda client, _: not client.is_archived)
