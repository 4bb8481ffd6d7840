"""HTTP requests and responses of the service: bodies, queries, forms, JSON and request ids."""

import base64
import threading
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import Any

import pytest
from chalice.app import Chalice, Request, Response

from chalicelib.foundation import log
from chalicelib.foundation.http import web
from chalicelib.foundation.http.web import BODY_BYTES, FORM, Incoming, RestApi, Routes, UnreadableBody
from tests.kit.time import PATIENCE_SECONDS

ID = "99391c7e-ad88-49ec-a2ad-99ddcb1f7721"


def request(
    body: bytes | str | None = None,
    headers: dict[str, str] | None = None,
    query: dict[str, list[str]] | None = None,
    **event: Any,
) -> Request:
    return Request(
        {
            "requestContext": {"httpMethod": "POST", "resourcePath": "/tpp/token", "identity": {"sourceIp": "::1"}},
            "headers": headers or {},
            "multiValueQueryStringParameters": query,
            "pathParameters": {"secret": "abc"},
            "stageVariables": None,
            "body": body,
            "isBase64Encoded": False,
            **event,
        }
    )


def incoming(*arguments: Any, **options: Any) -> Incoming:
    return Incoming.of(request(*arguments, **options))


def refused(read: Any) -> tuple[str, str]:
    with pytest.raises(UnreadableBody) as caught:
        read()
    return caught.value.kind, str(caught.value)


def test_a_request_contains_the_method_the_route_the_body_the_headers_and_the_query() -> None:
    found = incoming(b"{}", {"X-Api-Key": "key", "content-TYPE": "application/json"}, {"a": ["1"], "b": [""]})

    assert found.method == "POST"
    assert found.route == "/tpp/token"
    assert found.body == b"{}"
    assert found.headers == {"x-api-key": "key", "content-type": "application/json"}
    assert found.query == (("a", "1"), ("b", ""))
    assert found.uri == {"secret": "abc"}
    assert found.identity["sourceIp"] == "::1"


def test_a_request_without_a_body_without_headers_and_without_a_query_is_read() -> None:
    found = incoming(pathParameters=None)

    assert found.body == b""
    assert found.query == ()
    assert dict(found.uri) == {}
    assert dict(found.headers) == {}
    assert found.content_type == "application/json"


@pytest.mark.parametrize(
    ("body", "encoded", "read"),
    [
        ("Zoë", False, "Zoë".encode()),
        (b"\xff\x00", False, b"\xff\x00"),
        (base64.b64encode(b"\xff\x00").decode(), True, b"\xff\x00"),
        ("not base64!", True, b""),
        ("", True, b""),
    ],
)
def test_the_request_body_is_read_as_exact_bytes(body: bytes | str, encoded: bool, read: bytes) -> None:
    assert incoming(body, isBase64Encoded=encoded).body == read


def test_an_invalid_request_id_is_replaced_and_a_valid_request_id_is_preserved() -> None:
    good = incoming(b"", {"X-REQUEST-ID": ID})
    bad = incoming(b"", {"x-request-id": f"{ID}\n"})
    absent = incoming(b"")

    capitals = incoming(b"", {"X-Request-Id": ID.upper()})
    assert (good.request_id, good.has_good_request_id) == (ID, True)
    assert (capitals.request_id, capitals.has_good_request_id) == (ID, True)
    for found in (bad, absent):
        assert not found.has_good_request_id
        assert len(found.request_id) == 36
        assert found.request_id != ID


def test_query_parameters_are_read_and_duplicates_are_rejected() -> None:
    assert incoming(query={"page": ["1"], "limit": ["20"]}).parameters() == {"page": "1", "limit": "20"}
    assert incoming().parameters() == {}
    assert refused(incoming(query={"page": ["1", "2"]}).parameters) == ("repeated", "a parameter is present twice")
    assert refused(incoming(query={"page": ["1", "1"]}).parameters)[0] == "repeated"


@pytest.mark.parametrize(
    "content_type", [None, "", "application/json", "Application/JSON", "application/json; charset=utf-8"]
)
def test_json_numbers_in_a_request_are_parsed_without_loss_of_digits(content_type: str | None) -> None:
    headers = {} if content_type is None else {"Content-Type": content_type}

    assert incoming(b'{"amount":1.10}', headers).json() == {"amount": Decimal("1.10")}


@pytest.mark.parametrize("content_type", ["text/plain", "application/xml", FORM, "json", "application/jsonx"])
def test_json_with_another_content_type_is_rejected(content_type: str) -> None:
    assert refused(incoming(b"{}", {"content-type": content_type}).json) == (
        "type",
        "Content-Type must be application/json",
    )


@pytest.mark.parametrize("body", [b"", b"{", b"\xff", b"NaN", b'{"a":1,"a":2}', b"[" * 60_000])
def test_a_request_body_with_invalid_json_is_rejected(body: bytes) -> None:
    kind, reason = refused(incoming(body).json)

    assert kind == "json"
    assert reason.startswith("the body is not valid JSON: ")


def test_a_form_is_read_without_empty_parameters() -> None:
    body = b"grant_type=authorization_code&code=a%2Bb+c&redirect_uri=&state=%C3%A4"

    assert incoming(body, {"content-type": FORM}).form() == {
        "grant_type": "authorization_code",
        "code": "a+b c",
        "state": "ä",
    }


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"a=1&a=2", "a parameter is present twice"),
        (b"a=\xff", "the body is not a UTF-8 form"),
        (b"a=%ff", "the body is not a UTF-8 form"),
        (b"&".join(b"a%d=1" % number for number in range(101)), "the body is not a UTF-8 form"),
    ],
)
def test_an_ambiguous_or_malformed_form_is_rejected(body: bytes, reason: str) -> None:
    assert refused(incoming(body, {"content-type": FORM}).form) == ("form", reason)


