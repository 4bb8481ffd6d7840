"""What the service has measured, read from the slips that it writes."""

from __future__ import annotations

from collections.abc import Callable

from chalicelib.statistics.slips import Slip
from chalicelib.statistics.tallies import Tally
from infra.local.events import sqs_event
from tests.openbanking.faults import items, table_of
from tests.world import World

Counts = dict[str, dict[str, int]]
"""By bank and service, what is not zero: ``{"ALPHGB21 AISP": {"calls": 1}}``."""


def slips(world: World) -> list[Slip]:
    """The slips in the table."""
    return [Slip.from_item(item) for item in items(world, "statistics") if item["subject"].startswith("calls#")]


def measured(world: World, act: Callable[[], object]) -> Counts:
    """What is measured of what is done inside."""
    world.hub.measurements.write()
    table_of(world, "statistics").items.clear()
    act()
    world.hub.measurements.write()
    return counts(slips(world))


def counts(found: list[Slip]) -> Counts:
    """The counts of slips, those of all minutes together."""
    sums: dict[str, Tally] = {}
    for slip in found:
        for tallies in slip.minutes.values():
            for service, tally in tallies.items():
                sums.setdefault(f"{slip.bic} {service}", Tally()).include(tally)
    return {name: tally.to_item() for name, tally in sums.items()}


def deliver(*delivery_ids: str) -> None:
    """Have the worker's function take messages from the queue, all together."""
    from app import app

    messages = [{"MessageId": each, "ReceiptHandle": "", "Body": each, "MD5OfBody": "0"} for each in delivery_ids]
    app.handler_map["deliver"](sqs_event(messages, "arn:aws:sqs:eu-west-1:1:deliveries", "eu-west-1"), None)
