"""Tests that a bank process can crash at any storage write. The restarted process loses no data and duplicates no
action.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

import httpx
import pytest

from causeway.bank import MemoryStorage
from tests.sdk.bank.harness import NOVEMBER, STATUSES, BankHarness
from tests.sdk.scripted_hub import Clock

Values = Mapping[str, Any]
MOST_STEPS = 20


class PowerFailure(BaseException):
    """A simulated process crash, which no ``except Exception`` can handle."""


class Mortal(MemoryStorage):
    """An in-memory storage that simulates a crash: after a set number of writes, all writes fail."""

    def __init__(self) -> None:
        super().__init__()
        self.left = -1
        self.dead = False

    def _step(self) -> None:
        if self.dead or self.left == 0:
            self.dead = True
            raise PowerFailure
        self.left -= 1

    def live(self) -> None:
        self.left, self.dead = -1, False

    async def add(self, kind: str, key: str, value: Values, *, owner: str = "", expires_at: float = 0.0) -> bool:
        self._step()
        return await super().add(kind, key, value, owner=owner, expires_at=expires_at)

    async def replace(self, kind: str, key: str, old: Values, new: Values | None) -> bool:
        self._step()
        return await super().replace(kind, key, old, new)


@pytest.fixture
def storage() -> Mortal:
    return Mortal()


@pytest.fixture
def mortal(version: int, clock: Clock, storage: Mortal) -> Iterator[BankHarness]:
    clock.seconds = NOVEMBER
    made = BankHarness(version, clock, storage=storage)
    yield made
    made.close()


def is_alive(harness: BankHarness, storage: Mortal, page: httpx.Response, steps: int) -> bool:
    """Run a decision that crashes after ``steps`` storage writes, and restart the process.
    Return whether the decision was completed without a crash.
    """
    storage.left = steps
    with suppress(PowerFailure):
        harness.decide(page, "yes", account=["1001"])
    finished = not storage.dead
    storage.live()
    harness.run(harness.bank.send_pending())
    return finished


def test_a_confirmed_payment_is_booked_once_and_reported_despite_a_crash_at_any_step(
    mortal: BankHarness, storage: Mortal
) -> None:
    token, confirmed = mortal.consent(accounts=("1001",)), STATUSES[mortal.version]["confirmed"]
    for steps in range(MOST_STEPS):
        taken = mortal.pay(token=token)
        payment_id, page = taken["payment_id"], mortal.open(taken["confirmation_url"])
        finished = is_alive(mortal, storage, page, steps)
        if [each for each in mortal.full.booked if each.payment_id == payment_id]:
            found = mortal.run(mortal.bank.find_payment(payment_id))
            assert found is not None
            if found.status != confirmed:  # the bank sees in its books what it has not told
                mortal.run(mortal.bank.report_status(payment_id, confirmed))
        assert mortal.decide(page, "yes").status_code == 303

        found = mortal.run(mortal.bank.find_payment(payment_id))
        assert found is not None
        assert found.status == confirmed
        assert [each.payment_id for each in mortal.full.booked].count(payment_id) == 1
        reports = [each for each in mortal.hub.calls if payment_id.encode() in each.content]
        assert len({each.headers["x-request-id"] for each in reports}) == 1
        mortal.run(mortal.bank.send_pending())
        assert mortal.run(storage.find("undecided")) == {}
        if finished:
            break
    assert 3 < steps < MOST_STEPS - 1


def test_a_payment_interrupted_before_its_booking_is_listed_as_undecided_after_a_restart(
    mortal: BankHarness, storage: Mortal
) -> None:
    def end(_: object) -> None:
        raise PowerFailure

    taken = mortal.pay(token=mortal.consent(accounts=("1001",)))
    mortal.full.before_booking = end
    with pytest.raises(PowerFailure):
        mortal.decide(taken["confirmation_url"], "yes")

    again = BankHarness(mortal.version, mortal.clock, storage=storage)
    try:
        [found] = again.run(again.bank.undecided_payments())
        assert found.payment_id == taken["payment_id"]
        again.run(again.bank.report_status(found.payment_id, STATUSES[mortal.version]["confirmed"]))
        assert again.run(again.bank.undecided_payments()) == []
        assert len(again.hub.bodies("/payments/status")) == 1
    finally:
        again.close()


def test_a_refused_payment_is_cancelled_and_never_listed_despite_a_crash_at_any_step(
    mortal: BankHarness, storage: Mortal
) -> None:
    token = mortal.consent(accounts=("1001",))
    cancelled = STATUSES[mortal.version]["cancelled"]
    for steps in range(MOST_STEPS):
        taken = mortal.pay(token=token)
        page = mortal.open(taken["confirmation_url"])
        storage.left = steps
        with suppress(PowerFailure):
            mortal.decide(page, "no")
        finished = not storage.dead
        storage.live()
        assert mortal.run(mortal.bank.undecided_payments()) == []
        mortal.run(mortal.bank.send_pending())
        assert mortal.decide(page, "no").status_code == 303

        found = mortal.run(mortal.bank.find_payment(taken["payment_id"]))
        assert found is not None
        assert found.status == cancelled
        reports = [each for each in mortal.hub.bodies("/payments/status") if each["payment_id"] == taken["payment_id"]]
        assert reports
        assert {each["payment_status"] for each in reports} == {cancelled}
        assert mortal.run(storage.find("undecided")) == {}
        if finished:
            break
    assert mortal.full.booked == []
    assert 3 < steps < MOST_STEPS - 1


def test_a_consent_is_saved_once_despite_a_crash_at_any_step(mortal: BankHarness, storage: Mortal) -> None:
    for steps in range(MOST_STEPS):
        page = mortal.open(f"/consent?request={steps}")
        finished = is_alive(mortal, storage, page, steps)
        assert mortal.decide(page, "yes", account=["1001"]).status_code == 303

        assert len(mortal.hub.saved) == len(mortal.run(mortal.bank.consents("psu-1"))) == steps + 1
        if finished:
            break
    assert 1 < steps < MOST_STEPS - 1


def test_a_consent_revoked_by_the_psu_ends_at_bank_and_hub_despite_a_crash_at_any_step(
    mortal: BankHarness, storage: Mortal
) -> None:
    for steps in range(MOST_STEPS):
        token = mortal.consent(f"request={steps}", accounts=("1001",))
        finished = is_alive(mortal, storage, mortal.open("/consents"), steps)
        told = [each for each in mortal.hub.bodies("/token/revoke") if each["access_token"] == token]
        assert bool(told) is not bool(mortal.run(mortal.bank.consents("psu-1")))
        assert bool(told) is (mortal.webhook("accounts", token=token).status_code == 401)
        if not told:
            mortal.decide(mortal.open("/consents"), "yes")

        assert mortal.run(mortal.bank.consents("psu-1")) == []
        if finished:
            assert token.partition(".")[0] in [each.consent_id for each in mortal.full.revoked]
            break
    assert 2 < steps < MOST_STEPS - 1
