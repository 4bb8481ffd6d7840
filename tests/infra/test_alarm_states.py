"""Alarm states match the examples in CloudWatch's documentation."""

import pytest

from tests.infra.alarms import Data, State, state

METRIC = {"Namespace": "Causeway", "MetricName": "Failures", "Dimensions": []}
NOW, PERIOD = 1_000_000, 60
BEFORE: State = "INSUFFICIENT_DATA"
EXAMPLES: list[tuple[int, str, State, State, State]] = [
    (3, "0-X-X", "OK", "OK", "OK"),
    (3, "0----", "OK", "OK", "OK"),
    (3, "-----", "ALARM", "OK", BEFORE),
    (3, "0XX-X", "ALARM", "ALARM", "ALARM"),
    (3, "--X--", "ALARM", "OK", BEFORE),
    (2, "0-X-X", "ALARM", "ALARM", "ALARM"),
    (2, "00X0X", "ALARM", "ALARM", "ALARM"),
    (2, "0-X--", "ALARM", "OK", "OK"),
    (2, "----0", "ALARM", "OK", "OK"),
    (2, "---X-", "ALARM", "OK", BEFORE),
]
"""Examples in the CloudWatch documentation: the number of breaching values (out of three) that raise the alarm; the
values,
which breach (X), do not breach (0), or are missing (-); and the state for each treatment of missing data.
"""


@pytest.mark.parametrize(("needed", "values", "breaching", "not_breaching", "ignored"), EXAMPLES)
def test_an_alarm_state_is_determined_from_older_metric_values_rather_than_missing_values(
    needed: int, values: str, breaching: State, not_breaching: State, ignored: State
) -> None:
    data = Data()
    for ago, value in enumerate(reversed(values)):
        if value != "-":
            data.add(("Causeway", "Failures", frozenset()), NOW - ago * PERIOD, float(value == "X"))
    alarm = {**METRIC, "Statistic": "Sum", "Period": PERIOD, "EvaluationPeriods": 3, "DatapointsToAlarm": needed}
    alarm |= {"ComparisonOperator": "GreaterThanThreshold", "Threshold": 0}

    found = [
        state({**alarm, "TreatMissingData": treatment}, data, NOW)
        for treatment in ("breaching", "notBreaching", "ignore")
    ]
    assert found == [breaching, not_breaching, ignored]
