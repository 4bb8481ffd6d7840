"""The common frame of all pages: sessions, templates, and security headers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from chalice.app import Response

from chalicelib.foundation.http import pages
from chalicelib.foundation.http.cookies import Cookie
from chalicelib.foundation.http.pages import StaticFiles, Templates, heroicon
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.foundation.version import VERSION
from chalicelib.openbanking.records.client_record import Client
from chalicelib.website import display_text, notices
from chalicelib.website.banks import bank_text
from chalicelib.website.cards import card_text
from chalicelib.website.container import WebsiteContainer
from chalicelib.website.notices import Notice
from chalicelib.website.page_links import MENU, build_menu
from chalicelib.website.performance import performance_text
from chalicelib.website.records.sessions import BROWSER_LIFETIME, LIFETIME, Session, cookie_name
from chalicelib.website.records.users import User

COOKIE = "causeway_session"
CLIENT_COOKIE = "causeway_client"
"""The name of the cookie that stores the client displayed last in this browser. Lists initially show this client (see
``client_choice``).
"""
NO_REFERRER = "no-referrer"
NO_ERRORS: Mapping[str, str] = {}
"""The errors of a form that has no errors."""
_FOLDER = Path(__file__).parent
_SHARED = Path(pages.__file__).parent


@dataclass(frozen=True)
class Visit(pages.Visit):
    """A browser's request to the web interface, with its session."""

    website: WebsiteContainer

    @cached_property
    def session(self) -> Session:
        """Return the session of the browser's cookie, or a new anonymous session."""
        cookie = self.read_cookie(COOKIE)
        sessions = self.website.sessions
        return (sessions.find(cookie) if cookie else None) or sessions.create_visitor_session()

    @property
    def email(self) -> str | None:
        """The email of the signed-in user, or ``None`` without a signed-in user."""
        return self.session.email if self.read_cookie(COOKIE) else None

    @property
    def user(self) -> str:
        """The email of the signed-in user, on pages that require one."""
        assert self.email is not None, "only users get to this page"
        return self.email

    @property
    def signed_in_user(self) -> User:
        """The record of the signed-in user, on pages that require one."""
        assert self.session.user is not None, "only users get to this page"
        return self.session.user

    @property
    def last_client_id(self) -> str:
        """The Client ID of the last client page in this browser. The value is not trustworthy."""
        return self.read_cookie(CLIENT_COOKIE)

    @property
    def ip_address(self) -> str:
        return self.incoming.visitor_address(self.website.shared.settings.cloudfront_secrets)

    @property
    def form_token(self) -> str:
        return self.session.form_token

    @property
    def has_valid_form_token(self) -> bool:
        """Whether the form was submitted from a page of this session."""
        return not self.is_foreign and self.website.sessions.accepts(self.session, self.field("form_token"))

    @property
    def cookie_to_set(self) -> Sequence[str]:
        """The ``Set-Cookie`` values for a new session, or none if the browser already has a session."""
        known = "session" not in self.__dict__ or self.session.cookie == self.read_cookie(COOKIE)
        return () if known else self.session_cookie(self.session)

    @property
    def notice(self) -> str:
        """The notice about the preceding action, or an empty text without a notice."""
        return notices.TEXTS.get(self.read_cookie(notices.COOKIE), "")

    @property
    def notice_kind(self) -> str:
        """The kind of the notice's toast: ``plain`` for an action without effect, otherwise ``good``."""
        return "plain" if self.read_cookie(notices.COOKIE) in notices.NOTHING_DONE else "good"

    def link(self, place: str, **query: str) -> str:
        return f"{self.website.shared.settings.public_path}{place}" + (f"?{urlencode(query)}" if query else "")

    def redirect(self, place: str, **query: str) -> Response:
        return pages.see_other(self.link(place, **query))

    def redirect_with_notice(self, place: str, notice: Notice, **query: str) -> Response:
        """Redirect to a page that shows a notice once."""
        return pages.see_other(self.link(place, **query), *self.notice_cookie(notice))

    def notice_cookie(self, notice: Notice | None) -> Sequence[str]:
        """The ``Set-Cookie`` values that make the next page show ``notice`` or, with ``None``, delete the notice."""
        return self._set_cookie(notices.COOKIE, notice or "", notices.LIFETIME if notice else 0)

    def session_cookie(self, session: Session | None) -> Sequence[str]:
        """The ``Set-Cookie`` values that store a session in the browser or, with ``None``, delete the session."""
        return self._set_cookie(COOKIE, session.cookie if session else "", LIFETIME if session else 0)

    def client_cookie(self, client: Client | None) -> Sequence[str]:
        """Return the ``Set-Cookie`` values that store the client of a page or, with ``None``, delete it.

        Return no values if the cookie is unchanged. An archived client is not stored.
        """
        client_id = client.client_id if client else ""
        if client_id == self.last_client_id or (client and client.is_archived):
            return ()
        return self._set_cookie(CLIENT_COOKIE, client_id, LIFETIME if client else 0)

    def known_browser(self, email: str) -> str:
        """The value of ``known_browser_cookie``. Browsers send it only to ``/sign-in``."""
        return self._known_browser_cookie(email).read(self.cookie)

    def known_browser_cookie(self, email: str, value: str) -> Sequence[str]:
        """The ``Set-Cookie`` values that identify a browser on its next sign-in."""
        return self._known_browser_cookie(email).set(self.cookie, value, BROWSER_LIFETIME)

    def read_cookie(self, name: str) -> str:
        """The value of a cookie by its plain name, or an empty string."""
        return self._describe_cookie(name).read(self.cookie)

    def _set_cookie(self, name: str, value: str, seconds: int) -> Sequence[str]:
        return self._describe_cookie(name).set(self.cookie, value, seconds)

    def _known_browser_cookie(self, email: str) -> Cookie:
        settings = self.website.shared.settings
        return Cookie(cookie_name(email), f"{settings.public_path}/sign-in", settings.requires_https, is_limited=True)

    def _describe_cookie(self, name: str) -> Cookie:
        settings = self.website.shared.settings
        return Cookie(name, settings.public_path or "/", settings.requires_https)


