"""``request_reference_id``: a request that is sent twice is carried out once, and both get the same answer.

The claim is an item of the effect's own transaction. It keeps the answer, sealed, for 30 days. Where the answer has
card data, the claim keeps it without them, and a second item keeps it whole for a day.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from boto3.dynamodb.conditions import Attr

from chalicelib.cards.card_data import CardData
from chalicelib.cards.protocol.status_codes import Refused, Status
from chalicelib.foundation.identifiers import digest
from chalicelib.foundation.store import Item, Put, absent
from chalicelib.foundation.vault import Vault

TABLE = "idempotency"
KEPT = 30 * 24 * 3600
CARD_DATA_KEPT = 24 * 3600


@dataclass(frozen=True, slots=True)
class Claim:
    """One request with a reference: the name of its claim, and what tells its body from another one.

    ``seals`` says that the answer may have card data; ``attempt`` tells equal requests apart.
    """

    name: str
    fingerprint: str
    seals: bool
    attempt: str


class Repeated(Exception):
    """The request was carried out before; ``answer`` is what it got, ``None`` when only the claim is kept."""

    def __init__(self, answer: str | None) -> None:
        self.answer = answer
        super().__init__("the request was carried out before")


class References:
    """Makes the writes that claim a reference and keep its answer, and finds them again."""

    def __init__(self, vault: Vault, card_data: CardData) -> None:
        self._vault = vault
        self._card_data = card_data

    def claim(self, credential: str, reference: str, body: str, *, seals: bool, attempt: str) -> Claim:
        """The claim of a credential's request; ``body`` is the request's meaning, in one spelling."""
        name = f"card-api#{credential}#{digest(reference)}"
        return Claim(name, self._card_data.fingerprint(body), seals, attempt)

    def keys(self, claim: Claim) -> list[tuple[str, Item]]:
        """Where the claim is, and the whole answer if there may be one."""
        names = [claim.name, _whole(claim)] if claim.seals else [claim.name]
        return [(TABLE, {"claim": name}) for name in names]

    def look(self, claim: Claim, items: Sequence[Item | None], now: int) -> None:
        """Compare a request with what ``keys`` led to.

        Raises:
            Repeated: it was carried out before.
            Refused: the reference was used with another body.
        """
        item, *whole = items
        if item is None or item["expires_at"] <= now:
            return
        if item["fingerprint"] != claim.fingerprint:
            raise Refused(Status.REFERENCE_REUSED)
        for each in whole:
            if each is not None and each["expires_at"] > now and each["attempt"] == item["attempt"]:
                raise Repeated(self._vault.unseal(each["answer"], _whole(claim)))
        raise Repeated(self._vault.unseal(item["answer"], claim.name) if "answer" in item else None)

    def keeping(self, claim: Claim, answer: str | None, whole: str | None, now: int) -> list[Put]:
        """The writes that claim the reference; the first of them fails for all requests but the first.

        ``answer`` is what repeats get, for a day ``whole`` in its place if there is one.
        """
        item: Item = {"claim": claim.name, "fingerprint": claim.fingerprint, "attempt": claim.attempt}
        item |= {"expires_at": now + KEPT}
        item |= {"answer": self._vault.seal(answer, claim.name)} if answer is not None else {}
        puts = [Put(TABLE, item, absent("claim") | Attr("expires_at").lte(now))]
        if whole is not None:
            sealed = self._vault.seal(whole, _whole(claim))
            kept = {"claim": _whole(claim), "attempt": claim.attempt, "answer": sealed}
            puts.append(Put(TABLE, kept | {"expires_at": now + CARD_DATA_KEPT}))
        return puts


def _whole(claim: Claim) -> str:
    return f"{claim.name}#card-data"
