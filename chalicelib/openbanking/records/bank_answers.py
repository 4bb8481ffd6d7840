"""Stored responses to banks' requests, for retries with the same ``X-Request-Id`` and body.

The rules are in ``docs/concepts/bank-integration.md`` (Repeats).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from chalicelib.foundation import jsontext
from chalicelib.foundation.dynamodb.store import Item, Operation
from chalicelib.foundation.identifiers import digest
from chalicelib.foundation.requests.claims import AnotherRequest, Claim, ClaimKind, Claims
from chalicelib.foundation.requests.engine import Decide
from chalicelib.foundation.requests.facts import Facts
from chalicelib.foundation.requests.outcome import NO_DELIVERIES, Deliveries, Outcome, Proof
from chalicelib.openbanking.protocol import refusals

KIND = ClaimKind(lifetime=24 * 3600)
A = TypeVar("A", bound=Mapping[str, object])
"""The type of the stored response."""


def bank_claim(bic: str, path: str, request_id: str, body: bytes) -> Claim:
    """Return the claim that makes a bank's request idempotent."""
    return Claim(KIND, f"bank#{bic}#{path}#{request_id}", digest(body))


class BankAnswers:
    """Stores success responses, encrypted, for 24 hours."""

    def __init__(self, claims: Claims) -> None:
        self._claims = claims

    def find_answer(self, claim: Claim, item: Item | None) -> Any:
        """Return the response stored in ``item``, or ``None`` if there is none.

        Raises:
            Refusal: the request id was used with a different body.
        """
        try:
            stored = self._claims.find(claim, item)
        except AnotherRequest:
            raise refusals.REQUEST_ID_USED() from None
        answer = self._claims.open_answer(claim, stored) if stored else None
        return None if answer is None else jsontext.loads(answer)

    def once(self, claim: Claim, decide: Decide[A]) -> Decide[A]:
        """Return a decision that returns the stored response for a duplicate request, and otherwise calls ``decide``.
        Raises: Refusal, as ``find_answer`` does.
        """

        def decide_once(facts: Facts) -> Outcome[A]:
            stored: A | None = self.find_answer(claim, facts.item(claim.key))
            return Outcome(stored) if stored is not None else decide(facts)

        return decide_once

    def answer(
        self,
        claim: Claim,
        answer: A,
        writes: Sequence[Operation] = (),
        deliveries: Deliveries = NO_DELIVERIES,
        report: Callable[[], None] | None = None,
        *,
        members: Mapping[str, str] | None = None,
    ) -> Outcome[A]:
        """Return the outcome with this response, and the write operation that stores the response for duplicate
        requests. The write fails if a response is already stored.

        ``members`` name the changes of the request: ``saved_consent`` or ``ended_consent``.
        """
        put = self._claims.put(claim, jsontext.dumps(answer), members=members)
        proof = Proof([claim.key], lambda item: item["answer"] == put.item["answer"])
        return Outcome(answer, [*writes, put], deliveries, proof, report=report)
