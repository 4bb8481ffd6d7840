"""The synthetic month of card use in a new stack is created once, by real actions, with a consistent ledger."""

import contextlib
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any
from unittest.mock import patch

import pytest

from chalicelib.cards.jobs import finish_payments_and_holds
from chalicelib.cards.payments import provider_orders
from chalicelib.cards.protocol.portal_messages import CARDS, LIST_ACTIVITY, LIST_CARDS, SHOW_CARD
from infra.admin import ledger_verification
from infra.local import card_month
from infra.local.card_player import CREDENTIAL, CardPlayer, PastClock, Step, StepFailed, reference
from infra.local.first_data import play_month
from infra.progress import SILENT
from tests.cards.issuer import EUR, GBP, MANAGER, USD, Issuer
from tests.cards.stored_money import prove
from tests.causeway import Causeway
from tests.kit.tables import rows
from tests.openbanking.faults import table_of

GROWN = ("cards", "ledger", "external-payments", "card-activity", "idempotency")


@pytest.fixture
def issuer(causeway: Causeway) -> Issuer:
    return Issuer(causeway)


def play(issuer: Issuer, at_most: int = 10_000) -> bool:
    """Run the month of card use, or only its first steps. Return whether the month is complete."""
    left = iter(range(at_most))
    return play_month(issuer.hub, MANAGER, issuer.hub.clock.time(), lambda: next(left, None) is None)


@pytest.fixture(scope="module")
def month() -> dict[str, Any]:
    """Map each table to the items of an uninterrupted month in the emulator's format. The mapping is empty before the
    first run.
    """
    return {}


@pytest.fixture
def played(issuer: Issuer, month: dict[str, Any]) -> Issuer:
    """Provide tables that contain only an uninterrupted month. The month is created once for all tests."""
    grown = {name: table_of(issuer.causeway, name).items for name in GROWN}
    if not month:
        assert play(issuer)
        month |= {name: copied(items) for name, items in grown.items()}
    for name, items in month.items():
        grown[name].clear()
        grown[name].update(copied(items))
    issuer.hub = issuer.causeway.another_process()
    return issuer


@pytest.fixture
def whole_month(played: Issuer) -> dict[str, int]:
    whole = tables(played)
    played.causeway.forget_journeys()
    played.hub = played.causeway.another_process()
    return whole


def copied(items: dict[Any, Any]) -> dict[Any, Any]:
    """Return a shallow copy of a table's items. Writes replace items and do not change them."""
    return {place: dict(inside) for place, inside in items.items()}


def tables(issuer: Issuer) -> dict[str, int]:
    return {name: len(rows(table_of(issuer.causeway, name))) for name in GROWN}


def portal(issuer: Issuer, action: str, **members: Any) -> Any:
    return issuer.hub.cards.portal.read(MANAGER, action, **members)["data"]


def test_the_ledger_of_the_card_use_simulation_is_consistent(played: Issuer) -> None:
    prove(played)
    totals = ledger_verification.prove_ledger(played.hub.store, SILENT)
    assert totals.accounts["account"] == 6
    assert totals.transactions > 50
    assert {currency for _, currency in totals.books} == {EUR, GBP, USD}


def test_the_card_use_simulation_provides_data_for_every_card_page(played: Issuer) -> None:
    cards = portal(played, LIST_CARDS, item_count=CARDS)
    assert Counter(card["status"] for card in cards) == {"A": 4, "N": 1, "T": 1, "B": 1}
    assert {card["virtual"] for card in cards} == {0, 1}
    assert {card["program_id"] for card in cards} == {101, 102, 103}
    assert len({card["holder_name"] for card in cards}) == 5
    assert "Kestrel Cycles Ltd" in {card["holder_name"] for card in cards}
    held = [account["held_balance"] for card in cards for account in card["accounts"]]
    assert max(held) == 21_000
    for card in cards:
        shown = portal(played, SHOW_CARD, card_id=card["card_id"], item_count=10, balance_count=60)
        assert all(account["transactions"] and account["balances"] for account in shown["accounts"])


def test_the_card_use_simulation_has_approvals_declines_reversals_and_an_expiry(played: Issuer) -> None:
    messages = portal(played, LIST_ACTIVITY, item_count=100)
    codes = Counter(row["response_code"] for row in messages)
    assert codes.keys() == {"00", "41", "46", "51", "61", "1A"}
    assert {row["authorize_type"] for row in messages} == {1, 4, 5}
    types = Counter(row["transaction_type"] for row in played.hub.store.scan("ledger") if "transaction_type" in row)
    assert types.keys() >= {0, 1, 20, 60, 61, 62, 70}


