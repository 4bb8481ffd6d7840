"""AWS's limits as one table, as a new account has them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Quota:
    """A limit of AWS's: of an account in one region unless ``of`` says otherwise; whether it is raised on request."""

    name: str
    value: int
    unit: str
    of: str
    is_raised: bool


GATEWAY = Quota("API Gateway, requests", 10_000, "a second", "account", True)
AT_ONCE = Quota("API Gateway, requests at once", 5_000, "at a time", "account", True)
CONCURRENCY = Quota("Lambda, concurrent executions", 1_000, "at a time", "account", True)
PER_ENVIRONMENT = Quota("Lambda, requests of one environment", 10, "a second", "environment", False)
GROWTH = Quota("Lambda, new environments", 1_000, "in 10 seconds", "function", False)
FETCHING = Quota("Lambda, messages worked on for a queue", 1_000, "at a time", "event source", True)
MORE_FETCHING = Quota("Lambda, more of these", 300, "in a minute", "event source", False)
KEY_READ = Quota("DynamoDB, read units of one partition", 3_000, "a second", "partition", False)
KEY_WRITE = Quota("DynamoDB, write units of one partition", 1_000, "a second", "partition", False)
WARM_READ = Quota("DynamoDB, read units of a new table", 12_000, "a second", "table or index", True)
WARM_WRITE = Quota("DynamoDB, write units of a new table", 4_000, "a second", "table or index", True)
TABLE_READ = Quota("DynamoDB, read units of a table", 40_000, "a second", "table or index", True)
TABLE_WRITE = Quota("DynamoDB, write units of a table", 40_000, "a second", "table or index", True)
IN_FLIGHT = Quota("SQS, messages in flight", 120_000, "at a time", "queue", False)
SECRET_READS = Quota("Secrets Manager, values read", 10_000, "a second", "account", False)
QUOTAS = (
    GATEWAY,
    AT_ONCE,
    CONCURRENCY,
    PER_ENVIRONMENT,
    GROWTH,
    FETCHING,
    MORE_FETCHING,
    KEY_READ,
    KEY_WRITE,
    WARM_READ,
    WARM_WRITE,
    TABLE_READ,
    TABLE_WRITE,
    IN_FLIGHT,
    SECRET_READS,
)