def page(
    visit: Visit,
    template: str,
    *,
    status: int = 200,
    leads_to: Iterable[str] = (),
    referrer: str = "same-origin",
    last_client: Client | None = None,
    retry_after: int = 0,
    **values: Any,
) -> Response:
    """Render a template with ``values``.

    Args:
        leads_to: the URLs to which its forms may be submitted or redirected.
        referrer: ``NO_REFERRER`` on pages with codes or tokens.
        last_client: the default client of later lists, unless it is archived.
        retry_after: the seconds of ``Retry-After``. With 0, the header is omitted.
    """
    text = _render(visit.website, visit, template, values)
    shown = visit.notice_cookie(None) if visit.read_cookie(notices.COOKIE) else ()
    chosen = visit.client_cookie(last_client) if last_client else ()
    cookies = (*visit.cookie_to_set, *shown, *chosen)
    again = {"Retry-After": str(retry_after)} if retry_after else {}
    return pages.html_answer(text, status, _headers(leads_to, referrer) | again, *cookies)


def fragment(visit: Visit, template: str, **values: Any) -> Response:
    """Render a part of a page for a polling script."""
    return pages.html_answer(_render(visit.website, visit, template, values), 200, _headers((), "same-origin"))


def message_page(
    visit: Visit,
    title: str,
    what: str,
    place: str,
    label: str,
    next_step: str = "Choose one from the list.",
    status: int = 404,
) -> Response:
    """Render a page with a message and advice. ``label`` is the text of the link to ``place``."""
    values = _message_values(title, what, next_step) | {"link": visit.link(place), "label": label}
    return page(visit, "message.html", status=status, referrer=NO_REFERRER, **values)


def not_found_page(visit: Visit) -> Response:
    """Render the page for an address without content."""
    what, next_step = "There is nothing at this address.", "Check the spelling, or go to the start page."
    return message_page(visit, "Not found", what, "/", "To the start page", next_step)


