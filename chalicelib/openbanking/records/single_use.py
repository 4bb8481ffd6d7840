"""Single use of signed identifiers: the ``jti`` of assertions and proofs (RFC 7523 §3, RFC 9449 §11.1).

A used identifier is remembered until its token can no longer be accepted. The first conditional write wins.
"""

from __future__ import annotations

from collections.abc import Sequence

from chalicelib.foundation.dynamodb.store import Item, Put, absent
from chalicelib.foundation.identifiers import digest, new_id
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.foundation.requests.claims import claim_key
from chalicelib.foundation.requests.engine import Engine, if_permitted
from chalicelib.foundation.requests.facts import Facts
from chalicelib.foundation.requests.outcome import Proof


class UsedBefore(Exception):
    """The identifier of the assertion or proof at ``position`` was used before."""

    def __init__(self, position: int) -> None:
        self.position = position
        super().__init__("the jti was used before")


@dataclass(frozen=True, slots=True)
class SingleUse:
    """An identifier of ``issuer`` (a client or a key) that must not be used again before ``expires_at``."""

    issuer: str
    identifier: str
    expires_at: int

    @property
    def key(self) -> tuple[str, Item]:
        return claim_key(f"jti#{self.issuer}#{digest(self.identifier)}")


class SingleUses:
    """The used identifiers in DynamoDB."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def claim(self, uses: Sequence[SingleUse]) -> None:
        """Mark all identifiers as used, or none if any of them was used before.

        If DynamoDB's response is lost, check whether this request's claims were written, because the client cannot
        retry.

        Raises:
            UsedBefore.
        """
        claims = [_claim(use) for use in uses]
        own = Proof([uses[0].key], lambda item: item == claims[0].item)

        def refuse(facts: Facts) -> UsedBefore:
            return UsedBefore(next(number for number, claim in enumerate(claims) if not facts.permits(claim)))

        self._engine.carry_out(if_permitted(claims, None, refuse, proof=own))


def _claim(use: SingleUse) -> Put:
    """Return the write operation that claims an identifier. ``attempt`` distinguishes requests with the same
    identifier.
    """
    table, key = use.key
    return Put(table, key | {"attempt": new_id(), "expires_at": use.expires_at}, absent("claim"))
