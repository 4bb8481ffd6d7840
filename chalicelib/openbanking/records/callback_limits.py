"""Limits of the public callback page's queries to banks (decisions: /payments/callback).

A bank is asked about a payment at most once in ten seconds, within a day of its order, and a limited number of times an
hour for one IP address. The first two are kept in the payment's item, the third in a counter for each hour. Both are
conditional writes of one transaction: of many visitors at the same time no more than allowed go through.
"""

from __future__ import annotations

import hmac

from boto3.dynamodb.conditions import Attr

from chalicelib.foundation.clock import Clock
from chalicelib.foundation.crypto.keyring import Keyring
from chalicelib.foundation.dynamodb.store import Operation, Update
from chalicelib.openbanking.records.payments import TABLE, Payment, payment_key

BETWEEN_SECONDS = 10
ASKED_SECONDS = 24 * 3600
PER_ADDRESS = 30
_HOUR = 3600


class CallbackLimits:
    """Makes the writes that count a query; they do not reveal the address."""

    def __init__(self, keyring: Keyring, clock: Clock) -> None:
        self._keyring = keyring
        self._clock = clock

    def put_counts(self, payment: Payment, address: str) -> list[Operation]:
        """The writes that count a query about a payment from an address; they fail at a limit."""
        now = self._clock.time()
        rested = Attr("asked_at").not_exists() | Attr("asked_at").lte(now - BETWEEN_SECONDS)
        return [
            Update(
                *payment_key(payment.bic, payment.payment_id),
                set={"asked_at": now},
                condition=Attr("created_at").gt(now - ASKED_SECONDS) & rested,
            ),
            Update(
                TABLE,
                {"payment": f"asked#{self._hash_address(address)}#{now // _HOUR}"},
                set={"expires_at": now + 2 * _HOUR},
                add={"asked": 1},
                condition=Attr("asked").not_exists() | Attr("asked").lt(PER_ADDRESS),
            ),
        ]

    def _hash_address(self, address: str) -> str:
        key = self._keyring.derived_keys("openbanking/callback")[-1]
        return hmac.digest(key, address.encode(), "sha256").hex()
