"""Computes the cost of a million requests, and the request rates that reach the limits of AWS and of the service.

The input is the resource usage of each request in ``infra/capacity.csv``, and the assumptions, limits and prices in the
tables of ``docs/capacity.md``. Without options, the command updates the cost and rate tables of this page. With options
that override assumptions, the command prints the tables.
"""

from __future__ import annotations

import argparse
import csv
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path

from infra import command

PAGE = Path(__file__).parents[1] / "docs" / "capacity.md"
WORK = Path(__file__).with_suffix(".csv")
RATES = (100, 10_000)
MILLION = Decimal(1_000_000)
PRICED_AMOUNTS = {"million": MILLION, "GB": Decimal(10**9)}  # all other prices are per unit
WHOLE_PROCESSOR = 1769  # MB of memory at which a function gets a whole processor
PLATFORM_LOG = 400  # bytes of START, END and REPORT, which Lambda logs for every invocation
QUEUE_FETCHES = 2  # SQS requests by which Lambda receives and deletes a message
HIGHER_QUOTA, TABLE_GROWTH, NOTHING = "a higher quota", "load, doubled in half an hour, or warm throughput", "nothing"
OPTIONS = {
    "--bank-milliseconds": "answer of a bank, or of a receiver of events",
    "--storage-milliseconds": "call of DynamoDB",
    "--memory": "memory of the function that answers requests",
    "--gateway-rate": "API Gateway, requests",
    "--concurrency": "Lambda, concurrent executions",
}
"""The command-line options, with the assumption or limit that each option overrides."""
REQUESTS = {
    "relayed read": "relayed read: accounts",
    "payment": "payment with a key",
    "card authorization": "card authorization",
}
"""The requests whose limits are computed, with their titles in ``infra/capacity.csv``."""
SECRET_READERS = ("relayed read", "payment")  # each environment reads a secret once a minute
JOURNEYS = {
    "**a consent, with its tokens**": ("authorize", "init_authorization", "consent", "exchange of a code"),
    "**a payment, up to the event about its end**": (
        "payment with a key",
        "payment status report, with an event",
        "delivery of an event",
    ),
    "**a deferred read**": ("deferred read: acceptance", "deferred read: execution", "deferred read: outcome"),
}


@dataclass(frozen=True, slots=True)
class Work:
    """The resources that one request or message uses: a row of ``infra/capacity.csv``."""

    trigger: str  # HTTP or SQS
    calls: Decimal  # to DynamoDB
    waits: Decimal  # sequential calls
    read: Decimal  # DynamoDB units
    write: Decimal
    queue: Decimal  # requests to SQS
    outgoing: Decimal  # requests to banks and event receivers
    sent: Decimal  # bytes to the internet
    logged: Decimal  # bytes logged
    processor: Decimal  # multiples of the processor time of a relayed read's floor


@dataclass(frozen=True, slots=True)
class Limit:
    """A limit, the rate of requests per second that reaches the limit, and how to raise the limit."""

    name: str
    rate: Decimal
    remedy: str
    table: str = ""  # the DynamoDB table or index that reaches it


@dataclass(frozen=True, slots=True)
class Figures:
    """The input: work by title, DynamoDB units and limits by request, and unit prices by service and purpose."""

    work: Mapping[str, Work]
    units: Sequence[tuple[str, str, str, Decimal]]  # request, table or index, "read" or "write", units
    own_limits: Sequence[tuple[str, Limit]]
    values: Mapping[str, Decimal]  # assumptions and AWS limits
    prices: Mapping[tuple[str, str], Decimal]  # dollars


# -- input


def read_figures(page: str) -> Figures:
    """Read the resource usage of each request from ``infra/capacity.csv``, and all other figures from the tables of
    ``page``.
    """
    with WORK.open(encoding="utf-8", newline="") as file:
        _, *work = csv.reader(file)
    return Figures(
        work={title: Work(trigger, *map(Decimal, more)) for title, trigger, *more in work},
        units=[
            (request, name, kind, _number(cell))
            for request, name, *cells in _rows(page, "units of a")
            for kind, cell in zip(("read", "write"), cells, strict=True)
        ],
        own_limits=[(row[0], Limit(row[1], _number(row[2]), row[4])) for row in _rows(page, "limit of a")],
        values={row[0]: _number(row[1]) for head in ("assumption", "limit of AWS") for row in _rows(page, head)},
        prices={
            (service, what): _number(dollars) / PRICED_AMOUNTS.get(amount, Decimal(1))
            for service, what, dollars, amount in _rows(page, "service")
        },
    )


