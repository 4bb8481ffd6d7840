"""TPPs' idempotency keys: a duplicate payment request reaches the bank only once (``docs/concepts/payments.md``).

A claim is written before the bank is called. The response or refusal is then stored in the claim, encrypted, for 24
hours.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from chalicelib.foundation import jsontext
from chalicelib.foundation.clock import Clock
from chalicelib.foundation.dynamodb.conditions import Condition
from chalicelib.foundation.dynamodb.store import Item, Put
from chalicelib.foundation.identifiers import digest, new_id
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.foundation.requests.claims import AnotherRequest, Claim, ClaimKind, Claims
from chalicelib.foundation.requests.facts import Key
from chalicelib.openbanking.protocol import refusals
from chalicelib.openbanking.protocol.errors import Detail, Fault, Refusal

KIND = ClaimKind(lifetime=24 * 3600, answer="outcome")
RUNNING_SECONDS = 30
"""The number of seconds after which an unfinished attempt is considered lost and its outcome unknown."""


@dataclass(frozen=True, slots=True)
class OrderClaim:
    """One attempt at a TPP's order with an Idempotency-Key.

    ``consent_id`` is the order's consent, if any. A spent bearer token can only retry its own payment.
    """

    claim: Claim
    consent_id: str | None

    @classmethod
    def from_request(cls, client_id: str, path: str, key: str, body: bytes, consent_id: str | None) -> OrderClaim:
        return cls(Claim(KIND, f"tpp#{client_id}#{path}#{digest(key)}", digest(body), new_id()), consent_id)

    def has_same_consent(self, item: Item) -> bool:
        """Whether a stored claim belongs to the same consent."""
        return item.get("consent_id") == self.consent_id

    @property
    def key(self) -> Key:
        return self.claim.key


@dataclass(frozen=True, slots=True)
class DeferredRequest:
    """An accepted request to be executed later. The outcome is stored under ``request_id``."""

    request_id: str


class OrderAnswers:
    """Builds the write operations that claim a key and store its outcome."""

    def __init__(self, claims: Claims, clock: Clock) -> None:
        self._claims = claims
        self._clock = clock

    def find_outcome(self, claim: OrderClaim, item: Item | None) -> Mapping[str, Any] | DeferredRequest | None:
        """Return the response or the accepted request stored in ``item``, or ``None`` if the key is free.

        Raises:
            Refusal: the stored refusal, or the key was used with a different body, or the first request is still
                running or was interrupted.
        """
        try:
            stored = self._claims.find(claim.claim, item)
        except AnotherRequest:
            raise refusals.IDEMPOTENCY_KEY_USED() from None
        if stored is None:
            return None
        outcome = self._claims.open_answer(claim.claim, stored)
        if outcome is not None:
            return _read_outcome(jsontext.read_stored(outcome))
        if self._clock.time() - stored["claimed_at"] <= RUNNING_SECONDS:
            raise refusals.STILL_RUNNING()
        raise refusals.NEVER_ENDED()

    def put_claim(self, claim: OrderClaim) -> Put:
        """Return the write operation that claims a key before the bank is called. It fails if the key is already
        claimed.
        """
        return self._put(claim)

    def put_deferred(self, claim: OrderClaim, accepted: DeferredRequest) -> Put:
        """Return the write operation that claims a key for a deferred request, so that duplicates return the same
        request.
        """
        return self._put(claim, {"accepted": accepted.request_id})

    def put_answer(self, claim: OrderClaim, answer: Mapping[str, Any]) -> Put:
        """Return the write operation that stores the response for a claim."""
        return self._put(claim, {"answer": answer}, claim.claim.is_own)

    def first_answer(self, request_id: str) -> tuple[str, int]:
        """Return the id and time of the first request, to include in its stored refusal as ``Refusal.first``."""
        return request_id, self._clock.time()

    def put_refusal(self, claim: OrderClaim, refusal: Refusal) -> Put:
        """Return the write operation that stores a refusal, including ``Refusal.first``."""
        details = [[detail.fault.name, detail.details] for detail in refusal.details]
        members = {
            "fault": refusal.fault.name,
            "message": refusal.message,
            "details": details,
            "first": refusal.first,
            "reason_code": refusal.reason_code,
        }
        return self._put(claim, {"refusal": members}, claim.claim.is_own)

    def put_released(self, claim: OrderClaim) -> Put:
        """Return the write operation that releases an idempotency key if the request was not sent to the bank.

        The key can then be claimed again, as if the claim had expired.
        """
        put = self._put(claim, condition=claim.claim.is_own)
        return replace(put, item={**put.item, "expires_at": self._clock.time()})

    def _put(
        self, claim: OrderClaim, outcome: Mapping[str, Any] | None = None, condition: Condition | None = None
    ) -> Put:
        members: dict[str, Any] = {"claimed_at": self._clock.time()}
        members |= {"consent_id": claim.consent_id} if claim.consent_id else {}
        return self._claims.put(claim.claim, jsontext.dumps(outcome) if outcome else None, condition, members)


def _read_outcome(outcome: Mapping[str, Any]) -> Mapping[str, Any] | DeferredRequest:
    """Return the stored response or accepted request. Raises: Refusal, if the stored outcome is a refusal."""
    if "accepted" in outcome:
        return DeferredRequest(outcome["accepted"])
    if "refusal" not in outcome:
        answer: Mapping[str, Any] = outcome["answer"]
        return answer
    refusal = outcome["refusal"]
    details = [Detail(Fault[name], text) for name, text in refusal["details"]]
    request_id, at = refusal["first"]
    fault, reason_code = Fault[refusal["fault"]], refusal.get("reason_code")
    raise Refusal(fault, refusal["message"], details, first=(request_id, at), reason_code=reason_code)
