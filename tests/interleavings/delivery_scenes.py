"""The scene of an event that is due: workers, the sweeper, and those who resend it or change its receiver."""

from __future__ import annotations

from chalicelib.delivery.journal import NotResendable
from chalicelib.delivery.sweeper import sweep
from tests.causeway import Causeway
from tests.delivery.deliveries import record
from tests.interleavings.scenes import Requests, Scenes
from tests.openbanking.scenes import InMemory

scene = Scenes()


@scene("work, work", "work, sweep", "work, resend", "sweep, resend", "sweep, sweep", "work, fetch events")
def event(causeway: Causeway) -> Requests:
    """Both workers have the same message; to fetch events, the client gives up its Events URL."""
    InMemory.install(causeway.hub.delivery)
    event, clients = record(causeway, body="{}"), causeway.hub.openbanking.clients

    def resend() -> bool:
        if not causeway.hub.delivery.journal.resend(event, looks=2):
            raise NotResendable("the attempt in progress succeeded")
        return True

    return Requests(
        {
            "work": lambda: causeway.hub.delivery.worker.attempt(event),
            "sweep": lambda: causeway.hub.delivery.call(sweep, first=0),
            "resend": resend,
            "fetch events": lambda: clients.update(causeway.tpp.client_id, events="poll").client.events_mode,
        }
    )
