"""What ``infra/capacity.md`` says is what the code takes, at the prices and limits that are written down."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from types import ModuleType

import pytest

from infra.capacity import counts, limits, page, prices, quotas
from infra.capacity.costs import Suppositions, cost, duration
from infra.capacity.counts import Counted, Kind
from infra.capacity.places import PATHS, about
from infra.capacity.units import tables
from tests.capacity.player import PLAYS, played
from tests.conftest import DYNAMODB_ENDPOINT
from tests.many import cases
from tests.world import World

COUNTED = counts.load()
NEARLY = 0.05
"""Bytes differ a little: numbers in log lines are longer or shorter."""
HELP = "what a request takes has changed: `make capacity` writes infra/capacity.md anew"


def exact(kind: Kind) -> Kind:
    """Without what differs from run to run."""
    return replace(kind, sent=0, log=0, processor=0)


@pytest.mark.skipif(bool(DYNAMODB_ENDPOINT), reason="units are counted on the emulator within this process")
def test_requests_take_what_was_counted(shared_world: World) -> None:
    with cases() as case:
        for kind in played(shared_world):
            with case(kind.name):
                known = COUNTED.of(kind.name)
                assert exact(kind) == exact(known), HELP
                assert (kind.sent, kind.log) == pytest.approx((known.sent, known.log), rel=NEARLY), HELP


def test_every_kind_is_counted_and_no_other() -> None:
    played_kinds = [(group, play.name) for group, plays in PLAYS.items() for play in plays]

    assert [(kind.group, kind.name) for kind in COUNTED.kinds] == played_kinds


def test_the_page_is_what_comes_of_the_counts() -> None:
    assert page.PATH.read_text(encoding="utf-8") == page.text(COUNTED), HELP


def test_a_page_for_other_suppositions_differs() -> None:
    slower = page.text(COUNTED, Suppositions(bank=500))

    assert "| a bank, or a receiver of events, answers after | 500 ms |" in slower
    assert duration(COUNTED, COUNTED.of("read_v1"), Suppositions(bank=500)) == (
        duration(COUNTED, COUNTED.of("read_v1"), Suppositions()) + 300
    )


def test_timing_is_plausible_and_nothing_more_is_asked_of_it() -> None:
    assert 1 < COUNTED.machine.read / COUNTED.machine.bare < 2
    assert all(kind.processor > 0 for kind in COUNTED.kinds)


# -- money


def of_one(**members: object) -> tuple[Counted, Kind]:
    """What was counted, and a kind of it that takes nothing but ``members``."""
    nothing = {"tables": {}, "services": {}, "requests": 0, "banks": 0, "sent": 0, "log": 0, "processor": 0.0}
    kind = replace(COUNTED.of("read_v1"), calls=0, waits=0, **nothing | members)  # type: ignore[arg-type]
    return COUNTED, kind


def test_money_is_never_a_binary_float() -> None:
    for kind in COUNTED.kinds:
        assert all(isinstance(dollars, Decimal) for dollars in cost(COUNTED, kind, Suppositions()).parts.values())


@pytest.mark.parametrize(
    ("members", "part", "dollars"),
    [
        ({"requests": 1}, "API Gateway", "3.50"),
        ({"tables": {"clients": counts.Units(Decimal(3), Decimal(0))}}, "DynamoDB", "0.4245"),
        ({"tables": {"clients": counts.Units(Decimal(0), Decimal(2))}}, "DynamoDB", "1.410"),
        ({"services": {"sqs.SendMessageBatch": 1}}, "SQS", "0.40"),
        ({"function": "deliver"}, "SQS", "0.80"),
        ({"services": {"kms.Decrypt": 1, "secretsmanager.GetSecretValue": 1}}, "keys", "8.00"),
        ({"sent": 1000}, "data out", "0.09"),
        ({"log": 600}, "logs", "0.57"),
    ],
)
def test_a_part_costs_its_list_price(members: dict[str, object], part: str, dollars: str) -> None:
    assert cost(*of_one(**members), Suppositions()).parts[part] == Decimal(dollars)


def test_a_second_of_a_gigabyte_is_billed_by_the_millisecond() -> None:
    made = cost(*of_one(banks=1), Suppositions(bank=999, traced=Decimal(0)))

    assert made.milliseconds in (1000, 1001, 1002, 1003)  # the processor's part of sending
    assert made.parts["Lambda"] == Decimal("0.20") + Decimal(made.milliseconds) * Decimal("0.0133333334") + (
        Decimal(made.milliseconds) * Decimal("0.0000000666")
    )


# -- limits


def test_the_limits_come_in_their_order_and_the_lowest_is_saturated_first() -> None:
    for name in page.MEANT:
        rates = [limit.rate for limit in limits.limits_of(COUNTED, COUNTED.of(name), Suppositions())]
        assert rates == sorted(rates)
        assert rates[0] > limits.RATES[0]


@pytest.mark.parametrize(
    ("read", "write", "rate"), [(1, 0, 3000), (0, 2, 500), (2, 4, Decimal(3000) / 14), (Decimal("0.5"), 0, 6000)]
)
def test_reads_and_writes_share_a_partition(read: Decimal, write: int, rate: Decimal) -> None:
    key = counts.KeyUnits(Decimal(read), Decimal(write), 1)

    assert limits.one_key(key) == pytest.approx(rate)


def test_a_sharded_index_takes_what_its_partitions_take_together() -> None:
    path = about("deliveries", "due", "7")

    assert limits.all_partitions(path, counts.KeyUnits(Decimal(0), Decimal(2), 1)) == 8 * 500
    assert limits.all_partitions(path, counts.KeyUnits(Decimal(0), Decimal(2), 8)) == 500


def test_twice_the_bank_s_time_is_half_of_what_the_environments_take() -> None:
    def rate(bank: int) -> Decimal:
        found = limits.limits_of(COUNTED, COUNTED.of("read_v1"), Suppositions(bank=bank))
        return next(limit.rate for limit in found if limit.name == "Lambda concurrency")

    assert rate(10_000) / rate(20_000) == pytest.approx(2, rel=0.01)


def test_an_environment_takes_ten_requests_a_second_at_most() -> None:
    assert limits.environments(Decimal(1_000), Decimal("0.3")) == 300
    assert limits.environments(Decimal(1_000), Decimal("0.03")) == 100

    found = limits.limits_of(COUNTED, COUNTED.of("authorization"), Suppositions())
    assert next(limit.rate for limit in found if limit.name == "Lambda concurrency") == 10_000


@pytest.mark.parametrize(
    ("module", "row", "listed"), [(prices, prices.Price, prices.PRICES), (quotas, quotas.Quota, quotas.QUOTAS)]
)
def test_every_price_and_quota_is_on_the_page_once(module: ModuleType, row: type, listed: Sequence[object]) -> None:
    assert list(listed) == [each for each in vars(module).values() if isinstance(each, row)]


def test_every_path_is_of_a_table_that_there_is() -> None:
    known = {
        f"{name.removeprefix('causeway-local-')}{index}"
        for name, table in tables().items()
        for index in ("", *(f".{each.name}" for each in table.indexes))
    }

    assert {path.table for path in PATHS} <= known
    assert all(re.compile(path.key) for path in PATHS)


def test_a_key_that_nobody_has_explained_is_not_passed_over() -> None:
    with pytest.raises(LookupError, match="what does the key new#1 of cards stand for"):
        about("cards", "", "new#1")
