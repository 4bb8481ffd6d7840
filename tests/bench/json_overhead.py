"""Measures the overhead of bulk orders and card actions, compared with parsing and serialising the same JSON
texts.

Card actions run without storage, decisions and audit lines. Only dispatch, validation and serialisation remain.
"""

import contextlib
import json
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any
from unittest.mock import patch

from chalicelib.foundation import jsontext, log
from chalicelib.foundation.dynamodb.store import Item, Operation, Store
from chalicelib.foundation.requests.engine import Engine
from chalicelib.openbanking.protocol.versions import VERSIONS
from tests.bench.comparison import processor_time
from tests.bench.measured_requests import CREATE_CARD
from tests.cards.issuer import Issuer
from tests.openbanking.examples import REQUESTS

PAYMENTS = 1000
BULK_GOAL = 8
ACTION_GOALS = {"getAccounts": 8, "createCard": 12}
_BULK_WEBHOOKS = {1: "/bulk_payment_initiation", 2: "/v2_payment_bulk"}
_OF_ONE_ACCOUNT = ("receiver_account_number", "receiver_sort_code")

Call = Callable[[], object]


def bulk_order(version: int, count: int = PAYMENTS) -> tuple[Call, Call]:
    """Return two functions: the first parses the JSON of a ``count``-payment order, the second also validates the
    order.
    """
    order = dict(REQUESTS[version][_BULK_WEBHOOKS[version]])
    [payment] = order["payments"]
    total = str(count * Decimal("12.50"))
    if version == 1:
        payment = {name: value for name, value in payment.items() if name not in _OF_ONE_ACCOUNT}
        order["totals"] = [{"currency": "GBP", "amount": total}]
        order["payments"] = [payment | {"receiver_iban": _iban(number)} for number in range(count)]
    else:
        order["instructed_totals"] = {"currency": "EUR", "amount": total}
        order["payments"] = [payment | {"creditor_account": {"iban": _iban(number)}} for number in range(count)]
    body = jsontext.dumps(order).encode()
    model = VERSIONS[version].payments["bulk"].request
    return lambda: json.loads(body), lambda: model.read(jsontext.loads(body))


def _iban(number: int) -> str:
    bban = f"DEMO040004{number:08d}"
    digits = "".join(str(int(character, 36)) for character in f"{bban}GB00")
    return f"GB{98 - int(digits) % 97:02d}{bban}"


@contextlib.contextmanager
def card_action(issuer: Issuer, action: str) -> Iterator[tuple[Call, Call]]:
    """Yield two functions. The first function parses a request and serialises its response as JSON. The second function
    executes the action.
    """
    members = CREATE_CARD if action == "createCard" else {"account_id": issuer.account()}
    body = json.dumps(issuer.body(action, **members)).encode()
    store = _RecordedReads(issuer.hub.store)
    dispatcher = replace(issuer.hub.cards.api, store=store, engine=Engine(store))
    handler, call = dispatcher.actions[action].handler, dispatcher.call
    decided: list[Any] = []

    def decide_once(function: Any, *arguments: Any) -> Any:
        if function is not handler:
            return call(function, *arguments)
        if not decided:
            decided.append(replace(call(function, *arguments), operations=(), uses=()))
        return decided[0]

    dispatcher = replace(dispatcher, call=decide_once)  # type: ignore[arg-type]
    answer = json.loads(dispatcher.answer(body).text)
    assert answer["status"] == "success", answer

    def json_only() -> None:
        json.loads(body)
        json.dumps(answer)

    with patch.object(log, "audit", lambda event, **_: None):
        yield json_only, lambda: dispatcher.answer(body)


class _RecordedReads(Store):
    """A store that records the results of its first reads, returns the same results for later reads, and writes no
    data.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._found: dict[str, list[Item | None]] = {}

    def batch_get(self, keys: Sequence[tuple[str, Item]], attributes: Sequence[str] = ()) -> list[Item | None]:
        name = str(keys)
        if name not in self._found:
            self._found[name] = self._store.batch_get(keys, attributes)
        return self._found[name]

    def transact(self, operations: Sequence[Operation]) -> None:
        """Ignore the write operations of a transaction."""


def ratio(sides: tuple[Call, Call], repeats: tuple[int, int], goal: float, rounds: int = 20) -> float:
    """Return the ratio of the second call's processor time to the first call's processor time.

    Each call runs ``repeats`` times in a round. The result is the lower of two values: the ratio of the minima and the
    median ratio. Up to ten times as many rounds run while the result exceeds ``goal``, because a loaded machine raises
    both values.
    """
    pairs: list[tuple[float, float]] = []
    while True:
        for _ in range(rounds):
            bare, ours = (processor_time(call, times) for call, times in zip(sides, repeats, strict=True))
            pairs.append((bare, ours))
        of_minima = min(ours for _, ours in pairs) / min(bare for bare, _ in pairs)
        found = min(of_minima, statistics.median(ours / bare for bare, ours in pairs))
        if found <= goal or len(pairs) >= 10 * rounds:
            return found
