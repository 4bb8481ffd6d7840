"""Rate limits for the queries that the public callback page sends to banks.

A payment's status is queried at most once every ten seconds and only within a day of the order. Each IP address has an
hourly limit. The payment's item stores the data for the first two limits, and an hourly counter per address the data
for the third limit. One transaction of conditional writes checks all three limits, so concurrent visitors cannot exceed
them.
"""

from __future__ import annotations

import hmac

from chalicelib.foundation.clock import Clock
from chalicelib.foundation.crypto.keyring import Keyring
from chalicelib.foundation.dynamodb.conditions import Attr
from chalicelib.foundation.dynamodb.store import Operation, Update
from chalicelib.openbanking.records.payments import TABLE, Payment, payment_key

BETWEEN_SECONDS = 10
ASKED_SECONDS = 24 * 3600
PER_ADDRESS = 30
_HOUR = 3600


class CallbackLimits:
    """Builds the write operations that count queries. Only a keyed hash of the IP address is stored."""

    def __init__(self, keyring: Keyring, clock: Clock) -> None:
        self._keyring = keyring
        self._clock = clock

    def put_counts(self, payment: Payment, address: str) -> list[Operation]:
        """Return the write operations that count a query about ``payment`` from ``address``. They fail if a limit is
        reached.
        """
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
