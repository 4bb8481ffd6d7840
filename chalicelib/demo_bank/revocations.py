"""Revocation of consents by the bank: at the customer's request, or when a consent's time at this bank is over.

A consent first ends at the bank, then the service is told. If that fails it is repeated: by the customer, or by the
scheduled job.
"""

from __future__ import annotations

from typing import Literal

from chalicelib.demo_bank import consents, hub_client
from chalicelib.demo_bank.consents import ENDS, DemoConsent
from chalicelib.demo_bank.hub_client import HubRefusal
from chalicelib.demo_bank.runtime import READ_SECONDS, TABLE, DemoBank, HubUnreachable, NotInstalled
from chalicelib.foundation import log

RETRY_SECONDS = 60
_UNKNOWN_TO_HUB = {"4202", "RESOURCE_UNKNOWN"}

_Outcome = Literal["done", "failed", "unreachable"]


def revoke(bank: DemoBank, consent: DemoConsent, seconds: float = READ_SECONDS) -> None:
    """End a consent at the bank, then at the service; ``seconds`` is the time limit for its response.

    Raises:
        HubRefusal, HubUnreachable: it has ended here, but the service has not confirmed it.
    """
    if consent.status == "active":
        consents.revoke(bank, consent.record, told=False)
    token = consents.unseal_token(bank, consent)
    try:
        if token is not None:
            hub_client.revoke_token(bank, token, seconds)
    except HubRefusal as refusal:
        if refusal.code not in _UNKNOWN_TO_HUB:
            raise
    consents.revoke(bank, consent.record, told=True)


def revoke_due_consents(bank: DemoBank, deadline: float) -> int:
    """End the consents whose time is over, until ``deadline`` (monotonic clock); returns their number.

    One that fails is postponed and does not delay the others.
    """
    done = 0
    for at, token_digest in ENDS.find(bank):
        left = deadline - bank.clock.monotonic()
        if left <= 0:
            break
        outcome = _end_consent(bank, f"token#{token_digest}", left)
        if outcome == "done":
            bank.store.delete(TABLE, ENDS.key(bank, at, token_digest))
            done += 1
            continue
        ENDS.postpone(bank, at, token_digest, RETRY_SECONDS)
        if outcome == "unreachable":
            break
    return done


def _end_consent(bank: DemoBank, record: str, seconds: float) -> _Outcome:
    """End one consent, unless it has ended already. A permanently refused revocation counts as done."""
    try:
        consent = consents.get_consent(bank, record)
        if consent is not None and (consent.status == "active" or not consent.told):
            revoke(bank, consent, seconds)
    except HubRefusal as refusal:
        log.warning("demo bank: revocation refused", bank=bank.profile.name, code=refusal.code)
        return "done" if refusal.is_permanent else "failed"
    except HubUnreachable:
        log.exception("demo bank: no response to revocation", bank=bank.profile.name)
        return "unreachable"
    except NotInstalled:
        raise
    except Exception:
        log.exception("demo bank: consent not ended", bank=bank.profile.name)
        return "failed"
    return "done"
