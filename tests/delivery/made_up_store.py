"""A store with a client's made-up deliveries and events, which counts calls: thousands are too many for an emulator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

from chalicelib.delivery.delivery_record import FAILED_OF_CLIENT, OF_CLIENT, RECORD, Delivery, State, put_delivery
from chalicelib.delivery.event_log import EventLog, Position, _part, _partition, _shard
from chalicelib.foundation.dynamodb.store import Item, Page, Store, Which

CLIENT = "a-client"


def made_up(number: int, created_at: int, kind: str = "event", state: State = "delivered", topic: str = "test") -> Item:
    """The item of a delivery; its id is made of ``number``."""
    names = Delivery.__dataclass_fields__
    members: dict[str, Any] = dict.fromkeys(names) | {
        "delivery_id": f"{number:022x}",
        "kind": kind,
        "topic": topic,
        "receiver": f"client#{CLIENT}",
        "client_id": CLIENT,
        "state": state,
        "created_at": created_at,
        "attempts": 1,
        "body_parts": 0,
        "history": (),
    }
    delivery = Delivery(**members)
    failed = FAILED_OF_CLIENT.entry(delivery.delivery_id, CLIENT) if state == "failed" else {}
    return put_delivery(delivery).item | failed


class MadeUpStore(Store):
    """Answers queries and reads of items; ``calls`` has their names."""

    def __init__(self, deliveries: Sequence[Item] = ()) -> None:
        self.deliveries, self.logged = [*deliveries], list[Item]()
        self.calls: list[str] = []

    def add_event(self, position: Position, topic: str = "test") -> None:
        partition = _partition(f"client#{CLIENT}", _shard(position[1]))
        self.logged.append({"delivery_id": partition, "part": _part(position), "topic": topic})

    def query(self, table: str, partition: tuple[str, Any], **which: Unpack[Which]) -> Page:
        self.calls.append("Query")
        is_of_deliveries = which.get("index") in (OF_CLIENT.name, FAILED_OF_CLIENT.name)
        rows = self.deliveries if is_of_deliveries else self.logged
        between: Any = which["between"]
        name, first, last = between
        assert first <= last, "DynamoDB refuses such a range"
        found = [row for row in rows if row.get(partition[0]) == partition[1] and first <= row[name] <= last]
        found.sort(key=lambda row: row[name], reverse=which.get("newest_first", False))
        page = found[: which.get("limit")]
        return Page(page, page[-1] if len(page) < len(found) else None)

    def batch_get(self, keys: Sequence[tuple[str, Item]], attributes: Sequence[str] = ()) -> list[Item | None]:
        self.calls.append("BatchGetItem")
        assert len(keys) <= 100
        items = {row["delivery_id"]: row for row in self.deliveries}
        return [items.get(key["delivery_id"]) if key["part"] == RECORD else None for _, key in keys]


def event_log(store: Store, causeway: Any) -> EventLog:
    """The log of events in a store, with the vault, keys and clock of a service."""
    return EventLog(store, causeway.hub.vault, causeway.hub.keyring, causeway.clock)
