"""A receiver for a programme manager's card events."""

from typing import Any

from chalicelib.cards.protocol.card_events import EVENTS
from chalicelib.delivery.delivery_record import BODY, Delivery
from chalicelib.foundation import jsontext
from infra.render.openapi.cards.answer_models import data_of
from tests.cards.issuer import MANAGER, Issuer

EventData = dict[str, Any]


class Listener:
    """Reads an issuer's recorded events in order."""

    def __init__(self, issuer: Issuer) -> None:
        self.issuer = issuer
        self._known: set[str] = set()

    def deliveries(self) -> list[Delivery]:
        """Return the deliveries recorded since the last call."""
        found = [each for each in self.issuer.causeway.recorded("card_event") if each.delivery_id not in self._known]
        self._known |= {each.delivery_id for each in found}
        return found

    def events(self, manager_id: int = MANAGER) -> list[Any]:
        """Return the new event bodies ordered by type and payment id. Check that each event has a valid form and is
        queued.
        """
        found, queued = self.deliveries(), self.issuer.causeway.queued()
        assert sorted(each.delivery_id for each in found) == sorted(set(queued) & {each.delivery_id for each in found})
        bodies = [self._body(each) for each in found if each.manager_id == manager_id]
        return sorted(bodies, key=lambda body: (body["type"], body["data"].get("epm_transaction_id", 0)))

    def received_events(self, event: str = "", manager_id: int = MANAGER) -> list[EventData]:
        found = self.events(manager_id)
        assert {body["type"] for body in found} <= ({event} if event else EVENTS.keys())
        return [body["data"] for body in found]

    def forget(self) -> None:
        self.deliveries()

    def _body(self, delivery: Delivery) -> Any:
        text = self.issuer.hub.delivery.bodies.open(delivery.delivery_id, BODY, delivery.body_parts)
        body = jsontext.loads(text)
        assert (body["type"], list(body)) == (delivery.topic, ["type", "timestamp", "data"])
        data_of(body["type"]).read(body["data"])
        return body
