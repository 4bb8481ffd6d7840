"""Outcomes of requests: responses, calls to banks and clients, and table changes, without random values."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import unified_diff
from typing import Any, NamedTuple, cast

from chalicelib.cards.authorization.authorizer import NOT_AVAILABLE
from chalicelib.cards.reconciliation.ledger_proof import LedgerMismatch
from chalicelib.cards.storage.time_ordered import CANCELLED, RESERVED_BY
from chalicelib.delivery.journal import NotResendable
from chalicelib.foundation import jsontext
from chalicelib.foundation.dynamodb.items import unpack
from chalicelib.foundation.dynamodb.store import Store
from chalicelib.openbanking.protocol.refusals import STILL_RUNNING
from infra.admin.ledger_verification import prove_ledger
from tests.cards.contest import UNDECIDED
from tests.cards.issuer import Envelope
from tests.cards.stored_cards import EmulatorTables
from tests.causeway import GROWING, Answer, Causeway
from tests.kit.tables import rows
from tests.openbanking.faults import Snapshot, table_of

TABLES = (*GROWING, "clients")
_ANSWER_NAMES = r"\w*id|\w*reference|trans_link|auth_code|pan|pin|cvc2|acs_password|account_number"
_RANDOM_IN_ANSWERS = re.compile(
    rf'\b(?:{_ANSWER_NAMES})\\*":\s*(?:\d+|\\*"\w*)'
    r"|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
    r'|(?![A-Z_]+\\*")[\w-]{20,}+(?!\\*":)'  # names and codes are longer, too
)
_ITEM_NAMES = r"\w*ids?|revision|\w*_shard|auth_code|last_four|of|pvv|stan|trace_number|trans_link"
_RANDOM_IN_ITEMS = re.compile(
    rf'"(?:{_ITEM_NAMES})": (?:\d+|"[^"]*"|\[[\d, ]*\])'  # by name
    r'|#[\w-]+|[\w-]{20,}+(?!":)|\d{7,}'  # parts of keys; long values; times
)
"""The pattern of random values in items: identifiers, times, encrypted values, and revisions, which count writes."""


class Outcome(NamedTuple):
    """The observable outcome of concurrent requests.

    Attributes:
        answers: the responses in the order of the requests, as formatted by ``format_answers``.
        received: the paths of the calls that banks and the client received, each with the number of distinct ids.
        stored: the changes in the tables.
    """

    answers: str
    received: tuple[str, ...]
    stored: tuple[str, ...]

    @property
    def lines(self) -> Sequence[str]:
        return [self.answers, *self.received, *self.stored]


class Baseline:
    """The state of a service before the requests run. The state is used for comparison and restored after each run."""

    def __init__(self, causeway: Causeway) -> None:
        self._causeway = causeway
        self._snapshot = Snapshot(causeway, TABLES)
        self._rows = {table: [*rows(table_of(causeway, table))] for table in TABLES}

    def restore(self) -> None:
        self._snapshot.restore()

    def outcome(self, results: Sequence[Any]) -> Outcome:
        calls = Counter(path for path, _ in {*self._received_calls()})
        received = sorted(f"{path}: {number}" for path, number in calls.items())
        stored = sorted(line for table in TABLES for line in self._changes_of(table))
        return Outcome(format_answers(results), tuple(received), tuple(stored))

    def ledger_mismatch(self) -> str:
        """Return the mismatch that the ledger check finds, or an empty string if the ledger is consistent."""
        try:
            prove_ledger(cast(Store, EmulatorTables(self._causeway)))
        except LedgerMismatch as mismatch:
            return str(mismatch)
        return ""

    def _received_calls(self) -> Iterator[tuple[str, str]]:
        """Yield the path and the id of each call. A retry has the same id as the first call."""
        for bank in self._causeway.banks.values():
            yield from ((each.path, each.headers["X-Request-Id"]) for each in bank.received)
        yield from (("event", each.headers["webhook-id"]) for each in self._causeway.receiver.received)

    def _changes_of(self, table: str) -> Iterator[str]:
        """Yield the written rows, and the number of replaced or deleted rows.

        Reserved and unused places in a list expire, so they do not count as changes.
        """
        before, now = self._rows[table], rows(table_of(self._causeway, table))
        new = [row for row in now if row not in before]
        if gone := len(before) - len(now) + len(new):
            yield f"{table}: {gone} replaced or deleted"
        yield from (f"{table}: {_format_row(row)}" for row in new if not row.keys() & {RESERVED_BY, CANCELLED})


def format_answers(results: Sequence[Any]) -> str:
    """Format responses with numbers in place of random values. Equal values get equal numbers."""
    numbers: dict[str, str] = {}
    return _RANDOM_IN_ANSWERS.sub(
        lambda found: numbers.setdefault(found[0], f"#{len(numbers)}"), jsontext.dumps([*map(_content, results)])
    )


def difference(outcome: Outcome, allowed: Iterable[Outcome]) -> str:
    lines = outcome.lines
    nearest = min((each.lines for each in allowed), key=lambda each: len({*each} ^ {*lines}))
    return "\n".join([*unified_diff(nearest, lines, lineterm="", n=0)][2:])


def asks_for_repeat(result: Any) -> bool:
    match result:
        case Answer(409, _, text):
            return STILL_RUNNING.sentence in text
        case Envelope():
            return result.status_code in UNDECIDED or (result.data or {}).get("response_code") == NOT_AVAILABLE
    return isinstance(result, NotResendable)


def _content(result: Any) -> Any:
    match result:
        case Answer(status, _, text):
            return [status, text]
        case Envelope(raw):
            return raw
    return repr(result)


def _format_row(row: Mapping[str, Any]) -> str:
    """Format a row without random values. Duplicate early reports are omitted."""
    item = unpack(dict(row))
    if early := item.get("early"):
        item["early"] = [report for number, report in enumerate(early) if report not in early[:number]]
    return _RANDOM_IN_ITEMS.sub("#", json.dumps(item, sort_keys=True, default=_as_text))


def _as_text(value: Any) -> Any:
    if isinstance(value, set | frozenset):
        return sorted(value)
    return "sealed" if isinstance(value, bytes) else str(value)