def test_a_body_of_the_maximum_size_is_read_and_a_larger_body_is_rejected() -> None:
    largest = b'"' + b"x" * (BODY_BYTES - 2) + b'"'

    assert len(incoming(largest).json()) == BODY_BYTES - 2
    for read in (incoming(largest + b" ").json, incoming(b"a=" + largest, {"content-type": FORM}).form):
        assert refused(read) == ("size", f"the body is larger than {BODY_BYTES} bytes")


def test_a_json_response_preserves_digits_and_is_not_cached() -> None:
    answer = web.json_answer({"amount": Decimal("1.10")}, 201, {"X-A": "b"})

    assert answer.body == '{"amount":1.10}'
    assert answer.status_code == 201
    assert answer.headers == {
        "Content-Type": "application/json",
        "Cache-Control": "no-store",
        "X-Content-Type-Options": "nosniff",
        "X-A": "b",
    }


def test_a_redirect_response_has_status_303_and_no_referrer() -> None:
    answer = web.redirect("https://tpp.example.com/callback?code=a")

    assert answer.status_code == 303
    assert answer.headers["Location"] == "https://tpp.example.com/callback?code=a"
    assert answer.headers["Referrer-Policy"] == "no-referrer"
    assert answer.headers["Cache-Control"] == "no-store"


def failed(parts: str, found: Incoming, error: Exception) -> Response:
    return web.json_answer({"error": type(error).__name__}, 500)


def site(routes: Routes[str]) -> Chalice:
    chalice = RestApi("site", configure_logs=False)
    chalice.register_blueprint(routes.bind(lambda: "parts"))
    return chalice


def sent(
    chalice: Chalice, method: str, path: str, headers: dict[str, str] | None = None, body: str | None = None
) -> dict[str, Any]:
    event = request(body, headers, pathParameters={"secret": "abc"} if "{secret}" in path else None)._event_dict
    event["requestContext"] |= {"httpMethod": method, "resourcePath": path}
    answer: dict[str, Any] = chalice(event, None)
    log.clear()
    return answer


def test_a_view_receives_the_request_and_the_response_has_the_request_id() -> None:
    routes, bound = Routes[str](__name__, failed), []

    @routes.get("/cancel/{secret}")
    def view(parts: str, found: Incoming) -> Response:
        bound.append(log.request_id())
        return web.json_answer({"uri": found.uri, "parts": parts})

    answer = sent(site(routes), "GET", "/cancel/{secret}", {"X-Request-Id": ID})

    assert (answer["statusCode"], answer["body"]) == (200, '{"uri":{"secret":"abc"},"parts":"parts"}')
    assert answer["headers"]["X-Request-Id"] == ID
    assert bound == [ID]


def test_an_exception_in_a_view_causes_an_error_response_with_the_request_id() -> None:
    routes = Routes[str](__name__, failed)

    @routes.post("/one")
    def view(parts: str, found: Incoming) -> Response:
        raise LookupError("hidden")

    answer = sent(site(routes), "POST", "/one", {"X-Request-Id": ID})

    assert (answer["statusCode"], answer["body"]) == (500, '{"error":"LookupError"}')
    assert answer["headers"]["X-Request-Id"] == ID


def test_a_route_can_have_a_separate_error_handler() -> None:
    def view(parts: str, found: Incoming) -> Response:
        raise LookupError("hidden")

    def failed_page(parts: str, found: Incoming, error: Exception) -> Response:
        return web.text_answer("sorry", "text/html", 500)

    routes = Routes[str](__name__, failed)
    routes.get("/page", failed_page)(view)
    routes.get("/data")(view)
    chalice = site(routes)

    assert sent(chalice, "GET", "/page")["body"] == "sorry"
    assert sent(chalice, "GET", "/data")["body"] == '{"error":"LookupError"}'


def test_one_view_can_handle_several_methods_and_paths() -> None:
    routes = Routes[str](__name__, failed)
    methods = ("GET", "POST", "PUT", "PATCH", "DELETE")
    for place in ("/a", "/a/{secret}", "/a/b-c"):
        routes.serve(place, methods, lambda parts, found: web.json_answer([found.method, found.route]))
    chalice = site(routes)

    for method in methods:
        for place in ("/a", "/a/{secret}", "/a/b-c"):
            assert sent(chalice, method, place)["body"] == f'["{method}","{place}"]'


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize(
    "content_type", [None, "", "text/plain", FORM, "application/json", "a/b;c", "nonsense", "\xe4"]
)
def test_a_view_accepts_any_content_type(method: str, content_type: str | None) -> None:
    routes = Routes[str](__name__, failed)
    routes.serve("/one", [method], lambda parts, found: web.json_answer(found.content_type))
    headers = {} if content_type is None else {"Content-Type": content_type}

    answer = sent(site(routes), method, "/one", headers, "body")

    assert answer["statusCode"] == 200


def test_each_of_two_parallel_requests_is_handled_with_its_own_headers() -> None:
    routes = Routes[str]("site", failed)
    both = threading.Barrier(2, timeout=PATIENCE_SECONDS)

    @routes.get("/{secret}")
    def view(parts: str, incoming: Incoming) -> Response:
        both.wait()
        return web.json_answer(incoming.headers["x-name"])

    api = site(routes)
    with ThreadPoolExecutor(2) as pool:
        answers = pool.map(lambda name: sent(api, "GET", "/{secret}", {"X-Name": name})["body"], ["Ada", "Bob"])

    assert [*answers] == ['"Ada"', '"Bob"']
