"""What the card API does with a request besides storage: its cost against reading and writing the same bodies as JSON.

Storage answers at once with what it is told, and forgets what it is given. Cryptography of card data (sealing, keyed
hashes, verification values) belongs to neither; what is measured without it has constants in its place.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, replace
from typing import Any
from unittest.mock import patch

from chalicelib.bootstrap import Hub
from chalicelib.cards.card_data.encryption import CardData
from chalicelib.cards.ledger.account_record import Account
from chalicelib.cards.protocol.values import API_VERSION
from chalicelib.cards.requests.dispatch import Dispatcher
from chalicelib.cards.requests.request_context import ActionOutcome
from chalicelib.foundation import log
from chalicelib.foundation.crypto.keyring import Keyring
from chalicelib.foundation.dynamodb.store import Item, Operation, Page, Put, Store, Update
from chalicelib.foundation.settings import Settings
from infra.programme import file, loading
from tests.bench.measures import processor_time, times_as_much
from tests.cards.issuer import DELIVERY, EUR, EVERYDAY, GBP, GERMANY, HOLDER_BLOCK, USD
from tests.causeway import START
from tests.foundation.fakes import FakeKms, FakeSecrets
from tests.kit.time import ManualClock

GOALS = {"getAccounts": 8, "createCard": 12}
ACCOUNT_ID = 1
CREATE_CARD: dict[str, Any] = {
    "card_program_id": EVERYDAY,
    "card_currency_ison": [EUR, GBP, USD],
    "card_country_ison": GERMANY,
    "card_virtual": 0,
    "card_name_line_3": "ZOE ONEIL",
    **HOLDER_BLOCK,
    **DELIVERY,
}
REQUESTS: Mapping[str, Mapping[str, Any]] = {"getAccounts": {"account_id": ACCOUNT_ID}, "createCard": CREATE_CARD}


class Instant(Store):
    """Items in memory; once it is ``settled`` nothing is written any more."""

    def __init__(self) -> None:
        self._items: dict[tuple[str, str, str], Item] = {}
        self._settled = False

    def settle(self) -> None:
        self._settled = True

    def batch_get(self, keys: Sequence[tuple[str, Item]], attributes: Sequence[str] = ()) -> list[Item | None]:
        return [self._items.get(_place(table, key)) for table, key in keys]

    def put(self, table: str, item: Item, condition: Any = None) -> None:
        if not self._settled:
            self._items[_place(table, item)] = item

    def transact(self, operations: Sequence[Operation]) -> None:
        for each in operations:
            if isinstance(each, Put):
                self.put(each.table, each.item)
            elif isinstance(each, Update) and not self._settled:
                self.update(each.table, each.key, set=each.set, add=each.add)

    def update(self, table: str, key: Item, **changes: Any) -> Item:
        item = self._items.setdefault(_place(table, key), dict(key))
        item |= changes.get("set") or {}
        for name, number in (changes.get("add") or {}).items():
            item[name] = item.get(name, 0) + number
        return item

    def query(self, table: str, partition: tuple[str, Any], **_: Any) -> Page:
        rows = [item for place, item in self._items.items() if place[:2] == (table, partition[1])]
        return Page(rows, None)


def _place(table: str, key: Item) -> tuple[str, str, str]:
    return table, str(key.get("owner", key.get("claim"))), str(key.get("part"))


class NoCryptography(CardData):
    """Card data that cost nothing."""

    def __init__(self) -> None:
        """No keys."""

    def seal(self, card_id: int, field: Any, text: str) -> bytes:
        return b"sealed"

    def lookup(self, pan: str) -> str:
        return "hash"

    def fingerprint(self, text: str) -> str:
        return "hash"

    def key_version(self) -> int:
        return 1

    def cvc2(self, pan: str, year: int, month: int, version: int) -> str:
        return "123"

    def pvv(self, pan: str, pin: str, version: int) -> str:
        return "1234"


@dataclass(frozen=True)
class Share:
    """A share of what happens to a request: what has to be decided, audit lines and cryptography belong to it or not.

    Without ``decides`` the flow is answered for by what it decided before.
    """

    decides: bool = False
    audits: bool = False
    ciphers: bool = False
    reference: bool = False


COUNTED = "dispatch, validation and serialisation"
"""What the goals are about."""
SHARES = {
    COUNTED: Share(),
    "  and what is decided": Share(decides=True),
    "  and the audit lines": Share(decides=True, audits=True),
    "  and the cryptography of card data": Share(decides=True, audits=True, ciphers=True),
    "  and a reference with a kept answer": Share(decides=True, audits=True, ciphers=True, reference=True),
}


@contextmanager
def requests(
    action: str, share: Share = SHARES[COUNTED]
) -> Iterator[tuple[Callable[[], object], Callable[[], object]]]:
    """A request's ``json.loads`` of its body and ``json.dumps`` of its answer, and the request itself."""
    import app  # noqa: F401 - the function's own settings of the garbage collector

    hub, body = _asked(action, share)
    answer = json.loads(_answered(hub, body))

    def bare() -> None:
        json.loads(body)
        json.dumps(answer)

    if not share.decides:
        _decided_before(hub.cards.api, action, body)
    with nullcontext() if share.audits else patch.object(log, "audit", _silence):
        yield bare, lambda: hub.cards.api.answer(body)


