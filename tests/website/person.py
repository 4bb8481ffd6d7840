"""A person with a browser that keeps cookies and fills in forms, in this process."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from chalicelib.bootstrap import Hub
from chalicelib.website import notices
from chalicelib.website.pages import COOKIE
from chalicelib.website.records.users import User
from tests.causeway import Answer, Causeway

PASSWORD = "correct horse battery"
_TOKEN = re.compile(r'name="form_token" value="([^"]+)"')


def known(hub: Hub, email: str) -> User:
    """The user of an email, made without a password if there is none yet."""
    return hub.website.users.find(email) or hub.website.users.add(email, terms_accepted=True)


@dataclass
class Person:
    """Visits pages; ``cookies`` are those of the browser, ``last`` is the page that it shows.

    ``address`` is the IP address that the person comes from, if it is to be another than everybody's.
    """

    causeway: Causeway
    cookies: dict[str, str] = field(default_factory=dict)
    last: Answer = None  # type: ignore[assignment]
    set_cookies: list[str] = field(default_factory=list)
    address: str | None = None

    @classmethod
    def signed_in(cls, causeway: Causeway, email: str) -> Person:
        """Somebody who is signed in; without a password, which would cost a hash."""
        return cls(causeway, {COOKIE: causeway.hub.website.sessions.begin(known(causeway.hub, email)).cookie})

    def get(self, path: str, headers: Mapping[str, str] | None = None) -> Answer:
        return self._call("GET", path, None, headers)

    def post(
        self,
        path: str,
        token: str | None = None,
        headers: Mapping[str, str] | None = None,
        form: Mapping[str, object] | None = None,
        **fields: Any,
    ) -> Answer:
        """Send a form of ``fields`` and ``form`` with the token of the page that is shown, unless one is given.

        Raises: AssertionError, if the action leads to a page of the service, other than /sign-in, without a message.
        """
        sent = {"form_token": self.token if token is None else token, **(form or {}), **fields}
        sent = {name: value for name, value in sent.items() if value is not None}
        typed = {"content-type": "application/x-www-form-urlencoded", **(headers or {})}
        before = len(self.set_cookies)
        answer = self._call("POST", path, urlencode(sent, doseq=True).encode(), typed)
        if answer.status == 303:
            said = [each for each in self.set_cookies[before:] if notices.COOKIE in each.partition("=")[0]]
            leads = answer.headers["location"]
            elsewhere = leads.startswith("http") or "/sign-in?" in leads
            assert said or elsewhere, f"nothing says that the action was done: {path} leads to {leads}"
        return answer

    def follow(self) -> Answer:
        """Go where the answer leads to, in this service."""
        return self.get(self.last.headers["location"].removeprefix(self.causeway.hub.settings.public_url))

    @property
    def token(self) -> str:
        """The form token of the page that is shown; of the first page with a form, if it has none."""
        found = _TOKEN.search(self.last.text) if self.last else None
        if found is None:
            found = _TOKEN.search(self.get("/sign-out").text) or _TOKEN.search(self.get("/sign-in").text)
        assert found is not None
        return found[1]

    def set_cookie(self, name: str) -> str:
        """The latest ``Set-Cookie`` value of a cookie."""
        return next(cookie for cookie in reversed(self.set_cookies) if cookie.startswith(f"{name}="))

    @property
    def text(self) -> str:
        """What the page says, without markup."""
        return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", self.last.text)).split())

    def hidden(self, name: str) -> str:
        """The value of a hidden field."""
        found = re.search(rf'<input type="hidden" name="{name}" value="([^"]*)">', self.last.text)
        assert found is not None, f"the page has no field {name}"
        return html.unescape(found[1])

    def checked(self, name: str) -> Sequence[str]:
        """The values of the ticked boxes or chosen buttons of a name."""
        return re.findall(rf'name="{name}" value="([^"]*)"[^>]* checked', self.last.text)

    # -- what people do

    def register(self, email: str, password: str = PASSWORD, terms: str | None = "yes") -> Answer:
        self.get("/register")
        return self.post("/register", email=email, password=password, terms=terms)

    def sign_in(self, email: str, password: str = PASSWORD, **fields: Any) -> Answer:
        self.get("/sign-in")
        return self.post("/sign-in", email=email, password=password, **fields)

    def create_client(self, title: str = "Budget Friend", **fields: Any) -> str:
        """Answers the Client ID."""
        self.get("/clients/new")
        self.post("/clients/new", **({"draft": self.hidden("draft"), "title": title, "active": "yes"} | fields))
        assert self.last.status == 201, self.text
        found = re.search(r'<code id="client-id">([^<]+)</code>', self.last.text)
        assert found is not None
        return found[1]

    def _call(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str] | None) -> Answer:
        sent = dict(headers or {})
        if self.cookies:
            sent["cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        identity = {"sourceIp": self.address} if self.address else None
        self.last = self.causeway.call(method, path, body, sent, identity)
        for cookie in self.last.headers.get("set-cookie", "").splitlines():
            self.set_cookies.append(cookie)
            name, _, value = cookie.partition(";")[0].partition("=")
            others = {key: each for key, each in self.cookies.items() if key != name}
            self.cookies = {**others, name: value} if value else others
        return self.last
