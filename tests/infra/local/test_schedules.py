"""When EventBridge's schedule expressions are due."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from infra.local.schedules import InvalidSchedule, parse

MONDAY = datetime(2026, 3, 2, 9, 30, 15, tzinfo=UTC)


@pytest.mark.parametrize(
    ("expression", "seconds"),
    [("rate(1 minute)", 60), ("rate(5 minutes)", 300), ("rate(2 hours)", 7200), ("rate(1 day)", 86400)],
)
def test_a_rate_is_due_one_period_after_the_start(expression: str, seconds: int) -> None:
    assert parse(expression).after(MONDAY) == MONDAY + timedelta(seconds=seconds)


@pytest.mark.parametrize(
    ("expression", "due"),
    [
        ("cron(* * * * ? *)", datetime(2026, 3, 2, 9, 31, tzinfo=UTC)),
        ("cron(0 6 * * ? *)", datetime(2026, 3, 3, 6, 0, tzinfo=UTC)),
        ("cron(*/20 * * * ? *)", datetime(2026, 3, 2, 9, 40, tzinfo=UTC)),
        ("cron(5/30 9-10 * * ? *)", datetime(2026, 3, 2, 9, 35, tzinfo=UTC)),
        ("cron(0,45 9 ? * TUE-FRI *)", datetime(2026, 3, 3, 9, 0, tzinfo=UTC)),
        ("cron(0 0 1 JAN,JUL ? *)", datetime(2026, 7, 1, 0, 0, tzinfo=UTC)),
        ("cron(0 12 ? * 1 *)", datetime(2026, 3, 8, 12, 0, tzinfo=UTC)),
        ("cron(0 0 29 2 ? *)", datetime(2028, 2, 29, 0, 0, tzinfo=UTC)),
        ("cron(0 0 1 1 ? 2027-2028)", datetime(2027, 1, 1, 0, 0, tzinfo=UTC)),
    ],
)
def test_a_cron_expression_is_due_when_all_fields_allow_it(expression: str, due: datetime) -> None:
    assert parse(expression).after(MONDAY) == due


@pytest.mark.parametrize(
    "expression",
    [
        "",
        "every minute",
        "rate(0 minutes)",
        "rate(1 minutes)",
        "rate(5 minute)",
        "cron(* * * * *)",
        "cron(* * * * * *)",
        "cron(60 * * * ? *)",
        "cron(0 0 L * ? *)",
        "cron(0 0 ? * 2#1 *)",
        "cron(0 10-8 * * ? *)",
    ],
)
def test_what_eventbridge_would_refuse_is_refused(expression: str) -> None:
    with pytest.raises(InvalidSchedule):
        parse(expression)


def test_a_moment_that_never_comes_is_reported() -> None:
    with pytest.raises(InvalidSchedule, match="not due"):
        parse("cron(0 0 30 2 ? *)").after(MONDAY)
