"""A person's journey in this process: the request that is shown and run, the approval at the bank, and the tokens."""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.causeway import Causeway
from tests.openbanking.kit import IBAN
from tests.website.person import Person

SCOPES = ["account.list", "account.balance"]


def shown_request(user: Person) -> dict[str, Any]:
    """The JSON on the page that is shown."""
    found = re.search(r'id="request".*?<pre[^>]*><code[^>]*>(.*?)</code>', user.last.text, re.DOTALL)
    assert found is not None
    body: dict[str, Any] = json.loads(found[1].replace("&#34;", '"').replace("&amp;", "&"))
    return body


def open_request(user: Person, client_id: str, bic: str = "ALPHGB21") -> None:
    assert user.get(f"/authorize?client_id={client_id}&bic={bic}").status == 200


def run(user: Person, client_id: str, **changes: Any) -> str:
    """Run the request of the page that is shown; answers the address at the bank."""
    fields = {
        "client_id": client_id,
        "bic": user.hidden("bic"),
        "draft": user.hidden("draft"),
        "scope": SCOPES,
        "consent_type": "reusable",
        "pkce": "yes",
    }
    user.post("/authorize", **(fields | changes))
    return user.last.headers.get("location", "")


def approve(causeway: Causeway, url: str, version: int = 1) -> str:
    """The bank saves the consent; answers where it sends the browser, in this service."""
    scopes = parse_qs(urlsplit(url).query)["scope"][0].split()
    answer = causeway.banks[version].call("/consent", {"request_url": url, "scopes": scopes, "ibans": [IBAN]})
    assert answer.status == 200, answer.text
    return str(answer.body["callback_url"]).removeprefix("http://127.0.0.1:8000")


def with_tokens(causeway: Causeway, user: Person, client_id: str) -> str:
    """A journey up to its tokens; answers its state."""
    open_request(user, client_id)
    user.get(approve(causeway, run(user, client_id)))
    user.follow()
    assert "You have tokens" in user.text
    return user.hidden("state")


def token(user: Person, name: str) -> str:
    found = re.search(rf'<code id="{name}">([^<]+)</code>', user.last.text)
    assert found is not None
    return found[1]
