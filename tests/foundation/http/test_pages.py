"""Web page helpers: forms, cookies, and the security headers that restrict a page."""

from typing import Any

import pytest

from chalicelib.foundation.http.pages import Visit, safe_origin, security_headers, see_other
from chalicelib.foundation.http.web import Incoming


def visit(body: bytes = b"", method: str = "POST", **headers: str) -> Visit:
    members: dict[str, Any] = {"query": (("a", "1"), ("a", "2")), "uri": {}, "identity": {}}
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    return Visit(Incoming(method=method, route="/", headers=sent, body=body, **members))


def test_the_fields_of_a_posted_form_are_read_in_order() -> None:
    sent = visit(b"a=1&b=&a=%C3%A4+x")

    assert sent.fields == [("a", "1"), ("b", ""), ("a", "ä x")]
    assert sent.field("a") == "1"
    assert sent.values("a") == ["1", "ä x"]
    assert sent.field("c") == ""


def test_form_fields_of_a_get_request_come_from_the_query() -> None:
    assert visit(b"a=9", "GET").values("a") == ["1", "2"]


@pytest.mark.parametrize("body", [b"\xff\xfe", b"a=" + b"x" * 70_000, b"&".join([b"a=1"] * 500), b"a=%ff"])
def test_an_invalid_form_is_read_as_empty(body: bytes) -> None:
    assert visit(body).fields == []


@pytest.mark.parametrize(
    ("header", "value"),
    [
        ("a=1; name=x; b=2", "x"),
        ("name=", ""),
        ("", ""),
        ("other=1", ""),
        ("\x00\x01=;;;name", ""),
        ('prefs={"a": 1}; name=x.y-z', "x.y-z"),
        ('broken="; name=x', "x"),
        ("\u00e9=\u00e9; name=x; name=y", "x"),
    ],
)
def test_a_missing_or_malformed_cookie_is_read_as_empty(header: str, value: str) -> None:
    assert visit(cookie=header).cookie("name") == value


@pytest.mark.parametrize(("site", "foreign"), [("same-origin", False), ("none", False), ("cross-site", True)])
def test_a_cross_site_request_is_detected(site: str, foreign: bool) -> None:
    assert visit(sec_fetch_site=site).is_foreign is foreign
    assert not visit().is_foreign


def test_the_csp_allows_only_the_given_origins() -> None:
    headers = security_headers(
        ["https://bank.example/a?b", "https://tpp.example:8443/x"], referrer="no-referrer", script_src="'self'"
    )

    assert headers["Content-Security-Policy"] == (
        "default-src 'none'; style-src 'self'; img-src 'self'; script-src 'self'; "
        "form-action 'self' https://bank.example https://tpp.example:8443; frame-ancestors 'none'; base-uri 'none'"
    )
    assert (headers["Referrer-Policy"], headers["X-Frame-Options"]) == ("no-referrer", "DENY")


@pytest.mark.parametrize(
    "url", ["javascript:alert(1)", "https://a.example;script-src *", "https://user@a.example", "https://[", "", "//a"]
)
def test_an_invalid_url_is_not_added_to_the_csp(url: str) -> None:
    assert safe_origin(url) == ""
    assert "form-action 'self';" in security_headers([url])["Content-Security-Policy"]


def test_a_page_redirect_sends_no_referrer_and_is_not_cached() -> None:
    answer = see_other("/next", "a=b")

    assert answer.status_code == 303
    assert answer.headers["Location"] == "/next"
    assert answer.headers["Set-Cookie"] == "a=b"
    assert answer.headers["Referrer-Policy"] == "no-referrer"
    assert answer.headers["Cache-Control"] == "no-store"
