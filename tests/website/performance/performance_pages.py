"""Days of banks for the page of performance, and what the page shows of them."""

from __future__ import annotations

import re
from datetime import date, timedelta

from chalicelib.statistics.days import hours_of
from tests.causeway import Causeway
from tests.statistics.made_up import hourly, record
from tests.website.person import Person

BIC, OTHER = "ALPHGB21", "BETADEF1"
TODAY = date(2026, 3, 2)
YESTERDAY = TODAY - timedelta(days=1)
FEBRUARY = "from=2026-02-01&to=2026-02-28"


def measured(causeway: Causeway, bic: str, day: date, *, answered: int = 9, unanswered: int = 0) -> None:
    """A day with calls in its first seconds, unanswered ones first."""
    counters = (
        [hourly(bic, hours_of(day)[0], answered=answered, unanswered=unanswered)] if answered + unanswered else []
    )
    made = record(bic, day, *counters, name=f"Bank {bic}").put()
    causeway.hub.store.put(made.table, made.item)


def figures(person: Person) -> dict[str, str]:
    """The figures on top of the page."""
    return dict(re.findall("<dt>([^<]+)</dt><dd>([^<]+)</dd>", person.last.text.partition("</dl>")[0]))


def table(person: Person, label: str) -> list[list[str]]:
    """The rows of a table by the label of its region, without its heads."""
    (body,) = re.findall(f'aria-label="{label}">.*?<tbody>(.*?)</tbody>', person.last.text, re.DOTALL)
    cells = (re.split("<t[hd][^>]*>", row)[1:] for row in body.split("</tr>")[:-1])
    return [[" ".join(re.sub("<[^>]+>", " ", cell).split()) for cell in row] for row in cells]


def fields(person: Person) -> tuple[str, str, str]:
    """What the form says: the bank that is chosen, from, to."""
    (bank,) = re.findall('<option value="([^"]*)" selected', person.last.text) or [""]
    since, until = (re.search(f'<input id="{name}"[^>]* value="([^"]*)"', person.last.text) for name in ("from", "to"))
    assert since is not None
    assert until is not None
    return bank, since[1], until[1]
