"""A minimal browser that loads pages, fills in forms and submits them. The browser runs no scripts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser
from urllib.parse import urljoin

import requests

from infra.local.http_session import new_session

_MOST_PAGES = 6


class NavigationFailed(Exception):
    """The browser cannot continue from the current page."""


@dataclass
class Form:
    """A form: its fields with their values, its check boxes, and the label of its button."""

    method: str
    action: str
    fields: dict[str, str] = field(default_factory=dict)
    boxes: list[tuple[str, str]] = field(default_factory=list)
    label: str = ""


@dataclass
class BrowserPage:
    """A loaded page: its URL, title, forms and links, the texts of elements by id, and the texts of each
    ``<header>``.
    """

    url: str
    status: int
    title: str
    forms: list[Form]
    texts: Mapping[str, str]
    headers: list[list[str]]
    links: list[str]

    def text_after(self, text: str) -> list[str]:
        """Return the texts after ``text`` in the first ``<header>`` that starts with ``text``. Return an empty list if
        there is no such header.
        """
        return next((rest for first, *rest in self.headers if first == text), [])

    def form(self, holds: str) -> Form:
        """Return the first form with a field or check box named ``holds``. Raises: NavigationFailed."""
        for candidate in self.forms:
            if holds in candidate.fields.keys() | {name for name, _ in candidate.boxes}:
                return candidate
        raise NavigationFailed(f"«{self.title}» ({self.status}) has no form with the field {holds}")

    def sign_in_form(self, customer: str = "") -> Form:
        """Return the form that signs in a listed customer, by default the first. Raises: NavigationFailed."""
        for candidate in self.forms:
            if candidate.fields.get("password") and customer in ("", candidate.fields.get("username")):
                return candidate
        raise NavigationFailed(f"«{self.title}» ({self.status}) has no form that signs in {customer or 'anybody'}")


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.title = ""
        self.forms: list[Form] = []
        self.texts: dict[str, str] = {}
        self.headers: list[list[str]] = []
        self.links: list[str] = []
        self._open: list[tuple[str, str | None]] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attributes}
        if tag == "form":
            self.forms.append(Form(given.get("method", "get").upper(), given.get("action", "")))
        if tag == "input" and self.forms and "name" in given:
            self._field(self.forms[-1], given)
        if tag == "header":
            self.headers.append([])
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag not in ("input", "meta", "link", "img", "br"):
            self._open.append((tag, given.get("id")))

    @staticmethod
    def _field(form: Form, given: Mapping[str, str]) -> None:
        name, value = given["name"], given.get("value", "")
        if given.get("type") == "checkbox":
            form.boxes.append((name, value or "on"))
        elif given.get("type") != "radio" or "checked" in given:
            form.fields[name] = value

    def handle_endtag(self, tag: str) -> None:
        while self._open:
            if self._open.pop()[0] == tag:
                return

    def handle_data(self, text: str) -> None:
        if not self._open:
            return
        tag, name = self._open[-1]
        if tag == "title":
            self.title += text.strip()
        if tag == "button" and self.forms:
            self.forms[-1].label = self.forms[-1].label or text.strip()
        if text.strip() and any(outer == "header" for outer, _ in self._open):
            self.headers[-1].append(text.strip())
        if name:
            self.texts[name] = self.texts.get(name, "") + text.strip()


class Browser:
    """A browser that follows redirects until the target is ``stops_at``, the URL at which the PSU returns to the
    TPP.
    """

    def __init__(self, stops_at: str, watch: Callable[[str, str, int, str], None]) -> None:
        self._session = new_session()
        self._stops_at = stops_at
        self._watch = watch

    def open(self, url: str) -> BrowserPage | str:
        """Load a page. Return the page, or the URL if the browser was redirected to ``stops_at``."""
        return self._load("GET", url, None)

    def submit(
        self, page: BrowserPage, form: Form, fields: Mapping[str, str] | None = None, boxes: bool = False
    ) -> BrowserPage | str:
        """Submit a form with the values in ``fields``. If ``boxes`` is true, all check boxes are selected."""
        sent = list((form.fields | dict(fields or {})).items()) + (form.boxes if boxes else [])
        return self._load(form.method, urljoin(page.url, form.action), sent)

    def _load(self, method: str, url: str, form: list[tuple[str, str]] | None) -> BrowserPage | str:
        for _ in range(10):
            answer = self._session.request(method, url, data=form, allow_redirects=False, timeout=30)
            location = answer.headers.get("Location")
            page = self._read(answer)
            self._watch(method, url, answer.status_code, f"→ {urljoin(url, location)}" if location else page.title)
            if not location:
                return page
            method, url, form = "GET", urljoin(url, location), None
            if url.startswith(self._stops_at):
                return url
        raise NavigationFailed("there are too many redirects")

    def _read(self, answer: requests.Response) -> BrowserPage:
        reader = _Reader()
        reader.feed(answer.text)
        return BrowserPage(
            answer.url, answer.status_code, reader.title, reader.forms, reader.texts, reader.headers, reader.links
        )


def agree(browser: Browser, url: str, customer: str = "") -> BrowserPage | str:
    """Approve a request on the pages of a demonstration bank: sign in, select all accounts or the first account, and
    enter the key code.

    Returns the first page without these forms, or the URL at which the browser stops. The default ``customer`` is the
    first customer on the sign-in page. Raises: NavigationFailed.
    """
    page = browser.open(url)
    for _ in range(_MOST_PAGES):
        if isinstance(page, str):
            break
        held = {name for form in page.forms for name in [*form.fields, *(box for box, _ in form.boxes)]}
        if "key_code" in held:
            page = browser.submit(page, page.form("key_code"), {"key_code": page.texts["sent"]})
        elif "password" in held:
            page = browser.submit(page, page.sign_in_form(customer))
        elif "account" in held:
            page = browser.submit(page, page.form("account"), boxes=True)
        else:
            break
    return page


def approve_consent(browser: Browser, redirect_url: str, customer: str = "") -> str:
    """Approve the consent at a demonstration bank. Returns the callback URL with the code. Raises: NavigationFailed."""
    return _callback(agree(browser, redirect_url, customer))


def confirm_payment(browser: Browser, confirmation_url: str, customer: str = "") -> str:
    """Confirm a payment at a demonstration bank. Returns the callback URL. Raises: NavigationFailed."""
    return _callback(agree(browser, confirmation_url, customer))


def open_signed_in(browser: Browser, url: str) -> BrowserPage:
    """Load a page of a demonstration bank as the approving PSU, signing in if necessary. Raises: NavigationFailed."""
    page = require_page(browser.open(url))
    if any("password" in form.fields for form in page.forms):
        page = require_page(browser.submit(page, page.sign_in_form()))
    return page


def require_page(result: BrowserPage | str) -> BrowserPage:
    """Require that the browser shows a page. Raises: NavigationFailed, if the browser stopped at a URL."""
    if isinstance(result, str):
        raise NavigationFailed(f"the browser arrived at {result}")
    return result


def _callback(result: BrowserPage | str) -> str:
    if isinstance(result, BrowserPage):
        raise NavigationFailed(f"«{result.title}» ({result.status})")
    return result
