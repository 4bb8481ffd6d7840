"""What a load of a set-up changes, and what the table holds after it."""

from __future__ import annotations

from typing import Any

from tests.cards.setups import Content, planned
from tests.causeway import Causeway


def changes(causeway: Causeway, content: Content) -> list[tuple[str, str]]:
    """What a load would do: the verbs and the titles."""
    (plan,) = planned(causeway.hub, content)
    return [(change.what, change.title) for change in plan.changes]


def kept(causeway: Causeway, content: Content) -> dict[str, Any]:
    """What the table holds of a programme manager and of its credentials."""
    rows = list(causeway.hub.store.scan("programmes"))
    own = [row for row in rows if row["owner"] == f"manager#{content['id']}" or row.get("manager_id") == content["id"]]
    return {f"{row['owner']} {row['part']}": row for row in own}


def use(causeway: Causeway, content: Content, *references: tuple[str, int]) -> None:
    hub = causeway.another_process()
    hub.cards.programmes.mark_used(hub.cards.programmes.catalogue(content["id"]), references)
