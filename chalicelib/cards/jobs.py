"""The card API's scheduled jobs."""

from __future__ import annotations

from typing import Any

from chalice.app import Rate

from chalicelib.cards.container import CardContainer
from chalicelib.foundation.http.job_blueprint import Jobs

RUN_SECONDS = 40
"""The time, in seconds, after which a run starts no further work."""
PROVING_SECONDS = 480
"""The time, in seconds, after which a run of ledger proofs starts no further work. A run may take several minutes."""
card_jobs = Jobs[CardContainer](__name__)


@card_jobs.schedule(Rate(1, unit=Rate.MINUTES), name="finish")
def finish(event: Any) -> None:
    """Finish interrupted payments, decide direct debits at their cut-off, and release expired holds, every minute."""
    finish_payments_and_holds(card_jobs.parts())


def finish_payments_and_holds(cards: CardContainer) -> None:
    from chalicelib.cards.authorization.hold_release import expire_holds
    from chalicelib.cards.payments.provider_completion import finish_due_payments

    started = cards.shared.clock.monotonic()
    half_time = started + RUN_SECONDS / 2  # leave half of the run to holds, however many payments there are
    cards.call(finish_due_payments, half_time)
    cards.call(expire_holds, started + RUN_SECONDS)


@card_jobs.schedule(Rate(1, unit=Rate.HOURS), name="prove")
def prove(event: Any) -> None:
    """Check part of the ledger's accounts. The job runs every hour and is intended to check every account once a
    day.
    """
    from chalicelib.cards.reconciliation.rolling_proof import prove_accounts

    cards = card_jobs.parts()
    cards.call(prove_accounts, cards.shared.clock.monotonic() + PROVING_SECONDS)
