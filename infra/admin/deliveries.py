"""Commands for deliveries to banks, clients and programme managers: list, show and resend."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import typer

from chalicelib.bootstrap import Hub
from chalicelib.delivery.delivery_record import CLAIMED_SECONDS, Delivery, State
from chalicelib.delivery.journal import LATEST, Party
from chalicelib.foundation.clock import timestamp
from chalicelib.foundation.identifiers import is_uuid
from chalicelib.openbanking.records.bank_record import valid_bic
from chalicelib.openbanking.records.client_record import client_key
from infra.admin import connection, output
from infra.admin.output import CommandRefused, Report, command, command_group, format_members, format_table

group = command_group("List, show and resend deliveries.")

_LONGEST_LIST = 10_000
_LOOKS = 2 * CLAIMED_SECONDS
"""The number of polls, one every half second, needed to wait for the longest possible delivery attempt."""
_MEMBERS = ("delivery_id", "kind", "topic", "receiver", "bic", "client_id", "consent_id", "manager_id")
_COLUMNS = ("created_at", "delivery_id", "kind", "topic", "receiver", "state", "attempts", "next_attempt_at")

DeliveryId = Annotated[
    str, typer.Argument(metavar="ID", help="The delivery's id; for an event, this is its webhook-id.")
]
OfBank = Annotated[str | None, typer.Option("--bank", metavar="BIC", help="Only deliveries that concern this bank.")]
OfClient = Annotated[
    str | None, typer.Option("--client", metavar="CLIENT-ID", help="Only deliveries that concern this client.")
]
OfManager = Annotated[
    int | None,
    typer.Option("--manager", metavar="MANAGER-ID", help="Only deliveries that concern this programme manager."),
]


@command(group, "list")
def list_deliveries(
    bank: OfBank = None,
    client: OfClient = None,
    manager: OfManager = None,
    state: Annotated[State | None, typer.Option(help="Only deliveries in this state.")] = None,
    since: Annotated[str | None, typer.Option(metavar="TIME", help=output.TIME_HELP)] = None,
    limit: Annotated[int, typer.Option(min=1, max=_LONGEST_LIST, help="The maximum number of deliveries.")] = LATEST,
) -> Report:
    """List deliveries to a bank, a client or a programme manager. Without a receiver, list all failed, then all due
    deliveries.

    Failed deliveries are sorted by time of failure, newest first. With --state due, deliveries are sorted by their next
    attempt, earliest first. Other lists are sorted by time of creation, newest first. --since filters by the time used
    for sorting.

    \b
    Examples:
      .venv/bin/python -m infra.admin deliveries list --state failed --since 2h
      .venv/bin/python -m infra.admin deliveries list --bank DEMOGB21 --limit 20 --json
      .venv/bin/python -m infra.admin deliveries list --manager 1
    """
    hub = connection.connect()
    after = output.parse_time(since, hub.clock.time()) if since else 0
    found = hub.delivery.journal.list(_find_party(hub, bank, client, manager), state=state, since=after, limit=limit)
    rows = [delivery_members(delivery, hub.clock.time()) for delivery in found]
    return Report({"deliveries": rows}, format_table(rows, _COLUMNS) if rows else "There are no such deliveries.")


@command(group, "show")
def show(delivery_id: DeliveryId) -> Report:
    """Show a delivery and its attempts, but never its body.

    The headers of an attempt, sent (>) and received (<), are shown with sensitive values masked.

    \b
    Example:
      .venv/bin/python -m infra.admin deliveries show 4a1f0c2e9b7d3356a8e0f1
    """
    hub = connection.connect()
    shown = delivery_members(hub.delivery.journal.show(delivery_id), hub.clock.time())
    return Report({"delivery": shown}, format_delivery(shown))


@command(group, "resend")
def resend(
    delivery_id: Annotated[
        str | None, typer.Argument(metavar="ID", help="The delivery's id; for an event, this is its webhook-id.")
    ] = None,
    bank: Annotated[str | None, typer.Option(metavar="BIC", help="All that waits for this bank.")] = None,
    client: Annotated[str | None, typer.Option(metavar="CLIENT-ID", help="All that waits for this client.")] = None,
    manager: Annotated[
        int | None, typer.Option(metavar="MANAGER-ID", help="All that waits for this programme manager.")
    ] = None,
) -> Report:
    """Resend an event, a notice of a revoked token, or all pending deliveries to a receiver.

    The delivery keeps its history and its id, so that the receiver can recognise a repeated delivery. A finished
    delivery gets the full number of attempts again; a waiting delivery is sent immediately. If an attempt is running,
    the command waits up to a minute for it. Deferred calls are never resent.

    With --bank, --client or --manager, every pending event and notice for this receiver is sent immediately, for
    example when the receiver is available after an outage. Deliveries with a running attempt are skipped and counted.
    You may repeat the command. For deliveries that have failed, see `deliveries resend-failed`.

    \b
    Examples:
      .venv/bin/python -m infra.admin deliveries resend 4a1f0c2e9b7d3356a8e0f1
      .venv/bin/python -m infra.admin deliveries resend --bank DEMOGB21
    """
    if sum(given is not None for given in (delivery_id, bank, client, manager)) != 1:
        raise typer.BadParameter("pass an id, or one of --bank, --client and --manager")
    hub = connection.connect()
    if delivery_id is None:
        return _resend_waiting(hub, _find_party(hub, bank, client, manager))
    is_sent = hub.delivery.journal.resend(delivery_id, looks=_LOOKS)
    said = "is being sent again" if is_sent else "has just been delivered by an attempt in progress"
    text = f"{delivery_id} {said}.\nIts result: .venv/bin/python -m infra.admin deliveries show {delivery_id}"
    return Report({"delivery": delivery_members(hub.delivery.journal.show(delivery_id), hub.clock.time())}, text)


def _resend_waiting(hub: Hub, party: Party) -> Report:
    places = {"bank": party.bic, "client": party.client_id, "manager": party.manager_id}
    receiver = next(f"{kind}#{number}" for kind, number in places.items() if number is not None)
    resent, skipped = hub.delivery.journal.resend_waiting(receiver)
    text = f"{_count_deliveries(resent)} being sent now."
    if not resent:
        text = "No delivery waits for it; those that have failed: deliveries resend-failed."
    if skipped:
        text += f" {_count_deliveries(skipped)} skipped: an attempt is in progress."
    return Report({"resent": resent, "skipped": skipped}, text)


def _count_deliveries(count: int) -> str:
    return "1 delivery is" if count == 1 else f"{count} deliveries are"


@command(group, "resend-failed")
def resend_failed(
    since: Annotated[str, typer.Option(metavar="TIME", help=output.TIME_HELP)],
    bank: OfBank = None,
    client: OfClient = None,
    manager: OfManager = None,
) -> Report:
    """Resend all events and notices that have failed since a given time.

    Preview the deliveries with `deliveries list --state failed --since TIME`. Deferred calls, such as payments, are
    skipped.

    \b
    Examples:
      .venv/bin/python -m infra.admin deliveries resend-failed --since 3h
      .venv/bin/python -m infra.admin deliveries resend-failed --since 2026-03-02T09:00:00Z --bank DEMOGB21
    """
    hub = connection.connect()
    after = output.parse_time(since, hub.clock.time())
    count = hub.delivery.journal.resend_failed(after, _find_party(hub, bank, client, manager))
    return Report({"resent": count, "since": timestamp(after)}, f"{_count_deliveries(count)} sent again.")


def delivery_members(delivery: Delivery, now: int) -> dict[str, Any]:
    """Return a delivery's members for display, without its body."""
    running = delivery.is_running(now)
    return {
        **{name: getattr(delivery, name) for name in _MEMBERS},
        "request_id": delivery.cause_id,
        "sent_as": delivery.request_id,
        "state": delivery.state,
        "attempts": delivery.attempts,
        "attempt_under_way": running,
        "created_at": timestamp(delivery.created_at),
        "next_attempt_at": None if running else _format_time(delivery.due_at),
        "give_up_at": timestamp(delivery.give_up_at),
        "delivered_at": _format_time(delivery.delivered_at),
        "failed_at": _format_time(delivery.failed_at),
        "kept_until": timestamp(delivery.expires_at),
        "history": [_attempt_members(entry) for entry in delivery.history],
    }


