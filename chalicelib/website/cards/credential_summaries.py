"""The card API credentials of the linked programme manager, with their call limits but without keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from chalicelib.cards.portal.portal import Portal
from chalicelib.cards.protocol.portal_messages import LIST_CREDENTIALS
from chalicelib.cards.protocol.status_codes import Refused
from chalicelib.foundation.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CredentialList:
    """Credentials, as ``CredentialSummary``, and the programme manager's name.

    ``has_more`` means that the list is incomplete, ``is_unreadable`` that reading failed.
    """

    manager: str = ""
    rows: Sequence[Mapping[str, Any]] = ()
    has_more: bool = False
    is_unreadable: bool = False


def read_credentials(portal: Portal, manager_id: int) -> CredentialList:
    """Read the credentials for a page. If reading fails, the page is shown without credentials."""
    try:
        found = portal.read(manager_id, LIST_CREDENTIALS)
    except Refused:
        return CredentialList(is_unreadable=True)
    return CredentialList(found["programme_manager"], found["data"], found["has_more_records"] == "Y")
