"""AWS's list prices as one table, in dollars: all arithmetic with them is decimal.

They are those of the public price pages for ``REGION`` as known in ``KNOWN``, on-demand DynamoDB after the cut of
November 2024, without free tiers, volume discounts and taxes. Whoever plans with them looks them up again.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

REGION, KNOWN = "eu-west-1", "2025 and 2026"
MILLION = Decimal(1_000_000)
GIGABYTE = Decimal(10**9)


@dataclass(frozen=True, slots=True)
class Price:
    """So many dollars for ``per`` of something."""

    service: str
    what: str
    dollars: Decimal
    per: Decimal
    unit: str

    def of(self, amount: Decimal | int) -> Decimal:
        """Dollars for an amount."""
        return self.dollars * amount / self.per


READ = Price("DynamoDB", "read request units, on demand", Decimal("0.1415"), MILLION, "million")
WRITE = Price("DynamoDB", "write request units, on demand", Decimal("0.705"), MILLION, "million")
KEPT = Price("DynamoDB", "storage", Decimal("0.283"), Decimal(1), "GB and month")
BACKED_UP = Price("DynamoDB", "point-in-time recovery", Decimal("0.22"), Decimal(1), "GB and month")
INVOCATION = Price("Lambda", "requests", Decimal("0.20"), MILLION, "million")
DURATION = Price("Lambda", "duration, arm64", Decimal("0.0000133334"), Decimal(1), "GB and second")
GATEWAY = Price("API Gateway", "REST requests, the first 333 million of a month", Decimal("3.50"), MILLION, "million")
QUEUE = Price("SQS", "requests, standard queue", Decimal("0.40"), MILLION, "million")
LOGGED = Price("CloudWatch", "logs taken in", Decimal("0.57"), GIGABYTE, "GB")
METRIC = Price("CloudWatch", "metrics of one's own, the first 10,000", Decimal("0.30"), Decimal(1), "metric and month")
ALARM = Price("CloudWatch", "alarms", Decimal("0.10"), Decimal(1), "metric of an alarm and month")
DASHBOARD = Price("CloudWatch", "dashboards", Decimal("3.00"), Decimal(1), "dashboard and month")
TRACE = Price("X-Ray", "traces recorded", Decimal("5.00"), MILLION, "million")
SENT = Price("Data transfer", "out to the internet", Decimal("0.09"), GIGABYTE, "GB")
KEY = Price("KMS", "keys", Decimal("1.00"), Decimal(1), "key and month")
KEY_USE = Price("KMS", "requests", Decimal("0.03"), Decimal(10_000), "10,000")
SECRET = Price("Secrets Manager", "secrets", Decimal("0.40"), Decimal(1), "secret and month")
SECRET_USE = Price("Secrets Manager", "requests", Decimal("0.05"), Decimal(10_000), "10,000")

PRICES = (
    READ,
    WRITE,
    KEPT,
    BACKED_UP,
    INVOCATION,
    DURATION,
    GATEWAY,
    QUEUE,
    LOGGED,
    METRIC,
    ALARM,
    DASHBOARD,
    TRACE,
    SENT,
    KEY,
    KEY_USE,
    SECRET,
    SECRET_USE,
)
