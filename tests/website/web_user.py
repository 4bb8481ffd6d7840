"""An in-process user of the web interface: a browser with cookies, page forms, and the authorization journey."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from chalicelib.bootstrap import Hub
from chalicelib.website import notices
from chalicelib.website.pages import COOKIE
from chalicelib.website.records.users import User
from tests.causeway import Answer, Causeway
from tests.openbanking.kit import IBAN

PASSWORD = "correct horse battery"
CALLBACK = "http://127.0.0.1:8000/authorize/callback"
SCOPES = ["account.list", "account.balance"]
PAGE_BYTES = 102_400
PURCHASE = {
    "amount": "25.00",
    "currency_ison": 978,
    "transaction_type": 0,
    "entry_mode_type": 5,
    "mcc": "5411",
    "merchant_name": "Corner Shop",
    "merchant_country_ison": 276,
}
_TOKEN = re.compile(r'name="form_token" value="([^"]+)"')


def ensure_user(hub: Hub, email: str) -> User:
    return hub.website.users.find(email) or hub.website.users.add(email, terms_accepted=True)


def attempt_due_deliveries(causeway: Causeway) -> None:
    for delivery in causeway.recorded():
        if delivery.state == "due":
            causeway.hub.delivery.worker.attempt(delivery.delivery_id)


class _Forms(HTMLParser):
    """Parse the address, buttons and fields of each form, with the values that a browser would send."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.forms: list[tuple[str, set[str], dict[str, str]]] = []
        self._within = False
        self._area = self._menu = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attributes}
        if tag == "form":
            self.forms.append((given.get("action", ""), set(), {}))
            self._within = True
        if not self._within:
            return
        _, buttons, fields = self.forms[-1]
        if tag == "button":
            buttons.add(given.get("value", ""))
        elif tag == "input" and "name" in given:
            if given.get("type") not in ("checkbox", "radio") or "checked" in given:
                fields[given["name"]] = given.get("value", "")
        elif tag == "textarea":
            self._area, fields[given["name"]] = given["name"], ""
        elif tag == "select":
            self._menu = given["name"]
        elif tag == "option" and (self._menu not in fields or "selected" in given):
            fields[self._menu] = given["value"]

    def handle_data(self, data: str) -> None:
        if self._area:
            self.forms[-1][2][self._area] += data.removeprefix("\n")

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea":
            self._area = ""
        self._within = self._within and tag != "form"


