"""The floor and the boto3 script send the same bytes as the service."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from chalicelib.foundation.aws import signing
from chalicelib.foundation.aws.environment import Credentials
from infra.capacity import PAGE, read_figures
from tests.bench import floor
from tests.bench.comparison import Recorder, Triple, recorder
from tests.bench.measured_requests import MEASURED

_CALL = {"Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": "DynamoDB_20120810.GetItem"}
_MOST_LINES = 80


@pytest.fixture(scope="module")
def requests() -> Iterator[Recorder]:
    with recorder() as recording:
        yield recording


@pytest.mark.parametrize("title", MEASURED)
def test_the_minimal_client_and_the_boto3_script_send_the_same_bytes_as_the_service(
    requests: Recorder, title: str
) -> None:
    recorded = requests.record(title)  # compares them

    assert recorded.calls


def test_a_replayed_measured_request_succeeds_a_second_time(requests: Recorder) -> None:
    recorded = requests.record("refresh")

    assert recorded.request()["refresh_token"] != recorded.request()["refresh_token"]


def test_the_capacity_page_lists_every_measured_request() -> None:
    assert set(MEASURED) <= read_figures(PAGE.read_text(encoding="utf-8")).work.keys()


def test_the_minimal_client_creates_the_same_aws_signature_as_the_service(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("ACCESS_KEY_ID", "key"), ("SECRET_ACCESS_KEY", "secret"), ("DEFAULT_REGION", "eu-west-1")):
        monkeypatch.setenv(f"AWS_{name}", value)
    body = json.dumps({"TableName": "t"}).encode()
    credentials = Credentials("key", "secret", None)
    expected = signing.sign("dynamodb", "eu-west-1", credentials, "http://localhost:1/", dict(_CALL), body)
    signed_at = time.strptime(expected["X-Amz-Date"], "%Y%m%dT%H%M%SZ")
    monkeypatch.setattr(floor.time, "gmtime", lambda: signed_at)

    signature = floor.aws_signature("dynamodb", "localhost:1", _CALL, body)

    assert _CALL | signature == expected


def test_the_minimal_client_is_one_file_of_limited_length() -> None:
    assert len(Path(floor.__file__).read_text(encoding="utf-8").splitlines()) <= _MOST_LINES


def test_reported_time_ratios_are_the_medians_of_all_rounds() -> None:
    measured = Triple.of([(1, 2, 4), (1, 3, 3), (2, 2, 2)])

    assert (measured.floor, measured.ours) == (1000, 3000)
    assert (measured.script_to_floor, measured.ours_to_floor, measured.ours_to_script) == (2, 3, 1)