def test_the_card_use_simulation_ends_yesterday_without_overdue_work(played: Issuer) -> None:
    """The jobs that run once a minute would change overdue records."""
    before = tables(played)

    finish_payments_and_holds(played.hub.cards)

    assert tables(played) == before
    now = played.hub.clock.now()
    at = [row["at"] / 1000 for row in played.hub.store.scan("ledger") if row["part"].startswith("movement#")]
    assert timedelta(0) < now - datetime.fromtimestamp(max(at), UTC) < timedelta(days=2)
    assert timedelta(days=26) < now - datetime.fromtimestamp(min(at), UTC) < timedelta(days=29)


@pytest.mark.parametrize("steps", [1, 17, 60, 111])
def test_an_interrupted_card_use_simulation_resumes_without_repeating_steps(
    issuer: Issuer, whole_month: dict[str, int], steps: int
) -> None:
    assert not play(issuer, steps)
    issuer.hub = issuer.causeway.another_process()

    assert play(issuer)

    ledger_verification.prove_ledger(issuer.hub.store, SILENT)
    assert tables(issuer) == whole_month


def test_a_repeated_card_use_simulation_changes_nothing(played: Issuer) -> None:
    before = {table: list(played.hub.store.scan(table)) for table in GROWN}

    assert play(played)

    kept = {table: list(played.hub.store.scan(table)) for table in GROWN}
    sequences = [item for item in kept["cards"] if item["owner"] == "sequences"]
    for items in (before["cards"], kept["cards"]):
        items[:] = [item for item in items if item["owner"] != "sequences"]
    assert kept == before
    assert sequences


@pytest.mark.parametrize("applied", [True, False])
def test_a_step_of_the_card_use_simulation_with_a_lost_response_is_completed_at_the_next_start(
    issuer: Issuer, whole_month: dict[str, int], applied: bool
) -> None:
    play(issuer, 30)
    with issuer.causeway.answer_lost("transact", applied=applied), contextlib.suppress(StepFailed):
        play(issuer)

    assert play(issuer)

    ledger_verification.prove_ledger(issuer.hub.store, SILENT)
    assert tables(issuer) == whole_month


@pytest.mark.parametrize("kind", ["external_address", "external_payment"])
def test_a_card_use_simulation_interrupted_before_a_provider_response_is_later_resumed(
    issuer: Issuer, whole_month: dict[str, int], kind: str
) -> None:
    ask = provider_orders.ask

    def end_before_reply(record: Any, provider: Any) -> provider_orders.Reply:
        if record.kind == kind:
            raise KeyboardInterrupt
        return ask(record, provider)

    with patch.object(provider_orders, "ask", end_before_reply), pytest.raises(KeyboardInterrupt):
        play(issuer)
    issuer.hub = issuer.causeway.another_process()

    assert play(issuer)

    ledger_verification.prove_ledger(issuer.hub.store, SILENT)
    assert tables(issuer) == whole_month


def test_the_card_use_simulation_reads_no_card_data(issuer: Issuer) -> None:
    reads = {"getCardNumber", "getPin", "getCvc2", "getCardAcsPassword"}
    steps = card_month.steps()

    assert not reads & {step.action for step in steps}
    player = CardPlayer(issuer.hub, MANAGER, issuer.hub.clock.now())
    assert set(player.credential.modes.values()) == {"absent"}
    assert " " in CREDENTIAL


def test_every_step_of_the_card_use_simulation_has_a_unique_reference() -> None:
    names = [step.name for step in card_month.steps()]

    assert len({reference(name) for name in names}) == len(names)
    assert all(0 <= step.day < card_month.DAYS for step in card_month.steps())


def test_a_rejected_step_of_the_card_use_simulation_is_reported_with_the_reason(issuer: Issuer) -> None:
    (unknown,) = [step for step in card_month.steps() if step.name == "Tom 3 18:20 activateCard"]
    player = CardPlayer(issuer.hub, MANAGER, issuer.hub.clock.now())
    step = Step(unknown.day, unknown.at, unknown.name, unknown.action, {"card_id": 99_999})

    with pytest.raises(StepFailed, match=r"^Tom 3 18:20 activateCard \(activateCard\): "):
        player.play([step])


def test_an_unexpected_response_code_of_a_step_of_the_card_use_simulation_raises_step_failed(issuer: Issuer) -> None:
    steps = [step for step in card_month.steps() if step.name.startswith("Aoife") and step.day < 4]
    asked = next(step for step in steps if step.action == "simulateAuthorization")
    steps[steps.index(asked)] = Step(asked.day, asked.at, asked.name, asked.action, asked.members, "51")

    with pytest.raises(StepFailed, match="response code 00, not 51"):
        CardPlayer(issuer.hub, MANAGER, issuer.hub.clock.now()).play(steps)


def test_the_clock_of_the_card_use_simulation_moves_only_forward() -> None:
    noon = datetime(2026, 3, 2, 12, tzinfo=UTC)
    clock = PastClock(noon)
    clock.move_to(noon + timedelta(hours=1))

    assert clock.now() == noon + timedelta(hours=1)
    assert clock.time() == int(clock.now().timestamp())
    with pytest.raises(ValueError, match="cannot be moved back"):
        clock.move_to(noon)
