"""Common parts of the banks' pages: visits, templates, cookies, static files, and display formats."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

from chalice.app import Response

from chalicelib.demo_bank.customers import Customer
from chalicelib.demo_bank.instructions import minor_digits
from chalicelib.demo_bank.runtime import DemoBank
from chalicelib.foundation.http import pages
from chalicelib.foundation.http.cookies import Cookie
from chalicelib.foundation.http.pages import StaticFiles, Templates
from chalicelib.foundation.lazy_dataclasses import dataclass

NO_REFERRER = "no-referrer"
MOST_SHOWN = 30
"""The maximum number of customers that a page lists. All other customers sign in by name."""
_AREA = ("my-accounts", "consents")
"""The first path segments of pages outside authorization journeys."""
_FOLDER = Path(__file__).parent
_SHARED = Path(pages.__file__).parent


@dataclass(frozen=True)
class Visit(pages.Visit):
    """One request from a PSU's browser to one bank."""

    bank: DemoBank

    def link(self, place: str, **query: str) -> str:
        """Return the URL of a page of this demonstration bank."""
        return f"{self.bank.path}{place}" + (f"?{urlencode(query)}" if query else "")

    def read_cookie(self, name: str) -> str:
        """Return the value of a page cookie by its plain name, or an empty string."""
        return self._describe_cookie(name).read(self.cookie)

    def set_cookie(self, name: str, value: str, seconds: int) -> Sequence[str]:
        """Return the Set-Cookie values for the bank's pages. Zero seconds delete the cookie."""
        return self._describe_cookie(name).set(self.cookie, value, seconds)

    def _describe_cookie(self, name: str) -> Cookie:
        """Return a cookie for the bank's path, because several banks share a host."""
        return Cookie(name, self.bank.path, self.bank.settings.requires_https, is_limited=True)


def page(
    visit: Visit,
    template: str,
    *,
    status: int = 200,
    leads_to: Iterable[str] = (),
    referrer: str = "same-origin",
    **values: Any,
) -> Response:
    """Render a page of the bank.

    Args:
        leads_to: the permitted targets of the page's forms and their redirects.
        referrer: ``NO_REFERRER`` if the page shows a code.
        values: template values.
    """
    bank = visit.bank
    text = _templates().render(
        template,
        bank=bank.profile,
        path=bank.path,
        moved_to=bank.clock.time() if bank.clock.offset_seconds else None,
        static=lambda name: f"{bank.path}/static/{_static_files().name(name)}",
        **values,
    )
    window = pages.OWN_WINDOW if visit.incoming.uri.get("first") in _AREA else pages.ANY_WINDOW
    return pages.html_answer(text, status, pages.security_headers(leads_to, referrer=referrer) | window)


def message_page(
    visit: Visit, title: str, text: str, *, status: int, code: str = "", link: str = "", label: str = ""
) -> Response:
    """Render a page with a message, optionally with the service's code and a link."""
    return page(visit, "message.html", status=status, title=title, text=text, code=code, link=link, label=label)


def people(customers: Sequence[Customer]) -> dict[str, Any]:
    """Return template values for a list of customers: the first customers, and ``others``, the number of remaining
    customers.
    """
    return {"customers": customers[:MOST_SHOWN], "others": max(len(customers) - MOST_SHOWN, 0)}


def sign_in_error(bank: DemoBank) -> str:
    """Return the error message for a wrong customer name or password."""
    if bank.profile.plays_faults:
        return "This bank has no fault with this name and password. Please choose one of those below."
    return "User name and password do not match. Please try again."


def not_found_page(visit: Visit) -> Response:
    return message_page(visit, "Not found", "There is nothing at this address.", status=404)


def serve_static_file(visit: Visit, name: str) -> Response:
    """``GET /static/<hashed name>``: return a style sheet or an image."""
    return _static_files().answer(name) or not_found_page(visit)


@cache
def _static_files() -> StaticFiles:
    return StaticFiles((_FOLDER / "static", _SHARED / "static"))


@cache
def _templates() -> Templates:
    filters = (money, group_by_four, sort_code, day, time_of_day, day_of_month, scope_text)
    return Templates((_FOLDER / "templates",), {text.__name__: text for text in filters})


_SYMBOLS = {"GBP": "£", "EUR": "€", "USD": "$"}


class ScopeText(NamedTuple):
    """The description of a scope for the PSU."""

    title: str
    meaning: str


_LIST = ScopeText("See which accounts you have", "The names, numbers and currencies of the accounts you choose.")
_BALANCES = ScopeText("See your balances", "How much money is in the accounts you choose, now and later.")
_PAYMENTS = ScopeText("Prepare payments", "You confirm every single payment here before any money moves.")
_FUNDS = ScopeText("Ask whether there is enough money", "We answer yes or no to an amount; your balance is not shown.")
SCOPE_TEXTS: Mapping[str, ScopeText] = {
    "account.list": _LIST,
    "account.balance": _BALANCES,
    "account.details": ScopeText("See account details", "The details of each account you choose, such as its IBAN."),
    "account.payments": ScopeText(
        "See your payments", "The list of payments made from and to the accounts you choose."
    ),
    "account.payment": ScopeText(
        "See single payments", "All details of one payment: who, how much, when and what for."
    ),
    "payment.init": _PAYMENTS,
    "card_based.funds_confirmations": _FUNDS,
    "accounts": _LIST,
    "accounts.balances": _BALANCES,
    "accounts.transactions": ScopeText(
        "See your transactions", "Booked and pending transactions of the chosen accounts."
    ),
    "payments.single": _PAYMENTS,
    "payments.bulk": ScopeText(
        "Prepare payments in bulk", "Many payments in one go; you confirm the whole list here first."
    ),
    "funds_confirmations": _FUNDS,
}


def scope_text(scope: str) -> ScopeText:
    """Return a scope's description in plain words. For an unknown scope, return its name."""
    return SCOPE_TEXTS.get(scope, ScopeText(scope, "A permission that this page cannot describe."))


def money(minor: int, currency: str) -> str:
    """Format an amount in minor units as ``£1,234.56``, ``SEK 1,234.56`` or ``JPY 1,234``."""
    digits = minor_digits(currency)
    sign = "\N{MINUS SIGN}" if minor < 0 else ""
    symbol = _SYMBOLS.get(currency, f"{currency}\N{NO-BREAK SPACE}")
    return f"{sign}{symbol}{Decimal(abs(minor)).scaleb(-digits):,.{digits}f}"


def group_by_four(number: str) -> str:
    """Format an IBAN in groups of four."""
    return " ".join(number[start : start + 4] for start in range(0, len(number), 4))


def sort_code(code: str) -> str:
    """Format ``040004`` as ``04-00-04``."""
    return "-".join(code[start : start + 2] for start in range(0, len(code), 2))


def day(seconds: int) -> str:
    """Format Unix seconds as ``21 November 2026``."""
    moment = datetime.fromtimestamp(seconds, UTC)
    return f"{moment.day} {moment:%B %Y}"


def time_of_day(seconds: int) -> str:
    """Format Unix seconds as ``14:05``."""
    return f"{datetime.fromtimestamp(seconds, UTC):%H:%M}"


def day_of_month(moment: date) -> str:
    """Format a date as ``21 Nov``, for use where the year is clear."""
    return f"{moment.day} {moment:%b}"
