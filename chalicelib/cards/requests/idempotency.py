"""Idempotency by ``request_reference_id``: a repeated request is carried out once and gets the same
response.

The claim is an item in the same transaction as the request's effect. It stores the response, sealed,
for 30 days. Card data is left out of the claim; a second item stores the complete response for one
day, for a credential whose disclosure modes are unchanged. If the response depends on a provider, the
claim stays pending until it is known.
"""

from __future__ import annotations

from collections.abc import Sequence

from chalicelib.cards.card_data.sealed_data import CardData
from chalicelib.cards.protocol.status_codes import Refused, Status
from chalicelib.foundation.crypto.sealed_places import SealedPlace
from chalicelib.foundation.crypto.vault import Vault
from chalicelib.foundation.dynamodb.conditions import Attr, Condition
from chalicelib.foundation.dynamodb.store import Conflict, Item, Put, absent
from chalicelib.foundation.identifiers import digest
from chalicelib.foundation.lazy_dataclasses import dataclass

TABLE = "idempotency"
KEPT = 30 * 24 * 3600
CARD_DATA_KEPT = 24 * 3600
_PREFIX = "card-api#"


@dataclass(frozen=True, slots=True)
class IdempotencyClaim:
    """The claim of a request with a reference: its name, and the digest of the request body.

    ``view`` holds the credential's modes for card data, ``None`` if the response has none; ``attempt``
    distinguishes identical requests.
    """

    name: str
    fingerprint: str
    view: str | None
    attempt: str


class Repeated(Exception):
    """The request was carried out before.

    Attributes:
        answer: its response, ``None`` if only the claim is stored.
        other_view: whether the credential's modes were different then.
        is_own: whether it was an attempt of this very request.
    """

    def __init__(self, answer: str | None, *, other_view: bool = False, is_own: bool = False) -> None:
        self.answer = answer
        self.other_view = other_view
        self.is_own = is_own
        super().__init__("the request has already been carried out")


class Unanswered(Exception):
    """The request is in progress: its provider's response is missing or not yet stored."""


class RequestReferences:
    """Reads and writes claims of references and their responses."""

    def __init__(self, vault: Vault, card_data: CardData) -> None:
        self._vault = vault
        self._card_data = card_data

    def claim(self, credential: str, reference: str, body: str, *, view: str | None, attempt: str) -> IdempotencyClaim:
        """The claim for a credential's request; ``body`` is the request in canonical form."""
        name = f"{_PREFIX}{credential}#{digest(reference)}"
        return IdempotencyClaim(name, self._card_data.fingerprint(body), view and digest(view), attempt)

    def keys(self, claim: IdempotencyClaim) -> list[tuple[str, Item]]:
        """The keys of the claim, and of the complete response if there may be one."""
        names = [claim.name] if claim.view is None else [claim.name, _whole_answer_key(claim)]
        return [(TABLE, {"claim": name}) for name in names]

    def check_repeat(self, claim: IdempotencyClaim, items: Sequence[Item | None], now: int) -> None:
        """Compare a request with the items at ``keys``.

        Raises:
            Repeated: it was carried out before.
            Unanswered: it is in progress.
            Refused: the reference was used with another body.
            Conflict: it is being written, as one of the two items is missing.
        """
        item, *rest = items
        if item is None or item["expires_at"] <= now:
            return
        if item["fingerprint"] != claim.fingerprint:
            raise Refused(Status.REFERENCE_REUSED)
        if item.get("unanswered"):
            raise Unanswered
        if item.get("whole_until", 0) > now and item["view"] == claim.view:
            whole = next((each for each in rest if each and each["attempt"] == item["attempt"]), None)
            if whole is None:
                raise Conflict("the response with card data is not visible yet")
            raise Repeated(self._vault.unseal(whole["answer"], _whole_answer_key(claim)))
        answer = None if item.get("again") else self._vault.unseal(item["answer"], claim.name)
        is_own = item["attempt"] == claim.attempt
        raise Repeated(answer, other_view=item.get("view", claim.view) != claim.view, is_own=is_own)

    def put_answer(self, claim: IdempotencyClaim, answer: str | None, whole: str | None, now: int) -> list[Put]:
        """The writes that claim the reference and store the response.

        They fail for every request but the first. Repeats get ``answer``, or ``whole`` during the first day
        if passed; without either, they are carried out again.
        """
        item = _claim_item(claim, now)
        item |= {"again": True} if answer is None else {"answer": self._vault.seal(answer, claim.name)}
        first = _is_unclaimed(now)
        if whole is None:
            return [Put(TABLE, item, first)]
        until = now + CARD_DATA_KEPT
        sealed = self._vault.seal(whole, _whole_answer_key(claim))
        kept = {"claim": _whole_answer_key(claim), "attempt": claim.attempt, "answer": sealed, "expires_at": until}
        return [Put(TABLE, item | {"whole_until": until, "view": claim.view}, first), Put(TABLE, kept)]

    def claimed_at(self, claim: IdempotencyClaim, item: Item | None, now: int) -> int | None:
        """When another request than this claim's took the reference, in Unix seconds; ``None`` if none has."""
        if item is None or item["expires_at"] <= now or item["attempt"] == claim.attempt:
            return None
        return int(item["expires_at"]) - KEPT

    def replace_answer(self, claim: IdempotencyClaim, answer: str, now: int) -> Put:
        """The write that stores the response that a request got, whatever its attempts stored; fails if another request
        has the claim.
        """
        is_own = _is_unclaimed(now) | Attr("attempt").eq(claim.attempt)
        return Put(TABLE, _claim_item(claim, now) | {"answer": self._vault.seal(answer, claim.name)}, is_own)

    def put_claim(self, claim: IdempotencyClaim, now: int) -> Put:
        """The write that claims the reference before the response is known; fails for every request but the first."""
        return Put(TABLE, _claim_item(claim, now) | {"unanswered": True}, _is_unclaimed(now))

    def put_late_answer(self, claim: IdempotencyClaim, answer: str, now: int) -> Put:
        """The write that adds the response to a claim; fails if the claim is another request's or already has one."""
        waiting = Attr("attempt").eq(claim.attempt) & Attr("unanswered").exists()
        return Put(TABLE, _claim_item(claim, now) | {"answer": self._vault.seal(answer, claim.name)}, waiting)


def _claim_item(claim: IdempotencyClaim, now: int) -> Item:
    kept = {"claim": claim.name, "fingerprint": claim.fingerprint, "attempt": claim.attempt}
    return kept | {"expires_at": now + KEPT}


def _is_unclaimed(now: int) -> Condition:
    return absent("claim") | Attr("expires_at").lte(now)


def _whole_answer_key(claim: IdempotencyClaim) -> str:
    return f"{claim.name}#card-data"


def _sealed_for(item: Item) -> str | None:
    """The context of a stored response; the claims of other callers are not this module's."""
    return item["claim"] if item["claim"].startswith(_PREFIX) else None


SEALED = (SealedPlace(TABLE, ("claim",), "answer", _sealed_for),)