def _rows(page: str, first_head: str) -> list[list[str]]:
    _, _, rest = page.partition(f"\n| {first_head} |")
    return [line.strip("| ").split(" | ") for line in rest.partition("\n\n")[0].splitlines()[2:]]


def _number(cell: str) -> Decimal:
    return Decimal(re.sub(r"[^\d.]", "", cell))


# -- costs


def cost(figures: Figures, work: Work) -> dict[str, Decimal]:
    """Return the cost of a million requests in dollars, by service."""
    prices, by_queue = figures.prices, work.trigger == "SQS"
    gigabyte_seconds = billed_milliseconds(figures, work) * _memory(figures, work) / 1024 / 1000
    one = {
        "API Gateway": prices["API Gateway", "REST requests"] * (not by_queue),
        "Lambda": prices["Lambda", "requests"] + prices["Lambda", "duration, arm64"] * gigabyte_seconds,
        "DynamoDB": prices["DynamoDB", "read units"] * work.read + prices["DynamoDB", "write units"] * work.write,
        "SQS": prices["SQS", "requests"] * (work.queue + QUEUE_FETCHES * by_queue),
        "logs": prices["CloudWatch", "logs"] * (work.logged + PLATFORM_LOG),
        "traces": prices["X-Ray", "traces"] * figures.values["requests that X-Ray records"] / 100,
        "data out": prices["data transfer", "to the internet"] * work.sent,
    }
    return {service: dollars * MILLION for service, dollars in one.items()}


def billed_milliseconds(figures: Figures, work: Work) -> int:
    """Return the billed time: the waiting time plus the processor time. Processor time is longer if the function has
    less than one processor.
    """
    values = figures.values
    slowness = max(WHOLE_PROCESSOR / _memory(figures, work), Decimal(1))
    processor = work.processor * values["processor time of the floor"] * slowness
    aws = work.waits * values["call of DynamoDB"] + work.queue * values["call of SQS, KMS or Secrets Manager"]
    return math.ceil(processor + aws + work.outgoing * values["answer of a bank, or of a receiver of events"])


def _memory(figures: Figures, work: Work) -> Decimal:
    name = "memory of `deliver`" if work.trigger == "SQS" else "memory of the function that answers requests"
    return figures.values[name]


# -- limits


def limits(figures: Figures, request: str) -> list[Limit]:
    """Return the limits of a request, lowest first. The load is assumed to be distributed evenly over clients,
    consents, cards and accounts.
    """
    values, environments = figures.values, _environments(figures, request)
    found = [
        Limit("API Gateway", values["API Gateway, requests"], HIGHER_QUOTA),
        Limit("Lambda concurrency", values["Lambda, concurrent executions"] / environments, HIGHER_QUOTA),
        *_table_limits(figures, request),
        *(limit for name, limit in figures.own_limits if name == request),
    ]
    if request in SECRET_READERS:
        reads = values["Secrets Manager, values read"] * 60 / environments
        found.append(Limit("Secrets Manager, each minute and environment", reads, NOTHING))
    return sorted(found, key=lambda limit: limit.rate)


def _environments(figures: Figures, request: str) -> Decimal:
    """Return the number of Lambda environments in use at one request per second."""
    seconds = Decimal(billed_milliseconds(figures, figures.work[REQUESTS[request]])) / 1000
    return max(seconds, 1 / figures.values["Lambda, requests of one environment"])


def _table_limits(figures: Figures, request: str) -> Iterator[Limit]:
    """Return the limits of a new table and of any table. Each limit includes the first table or index that reaches
    it.
    """
    for table, name, remedy in (
        ("a new table", "DynamoDB, a new table", TABLE_GROWTH),
        ("a table", "DynamoDB, a table's quota", HIGHER_QUOTA),
    ):
        rate, busiest = min(
            (figures.values[f"DynamoDB, {kind} units of {table}"] / units, each)
            for of, each, kind, units in figures.units
            if of == request and units
        )
        yield Limit(name, rate, remedy, busiest)


# -- output


def tables(figures: Figures, rates: Sequence[int] = RATES) -> list[str]:
    """Return the cost and rate tables in Markdown, in the order in which the page contains them."""
    return [_overview_table(figures), _cost_table(figures), _rate_table(figures, rates), _limit_table(figures)]


