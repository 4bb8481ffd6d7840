"""Answers for repeats of a bank: the same ``X-Request-Id`` with the same body (decisions: Bank-facing API)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from boto3.dynamodb.conditions import Attr

from chalicelib.foundation import jsontext
from chalicelib.foundation.clock import Clock
from chalicelib.foundation.crypto.vault import Vault
from chalicelib.foundation.dynamodb.store import ConditionFailed, Item, Put, Store, absent
from chalicelib.foundation.identifiers import digest
from chalicelib.openbanking.protocol import refusals

TABLE = "idempotency"
KEPT = 24 * 3600
A = TypeVar("A", bound=Mapping[str, object])
"""The type of an answer."""


@dataclass(frozen=True, slots=True)
class BankIdempotencyClaim:
    """A bank's request: the name of its stored answer and the digest of its body."""

    name: str
    body_digest: str

    @classmethod
    def from_request(cls, bic: str, path: str, request_id: str, body: bytes) -> BankIdempotencyClaim:
        return cls(f"bank#{bic}#{path}#{request_id.lower()}", digest(body))

    @property
    def key(self) -> tuple[str, Item]:
        return TABLE, {"claim": self.name}


class BankIdempotency:
    """Stores successes, sealed, for 24 hours."""

    def __init__(self, store: Store, vault: Vault, clock: Clock) -> None:
        self._store = store
        self._vault = vault
        self._clock = clock

    def find_answer(self, claim: BankIdempotencyClaim, item: Item | None) -> Any:
        """The answer stored in ``item``, of the type of the claim's call; ``None`` if there is none.

        Raises:
            Refusal: the request id was used with another body.
        """
        if item is None or item["expires_at"] <= self._clock.time():
            return None
        if item["body_digest"] != claim.body_digest:
            raise refusals.REQUEST_ID_USED()
        return jsontext.loads(self._vault.unseal(item["answer"], claim.name))

    def put_answer(self, claim: BankIdempotencyClaim, answer: Mapping[str, object]) -> Put:
        """The write of an answer, for the transaction of its cause; it fails for all but the first."""
        now = self._clock.time()
        item = {
            "claim": claim.name,
            "body_digest": claim.body_digest,
            "answer": self._vault.seal(jsontext.dumps(answer), claim.name),
            "expires_at": now + KEPT,
        }
        return Put(TABLE, item, absent("claim") | Attr("expires_at").lte(now))

    def store_answer(self, claim: BankIdempotencyClaim, answer: A) -> A:
        """Store an answer on its own; answers the stored one, perhaps a parallel request's. Raises: Refusal."""
        operation = self.put_answer(claim, answer)
        try:
            self._store.put(TABLE, operation.item, operation.condition)
        except ConditionFailed as failure:
            return self.find_answer(claim, failure.item) or answer
        return answer
