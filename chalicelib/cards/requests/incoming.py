"""Incoming requests: their JSON, version and reference, and what the credential allows."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from chalicelib.cards.programs.credentials import Credential
from chalicelib.cards.protocol.status_codes import Refused, Status
from chalicelib.cards.protocol.values import API_VERSION
from chalicelib.cards.requests import disclosure
from chalicelib.cards.requests.action import Action
from chalicelib.foundation import jsontext

BODY_BYTES = 1_000_000
_LEVELS = ("access_level", "holder_access_level")
_REFERENCE = re.compile("[A-Za-z0-9-]{10,255}")


def parse(body: bytes) -> dict[str, Any]:
    """Raises: Refused."""
    if len(body) > BODY_BYTES:
        raise Refused(Status.TOO_LARGE)
    try:
        members = jsontext.loads(body)
    except jsontext.InvalidJson as error:
        raise Refused(Status.NOT_JSON, f"the body is not valid JSON: {error}") from None
    if not isinstance(members, dict):
        raise Refused(Status.NOT_JSON)
    return members


def read_reference(members: Mapping[str, Any]) -> str | None:
    """The reference of a request, in the correct version. Raises: Refused."""
    if str(members.get("api_version")) != API_VERSION:
        raise Refused(Status.WRONG_VERSION)
    reference = members.get("request_reference_id")
    if reference is None:
        return None
    if not isinstance(reference, str) or not _REFERENCE.fullmatch(reference):
        raise Refused(
            Status.BAD_REFERENCE, "request_reference_id must have 10 to 255 characters: letters, digits and hyphens"
        )
    return reference


def check_access(credential: Credential, action: Action, members: Mapping[str, Any]) -> None:
    """Check a request against the credential's access level, actions and modes. Raises: Refused."""
    for name in _LEVELS if "holder_id" not in members and action.creates else _LEVELS[:1]:
        asked = str(members.get(name, ""))
        if asked.isascii() and asked.isdigit() and int(asked[:20]) > credential.access_level:
            raise Refused(Status.LEVEL_TOO_HIGH, f"{name} is higher than the credential's")
    if not credential.allows(action.name):
        raise Refused(Status.NOT_ALLOWED, "the credential does not allow this action")
    if action.field is not None and disclosure.is_absent(credential, action.field):
        raise Refused(Status.NOT_ALLOWED, f"the credential may not read {action.field}")
