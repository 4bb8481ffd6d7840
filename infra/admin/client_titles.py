"""The warning about client titles that people could confuse with another client's title."""

from __future__ import annotations

from dataclasses import replace

from chalicelib.openbanking.records.client_record import Client
from infra.admin import connection
from infra.admin.confusables import skeleton
from infra.admin.output import Report


def with_warning(report: Report, client: Client) -> Report:
    """Add a warning to the report if clients of other owners have similar titles. Archived clients are ignored."""
    found = sorted(_find_lookalikes(client), key=lambda each: each.client_id)
    data = {**report.data, "lookalikes": [{"client_id": each.client_id, "title": each.title} for each in found]}
    lines = [f"Warning: the title looks like that of the client {each.client_id}: {each.title}" for each in found]
    return replace(report, data=data, text="\n\n".join([report.text, *(["\n".join(lines)] if lines else [])]))


def _find_lookalikes(client: Client) -> list[Client]:
    shape = skeleton(client.title)
    return [
        each
        for each in connection.connect().openbanking.clients.all()
        if each.owner != client.owner and not each.is_archived and skeleton(each.title) == shape
    ]