def format_delivery(shown: Mapping[str, Any]) -> str:
    """Format the result of ``delivery_members`` as text."""
    return format_members({**shown, "history": [line for entry in shown["history"] for line in _format_attempt(entry)]})


def _attempt_members(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in entry.items() if name != "reply"} | {"at": timestamp(entry["at"])}


def _format_attempt(entry: Mapping[str, Any]) -> Iterator[str]:
    outcome = ": ".join(str(entry[name]) for name in ("status", "error") if name in entry) or "arrived"
    yield f"{entry['at']}  {entry['milliseconds']} ms  {outcome}"
    for mark, side in ((">", "sent"), ("<", "received")):
        for name, value in entry.get(side, {}).items():
            yield f"  {mark} {name}: {value}"


def _format_time(seconds: int | None) -> str | None:
    return None if seconds is None else timestamp(seconds)


def _find_party(hub: Hub, bank: str | None, client: str | None, manager: int | None) -> Party:
    return Party(_find_bic(hub, bank), _find_client_id(hub, client), _find_manager_id(hub, manager))


def _find_bic(hub: Hub, text: str | None) -> str | None:
    """Return a bank's registered BIC. The given BIC may have 8 or 11 characters. Raises: CommandRefused,
    InvalidBank.
    """
    if text is None:
        return None
    bic = valid_bic(text.upper())
    bank = hub.openbanking.banks.find(bic, active=False)
    if bank is None and not hub.delivery.journal.list(Party(bic=bic), limit=1):  # deliveries may outlive their bank
        raise CommandRefused(f"no bank has the BIC {bic}: `banks list` shows them")
    return bank.bic if bank else bic


def _find_client_id(hub: Hub, text: str | None) -> str | None:
    if text is None:
        return None
    client = Party(client_id=text)
    if not is_uuid(text) or (
        hub.store.get(*client_key(text)) is None and not hub.delivery.journal.list(client, limit=1)
    ):
        raise CommandRefused(f"no client has the id {text}: `clients list` shows them")
    return text


def _find_manager_id(hub: Hub, number: int | None) -> int | None:
    if number is not None and not hub.cards.programmes.set_up(number).revision:
        raise CommandRefused(f"no programme manager has the id {number}: `programme show` lists them")
    return number
