"""The page ``/clock``: business time, and a form that advances business time."""

from __future__ import annotations

from chalice.app import Response

from chalicelib.foundation.http.web import Incoming
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.foundation.moved_clock import ClockBusy
from chalicelib.sandbox_clock.clock_advance import MOST_SECONDS, OutOfRange
from chalicelib.sandbox_clock.container import ClockContainer
from chalicelib.statistics.days import DAY_SECONDS, HOUR_SECONDS
from chalicelib.website import site
from chalicelib.website.notices import Notice
from chalicelib.website.page_links import CLOCK
from chalicelib.website.pages import Visit, page

MOST_DAYS = MOST_SECONDS // DAY_SECONDS


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit of time in the form, with its length in seconds."""

    name: str
    seconds: int


UNITS = (Unit("minutes", 60), Unit("hours", HOUR_SECONDS), Unit("days", DAY_SECONDS), Unit("weeks", 7 * DAY_SECONDS))


def show_clock(visit: Visit, clock: ClockContainer, problem: str = "", status: int = 200) -> Response:
    """``GET /clock``: show the page."""
    return page(
        visit,
        "clock.html",
        status=status,
        now=clock.advance.now(),
        real_now=clock.shared.clock.real.time(),
        units=UNITS,
        number=visit.field("number") or "1",
        chosen=visit.field("unit") or "days",
        most_days=MOST_DAYS,
        problem=problem,
    )


def move_clock(visit: Visit, clock: ClockContainer) -> Response:
    """``POST /clock``: advance business time, then show the page again."""
    seconds = {unit.name: unit.seconds for unit in UNITS}.get(visit.field("unit"), 0)
    number = visit.field("number").strip()
    if not (number.isascii() and number.isdecimal() and len(number) <= 5 and seconds):
        return show_clock(visit, clock, "Enter a whole number.", 400)
    try:
        clock.advance.advance(int(number) * seconds)
    except OutOfRange:
        return show_clock(visit, clock, f"Time moves forward only, by at most {MOST_DAYS} days at once.", 400)
    except ClockBusy:
        return show_clock(visit, clock, "The clock is being moved already. Wait until that is done.", 409)
    return visit.redirect_with_notice(CLOCK, Notice.TIME_MOVED)


def serve(clock: ClockContainer, incoming: Incoming) -> Response:
    view = move_clock if incoming.method == "POST" else show_clock
    return site.serve_user_page(Visit(incoming, clock.website), lambda visit: view(visit, clock))