def _overview_table(figures: Figures) -> str:
    rows = []
    for request, title in REQUESTS.items():
        parts, found = cost(figures, figures.work[title]), limits(figures, request)
        most = max(parts, key=lambda service: parts[service])
        dollars = f"${sum(parts.values()):,.2f}, ${parts[most]:,.2f} of it {most}"
        first = found[0].name + f" ({found[0].table})" * bool(found[0].table)
        rows.append([request, dollars, f"{first}: {_round_rate(found[0].rate)} a second"])
    return _table(["request", "a million costs", "first limit"], rows)


def _cost_table(figures: Figures) -> str:
    rows = []
    for name, titles in ({title: (title,) for title in figures.work} | JOURNEYS).items():
        works = [figures.work[title] for title in titles]
        costs = [cost(figures, work) for work in works]
        read, write = sum(work.read for work in works), sum(work.write for work in works)
        milliseconds = sum(billed_milliseconds(figures, work) for work in works)
        in_all = sum(sum(parts.values()) for parts in costs)
        shown = [sum(parts[service] for parts in costs) for service in ("Lambda", "DynamoDB")]
        dollars = (f"{each:,.2f}" for each in (*shown, in_all))
        rows.append([name, f"{read:,}", f"{write:,}", f"{milliseconds:,}", *dollars])
    return _table(["work", "read units", "write units", "ms", "Lambda", "DynamoDB", "in all"], rows)


def _rate_table(figures: Figures, rates: Sequence[int]) -> str:
    rows = []
    for request, title in REQUESTS.items():
        work = figures.work[title]
        for rate in rates:
            environments = rate * _environments(figures, request)
            start = f"{environments * 10 / figures.values['Lambda, new environments']:,.0f} s"
            hour = f"${sum(cost(figures, work).values()) * rate * 3600 / MILLION:,.2f}"
            rows.append([request, f"{rate:,}", f"{environments:,.0f}", start, hour])
    return _table(["request", "a second", "environments", "all start in", "an hour"], rows)


def _limit_table(figures: Figures) -> str:
    by_request = {request: {limit.name: limit for limit in limits(figures, request)} for request in REQUESTS}
    lowest = sorted((limit for found in by_request.values() for limit in found.values()), key=lambda limit: limit.rate)
    remedies = {limit.name: limit.remedy for limit in lowest}
    rows = [
        [name, *(_rate_cell(found[name]) if name in found else "" for found in by_request.values()), remedy]
        for name, remedy in remedies.items()
    ]
    return _table(["limit, met at", *(f"{request}s a second" for request in REQUESTS), "raised by"], rows)


def _rate_cell(limit: Limit) -> str:
    return _round_rate(limit.rate) + f" ({limit.table})" * bool(limit.table)


def _round_rate(rate: Decimal) -> str:
    return f"{round(int(rate), 2 - len(str(int(rate)))):,}"


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    aligned = ["---:" if re.fullmatch(r"\$?[\d,.]+( s| \([\w-]+\))?", cell) else "---" for cell in rows[0]]
    head, *lines = (f"| {' | '.join(cells)} |" for cells in (heads, *rows))
    return "\n".join((head, f"|{'|'.join(aligned)}|", *lines))


def replace_tables(page: str, new: Sequence[str]) -> str:
    """Replace tables of ``page`` with ``new`` tables that have the same headings. Raises: ValueError: a table is
    missing.
    """
    for table in new:
        start = page.index(table.partition("\n")[0])
        page = page[:start] + table + page[page.index("\n\n", start) :]
    return page


def main(arguments: list[str] | None = None) -> None:
    """Update the tables of the capacity page. If options are given, print the tables instead."""
    page = PAGE.read_text(encoding="utf-8")
    figures = read_figures(page)
    parser = command.parser("infra.capacity", __doc__)
    for option, name in OPTIONS.items():
        parser.add_argument(option, dest=name, type=_positive, metavar="N", help=f"{name}: {figures.values[name]}")
    parser.add_argument("--rates", type=_positive, nargs="+", metavar="N", help="requests a second")
    asked = {name: value for name, value in vars(parser.parse_args(arguments)).items() if value}
    if not asked:
        PAGE.write_text(replace_tables(page, tables(figures)), encoding="utf-8")
        print("wrote docs/capacity.md")
        return
    rates = asked.pop("rates", RATES)
    assumed = {name: Decimal(value) for name, value in asked.items()}
    print("\n\n".join(tables(replace(figures, values={**figures.values, **assumed}), rates)))


def _positive(text: str) -> int:
    if (number := int(text)) < 1:
        raise argparse.ArgumentTypeError(f"{text} is not positive")
    return number


if __name__ == "__main__":
    command.run(main)
