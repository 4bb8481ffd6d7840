"""Writes ``infra/capacity.md``: all its tables from what was counted, and the words around them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

from infra.capacity import limits, prices, quotas, standing
from infra.capacity.costs import WORKER, Suppositions, cost, duration, memory
from infra.capacity.counts import Counted, Kind, load
from infra.capacity.places import named
from infra.capacity.words import (
    BEGINNING,
    COSTS,
    COUNTS,
    ENDS,
    KEYS,
    NOW_AND_THEN,
    PARTITIONS,
    SPENT,
    STANDING,
    SUPPOSED,
    table,
)

PATH = Path(__file__).parents[1] / "capacity.md"
MEANT = {"read_v2": "relayed read", "payment_v2": "payment", "authorization": "card authorization"}
"""The kinds that are looked at closely."""
CLOSELY = (*MEANT, "payment_report", "event", "accepted", "carried_out", "transfer", "page", "page_of_all")
"""The kinds of which it is told what holds of one client, one account, one receiver."""
WHOLE = {
    "an authorization journey": ("authorize", "init_authorization", "consent", "token"),
    "a payment, from its order to the event about its end": ("payment_v2", "payment_report", "event"),
    "a read that is answered later": ("accepted", "carried_out", "outcome"),
}
"""What takes several requests."""


def write(path: Path = PATH) -> None:
    """Write the page."""
    path.write_text(text(load()), encoding="utf-8")


def text(counted: Counted, supposed: Suppositions | None = None) -> str:
    """The page."""
    supposed = supposed or Suppositions()
    sections = (
        BEGINNING,
        _headline(counted, supposed),
        COUNTS,
        _counts(counted),
        COSTS,
        _costs(counted, supposed),
        SPENT,
        _spent(counted),
        NOW_AND_THEN,
        _now_and_then(counted, supposed),
        STANDING,
        standing.rows(counted),
        ENDS,
        _ends(counted, supposed),
        PARTITIONS,
        _partitions(counted, supposed),
        KEYS,
        _shared(counted, supposed),
        SUPPOSED,
        _supposed(counted, supposed),
    )
    return "\n\n".join(section.strip() for section in sections) + "\n"


# -- figures


def dollars(amount: Decimal) -> str:
    """Dollars with two places, or more where little is left of it."""
    if amount and amount < Decimal("0.005"):
        return f"{amount:.4f}"
    return f"{amount:,.2f}"


def rate(number: Decimal) -> str:
    """So many a second, in whole numbers that say no more than is known."""
    if number < 100:
        return f"{number:.0f}"
    digits = len(str(int(number))) - 2
    return f"{round(int(number), -digits):,}"


def _units(number: Decimal) -> str:
    return f"{number.normalize():f}" if number else "0"


# -- tables


def _headline(counted: Counted, supposed: Suppositions) -> str:
    rows = []
    for name, words in MEANT.items():
        kind = counted.of(name)
        found = limits.limits_of(counted, kind, supposed)
        below = [limit for limit in found if limit.rate < limits.RATES[-1]]
        own = next((limit for limit in below if limit.help not in (limits.QUOTA, limits.GROWING)), None)
        dear = cost(counted, kind, supposed)
        most = max(dear.parts, key=lambda part: dear.parts[part])
        spent = f"${dollars(dear.dollars)}, of which ${dollars(dear.parts[most])} are {most}'s"
        rows.append([words, spent, _limit(found[0]), _limit(own) if own else "nothing"])
    return table(["", "a million costs", "saturated first", "first limit that no quota lifts"], rows)


def _limit(limit: limits.Limit) -> str:
    return f"{limit.name}: {rate(limit.rate)} a second"


def _of(counted: Counted, *groups: str) -> Iterator[Kind]:
    return (kind for kind in counted.kinds if kind.group in groups)


def _counts(counted: Counted) -> str:
    rows = [
        [
            kind.title,
            str(kind.calls),
            str(kind.waits),
            _units(kind.read),
            _units(kind.write),
            str(kind.queue_requests),
            str(kind.banks),
            f"{kind.sent:,}",
            f"{kind.log:,}",
            f"{counted.milliseconds(kind) / counted.machine.bare:.1f}",
        ]
        for kind in _of(counted, "open banking", "cards")
    ]
    units = ("read units", "write units")
    return table(["", "calls", "waits", *units, "SQS", "asked", "bytes sent", "bytes logged", "processor"], rows)


def _costs(counted: Counted, supposed: Suppositions) -> str:
    made = {kind.title: cost(counted, kind, supposed) for kind in _of(counted, "open banking", "cards")}
    for words, together in WHOLE.items():
        parts = [cost(counted, counted.of(name), supposed) for name in together]
        made[f"**{words}**"] = sum(parts[1:], parts[0])
    names = [name for name in next(iter(made.values())).parts if any(each.parts[name] for each in made.values())]
    rows = [
        [words, str(each.milliseconds), *(dollars(each.parts[name]) for name in names), dollars(each.dollars)]
        for words, each in made.items()
    ]
    return table(["dollars a million", "ms", *names, "in all"], rows)


def _spent(counted: Counted) -> str:
    rows = [
        [words, where, _units(units.read), _units(units.write)]
        for name, words in MEANT.items()
        for where, units in sorted(counted.of(name).tables.items())
    ]
    return table(["", "table or index", "read units", "write units"], rows)


def _now_and_then(counted: Counted, supposed: Suppositions) -> str:
    rows = []
    for kind in _of(counted, "background"):
        others = ", ".join(f"{count} {name.partition('.')[2]}" for name, count in kind.services.items()) or "none"
        made = cost(counted, kind, supposed)
        figures = [str(kind.calls), str(kind.waits), _units(kind.read), _units(kind.write), others]
        rows.append([kind.title, *figures, str(made.milliseconds), dollars(made.dollars)])
    units = ("read units", "write units")
    return table(["", "calls", "waits", *units, "other calls", "ms", "dollars a million"], rows)


def _ends(counted: Counted, supposed: Suppositions) -> str:
    """How much is asked of what at each rate, and all limits in their order."""
    parts = []
    for name, words in MEANT.items():
        kind = counted.of(name)
        parts += [f"### {words.capitalize()}s", _at_rates(counted, kind, supposed), _ladder(counted, kind, supposed)]
    return "\n\n".join(parts)


def _at_rates(counted: Counted, kind: Kind, supposed: Suppositions) -> str:
    found = limits.limits_of(counted, kind, supposed)
    seconds = Decimal(duration(counted, kind, supposed)) / 1000
    rows = []
    for each in limits.RATES:
        met = [limit for limit in found if limit.rate < each]
        first = met[0].name if met else "nothing"
        hour = cost(counted, kind, supposed).dollars * each * 3600 / prices.MILLION
        environments = limits.environments(Decimal(each), seconds)
        grown = environments * 10 / quotas.GROWTH.value
        units = f"{each * kind.read:,.0f} and {each * kind.write:,.0f}"
        figures = [f"{environments:,.0f}", f"{grown:,.0f} s", units, f"${hour:,.2f}"]
        rows.append([f"{each:,}", *figures, first, f"{len(met)} of {len(found)}"])
    heads = ["a second", "environments", "there after", "read and write units a second", "an hour", "saturated first"]
    return table([*heads, "limits met"], rows)


def _ladder(counted: Counted, kind: Kind, supposed: Suppositions) -> str:
    rows = [[limit.name, rate(limit.rate), limit.help] for limit in limits.limits_of(counted, kind, supposed)]
    return table(["limit", "met at, a second", "raised by"], rows)


def _partitions(counted: Counted, supposed: Suppositions) -> str:
    """Of one client, one account, one receiver: how many a second, and how many of them the large rates need."""
    rows = []
    for name in CLOSELY:
        kind = counted.of(name)
        for each in (ceiling for ceiling in limits.of_one(counted, kind, supposed) if ceiling.rate < limits.RATES[-1]):
            needed = [f"{math.ceil(asked / each.rate):,}" for asked in limits.RATES[1:]]
            rows.append([MEANT.get(name, kind.title), each.what, each.spent, rate(each.rate), *needed])
    needed_for = (f"needed for {each:,}" for each in limits.RATES[1:])
    return table(["", "all about", "units for one", "a second", *needed_for], rows)


def _shared(counted: Counted, supposed: Suppositions) -> str:
    rows = []
    for kind in _of(counted, "open banking", "cards"):
        for what, key in kind.keys.items():
            path = named(what)
            if path.is_shared:
                ceiling = rate(limits.all_partitions(path, key))
                rows.append([what, kind.title, _units(key.write), str(path.partitions), ceiling])
    worked = [[limit.name, rate(limit.rate), limit.help] for limit in limits.workers(counted, supposed)]
    return "\n\n".join(
        (
            table(["where everybody meets", "by", "write units", "partitions", "a second"], sorted(rows)),
            table(["who works off what", "a second", "since there are"], worked),
        )
    )


def _supposed(counted: Counted, supposed: Suppositions) -> str:
    figures = [
        ["a bank, or a receiver of events, answers after", f"{supposed.bank} ms"],
        ["a call of DynamoDB takes", f"{supposed.storage} ms"],
        ["a call of SQS, KMS or Secrets Manager takes", f"{supposed.other} ms"],
        ["share of requests that X-Ray records", f"{supposed.traced:.0%}"],
        ["memory of the function that answers requests", f"{memory('')} MB"],
        ["and of `deliver`", f"{memory(WORKER)} MB"],
        ["the bare script's processor time, measured where this was written", f"{counted.machine.bare} ms"],
        ["a relayed read's, in the same run", f"{counted.machine.read} ms"],
    ]
    limited = [
        [each.name, f"{each.value:,}", f"{each.unit}, {each.of}", "on request" if each.is_raised else "never"]
        for each in quotas.QUOTAS
    ]
    priced = [[each.service, each.what, f"${each.dollars}", each.unit] for each in prices.PRICES]
    return "\n\n".join(
        (
            table(["", "supposed"], figures),
            table(["AWS's limit", "at first", "", "raised"], limited),
            table(["service", f"list price in {prices.REGION}, {prices.KNOWN}", "dollars", "for a"], priced),
        )
    )
