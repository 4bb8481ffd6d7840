"""Claims on idempotency names. A request with such a name is executed once, and duplicates get the stored response.

A name is *free*, *taken* by an attempt at a request, or *answered*. The claim is written in the transaction of the
request's effect, on the condition that the name is free. The response is sealed. A request with the same name and a
different digest is a different request. Kinds of senders differ in their ``ClaimKind`` and may store further members.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chalicelib.foundation.clock import Clock
from chalicelib.foundation.crypto.keyring import Vault
from chalicelib.foundation.crypto.sealed_places import SealedPlace
from chalicelib.foundation.dynamodb.conditions import Attr, Condition
from chalicelib.foundation.dynamodb.store import Item, Put, absent
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.foundation.requests.facts import Key

TABLE = "idempotency"


@dataclass(frozen=True, slots=True)
class ClaimKind:
    """The storage format of claims for one kind of sender. A claim identifies a request, so that duplicates are
    detected.

    Attributes:
        lifetime: the seconds for which a claim is stored.
        digest: the member with the digest of the request, or ``None`` without digests.
        answer: the member with the sealed response.
    """

    lifetime: int
    digest: str | None = "body_digest"
    answer: str = "answer"


@dataclass(frozen=True, slots=True)
class Claim:
    """A request's claim on a name. ``attempt`` distinguishes attempts of identical requests where necessary."""

    kind: ClaimKind
    name: str
    digest: str
    attempt: str | None = None

    @property
    def key(self) -> Key:
        return claim_key(self.name)

    @property
    def is_own(self) -> Condition:
        """Create the condition that this attempt owns the claim."""
        return Attr("attempt").eq(self.attempt)


class AnotherRequest(Exception):
    """The name was already used by a request with a different digest."""


def claim_key(name: str) -> Key:
    return TABLE, {"claim": name}


def is_free(now: int) -> Condition:
    """Create the condition that the name is free at ``now``, in Unix seconds."""
    return absent("claim") | Attr("expires_at").lte(now)


class Claims:
    """Reads claims, and builds the write operations that store claims."""

    def __init__(self, vault: Vault, clock: Clock) -> None:
        self._vault = vault
        self.clock = clock

    def find(self, claim: Claim, item: Item | None) -> Item | None:
        """Return the stored claim of the same request, or ``None`` if the name is free. Raises: AnotherRequest."""
        if item is None or item["expires_at"] <= self.clock.time():
            return None
        if claim.kind.digest is not None and item[claim.kind.digest] != claim.digest:
            raise AnotherRequest
        return item

    def open_answer(self, claim: Claim, item: Item) -> str | None:
        """Return the response in a stored claim, or ``None`` before the response is stored."""
        sealed = item.get(claim.kind.answer)
        return None if sealed is None else self._vault.unseal(sealed, claim.name)

    def put(
        self,
        claim: Claim,
        answer: str | None = None,
        condition: Condition | None = None,
        members: Mapping[str, Any] | None = None,
    ) -> Put:
        """Return the write operation of a claim, with the response if it is known. By default, the write fails unless
        the name is free.
        """
        now = self.clock.time()
        item: Item = {"claim": claim.name, "expires_at": now + claim.kind.lifetime}
        item |= {claim.kind.digest: claim.digest} if claim.kind.digest is not None else {}
        item |= {"attempt": claim.attempt} if claim.attempt is not None else {}
        item |= {claim.kind.answer: self._vault.seal(answer, claim.name)} if answer is not None else {}
        return Put(TABLE, item | dict(members or {}), is_free(now) if condition is None else condition)


SEALED = tuple(
    SealedPlace(TABLE, ("claim",), answer, lambda item: str(item["claim"])) for answer in ("answer", "outcome")
)
