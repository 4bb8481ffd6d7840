"""The activity of a client: its latest calls, and its errors by kind in the last 24 hours."""

from __future__ import annotations

from collections.abc import Mapping

from chalice.app import Response

from chalicelib.openbanking.records.client_record import Client
from chalicelib.statistics.client_activity import HOURS, PER_MINUTE, ClientCall
from chalicelib.website.clients.activity_chart import KIND_NAMES, errors_chart
from chalicelib.website.clients.client_page_views import call_limit, client_page, serve_client
from chalicelib.website.pages import Visit
from chalicelib.website.performance.performance_chart import HEIGHT, WIDTH

SHOWN = 50
"""The maximum number of calls on the page."""
STATUS_CLASSES: Mapping[str, str] = {"2": "2xx, successful", "4": "4xx, refused", "5": "5xx, failed"}
"""The choices of the filter by status: the first digit of the status, and the label."""


@serve_client
def show_activity(visit: Visit, client: Client) -> Response:
    """``GET /clients/{client_id}/activity``: list calls. ``status`` filters by the first digit of the HTTP status."""
    activity = visit.website.statistics.activity.of_client(client.client_id)
    wanted = visit.field("status") if visit.field("status") in STATUS_CLASSES else ""
    calls = [(client.client_id, call) for call in activity.calls if _is_in_class(call, wanted)]
    has_unread = activity.listed_from > 0 and len(calls) < SHOWN
    return client_page(
        visit,
        client,
        "/activity",
        activity=activity,
        calls=calls[:SHOWN],
        has_more=len(calls) > SHOWN,
        has_gaps=any(call.at < activity.listed_from for _, call in calls[:SHOWN]) or has_unread,
        wanted=wanted,
        classes=STATUS_CLASSES,
        chart=errors_chart(activity.hours),
        size=(WIDTH, HEIGHT),
        kind_names=KIND_NAMES,
        hour_count=HOURS,
        per_minute=PER_MINUTE,
        call_limit=call_limit(visit, client),
    )


def _is_in_class(call: ClientCall, wanted: str) -> bool:
    """Whether the call's status begins with the digit ``wanted``. A redirect counts as successful."""
    return wanted in ("", str(call.status)[0]) or (wanted == "2" and call.status // 100 == 3)