@dataclass
class WebUser:
    """A web user who visits pages. ``cookies`` are the browser's cookies, and ``last`` is the current page.

    ``address`` is the IP address of the browser.
    """

    causeway: Causeway
    cookies: dict[str, str] = field(default_factory=dict)
    last: Answer = None  # type: ignore[assignment]
    set_cookies: list[str] = field(default_factory=list)
    address: str | None = None

    @classmethod
    def signed_in(cls, causeway: Causeway, email: str) -> WebUser:
        """Create a signed-in user without a password, because a password hash takes time."""
        user = ensure_user(causeway.hub, email)
        return cls(causeway, {COOKIE: causeway.hub.website.sessions.begin(user).cookie})

    # -- pages and forms

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
        """Send a form of ``fields`` and ``form`` with ``token``, or with the token of the current page.

        Raises: AssertionError, if the action redirects to a page of the service, other than /sign-in, without a
        message.
        """
        sent = {"form_token": self.token if token is None else token, **(form or {}), **fields}
        sent = {name: value for name, value in sent.items() if value is not None}
        typed = {"content-type": "application/x-www-form-urlencoded", **(headers or {})}
        before = len(self.set_cookies)
        answer = self._call("POST", path, urlencode(sent, doseq=True).encode(), typed)
        if answer.status == 303:
            has_notice = any(notices.COOKIE in each.partition("=")[0] for each in self.set_cookies[before:])
            location = answer.headers["location"]
            is_elsewhere = location.startswith("http") or "/sign-in?" in location
            assert has_notice or is_elsewhere, f"no message confirms the action: {path} leads to {location}"
        return answer

    def follow(self) -> Answer:
        return self.get(self.last.headers["location"].removeprefix(self.causeway.hub.settings.public_url))

    def form(self, action: str) -> tuple[str, dict[str, str]]:
        for address, buttons, fields in _Forms(self.last.text).forms:
            if action in buttons:
                return address, fields | {"action": action}
        raise AssertionError(f"the page has no button {action}")

    def save(self, path: str, action: str, **changes: Any) -> Answer:
        self.get(path)
        address, fields = self.form(action)
        return self.post(address, form=fields | changes)

    @property
    def token(self) -> str:
        """Return the form token of the current page, or of the first page with a form."""
        found = _TOKEN.search(self.last.text) if self.last else None
        if found is None:
            found = _TOKEN.search(self.get("/sign-out").text) or _TOKEN.search(self.get("/sign-in").text)
        assert found is not None
        return found[1]

    def set_cookie(self, name: str) -> str:
        return next(cookie for cookie in reversed(self.set_cookies) if cookie.startswith(f"{name}="))

    @property
    def text(self) -> str:
        return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", self.last.text)).split())

    def hidden(self, name: str) -> str:
        found = re.search(rf'<input type="hidden" name="{name}" value="([^"]*)">', self.last.text)
        assert found is not None, f"the page has no field {name}"
        return html.unescape(found[1])

    def checked(self, name: str) -> Sequence[str]:
        return re.findall(rf'name="{name}" value="([^"]*)"[^>]* checked', self.last.text)

    @property
    def secrets(self) -> Mapping[str, str]:
        return dict(re.findall(r'<code id="(client-id|client-secret|events-secret)">([^<]+)</code>', self.last.text))

    def code(self, element_id: str) -> str:
        found = re.search(rf'<code id="{element_id}">([^<]+)</code>', self.last.text)
        assert found is not None
        return found[1]

    def figures(self) -> dict[str, str]:
        return dict(re.findall("<dt>([^<]+)</dt><dd>([^<]+)</dd>", self.last.text.partition("</dl>")[0]))

    def table(self, label: str) -> list[list[str]]:
        (body,) = re.findall(f'aria-label="{label}">.*?<tbody>(.*?)</tbody>', self.last.text, re.DOTALL)
        cells = (re.split("<t[hd][^>]*>", row)[1:] for row in body.split("</tr>")[:-1])
        return [[" ".join(re.sub("<[^>]+>", " ", cell).split()) for cell in row] for row in cells]

    def chosen_days(self) -> tuple[str, str, str]:
        (bank,) = re.findall('<option value="([^"]*)" selected', self.last.text) or [""]
        since, until = (
            re.search(f'<input id="{name}"[^>]* value="([^"]*)"', self.last.text) for name in ("from", "to")
        )
        assert since is not None
        assert until is not None
        return bank, since[1], until[1]

    # -- accounts and clients

    def register(self, email: str, password: str = PASSWORD, terms: str | None = "yes") -> Answer:
        self.get("/register")
        return self.post("/register", email=email, password=password, terms=terms)

    def sign_in(self, email: str, password: str = PASSWORD, **fields: Any) -> Answer:
        self.get("/sign-in")
        return self.post("/sign-in", email=email, password=password, **fields)

    def create_client(self, title: str = "Budget Friend", **fields: Any) -> str:
        self.get("/clients/new")
        self.post("/clients/new", **({"draft": self.hidden("draft"), "title": title, "active": "yes"} | fields))
        assert self.last.status == 201, self.text
        return self.code("client-id")

    def save_client(self, client_id: str, **changes: Any) -> Answer:
        return self.save(f"/clients/{client_id}/settings", "general", **changes)

    def send_test_event(self, client_id: str) -> str:
        self.post(f"/clients/{client_id}", action="test-event")
        assert self.last.status == 303
        return self.last.headers["location"].partition("?")[0]

    # -- an authorization: the request that is shown and run, the approval at the bank, and the tokens

    def shown_request(self) -> dict[str, Any]:
        found = re.search(r'id="request".*?<pre[^>]*><code[^>]*>(.*?)</code>', self.last.text, re.DOTALL)
        assert found is not None
        body: dict[str, Any] = json.loads(found[1].replace("&#34;", '"').replace("&amp;", "&"))
        return body

    def open_request(self, client_id: str, bic: str = "ALPHGB21", scopes: str = "unified") -> None:
        assert self.get(f"/authorize?client_id={client_id}&bic={bic}&scopes={scopes}").status == 200

    def run_request(self, client_id: str, **changes: Any) -> str:
        fields = {
            "client_id": client_id,
            "bic": self.hidden("bic"),
            "draft": self.hidden("draft"),
            "scope": SCOPES,
            "consent_type": "reusable",
            "pkce": "yes",
        }
        self.post("/authorize", **(fields | changes))
        return self.last.headers.get("location", "")

    def approve(self, url: str, version: int = 1) -> str:
        scopes = parse_qs(urlsplit(url).query)["scope"][0].split()
        answer = self.causeway.banks[version].call("/consent", {"request_url": url, "scopes": scopes, "ibans": [IBAN]})
        assert answer.status == 200, answer
        return str(answer.body["callback_url"]).removeprefix("http://127.0.0.1:8000")

    def request_consent(self, client_id: str) -> str:
        self.open_request(client_id)
        return self.approve(self.run_request(client_id))

    def open_callback(self, callback: str) -> Answer:
        self.get(callback)
        return self.follow()

    def get_code(self, client_id: str) -> str:
        self.open_callback(self.request_consent(client_id))
        return self.hidden("state")

    def get_tokens(self, client_id: str) -> str:
        self.open_callback(self.request_consent(client_id))
        assert "You have tokens" in self.text
        return self.hidden("state")

    # -- cards

    def manage_card(self, card_id: int, action: str, **fields: Any) -> Answer:
        self.get(f"/cards/{card_id}")
        return self.post(f"/cards/{card_id}", action=action, draft=self.hidden("draft"), **fields)

    def simulate(self, card_id: int, action: str, **fields: Any) -> Answer:
        self.get(f"/cards/{card_id}")
        return self.post(f"/cards/{card_id}/simulator", action=action, draft=self.hidden("draft"), **fields)

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
