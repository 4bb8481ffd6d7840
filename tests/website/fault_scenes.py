"""What users do in the web interface, to be played with every fault of the storage."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from chalicelib.foundation.identifiers import new_id
from chalicelib.openbanking.client_record import Client
from chalicelib.statistics.days import hours_of
from tests.openbanking.faults import Fault
from tests.openbanking.payment_scenes import scene
from tests.openbanking.scenes import Run
from tests.statistics.made_up import keeping, record, slip
from tests.website.person import Person
from tests.world import Answer, World


def shown(fault: Fault, ask: Callable[[], Answer]) -> Answer:
    """The page, at the second attempt if the first one said that the storage did not answer."""
    with fault:
        answer = ask()
    if answer.status == 503:
        assert "storage did not answer" in answer.text
        answer = ask()
    return answer


def somebody(world: World) -> tuple[Person, Client]:
    """A user, with a client that has events sent."""
    owner = f"{new_id()}@example.com"
    client = world.hub.clients.create(owner=owner, title="Eventful", events_url=world.receiver.url).client
    return Person.signed_in(world, owner), client


@scene()
def create_a_client_in_the_web_interface(world: World) -> Run:
    def run(fault: Fault) -> None:
        owner = f"{new_id()}@example.com"
        person = Person.signed_in(world, owner)
        person.get("/clients/new")
        fields = {"draft": person.hidden("draft"), "title": "Once", "secret": "yes", "token": person.token}
        answer = shown(fault, lambda: person.post("/clients/new", **fields))
        assert answer.status == 201
        (client,) = world.hub.clients.all(owner)
        secret = answer.text.partition('<code id="client-secret">')[2].partition("<")[0]
        assert client.accepts_secret(secret, world.clock.time())

    return run


@scene()
def look_at_deliveries_in_the_web_interface(world: World) -> Run:
    def run(fault: Fault) -> None:
        person, client = somebody(world)
        delivery_id = world.hub.events.test(client)
        answer = shown(fault, lambda: person.get(f"/deliveries?client_id={client.client_id}"))
        assert (answer.status, delivery_id in answer.text) == (200, True)

    return run


@scene()
def look_at_performance_in_the_web_interface(world: World) -> Run:
    def run(fault: Fault) -> None:
        today = world.clock.now().date()
        yesterday = today - timedelta(days=1)
        earlier, now = (slip("ALPHGB21", hours_of(day)[8], answered=7) for day in (yesterday, today))
        world.hub.store.transact([record("ALPHGB21", yesterday, earlier).keeping(), keeping(now)])
        world.hub.banks.directory()
        world.hub.__dict__.pop("statistics", None)  # it would remember today
        answer = shown(fault, lambda: Person(world).get("/performance"))
        assert (answer.status, answer.text.count("<dd>7</dd>")) == (200, 2)

    return run


@scene()
def send_a_delivery_again_in_the_web_interface(world: World) -> Run:
    def run(fault: Fault) -> None:
        person, client = somebody(world)
        delivery_id = world.hub.events.test(client)
        world.hub.worker.attempt(delivery_id)
        assert world.delivery(delivery_id).state == "delivered"
        person.get(f"/deliveries/{delivery_id}")
        token = person.token
        answer = shown(fault, lambda: person.post(f"/deliveries/{delivery_id}", token))
        assert answer.status == 303
        assert world.delivery(delivery_id).state == "due"

    return run
