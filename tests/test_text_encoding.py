"""Every route rejects headers, queries, paths and forms that are not valid UTF-8. The request changes no data."""

from collections.abc import Callable
from urllib.parse import quote

import pytest

from app import app
from chalicelib.foundation.http.web import OTHERS
from tests.causeway import Answer, Causeway
from tests.kit.inputs import HALF
from tests.kit.storage import address, nothing_changes, person_cookie

CALLS = sorted((path, method) for path, methods in app.routes.items() for method in methods if method != OTHERS)
PARAMETRISED = [(path, method) for path, method in CALLS if "{" in path]
FORMS = [(path, method) for path, method in CALLS if method == "POST" and not path.startswith("/demo-bank/")]
"""The routes that accept forms, without the routes of demonstration banks, which other modules test."""
OCTETS = quote(HALF, errors="surrogatepass")
"""The percent-encoded bytes of a lone surrogate, which are not valid UTF-8."""
FORM = "application/x-www-form-urlencoded"


def headers(causeway: Causeway) -> dict[str, str]:
    """Return valid headers, so that other header checks do not reject the request."""
    return {"cookie": person_cookie(causeway), "x-api-key": causeway.tpp.client_id, "content-type": FORM}


def is_refused(path: str, answer: Answer) -> bool:
    """Return whether a request is rejected. The card API rejects with status 200 and an error status in the body."""
    if path in ("/api", "/simulator"):
        return answer.status == 200 and answer.body["status"] == "error" and answer.body["status_code"] < 9000
    return 400 <= answer.status < 500


Request = tuple[str, bytes | None, dict[str, str]]


def spoilt_headers(path: str, known: dict[str, str]) -> list[Request]:
    names = ("x-anything", "authorization", "dpop", "x-client-assertion", "x-request-id", *known)
    return [(address(path), None, known | {name: f"a{HALF}"}) for name in names]


def spoilt_queries(path: str, known: dict[str, str]) -> list[Request]:
    queries = (f"{HALF}=1", f"state={HALF}", f"client_id={known['x-api-key']}&code={HALF}")
    return [(f"{address(path)}?{query}", None, known) for query in queries]


def spoilt_paths(path: str, known: dict[str, str]) -> list[Request]:
    return [(address(path, HALF), None, known)]


def spoilt_forms(path: str, known: dict[str, str]) -> list[Request]:
    bodies = (b"email=\xed\xa0\x80", f"email={OCTETS}".encode(), f"{OCTETS}=1".encode())
    return [(address(path), body, known) for body in bodies]


SPOILT = {spoilt_headers: CALLS, spoilt_queries: CALLS, spoilt_paths: PARAMETRISED, spoilt_forms: FORMS}


@pytest.mark.parametrize(
    ("spoilt", "path", "method"),
    [
        pytest.param(spoilt, path, method, id=f"{spoilt.__name__}-{method}-{path}")
        for spoilt, calls in SPOILT.items()
        for path, method in calls
    ],
)
def test_a_request_with_invalid_utf_8_is_rejected_at_every_route(
    causeway: Causeway,
    monkeypatch: pytest.MonkeyPatch,
    spoilt: Callable[[str, dict[str, str]], list[Request]],
    path: str,
    method: str,
) -> None:
    requests = spoilt(path, headers(causeway))
    with nothing_changes(causeway, monkeypatch):
        for request in requests:
            answer = causeway.call(method, *request)
            assert is_refused(path, answer), request
            assert len(answer.headers["x-request-id"]) == 36
