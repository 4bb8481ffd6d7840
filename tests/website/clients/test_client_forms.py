"""The forms of a client offer every change that the command line offers."""

import inspect
import re
from collections.abc import Mapping
from dataclasses import replace

from infra.admin import clients as commands
from tests.causeway import Causeway
from tests.website.web_user import WebUser

FIELDS: Mapping[str, str] = {
    "title": "title",
    "callback_url": "callback_urls",
    "events_url": "events_url",
    "no_events_url": "events",
    "events": "events",
    "auth_method": "auth_method",
    "jwks": "jwks",
    "profile": "security_profile",
    "pushed_requests": "require_pushed_authorization_requests",
    "bound_tokens": "bound_tokens",
    "dpop_nonce": "dpop_nonce_required",
    "certificate_subject": "tls_client_auth_subject_dn",
    "organization_identifier": "organization_identifier",
}
"""The field of a form for each option of ``clients update``."""
BUTTONS: Mapping[str, str] = {
    "update": "general",
    "registration-number": "general",
    "events-url": "events",
    "rotate-secret": "rotate-secret",
    "rotate-events-secret": "rotate-events-secret",
    "test-event": "test-event",
    "deactivate": "?ask=deactivate",
    "archive": "?ask=archive",
    "activate": "activate",
    "restore": "restore",
}
"""The button, or the link to the confirmation page, for each command that changes a client."""
_OTHERS = {"add", "list", "show"}


def offered(user: WebUser, client_id: str) -> str:
    return "".join(user.get(f"/clients/{client_id}{tab}").text for tab in ("", "/settings", "/security"))


def test_every_client_option_and_command_has_a_field_or_a_button(causeway: Causeway, user: WebUser) -> None:
    client_id = user.create_client(events_url=causeway.receiver.url)
    markup = offered(user, client_id)
    for change in (causeway.hub.openbanking.clients.deactivate, causeway.hub.openbanking.clients.archive):
        change(client_id)
        markup += offered(user, client_id)
    names = {command.name for command in commands.group.registered_commands}

    assert set(inspect.signature(commands.update).parameters) - {"calls_per_minute", "context"} == {
        "client_id",
        "as_json",
        *FIELDS,
    }
    assert names == {*BUTTONS, *_OTHERS}
    assert [name for name in FIELDS.values() if f'name="{name}"' not in markup] == []
    assert 'name="registration_number"' in markup
    buttons = {*re.findall('value="([a-z-]+)"', markup), *re.findall(r'"/clients/[0-9a-f-]+(\?ask=[a-z]+)"', markup)}
    assert set(BUTTONS.values()) <= buttons


def test_production_pages_name_the_command_for_each_operator_change(causeway: Causeway, user: WebUser) -> None:
    client_id = user.create_client(events_url=causeway.receiver.url)
    clients = causeway.hub.openbanking.clients
    causeway.hub.settings = replace(causeway.hub.settings, stage="prod", public_url="https://hub.example")
    markup = offered(user, client_id)
    for change in (clients.deactivate, clients.archive):
        change(client_id)
        markup += offered(user, client_id)
    named = set(re.findall(rf"infra\.admin clients ([a-z-]+) {client_id}", markup))

    assert named == {"update", "registration-number", "activate", "restore"}
    own = {"events_url", "no_events_url", "events"}
    options = {name: f"--{name.replace('_', '-')}" for name in FIELDS if name not in own}
    assert [option for option in options.values() if not re.search(rf"{option}(?![a-z-])", markup)] == []
    assert not [name for name in ("auth_method", "bound_tokens", "registration_number") if f'name="{name}"' in markup]
