"""Commands for payments whose outcome is unknown: list and resolve."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from chalicelib.foundation.clock import timestamp
from chalicelib.openbanking.flows.payments.outcomes import list_unresolved, record_accepted, record_not_accepted
from chalicelib.openbanking.records.bank_record import valid_bic
from chalicelib.openbanking.records.orders import RecordedOrder
from infra.admin import connection
from infra.admin.banks import BicArgument
from infra.admin.output import CommandRefused, Report, command, command_group, format_table

group = command_group("List and resolve payments whose outcome is unknown.")

_COLUMNS = ("since", "bic", "request_id", "payment_id", "path", "client_id", "consent_id")
_LONGEST_LIST = 10_000

RequestIdArgument = Annotated[str, typer.Argument(metavar="REQUEST_ID", help="The order's X-Request-Id.")]


@command(group, "unresolved")
def unresolved(
    limit: Annotated[int, typer.Option(min=1, max=_LONGEST_LIST, help="The maximum number of orders.")] = 100,
) -> Report:
    """List orders that a bank may have received and whose outcome is unknown, oldest first.

    If a version 2 bank returned a payment_id, the service requests the payment's status for one day. For all other
    orders, ask the bank, which can find the order by its X-Request-Id, and record the answer with `payments resolve`.

    \b
    Example:
      .venv/bin/python -m infra.admin payments unresolved
    """
    rows = [_members(order) for order in connection.connect().openbanking.call(list_unresolved, limit)]
    return Report({"orders": rows}, format_table(rows, _COLUMNS) if rows else "All outcomes are known.")


@command(group, "resolve")
def resolve(
    bic: BicArgument,
    request_id: RequestIdArgument,
    *,
    payment_id: Annotated[
        str | None, typer.Option(metavar="ID", help="The bank has the payment, under this payment_id.")
    ] = None,
    not_accepted: Annotated[bool, typer.Option("--not-accepted", help="The bank does not have the payment.")] = False,
) -> Report:
    """Record the bank's answer about an order whose outcome is unknown.

    \b
    Examples:
      .venv/bin/python -m infra.admin payments resolve DEMODE21 5b1b1c9a-6a0f-4b52-9a53-64f4f2d6f0c1 --payment-id P-4711
      .venv/bin/python -m infra.admin payments resolve DEMODE21 5b1b1c9a-6a0f-4b52-9a53-64f4f2d6f0c1 --not-accepted
    """
    if (payment_id is not None) == not_accepted:
        raise CommandRefused("pass either --payment-id ID or --not-accepted")
    openbanking, bic = connection.connect().openbanking, valid_bic(bic)
    if payment_id is not None:
        openbanking.call(record_accepted, bic, request_id, payment_id)
    else:
        openbanking.call(record_not_accepted, bic, request_id)
    outcome = {"payment_id": payment_id, "outcome": "not_accepted" if not_accepted else "accepted"}
    said = f"has it as {payment_id}" if payment_id is not None else "does not have it"
    return Report(
        {"order": {"bic": bic, "request_id": request_id, **outcome}},
        f"The order {request_id} is resolved: {bic} {said}.",
    )


def _members(found: RecordedOrder) -> dict[str, Any]:
    order = found.order
    return {
        "since": timestamp(found.unresolved_at or 0),
        "bic": order.bic,
        "request_id": order.request_id,
        "payment_id": found.payment_id,
        "path": order.path,
        "client_id": order.client_id,
        "consent_id": order.consent_id,
    }
