"""The bare script that authorizations are measured against: their reads and writes by boto3, and nothing else.

Two reads, a reservation beside the second one, and the transaction with the hold, the authorization, its rows in the
lists and the counters.
"""

from __future__ import annotations

import secrets
import time
import zlib
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tests.bench.bare_calls import (
    KEPT_SECONDS,
    NEW,
    OLD,
    BareScript,
    counters,
    held,
    members,
    more,
    typed,
    unchanged,
    unclaimed,
    update,
)

POUND, BRITAIN = 826, 826
SHOP = {"mcc": "5411", "merchant_name": "Corner Grocer", "merchant_id": "GROCER000000001", "terminal_id": "TERM0001"}
PURCHASE = {"transaction_type": 0, "amount": 1, "currency_ison": POUND, "entry_mode_type": 5} | {
    "merchant_country_ison": BRITAIN,
    **SHOP,
}
AMOUNTS, COUNTRIES = "201.3", "201.4"
"""The limits of the demonstration programme that count a purchase: how much, and in how many countries."""
_HOLD_SECONDS = 7 * 24 * 3600
_DONE = "chip_data"
_CHECKS = {
    name: int(name == _DONE)
    for name in (
        *("card_expiration_date_present", "online_pin", "offline_pin", "3_d_secure", "cvv_2", "magnetic_stripe"),
        *("chip_data", "avs", "phone_number", "signature"),
    )
}
_POOL = ThreadPoolExecutor(32)
_SEALED = secrets.token_bytes(870)
"""As long as an answer that is kept."""


class BareAuthorization(BareScript):
    """Has a card be used for a penny whenever it is called."""

    def __init__(self, dynamodb: Any, prefix: str) -> None:
        super().__init__(dynamodb, prefix)
        self._places: dict[int, tuple[int, str]] = {}

    # -- inside

    def _attempt(self, place: int, number: int, claim: Mapping[str, str]) -> None:
        of_card = {"owner": f"card#{place}", "part": "card"}
        card = self._read({self._claims: [{"claim": claim["claim"]}], self._cards: [of_card]})["card"]
        account, holder = f"account#{card['account_ids']['L'][0]['N']}", f"holder#{card['holder_id']['N']}"
        records = [{"owner": holder, "part": "holder"}, {"owner": account, "part": "account"}]
        limits = [{"owner": owner, "part": "limits"} for owner in (of_card["owner"], holder, account)]
        reserving = _POOL.submit(self._reserve, number)
        second = self._read({self._cards: records, self._ledger: limits})
        reserved_at, token = reserving.result()
        counted = second[of_card["owner"]]
        written_by = secrets.token_hex(11)
        now = max(int(time.time() * 1000), int(counted["last_at"]["N"]) + 1)
        changed, row = held(second["account"], now, written_by, cause="authorization", authorization_id=number)
        at = changed["last_at"]
        told = {"card_id": place, "at": at, "auth_code": f"{number % 10**6:06}", "written_by": written_by}
        authorization = _authorization(number, card, second["account"], told)
        activity = _activity(number, told)
        seconds = now // 1000
        answered = {**claim, "expires_at": seconds + KEPT_SECONDS, "answer": _SEALED}
        lists = [(f"card#{place}", "activity"), (f"card#{place}", "authorize")]
        of_all = activity | _place_of_all(reserved_at, number)
        rows = [activity | {"owner": owner, "part": f"{name}#{at:013}#{number:020}"} for owner, name in lists]
        self._transact(
            [
                {"Put": {"TableName": self._claims, "Item": members(answered), **unclaimed(seconds)}},
                {"Put": {"TableName": self._activity, "Item": members(authorization), **NEW}},
                {"Put": {"TableName": self._activity, "Item": members(of_all), **_reserved(token)}},
                *({"Put": {"TableName": self._activity, "Item": members(each), **NEW}} for each in rows),
                {"Update": {"TableName": self._cards, **update(second["account"], changed)}},
                {"Put": {"TableName": self._ledger, "Item": members(row), **NEW}},
                {"Put": {"TableName": self._ledger, **_counted(counted, written_by, at)}},
                {"ConditionCheck": {"TableName": self._cards, **unchanged(card)}},
            ]
        )

    def _reserve(self, number: int) -> tuple[int, str]:
        """The time and the token of a place in the list of all cards, reserved once for all attempts."""
        if number not in self._places:
            at, token = int(time.time() * 1000), secrets.token_hex(11)
            item = members(_place_of_all(at, number) | {"reserved_by": token})
            self._dynamodb.put_item(TableName=self._activity, Item=item, **NEW)
            self._places[number] = at, token
        return self._places[number]


