"""The limits of a stage are consistent in all files. A stage above the limits of the account is not deployed."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from chalice.app import SQSEventConfig

from app import app
from chalicelib.delivery.receiver_slots import SLOTS, WORKERS
from infra.deploy import functions, limits, runtime
from infra.deploy.functions import FUNCTIONS
from infra.deploy.limits import CONCURRENCY, REQUESTS, UNRESERVED, Account, LimitsNotPossible, check, reservations
from tests.infra.alarms import ALARMS
from tests.kit.documents import CAPACITY, DEPLOYMENT, blocks, rows, section

OTHER = Account(quota=1000, unreserved=1000, own={})


def config(**places: Any) -> dict[str, Any]:
    own = places.pop("prod", {})
    return {"stages": {"dev": {}, "prod": own}, **places}


# -- the table


def test_concurrency_limits_add_up_to_the_concurrency_of_the_account() -> None:
    assert REQUESTS + WORKERS + UNRESERVED == CONCURRENCY
    assert len([each for each in FUNCTIONS if each.is_scheduled]) <= UNRESERVED


def test_requests_at_the_maximum_rate_and_burst_do_not_exceed_the_concurrency_limit() -> None:
    [(_, _, _, milliseconds, *_)] = [
        row for row in rows(CAPACITY) if row[0] == "relayed read: accounts" and len(row) > 5
    ]
    busy = limits.REQUESTS_PER_SECOND * limits.REQUEST_SECONDS

    assert float(milliseconds) / 1000 == limits.REQUEST_SECONDS
    assert busy + limits.REQUEST_BURST <= REQUESTS


def test_the_queue_starts_the_configured_number_of_workers() -> None:
    [source] = [each for each in app.event_sources if isinstance(each, SQSEventConfig)]

    assert source.maximum_concurrency == WORKERS


def test_the_deliveries_alarm_threshold_is_the_worker_limit() -> None:
    assert ALARMS["deliveries-at-limit"]["Threshold"] == WORKERS


def test_the_documentation_lists_the_configured_limits() -> None:
    table = {row[0]: row[1] for row in rows(section(DEPLOYMENT, "## Limits"))}

    assert table["Requests per second"] == f"{limits.REQUESTS_PER_SECOND:,}"
    assert table["Burst of requests"] == f"{limits.REQUEST_BURST}"
    assert table["Workers of deliver"] == f"{WORKERS}"
    assert table["Concurrent executions of the account"] == f"{CONCURRENCY:,}"
    assert f"{WORKERS // SLOTS} unresponsive receivers" in section(DEPLOYMENT, "## Limits")
    assert f"{REQUESTS} for requests" in section(DEPLOYMENT, "## Limits").replace("\n", " ")


# -- reserved concurrency


def test_no_lambda_concurrency_is_reserved_by_default() -> None:
    committed = json.loads(functions.CONFIG.read_text("utf-8"))

    assert [reservations(committed, stage) for stage in runtime.STAGES] == [{}, {}]


def test_the_documented_example_reserves_the_concurrency_of_requests_and_workers() -> None:
    [example] = [json.loads(block) for block in blocks(section(DEPLOYMENT, "## Limits"), "json")]
    wanted = reservations(example, "prod")

    assert wanted == {"": REQUESTS, "deliver": WORKERS}
    assert check(OTHER, wanted) is None


def test_the_most_specific_reserved_concurrency_applies() -> None:
    of_file = config(
        reserved_concurrency=1,
        lambda_functions={"sweep": {"reserved_concurrency": 2}, "expire": {"reserved_concurrency": 2}},
    )
    of_stage = config(
        prod={
            "reserved_concurrency": 3,
            "lambda_functions": {"deliver": {"reserved_concurrency": 4}, "api_handler": {"reserved_concurrency": 5}},
        },
        lambda_functions={"sweep": {"reserved_concurrency": 2}},
    )

    assert {name: reservations(of_file, "prod")[name] for name in ("", "sweep", "expire")} == {
        "": 1,
        "sweep": 2,
        "expire": 2,
    }
    assert {name: reservations(of_stage, "prod")[name] for name in ("", "deliver", "sweep")} == {
        "": 5,
        "deliver": 4,
        "sweep": 3,
    }
    assert reservations(of_stage, "dev") == {"sweep": 2}
    assert "settle" not in reservations(of_file, "prod")


def test_configure_does_not_change_reserved_concurrency() -> None:
    committed = json.loads(functions.CONFIG.read_text("utf-8"))
    committed["lambda_functions"]["api_handler"] = {"reserved_concurrency": 500}
    committed["lambda_functions"]["sweep"]["reserved_concurrency"] = 1
    committed["stages"]["prod"]["lambda_functions"]["deliver"]["reserved_concurrency"] = 100
    written = functions.configure(committed)

    assert reservations(written, "prod") == {"": 500, "deliver": 100, "sweep": 1}
    assert functions.configure(written) == written


@pytest.mark.parametrize(
    ("account", "wanted"),
    [
        (OTHER, {}),
        (OTHER, {"": REQUESTS, "deliver": WORKERS}),
        (Account(quota=1000, unreserved=100, own={"": 800, "deliver": 100}), {"": 800, "deliver": 100}),
        (Account(quota=5000, unreserved=300, own={}), {"deliver": 200}),
    ],
)
def test_limits_that_the_account_allows_cause_no_warning(account: Account, wanted: dict[str, int]) -> None:
    assert check(account, wanted) is None


def test_a_reservation_above_the_quota_is_refused_with_a_remedy() -> None:
    account = Account(quota=1000, unreserved=650, own={"deliver": 100})

    with pytest.raises(LimitsNotPossible) as refused:
        check(account, {"": 600, "deliver": 100})
    assert str(refused.value) == (
        "reserved_concurrency in .chalice/config.json is too high: api_handler 600, deliver 100. The account may run "
        "1000 functions at once, other functions have reserved 250, and 100 must stay unreserved, but only 50 would. "
        "Reserve less, or request a higher quota: aws service-quotas request-service-quota-increase "
        "--service-code lambda --quota-code L-B99A9384 --desired-value 1000"
    )
    assert check(account, {"": 550, "deliver": 100}) is None


def test_reserving_fewer_workers_than_the_queue_starts_is_rejected() -> None:
    with pytest.raises(LimitsNotPossible, match="deliver is 99, but the queue starts up to 100 at once: messages"):
        check(OTHER, {"deliver": 99})


def test_an_account_with_a_low_quota_causes_a_warning() -> None:
    warning = check(Account(quota=10, unreserved=10, own={}), {})

    assert warning is not None
    assert warning.startswith("the account may run only 10 functions at once; the stage's limits assume 1000. ")


# -- before a deployment


class Lambda:
    exceptions = SimpleNamespace(ResourceNotFoundException=LookupError)

    def __init__(self, quota: int, **reserved: int) -> None:
        self.quota, self.reserved = quota, reserved

    def get_account_settings(self) -> dict[str, Any]:
        limit = {"ConcurrentExecutions": self.quota, "UnreservedConcurrentExecutions": self.quota - 250}
        return {"AccountLimit": limit}

    def get_function_concurrency(self, FunctionName: str) -> dict[str, Any]:  # noqa: N803 - Lambda's name
        name = FunctionName.removeprefix("causeway-prod").removeprefix("-") or "api"
        if name == "ingest":
            raise LookupError
        return {"ReservedConcurrentExecutions": self.reserved[name]} if name in self.reserved else {}


def test_read_account_returns_the_quota_and_the_reservations_of_the_aws_account() -> None:
    account = limits.read_account(Lambda(1000, api=200, deliver=50), "prod")

    assert (account.quota, account.unreserved) == (1000, 750)
    assert (account.own[""], account.own["deliver"], account.own["ingest"]) == (200, 50, 0)
    assert account.own.keys() == {each.name for each in FUNCTIONS if "prod" in each.stages}


@pytest.mark.parametrize(
    ("quota", "reserved", "code", "said"),
    [
        (1000, {}, 0, ""),
        (300, {}, 0, "causeway: warning: the account may run only 300 functions at once; "),
        (1000, {"deliver": {"reserved_concurrency": 701}}, 1, "causeway: reserved_concurrency in .chalice/config.json"),
    ],
)
def test_the_limits_command_reports_whether_the_account_allows_the_limits(
    quota: int,
    reserved: dict[str, Any],
    code: int,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / ".chalice").mkdir()
    (tmp_path / ".chalice/config.json").write_text(json.dumps(config(lambda_functions=reserved)), "utf-8")
    monkeypatch.setattr(limits, "CONFIG", tmp_path / ".chalice" / "config.json")
    monkeypatch.setattr("boto3.client", lambda service: Lambda(quota))

    assert limits.main(["prod"]) == code
    printed = capsys.readouterr()
    assert printed.err.startswith(said)
    assert bool(printed.err) == bool(said)
    assert printed.out == ("" if code else "The account allows the stage's limits.\n")
