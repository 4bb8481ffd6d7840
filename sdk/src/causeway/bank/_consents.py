"""The consents of a bank's PSUs."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

from causeway import _waiting
from causeway.bank._outbox import Outbox
from causeway.bank.calls import Consent
from causeway.bank.refusals import ConsentNotInForce
from causeway.bank.storage import Storage, Values

if TYPE_CHECKING:
    from causeway.bank._generated.models_v1 import SaveConsentAnswerV1
    from causeway.bank._generated.models_v2 import SaveConsentAnswerV2


class Consents:
    """Stores consents by the part of their access token before the dot, with a digest of the whole token."""

    def __init__(self, storage: Storage, outbox: Outbox) -> None:
        self._storage = storage
        self._outbox = outbox

    async def save(
        self, page: Values, saved: SaveConsentAnswerV1 | SaveConsentAnswerV2, identifiers: Mapping[str, Sequence[str]]
    ) -> None:
        """Store a consent that the hub has saved. If the consent is already stored, do nothing."""
        consent_id = id_of(saved.access_token)
        value = {
            "consent_id": consent_id,
            "psu": page["psu"],
            "tpp_name": page["tpp_name"],
            "scopes": list(page["scopes"]),
            "account_ids": list(identifiers.get("account_ids", ())),
            "valid_until": saved.valid_until.timestamp(),
            "one_time": is_one_time(page["request_url"]),
            "spent": "",
            "ended": False,
            "access_token": saved.access_token,
            "digest": digest(saved.access_token),
        }
        await self._storage.add(
            "consent", consent_id, value, owner=page["psu"], expires_at=saved.valid_until.timestamp()
        )

    async def find(self, token: str) -> Consent:
        """Find the active consent of a token. The consent may be a one-time consent that was used. Raises
        ``ConsentNotInForce``.
        """
        value = await self._known(token)
        if value is None or value["ended"] or value["valid_until"] <= _waiting.now():
            raise ConsentNotInForce
        return consent_of(value)

    async def _known(self, token: str) -> Values | None:
        """Find the consent of a token, even if the consent has ended."""
        value = await self._storage.get("consent", id_of(token))
        return value if value and hmac.compare_digest(value["digest"], digest(token)) else None

    async def of(self, psu: str) -> list[Consent]:
        """Return the active consents of a PSU, oldest first."""
        found = await self._storage.find("consent", psu)
        return [consent_of(value) for value in found.values() if not value["ended"]]

    async def spend(self, consent: Consent, request_id: str) -> None:
        """Use a one-time consent for an order. Raises ``ConsentNotInForce`` if the consent was used or has ended."""
        value = await self._storage.get("consent", consent.consent_id)
        if value is None or value["ended"] or value["spent"]:
            raise ConsentNotInForce("the one-time consent was used")
        if not await self._storage.replace("consent", consent.consent_id, value, {**value, "spent": request_id}):
            raise ConsentNotInForce("the one-time consent was used")

    async def unspend(self, consent: Consent, request_id: str) -> None:
        """Restore a one-time consent after its order was refused."""
        value = await self._storage.get("consent", consent.consent_id)
        if value is not None and value["spent"] == request_id:
            await self._storage.replace("consent", consent.consent_id, value, {**value, "spent": ""})

    async def end_by_hub(self, token: str) -> Consent | None:
        """End a consent at the hub's request. Return ``None`` if the bank does not know the token."""
        value = await self._known(token)
        return await self._end(value["consent_id"]) if value else None

    async def end_by_psu(self, psu: str, consent_id: str) -> Consent | None:
        """End a PSU's consent and notify the hub. Return ``None`` if the PSU has no such active consent."""
        value = await self._storage.get("consent", consent_id)
        if value is None or value["ended"] or value["psu"] != psu:
            return None
        await self._outbox.put("token_revoke", consent_id, access_token=value["access_token"])
        ended = await self._end(consent_id)
        await self._outbox.send("token_revoke", consent_id)
        return ended

    async def catch_up(self) -> list[Consent]:
        """End the consents whose end an interrupted process has not reported to the hub, and return them."""
        ended = []
        for consent_id in await self._outbox.pending("token_revoke"):
            value = await self._storage.get("consent", consent_id)
            found = await self._end(consent_id) if value and not value["ended"] else None
            ended += [found] if found else []
        return ended

    async def _end(self, consent_id: str) -> Consent | None:
        """End a consent. The token of the consent is deleted, and only the token's digest remains."""
        while (value := await self._storage.get("consent", consent_id)) is not None:
            new = {**value, "ended": True, "access_token": ""}
            if value == new or await self._storage.replace("consent", consent_id, value, new):
                return consent_of(new)
        return None


def consent_of(value: Values) -> Consent:
    """Return a stored consent without its token."""
    return Consent(
        consent_id=value["consent_id"],
        psu=value["psu"],
        tpp_name=value["tpp_name"],
        scopes=tuple(value["scopes"]),
        account_ids=tuple(value["account_ids"]),
        valid_until=value["valid_until"],
        one_time=value["one_time"],
        spent=value["spent"],
        ended=value["ended"],
    )


def id_of(token: str) -> str:
    """Return the id of a consent, which is part of its access token."""
    return token.partition(".")[0]


def digest(token: str) -> str:
    """Return the digest of a token in the form in which digests are stored."""
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()


def is_one_time(request_url: str) -> bool:
    """Return whether the TPP requests only a single payment."""
    return parse_qs(urlsplit(request_url).query).get("consent_type") == ["one_time"]