def _shard(number: int) -> int:
    return zlib.crc32(str(number).encode())


def _place_of_all(at: int, number: int) -> dict[str, str]:
    return {"owner": f"manager#1#{_shard(number) % 16}", "part": f"activity#{at:013}#{number:020}"}


def _reserved(token: str) -> dict[str, Any]:
    """The condition that a place is still reserved."""
    return {
        "ConditionExpression": "#reserved = :token",
        "ExpressionAttributeNames": {"#reserved": "reserved_by"},
        "ExpressionAttributeValues": {":token": typed(token)},
        **OLD,
    }


def _authorization(number: int, card: Any, account: Any, told: Mapping[str, Any]) -> dict[str, Any]:
    """A penny that was approved, and is held."""
    now = told["at"] // 1000
    converted = {"amount": 1, "currency": POUND, "base_amount": 1, "holder_amount": 1, "holder_currency": POUND}
    converted |= {"base_rate": 1, "holder_rate": 1, "fee": 0}
    counted = [{"key": AMOUNTS, "start": now, "amount": 1, "count": 1}]
    counted.append({"key": COUNTRIES, "start": now, "amount": 0, "count": 1, "country": BRITAIN})
    return {
        "owner": f"authorization#{number}",
        "part": "authorization",
        "id": number,
        "manager_id": 1,
        "access_level": 0,
        "version": 1,
        "holder_id": int(card["holder_id"]["N"]),
        "account_id": int(account["id"]["N"]),
        "state": "H",
        "response_code": "00",
        "currency": POUND,
        "use": {"transaction_type": 0, "entry_mode": 5, "country": BRITAIN, "checks": _CHECKS, **SHOP},
        "lists": ["activity", "authorize"],
        "left": 1,
        "held": 1,
        "charge": {"conversion": converted, "blends_conversion": True, "fees": [], "debit": True, "reverses": False},
        "counted": {card["owner"]["S"]: counted},
        "due_at": now + _HOLD_SECONDS,
        "due_shard": str(_shard(number) % 8),
        **told,
    }


def _activity(number: int, told: Mapping[str, Any]) -> dict[str, Any]:
    """The message as the lists show it."""
    now, stan = told["at"] // 1000, number % 10**6
    day = time.strftime("%Y-%m-%d", time.gmtime(now))
    ones = ("actual", "authorize_type", "billing_amount", "card_present", "holder_amount", "is_conversion_fee_blended")
    return {
        "transaction_type": 0,
        **dict.fromkeys((*ones, "transaction_amount"), 1),
        **dict.fromkeys(("base_conversion_rate", "billing_conversion_rate", "holder_conversion_rate"), "1"),
        **dict.fromkeys(("billing_currency_ison", "holder_currency_ison", "transaction_currency_ison"), POUND),
        **{name: value for name, value in SHOP.items() if name != "mcc"},
        "manager_id": 1,
        "access_level": 0,
        "acquirer_id": "00000100001",
        "forwarder_id": "00000200001",
        "authorize_id": number,
        "country_ison": BRITAIN,
        "mcc": int(SHOP["mcc"]),
        "entry_mode_type": 5,
        "pos_condition_code": "00",
        "pos_entry_mode": "052",
        "response_code": "00",
        "retrieval_reference_number": f"606109{stan:06}",
        "risk_actions": {},
        "security_checks": {_DONE: 1},
        "stan": stan,
        "trace_id": f"{number:015}",
        "trace_number": f"{stan:06}",
        "trans_link": f"{number:012}",
        "transaction_local_time": time.strftime("%y%m%d%H%M%S", time.gmtime(now)),
        "transmission_date": day,
        "transmission_time": now,
        "date_valid": day,
        **told,
    }


def _counted(item: Any, written_by: str, at: int) -> dict[str, Any]:
    """The card's counters with one purchase more."""
    windows = item["windows"]["M"]
    seen = windows[COUNTRIES]["M"]["countries"]["M"]
    countries = seen | {str(BRITAIN): {"N": str(int(seen[str(BRITAIN)]["N"]) + 1)}}
    in_countries = {"M": more(windows[COUNTRIES], 0)["M"] | {"countries": {"M": countries}}}
    changed = windows | {AMOUNTS: more(windows[AMOUNTS]), COUNTRIES: in_countries}
    return counters(item, changed, written_by, last_at=at)
