"""The states of consents: a list for each client, and a query for banks after an outage."""

from __future__ import annotations

from collections.abc import Iterator

from chalicelib.foundation.clock import Clock, timestamp
from chalicelib.foundation.dynamodb.store import Store
from chalicelib.foundation.identifiers import OpaqueToken
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.foundation.requests.claims import Claim
from chalicelib.openbanking.protocol.bank_calls import ConsentsStatus
from chalicelib.openbanking.protocol.own_answers import BankConsent, ConsentEntry, ConsentsAnswer, ConsentStatesAnswer
from chalicelib.openbanking.protocol.tpp_calls import ConsentsQuery
from chalicelib.openbanking.records.bank_record import Bank
from chalicelib.openbanking.records.client_record import Client
from chalicelib.openbanking.records.consent_list import ConsentList
from chalicelib.openbanking.records.consents import Consent, consent_key


@dataclass(frozen=True, slots=True)
class _Reference:
    """A bank's reference to a consent: a consent id, or an access token. ``consent_id`` is ``None`` if the reference is
    malformed.
    """

    consent_id: str | None
    token: OpaqueToken | None = None

    def is_of(self, consent: Consent, bank: Bank) -> bool:
        return consent.bic == bank.bic and (self.token is None or self.token.matches(consent.bank_token_digest))


def list_consents(client: Client, query: ConsentsQuery, *, clock: Clock, consent_list: ConsentList) -> ConsentsAnswer:
    """Return a page of the client's consents, newest first. Raises: Refusal."""
    page, now = consent_list.page(client.client_id, query), clock.time()
    entries = [_describe_entry(consent, now) for consent in page.consents]
    return {"consents": entries, "next": page.next, "has_more": page.next is not None}


def list_states(bank: Bank, request: ConsentsStatus, _: Claim, *, store: Store, clock: Clock) -> ConsentStatesAnswer:
    """Return the states of the bank's consents, in one strongly consistent read.

    A consent that does not exist, belongs to another bank, or has another token is unknown. The bank cannot distinguish
    these cases. No response is stored, so a retry of the request gets the current states.
    """
    references, now = [*_read_references(request)], clock.time()
    keys = [consent_key(each.consent_id) for each in references if each.consent_id is not None]
    items = iter(store.batch_get(keys) if keys else ())
    found = [next(items) if each.consent_id is not None else None for each in references]
    consents = [Consent.from_item(item) if item is not None else None for item in found]
    return {"consents": [_describe(*each, bank, now) for each in zip(references, consents, strict=True)]}


def _read_references(request: ConsentsStatus) -> Iterator[_Reference]:
    """Read the consents of a request in the order of the request, beginning with the consents named by tokens."""
    for text in request.access_tokens or ():
        token = OpaqueToken.parse(text, parts=1)
        yield _Reference(token.ids[0] if token else None, token)
    for consent_id in request.consent_ids or ():
        yield _Reference(consent_id)


def _describe(reference: _Reference, consent: Consent | None, bank: Bank, now: int) -> BankConsent:
    if consent is None or not reference.is_of(consent, bank):
        return _unknown(reference)
    return {
        "consent_id": consent.consent_id,
        "status": consent.state(now),
        "scopes": list(consent.scopes),
        "valid_until": timestamp(consent.valid_until),
        "ended_at": timestamp(consent.ended_at) if consent.ended_at is not None else None,
        "ended_by": consent.ended_by,
    }


def _unknown(reference: _Reference) -> BankConsent:
    return {
        "consent_id": reference.consent_id,
        "status": "unknown",
        "scopes": None,
        "valid_until": None,
        "ended_at": None,
        "ended_by": None,
    }


def _describe_entry(consent: Consent, now: int) -> ConsentEntry:
    return {
        "consent_id": consent.consent_id,
        "bic": consent.bic,
        "status": consent.state(now),
        "consent_type": consent.consent_type,
        "scopes": list(consent.scopes),
        "unified_scopes": consent.unified_scopes,
        "created_at": timestamp(consent.created_at),
        "valid_until": timestamp(consent.valid_until),
        "last_used_on": consent.last_used_on,
    }
