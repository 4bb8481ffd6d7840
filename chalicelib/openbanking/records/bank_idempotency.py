"""Stored responses to banks' requests, for retries with the same ``X-Request-Id`` and body.

The rules are in ``docs/concepts/bank-integration.md`` (Repeats).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from chalicelib.foundation import jsontext
from chalicelib.foundation.clock import Clock
from chalicelib.foundation.crypto.sealed_places import SealedPlace
from chalicelib.foundation.crypto.vault import Vault
from chalicelib.foundation.dynamodb.conditions import Attr
from chalicelib.foundation.dynamodb.store import Item, Operation, Put, absent
from chalicelib.foundation.identifiers import digest
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.foundation.requests.outcome import NO_DELIVERIES, Deliveries, Outcome, Proof
from chalicelib.openbanking.protocol import refusals

TABLE = "idempotency"
KEPT = 24 * 3600
_PREFIX = "bank#"
A = TypeVar("A", bound=Mapping[str, object])
"""The type of a response."""


@dataclass(frozen=True, slots=True)
class BankIdempotencyClaim:
    """Identifies a bank's request: the key of its stored response, and the digest of its body."""

    name: str
    body_digest: str

    @classmethod
    def from_request(cls, bic: str, path: str, request_id: str, body: bytes) -> BankIdempotencyClaim:
        return cls(f"{_PREFIX}{bic}#{path}#{request_id}", digest(body))

    @property
    def key(self) -> tuple[str, Item]:
        return TABLE, {"claim": self.name}


class BankIdempotency:
    """Stores success responses, encrypted, for 24 hours."""

    def __init__(self, vault: Vault, clock: Clock) -> None:
        self._vault = vault
        self._clock = clock

    def find_answer(self, claim: BankIdempotencyClaim, item: Item | None) -> Any:
        """The response stored in ``item``; ``None`` if there is none.

        Raises:
            Refusal: the request id was used with a different body.
        """
        if item is None or item["expires_at"] <= self._clock.time():
            return None
        if item["body_digest"] != claim.body_digest:
            raise refusals.REQUEST_ID_USED()
        return jsontext.loads(self._vault.unseal(item["answer"], claim.name))

    def answer(
        self,
        claim: BankIdempotencyClaim,
        answer: A,
        writes: Sequence[Operation] = (),
        deliveries: Deliveries = NO_DELIVERIES,
        report: Callable[[], None] | None = None,
    ) -> Outcome[A]:
        """The outcome with this answer, which is stored for repeats; it fails if one is already stored."""
        put = self._put_answer(claim, answer)
        proof = Proof(claim.key, lambda item: item["answer"] == put.item["answer"])
        return Outcome(answer, [*writes, put], deliveries, proof, report=report)

    def _put_answer(self, claim: BankIdempotencyClaim, answer: Mapping[str, object]) -> Put:
        now = self._clock.time()
        item = {
            "claim": claim.name,
            "body_digest": claim.body_digest,
            "answer": self._vault.seal(jsontext.dumps(answer), claim.name),
            "expires_at": now + KEPT,
        }
        return Put(TABLE, item, absent("claim") | Attr("expires_at").lte(now))


def _sealed_for(item: Item) -> str | None:
    """The context of a bank's stored answer; the claims of other callers are not this module's."""
    return item["claim"] if item["claim"].startswith(_PREFIX) else None


SEALED = (SealedPlace(TABLE, ("claim",), "answer", _sealed_for),)
