"""What the service does without a caller, and what a process does now and then."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from unittest.mock import patch

from app import app
from chalicelib.delivery import outbox
from chalicelib.foundation import jsontext
from chalicelib.foundation.http.outbound import Reply
from infra.local.events import schedule_event
from tests.capacity.card_plays import action
from tests.capacity.plays import Play, Run, ok, relayed
from tests.cards.cases import all_in_use
from tests.cards.scenes import Scene
from tests.openbanking.examples import BY_WEBHOOK
from tests.openbanking.stage import Stage
from tests.world import START, World

MEASURED = 100
"""So many relayed reads are measured in a minute that is busy."""
BANKS = 2
"""The banks of a world."""
ACCOUNTS = 5
"""So many accounts are proved."""
DUE = 10
"""So many deliveries are due in a sweep that finds some."""


def scheduled(name: str) -> Callable[[World], Run]:
    """A run of a schedule that finds nothing to do."""

    def set_up(world: World) -> Run:
        return lambda: _run(name)

    return set_up


def prove(world: World) -> Run:
    """Accounts with money, of which something is held."""
    scene = Scene(world)
    for _ in range(ACCOUNTS):
        scene.purchase(scene.spendable(500).card_id, 100)
    return lambda: _run("prove")


def _run(name: str) -> None:
    app.handler_map[name](schedule_event(name, START, "eu-west-1"), None)


def sweep_of_due(world: World) -> Run:
    """Deliveries with the same identifiers each time: their shards go by these, and so does how many have none."""
    world.wants_events()
    with patch.object(outbox, "new_id", map("{:022x}".format, range(DUE)).__next__):
        for _ in range(DUE):
            world.hub.events.test(world.client)
    return lambda: _run("sweep")


def minute(world: World) -> Run:
    """A relayed read after a minute: keys and the bank are read again, and written down is what was counted since."""
    world.writes_measurements()
    run = relayed("/accounts")(world)
    run()
    world.clock.advance(61)
    return run


def measurements(world: World) -> Run:
    """An instance writes down what it has counted in a busy minute, with a bank that answers sooner or later."""
    row, stage = BY_WEBHOOK["/accounts"], Stage(world)
    for count in range(MEASURED):
        body = jsontext.dumps(row.answer).encode()
        ok(stage.ask(row, answer=Reply(200, body, {}, 0.1 + count / 500)))
        world.clock.advance(60 / MEASURED)
    return world.hub.measurements.write


@contextmanager
def no_other_banks(world: World) -> Iterator[None]:
    """Banks that other tests have registered are away for a while."""
    from moto.dynamodb.models import dynamodb_backends

    region = world.hub.store._client.meta.region_name
    items = dynamodb_backends["123456789012"][region].tables[f"{world.hub.settings.prefix}-banks"].items
    before, own = dict(items), tuple(side.bank.bic for side in world.banks.values())
    for place in before:
        if not place[1].startswith(own):
            del items[place]
    try:
        yield
    finally:
        items.clear()
        items.update(before)


def ingest(world: World) -> Run:
    """The night after a day with a busy minute."""
    measurements(world)()
    world.clock.advance(24 * 3600)
    return lambda: _run("ingest")


def start(world: World) -> Run:
    """The first relayed read of a process."""
    row, stage = BY_WEBHOOK["/accounts"], Stage(world)
    bearer = stage.bearer(1)
    stage.will_answer(row, row.answer)
    outbound = world.hub.outbound
    fresh = world.another_process()
    fresh.keyring._private.clear()
    fresh.__dict__["outbound"] = outbound

    def run() -> None:
        from chalicelib import bootstrap

        bootstrap.use(fresh)
        ok(world.tpp("GET", row.call, bearer=bearer))

    return run


def card_minute(world: World) -> Run:
    """A read action after a minute: the programme, all of which is in use, is read again."""
    all_in_use(Scene(world))
    run = action("getAccounts", lambda scene: {"account_id": scene.account()}, reference=False)(world)
    world.clock.advance(61)
    return run


def numbers(world: World) -> Run:
    """A block of identifiers is taken."""
    sequences = Scene(world).hub.card_api.flows["issuing"].sequences
    sequences.next("authorization")

    def run() -> None:
        sequences._left["authorization"] = range(0)
        sequences.next("authorization")

    return run


BACKGROUND = (
    Play("minute", "relayed read, the first of a minute", minute),
    Play("start", "relayed read, the first of a process", start),
    Play("card_minute", "getAccounts, the first of a minute", card_minute),
    Play("measurements", f"measurements of {MEASURED} relayed reads", measurements),
    Play("numbers", "a block of 50 identifiers", numbers),
    Play("sweep", "sweep that finds nothing", scheduled("sweep"), function="sweep"),
    Play("sweep_of_due", f"sweep that finds {DUE}", sweep_of_due, function="sweep"),
    Play("expire", "expire that finds nothing", scheduled("expire"), function="expire"),
    Play("finish", "finish that finds nothing", scheduled("finish"), function="finish"),
    Play("ingest", f"ingest of {BANKS} banks", ingest, no_other_banks, "ingest"),
    Play("prove", f"prove of {ACCOUNTS} accounts", prove, function="prove"),
)
