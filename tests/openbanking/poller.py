"""A client that fetches its events."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

from tests.causeway import Answer, Causeway


class Poller:
    """A client that fetches its events and follows ``next``, also after it got all there were."""

    def __init__(self, causeway: Causeway, limit: int | None = None) -> None:
        self.causeway = causeway
        self.after: str | None = None
        self.limit = limit

    def ask(self, **query: object) -> Answer:
        return self.causeway.tpp.call("GET", f"/tpp/events?{urlencode(query)}")

    def page(self) -> Any:
        """The next page's body."""
        query = {"after": self.after, "limit": self.limit}
        answer = self.ask(**{name: value for name, value in query.items() if value is not None})
        assert answer.status == 200, answer
        self.after = answer.body["next"]
        return answer.body

    def pages(self) -> Iterator[Any]:
        """The pages that are there now."""
        while True:
            page = self.page()
            yield page["events"]
            if not page["has_more"]:
                return

    def fetch(self) -> list[Any]:
        """The events that are there now."""
        return [event for page in self.pages() for event in page]


def fetches_events(causeway: Causeway, limit: int | None = None) -> Poller:
    """Has the service's client fetch its events, and authenticate with a secret."""
    clients, client_id = causeway.hub.openbanking.clients, causeway.tpp.client_id
    causeway.tpp.client_secret = clients.rotate_secret(client_id, 0).secret
    causeway.tpp.client = clients.update(client_id, events="poll").client
    return Poller(causeway, limit)


def trial(causeway: Causeway) -> str:
    """The id of a new test event."""
    return causeway.hub.openbanking.tpp_events.send_test(causeway.tpp.client)


def ids(events: list[Any]) -> list[str]:
    return [event["id"] for event in events]
