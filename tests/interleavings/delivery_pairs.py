"""Pairs of what sends deliveries: workers, the sweeper, and those who resend or change the receiver."""

from __future__ import annotations

from chalicelib.delivery.journal import NotResendable
from chalicelib.delivery.sweeper import sweep
from tests.delivery.deliveries import record
from tests.interleavings.pairs import Pair, Pairs
from tests.interleavings.scheduler import Request
from tests.openbanking.scenes import InMemory
from tests.world import World

pair = Pairs()


@pair
def work_work_at_one_message(world: World) -> Pair:
    return (work := _worker(world, _event(world))), work


@pair
def work_sweep(world: World) -> Pair:
    return _worker(world, _event(world)), _sweeper(world)


@pair
def work_resend(world: World) -> Pair:
    event = _event(world)
    return _worker(world, event), _resending(world, event)


@pair
def sweep_resend(world: World) -> Pair:
    event = _event(world)
    return _sweeper(world), _resending(world, event)


@pair
def sweep_sweep(world: World) -> Pair:
    _event(world)
    return (sweep := _sweeper(world)), sweep


@pair
def work_fetch_events(world: World) -> Pair:
    """The client begins to fetch its events."""
    work, clients = _worker(world, _event(world)), world.hub.openbanking.clients
    return work, lambda: clients.update(world.client.client_id, events="poll").client.events_mode


def _event(world: World) -> str:
    """An event that is due, by its id."""
    InMemory.install(world.hub.delivery)
    return record(world, body="{}")


def _worker(world: World, event: str) -> Request:
    return lambda: world.hub.delivery.worker.attempt(event)


def _sweeper(world: World) -> Request:
    return lambda: world.hub.delivery.call(sweep, first=0)


def _resending(world: World, event: str) -> Request:
    def resend() -> bool:
        if not world.hub.delivery.journal.resend(event, looks=2):
            raise NotResendable("the attempt in progress succeeded")
        return True

    return resend
