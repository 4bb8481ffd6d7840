"""What the keys of partitions stand for: where all requests about one thing meet, and how many partitions share them.

Every access path of a request has its row here; the keys are those of the record modules.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from chalicelib.cards.storage.time_ordered import SHARDS as LISTS
from chalicelib.foundation.dynamodb.sharded_index import SHARDS


@dataclass(frozen=True, slots=True)
class AccessPath:
    """A kind of partition.

    Attributes:
        table: of its table, or of its table and index.
        key: a pattern of the partition key's values.
        what: what one of them stands for.
        partitions: so many hold what belongs together.
        is_shared: whether everybody meets there, not those of one thing only.
    """

    table: str
    key: str
    what: str
    partitions: int = 1
    is_shared: bool = False


PATHS: Sequence[AccessPath] = (
    AccessPath("clients", r"[0-9a-f-]{36}", "a client"),
    AccessPath("banks", r"[A-Z0-9]{8,11}", "a bank"),
    AccessPath("banks.directory", r".+", "the directory of banks", is_shared=True),
    AccessPath("authorizations", r"[0-9a-f]{64}", "an authorization request"),
    AccessPath("consents", r"[0-9a-f]{22}", "a consent"),
    AccessPath("consents.notify", r"\d", "consents by their next notice", SHARDS, is_shared=True),
    AccessPath("idempotency", r"(tpp|order|bank|card-api)#.+", "a key or request id"),
    AccessPath("payments", r"[A-Z0-9]{8,11}#.+", "a payment"),
    AccessPath("payments", r"asked#.+", "a visitor's hour"),
    AccessPath("deliveries", r"[0-9a-f]{22}", "a delivery"),
    AccessPath("deliveries", r"receiver#.+", "a slot of a receiver"),
    AccessPath("deliveries.due", r"\d", "deliveries by their next attempt", SHARDS, is_shared=True),
    AccessPath("deliveries.failed", r"\d", "deliveries that failed", SHARDS, is_shared=True),
    AccessPath("deliveries.bank", r".+#\d", "a bank's deliveries", SHARDS),
    AccessPath("deliveries.client", r".+#\d", "a client's deliveries", SHARDS),
    AccessPath("deliveries.manager", r".+#\d", "a programme manager's deliveries", SHARDS),
    AccessPath("programmes", r"manager#\d+", "a programme manager's set-up"),
    AccessPath("programmes", r"credential#.+", "a credential"),
    AccessPath("programmes", r"events#\d+", "a programme manager's event secrets"),
    AccessPath("cards", r"sequences", "the counters of identifiers", is_shared=True),
    AccessPath("cards", r"(card|pan)#.+", "a card"),
    AccessPath("cards", r"manager#\d+#\d+", "the list of a programme manager's cards", LISTS),
    AccessPath("cards", r"account#.+", "an account"),
    AccessPath("cards", r"holder#.+", "a holder"),
    AccessPath("ledger", r"account#.+", "an account's ledger"),
    AccessPath("ledger", r"card#.+", "a card's transactions and counters"),
    AccessPath("ledger", r"holder#.+", "a holder's counters"),
    AccessPath("ledger", r"transaction#.+", "a transaction"),
    AccessPath("ledger", r"proof", "how far the ledger is proved", is_shared=True),
    AccessPath("external-payments", r"(external_)?address#.+", "an external payment address"),
    AccessPath("external-payments", r"external_payment#.+", "an external payment"),
    AccessPath("external-payments", r"provider#.+", "an order of the sandbox's provider"),
    AccessPath("external-payments.due", r"\d", "payments that wait for their end", SHARDS, is_shared=True),
    AccessPath("card-activity", r"authorization#\d+", "an authorization"),
    AccessPath("card-activity", r"card#\d+", "a card's activity"),
    AccessPath("card-activity", r"manager#\d+#\d+", "the activity of a programme manager's cards", LISTS),
    AccessPath("card-activity.due", r"\d", "holds by their end", SHARDS, is_shared=True),
    AccessPath("statistics", r"calls#.+", "a bank's hour"),
    AccessPath("statistics", r"(quarter|report)#.+", "a bank's days"),
)


@cache
def about(table: str, index: str, key: str) -> AccessPath:
    """What a partition of a table, or of one of its indexes, stands for. Raises: LookupError, if nobody has said."""
    name = f"{table}.{index}" if index else table
    for path in PATHS:
        if path.table == name and re.fullmatch(path.key, key):
            return path
    raise LookupError(f"what does the key {key} of {name} stand for?")


def named(what: str) -> AccessPath:
    """The path that stands for something."""
    return next(path for path in PATHS if path.what == what)
