"""Whether an attempt was written, although the response to its transaction was lost.

The claim of a reference and the records name the attempt that wrote them.
"""

from __future__ import annotations

from collections.abc import Sequence

from chalicelib.cards.requests.request_context import MOST_TOGETHER, RequestContext
from chalicelib.cards.storage.record import Key
from chalicelib.foundation.dynamodb.store import ConditionFailed, Operation, Put, Update


def is_own(context: RequestContext, failure: ConditionFailed) -> bool:
    """Whether a repeat failed because this attempt is already stored."""
    return any(item.get("written_by") == context.write_id for item in failure.items if item)


def was_written(context: RequestContext, operations: Sequence[Operation]) -> bool:
    """Look whether this attempt is stored. Raises: StoreError."""
    if context.claim is not None:
        item = context.store.get(*context.references.keys(context.claim)[0])
        return item is not None and item["attempt"] == context.claim.attempt
    keys = [key for key in map(_written_key, operations) if key is not None]
    found = context.store.batch_get(keys[:MOST_TOGETHER])
    return any(item.get("written_by") == context.write_id for item in found if item)


def _written_key(operation: Operation) -> Key | None:
    """The key of an item that names the attempt which writes it."""
    match operation:
        case Put(table, {"owner": owner, "part": part, "written_by": _}):
            return table, {"owner": owner, "part": part}
        case Update(table, key, {"written_by": _}):
            return table, key
    return None
