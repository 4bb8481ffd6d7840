"""The effects of a clock advance on the service: all due work is executed once, in the hour in which it is due."""

from datetime import date, timedelta

import pytest

from chalicelib.cards.protocol.values import HOLD_SECONDS
from chalicelib.delivery.delivery_record import Delivery
from chalicelib.demo_bank import clearing, durations
from chalicelib.demo_bank.runtime import Services
from chalicelib.foundation import parallel
from chalicelib.statistics import day_records
from chalicelib.statistics.days import INGESTED_AT
from tests.cards.authorization.shops import LIMITED, SEPARATE, new_holder, with_prices
from tests.cards.issuer import Issuer
from tests.causeway import Causeway
from tests.kit.logs import Lines
from tests.openbanking.kit import always
from tests.sandbox_clock.conftest import Operator

HOUR, DAY = 3600, 86_400


@pytest.fixture(autouse=True)
def _one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the calls one by one, because the emulator does not support threads."""
    monkeypatch.setattr(parallel, "WIDTH", 1)


def ends_told(causeway: Causeway) -> list[Delivery]:
    return [each for each in causeway.recorded("event") if each.topic.startswith("consent.expir")]


@pytest.mark.parametrize("version", [1, 2])
def test_a_clock_advance_sends_consent_events_one_week_before_expiry_and_at_expiry(
    movable: Causeway, operator: Operator, version: int
) -> None:
    movable.tpp.set_events_url()
    tokens = movable.tpp.tokens(version)
    movable.clock.advance(172 * DAY + 12 * HOUR)
    begun = movable.clock.time()
    operator.move("PT11H")
    assert ends_told(movable) == []

    operator.move("PT5H")
    (announced,) = ends_told(movable)
    assert announced.topic == "consent.expiring"
    assert announced.created_at == begun + 12 * HOUR

    movable.clock.advance(7 * DAY - 2 * HOUR)
    operator.move("PT2H")
    assert {each.topic for each in ends_told(movable)} == {"consent.expiring", "consent.expired"}
    assert movable.tpp.call("GET", "/tpp/accounts", bearer=tokens["access_token"]).status == 401


def test_a_clock_advance_beyond_the_lifetime_of_a_token_expires_the_token(
    movable: Causeway, operator: Operator
) -> None:
    tokens = movable.tpp.tokens(2)
    movable.banks[2].answers["/v2_accounts"] = always({"accounts": []})
    operator.move("PT59M")
    assert movable.tpp.call("GET", "/tpp/accounts", bearer=tokens["access_token"]).status == 200
    operator.move("PT2M")
    assert movable.tpp.call("GET", "/tpp/accounts", bearer=tokens["access_token"]).status == 401


def test_a_clock_advance_releases_expired_card_holds_and_verifies_the_ledger(
    movable: Causeway, operator: Operator, lines: Lines
) -> None:
    issuer = with_prices(Issuer(movable))
    card = new_holder(issuer, 100_00, **LIMITED, card_fee_group_id=SEPARATE)
    card.authorize(10_00)
    movable.clock.advance(HOLD_SECONDS - 2 * HOUR)
    operator.move("PT1H")
    assert card.balances()[1] > 0
    operator.move("PT2H")

    assert card.balances()[1] == 0
    assert "ledger proved" in lines.text
    assert "ledger broken" not in lines.text


def test_a_clock_advance_records_the_statistics_of_each_day_once(movable: Causeway, operator: Operator) -> None:
    bic, store = movable.banks[1].bic, movable.hub.store
    first = date(2026, 3, 2)
    operator.move("P3D")

    found = day_records.records_of_bank(store, bic, first, first + timedelta(days=20))
    assert [record.day for record in found] == [first + timedelta(days=number) for number in range(3)]


def test_a_clock_advance_records_daily_statistics_at_the_minute_of_the_nightly_ingest(
    movable: Causeway, operator: Operator
) -> None:
    bic, store = movable.banks[1].bic, movable.hub.store
    first = date(2026, 3, 2)
    operator.move(f"PT{15 * 60 + INGESTED_AT - 1}M")
    assert day_records.records_of_bank(store, bic, first, first) == []
    operator.move("PT1M")
    assert len(day_records.records_of_bank(store, bic, first, first)) == 1


def test_calls_before_a_clock_advance_are_recorded_in_the_statistics_of_their_day(
    movable: Causeway, operator: Operator
) -> None:
    movable.writes_measurements()
    tokens = movable.tpp.tokens(2)
    movable.banks[2].answers["/v2_accounts"] = always({"accounts": []})
    movable.tpp.call("GET", "/tpp/accounts", bearer=tokens["access_token"])
    movable.clock.advance(60)
    movable.tpp.call("GET", "/tpp/accounts", bearer=tokens["access_token"])
    operator.move("P2D")

    (record,) = day_records.records_of_bank(movable.hub.store, movable.banks[2].bic, date(2026, 3, 2), date(2026, 3, 2))
    assert record.total.bank_requests > 0


def test_calls_in_the_minute_before_a_clock_advance_are_recorded_in_their_day(
    movable: Causeway, operator: Operator
) -> None:
    """The counters must be written before the clock advances. A process otherwise writes its counters once a minute."""
    movable.writes_measurements()
    tokens = movable.tpp.tokens(2)
    movable.banks[2].answers["/v2_accounts"] = always({"accounts": []})
    for _ in range(3):
        movable.tpp.call("GET", "/tpp/accounts", bearer=tokens["access_token"])
    operator.move("P7D")

    (record,) = day_records.records_of_bank(movable.hub.store, movable.banks[2].bic, date(2026, 3, 2), date(2026, 3, 2))
    assert record.tallies["AISP"].calls == 3


@pytest.mark.parametrize("moves", [("P2D",), ("P1D", "P1D"), ("PT15H", "PT1H", "P1DT8H")])
def test_a_failed_daily_report_is_retried_in_the_next_hour_of_a_clock_advance(
    movable: Causeway, operator: Operator, monkeypatch: pytest.MonkeyPatch, moves: tuple[str, ...]
) -> None:
    attempts: list[int] = []

    def report(host: Services) -> int:
        attempts.append(host.clock.time())
        return attempts[-1] + (durations.RETRY_SECONDS if len(attempts) == 1 else durations.RETENTION_SECONDS)

    monkeypatch.setattr(clearing, "report_days", report)
    for duration in moves:
        operator.move(duration)

    failed, repeated, next_day = attempts
    assert failed % DAY < HOUR
    assert repeated == failed + HOUR
    assert next_day - next_day % DAY == failed - failed % DAY + DAY