@dataclass(frozen=True, slots=True)
class Question:
    """The texts of a confirmation page before an action that is hard to undo.

    Attributes:
        afterwards: a statement of whether and how the action can be undone.
        button: the label of the button that confirms the action.
        keep: the label of the link to the previous page.
    """

    title: str
    what: str
    afterwards: str
    button: str
    keep: str


def end_consent_question(client_title: str, bank_name: str) -> Question:
    return Question(
        title="End this consent?",
        what=f"{client_title} loses its access at {bank_name} immediately, and the bank is notified.",
        afterwards="This cannot be undone: new access requires the PSU's approval at the bank.",
        button="End the consent",
        keep="Keep it",
    )


def question_page(
    visit: Visit,
    question: Question,
    place: str,
    fields: Mapping[str, str],
    *,
    back: str = "",
    has_secret: bool = False,
    referrer: str = "same-origin",
) -> Response:
    """Render a confirmation page. Its form is submitted to ``place``.

    Args:
        fields: the hidden fields of the form.
        back: the target of the link to the previous page; ``place`` by default.
        has_secret: whether the client's secret must be entered.
        referrer: see ``page``.
    """
    return page(
        visit,
        "question.html",
        referrer=referrer,
        place=place,
        question=question,
        fields=fields,
        back=back or visit.link(place),
        has_secret=has_secret,
    )


def error_page(
    website: WebsiteContainer, title: str, what: str, next_step: str, *, status: int, request_id: str = ""
) -> Response:
    """Render an error page without menu or forms, also for visitors, with a ``request_id`` to quote."""
    text = _render(website, None, "message.html", _message_values(title, what, next_step, request_id))
    return pages.html_answer(text, status, _headers((), NO_REFERRER))


def public_page(
    website: WebsiteContainer, template: str, *, status: int = 200, leads_to: Iterable[str] = (), **values: Any
) -> Response:
    """Render a page without menu and session. An application may open the page before it sends its user to the bank.

    Args:
        leads_to: the URLs to which the page's forms may be submitted or redirected.
    """
    text = _render(website, None, template, values)
    return pages.html_answer(text, status, _headers(leads_to, NO_REFERRER) | pages.ANY_WINDOW)


def preload() -> None:
    """Load templates, icons and style sheets in advance, so that visitors do not wait."""
    _templates().load()
    for entries in MENU.values():
        for entry in entries:
            heroicon(entry.icon, 20)
    static_files().name("site.css")


@cache
def static_files() -> StaticFiles:
    """The style sheets, scripts and images of the web interface."""
    return StaticFiles((_FOLDER / "static", _SHARED / "static"))


def _message_values(title: str, what: str, next_step: str, request_id: str = "") -> dict[str, Any]:
    return {"title": title, "what": what, "next_step": next_step, "link": "", "label": "", "request_id": request_id}


def _headers(leads_to: Iterable[str], referrer: str) -> dict[str, str]:
    security = pages.security_headers(leads_to, referrer=referrer, script_src="'self'", connect_src="'self'")
    return security | pages.OWN_WINDOW


def _render(website: WebsiteContainer, visit: Visit | None, template: str, values: dict[str, Any]) -> str:
    email = visit.email if visit else None
    place = visit.incoming.route if visit else ""
    settings = website.shared.settings
    return _templates().render(
        template,
        visit=visit,
        email=email,
        menu=build_menu(place, signed_in=email is not None) if visit else {},
        notice=visit.notice if visit else "",
        here=place,
        path=settings.public_path,
        base=settings.public_url,
        stage=settings.stage,
        version=VERSION,
        sandbox=settings.is_sandbox,
        local=settings.is_local,
        offset_seconds=website.shared.clock.offset_seconds,
        business_now=website.shared.clock.time(),
        static=lambda name: f"{settings.public_path}/static/{static_files().name(name)}",
        **values,
    )


@cache
def _templates() -> Templates:
    return Templates(
        (_FOLDER / "templates",),
        {**display_text.FILTERS, **card_text.FILTERS, **performance_text.FILTERS, **bank_text.FILTERS},
    )
