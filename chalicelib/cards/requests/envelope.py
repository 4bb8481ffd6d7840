"""The envelope of requests and responses, and the handling of duplicate requests with a ``request_reference_id``.

A duplicate request is not carried out again. The response is identical to the stored response except for
``duplicated``. The claim of a reference is an item that is written in the same transaction as the request's effect. The
claim stores the encrypted response for 30 days. Card data is omitted from the claim. A second item stores the complete
response for one day. Only a credential with unchanged disclosure modes receives the complete response. If the response
depends on a provider, the claim remains pending until the response is known.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

from chalicelib.cards.card_data.encryption import CardData
from chalicelib.cards.programs.credentials import Credential
from chalicelib.cards.protocol.card_records import EMPTY_LATER, EXPIRING_MEMBERS
from chalicelib.cards.protocol.message import Request
from chalicelib.cards.protocol.status_codes import Refused, Status
from chalicelib.cards.protocol.values import API_VERSION
from chalicelib.foundation import jsontext, log
from chalicelib.foundation.dynamodb.conditions import Attr
from chalicelib.foundation.dynamodb.store import Conflict, Item, Put
from chalicelib.foundation.identifiers import digest, new_id
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.foundation.requests.claims import AnotherRequest, Claim, ClaimKind, Claims, claim_key, is_free
from chalicelib.foundation.requests.engine import DecideAgain
from chalicelib.foundation.requests.facts import Facts, Key

BODY_BYTES = 1_000_000
_REFERENCE = re.compile("[A-Za-z0-9-]{10,255}")
_MEANINGS = {int(status): status.meaning for status in Status}
_FIRST, _REPEAT = '"duplicated":0', '"duplicated":1'
KIND = ClaimKind(lifetime=30 * 24 * 3600, digest="fingerprint")
CARD_DATA_RETENTION = 24 * 3600
_CARD_DATA = ClaimKind(lifetime=CARD_DATA_RETENTION, digest=None)
_PREFIX = "card-api#"


@dataclass(frozen=True, slots=True)
class Answer:
    """A response: the envelope as text, and the seconds of the header ``Retry-After``, if any."""

    text: str
    retry_after: int | None = None


def parse(body: bytes) -> dict[str, Any]:
    """Return the JSON object of a body. Raises: Refused."""
    if len(body) > BODY_BYTES:
        raise Refused(Status.TOO_LARGE)
    try:
        members = jsontext.loads(body)
    except jsontext.InvalidJson as error:
        raise Refused(Status.NOT_JSON, f"the body is not valid JSON: {error}") from None
    if not isinstance(members, dict):
        raise Refused(Status.NOT_JSON)
    return members


def read_reference(members: Mapping[str, Any]) -> str | None:
    """Return the reference of a request in the correct version. Raises: Refused."""
    if str(members.get("api_version")) != API_VERSION:
        raise Refused(Status.WRONG_VERSION)
    reference = members.get("request_reference_id")
    if reference is None:
        return None
    if not isinstance(reference, str) or not _REFERENCE.fullmatch(reference):
        raise Refused(
            Status.BAD_REFERENCE, "request_reference_id must have 10 to 255 characters: letters, digits and hyphens"
        )
    return reference


def success(data: Any, beside: Mapping[str, Any]) -> str:
    """Return the envelope of a success response. ``beside`` contains the members outside ``data``. If the response has
    no data, ``data`` is ``[]``.
    """
    members = "".join(f"{jsontext.dumps(name)}:{jsontext.dumps(value)}," for name, value in beside.items())
    return f'{{"status":"success",{_FIRST},{members}"data":{jsontext.dumps(() if data is None else data)}}}'


def error(refusal: Refused) -> str:
    message = jsontext.dumps(refusal.message)
    return f'{{"status":"error",{_FIRST},"status_code":{int(refusal.status)},"message":{message}}}'


def mark_as_repeat(answer: str) -> str:
    """Return the stored response, marked as a duplicate."""
    return answer.replace(_FIRST, _REPEAT, 1)


def remove_card_data(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return response data without the card data that is stored only briefly. Mandatory members become empty."""
    found = ((name, EMPTY_LATER.get(name, value)) for name, value in data.items())
    return {name: value for name, value in found if name not in EXPIRING_MEMBERS or name in EMPTY_LATER}


def remove_expiry(answer: str) -> str:
    """Remove the card's expiry date from a stored response.

    The date is removed if the credential's modes for card data have changed since the response was stored.
    """
    members = jsontext.loads(answer)
    if isinstance(members.get("data"), dict):
        members["data"].pop("expiration", None)
    return jsontext.dumps(members)


def log_refusal(refusal: Refused) -> None:
    """Log an error response: the code, its meaning and the fields, but no value from the request."""
    log.info(
        "error response", code=int(refusal.status), title=refusal.status.meaning, fields=list(refusal.fields) or None
    )


def log_repeat(answer: str) -> None:
    """Log the response to a duplicate request if the response is an error."""
    if (code := jsontext.loads(answer).get("status_code")) is not None:
        log.info("error response", code=code, title=_MEANINGS.get(code))


