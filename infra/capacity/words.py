"""The words of ``infra/capacity.md``, and how its tables are written."""

from __future__ import annotations

import re
from collections.abc import Sequence

_FIGURE = re.compile(r"\$?[\d,.]+%?( (ms|s|MB))?")

BEGINNING = """
# Capacity and cost

What a request takes of AWS, what a million of them cost, and what ends first. `make capacity` plays every kind of
request in one process and counts the calls; `infra/capacity/` makes this page of the counts, of AWS's list prices and
of its limits. A test plays them again and fails when what is written here is not what comes out.

Counted are calls, units of DynamoDB (by its rules for the sizes of items, checked against DynamoDB Local), bytes, and
the processor's time. Not counted but supposed is how long others take: see [what is supposed](#what-is-supposed).
Prices are list prices without free tiers and discounts; whoever plans with them looks them up again.
"""

COUNTS = """
## What a request takes

In a process that is warm. *Calls* are those of DynamoDB, *waits* how many of them follow each other; *SQS* are
requests to the queue, *asked* those to banks and to receivers of events. *Processor* is the processor's time,
transport included, against that of a bare script which does one GetItem, one RSA signature and one POST: measured on
the machine on which this page was written, and the only figure here that is not exact.

A write of the card API is counted with a `request_reference_id`. A read with one keeps its answer: one write more.
"""

COSTS = """
## What it costs

Dollars for a million of each, and the milliseconds of Lambda that are billed for one: the processor's time, stretched
where a function has less memory than a whole processor's 1,769 MB, and all waiting. A function waits for its bank and
is paid for it, so that most of a relayed read's milliseconds are the bank's. Whatever is told by an event costs the
request and one *event delivered*, for which Lambda takes a message from the queue and deletes it; where messages
wait, `make package` has ten of them fetched together, for a tenth of these two requests.

The sandbox stands in for others: one of a transfer's writes is its provider's, and the network's messages come
through its simulator's HTTP.
"""

SPENT = """
## Where units are spent

In a transaction every unit counts twice, those of indexes too. A condition on an item that is not written counts as a
write of it. Only what moves in an index is written there. Claiming a delivery moves its time: one index entry
removed, one written.
"""

NOW_AND_THEN = """
## Now and then

What each process does once a minute (it reads keys, banks and programmes again, and writes its measurements), what a
new process does first, and what the schedules do. A new environment starts on top of that, for about a second that is
billed; in a busy service that is one request among thousands.
"""

STANDING = """
## What stands there anyway

Production, without one request. Metrics of one's own are what grows: a bank that is asked for all four services has
up to 36 of them.
"""

ENDS = """
## What ends first

Requests are spread evenly over many clients, consents, cards and accounts here, and banks answer in the time that is
supposed; the next section is about those that are not. *Environments* are what runs at the same time: a second's
requests times the seconds of one, and at least a tenth of them, since Lambda gives one environment 10 a second at most.
It makes 1,000 new ones in ten seconds, and *there after* is how long it takes from nothing. A table as it is made takes
4,000 write units a second and 12,000 read units; it grows with its load, up to twice of its highest in half an hour, or
at once when warm throughput is bought for it.

At 100 a second nothing is reached. At 10,000 a second the account's quotas are raised and its tables warm before
anything else is met, and of the design only the shards of indexes by time and, for cards, `finish` (3,300 a second,
when 1 in 100 is never cleared). Eight shards carry 4,000 a second, and their number is a constant that may be raised
at any time, since what stands in a shard stays there and all are read. At
1,000,000 a second one account and region would be hundreds of times above what AWS grants at first. It is the
arithmetic of a service that is divided by banks and programme managers into many accounts, each with tables of its
own; nobody has tried it.
"""

PARTITIONS = """
## All about one

One partition of DynamoDB takes 3,000 read units or 1,000 write units a second, or some of each in proportion, and an
item is never in two. So there is a highest rate for all that is about one client, consent, card or account, however
large tables and quotas are. DynamoDB may divide a busy collection of items between partitions, never an item, and not
the end of a list that grows by time. The table has the ceiling of everything that a request touches, the lowest
first, and over how many of them the large rates have to be spread.

Three of them are lower than their partitions, or met by somebody:

- **An account's balance.** Transactions about one item exclude each other, and one that came second begins again. So
  one account, and one card, take about as many authorizations a second as two reads and a transaction follow each
  other: some 50; on DynamoDB Local 25 to 55 (README). A cardholder does not shop as fast, an account behind a
  thousand cards might.
- **A receiver's slots.** Four deliveries of a lane go to one receiver at the same time, so that one which hangs holds
  nobody else up. What is accepted faster waits in the queue; a bank that is meant to carry out more accepted calls
  than this needs more slots, or callers that wait.
- **A client's record.** It is read strongly consistently with every call, so that a client that was switched off is
  off at once. That is 3,000 calls a second for one Client ID, whatever is raised. A TPP with more has several
  clients.
"""

KEYS = """
## Where everybody meets

Partitions that nobody has to himself: the shards of indexes by time, and what one worker does for all. Identifiers
come from one item, a process takes 50 at a time. The queue itself has no limit that would be met here.
"""

SUPPOSED = """
## What is supposed

`.venv/bin/python -m infra.capacity --bank-milliseconds 500` prints this page for other banks; without an option
`infra/capacity.md` is written over. Limits are those of a new account, prices are dollars.
"""


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown; what has a figure in its first row stands on the right."""
    first = rows[0] if rows else heads
    aligned = ["---:" if _FIGURE.fullmatch(cell) else "---" for cell in first]
    lines = [heads, aligned, *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