def ratio(action: str, share: Share = SHARES[COUNTED]) -> float:
    """The processor time of a request against that of its JSON."""
    with requests(action, share) as (bare, request):
        measure = lambda: (processor_time(bare, 80), processor_time(request, 20))  # noqa: E731
        return times_as_much(measure, GOALS[action], rounds=40)


def _asked(action: str, share: Share) -> tuple[Hub, bytes]:
    """A process whose caches are warm, and a request."""
    hub, credentials = _process(share.ciphers)
    envelope = {**credentials, "action": action, "api_version": API_VERSION}
    envelope |= {"request_reference_id": "reference-000001"} if share.reference else {}
    return hub, json.dumps({**envelope, **REQUESTS[action]}).encode()


def _answered(hub: Hub, body: bytes) -> str:
    answer = hub.cards.api.answer(body).text
    assert json.loads(answer)["status"] == "success", answer
    return answer


def _decided_before(dispatch: Dispatcher, action: str, body: bytes) -> None:
    """Have the flow answer at once what it has just decided, and nothing be written."""
    handler, call = dispatch.actions[action].handler, dispatch.call
    decided: list[ActionOutcome[Any]] = []

    def note(function: Any, *arguments: Any) -> Any:
        answer = call(function, *arguments)
        decided.extend([answer] if function is handler else [])
        return answer

    object.__setattr__(dispatch, "call", note)
    dispatch.answer(body)
    outcome = replace(decided[-1], operations=(), uses=())
    object.__setattr__(dispatch, "call", lambda function, *_: outcome if function is handler else call(function, *_))


def _silence(event: str, **members: Any) -> None:
    """No line is written."""


def _process(ciphers: bool) -> tuple[Hub, Mapping[str, str]]:
    hub = Hub(Settings.from_environment({"STAGE": "local"}), ManualClock(START))
    store, secrets = Instant(), FakeSecrets()
    hub.__dict__ |= {"store": store, "secrets": secrets}
    hub.__dict__["keyring"] = Keyring(secrets, FakeKms(), "keys", hub.clock)
    hub.cards.keys._kms = FakeKms()
    hub.keyring.initialise()
    hub.cards.keys.initialise()
    if not ciphers:
        hub.cards.__dict__["card_data"] = NoCryptography()
    made = loading.load(hub, file.read_programmes(file.DEMO.read_text(encoding="utf-8"), "local"))
    store.transact([_account().put("bench")])
    store.settle()
    return hub, asdict(made[0].secrets["full"])


def _account() -> Account:
    return Account(
        id=ACCOUNT_ID,
        manager_id=1,
        access_level=0,
        holder_id=1,
        currency=EUR,
        status="A",
        program_id=501,
        fee_group_id=301,
        risk_group_id=401,
        limit_group_id=211,
        updated_at=1_772_442_000,
    )
