"""TPPs' idempotency keys: a repeated payment reaches the bank only once (``docs/concepts/payments.md``).

A claim is written before the bank is called. The response or refusal is then stored in it, encrypted, for 24 hours.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from chalicelib.foundation import jsontext
from chalicelib.foundation.clock import Clock
from chalicelib.foundation.crypto.sealed_places import SealedPlace
from chalicelib.foundation.crypto.vault import Vault
from chalicelib.foundation.dynamodb.conditions import Attr
from chalicelib.foundation.dynamodb.store import Item, Put, absent
from chalicelib.foundation.identifiers import digest, new_id
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.openbanking.protocol import refusals
from chalicelib.openbanking.protocol.errors import Detail, Fault, Refusal

TABLE = "idempotency"
KEPT = 24 * 3600
RUNNING_SECONDS = 30
"""Seconds after which an unfinished attempt is considered lost and its outcome unknown."""


@dataclass(frozen=True, slots=True)
class IdempotencyKeyClaim:
    """One attempt at a request.

    ``name`` is the key of the stored outcome; ``attempt`` distinguishes concurrent attempts. ``consent_id`` is the
    request's consent, if any: a spent bearer can only repeat its own payment.
    """

    name: str
    body_digest: str
    consent_id: str | None
    attempt: str

    @classmethod
    def from_request(
        cls, client_id: str, path: str, key: str, body: bytes, consent_id: str | None
    ) -> IdempotencyKeyClaim:
        return cls(f"tpp#{client_id}#{path}#{digest(key)}", digest(body), consent_id, new_id())

    def has_same_consent(self, item: Item) -> bool:
        """Whether a stored claim belongs to the same consent."""
        return item.get("consent_id") == self.consent_id

    @property
    def key(self) -> tuple[str, Item]:
        return TABLE, {"claim": self.name}


@dataclass(frozen=True, slots=True)
class DeferredRequest:
    """An accepted request to be executed later; the outcome is stored under ``request_id``."""

    request_id: str


class IdempotencyKeys:
    """Builds the writes that claim a key and store its outcome."""

    def __init__(self, vault: Vault, clock: Clock) -> None:
        self._vault = vault
        self._clock = clock

    def find_outcome(self, claim: IdempotencyKeyClaim, item: Item | None) -> Mapping[str, Any] | DeferredRequest | None:
        """The response or the accepted request stored in ``item``; ``None`` if the key is free.

        Raises:
            Refusal: the stored refusal; or the key was used with a different body, or the first request is still
                running or was interrupted.
        """
        now = self._clock.time()
        if item is None or item["expires_at"] <= now:
            return None
        if item["body_digest"] != claim.body_digest:
            raise refusals.IDEMPOTENCY_KEY_USED()
        if "outcome" in item:
            return _read_outcome(jsontext.read_stored(self._vault.unseal(item["outcome"], claim.name)))
        if now - item["claimed_at"] <= RUNNING_SECONDS:
            raise refusals.STILL_RUNNING()
        raise refusals.NEVER_ENDED()

    def put_claim(self, claim: IdempotencyKeyClaim) -> Put:
        """The write that claims a key before the bank is called; it fails if the key is already claimed."""
        now = self._clock.time()
        return Put(TABLE, self._item(claim, now), absent("claim") | Attr("expires_at").lte(now))

    def put_deferred(self, claim: IdempotencyKeyClaim, accepted: DeferredRequest) -> Put:
        """The write that claims a key for a deferred request, so that repeats return the same request."""
        put = self.put_claim(claim)
        outcome = self._vault.seal(jsontext.dumps({"accepted": accepted.request_id}), claim.name)
        return replace(put, item={**put.item, "outcome": outcome})

    def put_answer(self, claim: IdempotencyKeyClaim, answer: Mapping[str, Any]) -> Put:
        """The write that stores the response for a claim."""
        return self._put_outcome(claim, {"answer": answer})

    def first_answer(self, request_id: str) -> tuple[str, int]:
        """The id and time of the first request, to repeat in its stored refusal: ``Refusal.first``."""
        return request_id, self._clock.time()

    def put_refusal(self, claim: IdempotencyKeyClaim, refusal: Refusal) -> Put:
        """The write that stores a refusal, including ``Refusal.first``."""
        details = [[detail.fault.name, detail.details] for detail in refusal.details]
        members = {
            "fault": refusal.fault.name,
            "message": refusal.message,
            "details": details,
            "first": refusal.first,
            "reason_code": refusal.reason_code,
        }
        return self._put_outcome(claim, {"refusal": members})

    def put_released(self, claim: IdempotencyKeyClaim) -> Put:
        """The write that frees a key whose request was not sent, as if the claim had expired."""
        now = self._clock.time()
        return Put(TABLE, self._item(claim, now) | {"expires_at": now}, Attr("attempt").eq(claim.attempt))

    def _put_outcome(self, claim: IdempotencyKeyClaim, outcome: dict[str, Any]) -> Put:
        sealed = self._vault.seal(jsontext.dumps(outcome), claim.name)
        item = self._item(claim, self._clock.time()) | {"outcome": sealed}
        return Put(TABLE, item, Attr("attempt").eq(claim.attempt))

    def _item(self, claim: IdempotencyKeyClaim, now: int) -> Item:
        item = {
            "claim": claim.name,
            "body_digest": claim.body_digest,
            "attempt": claim.attempt,
            "claimed_at": now,
            "expires_at": now + KEPT,
        }
        return item | ({"consent_id": claim.consent_id} if claim.consent_id else {})


def _read_outcome(outcome: Mapping[str, Any]) -> Mapping[str, Any] | DeferredRequest:
    """The stored response or accepted request. Raises: Refusal, if the stored outcome is one."""
    if "accepted" in outcome:
        return DeferredRequest(outcome["accepted"])
    if "refusal" not in outcome:
        answer: Mapping[str, Any] = outcome["answer"]
        return answer
    kept = outcome["refusal"]
    details = [Detail(Fault[name], text) for name, text in kept["details"]]
    request_id, at = kept["first"]
    fault, reason_code = Fault[kept["fault"]], kept.get("reason_code")
    raise Refusal(fault, kept["message"], details, first=(request_id, at), reason_code=reason_code)


SEALED = (SealedPlace(TABLE, ("claim",), "outcome", lambda item: str(item["claim"])),)
