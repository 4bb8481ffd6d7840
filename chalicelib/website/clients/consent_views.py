"""Consent pages: list the consents of a user's clients, and end a consent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import get_args

from chalice.app import Response

from chalicelib.delivery.journal import SEARCHED
from chalicelib.foundation.fields.problems import InvalidMessage
from chalicelib.openbanking.protocol.errors import Refusal
from chalicelib.openbanking.protocol.tpp_calls import ConsentsQuery, ConsentState
from chalicelib.openbanking.records.bank_record import Bank, sort_by_name
from chalicelib.openbanking.records.client_record import Client
from chalicelib.openbanking.records.clients import UnknownClient
from chalicelib.openbanking.records.consents import Consent
from chalicelib.website.client_choice import choose_client
from chalicelib.website.display_text import UNKNOWN_CLIENT
from chalicelib.website.notices import Notice
from chalicelib.website.pages import Visit, end_consent_question, message_page, page, question_page

_STATES: Sequence[ConsentState] = get_args(ConsentState)
_FILTERS = ("bic", "status")


class UnknownConsent(LookupError):
    """None of the user's clients has a consent with this id."""


def list_consents(visit: Visit) -> Response:
    """``GET /consents``: list the consents of a client (see ``client_choice``), filtered by ``bic`` and ``status``."""
    choice = choose_client(
        visit.website.openbanking.client_list, visit.user, visit.field("client_id"), visit.last_client_id
    )
    client = choice.client
    if client is None and visit.field("client_id"):
        return _not_found_page(visit, UNKNOWN_CLIENT)
    given = {name: value for name in (*_FILTERS, "after") if (value := visit.field(name))}
    try:
        query = ConsentsQuery.read(given)
        part = visit.website.openbanking.consent_list.page(client.client_id, query) if client else None
    except (InvalidMessage, Refusal):
        return _not_found_page(visit, "There is no such page of this list.")
    banks = _banks(visit)
    return page(
        visit,
        "consents.html",
        last_client=client,
        has_archived_only=choice.has_archived_only,
        examined=choice.examined,
        clients=choice.clients,
        client=client,
        banks=banks,
        bank_names={bank.bic: bank.name for bank in banks},
        states={state: state.capitalize() for state in _STATES},
        filters={name: value for name, value in given.items() if name in _FILTERS},
        is_first="after" not in given,
        part=part,
        now=visit.website.shared.clock.time(),
    )


def show_consent(visit: Visit) -> Response:
    """``GET /consents/{consent_id}``: show a consent and its deliveries. With ``ask=end``, ask for confirmation."""
    try:
        consent, client = _own_consent(visit)
    except UnknownConsent:
        return _not_found_page(visit, "None of your clients has a consent with this id.")
    if visit.field("ask") == "end" and _can_end(visit, consent):
        return _question_page(visit, consent, client)
    identifiers = _identifiers(consent)
    return page(
        visit,
        "consent.html",
        last_client=client,
        consent=consent,
        client=client,
        bank_name=_bank_name(visit, consent),
        permissions=[consent.version.scopes[name] for name in consent.scopes],
        identifiers=identifiers,
        accounts=_account_rows(identifiers),
        can_end=_can_end(visit, consent),
        deliveries=visit.website.delivery.journal.search_latest(client.client_id, consent_id=consent.consent_id),
        searched=SEARCHED,
        now=visit.website.shared.clock.time(),
    )


def end_consent(visit: Visit) -> Response:
    """``POST /consents/{consent_id}``: end a consent as its client would, and notify bank and client.

    A duplicate form, or a consent that has ended meanwhile, is not an error.
    """
    try:
        consent, client = _own_consent(visit)
    except UnknownConsent:
        return _not_found_page(visit, "None of your clients has a consent with this id.")
    if _can_end(visit, consent):
        from chalicelib.openbanking.flows.consent.tokens import end_consent as revoke

        visit.website.openbanking.call(revoke, consent, client, by="tpp")
    return visit.redirect_with_notice(f"/consents/{consent.consent_id}", Notice.CONSENT_ENDED)


def _own_consent(visit: Visit) -> tuple[Consent, Client]:
    """Return the consent in the URL and its client, if the user owns the client. Raises: UnknownConsent."""
    consent = visit.website.openbanking.consent_list.find(visit.incoming.uri["consent_id"])
    if consent is None:
        raise UnknownConsent
    try:
        return consent, visit.website.openbanking.clients.get(consent.client_id, visit.user)
    except UnknownClient:
        raise UnknownConsent from None


def _can_end(visit: Visit, consent: Consent) -> bool:
    """Whether the consent can be ended, because it still gives access, at least to the status of its payment."""
    return consent.can_be_queried(visit.website.shared.clock.time())


def _question_page(visit: Visit, consent: Consent, client: Client) -> Response:
    question = end_consent_question(client.title, _bank_name(visit, consent))
    return question_page(visit, question, f"/consents/{consent.consent_id}", {})


def _banks(visit: Visit) -> Sequence[Bank]:
    """Return the active banks by name. Cached for a minute."""
    return sort_by_name(visit.website.openbanking.banks.directory())


def _bank_name(visit: Visit, consent: Consent) -> str:
    """Return the bank's name, or its BIC if the bank is inactive."""
    return next((bank.name for bank in _banks(visit) if bank.bic == consent.bic), consent.bic)


_ACCOUNT_KINDS: Mapping[str, str] = {"ibans": "IBAN", "account_ids": "Account id", "account_numbers": "Account number"}


def _identifiers(consent: Consent) -> Mapping[str, Sequence[str]]:
    """Return the identifiers of the approved accounts, by the label of their kind."""
    return {label: found for kind, label in _ACCOUNT_KINDS.items() if (found := consent.accounts.get(kind))}


def _account_rows(identifiers: Mapping[str, Sequence[str]]) -> Sequence[Mapping[str, str]]:
    """Return each account's identifiers by label, in the bank's order. Return no rows if an account lacks a kind of
    identifier.
    """
    if len(identifiers) < 2 or len({len(found) for found in identifiers.values()}) > 1:
        return []
    return [dict(zip(identifiers, row, strict=True)) for row in zip(*identifiers.values(), strict=True)]


def _not_found_page(visit: Visit, what: str) -> Response:
    return message_page(visit, "No such consent", what, "/consents", "To the consents")
