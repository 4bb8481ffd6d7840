"""The bank's own pages outside of a journey: the front page, and the consents that a customer has given."""

from __future__ import annotations

from chalice.app import Response

from chalicelib.demo_bank import consents, customers, hub_client
from chalicelib.demo_bank.hub_client import HubRefusal
from chalicelib.demo_bank.pages import Visit, page
from chalicelib.demo_bank.references import REFERENCES
from chalicelib.demo_bank.runtime import HubUnreachable
from chalicelib.demo_bank.sessions import CustomerSession
from chalicelib.demo_bank.sign_in_views import find_session, require_session, sign_in_page
from chalicelib.foundation import log
from chalicelib.foundation.http.pages import see_other

PATH = "/consents"
_NOT_THERE = {"4202", "RESOURCE_UNKNOWN"}


def landing_page(visit: Visit) -> Response:
    """``GET /``: what this is."""
    people = list(customers.customers_by_id(visit.bank.profile.name).values())
    members = visit.bank.format.reference_members
    return page(visit, "landing.html", customers=people, references=REFERENCES, reference_members=members)


def list_consents(visit: Visit) -> Response:
    """``GET /consents``: the customer's consents, or the form to sign in; with ``revoke``, whether to end one."""
    session = find_session(visit)
    if session is None:
        return sign_in_page(
            visit, PATH, "My consents", "Sign in to see which applications have access to your accounts."
        )
    if visit.field("revoke"):
        return _revocation_page(visit, session)
    return _consents_page(visit, session)


def _revocation_page(visit: Visit, session: CustomerSession) -> Response:
    """Whether the customer really wants to end a consent: it cannot be undone."""
    consent = consents.get_consent(visit.bank, visit.field("revoke"))
    if consent is None or consent.customer_id != session.customer.customer_id:
        return _consents_page(visit, session, _UNKNOWN, status=404)
    if consent.status != "active":
        return _consents_page(visit, session)
    return page(visit, "consent_end.html", session=session, consent=consent, accounts=consent.accounts(visit.bank))


@require_session
def revoke_consent(visit: Visit, session: CustomerSession) -> Response:
    """End a consent: here at once, then at the service; if that cannot be reached, the customer may tell it again."""
    bank = visit.bank
    consent = consents.get_consent(bank, visit.field("consent"))
    if consent is None or consent.customer_id != session.customer.customer_id:
        return _consents_page(visit, session, _UNKNOWN, status=404)
    if consent.status == "active":
        consents.revoke(bank, consent.record, told=False)
    token = consents.unseal_token(bank, consent)
    try:
        if token is not None:
            hub_client.revoke_token(bank, token)
    except HubRefusal as refusal:
        if refusal.code not in _NOT_THERE:
            return _consents_page(visit, session, f"{_UNTOLD} It says: {refusal.message} ({refusal.code})", status=502)
    except HubUnreachable:
        log.exception("demo bank: revocation unanswered", bank=bank.profile.name)
        return _consents_page(visit, session, _UNTOLD, status=502)
    consents.revoke(bank, consent.record, told=True)
    return see_other(visit.link(PATH))


_UNKNOWN = "This consent does not exist."
_UNTOLD = "The consent is revoked here, but the open banking service has not confirmed it yet. Please try again."


def _consents_page(visit: Visit, session: CustomerSession, error: str = "", status: int = 200) -> Response:
    bank = visit.bank
    now = bank.clock.time()
    found = consents.list_consents(bank, session.customer.customer_id)
    return page(
        visit,
        "consents.html",
        status=status,
        session=session,
        error=error,
        active=[(consent, consent.accounts(bank)) for consent in found if consent.is_active(now)],
        ended=[(consent, consent.accounts(bank)) for consent in found if not consent.is_active(now)],
    )
