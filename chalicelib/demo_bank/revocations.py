"""Revocation of consents by the bank: at the customer's request, or when a consent's time at this bank is over.

A consent first ends at the bank, then the service is told. If that fails it is repeated: by the customer, or by the
scheduled job.
"""

from __future__ import annotations

from chalicelib.demo_bank import consents, hub_client
from chalicelib.demo_bank.consents import DemoConsent
from chalicelib.demo_bank.hub_client import HubRefusal
from chalicelib.demo_bank.runtime import DemoBank, HubUnreachable
from chalicelib.foundation import log

RETRY_SECONDS = 60
_UNKNOWN_TO_HUB = {"4202", "RESOURCE_UNKNOWN"}
_FOR_GOOD = 400
"""The HTTP status of a permanent refusal; other failures are retried."""


def revoke(bank: DemoBank, consent: DemoConsent) -> None:
    """End a consent at the bank, then at the service.

    Raises:
        HubRefusal, HubUnreachable: it has ended here, but the service has not confirmed it.
    """
    if consent.status == "active":
        consents.revoke(bank, consent.record, told=False)
    token = consents.unseal_token(bank, consent)
    try:
        if token is not None:
            hub_client.revoke_token(bank, token)
    except HubRefusal as refusal:
        if refusal.code not in _UNKNOWN_TO_HUB:
            raise
    consents.revoke(bank, consent.record, told=True)


def revoke_due_consents(bank: DemoBank, deadline: float) -> int:
    """End the consents whose time is over, until ``deadline`` (monotonic clock); returns their number."""
    done = 0
    for at, record in consents.find_due_ends(bank):
        if bank.clock.monotonic() >= deadline:
            break
        consent = consents.get_consent(bank, record)
        try:
            if consent is not None and (consent.status == "active" or not consent.told):
                revoke(bank, consent)
                done += 1
        except HubRefusal as refusal:
            log.warning("demo bank: revocation refused", bank=bank.profile.name, code=refusal.code)
            if refusal.status != _FOR_GOOD:
                consents.postpone_end(bank, at, record, RETRY_SECONDS)
                continue
        except HubUnreachable:
            log.exception("demo bank: no response to revocation", bank=bank.profile.name)
            consents.postpone_end(bank, at, record, RETRY_SECONDS)
            break
        consents.delete_due_end(bank, at, record)
    return done
