"""What was counted of each kind of work, as ``counts.json`` keeps it; ``make capacity`` counts anew."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

PATH = Path(__file__).with_name("counts.json")

Group = Literal["open banking", "cards", "background"]


@dataclass(frozen=True, slots=True)
class Units:
    """Read and write units of DynamoDB."""

    read: Decimal
    write: Decimal


@dataclass(frozen=True, slots=True)
class KeyUnits:
    """Units of DynamoDB that one partition key gets, the busiest of those that are used for the same."""

    read: Decimal
    write: Decimal
    used: int


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of work, done once.

    Attributes:
        title: what it is, in words.
        function: what does it: empty for the one that answers requests, else the name of a worker or a schedule.
        calls: how many calls of DynamoDB it makes; ``waits`` how many one after the other.
        absent: read units for what was not there.
        tables: units by table, or by table and index: ``deliveries.due``.
        keys: by what the keys of partitions stand for (see ``places``).
        numbers: how many identifiers it takes.
        services: calls of other services: ``sqs.SendMessageBatch``.
        runs: how often a schedule starts it in 30 days.
        requests: HTTP requests that API Gateway hands over.
        banks: requests to banks and other receivers that are waited for.
        sent: bytes that leave AWS: answers, and requests to banks.
        log: bytes of the log's lines.
        processor: milliseconds of a processor, without those of transport; noise of the machine is in them.
    """

    name: str
    title: str
    group: Group
    function: str
    calls: int
    waits: int
    absent: Decimal
    tables: Mapping[str, Units]
    keys: Mapping[str, KeyUnits]
    numbers: int
    services: Mapping[str, int]
    runs: int
    requests: int
    banks: int
    sent: int
    log: int
    processor: float

    @property
    def read(self) -> Decimal:
        return sum((units.read for units in self.tables.values()), Decimal(0))

    @property
    def write(self) -> Decimal:
        return sum((units.write for units in self.tables.values()), Decimal(0))

    @property
    def queue_requests(self) -> int:
        """Requests to SQS, without those by which Lambda fetches messages."""
        return sum(count for name, count in self.services.items() if name.startswith("sqs."))


@dataclass(frozen=True, slots=True)
class Machine:
    """What timing on one machine gave, milliseconds of a processor.

    Attributes:
        bare: of the bare script of ``make bench``, transport included; ``read`` of a relayed read in the same run.
    """

    bare: float
    read: float


@dataclass(frozen=True, slots=True)
class Counted:
    """All that was counted, and on which machine."""

    machine: Machine
    kinds: Sequence[Kind]

    def of(self, name: str) -> Kind:
        return next(kind for kind in self.kinds if kind.name == name)

    @property
    def transport(self) -> float:
        """Milliseconds of one exchange by HTTP: a relayed read has two, with DynamoDB and with the bank."""
        return max((self.machine.read - self.of("read_v1").processor) / 2, 0.0)

    def milliseconds(self, kind: Kind) -> float:
        """Milliseconds of a processor, transport included."""
        exchanges = kind.calls + kind.banks + sum(kind.services.values())
        return kind.processor + exchanges * self.transport


def load(path: Path = PATH) -> Counted:
    """What ``save`` has written."""
    read = json.loads(path.read_text(encoding="utf-8"))
    return Counted(Machine(**read["machine"]), [_kind(kind) for kind in read["kinds"]])


def save(counted: Counted, path: Path = PATH) -> None:
    """Write what was counted, so that a difference can be read."""
    text = json.dumps(asdict(counted), indent=2, default=_plain)
    path.write_text(text + "\n", encoding="utf-8")


def _kind(read: Mapping[str, Any]) -> Kind:
    tables = {name: Units(**_decimal(each)) for name, each in read["tables"].items()}
    keys = {name: KeyUnits(**_decimal(each)) for name, each in read["keys"].items()}
    return Kind(**{**read, "absent": Decimal(read["absent"]), "tables": tables, "keys": keys})


def _decimal(units: Mapping[str, Any]) -> dict[str, Any]:
    """What ``_plain`` has made text of."""
    return {name: Decimal(value) if isinstance(value, str) else value for name, value in units.items()}


def _plain(number: Decimal) -> str:
    return str(number)