@dataclass(frozen=True)
class IdempotencyClaim:
    """The claim of a request with a reference. The claim consists of its name and the digest of the request body.

    ``view`` contains the credential's modes for card data, or ``None`` if the response has no card data. ``attempt``
    distinguishes identical requests.
    """

    name: str
    fingerprint: str
    view: str | None
    attempt: str

    @cached_property
    def key(self) -> Key:
        return claim_key(self.name)

    @cached_property
    def stored(self) -> Claim:
        return Claim(KIND, self.name, self.fingerprint, self.attempt)

    @property
    def whole(self) -> Claim:
        """The item with the complete response."""
        return Claim(_CARD_DATA, f"{self.name}#card-data", self.fingerprint, self.attempt)

    @property
    def keys(self) -> list[Key]:
        """The keys of the claim, and of the complete response if that item may exist."""
        return [self.key] if self.view is None else [self.key, self.whole.key]


class Repeated(Exception):
    """The request was carried out before.

    Attributes:
        answer: the stored response, or ``None`` if only the claim is stored.
        other_view: whether the credential had different modes for card data when the response was stored.
        is_own: whether the claim was written by an attempt of this request, not by a duplicate request.
    """

    def __init__(self, answer: str | None, *, other_view: bool = False, is_own: bool = False) -> None:
        self.answer = answer
        self.other_view = other_view
        self.is_own = is_own
        super().__init__("the request has already been carried out")


class Unanswered(DecideAgain):
    """The request is in progress. The provider's response is missing or not yet stored."""


class RequestReferences:
    """The store of reference claims and their responses."""

    def __init__(self, claims: Claims, card_data: CardData) -> None:
        self._claims = claims
        self._card_data = card_data

    def claim(
        self, credential: Credential, reference: str, action: str, request: Request, *, seals: bool
    ) -> IdempotencyClaim:
        """Return the claim for a credential's action. If ``seals`` is true, the response contains card data."""
        name = f"{_PREFIX}{credential.identity}#{digest(reference)}"
        meaning = jsontext.dumps([action, sorted(request.members().items()), request.nulls])
        view = jsontext.dumps([sorted(credential.modes.items()), credential.encryption_key])
        return IdempotencyClaim(name, self._card_data.fingerprint(meaning), digest(view) if seals else None, new_id())

    def check_repeat(self, claim: IdempotencyClaim, facts: Facts) -> None:
        """Compare a request with the existing claim, if any, and the complete response.

        Raises:
            NotRead: the claim exists, and not all of its ``keys`` were read.
            Repeated: the request was carried out before.
            Unanswered: the request is in progress.
            Refused: the reference was used with another body.
            Conflict: the response is being written, so one of the two items is missing.
        """
        found = facts.item(claim.key)
        if found is None:
            return
        facts.require(*claim.keys)
        try:
            item = self._claims.find(claim.stored, found)
        except AnotherRequest:
            raise Refused(Status.REFERENCE_REUSED) from None
        if item is None:
            return
        if item.get("unanswered"):
            raise Unanswered
        if item.get("whole_until", 0) > self._claims.clock.time() and item["view"] == claim.view:
            whole = facts.item(claim.whole.key)
            if whole is None or whole["attempt"] != item["attempt"]:
                raise Conflict("the response with card data is not visible yet")
            raise Repeated(self._claims.open_answer(claim.whole, whole))
        answer, is_own = self._claims.open_answer(claim.stored, item), item["attempt"] == claim.attempt
        raise Repeated(answer, other_view=item.get("view", claim.view) != claim.view, is_own=is_own)

    def open_data(self, item: Item) -> Mapping[str, Any]:
        """Return the response data in an item of the claims' table.

        Return no data if the item belongs to another claim, or if its data is missing.
        """
        claim = Claim(KIND, item["claim"], "")
        if not claim.name.startswith(_PREFIX) or (answer := self._claims.open_answer(claim, item)) is None:
            return {}
        data = jsontext.loads(answer).get("data")
        return data if isinstance(data, dict) else {}

    def put_answer(self, claim: IdempotencyClaim, answer: str | None, whole: str | None, now: int) -> list[Put]:
        """Return the write operations that claim the reference and store the response.

        The writes succeed only for the first request. ``answer`` is the response to duplicate requests. ``whole`` is a
        response with card data, which duplicate requests get instead of ``answer`` during the first day. Without a
        stored response, duplicate requests are carried out again.
        """
        members: dict[str, Any] = {"again": True} if answer is None else {}
        if whole is None:
            return [self._claims.put(claim.stored, answer, members=members)]
        members |= {"whole_until": now + CARD_DATA_RETENTION, "view": claim.view}
        whole_answer = self._claims.put(claim.whole, whole)
        return [self._claims.put(claim.stored, answer, members=members), replace(whole_answer, condition=None)]

    def claimed_at(self, claim: IdempotencyClaim, item: Item | None, now: int) -> int | None:
        """Return the time when another request claimed the reference, in Unix seconds, or ``None`` if no other request
        claimed the reference.
        """
        if item is None or item["expires_at"] <= now or item["attempt"] == claim.attempt:
            return None
        return int(item["expires_at"]) - KIND.lifetime

    def replace_answer(self, claim: IdempotencyClaim, answer: str, now: int) -> Put:
        """Return the write operation that replaces the stored response of a request. The write fails if another request
        has the claim.
        """
        return self._claims.put(claim.stored, answer, is_free(now) | claim.stored.is_own)

    def put_claim(self, claim: IdempotencyClaim) -> Put:
        """Return the write operation that claims the reference before the response is known. The write succeeds only
        for the first request.
        """
        return self._claims.put(claim.stored, members={"unanswered": True})

    def put_late_answer(self, claim: IdempotencyClaim, answer: str) -> Put:
        """Return the write operation that adds the response to a claim. The write fails if the claim is complete or
        belongs to another request.
        """
        return self._claims.put(claim.stored, answer, claim.stored.is_own & Attr("unanswered").exists())
