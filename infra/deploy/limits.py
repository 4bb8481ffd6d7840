"""Checks that the account allows a stage's limits: Lambda's quota, and reserved concurrency if configured."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import boto3

from chalicelib.delivery.receiver_slots import WORKERS
from infra import aws_errors, command
from infra.deploy.functions import API_HANDLER, CONFIG, FUNCTIONS, Function
from infra.deploy.runtime import STAGES

# The limits and their arithmetic, as in docs/deployment.md, Limits. The executions for requests, for deliveries and the
# unreserved rest, which the scheduled functions use, add up to the quota. 2,000 requests per second of 210 ms keep 420
# executions busy, and a burst adds up to 350: 770 of the 800 for requests. The queue never starts more than its
# workers, so deliveries cannot use up the executions that authorizations need, even if every receiver hangs.
CONCURRENCY = 1_000
"""Lambda's default quota of concurrent executions of all functions in an account and region. The quota of new accounts
may be 10.
"""
UNRESERVED = 100
"""Number of concurrent executions that AWS does not allow an account to reserve."""
REQUESTS = CONCURRENCY - UNRESERVED - WORKERS
"""Number of concurrent executions available for API requests."""
REQUEST_SECONDS = 0.210
"""Duration of a relayed read, the longest of the frequent requests, if the bank responds in 200 ms."""
REQUESTS_PER_SECOND = 2_000
REQUEST_BURST = 350
"""Maximum rate and burst of requests to the API's stage. API Gateway responds with 429 to requests above these limits.
"""

_QUOTA = "L-B99A9384"
"""The code of the concurrency quota in the AWS service Service Quotas."""


class LimitsNotPossible(Exception):
    """The account cannot provide the configured reservations. The message contains the numbers and the remedy."""


@dataclass(frozen=True, slots=True)
class Account:
    """An account's concurrent executions.

    Attributes:
        quota: the executions of all functions.
        unreserved: executions not reserved for any function.
        own: executions reserved for the stage's functions, by function name.
    """

    quota: int
    unreserved: int
    own: Mapping[str, int]


def reservations(config: Mapping[str, Any], stage: str) -> dict[str, int]:
    """Return the configured ``reserved_concurrency`` by function name. Functions without a reservation are omitted.

    As in Chalice, the most specific setting applies: first the setting for the function in the stage, then for the
    stage, for the function, and for the whole file.
    """
    found = {}
    for function in (each for each in FUNCTIONS if stage in each.stages):
        own = config["stages"][stage]
        places = (_settings(own, function), own, _settings(config, function), config)
        values = [place["reserved_concurrency"] for place in places if "reserved_concurrency" in place]
        if values and values[0] is not None:
            found[function.name] = int(values[0])
    return found


def _settings(place: Mapping[str, Any], function: Function) -> Mapping[str, Any]:
    settings: Mapping[str, Any] = place.get("lambda_functions", {}).get(function.name or API_HANDLER, {})
    return settings


def read_account(client: Any, stage: str) -> Account:
    """Read the account's concurrency limits and reservations. ``client`` is a boto3 Lambda client."""
    limits = client.get_account_settings()["AccountLimit"]
    own = {each.name: _reserved(client, each, stage) for each in FUNCTIONS if stage in each.stages}
    return Account(limits["ConcurrentExecutions"], limits["UnreservedConcurrentExecutions"], own)


def _reserved(client: Any, function: Function, stage: str) -> int:
    name = f"causeway-{stage}{function.name and f'-{function.name}'}"
    try:
        reserved: int = client.get_function_concurrency(FunctionName=name).get("ReservedConcurrentExecutions", 0)
    except client.exceptions.ResourceNotFoundException:  # not deployed yet
        return 0
    return reserved


def check(account: Account, wanted: Mapping[str, int]) -> str | None:
    """Check reservations against the account.

    Returns:
        A warning, as a sentence without a full stop, if the quota is smaller than the service's limits require.

    Raises:
        LimitsNotPossible: Lambda would refuse the reservations, or deliveries would be throttled permanently.
    """
    left = account.unreserved + sum(account.own.values()) - sum(wanted.values())
    if wanted and left < UNRESERVED:
        reserved = ", ".join(f"{name or API_HANDLER} {number}" for name, number in sorted(wanted.items()))
        others = account.quota - account.unreserved - sum(account.own.values())
        raise LimitsNotPossible(
            f"reserved_concurrency in .chalice/config.json is too high: {reserved}. The account may run "
            f"{account.quota} functions at once, other functions have reserved {others}, and {UNRESERVED} must stay "
            f"unreserved, but only {left} would. Reserve less, or request a higher quota: {_request()}"
        )
    if (deliver := wanted.get("deliver", WORKERS)) < WORKERS:
        raise LimitsNotPossible(
            f"reserved_concurrency of deliver is {deliver}, but the queue starts up to {WORKERS} at once: messages "
            f"that Lambda throttles five times go to the dead-letter queue. Reserve {WORKERS} or more"
        )
    if account.quota >= CONCURRENCY:
        return None
    return (
        f"the account may run only {account.quota} functions at once; the stage's limits assume {CONCURRENCY}. "
        f"Deliveries alone use up to {WORKERS}, so requests may be throttled. Request a higher quota: {_request()}"
    )


def _request() -> str:
    return (
        "aws service-quotas request-service-quota-increase --service-code lambda "
        f"--quota-code {_QUOTA} --desired-value {CONCURRENCY}"
    )


def preflight(client: Any, stage: str) -> None:
    """Check a stage's configuration against the account, and print a warning, if any. Raises: LimitsNotPossible."""
    config = json.loads(CONFIG.read_text(encoding="utf-8"))
    if warning := check(read_account(client, stage), reservations(config, stage)):
        print(f"causeway: warning: {warning}", file=sys.stderr)


def main(arguments: list[str] | None = None) -> int:
    """Run the command. Returns its exit code."""
    parser = command.parser("infra.deploy.limits", __doc__)
    parser.add_argument("stage", choices=STAGES)
    options = parser.parse_args(arguments)
    try:
        preflight(boto3.client("lambda"), options.stage)
    except (LimitsNotPossible, *aws_errors.AWS_ERRORS) as error:
        print(f"causeway: {aws_errors.explain(error)}", file=sys.stderr)
        return 1
    print("The account allows the stage's limits.")
    return 0


if __name__ == "__main__":
    command.run(main)
