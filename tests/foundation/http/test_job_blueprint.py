"""Job blueprints pass parts of the service to jobs. A job stops before the timeout of the Lambda function."""

from typing import Any

from chalice.app import Chalice, Rate

from chalicelib.foundation import context
from chalicelib.foundation.http.job_blueprint import RESERVE_SECONDS, Jobs
from tests.kit.time import run_schedule

MINUTE = Rate(1, unit=Rate.MINUTES)


def test_a_job_receives_the_service_objects_that_were_bound_to_the_jobs() -> None:
    jobs, ran = Jobs[str]("jobs"), []

    @jobs.schedule(MINUTE, name="sweep")
    def sweep(event: Any) -> None:
        ran.append(jobs.parts())

    Chalice("service", configure_logs=False).register_blueprint(jobs.bind(lambda: "parts"))
    run_schedule(sweep)

    assert ran == ["parts"]


def test_a_scheduled_job_has_a_deadline_before_the_lambda_function_timeout() -> None:
    jobs, left = Jobs[str]("jobs"), []

    @jobs.schedule(MINUTE, name="sweep")
    def sweep(event: Any) -> None:
        left.append(context.seconds_left())

    run_schedule(sweep, seconds=600)

    assert left[0] <= 600 - RESERVE_SECONDS
    assert not context.is_limited()
