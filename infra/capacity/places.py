"""What the keys of partitions stand for: where all requests about one thing meet, and how many partitions share them.

Every access path of a request has its row here; the keys are those of the record modules.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from chalicelib.cards.network.activity import SHARDS as LISTS
from chalicelib.foundation.sharded import SHARDS


@dataclass(frozen=True, slots=True)
class Path:
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


PATHS: Sequence[Path] = (
    Path("clients", r"[0-9a-f-]{36}", "a client"),
    Path("banks", r"[A-Z0-9]{8,11}", "a bank"),
    Path("banks.directory", r".+", "the directory of banks", is_shared=True),
    Path("authorizations", r"[0-9a-f]{64}", "an authorization request"),
    Path("consents", r"[0-9a-f]{22}", "a consent"),
    Path("consents.notify", r"\d", "consents by their next notice", SHARDS, is_shared=True),
    Path("idempotency", r"(tpp|bank|card-api)#.+", "a key or request id"),
    Path("payments", r"[A-Z0-9]{8,11}#.+", "a payment"),
    Path("deliveries", r"[0-9a-f]{22}", "a delivery"),
    Path("deliveries", r"receiver#.+", "a slot of a receiver"),
    Path("deliveries.due", r"\d", "deliveries by their next attempt", SHARDS, is_shared=True),
    Path("deliveries.failed", r"\d", "deliveries that failed", SHARDS, is_shared=True),
    Path("deliveries.bank", r".+#\d", "a bank's deliveries", SHARDS),
    Path("deliveries.client", r".+#\d", "a client's deliveries", SHARDS),
    Path("deliveries.manager", r".+#\d", "a programme manager's deliveries", SHARDS),
    Path("programmes", r"manager#\d+", "a programme manager's set-up"),
    Path("programmes", r"credential#.+", "a credential"),
    Path("programmes", r"events#\d+", "a programme manager's event secrets"),
    Path("cards", r"sequences", "the counters of identifiers", is_shared=True),
    Path("cards", r"(card|pan)#.+", "a card"),
    Path("cards", r"manager#\d+#\d+", "the list of a programme manager's cards", LISTS),
    Path("cards", r"account#.+", "an account"),
    Path("cards", r"holder#.+", "a holder"),
    Path("ledger", r"account#.+", "an account's ledger"),
    Path("ledger", r"card#.+", "a card's transactions and counters"),
    Path("ledger", r"holder#.+", "a holder's counters"),
    Path("ledger", r"transaction#.+", "a transaction"),
    Path("ledger", r"proof", "how far the ledger is proved", is_shared=True),
    Path("external-payments", r"(external_)?address#.+", "an external payment address"),
    Path("external-payments", r"external_payment#.+", "an external payment"),
    Path("external-payments", r"provider#.+", "an order of the sandbox's provider"),
    Path("external-payments.due", r"\d", "payments that wait for their end", SHARDS, is_shared=True),
    Path("card-activity", r"authorization#\d+", "an authorization"),
    Path("card-activity", r"card#\d+", "a card's activity"),
    Path("card-activity", r"manager#\d+#\d+", "the activity of a programme manager's cards", LISTS),
    Path("card-activity.due", r"\d", "holds by their end", SHARDS, is_shared=True),
    Path("statistics", r"calls#.+", "a bank's hour"),
    Path("statistics", r"(quarter|report)#.+", "a bank's days"),
)


@cache
def about(table: str, index: str, key: str) -> Path:
    """What a partition of a table, or of one of its indexes, stands for. Raises: LookupError, if nobody has said."""
    name = f"{table}.{index}" if index else table
    for path in PATHS:
        if path.table == name and re.fullmatch(path.key, key):
            return path
    raise LookupError(f"what does the key {key} of {name} stand for?")


def named(what: str) -> Path:
    """The path that stands for something."""
    return next(path for path in PATHS if path.what == what)
